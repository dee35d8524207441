"""What each function of a state computes, written for traced arrays of one row.

Quaternions are taken as they are. A program of `KinDyn` is inlined without the normalisation that
its kernel does, so each function is the polynomial in the quaternion that PinnZoo has, and its
derivatives by x are those of this very function.

In the axes of the base, the quaternion enters the dynamics by R^T g alone, the gravity that the
base feels: tau = ID(s, v, v_dot) - M[:, :3] R^T g. So derivatives by the quaternion are
-M[:, :3] d(R^T g) for torques, and d(R^T g) in the linear acceleration of the base for v_dot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.engine.kernel.compile import CompiledFunction
from linkwork.engine.symbolic.arrays import Array, join
from linkwork.export.pinnzoo.state_space import errors, velocity
from linkwork.spatial.source import quat

if TYPE_CHECKING:
    from linkwork.export.pinnzoo.state_space.space import StateSpace

Given = Mapping[str, Array]


def unnormalized(space: StateSpace, *request: Any) -> CompiledFunction:
    """A quantity of the robot without the check of its unit norms, to be called while tracing."""
    kernel = space.kd.function(request)  # pyright: ignore[reportArgumentType]
    return CompiledFunction(kernel.signature.name, kernel.program, np.float64)


def _halves(space: StateSpace, given: Given) -> tuple[Array, Array]:
    """The configuration q and the velocity v of x."""
    return given["x"][: space.nq], given["x"][space.nq :]


def _mass_matrix(space: StateSpace, given: Given) -> Any:
    return unnormalized(space, "mass_matrix")(_halves(space, given)[0])


def _bias_force(space: StateSpace, given: Given) -> Any:
    return unnormalized(space, "bias_force")(*_halves(space, given))


def _forward_dynamics(space: StateSpace, given: Given) -> Any:
    return unnormalized(space, "forward_dynamics")(*_halves(space, given), given["tau"])


def _inverse_dynamics(space: StateSpace, given: Given) -> Any:
    return unnormalized(space, "inverse_dynamics")(*_halves(space, given), given["v_dot"])


def _dynamics(space: StateSpace, given: Given) -> Any:
    return join([_halves(space, given)[1], _forward_dynamics(space, given)])


def _inverse_dynamics_deriv(space: StateSpace, given: Given) -> Any:
    q, v = _halves(space, given)
    by = unnormalized(space, "inverse_dynamics_derivatives")(q, v, given["v_dot"])
    by_q, by_v, M = by[:3]
    if space.floating:
        by_quaternion = -M[:, :3] @ _felt_gravity(space, q)
        by_q = np.concatenate([_zeros(space.nv, 3), by_quaternion, by_q[:, 6:]], axis=1)
    return np.concatenate([by_q, by_v], axis=1), M


def _forward_dynamics_deriv(space: StateSpace, given: Given) -> Any:
    q, v = _halves(space, given)
    by = unnormalized(space, "forward_dynamics_derivatives")(q, v, given["tau"])
    by_q, by_v, by_tau = by[:3]
    if space.floating:
        felt = np.concatenate([_felt_gravity(space, q), _zeros(space.nv - 3, 4)], axis=0)
        by_q = np.concatenate([_zeros(space.nv, 3), felt, by_q[:, 6:]], axis=1)
    return np.concatenate([by_q, by_v], axis=1), by_tau


def _dynamics_deriv(space: StateSpace, given: Given) -> Any:
    by_x, by_tau = _forward_dynamics_deriv(space, given)
    of_v = np.concatenate([np.zeros((space.nv, space.nq)), np.eye(space.nv)], axis=1)
    zeros = _zeros(space.nv, space.nv)
    return np.concatenate([of_v, by_x], axis=0), np.concatenate([zeros, by_tau], axis=0)


def _felt_gravity(space: StateSpace, q: Array) -> Array:
    return velocity.gravity_by_quaternion(q[3:7], np.array(space.kd.gravity))


def _zeros(rows: int, columns: int) -> Array:
    return np.zeros((rows, columns))


def _velocity_kinematics(space: StateSpace, given: Given) -> Any:
    q = _halves(space, given)[0]
    return velocity.matrix_E(q, space.n_joints, floating=space.floating)


def _velocity_kinematics_T(space: StateSpace, given: Given) -> Any:
    q = _halves(space, given)[0]
    return velocity.matrix_E_T(q, space.n_joints, floating=space.floating)


def _velocity_product(space: StateSpace, given: Given) -> Any:
    q = _halves(space, given)[0]
    return velocity.times_E(q, given["v"], floating=space.floating)


def _velocity_T_product(space: StateSpace, given: Given) -> Any:
    q = _halves(space, given)[0]
    return velocity.times_E_T(q, given["q"], floating=space.floating)


def _kinematics_of_q(space: StateSpace, given: Given) -> Any:
    """Positions of the bodies in the world, each followed by its orientation if that is wanted."""
    poses = unnormalized(space, "transforms", space.bodies)(given["q"])
    parts: list[Array] = []
    for pose in poses:
        parts.append(pose[:3, 3])
        if space.orientation != "none":
            wxyz = quat.from_rotation(pose[:3, :3])
            parts.append(wxyz if space.orientation == "quaternion" else quat.log(wxyz))
    return join(parts)


def _kinematics(space: StateSpace, given: Given) -> Any:
    return _kinematics_of_q(space, {"q": _halves(space, given)[0]})


def _kinematics_velocity(space: StateSpace, given: Given) -> Any:
    q, v = _halves(space, given)
    rates = velocity.times_E(q, v, floating=space.floating)
    return space.kernel("kinematics_of_q").jvp("q")(q, rates)


def _kinematics_force(space: StateSpace, given: Given) -> Any:
    q = _halves(space, given)[0]
    of_q = space.kernel("kinematics_of_q").vjp("q")(q, given["force"])
    return velocity.times_E_transposed(q, of_q, floating=space.floating)


def _state_error(space: StateSpace, given: Given) -> Any:
    return errors.state_error(given["x"], given["x0"], floating=space.floating)


def _apply_delta_x(space: StateSpace, given: Given) -> Any:
    return errors.apply_delta_x(given["x"], given["delta_x"], floating=space.floating)


def _error_jacobian(space: StateSpace, given: Given) -> Any:
    return velocity.block_diagonal(_velocity_kinematics(space, given), np.eye(space.nv))


def _error_jacobian_T(space: StateSpace, given: Given) -> Any:
    return velocity.block_diagonal(_velocity_kinematics_T(space, given), np.eye(space.nv))


def _error_jacobian_product(space: StateSpace, given: Given) -> Any:
    q, delta_x = _halves(space, given)[0], given["delta_x"]
    rates = velocity.times_E(q, delta_x[: space.nv], floating=space.floating)
    return join([rates, delta_x[space.nv :]])


def _error_jacobian_T_product(space: StateSpace, given: Given) -> Any:
    q, x2 = _halves(space, given)[0], given["x2"]
    rates = velocity.times_E_T(q, x2[: space.nq], floating=space.floating)
    return join([rates, x2[space.nq :]])


COMPUTED: dict[str, tuple[tuple[str, ...], Callable[[StateSpace, Given], Any]]] = {
    # by name: the inputs, and what computes the result
    "M_func": (("x",), _mass_matrix),
    "C_func": (("x",), _bias_force),
    "forward_dynamics": (("x", "tau"), _forward_dynamics),
    "forward_dynamics_deriv": (("x", "tau"), _forward_dynamics_deriv),
    "inverse_dynamics": (("x", "v_dot"), _inverse_dynamics),
    "inverse_dynamics_deriv": (("x", "v_dot"), _inverse_dynamics_deriv),
    "dynamics": (("x", "tau"), _dynamics),
    "dynamics_deriv": (("x", "tau"), _dynamics_deriv),
    "velocity_kinematics": (("x",), _velocity_kinematics),
    "velocity_kinematics_T": (("x",), _velocity_kinematics_T),
    "velocity_kinematics_jvp": (("x", "v"), _velocity_product),
    "velocity_kinematics_T_jvp": (("x", "q"), _velocity_T_product),
    "kinematics_of_q": (("q",), _kinematics_of_q),
    "kinematics": (("x",), _kinematics),
    "kinematics_velocity": (("x",), _kinematics_velocity),
    "kinematics_force": (("x", "force"), _kinematics_force),
    "state_error": (("x", "x0"), _state_error),
    "apply_delta_x": (("x", "delta_x"), _apply_delta_x),
    "error_jacobian": (("x",), _error_jacobian),
    "error_jacobian_T": (("x",), _error_jacobian_T),
    "error_jacobian_jvp": (("x", "delta_x"), _error_jacobian_product),
    "error_jacobian_T_jvp": (("x", "x2"), _error_jacobian_T_product),
}
BY_X: dict[str, str] = {  # derivatives by x, and of what
    "kinematics_jacobian": "kinematics",
    "kinematics_velocity_jacobian": "kinematics_velocity",
    "kinematics_force_jacobian": "kinematics_force",
    "velocity_kinematics_jvp_deriv": "velocity_kinematics_jvp",
    "velocity_kinematics_T_jvp_deriv": "velocity_kinematics_T_jvp",
    "error_jacobian_jvp_deriv": "error_jacobian_jvp",
    "error_jacobian_T_jvp_deriv": "error_jacobian_T_jvp",
}
