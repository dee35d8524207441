"""Errors between states: 2 nv numbers, where a rotation has three."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array

if TYPE_CHECKING:
    from linkwork.compat.pinnzoo.robot import Robot


def state_error(model: Robot, x: ArrayLike, x0: ArrayLike) -> Array:
    """(..., 2 nv) error of x relative to x0: what `apply_delta_x(model, x0, ...)` needs to get x.

    [R0^T (p - p0); axis-angle of q0^-1 q; differences of joints and velocities], of a fixed base
    x - x0. The axis-angle vector is up to 2 pi long: q and -q are the same rotation, and the error
    goes the long way round to one of them.
    """
    return model.kernel("state_error")(x, x0)


def apply_delta_x(model: Robot, x: ArrayLike, delta_x: ArrayLike) -> Array:
    """(..., nx) the state at an error delta_x (..., 2 nv) from x: the inverse of `state_error`.

    [p + R dp; q times the quaternion of dtheta; sums]; dtheta is a whole angle, not half of it.
    """
    return model.kernel("apply_delta_x")(x, delta_x)


def error_jacobian(model: Robot, x: ArrayLike) -> Array:
    """(..., nx, 2 nv) derivative of `apply_delta_x` by delta_x at zero: blkdiag(E, 1)."""
    return model.kernel("error_jacobian")(x)


def error_jacobian_T(model: Robot, x: ArrayLike) -> Array:
    """(..., 2 nv, nx) derivative of `state_error(x, x0)` by x at x = x0: blkdiag(E_T, 1)."""
    return model.kernel("error_jacobian_T")(x)


def error_jacobian_jvp_deriv(model: Robot, x: ArrayLike, delta_x: ArrayLike) -> Array:
    """(..., nx, nx) derivative by x of `error_jacobian` times a constant delta_x (..., 2 nv)."""
    return model.kernel("error_jacobian_jvp_deriv")(x, delta_x)


def error_jacobian_T_jvp_deriv(model: Robot, x: ArrayLike, x2: ArrayLike) -> Array:
    """(..., 2 nv, nx) derivative by x of `error_jacobian_T` times a constant x2 (..., nx)."""
    return model.kernel("error_jacobian_T_jvp_deriv")(x, x2)
