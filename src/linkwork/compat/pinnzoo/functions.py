"""PinnZoo's functions of a state x: dynamics, kinematics, errors, states, orders, rotations.

Dynamics     M(x) v_dot + C(x) = tau
Kinematics   positions and velocities of the bodies of a model, and E with q_dot = E(q) v
Errors       vectors with 2 nv elements, three of them for a rotation
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.pinnzoo.model import Model
from linkwork.compat.pinnzoo.orders import ConversionIndices
from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, ShapeError, name_not_found
from linkwork.export.pinnzoo.manifold import axis_angle
from linkwork.export.pinnzoo.state_space import velocity_names
from linkwork.spatial import quat, so3


def M_func(model: Model, x: ArrayLike) -> Array:
    """(..., nv, nv) mass matrix at a state x (..., nx)."""
    return model.kernel("M_func")(x)


def C_func(model: Model, x: ArrayLike) -> Array:
    """(..., nv) bias forces: Coriolis, centrifugal and gravity forces; a vector, not a matrix."""
    return model.kernel("C_func")(x)


def forward_dynamics(model: Model, x: ArrayLike, tau: ArrayLike) -> Array:
    """(..., nv) acceleration v_dot = M^-1 (tau - C).

    Args:
        model: the robot.
        x: (..., nx) state.
        tau: (..., nv) forces, those on the base first if it floats.
    """
    return model.kernel("forward_dynamics")(x, tau)


def forward_dynamics_deriv(model: Model, x: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
    """Derivatives of `forward_dynamics` with respect to x (..., nv, nx) and tau (..., nv, nv).

    The columns of x include four for the quaternion; `error_jacobian` projects them.
    """
    return model.kernel("forward_dynamics_deriv")(x, tau)


def inverse_dynamics(model: Model, x: ArrayLike, v_dot: ArrayLike) -> Array:
    """(..., nv) forces tau = M v_dot + C.

    Args:
        model: the robot.
        x: (..., nx) state.
        v_dot: (..., nv) derivative of v, not of x.
    """
    return model.kernel("inverse_dynamics")(x, v_dot)


def inverse_dynamics_deriv(model: Model, x: ArrayLike, v_dot: ArrayLike) -> tuple[Array, Array]:
    """Derivatives of `inverse_dynamics` with respect to x (..., nv, nx) and v_dot (..., nv, nv).

    The latter is M. The columns of x include four for the quaternion; `error_jacobian` projects
    them.
    """
    return model.kernel("inverse_dynamics_deriv")(x, v_dot)


def dynamics(model: Model, x: ArrayLike, tau: ArrayLike) -> Array:
    """(..., 2 nv) [v; v_dot]: the derivative of the error state, not of x.

    The derivative of x is [E v; v_dot], `error_jacobian` times this.
    """
    return model.kernel("dynamics")(x, tau)


def dynamics_deriv(model: Model, x: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
    """Derivatives of `dynamics` with respect to x (..., 2 nv, nx) and tau (..., 2 nv, nv)."""
    return model.kernel("dynamics_deriv")(x, tau)


def B_func(model: Model, *, kf: float = 1.0, km: float = 0.0245, L: float = 0.175) -> Array:
    """(nv, number of inputs) B with tau = B u.

    Args:
        model: the robot. Each input of a robot with joints drives one of `actuated`. The quadrotor
            has an input for each rotor, with thrust `kf u`, at L x, L y, -L x and -L y.
        kf, km: thrust and moment about z of a rotor per unit of its input; the moment of the first
            and third rotor is +km, that of the others -km. Only for the quadrotor.
        L: distance of each rotor from the center [m]. Only for the quadrotor.
    """
    if model.is_quadrotor:
        forces = [[0.0] * 4, [0.0] * 4, [kf] * 4]
        moments = [[0.0, L * kf, 0.0, -L * kf], [-L * kf, 0.0, L * kf, 0.0], [km, -km, km, -km]]
        return np.array([*forces, *moments])
    names = velocity_names(model.kd)
    actuated = [names.index(name) for name in model.orders["nominal"].torque_names]
    return np.eye(model.nv)[:, actuated]


def kinematics(model: Model, x: ArrayLike) -> Array:
    """(..., size) position of each body in the world, followed by its orientation if requested.

    A quaternion is w x y z with w >= 0, an axis-angle vector no longer than pi.
    """
    return model.kernel("kinematics")(x)


def kinematics_size(model: Model) -> int:
    """Length of the result of `kinematics`: 3, 6 (axis-angle) or 7 (quaternion) for each body."""
    return model.space.kinematics_size


def kinematics_jacobian(model: Model, x: ArrayLike) -> Array:
    """(..., size, nx) derivative of `kinematics` with respect to x; zero in the columns of v."""
    return model.kernel("kinematics_jacobian")(x)


def kinematics_velocity(model: Model, x: ArrayLike) -> Array:
    """(..., size) time derivative of `kinematics`, J_q E v.

    The derivative of a position is the linear velocity in the world. That of an orientation is the
    rate of its coordinates, not an angular velocity.
    """
    return model.kernel("kinematics_velocity")(x)


def kinematics_velocity_jacobian(model: Model, x: ArrayLike) -> Array:
    """(..., size, nx) derivative of `kinematics_velocity` with respect to x.

    The last nv columns are J_q E.
    """
    return model.kernel("kinematics_velocity_jacobian")(x)


def kinematics_force_jacobian(model: Model, x: ArrayLike, force: ArrayLike) -> Array:
    """(..., nv, nx) derivative with respect to x of the generalized forces E^T J_q^T force.

    Args:
        model: the robot.
        x: (..., nx) state.
        force: (..., size) forces on the bodies in the world, dual to `kinematics_velocity`.
    """
    return model.kernel("kinematics_force_jacobian")(x, force)


def velocity_kinematics(model: Model, x: ArrayLike) -> Array:
    """(..., nq, nv) E with q_dot = E v."""
    return model.kernel("velocity_kinematics")(x)


def velocity_kinematics_T(model: Model, x: ArrayLike) -> Array:
    """(..., nv, nq) E_T with v = E_T q_dot: a left inverse of E, not its transpose.

    E_T E = 1 where the quaternion has norm 1.
    """
    return model.kernel("velocity_kinematics_T")(x)


def velocity_kinematics_jvp_deriv(model: Model, x: ArrayLike, v: ArrayLike) -> Array:
    """(..., nq, nx) derivative of E v with respect to x, for a constant v (..., nv)."""
    return model.kernel("velocity_kinematics_jvp_deriv")(x, v)


def velocity_kinematics_T_jvp_deriv(model: Model, x: ArrayLike, q: ArrayLike) -> Array:
    """(..., nv, nx) derivative of E_T q with respect to x, for a constant q (..., nq)."""
    return model.kernel("velocity_kinematics_T_jvp_deriv")(x, q)


def state_error(model: Model, x: ArrayLike, x0: ArrayLike) -> Array:
    """(..., 2 nv) error of x relative to x0, so that `apply_delta_x(model, x0, error)` is x.

    [R0^T (p - p0); axis-angle of q0^-1 q; differences of joints and velocities]; with a fixed base
    x - x0. The axis-angle vector is up to 2 pi long: q and -q are the same rotation, but the errors
    differ.
    """
    return model.kernel("state_error")(x, x0)


def apply_delta_x(model: Model, x: ArrayLike, delta_x: ArrayLike) -> Array:
    """(..., nx) state with error delta_x (..., 2 nv) from x: the inverse of `state_error`.

    [p + R dp; q times the quaternion of dtheta; sums]; dtheta is a full angle, not half of it.
    """
    return model.kernel("apply_delta_x")(x, delta_x)


def error_jacobian(model: Model, x: ArrayLike) -> Array:
    """(..., nx, 2 nv) derivative of `apply_delta_x` with respect to delta_x at 0: blkdiag(E, 1)."""
    return model.kernel("error_jacobian")(x)


def error_jacobian_T(model: Model, x: ArrayLike) -> Array:
    """(..., 2 nv, nx) derivative of `state_error` with respect to x at x0 = x: blkdiag(E_T, 1)."""
    return model.kernel("error_jacobian_T")(x)


def error_jacobian_jvp_deriv(model: Model, x: ArrayLike, delta_x: ArrayLike) -> Array:
    """(..., nx, nx) derivative with respect to x of `error_jacobian` times delta_x (..., 2 nv)."""
    return model.kernel("error_jacobian_jvp_deriv")(x, delta_x)


def error_jacobian_T_jvp_deriv(model: Model, x: ArrayLike, x2: ArrayLike) -> Array:
    """(..., 2 nv, nx) derivative with respect to x of `error_jacobian_T` times x2 (..., nx)."""
    return model.kernel("error_jacobian_T_jvp_deriv")(x, x2)


def is_floating(model: Model) -> bool:
    """Return whether the base moves freely."""
    return model.space.floating


def zero_state(model: Model) -> Array:
    """(nx,) neutral state: zeros, and the identity quaternion."""
    x = np.zeros(model.nx)
    if is_floating(model):
        x[3] = 1.0
    return x


def randn_state(
    model: Model, seed: int | np.random.Generator | None = None, *, batch: tuple[int, ...] = ()
) -> Array:
    """(*batch, nx) normally distributed states, with a quaternion of norm 1.

    Args:
        model: the robot.
        seed: seed for reproducible states, or a generator.
        batch: shape of a batch of states.
    """
    x = np.random.default_rng(seed).normal(size=(*batch, model.nx))
    if is_floating(model):
        x[..., 3:7] /= np.linalg.norm(x[..., 3:7], axis=-1, keepdims=True)
    return x


def init_state(model: Model) -> Array:
    """(nx,) initial state of a robot of the zoo in PinnZoo; `zero_state` for other robots."""
    x = zero_state(model)
    start = model.starting_pose
    if start is not None and is_floating(model) and len(start) == model.nq:
        x[: model.nq] = start
    return x


def change_order(
    model: Model,
    input: ArrayLike,
    from_: str,
    to: str,
    *,
    dims: int | Sequence[int] | None = None,
) -> Array:
    """Convert a vector or matrix to another order; the length of an axis determines its kind.

    Args:
        model: the robot, with `orders` by name.
        input: (n,) vector, (m, n) matrix, or a batch of either.
        from_, to: names of orders, such as "nominal" and "mujoco".
        dims: the axes to reorder; if not given, the only one of a vector, else the last two. For a
            batch of vectors, use dims=-1.

    Raises:
        NameNotFoundError: there is no such order.
        ShapeError: no kind of vector has the length of an axis.
    """
    array = as_array(input, "input")
    if array.ndim == 0:
        raise ShapeError(f"input: expected a vector or matrix, got {array.shape}")
    if dims is None:
        dims = (-1,) if array.ndim == 1 else (-2, -1)
    axes = (dims,) if isinstance(dims, int) else tuple(dims)
    if from_ == to and from_ in model.orders:
        return np.array(array)
    conversion = _conversion(model, from_, to)
    for axis in axes:
        if not -array.ndim <= axis < array.ndim:
            raise ArgumentError(f"dims: {axis} is not an axis of an array of shape {array.shape}")
        array = np.take(array, conversion.of_length(array.shape[axis]), axis=axis)
    return array


def _conversion(model: Model, from_: str, to: str) -> ConversionIndices:
    for name in (from_, to):
        if name not in model.orders:
            raise name_not_found("order", name, model.orders)
    if (from_, to) not in model.conversions:
        message = f"there is no conversion from {from_!r} to {to!r} yet"
        hint = "create it with generate_conversions(model.orders, model.conversions)"
        raise ArgumentError(f"{message}; {hint}")
    return model.conversions[from_, to]


# Quaternions w x y z (Hamilton), the rotation of the body in the world; not normalized.


def quat_to_axis_angle(q: ArrayLike) -> Array:
    """(..., 3) axis times angle [rad], the angle in [0, 2 pi): different for q and -q."""
    return axis_angle(as_array(q, "q", (4,)))


def axis_angle_to_quat(omega: ArrayLike) -> Array:
    """(..., 4) quaternion of an axis times an angle [rad], smooth at zero."""
    return quat.exp(as_array(omega, "omega", (3,)))


def quat_conjugate(q: ArrayLike) -> Array:
    """(..., 4) quaternion with the vector part negated."""
    return quat.conjugate(as_array(q, "q", (4,)))


def skew(v: ArrayLike) -> Array:
    """(..., 3, 3) matrix S with S u = v x u."""
    return so3.wedge(as_array(v, "v", (3,)))


def L_mult(q: ArrayLike) -> Array:
    """(..., 4, 4) matrix L of multiplication from the left: q1 q2 = L(q1) q2."""
    return quat.left_matrix(as_array(q, "q", (4,)))


def R_mult(q: ArrayLike) -> Array:
    """(..., 4, 4) matrix R of multiplication from the right: q1 q2 = R(q2) q1."""
    return quat.right_matrix(as_array(q, "q", (4,)))


def attitude_jacobian(q: ArrayLike) -> Array:
    """(..., 4, 3) G = [-u^T; w 1 + [u]x] with q_dot = G omega / 2, omega in the body."""
    return 2.0 * quat.rate_matrix(as_array(q, "q", (4,)))


def quat_to_rot(q: ArrayLike) -> Array:
    """(..., 3, 3) R = 1 + 2 w [u]x + 2 [u]x^2, the rotation of the body in the world."""
    return quat.to_rotation(as_array(q, "q", (4,)))


def rot_to_quat(R: ArrayLike) -> Array:
    """(..., 4) unit quaternion of a rotation matrix, with w >= 0."""
    return quat.from_rotation(as_array(R, "R", (3, 3)))
