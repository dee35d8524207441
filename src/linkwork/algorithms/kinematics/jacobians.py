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
from operator import add
from typing import TypeAlias

from linkwork.algorithms.kinematics.frames import Matrix, Scalars, path_poses
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joints import JointPose, combined
from linkwork.mechanics.skeleton import Body, Skeleton
from linkwork.spatial.blocks import IDENTITY, ZERO, ZERO_MOTION, Force, Mat, Motion, Vec

PathColumns: TypeAlias = list[tuple[Body, list[Motion]]]  # of the joints, from the frame inward


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
    if velocity == "inertial":
        # s_dot = V_carrier x s + S_dot
        twists = [V[k] for k in carriers]
        of_base = []
    elif velocity == "body":
        # s_dot = (V_carrier - V_frame) x s + S_dot
        twists = [-V_r[k] for k in carriers]
        of_base = [(-V_r[-1]).cross(column) for column in of_base]
    else:
        # columns are in the axes of the world, at the frame's origin, which moves
        twists = [Motion(-V_r[k][0], V[k][1]) for k in carriers]
        arm_dot = start[1].cross(arm) + V_r[-1][0]
        of_base = [Motion(axis.cross(arm_dot), ZERO) for _, axis in of_base]
    moved = [
        (body, [twist.cross(s) for s in S])
        for (body, S), twist in zip(columns, twists, strict=True)
    ]
    return assembled(skeleton, of_base, moved + [(body, S) for body, S in changing if S])


def path_columns(
    skeleton: Skeleton,
    base: Base,
    joints: dict[int, JointPose],
    frame: int,
    velocity: Representation,
) -> tuple[PathColumns, list[Motion], Vec]:
    """Return columns of the joints and of the base, and the arm from the base to their point."""
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
    rotations = [Motion(axis.cross(arm), axis) for axis in R]
    return columns, [Motion(axis, ZERO) for axis in R] + rotations, arm


def written_as_columns(
    skeleton: Skeleton,
    base: Base,
    joints: Mapping[int, JointPose],
    twists: Mapping[int, Sequence[Motion] | None],
    *,
    frame: int,
    velocity: Representation,
) -> PathColumns:
    """Write other twists of joints, in the axes of their bodies, as the columns of S are written.

    The lists of joints without any are empty; if all are, there are no lists.
    """
    if not any(twists.values()):
        return []
    others = {k: replace(pose, columns=tuple(twists[k] or ())) for k, pose in joints.items()}
    return path_columns(skeleton, base, others, frame, velocity)[0]


def path_velocities(driven: Sequence[Motion], base: Motion) -> list[Motion]:
    """Return V of the bodies on the way to a frame, from the frame's inward, the base last.

    Args:
        driven: S nu of each joint, from the frame inward.
        base: V of the base.
    """
    return list(accumulate(reversed(driven), add, initial=base))[::-1]


def velocities_of_frame(driven: Sequence[Motion]) -> list[Motion]:
    """Return V of the frame as seen from the same bodies."""
    return list(accumulate(driven, add, initial=ZERO_MOTION))


def _columns_in_frame(
    skeleton: Skeleton, joints: dict[int, JointPose], R: Mat, p: Vec
) -> tuple[PathColumns, Mat, Vec]:
    """Return columns in the axes of a frame at (R, p) of the last body.

    Returns:
        the columns; rotation of the frame in the base; arm from the base's origin to the frame's.
    """
    arm = R.T @ p
    columns: PathColumns = []
    for number in reversed(joints):
        pose = joints[number]
        in_frame = [(R.T @ column).at(arm) for column in pose.columns]
        columns.append((skeleton.bodies[number], in_frame))
        R = pose.R @ R
        arm = arm + R.T @ pose.p
    return columns, R, arm


def _columns_at_frame(
    skeleton: Skeleton, joints: dict[int, JointPose], base: Base, p: Vec
) -> tuple[PathColumns, Vec]:
    """Return columns at the frame's origin in the world's axes, and the arm from the base there."""
    steps = _steps(skeleton, joints, base)
    if not steps:
        return [], base.R @ p
    last = steps.pop()
    R, tip = last.pose.R, last.pose.R @ p
    # still in the axes of the parent, in which the last joint's axis is constant
    speeds = [(R @ column).at(tip)[0] for column in last.pose.columns]
    pairs = zip(speeds, last.columns, strict=True)
    columns: PathColumns = [(last.body, [Motion(last.R @ speed, w) for speed, (_, w) in pairs])]
    arm = last.R @ (last.pose.p + tip)
    for step in reversed(steps):
        columns.append((step.body, [column.at(arm) for column in step.columns]))
        arm = arm + step.offset
    return columns, arm


def _columns_at_origin(skeleton: Skeleton, joints: dict[int, JointPose], base: Base) -> PathColumns:
    """Return columns in the world's axes at its origin."""
    o = base.o
    columns: PathColumns = []
    for step in _steps(skeleton, joints, base):
        o = o + step.offset
        columns.append((step.body, [column.shifted(o) for column in step.columns]))
    return columns[::-1]


@dataclass(frozen=True, slots=True)
class _Step:
    """A joint on the way from the base to a frame, in the axes of the world."""

    body: Body
    pose: JointPose
    R: Mat  # of the parent
    columns: list[Motion]  # S at the body's origin
    offset: Vec  # from the parent's origin to the body's


def _steps(skeleton: Skeleton, joints: dict[int, JointPose], base: Base) -> list[_Step]:
    R = base.R
    steps: list[_Step] = []
    for number, pose in joints.items():
        columns = [R @ (pose.R @ column) for column in pose.columns]
        steps.append(_Step(skeleton.bodies[number], pose, R, columns, R @ pose.p))
        R = R @ pose.R
    return steps


def assembled(skeleton: Skeleton, of_base: Sequence[Motion], columns: PathColumns) -> Matrix:
    """Return the rows of a matrix from its columns; joints that follow one coordinate add up."""
    by_index = dict(enumerate(of_base))
    for body, S in columns:
        for k, column in zip(body.nu_indices, S, strict=True):
            by_index[k] = by_index.get(k, ZERO_MOTION) + column
    return rows_of_columns(by_index, range(skeleton.layout.nv))


def rows_of_columns(
    columns: Mapping[int, Motion] | Mapping[int, Force], indices: Iterable[int]
) -> Matrix:
    """(6, n) rows of a matrix, from its columns by index; columns that are missing are zero."""
    in_order = [columns[k].entries if k in columns else [0.0] * 6 for k in indices]
    return [[column[row] for column in in_order] for row in range(6)]
