"""Write frames of a workcell: poses, joints, limits, shapes, and linkwork's own properties."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite, isinf
from typing import TYPE_CHECKING

from linkwork.io.degrees import degrees_text
from linkwork.io.dump import write_link
from linkwork.io.workcell_document import FrameEntry, JointEntry
from linkwork.io.workcell_joints import OWN_TYPE, X, Z
from linkwork.io.xml_write import add, number_text
from linkwork.model.geometry import Box, Cylinder, Material, Mesh, Shape, Sphere
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.parts import NO_LIMITS, Link
from linkwork.model.pose import IDENTITY, Pose

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

_LARGEST = 1e6  # limits beyond this [rad] are not written in degrees


def with_local_leader(frame: FrameEntry, prefix: str) -> FrameEntry:
    """A joint of a device that names the joint it depends on without the device."""
    if frame.joint is None or frame.joint.depends is None:
        return frame
    depends = frame.joint.depends
    leader = replace(depends, joint=depends.joint.removeprefix(prefix))
    return replace(frame, joint=replace(frame.joint, depends=leader))


def add_property(frame: Element, name: str, text: str | None = None) -> Element:
    """Add a `<Property>`."""
    element = add(frame, "Property", name=name)
    element.text = text
    return element


def write_pose(parent: Element, pose: Pose) -> None:
    """Add `<RPY>` and `<Pos>`, unless the pose is the identity."""
    if pose == IDENTITY:
        return
    x, y, z = pose.rpy
    add(parent, "RPY").text = " ".join(map(degrees_text, (z, y, x)))
    add(parent, "Pos").text = number_text(*pose.xyz)


def write_frame(
    parent: Element,
    frame: FrameEntry,
    name: str,
    refframe: str | None = None,
    *,
    end: bool = False,
) -> None:
    """Add a frame or joint under a name; `end` marks an end of a TreeDevice."""
    joint, daf = frame.joint, "true" if frame.attachable else None
    if joint is None:
        kind = "Movable" if frame.movable else "EndEffector" if end else None
        element = add(parent, "Frame", name=name, refframe=refframe, type=kind, daf=daf)
        write_pose(element, frame.pose)
    else:
        kind = _type_of(joint)
        state = "Passive" if not joint.active and kind != OWN_TYPE else None
        names = {"name": name, "refframe": refframe, "type": kind, "state": state, "daf": daf}
        element = add(parent, "Joint", **names)
        write_pose(element, frame.pose)
        if kind == OWN_TYPE:
            _write_motion(add_property(element, "linkwork.motion"), joint)
        else:
            _write_limits(element, joint)
    write_extras(element, frame)


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
        add(element, "PosLimit", min=unit(limits.lower), max=unit(limits.upper))
    if isfinite(limits.velocity):
        add(element, "VelLimit", max=unit(limits.velocity))
    if isfinite(joint.acceleration):
        add(element, "AccLimit", max=unit(joint.acceleration))
    if joint.depends:
        on, gain, offset = joint.depends.joint, joint.depends.multiplier, joint.depends.offset
        add(element, "Depend", on=on, gain=number_text(gain), offset=number_text(offset))
    if isfinite(limits.effort):
        add_property(element, "linkwork.effort", number_text(limits.effort))


def _write_motion(parent: Element, joint: JointEntry) -> None:
    element = add(
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
        add(element, "origin", xyz=number_text(*pose.xyz), rpy=number_text(*pose.rpy))
    names = ("lower", "upper", "velocity", "effort")
    limits = {name: getattr(joint.limits, name) for name in names}
    written = {name: number_text(value) for name, value in limits.items() if isfinite(value)}
    if written:
        add(element, "limit", **written)
    if joint.depends:
        on, gain, offset = joint.depends.joint, joint.depends.multiplier, joint.depends.offset
        add(element, "depends", on=on, gain=number_text(gain), offset=number_text(offset))


def write_extras(element: Element, frame: FrameEntry, refframe: str | None = None) -> None:
    """Shapes, inertia, properties and the default state of a frame."""
    named = {"refframe": refframe}
    bare = tuple(replace(shape, material=None) for shape in frame.visuals)
    simple = all(map(_is_simple, (*frame.visuals, *frame.collisions)))
    simple = simple and all(shape.material is None for shape in frame.collisions)
    both = frame.collisions == bare
    for shape in frame.visuals if simple else ():
        colmodel = None if both else "Disabled"
        _write_shape(add(element, "Drawable", name=shape.name, **named, colmodel=colmodel), shape)
    for shape in frame.collisions if simple and not both else ():
        _write_shape(add(element, "CollisionModel", name=shape.name, **named), shape)
    if frame.inertia != NO_INERTIA or not simple:
        shapes = () if simple else (frame.visuals, frame.collisions)
        visuals, collisions = shapes or ((), ())
        link = Link(name=frame.name, inertia=frame.inertia, visuals=visuals, collisions=collisions)
        write_link(add_property(element, "linkwork.link"), link)
    for name, value in frame.properties:
        add(element, "Property", name=name, **named).text = value
    if frame.home:
        add_property(element, "linkwork.home", number_text(*frame.home))
    if frame.home_parent is not None:
        add_property(element, "linkwork.parent", frame.home_parent)


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
    write_pose(element, shape.link_H_shape)
    if shape.material and shape.material.rgba:
        *color, alpha = shape.material.rgba
        add(element, "RGB").text = number_text(*color, *([] if alpha == 1 else [alpha]))
    match shape.geometry:
        case Box((x, y, z)):
            add(element, "Box", x=number_text(x), y=number_text(y), z=number_text(z))
        case Sphere(radius):
            add(element, "Sphere", radius=number_text(radius))
        case Cylinder(radius, length):
            add(element, "Cylinder", radius=number_text(radius), z=number_text(length))
        case Mesh(filename):
            add(element, "Polytope", file=filename)
        case _:
            raise TypeError(shape.geometry)
