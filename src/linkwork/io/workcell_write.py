"""Write a workcell as RobWork's XML. Reading the text again gives an equal document.

A device whose frames stand in a row, each on the one before, becomes a SerialDevice element. What
RobWork has no words for is written in linkwork's, see `workcell_own`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import isfinite, isinf
from typing import TYPE_CHECKING

from linkwork.io.degrees import degrees_text
from linkwork.io.dump import dump_urdf, number_text, write_link
from linkwork.io.workcell_document import (
    WORLD,
    CellDocument,
    DeviceEntry,
    FrameEntry,
    JointEntry,
    RobotEntry,
)
from linkwork.io.workcell_joints import OWN_TYPE, X, Z
from linkwork.model.geometry import Box, Cylinder, Material, Mesh, Shape, Sphere
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.kinds import KINDS
from linkwork.model.parts import NO_LIMITS, Link
from linkwork.model.pose import IDENTITY, Pose

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

_LARGEST = 1e6  # limits beyond this [rad] are not written in degrees


def write_workcell(document: CellDocument, *, devices: bool = True) -> str:
    """A document as XML.

    Args:
        document: the workcell, parents before children.
        devices: whether devices become SerialDevice elements where they can; else all are written
            in linkwork's words.
    """
    from lxml import etree

    top = etree.Element("WorkCell", name=document.name)
    _write_extras(top, document.world, refframe=WORLD)
    _Writer(top, document, devices).write()
    etree.indent(top, space="  ")
    text = etree.tostring(top, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


class _Writer:
    """Writes frames, robots and devices in an order that keeps theirs."""

    def __init__(self, top: Element, document: CellDocument, blocks: bool) -> None:
        self.top = top
        self.nodes = document.nodes
        self.devices = document.devices
        self.blocks = blocks
        self.last = WORLD  # the last frame that is in no device

    def write(self) -> None:
        at = 0
        waiting = list(self.devices)
        while at < len(self.nodes):
            node = self.nodes[at]
            device = next((d for d in waiting if self.blocks and d.base == node.name), None)
            chain = self._chain(device, at) if device else ()
            if device and chain:
                self._write_serial(device, chain)
                waiting.remove(device)
                at += len(chain)
                continue
            if isinstance(node, RobotEntry):
                before = [d.name for d in waiting].index(node.name)
                self._write_devices(waiting[:before])
                del waiting[: before + 1]
                self._write_robot(node)
            else:
                _write_frame(self.top, node, node.name, refframe=node.parent)
                self.last = node.name
            at += 1
        self._write_devices(waiting)

    def _chain(self, device: DeviceEntry, at: int) -> tuple[FrameEntry, ...]:
        """The frames of a device, if they can stand in a SerialDevice element."""
        if device.kind != "serial" or self.nodes[at].parent != self.last:
            return ()
        chain: list[FrameEntry] = []
        for node in self.nodes[at:]:
            if not isinstance(node, FrameEntry) or not node.name.startswith(f"{device.name}."):
                return ()
            if chain and node.parent != chain[-1].name:
                return ()
            chain.append(node)
            if node.name == device.ends[0]:
                return tuple(chain) if chain[0].joint is None else ()
        return ()

    def _write_serial(self, device: DeviceEntry, chain: Sequence[FrameEntry]) -> None:
        element = _add(self.top, "SerialDevice", name=device.name)
        home: list[float] = []
        for frame in chain:
            own = frame
            if frame.joint and frame.joint.active and not frame.joint.depends:
                home += frame.home or KINDS[frame.joint.kind].neutral
                own = replace(frame, home=())
            name = frame.name.removeprefix(f"{device.name}.")
            _write_frame(element, _with_local_leader(own, f"{device.name}."), name)
        if any(home):
            _add(element, "Q", name="Home").text = number_text(*home)

    def _write_robot(self, robot: RobotEntry) -> None:
        from lxml import etree

        element = _add(
            self.top,
            "Robot",
            name=robot.name,
            refframe=robot.parent,
            base=robot.base,
            end=robot.end,
            floating="true" if robot.floating else None,
            daf="true" if robot.attachable else None,
        )
        _write_pose(element, robot.pose)
        element.append(etree.fromstring(dump_urdf(robot.model).encode()))
        if robot.home is not None:
            _add(element, "Q", name="Home").text = number_text(*robot.home)

    def _write_devices(self, devices: Iterable[DeviceEntry]) -> None:
        for device in devices:
            mobile = device.kind == "mobile"
            element = _add(
                self.top,
                "Device",
                name=device.name,
                kind=device.kind,
                base=device.base,
                radius=number_text(device.radius) if mobile else None,
                track=number_text(device.track) if mobile else None,
            )
            for end in device.ends:
                _add(element, "End", name=end)
            for name in (*device.joints, *device.parts):
                _add(element, "Of", name=name)


def _with_local_leader(frame: FrameEntry, prefix: str) -> FrameEntry:
    """A joint of a device that names the joint it depends on without the device."""
    if frame.joint is None or frame.joint.depends is None:
        return frame
    depends = frame.joint.depends
    leader = replace(depends, joint=depends.joint.removeprefix(prefix))
    return replace(frame, joint=replace(frame.joint, depends=leader))


def _add(parent: Element, tag: str, **attributes: str | None) -> Element:
    from lxml import etree

    given = {name: value for name, value in attributes.items() if value is not None}
    return etree.SubElement(parent, tag, given)


def _add_property(frame: Element, name: str, text: str | None = None) -> Element:
    element = _add(frame, "Property", name=name)
    element.text = text
    return element


def _write_pose(parent: Element, pose: Pose) -> None:
    if pose == IDENTITY:
        return
    x, y, z = pose.rpy
    _add(parent, "RPY").text = " ".join(map(degrees_text, (z, y, x)))
    _add(parent, "Pos").text = number_text(*pose.xyz)


def _write_frame(
    parent: Element, frame: FrameEntry, name: str, refframe: str | None = None
) -> None:
    joint, daf = frame.joint, "true" if frame.attachable else None
    if joint is None:
        kind = "Movable" if frame.movable else None
        element = _add(parent, "Frame", name=name, refframe=refframe, type=kind, daf=daf)
        _write_pose(element, frame.pose)
    else:
        kind = _type_of(joint)
        state = "Passive" if not joint.active and kind != OWN_TYPE else None
        names = {"name": name, "refframe": refframe, "type": kind, "state": state, "daf": daf}
        element = _add(parent, "Joint", **names)
        _write_pose(element, frame.pose)
        if kind == OWN_TYPE:
            _write_motion(_add_property(element, "linkwork.motion"), joint)
        else:
            _write_limits(element, joint)
    _write_extras(element, frame)


def _type_of(joint: JointEntry) -> str:
    """The type of a joint in RobWork; linkwork's own if it has none."""
    limits = joint.limits
    bounded = isfinite(limits.lower) and isfinite(limits.upper)
    free = (limits.lower, limits.upper) == (NO_LIMITS.lower, NO_LIMITS.upper)
    small = not bounded or max(-limits.lower, limits.upper) <= _LARGEST
    plain = replace(
        JointEntry(kind=joint.kind, axis=joint.axis, depends=joint.depends, active=joint.active),
        limits=limits,
        acceleration=joint.acceleration,
    )
    if joint != plain or not (free or bounded) or not small:
        return OWN_TYPE
    if joint.kind in ("revolute", "prismatic") and joint.axis == Z:
        return joint.kind.capitalize()
    if joint.kind == "universal" and joint.axis == X and isinf(joint.acceleration):
        return "Universal"
    return OWN_TYPE


def _write_limits(element: Element, joint: JointEntry) -> None:
    limits = joint.limits
    angular = joint.kind == "revolute"

    def unit(number: float) -> str:
        return degrees_text(number) if angular else number_text(number)

    if isfinite(limits.lower):
        _add(element, "PosLimit", min=unit(limits.lower), max=unit(limits.upper))
    if isfinite(limits.velocity):
        _add(element, "VelLimit", max=unit(limits.velocity))
    if isfinite(joint.acceleration):
        _add(element, "AccLimit", max=unit(joint.acceleration))
    if joint.depends:
        on, gain, offset = joint.depends.joint, joint.depends.multiplier, joint.depends.offset
        _add(element, "Depend", on=on, gain=number_text(gain), offset=number_text(offset))
    if isfinite(limits.effort):
        _add_property(element, "linkwork.effort", number_text(limits.effort))


def _write_motion(parent: Element, joint: JointEntry) -> None:
    element = _add(
        parent,
        "motion",
        kind=joint.kind,
        axis=number_text(*joint.axis),
        pitch=number_text(joint.pitch) if joint.pitch else None,
        backwards="true" if joint.backwards else None,
        active=None if joint.active else "false",
        joint=joint.joint or None,
        acceleration=number_text(joint.acceleration) if isfinite(joint.acceleration) else None,
    )
    if joint.joint_H_frame != IDENTITY:
        pose = joint.joint_H_frame
        _add(element, "origin", xyz=number_text(*pose.xyz), rpy=number_text(*pose.rpy))
    names = ("lower", "upper", "velocity", "effort")
    limits = {name: getattr(joint.limits, name) for name in names}
    written = {name: number_text(value) for name, value in limits.items() if isfinite(value)}
    if written:
        _add(element, "limit", **written)
    if joint.depends:
        on, gain, offset = joint.depends.joint, joint.depends.multiplier, joint.depends.offset
        _add(element, "depends", on=on, gain=number_text(gain), offset=number_text(offset))


def _write_extras(element: Element, frame: FrameEntry, refframe: str | None = None) -> None:
    """Shapes, inertia, properties and the default state of a frame."""
    named = {"refframe": refframe}
    bare = tuple(replace(shape, material=None) for shape in frame.visuals)
    simple = all(map(_is_simple, (*frame.visuals, *frame.collisions)))
    simple = simple and all(shape.material is None for shape in frame.collisions)
    both = frame.collisions == bare
    for shape in frame.visuals if simple else ():
        colmodel = None if both else "Disabled"
        _write_shape(_add(element, "Drawable", name=shape.name, **named, colmodel=colmodel), shape)
    for shape in frame.collisions if simple and not both else ():
        _write_shape(_add(element, "CollisionModel", name=shape.name, **named), shape)
    if frame.inertia != NO_INERTIA or not simple:
        shapes = () if simple else (frame.visuals, frame.collisions)
        visuals, collisions = shapes or ((), ())
        link = Link(name=frame.name, inertia=frame.inertia, visuals=visuals, collisions=collisions)
        write_link(_add_property(element, "linkwork.link"), link)
    for name, value in frame.properties:
        _add(element, "Property", name=name, **named).text = value
    if frame.home:
        _add_property(element, "linkwork.home", number_text(*frame.home))
    if frame.home_parent is not None:
        _add_property(element, "linkwork.parent", frame.home_parent)


def _is_simple(shape: Shape) -> bool:
    """Whether RobWork has the geometry and the colour of a shape."""
    look = shape.material
    plain_look = look is None or (look.rgba is not None and look == Material(rgba=look.rgba))
    match shape.geometry:
        case Mesh():
            return plain_look and shape.geometry.scale == (1.0, 1.0, 1.0)
        case Box() | Sphere() | Cylinder():
            return plain_look
        case _:
            return False


def _write_shape(element: Element, shape: Shape) -> None:
    _write_pose(element, shape.link_H_shape)
    if shape.material and shape.material.rgba:
        *color, alpha = shape.material.rgba
        _add(element, "RGB").text = number_text(*color, *([] if alpha == 1 else [alpha]))
    match shape.geometry:
        case Box((x, y, z)):
            _add(element, "Box", x=number_text(x), y=number_text(y), z=number_text(z))
        case Sphere(radius):
            _add(element, "Sphere", radius=number_text(radius))
        case Cylinder(radius, length):
            _add(element, "Cylinder", radius=number_text(radius), z=number_text(length))
        case Mesh(filename):
            _add(element, "Polytope", file=filename)
        case _:
            raise TypeError(shape.geometry)
