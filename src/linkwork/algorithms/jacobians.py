"""Jacobians of frames and their rates, in any representation of velocity.

A column is the twist that a unit of one velocity coordinate gives the frame. Columns are written
where the representation writes the frame's velocity: in the frame's axes, at the frame's origin in
the world's axes, or at the world's origin. Only joints between the base and the frame have columns
that are not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from linkwork.algorithms.frames import (
    Matrix,
    Numbers,
    Twist,
    base_part,
    path_poses,
    twist_cross,
)
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    matmul,
    neg,
    scale,
    sub,
)
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Body, Skeleton

_Columns: TypeAlias = list[tuple[Body, list[Twist]]]  # of the joints, from the frame inward


def jacobian(skeleton: Skeleton, q: Numbers, frame: int, *, velocity: Representation) -> Matrix:
    """(6, nv) J with frame_velocity = J nu. What is zero at any configuration is the float 0.0."""
    columns, of_base, _ = _columns(skeleton, q, frame, velocity)
    return _assembled(skeleton, of_base, columns)


def jacobian_dot(
    skeleton: Skeleton, q: Numbers, nu: Numbers, frame: int, *, velocity: Representation
) -> Matrix:
    """(6, nv) time derivative of J when the robot moves with nu."""
    columns, of_base, arm = _columns(skeleton, q, frame, velocity)
    start = base_part(skeleton, nu)
    # what each joint's columns are fixed to: its V, and the same less that of the frame
    carriers = _carriers(columns, start, nu)
    behind, base_behind = _behind(columns, nu)
    if velocity == "inertial":
        # s_dot = V_carrier x s
        return _assembled(skeleton, [], _rates(columns, carriers))
    if velocity == "body":
        # s_dot = (V_carrier - V_frame) x s
        of_base = [twist_cross(base_behind, column) for column in of_base]
        return _assembled(skeleton, of_base, _rates(columns, behind))
    # the world's axes do not turn with the frame, but where columns are written moves with it
    mixed = [(v, w) for (v, _), (_, w) in zip(behind, carriers, strict=True)]
    arm_dot = sub(cross(start[1], arm), base_behind[0])
    of_base = [(cross(axis, arm_dot), ZERO) for _, axis in of_base]
    return _assembled(skeleton, of_base, _rates(columns, mixed))


def _columns(
    skeleton: Skeleton, q: Numbers, frame: int, velocity: Representation
) -> tuple[_Columns, list[Twist], Vec]:
    """Columns of the joints and of the base; the arm from the base to where they are written."""
    number, turn, p = skeleton.frames[frame]
    base = base_of(skeleton.layout, q, velocity)
    joints = path_poses(skeleton, q, number)
    if velocity == "body":
        columns, axes, arm = _columns_in_frame(skeleton, joints, turn, p)
    elif velocity == "mixed":
        columns, arm = _columns_at_frame(skeleton, joints, base, p)
        axes = IDENTITY
    else:
        columns, axes, arm = _columns_at_origin(skeleton, joints, base), IDENTITY, ZERO
    if not skeleton.layout.floating:
        return columns, [], arm
    turning = [(cross(axis, arm), axis) for axis in axes]
    return columns, [(axis, ZERO) for axis in axes] + turning, arm


def _columns_in_frame(
    skeleton: Skeleton, joints: dict[int, JointPose], turn: Mat, p: Vec
) -> tuple[_Columns, Mat, Vec]:
    """Columns in the frame's axes; the base's axes, and what leads from its origin to the frame."""
    axes, arm = turn, apply_t(turn, p)  # axes: of the frame, in the body
    found: _Columns = []
    for number in reversed(joints):
        pose = joints[number]
        own = [(apply_t(axes, v), apply_t(axes, w)) for v, w in pose.columns]
        found.append((skeleton.bodies[number], [(add(v, cross(w, arm)), w) for v, w in own]))
        axes = matmul(pose.E, axes)
        arm = add(arm, apply_t(axes, pose.p))
    return found, axes, arm


def _columns_at_frame(
    skeleton: Skeleton, joints: dict[int, JointPose], base: Base, p: Vec
) -> tuple[_Columns, Vec]:
    """Columns in the world's axes; what leads from the base's origin to the frame's."""
    steps = _steps(skeleton, joints, base)
    if not steps:
        return [], apply(base.R, p)
    last = steps.pop()
    E, tip = last.pose.E, apply(last.pose.E, p)
    # still in the axes of the parent, in which the last joint's axis is a fact
    speeds = [add(apply(E, v), cross(apply(E, w), tip)) for v, w in last.pose.columns]
    pairs = zip(speeds, last.columns, strict=True)
    found: _Columns = [(last.body, [(apply(last.R, speed), w) for speed, (_, w) in pairs])]
    arm = apply(last.R, add(last.pose.p, tip))
    for step in reversed(steps):
        found.append((step.body, [(add(v, cross(w, arm)), w) for v, w in step.columns]))
        arm = add(arm, step.offset)
    return found, arm


def _columns_at_origin(skeleton: Skeleton, joints: dict[int, JointPose], base: Base) -> _Columns:
    """Columns in the world's axes at its origin."""
    o = base.o
    found: _Columns = []
    for step in _steps(skeleton, joints, base):
        o = add(o, step.offset)
        found.append((step.body, [(add(v, cross(o, w)), w) for v, w in step.columns]))
    return found[::-1]


@dataclass(frozen=True, slots=True)
class _Step:
    """A joint on the way from the base to a frame, in the axes of the world."""

    body: Body
    pose: JointPose
    R: Mat  # of the parent
    columns: list[Twist]  # S at the body's origin
    offset: Vec  # from the parent's origin to the body's


def _steps(skeleton: Skeleton, joints: dict[int, JointPose], base: Base) -> list[_Step]:
    axes = base.R
    steps: list[_Step] = []
    for number, pose in joints.items():
        inner = [(apply(pose.E, v), apply(pose.E, w)) for v, w in pose.columns]
        columns = [(apply(axes, v), apply(axes, w)) for v, w in inner]
        steps.append(_Step(skeleton.bodies[number], pose, axes, columns, apply(axes, pose.p)))
        axes = matmul(axes, pose.E)
    return steps


def _carriers(columns: _Columns, base: Twist, nu: Numbers) -> list[Twist]:
    """V of the body that holds the axes of each joint: the joint's own, or backwards its parent."""
    found: list[Twist] = []
    for body, own in reversed(columns):
        parent, base = base, _plus_motion(base, own, body, nu)
        found.append(parent if body.is_backwards else base)
    return found[::-1]


def _behind(columns: _Columns, nu: Numbers) -> tuple[list[Twist], Twist]:
    """V of each carrier less that of the frame, and the same for the base."""
    found: list[Twist] = []
    v, w = ZERO, ZERO  # of the frame, relative to the body
    for body, own in columns:
        nearer = v, w
        v, w = _plus_motion(nearer, own, body, nu)
        ahead = (v, w) if body.is_backwards else nearer
        found.append((neg(ahead[0]), neg(ahead[1])))
    return found, (neg(v), neg(w))


def _rates(columns: _Columns, carriers: Sequence[Twist]) -> _Columns:
    """Each column carried along by a twist: V x s."""
    pairs = zip(columns, carriers, strict=True)
    return [(body, [twist_cross(v, column) for column in own]) for (body, own), v in pairs]


def _plus_motion(twist: Twist, columns: Sequence[Twist], body: Body, nu: Numbers) -> Twist:
    """V + S nu for a twist V."""
    v, w = twist
    for place, (linear, angular) in zip(body.nu, columns, strict=True):
        v, w = add(v, scale(nu[place], linear)), add(w, scale(nu[place], angular))
    return v, w


def _assembled(skeleton: Skeleton, of_base: Sequence[Twist], columns: _Columns) -> Matrix:
    """The rows of a matrix from its columns; joints that follow one coordinate add up."""
    found = dict(enumerate(of_base))
    for body, own in columns:
        for place, (v, w) in zip(body.nu, own, strict=True):
            known = found.get(place, (ZERO, ZERO))
            found[place] = add(known[0], v), add(known[1], w)
    whole = [found.get(place, (ZERO, ZERO)) for place in range(skeleton.layout.nv)]
    return [[column[half][row] for column in whole] for half in (0, 1) for row in range(3)]
