"""Write frames of a workcell: poses, joints, limits, shapes, and linkwork's own properties."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite, isinf
from typing import TYPE_CHECKING

import numpy as np

from linkwork.io.degrees import degrees_text
from linkwork.io.urdf.writer import write_link
from linkwork.io.xml.write import add, format_numbers
from linkwork.model.geometry import Box, Cylinder, Material, Mesh, Shape, Sphere
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.joints import KINDS
from linkwork.model.joints.kind import axes_across
from linkwork.model.parts import NO_LIMITS, Link
from linkwork.model.pose import IDENTITY, Pose, as_pose
from linkwork.workcell.parts import CellFrame, Motion
from linkwork.workcell.robwork.extensions import HELPER_PROPERTY
from linkwork.workcell.robwork.joints import JOINT_TYPES, MOTION_PROPERTY, OWN_TYPE

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

_HELPED = ("revolute", "prismatic")
_LARGEST = 1e6  # limits beyond this [rad] are not written in degrees


def with_local_leader(frame: CellFrame, prefix: str) -> CellFrame:
    """A joint of a device that names the joint it depends on without the device."""
    if frame.motion is None or frame.motion.depends is None:
        return frame
    depends = frame.motion.depends
    leader = replace(depends, joint=depends.joint.removeprefix(prefix))
    return replace(frame, motion=replace(frame.motion, depends=leader))


def explicit_home(frame: CellFrame) -> tuple[float, ...]:
    """The numbers of a frame in the default state, if the file must say them."""
    return () if replace(frame, home=()).home == frame.home else frame.home


def add_property(frame: Element, name: str, text: str | None = None) -> Element:
    """Add a `<Property>`."""
    element = add(frame, "Property", name=name)
    element.text = text
    return element


def write_pose(parent: Element, pose: Pose, *, always: bool = False) -> None:
    """Add `<RPY>` and `<Pos>`; if not always, unless the pose is the identity."""
    if pose == IDENTITY and not always:
        return
    x, y, z = pose.rpy
    add(parent, "RPY").text = " ".join(map(degrees_text, (z, y, x)))
    add(parent, "Pos").text = format_numbers(*pose.xyz)


def write_frame(
    parent: Element,
    frame: CellFrame,
    name: str,
    refframe: str | None = None,
    *,
    end: bool = False,
    helper: str | None = None,
    leader: str | None = None,
) -> None:
    """Add a frame or joint.

    Args:
        parent: the element that it stands in.
        frame: what to write.
        name: of the frame in that element.
        refframe: the frame that it sits on, if it is to be named.
        end: whether it is marked as an end of a TreeDevice.
        helper: name of the joint to write before it, for one that `needs_helper`.
        leader: the joint that it depends on, as RobWork knows it, if that is another's helper.
    """
    joint, daf = frame.motion, "true" if frame.attachable else None
    if joint is None:
        kind = "Movable" if frame.movable else "EndEffector" if end else None
        element = add(parent, "Frame", name=name, refframe=refframe, type=kind, daf=daf)
        write_pose(element, frame.parent_H_frame)
    elif helper is not None:
        element = _write_with_helper(parent, frame, (name, refframe, helper), leader)
    else:
        kind = robwork_type(joint) or OWN_TYPE
        element = _joint_element(parent, frame, (name, refframe), kind, frame.parent_H_frame)
        if kind != OWN_TYPE:
            _write_limits(element, joint, leader)
        if kind == OWN_TYPE or leader is not None or not _is_plain(joint):
            _write_motion(add_property(element, MOTION_PROPERTY), joint)
    write_extras(element, frame)


def robwork_type(joint: Motion) -> str | None:
    """The type of a joint in RobWork, about whose axis it moves; None if there is none."""
    if joint.joint_H_frame != IDENTITY or joint.backwards:
        return None
    for name, motions in JOINT_TYPES.items():
        if len(motions) == 1 and motions[0][1:] == (joint.kind, joint.axis):
            return name
    return None


def needs_helper(frame: CellFrame) -> bool:
    """Whether RobWork reads a joint as two frames: its own joint about z, and a frame on it.

    For a revolute or prismatic joint about another axis, or with a pose behind it.
    """
    joint = frame.motion
    if joint is None or joint.kind not in _HELPED or frame.attachable:
        return False
    return robwork_type(joint) is None


def _joint_element(
    parent: Element, frame: CellFrame, names: tuple[str, str | None], kind: str, pose: Pose
) -> Element:
    """Add a `<Joint>` and its pose, without which RobWork takes `<PosLimit` for `<Pos`."""
    name, refframe = names
    passive = frame.motion is not None and not frame.motion.active and kind != OWN_TYPE
    element = add(
        parent,
        "Joint",
        name=name,
        refframe=refframe,
        type=kind,
        state="Passive" if passive else None,
        daf="true" if frame.attachable else None,
    )
    write_pose(element, pose, always=True)
    return element


def _write_with_helper(
    parent: Element, frame: CellFrame, names: tuple[str, str | None, str], leader: str | None
) -> Element:
    """Add a joint about z that linkwork passes over, and the frame on it, which says how it moves.

    P M(axis) J = (P R) M(z) (R^-1 J), with R z = axis; M^-1 is M about the opposite axis.
    """
    name, refframe, helper = names
    joint = frame.motion
    assert joint
    x, y, z = (-c for c in joint.axis) if joint.backwards else joint.axis
    R = np.eye(4)
    R[:3, :3] = np.transpose([*axes_across((x, y, z)), (x, y, z)])
    joint_H_frame = as_pose(R.T @ joint.joint_H_frame.matrix())
    about_z = as_pose(frame.parent_H_frame.matrix() @ R)
    kind = joint.kind.capitalize()
    first = _joint_element(parent, frame, (helper, refframe), kind, about_z)
    _write_limits(first, joint, leader)
    add_property(first, HELPER_PROPERTY, "for RobWork: the joint of the next frame")
    element = add(parent, "Frame", name=name, refframe=None if refframe is None else helper)
    write_pose(element, joint_H_frame)
    _write_motion(add_property(element, MOTION_PROPERTY), joint, frame.parent_H_frame)
    return element


def _is_plain(joint: Motion) -> bool:
    """Whether the elements of RobWork say all about a joint that has a type there."""
    limits = joint.limits
    bounded = isfinite(limits.lower) and isfinite(limits.upper)
    free = (limits.lower, limits.upper) == (NO_LIMITS.lower, NO_LIMITS.upper)
    small = not bounded or max(-limits.lower, limits.upper) <= _LARGEST
    limited = KINDS[joint.kind].nv == 1 or isinf(joint.acceleration)
    return (free or bounded) and small and limited and not joint.joint


def _write_limits(element: Element, joint: Motion, leader: str | None) -> None:
    """Add the limits of a joint as RobWork has them: of one coordinate, both bounds or none."""
    if KINDS[joint.kind].nv != 1:
        return
    limits = joint.limits
    angular = joint.kind == "revolute"

    def unit(number: float) -> str:
        return degrees_text(number) if angular else format_numbers(number)

    if isfinite(limits.lower) and isfinite(limits.upper):
        add(element, "PosLimit", min=unit(limits.lower), max=unit(limits.upper))
    if isfinite(limits.velocity):
        add(element, "VelLimit", max=unit(limits.velocity))
    if isfinite(joint.acceleration):
        add(element, "AccLimit", max=unit(joint.acceleration))
    if joint.depends:
        on, gain, offset = joint.depends.joint, joint.depends.multiplier, joint.depends.offset
        add(
            element,
            "Depend",
            on=leader or on,
            gain=format_numbers(gain),
            offset=format_numbers(offset),
        )
    if isfinite(limits.effort):
        add_property(element, "linkwork.effort", format_numbers(limits.effort))


def _write_motion(parent: Element, joint: Motion, mount: Pose | None = None) -> None:
    element = add(
        parent,
        "motion",
        kind=joint.kind,
        axis=format_numbers(*joint.axis),
        pitch=format_numbers(joint.pitch) if joint.pitch else None,
        backwards="true" if joint.backwards else None,
        active=None if joint.active else "false",
        joint=joint.joint or None,
        acceleration=format_numbers(joint.acceleration) if isfinite(joint.acceleration) else None,
    )
    if joint.joint_H_frame != IDENTITY:
        pose = joint.joint_H_frame
        add(element, "origin", xyz=format_numbers(*pose.xyz), rpy=format_numbers(*pose.rpy))
    if mount is not None:
        origin = {"xyz": format_numbers(*mount.xyz), "rpy": format_numbers(*mount.rpy)}
        add(add(element, "mount"), "origin", **origin)
    names = ("lower", "upper", "velocity", "effort")
    limits = {name: getattr(joint.limits, name) for name in names}
    written = {name: format_numbers(value) for name, value in limits.items() if isfinite(value)}
    if written:
        add(element, "limit", **written)
    if joint.depends:
        on, gain, offset = joint.depends.joint, joint.depends.multiplier, joint.depends.offset
        add(element, "depends", on=on, gain=format_numbers(gain), offset=format_numbers(offset))


def write_extras(element: Element, frame: CellFrame, refframe: str | None = None) -> None:
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
    if home := explicit_home(frame):
        add_property(element, "linkwork.home", format_numbers(*home))
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
        add(element, "RGB").text = format_numbers(*color, *([] if alpha == 1 else [alpha]))
    match shape.geometry:
        case Box((x, y, z)):
            add(element, "Box", x=format_numbers(x), y=format_numbers(y), z=format_numbers(z))
        case Sphere(radius):
            add(element, "Sphere", radius=format_numbers(radius))
        case Cylinder(radius, length):
            add(element, "Cylinder", radius=format_numbers(radius), z=format_numbers(length))
        case Mesh(filename):
            add(element, "Polytope", file=filename)
        case _:
            raise TypeError(shape.geometry)
