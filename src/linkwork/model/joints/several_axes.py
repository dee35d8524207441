"""Kinds of joints with several velocity coordinates.

Exponentials and logarithms with their power series are written once, on arrays, in `spatial`; steps
on a manifold call them there by way of `as_vector` and `scalars`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

from linkwork.engine.symbolic.arrays import Array, cos, join, matvec, sin, stack
from linkwork.model.joints.derivatives import (
    Rows,
    negative,
    pose_log_derivatives,
    pose_step_derivatives,
    rotation_log_derivatives,
    rotation_step_derivatives,
)
from linkwork.model.joints.kind import (
    Axis,
    Closure,
    Columns,
    Factor,
    JointKind,
    Side,
    UnitNorm,
    axes_across,
)
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    ZERO_MOTION,
    Mat,
    Motion,
    Scalar,
    Vec,
    as_vector,
    quaternion_rotation,
    rotation_about,
    scalars,
)
from linkwork.spatial.source import quat, so3

_PLANE = (0, 1, 5)  # coordinates of a twist in space that a planar joint about z has


@final
class Universal(JointKind):
    """Rotation about the axis, then about a second axis across it, which moves with the first.

    The second axis is the first vector of `axes_across`: y for x, z for y, x for z. With R2 the
    second rotation,  S = [R2^T e1, e2],  so that S depends on the second angle.
    """

    name, nq, nv, neutral, reach = "universal", 2, 2, (0.0, 0.0), (math.pi, math.pi)
    position_text, velocity_text = "two angles [rad]", "their rates [rad/s]"
    rotation, translates = "free", False

    def pose(self, axis: Axis, theta: Sequence[Scalar]) -> tuple[Mat, Vec]:
        R1 = rotation_about(axis.direction, cos(theta[0]), sin(theta[0]))
        return R1 @ self._second(axis, theta)[1], ZERO

    def subspace(self, axis: Axis, theta: Sequence[Scalar]) -> Columns:
        e2, R2 = self._second(axis, theta)
        return (Motion(ZERO, R2.T @ axis.direction), Motion(ZERO, e2))

    def factors(self, axis: Axis) -> tuple[Factor, ...]:
        e2, _ = axes_across(axis.direction)
        return Factor("rotation", 0, (axis.direction,)), Factor("rotation", 1, (e2,))

    def closure(self, axis: Axis) -> Closure:
        e2, _ = axes_across(axis.direction)
        return Closure(IDENTITY, "universal", axis.direction, e2)

    def subspace_sides(self) -> tuple[Side, ...]:
        return ("fixed", "moving")  # the second axis moves with the first

    def subspace_rate(self, axis: Axis, theta: Sequence[Scalar], nu: Sequence[Scalar]) -> Columns:
        # d/dt (R2^T e1) = (R2^T e1) x e2 theta2_dot
        (_, first), (_, e2) = self.subspace(axis, theta)
        return (Motion(ZERO, nu[1] * first.cross(e2)), ZERO_MOTION)

    def bias_jacobian(self, axis: Axis, theta: Sequence[Scalar], nu: Sequence[Scalar]) -> Columns:
        # S_dot nu = nu1 nu2 (R2^T e1) x e2
        (_, first), (_, e2) = self.subspace(axis, theta)
        slope = first.cross(e2).cross(e2)
        return (ZERO_MOTION, Motion(ZERO, nu[0] * nu[1] * slope))

    def _second(self, axis: Axis, theta: Sequence[Scalar]) -> tuple[Vec, Mat]:
        """Return the second axis, and the rotation about it."""
        e2, _ = axes_across(axis.direction)
        return e2, rotation_about(e2, cos(theta[1]), sin(theta[1]))


@final
class Planar(JointKind):
    """Sliding in the plane across the axis, and rotation about it."""

    name, nq, nv, neutral, reach = "planar", 3, 3, (0.0, 0.0, 0.0), (1.0, 1.0, math.pi)
    position_text = "x, y [m], angle [rad]"
    velocity_text = "vx, vy [m/s], w [rad/s] in the moving axes"
    rotation, translates = "about_axis", True

    def pose(self, axis: Axis, theta: Sequence[Scalar]) -> tuple[Mat, Vec]:
        e1, e2 = axes_across(axis.direction)
        R = rotation_about(axis.direction, cos(theta[2]), sin(theta[2]))
        return R, theta[0] * e1 + theta[1] * e2

    def subspace(self, axis: Axis, theta: Sequence[Scalar]) -> Columns:
        e1, e2 = axes_across(axis.direction)
        return (Motion(e1, ZERO), Motion(e2, ZERO), Motion(ZERO, axis.direction))

    def factors(self, axis: Axis) -> tuple[Factor, ...]:
        across = axes_across(axis.direction)
        return Factor("translation", 0, across), Factor("rotation", 2, (axis.direction,))

    def closure(self, axis: Axis) -> Closure:
        return Closure((axis.direction,), "about_axis", axis.direction)

    def position_jacobian(self, theta: Sequence[Scalar]) -> Rows:
        c, s = cos(theta[2]), sin(theta[2])
        return [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]

    def position_jacobian_inverse(self, theta: Sequence[Scalar]) -> Rows:
        c, s = cos(theta[2]), sin(theta[2])
        return [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]

    def moved(self, theta: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        start, change = as_vector(theta), as_vector(step)
        slid = matvec(so3.left_jacobian(_about_z(change[..., 2])), _in_plane(change))
        slid = matvec(so3.rot_z(start[..., 2]), slid)
        return [*scalars(start[..., :2] + slid[..., :2]), theta[2] + step[2]]

    def moved_derivatives(
        self, theta: Sequence[Scalar], step: Sequence[Scalar]
    ) -> tuple[Rows, Rows]:
        by_theta, by_step = pose_step_derivatives(_in_space(step))
        return _of_plane(by_theta), _of_plane(by_step)

    def between(self, start: Sequence[Scalar], end: Sequence[Scalar]) -> list[Scalar]:
        apart = _in_plane(as_vector(end) - as_vector(start))
        angle = end[2] - start[2]
        apart = matvec(so3.rot_z(-as_vector(start)[..., 2]), apart)
        slid = matvec(so3.left_jacobian_inverse(_about_z(as_vector([angle])[..., 0])), apart)
        return [*scalars(slid[..., :2]), angle]

    def between_derivatives(
        self, start: Sequence[Scalar], end: Sequence[Scalar]
    ) -> tuple[Rows, Rows]:
        logs = pose_log_derivatives(_in_space(self.between(start, end)))
        left, right = map(_of_plane, logs)
        return negative(left), right


@final
class Spherical(JointKind):
    """A ball in a socket."""

    name, nq, nv, neutral, reach = "spherical", 4, 3, (1.0, 0.0, 0.0, 0.0), (1.0,) * 4
    position_text = "quaternion w x y z"
    velocity_text = "angular velocity in the moving axes [rad/s]"
    rotation, translates = "free", False
    has_axis = False
    unit_norm = (UnitNorm("quaternion", 0, 4),)

    def pose(self, axis: Axis, theta: Sequence[Scalar]) -> tuple[Mat, Vec]:
        return quaternion_rotation(theta), ZERO

    def subspace(self, axis: Axis, theta: Sequence[Scalar]) -> Columns:
        return tuple(Motion(ZERO, e) for e in IDENTITY)

    def factors(self, axis: Axis) -> tuple[Factor, ...]:
        return (Factor("quaternion", 0),)

    def closure(self, axis: Axis) -> Closure:
        return Closure(IDENTITY, "free")

    def position_jacobian(self, theta: Sequence[Scalar]) -> Rows:
        return _quaternion_rates(theta)

    def position_jacobian_inverse(self, theta: Sequence[Scalar]) -> Rows:
        return _quaternion_rates_inverse(theta)

    def moved(self, theta: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        return scalars(quat.multiply(as_vector(theta), quat.exp(as_vector(step))))

    def moved_derivatives(
        self, theta: Sequence[Scalar], step: Sequence[Scalar]
    ) -> tuple[Rows, Rows]:
        return rotation_step_derivatives(step)

    def between(self, start: Sequence[Scalar], end: Sequence[Scalar]) -> list[Scalar]:
        return scalars(quat.log(quat.multiply(quat.conjugate(as_vector(start)), as_vector(end))))

    def between_derivatives(
        self, start: Sequence[Scalar], end: Sequence[Scalar]
    ) -> tuple[Rows, Rows]:
        left, right = rotation_log_derivatives(self.between(start, end))
        return negative(left), right


@final
class Floating(JointKind):
    """No connection at all: six degrees of freedom."""

    name, nq, nv, neutral = "floating", 7, 6, (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    position_text = "x, y, z [m], quaternion w x y z"
    velocity_text = "linear [m/s] and angular [rad/s] velocity in the moving axes"
    reach = (1.0,) * 7
    rotation, translates = "free", True
    has_axis = False
    unit_norm = (UnitNorm("quaternion", 3, 4),)

    def pose(self, axis: Axis, theta: Sequence[Scalar]) -> tuple[Mat, Vec]:
        return quaternion_rotation(theta[3:]), Vec(*theta[:3])

    def subspace(self, axis: Axis, theta: Sequence[Scalar]) -> Columns:
        linear = tuple(Motion(e, ZERO) for e in IDENTITY)
        return linear + tuple(Motion(ZERO, e) for e in IDENTITY)

    def factors(self, axis: Axis) -> tuple[Factor, ...]:
        return Factor("translation", 0, IDENTITY), Factor("quaternion", 3)

    def closure(self, axis: Axis) -> Closure:
        return Closure((), "free")

    def position_jacobian(self, theta: Sequence[Scalar]) -> Rows:
        nothing = [0.0, 0.0, 0.0]
        linear = [[*row, *nothing] for row in quaternion_rotation(theta[3:])]
        return linear + [[*nothing, *row] for row in _quaternion_rates(theta[3:])]

    def position_jacobian_inverse(self, theta: Sequence[Scalar]) -> Rows:
        linear = [[*row, *(0.0,) * 4] for row in quaternion_rotation(theta[3:]).T]
        return linear + [[*ZERO, *row] for row in _quaternion_rates_inverse(theta[3:])]

    def moved(self, theta: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        o, wxyz = as_vector(theta[:3]), as_vector(theta[3:])
        v, w = as_vector(step[:3]), as_vector(step[3:])
        o = o + quat.rotate(wxyz, matvec(so3.left_jacobian(w), v))
        return scalars(join([o, quat.multiply(wxyz, quat.exp(w))]))

    def moved_derivatives(
        self, theta: Sequence[Scalar], step: Sequence[Scalar]
    ) -> tuple[Rows, Rows]:
        return pose_step_derivatives(step)

    def between(self, start: Sequence[Scalar], end: Sequence[Scalar]) -> list[Scalar]:
        back = quat.conjugate(as_vector(start[3:]))
        w = quat.log(quat.multiply(back, as_vector(end[3:])))
        apart = quat.rotate(back, as_vector(end[:3]) - as_vector(start[:3]))
        return scalars(join([matvec(so3.left_jacobian_inverse(w), apart), w]))

    def between_derivatives(
        self, start: Sequence[Scalar], end: Sequence[Scalar]
    ) -> tuple[Rows, Rows]:
        left, right = pose_log_derivatives(self.between(start, end))
        return negative(left), right


def _quaternion_rates(wxyz: Sequence[Scalar]) -> Rows:
    """Return rows (4, 3) from the angular velocity in the moving axes to quaternion rates."""
    w, x, y, z = (0.5 * number for number in wxyz)
    return [[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]


def _quaternion_rates_inverse(wxyz: Sequence[Scalar]) -> Rows:
    """Return rows (3, 4) from the rate of a unit quaternion to the angular velocity."""
    w, x, y, z = (2.0 * number for number in wxyz)
    return [[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]]


def _in_space(step: Sequence[Scalar]) -> list[Scalar]:
    """Convert a step in the plane to one in space, the axis along z."""
    x, y, angle = step
    return [x, y, 0.0, 0.0, 0.0, angle]


def _of_plane(rows: Rows) -> Rows:
    """Select rows and columns (3, 3) of the plane from (6, 6) in space."""
    return [[rows[i][j] for j in _PLANE] for i in _PLANE]


def _in_plane(theta: Array) -> Array:
    return stack([theta[..., 0], theta[..., 1], 0 * theta[..., 0]])


def _about_z(angle: Array) -> Array:
    return stack([0 * angle, 0 * angle, angle])
