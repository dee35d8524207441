"""The dynamics of a robot: M(x) v_dot + C(x) = tau, q_dot = E(q) v."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array

if TYPE_CHECKING:
    from linkwork.compat.pinnzoo.robot import Robot


def M_func(model: Robot, x: ArrayLike) -> Array:
    """(..., nv, nv) mass matrix at a state x (..., nx)."""
    return model.kernel("M_func")(x)


def C_func(model: Robot, x: ArrayLike) -> Array:
    """(..., nv) bias forces: Coriolis, centrifugal and gravity forces; a vector, no matrix."""
    return model.kernel("C_func")(x)


def forward_dynamics(model: Robot, x: ArrayLike, tau: ArrayLike) -> Array:
    """(..., nv) acceleration v_dot = M^-1 (tau - C).

    Args:
        model: the robot.
        x: (..., nx) state.
        tau: (..., nv) forces, those on the base first if it floats.
    """
    return model.kernel("forward_dynamics")(x, tau)


def forward_dynamics_deriv(model: Robot, x: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
    """Derivatives of `forward_dynamics`: by x (..., nv, nx) and by tau (..., nv, nv).

    The columns of x are its numbers, four for the quaternion; `error_jacobian` projects them.
    """
    return model.kernel("forward_dynamics_deriv")(x, tau)


def inverse_dynamics(model: Robot, x: ArrayLike, v_dot: ArrayLike) -> Array:
    """(..., nv) forces tau = M v_dot + C.

    Args:
        model: the robot.
        x: (..., nx) state.
        v_dot: (..., nv) derivative of v; not that of x.
    """
    return model.kernel("inverse_dynamics")(x, v_dot)


def inverse_dynamics_deriv(model: Robot, x: ArrayLike, v_dot: ArrayLike) -> tuple[Array, Array]:
    """Derivatives of `inverse_dynamics`: by x (..., nv, nx) and by v_dot (..., nv, nv), which is M.

    The columns of x are its numbers, four for the quaternion; `error_jacobian` projects them.
    """
    return model.kernel("inverse_dynamics_deriv")(x, v_dot)


def dynamics(model: Robot, x: ArrayLike, tau: ArrayLike) -> Array:
    """(..., 2 nv) [v; v_dot]: the derivative of the error state, not of x.

    The derivative of x is [E v; v_dot], `error_jacobian` times this.
    """
    return model.kernel("dynamics")(x, tau)


def dynamics_deriv(model: Robot, x: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
    """Derivatives of `dynamics`: by x (..., 2 nv, nx) and by tau (..., 2 nv, nv)."""
    return model.kernel("dynamics_deriv")(x, tau)
