"""Jacobians of frames and their rates, in any representation of velocity.

A column is the twist that a unit of one velocity coordinate gives the frame. Columns are written
where the representation writes the frame's velocity: in the frame's axes, at the frame's origin in
the world's axes, or at the world's origin. Only joints between the base and the frame have columns
that are not zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeAlias

from linkwork.algorithms.kinematics.frames import Matrix, Scalars, path_poses
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
    transpose,
    twist_add,
    twist_cross,
    twist_rotate,
)

PathColumns: TypeAlias = list[tuple[Body, list[Twist]]]  # of the joints, from the frame inward


def jacobian(skeleton: Skeleton, q: Scalars, frame: int, *, velocity: Representation) -> Matrix:
    """(6, nv) J with frame_velocity = J nu. What is zero at any configuration is the float 0.0."""
    base = base_of(skeleton.layout, q, velocity)
    joints = path_poses(skeleton, q, skeleton.frames[frame][0])
    columns, of_base, _ = path_columns(skeleton, base, joints, frame, velocity)
    return assembled(skeleton, of_base, columns)


def jacobian_dot(
    skeleton: Skeleton, q: Scalars, nu: Scalars, frame: int, *, velocity: Representation
) -> Matrix:
    """(6, nv) time derivative of J when the robot moves with nu."""
    base = base_of(skeleton.layout, q, velocity)
    joints = path_poses(skeleton, q, skeleton.frames[frame][0])
    columns, of_base, arm = path_columns(skeleton, base, joints, frame, velocity)
    rates = {number: pose.columns_rate(nu) for number, pose in joints.items()}
    changing = written_as_columns(skeleton, base, joints, rates, frame=frame, velocity=velocity)
    start = base.own_part(nu)
    driven = [combined([nu[k] for k in body.nu_indices], S) for body, S in columns]
    # the body that the axes of each joint are fixed to: its own, or backwards the parent
    carriers = [k + body.is_backwards for k, (body, _) in enumerate(columns)]
    V, V_r = path_velocities(driven, start), velocities_of_frame(driven)
    v_r, w_r = V_r[-1]
    if velocity == "inertial":
        # s_dot = V_carrier x s + S_dot
        twists = [V[k] for k in carriers]
        of_base = []
    elif velocity == "body":
        # s_dot = (V_carrier - V_frame) x s + S_dot
        twists = [(neg(V_r[k][0]), neg(V_r[k][1])) for k in carriers]
        of_base = [twist_cross((neg(v_r), neg(w_r)), column) for column in of_base]
    else:
        # columns are in the axes of the world, at the frame's origin, which moves
        twists = [(neg(V_r[k][0]), V[k][1]) for k in carriers]
        arm_dot = add(cross(start[1], arm), v_r)
        of_base = [(cross(axis, arm_dot), ZERO) for _, axis in of_base]
    moved = [
        (body, [twist_cross(twist, s) for s in S])
        for (body, S), twist in zip(columns, twists, strict=True)
    ]
    return assembled(skeleton, of_base, moved + [(body, S) for body, S in changing if S])


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


def written_as_columns(
    skeleton: Skeleton,
    base: Base,
    joints: Mapping[int, JointPose],
    twists: Mapping[int, Sequence[Twist] | None],
    *,
    frame: int,
    velocity: Representation,
) -> PathColumns:
    """Other twists of joints, in the axes of their bodies, written as the columns of S are.

    The lists of joints without any are empty; if all are, there are no lists.
    """
    if not any(twists.values()):
        return []
    others = {k: replace(pose, columns=tuple(twists[k] or ())) for k, pose in joints.items()}
    return path_columns(skeleton, base, others, frame, velocity)[0]


def path_velocities(driven: Sequence[Twist], base: Twist) -> list[Twist]:
    """V of the bodies on the way to a frame, from the frame's inward, the base last.

    Args:
        driven: S nu of each joint, from the frame inward.
        base: V of the base.
    """
    return list(accumulate(reversed(driven), twist_add, initial=base))[::-1]


def velocities_of_frame(driven: Sequence[Twist]) -> list[Twist]:
    """V of the frame as seen from the same bodies."""
    return list(accumulate(driven, twist_add, initial=ZERO_TWIST))


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
        rotated = [twist_rotate(transpose(R), column) for column in pose.columns]
        columns.append((skeleton.bodies[number], [(add(v, cross(w, arm)), w) for v, w in rotated]))
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
        columns = [twist_rotate(R, twist_rotate(pose.R, column)) for column in pose.columns]
        steps.append(_Step(skeleton.bodies[number], pose, R, columns, apply(R, pose.p)))
        R = matmul(R, pose.R)
    return steps


def assembled(skeleton: Skeleton, of_base: Sequence[Twist], columns: PathColumns) -> Matrix:
    """The rows of a matrix from its columns; joints that follow one coordinate add up."""
    by_index = dict(enumerate(of_base))
    for body, S in columns:
        for k, column in zip(body.nu_indices, S, strict=True):
            by_index[k] = twist_add(by_index.get(k, (ZERO, ZERO)), column)
    return rows_of_columns(by_index, range(skeleton.layout.nv))


def rows_of_columns(columns: Mapping[int, Twist], indices: Iterable[int]) -> Matrix:
    """(6, n) rows of a matrix, from its columns by index; columns that are missing are zero."""
    in_order = [columns.get(k, (ZERO, ZERO)) for k in indices]
    return [[column[half][row] for column in in_order] for half in (0, 1) for row in range(3)]
