"""Reader of single frames and joints in a workcell file: type, pose, limits, dependence.

Joints move along or about the z axis of their frame, after their pose:

    parent_H_frame(q) = pose @ Rz(q)   or   pose @ Tz(q)

Denavit-Hartenberg joints have the pose of their convention at q = 0:

    craig       Rx(alpha) Tx(a) Rz(theta) Tz(d)
    schilling   Rz(theta) Tz(d) Tx(a) Rx(alpha)
    HGP         as schilling; between nearly parallel axes Ty(b) Ry(beta) Tx(a) Rx(alpha)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import cos, sin
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import nearest, shown
from linkwork.io.xml.elements import Part
from linkwork.model.numbers import Triple
from linkwork.model.parts import Mimic
from linkwork.model.pose import IDENTITY, Pose, as_pose, snapped
from linkwork.workcell.cell.frames import CellFrame, Motion
from linkwork.workcell.files.elements import CellPart, read_pose
from linkwork.workcell.files.geometry import POSE_ELEMENTS

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
# (suffix of the name of an intermediate frame, kind, axis) of the joints that a type consists of.
JOINT_TYPES: dict[str, tuple[tuple[str, str, Triple], ...]] = {
    "Revolute": (("", "revolute", Z),),
    "Prismatic": (("", "prismatic", Z),),
    "Universal": (("", "universal", X),),
    "Spherical": ((".x", "revolute", X), (".y", "revolute", Y), ("", "revolute", Z)),
    "PrismaticUniversal": ((".xy", "universal", X), ("", "prismatic", Z)),
    "PrismaticSpherical": (
        *((".x", "revolute", X), (".y", "revolute", Y), (".z", "revolute", Z)),
        ("", "prismatic", Z),
    ),
}
LINKWORK_TYPE = "linkwork"  # type of joints that RobWork does not have; a property defines them
MOTION_PROPERTY = "linkwork.motion"  # name of that property
FRAME_TYPES = ("Fixed", "Movable", "EndEffector")
DH_TYPES = ("craig", "schilling", "HGP")
LIMITS = ("PosLimit", "VelLimit", "AccLimit")
MODELS = ("Drawable", "CollisionModel")


@dataclass(frozen=True, slots=True)
class Limit:
    """One `<PosLimit>`, `<VelLimit>` or `<AccLimit>`, in the unit of the file."""

    part: CellPart
    joint: str | None  # its name in the scope of the limit; None for the enclosing joint

    def applied(self, joint: Motion) -> Motion:
        """Return the joint with this limit."""
        part = self.part
        if joint.kind not in ("revolute", "prismatic"):
            part.report.ignore(part.element, f"<{part.tag}> of a {joint.kind} joint")
            return joint
        errors = part.report.n_errors
        low = self._number("min", joint) if part.tag == "PosLimit" else 0.0
        high = self._number("max", joint)
        if part.report.n_errors > errors:
            return joint
        if low > high:
            texts = [part.attribute(name) for name in ("min", "max")]
            reason = (
                f"min {texts[0]} is above max {texts[1]}"
                if part.tag == "PosLimit"
                else (f"max {texts[1]} is negative")
            )
            part.error(f"{part.tag}: {reason}")
            return joint
        if part.tag == "AccLimit":
            return replace(joint, acceleration=high)
        if part.tag == "VelLimit":
            return replace(joint, limits=replace(joint.limits, velocity=high))
        return replace(joint, limits=replace(joint.limits, lower=low, upper=high))

    def _number(self, attribute: str, joint: Motion) -> float:
        number = self.part.number(attribute)
        if joint.kind == "prismatic" or abs(number) > 1e15:
            return number
        return self.part.radians(attribute, number)


def is_motion_property(part: CellPart) -> bool:
    """Whether an element is the property that defines the motion of a joint."""
    return part.tag == "Property" and part.attribute("name") == MOTION_PROPERTY


def read_limit(part: CellPart) -> Limit:
    """Read a limit; its unit depends on the joint."""
    attributes = ("min", "max") if part.tag == "PosLimit" else ("max",)
    part.warn_unknown((), ("refjoint", *attributes), strict=True)
    return Limit(part, part.attribute("refjoint"))


def read_frame(part: CellPart, name: str) -> list[CellFrame]:
    """Read a `<Frame>`, `<Joint>` or `<DHJoint>`, without its parent.

    Returns:
        The frame; for a joint type that is not a joint kind, a chain of simpler joints.
    """
    if part.tag == "Frame":
        return [_read_plain_frame(part, name)]
    if part.tag == "Joint":
        attributes = ("name", "refframe", "type", "state", "daf")
        part.check((*POSE_ELEMENTS, *LIMITS, "Depend", *MODELS), attributes)
        pose, kind = read_pose(part), _read_type(part)
    else:
        pose, kind = _read_dh(part)
    attachable = part.flag("daf")
    if kind == LINKWORK_TYPE:
        if not any(is_motion_property(child) for child in part.parts()):
            part.error(f"a <Joint> of type {LINKWORK_TYPE!r} needs a property {MOTION_PROPERTY}")
        kind = "Revolute"  # until that property is read
    active = part.choice("state", ("Active", "Passive"), "Active") == "Active"
    depends = _read_depend(part, kind)
    frames: list[CellFrame] = []
    for suffix, joint_kind, axis in JOINT_TYPES[kind]:
        motion = Motion(kind=joint_kind, axis=axis, active=active, depends=depends)
        frames.append(_frame(part, name + suffix, pose, motion=motion))
        pose = IDENTITY
    frames[0] = replace(frames[0], attachable=attachable)
    return _with_limits(part, frames)


def _frame(part: CellPart, name: str, pose: Pose, **fields: Any) -> CellFrame:
    return CellFrame(name=name, parent=None, parent_H_frame=pose, location=part.location, **fields)


def _read_plain_frame(part: CellPart, name: str) -> CellFrame:
    part.check((*POSE_ELEMENTS, *MODELS), ("name", "refframe", "type", "daf"))
    kind = part.choice("type", FRAME_TYPES, "Fixed")
    attachable = part.flag("daf")
    movable = kind == "Movable"
    return _frame(part, name, read_pose(part), movable=movable, attachable=attachable)


def _read_type(part: CellPart) -> str:
    kind = part.required_attribute("type")
    if kind == LINKWORK_TYPE:
        return kind
    if kind.strip() and kind not in JOINT_TYPES:
        part.error(f"unknown joint type {shown(kind)}; {nearest(kind, JOINT_TYPES)}")
    return kind if kind in JOINT_TYPES else "Revolute"


def _read_depend(part: CellPart, kind: str) -> Mimic | None:
    depend = part.child("Depend")
    if depend is None:
        return None
    depends = read_dependence(depend)
    if kind not in ("Revolute", "Prismatic"):
        depend.error(
            f"a {kind} joint cannot depend on another; only joints with one coordinate can"
        )
        return None
    return depends


def read_dependence(part: Part) -> Mimic | None:
    """Read the joint that another one depends on: `on`, `gain` and `offset`."""
    part.warn_unknown((), ("on", "gain", "offset"), strict=True)
    on, gain, offset = part.required_attribute("on"), part.number("gain"), part.number("offset")
    return Mimic(joint=on, multiplier=gain, offset=offset) if on.strip() else None


def _with_limits(part: CellPart, frames: list[CellFrame]) -> list[CellFrame]:
    """Apply the limits inside a joint: the n-th of a kind belongs to the n-th coordinate."""
    frame_of = [k for k, frame in enumerate(frames) for _ in range(_coordinates(frame))]
    counts = dict.fromkeys(LIMITS, 0)
    for child in part.parts():
        if child.tag not in LIMITS:
            continue
        limit = read_limit(child)
        if limit.joint not in (None, part.attribute("name"), frames[-1].name):
            ignored = f"refjoint {shown(limit.joint)} is ignored"
            child.warning(f"{ignored}: <{child.tag}> is inside {part.attribute('name')!r}")
        coordinate = counts[child.tag]
        counts[child.tag] += 1
        if coordinate >= len(frame_of):
            expected = f"expected {len(frame_of)}, one per coordinate"
            child.error(f"<{part.tag}> has {coordinate + 1} <{child.tag}>; {expected}")
            continue
        index = frame_of[coordinate]
        motion = frames[index].motion
        if motion is not None:
            frames[index] = replace(frames[index], motion=limit.applied(motion))
    return frames


def _coordinates(frame: CellFrame) -> int:
    return frame.motion.motion_kind.nq if frame.motion else 1


def _read_dh(part: CellPart) -> tuple[Pose, str]:
    """Return the pose of a Denavit-Hartenberg joint at q = 0, and its type."""
    parameters = ("alpha", "a", "d", "theta", "b", "beta", "offset")
    attributes = ("name", "refframe", "state", "type", *parameters)
    part.check((*LIMITS, "Depend", *MODELS), attributes)
    convention = part.choice("type", DH_TYPES, "craig")
    alpha, a = part.angle("alpha"), part.number("a")
    present = [name for name in ("d", "theta", "b", "beta") if part.attribute(name) is not None]
    if len(present) != 1:
        names = " and ".join(map(repr, present)) or "none"
        part.error(f"<DHJoint> has {names} of 'd', 'theta', 'b', 'beta'; expected one of them")
        return IDENTITY, "Revolute"
    (constant,) = present
    if constant in ("b", "beta") and convention != "HGP":
        part.error(f"{constant!r} is for the convention 'HGP', not for {convention!r}")
        return IDENTITY, "Revolute"
    is_revolute = constant in ("d", "b")
    kind = "Revolute" if is_revolute else "Prismatic"
    offset = part.angle("offset") if is_revolute else part.number("offset")
    fixed = part.number(constant) if is_revolute else part.angle(constant)
    # at q = 0, the offset is the angle of a revolute joint, and the length of a prismatic joint
    angle, length = (offset, fixed) if is_revolute else (fixed, offset)
    if constant in ("b", "beta"):
        return as_pose(hgp_dh(alpha, a, angle, length)), kind
    matrix = craig_dh if convention == "craig" else schilling_dh
    return as_pose(matrix(alpha, a, length, angle)), kind


def craig_dh(alpha: float, a: float, d: float, theta: float) -> Array:
    """Return the pose Rx(alpha) Tx(a) Rz(theta) Tz(d) as a (4, 4) matrix [rad, m]."""
    return _rotation(0, alpha) @ _translation(a, 0, 0) @ _rotation(2, theta) @ _translation(0, 0, d)


def schilling_dh(alpha: float, a: float, d: float, theta: float) -> Array:
    """Return the pose Rz(theta) Tz(d) Tx(a) Rx(alpha) as a (4, 4) matrix [rad, m]."""
    return _rotation(2, theta) @ _translation(0, 0, d) @ _translation(a, 0, 0) @ _rotation(0, alpha)


def hgp_dh(alpha: float, a: float, beta: float, b: float) -> Array:
    """Return the pose Ty(b) Ry(beta) Tx(a) Rx(alpha) as a (4, 4) matrix [rad, m]."""
    return _translation(0, b, 0) @ _rotation(1, beta) @ _translation(a, 0, 0) @ _rotation(0, alpha)


def _rotation(axis: int, angle: float) -> Array:
    """Return the rotation about x, y or z."""
    matrix = np.eye(4)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    c, s = cos(angle), sin(angle)
    matrix[i, i], matrix[i, j], matrix[j, i], matrix[j, j] = c, -s, s, c
    return snapped(matrix)


def _translation(x: float, y: float, z: float) -> Array:
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return matrix
