"""Positions and velocities of the bodies of a model, and E, which leads from v to q_dot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array

if TYPE_CHECKING:
    from linkwork.compat.pinnzoo.robot import Robot


def kinematics(model: Robot, x: ArrayLike) -> Array:
    """(..., size) position in the world of each body, each followed by its orientation if wanted.

    A quaternion is w x y z with w >= 0, an axis-angle vector no longer than pi.
    """
    return model.kernel("kinematics")(x)


def kinematics_size(model: Robot) -> int:
    """How many numbers `kinematics` gives: 3, 6 (axis-angle) or 7 (quaternion) for each body."""
    return model.space.kinematics_size


def kinematics_jacobian(model: Robot, x: ArrayLike) -> Array:
    """(..., size, nx) derivative of `kinematics` by the numbers of x; zero in the columns of v."""
    return model.kernel("kinematics_jacobian")(x)


def kinematics_velocity(model: Robot, x: ArrayLike) -> Array:
    """(..., size) time derivative of `kinematics`, J_q E v.

    That of a position is the linear velocity in the world. That of an orientation is the rate of
    its numbers, not an angular velocity.
    """
    return model.kernel("kinematics_velocity")(x)


def kinematics_velocity_jacobian(model: Robot, x: ArrayLike) -> Array:
    """(..., size, nx) derivative of `kinematics_velocity` by x; its last nv columns are J_q E."""
    return model.kernel("kinematics_velocity_jacobian")(x)


def kinematics_force_jacobian(model: Robot, x: ArrayLike, force: ArrayLike) -> Array:
    """(..., nv, nx) derivative by x of E^T J_q^T force, the generalised forces of `force`.

    Args:
        model: the robot.
        x: (..., nx) state.
        force: (..., size) forces on the bodies in the world, dual to `kinematics_velocity`.
    """
    return model.kernel("kinematics_force_jacobian")(x, force)


def velocity_kinematics(model: Robot, x: ArrayLike) -> Array:
    """(..., nq, nv) E with q_dot = E v."""
    return model.kernel("velocity_kinematics")(x)


def velocity_kinematics_T(model: Robot, x: ArrayLike) -> Array:
    """(..., nv, nq) E_T with v = E_T q_dot: a left inverse of E, not its transpose.

    E_T E = 1 where the quaternion has norm 1.
    """
    return model.kernel("velocity_kinematics_T")(x)


def velocity_kinematics_jvp_deriv(model: Robot, x: ArrayLike, v: ArrayLike) -> Array:
    """(..., nq, nx) derivative of E v by x, where v (..., nv) is a constant, not that of x."""
    return model.kernel("velocity_kinematics_jvp_deriv")(x, v)


def velocity_kinematics_T_jvp_deriv(model: Robot, x: ArrayLike, q: ArrayLike) -> Array:
    """(..., nv, nx) derivative of E_T q by x, where q (..., nq) is a constant, not that of x."""
    return model.kernel("velocity_kinematics_T_jvp_deriv")(x, q)
