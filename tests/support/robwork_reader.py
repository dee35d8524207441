"""A strict reader of workcell files with the quirks of RobWork's reader.

It accepts RobWork's grammar, with elements in the required order, and raises AssertionError for
everything else:

- attributes and children stand in a fixed order: the pose first, then limits, properties, shapes
- a pose is <RPY> and <Pos>, both, or <Transform>; a first child whose name begins alike, such as
  <PosLimit>, is taken for it
- joints stand in devices only, and have one of RobWork's types
- the first <Frame> of a workcell sits on WORLD, whatever its refframe
- a <DHJoint> without a type has that of the last one with a type
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from lxml import etree

from linkwork.spatial import se3, so3
from linkwork.workcell.files.joints import craig_dh, schilling_dh

ATTRIBUTES = {
    "WorkCell": ("name",),
    "SerialDevice": ("name",),
    "TreeDevice": ("name",),
    "MobileDevice": ("name", "basename"),
    "Frame": ("name", "refframe", "type", "daf"),
    "Joint": ("name", "refframe", "type", "state"),
    "DHJoint": ("name", "alpha", "a", "d", "theta", "offset", "state", "type"),
    "Property": ("name", "refframe", "desc"),
    "Drawable": ("name", "refframe", "colmodel"),
    "CollisionModel": ("name", "refframe"),
    "PosLimit": ("refjoint", "min", "max"),
    "VelLimit": ("refjoint", "max"),
    "AccLimit": ("refjoint", "max"),
    "Depend": ("on", "gain", "offset"),
    "Q": ("name",),
}
MODELS = ("Drawable", "CollisionModel")
INSIDE = {  # children after the pose
    "WorkCell": ("Frame", "SerialDevice", "TreeDevice", "MobileDevice", "Property", *MODELS),
    "Frame": ("Property", *MODELS),
    "Joint": ("PosLimit", "VelLimit", "AccLimit", "Depend", "Property", *MODELS),
    "Device": ("Frame", "Joint", "DHJoint", "Property", "PosLimit", *MODELS, "Q"),
    "Model": ("RGB", "Polytope", "Sphere", "Box", "Cone", "Cylinder", "Tube"),
}
TYPES = ("Revolute", "Prismatic", "Universal", "Spherical", "PrismaticUniversal")


@dataclass
class RobWorkFrame:
    """A frame of RobWork."""

    parent: str
    pose: np.ndarray
    motion: str = "Fixed"
    depends: tuple[str, float, float] | None = None


@dataclass
class RobWorkCell:
    """Frames by full name, in the order of the file."""

    frames: dict[str, RobWorkFrame] = field(default_factory=dict)
    devices: dict[str, list[str]] = field(default_factory=dict)  # their joints, in order
    last: str = "WORLD"
    dh_type: str = "craig"
    has_first: bool = False

    def world_pose(self, name: str, values: dict[str, np.ndarray]) -> np.ndarray:
        """Pose of a frame in the world, for values of joints and poses of movable frames."""
        if name == "WORLD":
            return np.eye(4)
        frame = self.frames[name]
        pose = frame.pose @ self._moved(name, frame, values)
        return self.world_pose(frame.parent, values) @ pose

    def _moved(self, name: str, frame: RobWorkFrame, values: dict[str, np.ndarray]) -> np.ndarray:
        q = np.atleast_1d(values.get(name, np.zeros(3)))
        if frame.depends:
            on, gain, offset = frame.depends
            q = gain * np.atleast_1d(values[on]) + offset
        match frame.motion:
            case "Revolute":
                return se3.pose(so3.rot_z(q[0]), np.zeros(3))
            case "Prismatic":
                return se3.pose(np.eye(3), [0.0, 0.0, q[0]])
            case "Universal":
                return se3.pose(so3.rot_x(q[0]) @ so3.rot_y(q[1]), np.zeros(3))
        return np.eye(4)


def read_as_robwork(text: str) -> RobWorkCell:
    """Read a file as RobWork does."""
    parser = etree.XMLParser(remove_comments=True)
    top = etree.fromstring(text.encode(), parser)
    cell = RobWorkCell()
    if top.tag != "WorkCell":
        _read_device(cell, top)
        return cell
    _check(top, "WorkCell")
    for child in top:
        if child.tag == "Frame":
            own = _read_frame(child, "", cell.last)
            own.parent = own.parent if cell.has_first else "WORLD"
            cell.has_first, cell.last = True, child.get("name")
            _add(cell, child.get("name"), own)
        elif child.tag.endswith("Device"):
            _read_device(cell, child)
        else:
            _check_inner(child)
    for name, frame in cell.frames.items():
        assert frame.parent in cell.frames or frame.parent == "WORLD", (name, frame.parent)
    return cell


def _check(element: etree._Element, rules: str) -> None:
    """Check that attributes and children are known, and in the required order."""
    known = ATTRIBUTES[element.tag]
    assert [name for name in known if name in element.attrib] == list(element.attrib), element.tag
    assert known[0] in element.attrib or element.tag.endswith("Limit"), element.tag
    for child in element[_pose_size(element) :]:
        assert child.tag in INSIDE[rules], f"<{child.tag}> in <{element.tag}>"


def _pose_size(element: etree._Element) -> int:
    """Return the number of first children that are the pose."""
    if element.tag not in ("Frame", "Joint", *MODELS) or not len(element):
        return 0
    first = element[0].tag
    for tag in ("Transform", "RPY", "Pos"):
        assert not first.startswith(tag) or first == tag, f"<{first}> is taken for <{tag}>"
    if first in ("RPY", "Pos"):
        assert {child.tag for child in element[:2]} == {"RPY", "Pos"}
        return 2
    return int(first == "Transform")


def _pose(element: etree._Element) -> np.ndarray:
    parts = {child.tag: child.text.split() for child in element[: _pose_size(element)]}
    if "Transform" in parts:
        return np.vstack([np.reshape(list(map(float, parts["Transform"])), (3, 4)), [0, 0, 0, 1]])
    z, y, x = np.radians(list(map(float, parts.get("RPY", "000"))))
    R = so3.rot_z(z) @ so3.rot_y(y) @ so3.rot_x(x)
    return se3.pose(R, np.array(list(map(float, parts.get("Pos", "000")))))


def _check_inner(element: etree._Element) -> None:
    """Check a property, limit or shape."""
    if element.tag in MODELS:
        _check(element, "Model")
    else:
        _check(element, "Frame") if element.tag != "Property" else None


def _read_frame(element: etree._Element, scope: str, before: str) -> RobWorkFrame:
    rules = "Frame" if element.tag == "Frame" else "Joint"
    _check(element, rules)
    for child in element[_pose_size(element) :]:
        _check_inner(child)
    ref = element.get("refframe")
    parent = before if ref is None else f"{scope}{ref}" if ref != "WORLD" else ref
    if element.tag == "Frame":
        assert element.get("type", "Fixed") in ("Fixed", "Movable", "EndEffector")
        return RobWorkFrame(parent, _pose(element))
    own = RobWorkFrame(parent, _pose(element), element.get("type"))
    depend = element.find("Depend")
    if depend is not None:
        on, gain, offset = (depend.get(name) for name in ATTRIBUTES["Depend"])
        own.depends = f"{scope}{on}", float(gain), float(offset)
    return own


def _read_device(cell: RobWorkCell, device: etree._Element) -> None:
    known = ATTRIBUTES[device.tag]
    assert list(device.attrib) == list(known)
    scope, on = f"{device.get('name')}.", cell.last
    children = list(device)
    joints: list[str] = []
    if device.tag == "MobileDevice":
        width, left, right, *children = children
        assert [e.tag for e in (width, left, right)] == ["AxelWidth", "LeftWheel", "RightWheel"]
        on = scope + device.get("basename")
        _add(cell, on, RobWorkFrame("WORLD", np.eye(4), "Movable"))
        for wheel, side in ((left, 0.5), (right, -0.5)):
            pose = se3.pose(so3.rot_x(np.pi / 2), [0.0, side * float(width.text), 0.0])
            _add(cell, scope + wheel.get("name"), RobWorkFrame(on, pose, "Revolute"))
            joints.append(scope + wheel.get("name"))
    is_first, tags = True, [child.tag for child in children]
    assert "Q" not in tags or set(tags[tags.index("Q") :]) == {"Q"}, "<Q> stands last"
    for child in children:
        assert child.tag in INSIDE["Device"], f"<{child.tag}> in <{device.tag}>"
        if child.tag not in ("Frame", "Joint", "DHJoint"):
            _check_inner(child)
            continue
        own = _read_dh(cell, child, on) if child.tag == "DHJoint" else _read_frame(child, scope, on)
        if device.tag == "SerialDevice" or (is_first and device.tag != "MobileDevice"):
            own.parent = on
        assert own.motion in (*TYPES, "Fixed"), own.motion
        if own.depends:
            assert own.depends[0] in cell.frames, "a joint depends on one that comes later"
        elif own.motion in TYPES and child.get("state") != "Passive":
            joints.append(scope + child.get("name"))
        on, is_first = scope + child.get("name"), False
        _add(cell, on, own)
    cell.devices[device.get("name")] = joints


def _read_dh(cell: RobWorkCell, element: etree._Element, before: str) -> RobWorkFrame:
    _check(element, "Joint")
    cell.dh_type = element.get("type", cell.dh_type)
    alpha, offset = (np.radians(float(element.get(name))) for name in ("alpha", "offset"))
    matrix = craig_dh if cell.dh_type == "craig" else schilling_dh
    pose = matrix(alpha, float(element.get("a")), float(element.get("d")), offset)
    return RobWorkFrame(before, pose, "Revolute")


def _add(cell: RobWorkCell, name: str, frame: RobWorkFrame) -> None:
    assert name not in cell.frames, name
    cell.frames[name] = frame
