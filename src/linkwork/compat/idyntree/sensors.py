"""Frames of the sensors in a URDF: iDynTree makes each of them a frame of the robot.

Order    force-torque sensors, then accelerometers, then gyroscopes, each in the order of the file
Frame    of a force-torque sensor: on the outer link of its joint, at `child`, `parent` or `sensor`
Names    that a link or another frame has already are passed over
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike

from linkwork.compat.idyntree.order import walk
from linkwork.errors import ParseError
from linkwork.io.urdf.elements import Part, Report
from linkwork.io.xml.parse import parse_xml
from linkwork.io.xml.source import read_source
from linkwork.model.joint_motion import neutral_transform
from linkwork.model.model import Model
from linkwork.model.pose import IDENTITY, Pose, as_pose

_ON_LINKS = ("accelerometer", "gyroscope")


def with_sensor_frames(model: Model, source: str | bytes | PathLike[str]) -> Model:
    """The robot with a frame for each sensor that its file has.

    Args:
        model: the robot, numbered as in iDynTree.
        source: the file it was loaded from, or its text.

    Raises:
        ParseError: a sensor has numbers that are none, or hangs on what does not exist.
    """
    text = read_source(source)
    document = parse_xml(text)
    report = Report(text.name, document.lines)
    robot = Part(document.root, "", report)
    if robot.tag != "robot":
        return model
    outer = {
        visit.joint.name: visit.link for visit in walk(model, model.default_base) if visit.joint
    }
    sensors = [Part(part.element, _owner(part), report) for part in robot.children("sensor")]
    frames = [
        *(found for part in sensors for found in _on_joint(part, model, outer)),
        *(found for kind in _ON_LINKS for part in sensors for found in _on_link(part, kind, model)),
    ]
    if report.n_errors:
        raise ParseError(report.findings)
    for name, link, pose in frames:
        if name not in model.frame_names:
            model = model.with_frame(name, link, pose)
    return model


def _owner(part: Part) -> str:
    return f"sensor {part.text('name')!r}"


def _on_joint(part: Part, model: Model, outer: dict[str, str]) -> Iterator[tuple[str, str, Pose]]:
    """The name, link and pose of a force-torque sensor."""
    details = part.child("force_torque")
    if part.text("type") != "force_torque" or details is None:
        return
    joint = _parent(part, "joint")
    if joint not in outer:
        part.error(f"there is no joint {joint!r}")
        return
    link = outer[joint]
    where = _words(details, "frame") or "child"
    if where == "parent":
        yield (
            part.needed_text("name"),
            link,
            as_pose(neutral_transform(model.joint(joint), child=link)),
        )
    else:
        yield part.needed_text("name"), link, _origin(part) if where == "sensor" else IDENTITY


def _on_link(part: Part, kind: str, model: Model) -> Iterator[tuple[str, str, Pose]]:
    """The name, link and pose of a sensor on a link."""
    if part.text("type") != kind:
        return
    link = _parent(part, "link")
    if link in model.frame_names:
        yield part.needed_text("name"), link, _origin(part)
    else:
        part.error(f"there is no link {link!r}")


def _parent(part: Part, what: str) -> str:
    parent = part.needed_child("parent")
    return parent.needed_text(what) if parent else ""


def _origin(part: Part) -> Pose:
    origin = part.child("origin")
    if origin is None:
        return IDENTITY
    zero = (0.0, 0.0, 0.0)
    return Pose(xyz=origin.triple("xyz", zero), rpy=origin.triple("rpy", zero))


def _words(part: Part, tag: str) -> str:
    child = part.child(tag)
    return (child.element.text or "").strip() if child else ""
