"""Writer of frames of a workcell: poses, joints, limits, shapes, and linkwork's properties."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite, isinf
from typing import TYPE_CHECKING

import numpy as np

from linkwork.io.units import degrees_text
from linkwork.io.urdf.writer import write_link
from linkwork.io.writing import add, format_numbers
from linkwork.model.geometry import Material, Mesh, Shape
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.joints import KINDS
from linkwork.model.joints.kind import axes_across
from linkwork.model.parts import NO_LIMITS, Link, Mimic
from linkwork.model.pose import IDENTITY, Pose, as_pose
from linkwork.workcell.cell.frames import CellFrame, Motion
from linkwork.workcell.files.extensions import HELPER_PROPERTY, attributes_of
from linkwork.workcell.files.joints import JOINT_TYPES, LINKWORK_TYPE, MOTION_PROPERTY
from linkwork.workcell.files.shapes import MESH, PRIMITIVES

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

_KINDS_WITH_HELPER = ("revolute", "prismatic")
_LARGEST = 1e6  # limits beyond this [rad] are not written in degrees


def with_local_leader(frame: CellFrame, prefix: str) -> CellFrame:
    """Return the frame with the name of its leader relative to the device."""
    if frame.motion is None or frame.motion.depends is None:
        return frame
    depends = frame.motion.depends
    leader = replace(depends, joint=depends.joint.removeprefix(prefix))
    return replace(frame, motion=replace(frame.motion, depends=leader))


def explicit_home(frame: CellFrame) -> tuple[float, ...]:
    """Return the values of a frame in the default state; empty if they need not be written."""
    return () if replace(frame, home=()).home == frame.home else frame.home


def add_property(frame: Element, name: str, text: str | None = None) -> Element:
    """Add a `<Property>`."""
    element = add(frame, "Property", name=name)
    element.text = text
    return element


def write_pose(parent: Element, pose: Pose, *, always: bool = False) -> None:
    """Add `<RPY>` and `<Pos>`; an identity is written only with `always`."""
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
        parent: the element to add it to.
        frame: the frame.
        name: name of the frame in that element.
        refframe: name of its parent, if it must be written.
        end: whether it is marked as an end of a TreeDevice.
        helper: name of the joint to write before it, if it `needs_helper`.
        leader: name of its leader in RobWork, if that is a helper.
    """
    joint, daf = frame.motion, "true" if frame.attachable else None
    if joint is None:
        kind = "Movable" if frame.movable else "EndEffector" if end else None
        element = add(parent, "Frame", name=name, refframe=refframe, type=kind, daf=daf)
        write_pose(element, frame.parent_H_frame)
    elif helper is not None:
        element = _write_with_helper(parent, frame, (name, refframe, helper), leader)
    else:
        kind = robwork_type(joint) or LINKWORK_TYPE
        element = _joint_element(parent, frame, (name, refframe), kind, frame.parent_H_frame)
        if kind != LINKWORK_TYPE:
            _write_limits(element, joint, leader)
        if kind == LINKWORK_TYPE or leader is not None or not _is_plain(joint):
            _write_motion(add_property(element, MOTION_PROPERTY), joint)
    write_extras(element, frame)


def robwork_type(joint: Motion) -> str | None:
    """Return the type of a joint in RobWork with the same motion; None if there is none."""
    if joint.joint_H_frame != IDENTITY or joint.backwards:
        return None
    for name, motions in JOINT_TYPES.items():
        if len(motions) == 1 and motions[0][1:] == (joint.kind, joint.axis):
            return name
    return None


def needs_helper(frame: CellFrame) -> bool:
    """Whether a joint is written for RobWork as two frames: a joint about z, and a frame on it.

    This applies to revolute and prismatic joints with another axis, or with a pose after the joint.
    """
    joint = frame.motion
    if joint is None or joint.kind not in _KINDS_WITH_HELPER or frame.attachable:
        return False
    return robwork_type(joint) is None


def _joint_element(
    parent: Element, frame: CellFrame, names: tuple[str, str | None], kind: str, pose: Pose
) -> Element:
    """Add a `<Joint>` and its pose; without `<Pos>`, RobWork reads `<PosLimit>` as `<Pos>`."""
    name, refframe = names
    passive = frame.motion is not None and not frame.motion.active and kind != LINKWORK_TYPE
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
    """Add a joint about z, which linkwork ignores, and the frame on it with the actual motion.

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
    """Whether RobWork's elements describe a joint with a RobWork type completely."""
    limits = joint.limits
    is_bounded = isfinite(limits.lower) and isfinite(limits.upper)
    is_free = (limits.lower, limits.upper) == (NO_LIMITS.lower, NO_LIMITS.upper)
    is_small = not is_bounded or max(-limits.lower, limits.upper) <= _LARGEST
    has_limits = KINDS[joint.kind].nv == 1 or isinf(joint.acceleration)
    return (is_free or is_bounded) and is_small and has_limits and not joint.joint


def _write_limits(element: Element, joint: Motion, leader: str | None) -> None:
    """Add the limits of a joint with one coordinate; RobWork needs both bounds or none."""
    if KINDS[joint.kind].nv != 1:
        return
    limits = joint.limits
    is_angular = joint.kind == "revolute"

    def in_file_units(value: float) -> str:
        return degrees_text(value) if is_angular else format_numbers(value)

    if isfinite(limits.lower) and isfinite(limits.upper):
        bounds = {"min": in_file_units(limits.lower), "max": in_file_units(limits.upper)}
        add(element, "PosLimit", **bounds)
    if isfinite(limits.velocity):
        add(element, "VelLimit", max=in_file_units(limits.velocity))
    if isfinite(joint.acceleration):
        add(element, "AccLimit", max=in_file_units(joint.acceleration))
    if joint.depends:
        _write_dependence(element, "Depend", leader or joint.depends.joint, joint.depends)
    if isfinite(limits.effort):
        add_property(element, "linkwork.effort", format_numbers(limits.effort))


def _write_motion(parent: Element, joint: Motion, mount: Pose | None = None) -> None:
    axis = format_numbers(*joint.axis)
    element = add(parent, "motion", kind=joint.kind, axis=axis, **attributes_of(joint))
    if joint.joint_H_frame != IDENTITY:
        _write_origin(element, joint.joint_H_frame)
    if mount is not None:
        _write_origin(add(element, "mount"), mount)
    if joint.limits != NO_LIMITS:
        add(element, "limit", **attributes_of(joint.limits))
    if joint.depends:
        _write_dependence(element, "depends", joint.depends.joint, joint.depends)


def _write_origin(parent: Element, pose: Pose) -> None:
    add(parent, "origin", xyz=format_numbers(*pose.xyz), rpy=format_numbers(*pose.rpy))


def _write_dependence(parent: Element, tag: str, leader: str, depends: Mimic) -> None:
    gain, offset = format_numbers(depends.multiplier), format_numbers(depends.offset)
    add(parent, tag, on=leader, gain=gain, offset=offset)


def write_extras(element: Element, frame: CellFrame, refframe: str | None = None) -> None:
    """Add the shapes, inertia, properties and default state of a frame."""
    reference = {"refframe": refframe}
    bare = tuple(replace(shape, material=None) for shape in frame.visuals)
    simple = all(map(_is_simple, (*frame.visuals, *frame.collisions)))
    simple = simple and all(shape.material is None for shape in frame.collisions)
    are_equal = frame.collisions == bare
    for shape in frame.visuals if simple else ():
        colmodel = None if are_equal else "Disabled"
        drawable = add(element, "Drawable", name=shape.name, **reference, colmodel=colmodel)
        _write_shape(drawable, shape)
    for shape in frame.collisions if simple and not are_equal else ():
        _write_shape(add(element, "CollisionModel", name=shape.name, **reference), shape)
    if frame.inertia != NO_INERTIA or not simple:
        shapes = () if simple else (frame.visuals, frame.collisions)
        visuals, collisions = shapes or ((), ())
        link = Link(name=frame.name, inertia=frame.inertia, visuals=visuals, collisions=collisions)
        write_link(add_property(element, "linkwork.link"), link)
    for name, value in frame.properties:
        add(element, "Property", name=name, **reference).text = value
    if home := explicit_home(frame):
        add_property(element, "linkwork.home", format_numbers(*home))
    if frame.home_parent is not None:
        add_property(element, "linkwork.parent", frame.home_parent)


def _is_simple(shape: Shape) -> bool:
    """Whether RobWork can express the geometry and the color of a shape."""
    material = shape.material
    has_only_color = material is None or (
        material.rgba is not None and material == Material(rgba=material.rgba)
    )
    if isinstance(shape.geometry, Mesh):
        return has_only_color and shape.geometry.scale == (1.0, 1.0, 1.0)
    return has_only_color and type(shape.geometry).__name__ in PRIMITIVES


def _write_shape(element: Element, shape: Shape) -> None:
    write_pose(element, shape.link_H_shape)
    if shape.material and shape.material.rgba:
        *color, alpha = shape.material.rgba
        add(element, "RGB").text = format_numbers(*color, *([] if alpha == 1 else [alpha]))
    if isinstance(shape.geometry, Mesh):
        add(element, MESH, file=shape.geometry.filename)
    else:
        tag = type(shape.geometry).__name__
        values = map(format_numbers, shape.geometry.sizes)
        add(element, tag, **dict(zip(PRIMITIVES[tag][1], values, strict=True)))
