"""The class of `adam.casadi`: methods for SX, MX, DM and numbers, and functions `*_fun()`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.bridges.casadi.sx import as_matrix, casadi_package, matrix_shape, sx_function
from linkwork.compat.adam.differentiable import DifferentiableKinDyn
from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ShapeError

F_OPTS: dict[str, Any] = {"jit": False, "jit_options": {"flags": "-Ofast"}, "cse": True}

_SHORT = {
    "base_transform": "H",
    "joint_positions": "s",
    "base_velocity": "v_b",
    "joint_velocities": "s_dot",
    "joint_torques": "tau",
}


def function_of_robot(name: str, symbol: str) -> Callable[[Any], Any]:
    """A method that returns the `casadi.Function` of a quantity of the robot."""

    def function(self: KinDynComputations) -> Any:
        return self._function(symbol, self.robot_kernel(name))  # pyright: ignore[reportPrivateUsage]

    return _documented(function, name)


def function_of_frame(name: str, symbol: str) -> Callable[[Any, str], Any]:
    """A method that returns the `casadi.Function` of a quantity of a link or frame."""

    def function(self: KinDynComputations, frame: str) -> Any:
        return self._function(symbol, self.frame_kernel(name, frame))  # pyright: ignore[reportPrivateUsage]

    return _documented(function, name)


def _documented(function: Any, name: str) -> Any:
    method = getattr(DifferentiableKinDyn, name)
    arguments = [_SHORT[a] for a in inspect.signature(method).parameters if a in _SHORT]
    summary = (inspect.getdoc(method) or "").partition("\n")[0]
    function.__name__ = f"{name}_fun"
    function.__qualname__ = f"KinDynComputations.{name}_fun"
    function.__doc__ = f"The `casadi.Function` of ({', '.join(arguments)}). {summary}"
    return function


class KinDynComputations(DifferentiableKinDyn):
    """Kinematics and dynamics of a robot with a floating base, for CasADi.

    Args:
        urdfstring: path or text of a URDF, or a `mujoco.MjModel`.
        joints_name_list: the joints that move, in their order; all that can if not given. Others
            are locked at 0.
        root_link: the link whose pose and velocity are those of the base; the one that no joint
            holds if not given.
        gravity: (6,) acceleration of free fall in the world, and three zeros.
        f_opts: options of the functions that methods named `*_fun` return.

    Every method takes SX, MX, DM or numbers, one state at a time; vectors are columns (n, 1). Each
    has a counterpart `*_fun()` that returns a `casadi.Function` of the same arguments, with the
    current velocity representation, root and gravity.
    """

    def __init__(
        self,
        urdfstring: Any,
        joints_name_list: Sequence[str] | None = None,
        root_link: str | None = None,
        gravity: ArrayLike = STANDARD_GRAVITY,
        f_opts: Mapping[str, Any] = F_OPTS,
    ) -> None:
        casadi_package()
        self.f_opts = dict(f_opts)
        super().__init__(urdfstring, joints_name_list, root_link=root_link, gravity=gravity)

    def _of_kernel(self, kernel: Kernel) -> Any:
        return CasadiFunction(kernel)

    def link_poses(self, base_transform: Any, joint_positions: Any) -> dict[str, Any]:
        """Poses of all links in the world, by name, depth first; without those of frames.

        Returns:
            (4, 4) w_H_link each.
        """
        names = self._model.tree.ordered_nodes_list
        return {
            name: self.forward_kinematics(name, base_transform, joint_positions) for name in names
        }

    forward_kinematics_fun = function_of_frame("forward_kinematics", "H")
    jacobian_fun = function_of_frame("jacobian", "J_tot")
    relative_jacobian_fun = function_of_frame("relative_jacobian", "J")
    jacobian_dot_fun = function_of_frame("jacobian_dot", "J_dot")
    mass_matrix_fun = function_of_robot("mass_matrix", "M")
    centroidal_momentum_matrix_fun = function_of_robot("centroidal_momentum_matrix", "Jcm")
    CoM_position_fun = function_of_robot("CoM_position", "CoM_pos")
    CoM_jacobian_fun = function_of_robot("CoM_jacobian", "J_com")
    bias_force_fun = function_of_robot("bias_force", "h")
    coriolis_term_fun = function_of_robot("coriolis_term", "C")
    gravity_term_fun = function_of_robot("gravity_term", "G")
    aba_fun = function_of_robot("aba", "aba")

    def _function(self, name: str, kernel: Any) -> Any:
        """A `casadi.Function` with gravity as it is now, and adam's options."""
        ca, ports = casadi_package(), [port for port in kernel.inputs if port.name != "g"]
        symbols = [self._symbol(port) for port in ports]
        given = dict(zip((port.name for port in ports), symbols, strict=True))
        result = kernel(*[given.get(port.name, self.g) for port in kernel.inputs])
        return ca.Function(name, symbols, [result], self.f_opts)

    def _symbol(self, port: Port) -> Any:
        """The symbol of an argument of a `casadi.Function`."""
        return casadi_package().SX.sym(_SHORT[port.name], *matrix_shape(port))


class CasadiFunction:
    """A kernel as a function of CasADi's matrices and of numbers."""

    def __init__(self, kernel: Kernel) -> None:
        self.inputs = kernel.signature.inputs
        self._function = sx_function(kernel)

    def __call__(self, *given: Any) -> Any:
        """The result: SX, MX or DM, as the arguments are."""
        ports = zip(self.inputs, given, strict=True)
        return self._function(*[_matrix(port, value) for port, value in ports])

    def warmup(self) -> None:
        """Nothing is compiled."""


def _matrix(port: Port, value: Any) -> Any:
    """An argument as a matrix of its shape, if it fits."""
    value = as_matrix(port, value)
    wanted = matrix_shape(port)
    if value.shape == wanted[::-1] and 1 in wanted:
        return value.T  # a row instead of a column
    if value.shape != wanted:
        raise ShapeError(f"{port.name}: expected {wanted}, got {value.shape}")
    return value
