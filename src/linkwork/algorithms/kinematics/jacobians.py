"""Jacobians of frames and their rates, in any representation of velocity.

A column is the twist that a unit of one velocity coordinate gives the frame. Columns are written
where the representation writes the frame's velocity: in the frame's axes, at the frame's origin in
the world's axes, or at the world's origin. Only joints between the base and the frame have columns
that are not zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from linkwork.algorithms.kinematics.frames import Matrix, Numbers, path_poses
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joints import ZERO_TWIST, JointPose, combined
from linkwork.mechanics.skeleton import Body, Skeleton
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    matmul,
    neg,
    sub,
    twist_add,
    twist_cross,
)

PathColumns: TypeAlias = list[tuple[Body, list[Twist]]]  # of the joints, from the frame inward


def jacobian(skeleton: Skeleton, q: Numbers, frame: int, *, velocity: Representation) -> Matrix:
    """(6, nv) J with frame_velocity = J nu. What is zero at any configuration is the float 0.0."""
    base = base_of(skeleton.layout, q, velocity)
    joints = path_poses(skeleton, q, skeleton.frames[frame][0])
    columns, of_base, _ = path_columns(skeleton, base, joints, frame, velocity)
    return assembled(skeleton, of_base, columns)


def jacobian_dot(
    skeleton: Skeleton, q: Numbers, nu: Numbers, frame: int, *, velocity: Representation
) -> Matrix:
    """(6, nv) time derivative of J when the robot moves with nu."""
    base = base_of(skeleton.layout, q, velocity)
    joints = path_poses(skeleton, q, skeleton.frames[frame][0])
    columns, of_base, arm = path_columns(skeleton, base, joints, frame, velocity)
    own_rates = _own_rates(skeleton, base, joints, nu, frame=frame, velocity=velocity)
    start = base.own_part(nu)
    # V of the body to which the axes of each joint are fixed: in the world, and less V of the frame
    carriers = _carriers(columns, start, nu)
    behind, base_behind = _behind(columns, nu)
    if velocity == "inertial":
        # s_dot = V_carrier x s + S_dot
        return assembled(skeleton, [], _rates(columns, carriers) + own_rates)
    if velocity == "body":
        # s_dot = (V_carrier - V_frame) x s + S_dot
        of_base = [twist_cross(base_behind, column) for column in of_base]
        return assembled(skeleton, of_base, _rates(columns, behind) + own_rates)
    # columns are in the axes of the world, at the frame's origin, which moves
    mixed = [(v, w) for (v, _), (_, w) in zip(behind, carriers, strict=True)]
    arm_dot = sub(cross(start[1], arm), base_behind[0])
    of_base = [(cross(axis, arm_dot), ZERO) for _, axis in of_base]
    return assembled(skeleton, of_base, _rates(columns, mixed) + own_rates)


def _own_rates(
    skeleton: Skeleton,
    base: Base,
    joints: dict[int, JointPose],
    nu: Numbers,
    *,
    frame: int,
    velocity: Representation,
) -> PathColumns:
    """S_dot of joints whose S depends on the position, written where their columns are."""
    rates = {number: pose.columns_rate(nu) for number, pose in joints.items()}
    if not any(rates.values()):
        return []
    changing = {
        number: replace(pose, columns=rates[number] or (ZERO_TWIST,) * len(pose.columns))
        for number, pose in joints.items()
    }
    return path_columns(skeleton, base, changing, frame, velocity)[0]


def path_columns(
    skeleton: Skeleton,
    base: Base,
    joints: dict[int, JointPose],
    frame: int,
    velocity: Representation,
) -> tuple[PathColumns, list[Twist], Vec]:
    """Columns of the joints and of the base; the arm from the base to where they are written."""
    _, R_frame, p = skeleton.frames[frame]
    if velocity == "body":
        columns, R, arm = _columns_in_frame(skeleton, joints, R_frame, p)
    elif velocity == "mixed":
        columns, arm = _columns_at_frame(skeleton, joints, base, p)
        R = IDENTITY
    else:
        columns, R, arm = _columns_at_origin(skeleton, joints, base), IDENTITY, ZERO
    if not skeleton.layout.floating:
        return columns, [], arm
    rotations = [(cross(axis, arm), axis) for axis in R]
    return columns, [(axis, ZERO) for axis in R] + rotations, arm


def _columns_in_frame(
    skeleton: Skeleton, joints: dict[int, JointPose], R: Mat, p: Vec
) -> tuple[PathColumns, Mat, Vec]:
    """Columns in the axes of a frame at (R, p) of the last body.

    Returns:
        the columns; rotation of the frame in the base; arm from the base's origin to the frame's.
    """
    arm = apply_t(R, p)
    columns: PathColumns = []
    for number in reversed(joints):
        pose = joints[number]
        own = [(apply_t(R, v), apply_t(R, w)) for v, w in pose.columns]
        columns.append((skeleton.bodies[number], [(add(v, cross(w, arm)), w) for v, w in own]))
        R = matmul(pose.R, R)
        arm = add(arm, apply_t(R, pose.p))
    return columns, R, arm


def _columns_at_frame(
    skeleton: Skeleton, joints: dict[int, JointPose], base: Base, p: Vec
) -> tuple[PathColumns, Vec]:
    """Columns at the frame's origin in the world's axes; the arm from the base's origin there."""
    steps = _steps(skeleton, joints, base)
    if not steps:
        return [], apply(base.R, p)
    last = steps.pop()
    R, tip = last.pose.R, apply(last.pose.R, p)
    # still in the axes of the parent, in which the last joint's axis is constant
    speeds = [add(apply(R, v), cross(apply(R, w), tip)) for v, w in last.pose.columns]
    pairs = zip(speeds, last.columns, strict=True)
    columns: PathColumns = [(last.body, [(apply(last.R, speed), w) for speed, (_, w) in pairs])]
    arm = apply(last.R, add(last.pose.p, tip))
    for step in reversed(steps):
        columns.append((step.body, [(add(v, cross(w, arm)), w) for v, w in step.columns]))
        arm = add(arm, step.offset)
    return columns, arm


def _columns_at_origin(skeleton: Skeleton, joints: dict[int, JointPose], base: Base) -> PathColumns:
    """Columns in the world's axes at its origin."""
    o = base.o
    columns: PathColumns = []
    for step in _steps(skeleton, joints, base):
        o = add(o, step.offset)
        columns.append((step.body, [(add(v, cross(o, w)), w) for v, w in step.columns]))
    return columns[::-1]


@dataclass(frozen=True, slots=True)
class _Step:
    """A joint on the way from the base to a frame, in the axes of the world."""

    body: Body
    pose: JointPose
    R: Mat  # of the parent
    columns: list[Twist]  # S at the body's origin
    offset: Vec  # from the parent's origin to the body's


def _steps(skeleton: Skeleton, joints: dict[int, JointPose], base: Base) -> list[_Step]:
    R = base.R
    steps: list[_Step] = []
    for number, pose in joints.items():
        inner = [(apply(pose.R, v), apply(pose.R, w)) for v, w in pose.columns]
        columns = [(apply(R, v), apply(R, w)) for v, w in inner]
        steps.append(_Step(skeleton.bodies[number], pose, R, columns, apply(R, pose.p)))
        R = matmul(R, pose.R)
    return steps


def _carriers(columns: PathColumns, base: Twist, nu: Numbers) -> list[Twist]:
    """V of the body that a joint's axes are fixed to: its own, or backwards the parent."""
    carriers: list[Twist] = []
    for body, own in reversed(columns):
        parent, base = base, _plus_motion(base, own, body, nu)
        carriers.append(parent if body.is_backwards else base)
    return carriers[::-1]


def _behind(columns: PathColumns, nu: Numbers) -> tuple[list[Twist], Twist]:
    """V of each of these bodies relative to the frame, and V of the base relative to the frame."""
    behind: list[Twist] = []
    v, w = ZERO, ZERO  # of the frame, relative to the body
    for body, own in columns:
        nearer = v, w
        v, w = _plus_motion(nearer, own, body, nu)
        ahead = (v, w) if body.is_backwards else nearer
        behind.append((neg(ahead[0]), neg(ahead[1])))
    return behind, (neg(v), neg(w))


def _rates(columns: PathColumns, carriers: Sequence[Twist]) -> PathColumns:
    """Each column carried along by a twist: V x s."""
    pairs = zip(columns, carriers, strict=True)
    return [(body, [twist_cross(v, column) for column in own]) for (body, own), v in pairs]


def _plus_motion(twist: Twist, columns: Sequence[Twist], body: Body, nu: Numbers) -> Twist:
    """V + S nu for a twist V."""
    return combined([nu[k] for k in body.nu_indices], columns, twist)


def assembled(skeleton: Skeleton, of_base: Sequence[Twist], columns: PathColumns) -> Matrix:
    """The rows of a matrix from its columns; joints that follow one coordinate add up."""
    by_index = dict(enumerate(of_base))
    for body, own in columns:
        for k, column in zip(body.nu_indices, own, strict=True):
            by_index[k] = twist_add(by_index.get(k, (ZERO, ZERO)), column)
    return rows_of_columns(by_index, range(skeleton.layout.nv))


def rows_of_columns(columns: Mapping[int, Twist], indices: Iterable[int]) -> Matrix:
    """(6, n) rows of a matrix, from its columns by index; columns that are missing are zero."""
    in_order = [columns.get(k, (ZERO, ZERO)) for k in indices]
    return [[column[half][row] for column in in_order] for half in (0, 1) for row in range(3)]
