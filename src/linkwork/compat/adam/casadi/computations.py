"""The class of `adam.casadi`: methods for SX, MX, DM and numbers, and functions `*_fun()`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.bridges.casadi.sx import as_matrix, casadi_package, matrix_shape, sx_function
from linkwork.compat.adam.numpy import STANDARD_GRAVITY, DifferentiableKinDyn
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


def _function_of(name: str, symbol: str) -> Callable[..., Any]:
    """Build the method `*_fun()` of a method: it returns a `casadi.Function`.

    Args:
        name: the method.
        symbol: name of the `casadi.Function`.
    """
    method = getattr(DifferentiableKinDyn, name)
    parameters = inspect.signature(method).parameters

    def of_robot(self: KinDynComputations) -> Any:
        return self._casadi_function(symbol, self.robot_kernel(name))  # pyright: ignore[reportPrivateUsage]

    def of_frame(self: KinDynComputations, frame: str) -> Any:
        return self._casadi_function(symbol, self.frame_kernel(name, frame))  # pyright: ignore[reportPrivateUsage]

    function: Any = of_frame if "frame" in parameters else of_robot
    arguments = ", ".join(_SHORT[name] for name in parameters if name in _SHORT)
    summary = (inspect.getdoc(method) or "").partition("\n")[0]
    function.__name__ = f"{name}_fun"
    function.__qualname__ = f"KinDynComputations.{name}_fun"
    function.__doc__ = f"The `casadi.Function` of ({arguments}). {summary}"
    return function


class KinDynComputations(DifferentiableKinDyn):
    """Kinematics and dynamics of a robot with a floating base, for CasADi.

    Args:
        urdfstring: path or contents of a URDF, or a `mujoco.MjModel`.
        joints_name_list: the moving joints, in this order; by default all movable joints. Other
            joints are locked at 0.
        root_link: the link whose pose and velocity are those of the base; by default the link that
            is the child of no joint.
        gravity: (6,) acceleration of free fall in the world, and three zeros.
        f_opts: options of the functions that methods named `*_fun` return.

    Every method accepts SX, MX, DM or numbers, one state at a time; vectors are columns (n, 1).
    Each has a counterpart `*_fun()` that returns a `casadi.Function` of the same arguments, with
    the current velocity representation, root and gravity.
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

    def _wrap(self, kernel: Kernel) -> Any:
        return CasadiFunction(kernel)

    def link_poses(self, base_transform: Any, joint_positions: Any) -> dict[str, Any]:
        """Return poses of all links in the world, by name, depth first; without those of frames.

        Returns:
            (4, 4) w_H_link each.
        """
        names = self._model.tree.ordered_nodes_list
        return {
            name: self.forward_kinematics(name, base_transform, joint_positions) for name in names
        }

    forward_kinematics_fun = _function_of("forward_kinematics", "H")
    jacobian_fun = _function_of("jacobian", "J_tot")
    relative_jacobian_fun = _function_of("relative_jacobian", "J")
    jacobian_dot_fun = _function_of("jacobian_dot", "J_dot")
    mass_matrix_fun = _function_of("mass_matrix", "M")
    centroidal_momentum_matrix_fun = _function_of("centroidal_momentum_matrix", "Jcm")
    CoM_position_fun = _function_of("CoM_position", "CoM_pos")
    CoM_jacobian_fun = _function_of("CoM_jacobian", "J_com")
    bias_force_fun = _function_of("bias_force", "h")
    coriolis_term_fun = _function_of("coriolis_term", "C")
    gravity_term_fun = _function_of("gravity_term", "G")
    aba_fun = _function_of("aba", "aba")

    def _casadi_function(self, name: str, kernel: Any) -> Any:
        """Build a `casadi.Function` with the current gravity and adam's options."""
        symbols = {p.name: self._symbol(p) for p in kernel.inputs if p.name != "g"}
        result = kernel(*[symbols.get(port.name, self.g) for port in kernel.inputs])
        return casadi_package().Function(name, list(symbols.values()), [result], self.f_opts)

    def _symbol(self, port: Port) -> Any:
        """Return the symbol of an argument of a `casadi.Function`."""
        return casadi_package().SX.sym(_SHORT[port.name], *matrix_shape(port))


class CasadiFunction:
    """A kernel as a function of CasADi's matrices and of numbers."""

    def __init__(self, kernel: Kernel) -> None:
        self.inputs = kernel.signature.inputs
        self._function = sx_function(kernel)

    def __call__(self, *arguments: Any) -> Any:
        """Call with SX, MX or DM; the result has the same type."""
        pairs = zip(self.inputs, arguments, strict=True)
        return self._function(*[_matrix(port, value) for port, value in pairs])

    def warmup(self) -> None:
        """Do nothing: nothing is compiled."""


def _matrix(port: Port, value: Any) -> Any:
    """Convert an argument to a matrix of the shape of its port."""
    value, shape = as_matrix(port, value), matrix_shape(port)
    if value.shape == shape[::-1] and 1 in shape:
        return value.T  # a row instead of a column
    if value.shape != shape:
        raise ShapeError(f"{port.name}: expected {shape}, got {value.shape}")
    return value
