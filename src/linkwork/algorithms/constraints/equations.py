"""Constraint equations: their error, Jacobian and bias, row by row.

The relative motion of two anchors is seen from the last body that carries both, or from the world,
so that joints which move both of them do not enter. With A the reference and B the moving anchor,
d = o_B - o_A, and all vectors in the axes of the observer,

    v = R_A^T (v_B - v_A - w_A x d)         relative velocity of B in the axes of A
    w = R_A^T (w_B - w_A)
    v_dot = R_A^T (a_B - a_A - u_A x d - 2 w_A x (v_B - v_A) + w_A x (w_A x d))
    w_dot = R_A^T (u_B - u_A - w_A x (w_B - w_A))

with a the acceleration of an origin and u an angular acceleration. A row is  f . v + n . w  with
directions f and n in the axes of A. They are constant but for universal joints.

The Jacobian is written for velocities of the base in the mixed representation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import add, sub
from typing import NamedTuple

from linkwork.algorithms.kinematics.frames import (
    Scalars,
    frame_acceleration,
    frame_pose,
    frame_velocity,
    path_poses,
    seen_from_base,
)
from linkwork.algorithms.kinematics.jacobians import path_columns
from linkwork.algorithms.kinematics.relative import SharedView
from linkwork.engine.symbolic.arrays import atan2
from linkwork.mechanics.base import base_of
from linkwork.mechanics.constraints import (
    Anchor,
    Coupling,
    Equations,
    FrameEquations,
)
from linkwork.mechanics.problem import Problem
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.joints.kind import axes_across
from linkwork.model.pose import Pose, rotation_and_position
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    ZERO_MOTION,
    Force,
    Mat,
    Motion,
    Scalar,
    Vec,
    as_mat,
    is_zero,
    total,
)


class State(NamedTuple):
    """What the rows are evaluated for; velocities of the base are mixed, None stands for zero."""

    q: Scalars
    nu: Scalars | None = None
    nu_dot: Scalars | None = None


# Keeps the error of a rotation by pi finite.
NEAR_PI = 1e-12

SparseRow = dict[int, Scalar]  # entries by index in nu; what is missing is zero


@dataclass(frozen=True, slots=True)
class Row:
    """One constraint equation at a configuration and a velocity."""

    error: Scalar
    jacobian: SparseRow
    rate: Scalar  # J nu
    bias: Scalar  # Jdot nu; with nu_dot given, J nu_dot + Jdot nu


def constraint_rows(problem: Problem, state: State) -> list[Row]:
    """All rows of the constraint equations of a robot, in order."""
    rows: list[Row] = []
    for group in problem.equations:
        rows += _group_rows(problem.skeleton, group, state)
    return rows


def _group_rows(skeleton: Skeleton, group: Equations, state: State) -> list[Row]:
    if isinstance(group, Coupling):
        return [_coupling_row(skeleton, group, state)]
    motion = relative_motion(skeleton, group, state)
    rows = _frame_rows(group, motion)
    return rows if group.has_target else [replace(row, error=0.0) for row in rows]


def _frame_rows(group: FrameEquations, motion: RelativeMotion) -> list[Row]:
    return _rolling_rows(group, motion) if group.radius is not None else _rows(group, motion)


def directions(skeleton: Skeleton, group: FrameEquations, q: Scalars) -> list[SparseRow]:
    """For each row, f and n of f . v + n . w in the axes of the reference, by index of (v, w)."""
    motion = relative_motion(skeleton, group, State(q))
    units = {k: Motion(axis, ZERO) for k, axis in enumerate(IDENTITY)}
    units |= {3 + k: Motion(ZERO, axis) for k, axis in enumerate(IDENTITY)}
    return [row.jacobian for row in _frame_rows(group, replace(motion, columns=units))]


@dataclass(frozen=True, slots=True)
class RelativeMotion:
    """How the moving anchor moves relative to the reference anchor, in the reference's axes."""

    R: Mat
    p: Vec
    columns: dict[int, Motion]  # by index in nu: relative velocity per unit
    velocity: Motion
    acceleration: Motion


def _rows(group: FrameEquations, motion: RelativeMotion) -> list[Row]:
    closure = group.closure
    rows = [_row(u.dot(motion.p), Force(u, ZERO), motion) for u in closure.linear]
    if closure.pitch is not None:  # the origin advances along the axis with the angle about it
        a, (b, c) = closure.axis, axes_across(closure.axis)
        Rb = motion.R @ b
        angle = atan2(c.dot(Rb), b.dot(Rb))
        error = a.dot(motion.p) - closure.pitch * angle
        rows.append(_row(error, Force(a, -closure.pitch * a), motion))
    if closure.rotation == "locked":
        e = _rotation_error(motion.R)
        rows += [_row(n.dot(e), Force(ZERO, n), motion) for n in group.angular]
    elif closure.rotation == "about_axis":
        Ra = motion.R @ closure.axis
        e = (2.0 / (1.0 + NEAR_PI + closure.axis.dot(Ra))) * closure.axis.cross(Ra)
        across = axes_across(closure.axis)
        rows += [_row(n.dot(e), Force(ZERO, n), motion) for n in across]
    elif closure.rotation == "universal":
        second = motion.R @ closure.second_axis
        direction = second.cross(closure.axis)
        # the rate of the direction, as the second axis rotates
        _, w = motion.velocity
        turning = w.cross(second).cross(closure.axis).dot(w)
        row = _row(closure.axis.dot(second), Force(ZERO, direction), motion)
        rows.append(replace(row, bias=row.bias + turning))
    return rows


def _row(error: Scalar, direction: Force, motion: RelativeMotion) -> Row:
    """Return the row of the motion along a direction (f, n): f . v + n . w."""
    entries = {k: direction.dot(column) for k, column in motion.columns.items()}
    jacobian = {k: entry for k, entry in entries.items() if not is_zero(entry)}
    return Row(error, jacobian, direction.dot(motion.velocity), direction.dot(motion.acceleration))


def _rolling_rows(group: FrameEquations, motion: RelativeMotion) -> list[Row]:
    """A ball on the plane z = 0 of the reference: its lowest point does not slip or leave."""
    assert group.radius is not None
    arm = Vec(0.0, 0.0, -group.radius)  # from the center to the point of contact
    contact = replace(
        motion,
        columns={k: column.at(arm) for k, column in motion.columns.items()},
        velocity=motion.velocity.at(arm),
        acceleration=motion.acceleration.at(arm),
    )
    errors = (0.0, 0.0, motion.p[2] - group.radius)  # only the height is holonomic
    return [_row(e, Force(u, ZERO), contact) for e, u in zip(errors, IDENTITY, strict=True)]


def _rotation_error(R: Mat) -> Vec:
    """Return twice the tangent of half the angle of a rotation, times its axis.

    Near the identity it is the rotation vector; it is large where the angle is near pi.
    """
    vector = Vec(R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1])
    trace = total(R[0][0], R[1][1], R[2][2])
    return (2.0 / (1.0 + NEAR_PI + trace)) * vector


def _coupling_row(skeleton: Skeleton, coupling: Coupling, state: State) -> Row:
    first = _coordinate(skeleton, coupling.first, state)
    value: Scalar = coupling.coefficients[0]
    slope: Scalar = 0.0  # derivative of the polynomial, and its second derivative
    curvature: Scalar = 0.0
    second = _Coordinate(0.0, {}, 0.0, 0.0)
    if coupling.second is not None:
        second = _coordinate(skeleton, coupling.second, state)
        value = 0.0
        for c in reversed(coupling.coefficients):  # Horner's scheme, with derivatives
            curvature = curvature * second.theta + slope
            slope = slope * second.theta + value
            value = value * second.theta + c
        curvature = 2.0 * curvature
    jacobian = dict(first.partials)
    for k, entry in second.partials.items():
        jacobian[k] = jacobian.get(k, 0.0) - slope * entry
    rate = first.rate - slope * second.rate
    bending = curvature * (second.rate * second.rate)
    bias = first.acceleration - slope * second.acceleration - bending
    return Row(first.theta - value, jacobian, rate, bias)


@dataclass(frozen=True, slots=True)
class _Coordinate:
    """The position of a joint of one coordinate, and its derivatives."""

    theta: Scalar
    partials: SparseRow
    rate: Scalar
    acceleration: Scalar


def _coordinate(skeleton: Skeleton, joint: str, state: State) -> _Coordinate:
    q, nu, nu_dot = state
    layout = skeleton.layout
    follower = layout.followers.get(joint)
    leader = follower.leader if follower else joint
    factor, offset = (follower.multiplier, follower.offset) if follower else (1.0, 0.0)
    k, at = layout.nu[leader].start, layout.q[leader].start
    return _Coordinate(
        factor * q[at] + offset,
        {k: factor},
        0.0 if nu is None else factor * nu[k],
        0.0 if nu_dot is None else factor * nu_dot[k],
    )


def relative_motion(skeleton: Skeleton, group: FrameEquations, state: State) -> RelativeMotion:
    """Return the motion of the moving anchor relative to the reference anchor."""
    skeleton, moving = _with_anchor(skeleton, group.moving)
    if group.reference.frame is None:
        return _motion_in_world(skeleton, moving, group.reference.pose, state)
    skeleton, reference = _with_anchor(skeleton, group.reference)
    return _motion_between(skeleton, reference, moving, state)


def _with_anchor(skeleton: Skeleton, anchor: Anchor) -> tuple[Skeleton, int]:
    """Return the robot with an anchor as its last frame, and the index of the frame."""
    assert anchor.frame is not None
    body, R, p = skeleton.frames[skeleton.layout.model.frame_index(anchor.frame)]
    R_anchor, o = rotation_and_position(anchor.pose)
    frame = (body, R @ R_anchor, p + R @ o)
    return replace(skeleton, frames=(*skeleton.frames, frame)), len(skeleton.frames)


def anchor_body(skeleton: Skeleton, anchor: Anchor) -> int:
    """Return the body of an anchor of the robot."""
    assert anchor.frame is not None
    return skeleton.frames[skeleton.layout.model.frame_index(anchor.frame)][0]


def anchor_pose(skeleton: Skeleton, q: Scalars, anchor: Anchor) -> tuple[Mat, Vec]:
    """Return rotation and position of an anchor in the world."""
    if anchor.frame is None:
        return rotation_and_position(anchor.pose)
    skeleton, frame = _with_anchor(skeleton, anchor)
    return _pose_in_world(skeleton, q, frame)


def _pose_in_world(skeleton: Skeleton, q: Scalars, frame: int) -> tuple[Mat, Vec]:
    pose = frame_pose(skeleton, q, frame)
    return as_mat(row[:3] for row in pose[:3]), Vec(*(row[3] for row in pose[:3]))


def _motion_in_world(
    skeleton: Skeleton, frame: int, reference: Pose, state: State
) -> RelativeMotion:
    """Return the motion of a frame relative to an anchor of the world."""
    q, nu, nu_dot = state
    R_reference, o_reference = rotation_and_position(reference)
    R, o = _pose_in_world(skeleton, q, frame)
    base = base_of(skeleton.layout, q, "mixed")
    joints = path_poses(skeleton, q, skeleton.frames[frame][0])
    columns, of_base, _ = path_columns(skeleton, base, joints, frame, "mixed")
    by_index = dict(enumerate(of_base))
    for body, S in columns:
        for k, column in zip(body.nu_indices, S, strict=True):
            by_index[k] = by_index.get(k, ZERO_MOTION) + column
    velocity = acceleration = ZERO_MOTION
    if nu is not None:
        velocity = Motion.of(frame_velocity(skeleton, q, nu, frame, velocity="mixed"))
        rate = frame_acceleration(skeleton, q, nu, nu_dot, frame, velocity="mixed")
        acceleration = Motion.of(rate)
    back = R_reference.T
    return RelativeMotion(
        back @ R,
        back @ (o - o_reference),
        {k: back @ column for k, column in by_index.items()},
        back @ velocity,
        back @ acceleration,
    )


def _motion_between(
    skeleton: Skeleton, reference: int, moving: int, state: State
) -> RelativeMotion:
    """Return the motion of a frame relative to another, seen from the last body of both."""
    q, nu, nu_dot = state
    view = SharedView(skeleton, q, (reference, moving))
    (R_A, o_A), (R_B, o_B) = view.pose(reference), view.pose(moving)
    by_index: dict[int, Motion] = {}
    for frame, adding in ((reference, sub), (moving, add)):
        for body, columns in view.columns(frame).values():
            for k, column in zip(body.nu_indices, columns, strict=True):
                by_index[k] = adding(by_index.get(k, ZERO_MOTION), column.at(o_B))
    back = R_A.T
    velocity = acceleration = ZERO_MOTION
    if nu is not None:
        (r_A, v_A, w_A, a_A, u_A), (r_B, v_B, w_B, a_B, u_B) = (
            seen_from_base(view.joints[frame], nu, nu_dot, skeleton.frames[frame][2])
            for frame in (reference, moving)
        )
        d, v, w = r_B - r_A, v_B - v_A, w_B - w_A
        swept = w_A.cross(d)
        velocity = Motion(v - swept, w)
        twice = swept - (v + v)  # w_A x (w_A x d) - 2 w_A x v = w_A x (w_A x d - 2 v)
        linear = a_B - a_A - u_A.cross(d) + w_A.cross(twice)
        acceleration = Motion(linear, u_B - u_A - w_A.cross(w))
    return RelativeMotion(
        back @ R_B,
        back @ (o_B - o_A),
        {k: back @ column for k, column in by_index.items()},
        back @ velocity,
        back @ acceleration,
    )
