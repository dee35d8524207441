"""Extensions of the workcell format, for information that RobWork cannot express.

Properties, which RobWork ignores:

    linkwork.link     a `<link>` of URDF: inertia and additional shapes of the frame
    linkwork.home     values of the frame in the default state [m], quaternion wxyz or [rad]
    linkwork.parent   the parent of an attachable frame in the default state
    linkwork.motion   the motion and all limits of a joint, see `read_motion`

Elements, which RobWork rejects:

    Robot    a robot: the name of a URDF file, or a `<robot>` inside
    Device   a device with frames that are defined elsewhere
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwork.errors import ParseError, SourceError, nearest, shown
from linkwork.io.load import read as read_robot
from linkwork.io.urdf.elements import read_link, read_origin
from linkwork.io.writing import format_numbers
from linkwork.io.xml.documents import Source, read_source
from linkwork.io.xml.elements import Part
from linkwork.model.geometry import Shape
from linkwork.model.joints import KINDS
from linkwork.model.model import Model
from linkwork.model.parts import Limits, unit_vector
from linkwork.workcell.cell.devices import (
    CompositeDevice,
    DeviceSpec,
    FreeDevice,
    JointDevice,
    MobileDevice,
    SerialDevice,
    TreeDevice,
)
from linkwork.workcell.cell.frames import CellFrame, Motion
from linkwork.workcell.cell.robots import Placement
from linkwork.workcell.files.elements import CellPart, read_pose
from linkwork.workcell.files.geometry import POSE_ELEMENTS, CellMeshes
from linkwork.workcell.files.include import allowed_file
from linkwork.workcell.files.joints import read_dependence

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

Change = Callable[[CellFrame], CellFrame]
PREFIX = "linkwork."
DEVICE_KINDS: dict[str, Callable[..., DeviceSpec]] = {
    "serial": SerialDevice,
    "tree": TreeDevice,
    "joint": JointDevice,
    "composite": CompositeDevice,
    "mobile": MobileDevice,
    "free": FreeDevice,
}


def read_linkwork_property(part: CellPart, meshes: CellMeshes) -> Change:
    """Read a `<Property>` of linkwork as a change of its frame."""
    part.warn_unknown_attributes("name")
    name = (part.attribute("name") or "").removeprefix(PREFIX)
    if name not in _READERS:
        part.error(f"unknown property {shown(PREFIX + name)}; {nearest(name, _READERS)}")
        return _unchanged
    return _READERS[name](part, meshes)


def _unchanged(frame: CellFrame) -> CellFrame:
    return frame


def _read_link(part: CellPart, meshes: CellMeshes) -> Change:
    element = part.required_child("link")
    if element is None:
        return _unchanged
    if not (element.attribute("name") or "").strip():
        element.element.set("name", "link")  # required by `read_link`, but not used
    link = read_link(Part(element.element, part.owner, part.report), {}, meshes.finder(part))
    shapes = {"visuals": link.visuals, "collisions": link.collisions}
    return lambda frame: with_shapes(replace(frame, inertia=link.inertia), **shapes)


def with_shapes(
    frame: CellFrame, visuals: tuple[Shape, ...], collisions: tuple[Shape, ...]
) -> CellFrame:
    """Return a frame with further shapes."""
    both = frame.visuals + visuals, frame.collisions + collisions
    return replace(frame, visuals=both[0], collisions=both[1])


def _read_home(part: CellPart, _meshes: CellMeshes) -> Change:
    text = part.element.text or ""

    def change(frame: CellFrame) -> CellFrame:
        size = frame.coordinate_kind.nq if frame.movable or frame.motion else 0
        numbers = part.numbers_in(text, "linkwork.home", size)
        return frame if numbers is None else replace(frame, home=numbers)

    return change


def _read_parent(part: CellPart, _meshes: CellMeshes) -> Change:
    parent = (part.element.text or "").strip()
    return lambda frame: replace(frame, home_parent=parent or None)


def _read_motion(part: CellPart, _meshes: CellMeshes) -> Change:
    element = part.required_child("motion")
    motion = read_motion(element) if element else None

    def change(frame: CellFrame) -> CellFrame:
        if frame.motion is None:
            part.error("linkwork.motion: expected a <Joint>")
        return replace(frame, motion=motion, home=()) if motion and frame.motion else frame

    return change


# Fields of `Motion` and `Limits` that are attributes with the same names, and their defaults.
_ATTRIBUTES = {
    cls: {f.name: f.default for f in fields(cls) if isinstance(f.default, (float, bool, str))}
    for cls in (Motion, Limits)
}


_TEXTS: dict[Any, str] = {True: "true", False: "false"}


def read_attributes(part: Part, cls: type[Motion | Limits]) -> dict[str, Any]:
    """Read the attributes of an element that are fields of a class."""
    values: dict[str, Any] = dict(_ATTRIBUTES[cls])
    for name, default in values.items():
        text = part.attribute(name)
        if isinstance(default, float):
            values[name] = part.number(name, default)
        elif text is not None:
            values[name] = text == "true" if isinstance(default, bool) else text
            if isinstance(default, bool) and text not in ("true", "false"):
                part.error(f"{part.tag} {name}: expected true or false, got {shown(text)}")
    return values


def attributes_of(value: Motion | Limits) -> dict[str, str]:
    """Return the fields that are attributes and differ from their default, as text."""
    values: dict[str, Any] = {name: getattr(value, name) for name in _ATTRIBUTES[type(value)]}
    return {
        name: format_numbers(one) if isinstance(one, float) else str(_TEXTS.get(one, one))
        for name, one in values.items()
        if one != _ATTRIBUTES[type(value)][name]
    }


def read_motion(part: Part) -> Motion | None:
    """Read a `<motion>`: the fields of `Motion`, in radians."""
    names = ("kind", "axis", *_ATTRIBUTES[Motion])
    part.warn_unknown(("origin", "limit", "depends"), names, strict=True)
    errors = part.report.n_errors
    kind = part.required_attribute("kind")
    if kind not in KINDS or kind == "fixed":
        kinds = [name for name in KINDS if name != "fixed"]
        part.error(f"unknown joint kind {shown(kind)}; {nearest(kind, kinds)}")
        return None
    axis = part.triple("axis", (0.0, 0.0, 1.0))
    if not any(axis):
        part.error("axis is zero")
    limit, depends = part.child("limit"), part.child("depends")
    bounds: dict[str, float] = {}
    if limit:
        limit.warn_unknown((), tuple(_ATTRIBUTES[Limits]), strict=True)
        bounds = read_attributes(limit, Limits)
    mimic = read_dependence(depends) if depends else None
    origin, attributes = read_origin(part), read_attributes(part, Motion)
    if part.report.n_errors > errors:
        return None
    direction, limits = part.build(axis, unit_vector, axis), part.build(None, Limits, **bounds)
    fields = {"axis": direction, "joint_H_frame": origin, "limits": limits, "depends": mimic}
    return part.build(None, Motion, kind=kind, **fields, **attributes) if limits else None


class PlacedRobot(NamedTuple):
    """The robot of a `<Robot>` element."""

    model: Model
    placement: Placement  # its parent is not resolved yet
    home: tuple[float, ...] | None

    @property
    def name(self) -> str:
        """The name of its device."""
        return self.placement.name


def read_placed_robot(part: CellPart, name: str, meshes: CellMeshes) -> PlacedRobot | None:
    """Read a `<Robot>`: a pose, and the URDF of a robot, in a file or inside the element."""
    attributes = ("name", "refframe", "file", "base", "end", "floating", "daf")
    part.check((*POSE_ELEMENTS, "robot", "Q"), attributes)
    pose = read_pose(part)
    model = _read_model(part, meshes)
    home = part.child("Q")
    if model is None:
        return None
    for attribute in ("base", "end"):
        link = part.attribute(attribute)
        if link is not None and link not in model.frame_names:
            part.error(
                f"{attribute}: no frame named {shown(link)}; {nearest(link, model.frame_names)}"
            )
            return None
    placement = Placement(
        name=name,
        parent="",
        parent_H_base=pose,
        base=part.attribute("base"),
        end=part.attribute("end"),
        floating=part.flag("floating"),
        attachable=part.flag("daf"),
    )
    return PlacedRobot(model, placement, read_configuration(home) if home else None)


def read_configuration(part: CellPart) -> tuple[float, ...] | None:
    """Read a `<Q>`: any number of values, in radians and meters."""
    text = part.content("name")
    return part.numbers_in(text, "", len(text.split())) if text.strip() else ()


def _read_model(part: CellPart, meshes: CellMeshes) -> Model | None:
    inline, file = part.child("robot"), part.attribute("file")
    if (inline is None) == (not file):
        part.error("<Robot> needs either a 'file' or a <robot> inside")
        return None
    path = allowed_file(part, file, meshes.allowed, meshes.folder(part)) if file else None
    if inline is None and path is None:
        return None
    try:
        source = _inline(inline) if inline else read_source(path or "")
        source = replace(source, allowed=meshes.allowed)
        reading = read_robot(source, package_dirs=meshes.package_dirs, expand=False)
    except (SourceError, ParseError) as error:
        part.error(str(error))
        return None
    part.report.extend(finding for finding in reading.findings if finding.severity != "note")
    return reading.model


def _inline(part: CellPart) -> Source:
    """Return a `<robot>` element as a separate document, with the same line numbers."""
    from lxml import etree

    element: Element = part.element
    text = etree.tostring(element, encoding="unicode", with_tail=False)
    return Source(part.location.file, "\n" * (part.location.line - 1) + text, None)


def read_linkwork_device(part: CellPart, name: str) -> DeviceSpec | None:
    """Read a `<Device>`: its kind, base, ends, and the joints or devices it consists of."""
    part.warn_unknown(("End", "Of"), ("name", "kind", "base", "radius", "track"), strict=True)
    kind = part.choice("kind", DEVICE_KINDS, "serial")
    base = part.required_attribute("base")
    named = {
        tag: tuple(child.required_attribute("name") for child in part.children(tag))
        for tag in ("End", "Of")
    }
    if not named["End"]:
        part.error("<Device> has no <End>")
    if not base.strip() or not all(named["End"]) or not all(named["Of"]) or not named["End"]:
        return None
    (end, *more_ends), of = named["End"], named["Of"]
    sizes = part.number("radius", 1.0), part.number("track", 1.0)
    if kind == "mobile" and len(of) != 2:
        part.error(f"a mobile device: expected two wheels, got {len(of)}")
        return None
    more: dict[str, tuple[Any, ...]] = {
        "joint": (of,),
        "composite": (of, tuple(more_ends)),
        "mobile": (*of, *sizes),
    }
    ends = named["End"] if kind == "tree" else end
    return part.build(None, DEVICE_KINDS[kind], name, base, ends, *more.get(kind, ()))


_READERS: dict[str, Callable[[CellPart, CellMeshes], Change]] = {
    "link": _read_link,
    "home": _read_home,
    "parent": _read_parent,
    "motion": _read_motion,
}
