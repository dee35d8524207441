"""The class of `adam.casadi`: methods for SX, MX, DM and numbers, and functions `*_fun()`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.bridges.casadi_sx import as_matrix, casadi_package, matrix_shape, sx_function
from linkwork.compat.adam.differentiable import SmoothFunction
from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.compat.adam.kindyn import KinDynComputations as NumpyKinDynComputations
from linkwork.errors import ShapeError
from linkwork.expr.program import Port
from linkwork.kernel.kernel import Kernel

F_OPTS: dict[str, Any] = {"jit": False, "jit_options": {"flags": "-Ofast"}, "cse": True}


class KinDynComputations(NumpyKinDynComputations):
    """Kinematics and dynamics of a robot with a floating base, for CasADi.

    Args:
        urdfstring: path or text of a URDF, or a `mujoco.MjModel`.
        joints_name_list: the joints that move, in their order; all that can if not given. Others
            are locked at 0.
        root_link: the link whose pose and velocity are those of the base; the one that no joint
            holds if not given.
        gravity: (6,) acceleration of free fall in the world, and three zeros.
        f_opts: options of the functions that methods named `*_fun` give.

    Every method takes SX, MX, DM or numbers, one state at a time; vectors are columns (n, 1). Each
    has a twin `*_fun()` that gives a `casadi.Function` of the same arguments, for the velocity
    representation, the root and the gravity of now.
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

    def _function_of(self, request: Any, wrenches: tuple[str, ...]) -> Any:
        return CasadiFunction(SmoothFunction(self._kd, request, wrenches).kernel)

    def link_poses(self, base_transform: Any, joint_positions: Any) -> dict[str, Any]:
        """Poses of all links in the world, by name, depth first; without those of frames.

        Returns:
            (4, 4) w_H_link each.
        """
        names = self._model.tree.ordered_nodes_list
        return {
            name: self.forward_kinematics(name, base_transform, joint_positions) for name in names
        }

    def forward_kinematics_fun(self, frame: str) -> Any:
        """`forward_kinematics` of (H, s)."""
        return self._function("H", self.frame_kernel("transform", frame))

    def jacobian_fun(self, frame: str) -> Any:
        """`jacobian` of (H, s)."""
        return self._function("J_tot", self.frame_kernel("jacobian", frame))

    def relative_jacobian_fun(self, frame: str) -> Any:
        """`relative_jacobian` of (s)."""
        return self._function("J", self.frame_kernel("relative_jacobian", frame))

    def jacobian_dot_fun(self, frame: str) -> Any:
        """`jacobian_dot` of (H, s, v_b, s_dot)."""
        return self._function("J_dot", self.frame_kernel("jacobian_dot", frame))

    def mass_matrix_fun(self) -> Any:
        """`mass_matrix` of (H, s)."""
        return self._function("M", self.robot_kernel("mass_matrix"))

    def centroidal_momentum_matrix_fun(self) -> Any:
        """`centroidal_momentum_matrix` of (H, s)."""
        return self._function("Jcm", self.robot_kernel("centroidal_momentum_matrix"))

    def CoM_position_fun(self) -> Any:
        """`CoM_position` of (H, s)."""
        return self._function("CoM_pos", self.robot_kernel("com"))

    def CoM_jacobian_fun(self) -> Any:
        """`CoM_jacobian` of (H, s)."""
        return self._function("J_com", self.robot_kernel("com_jacobian"))

    def bias_force_fun(self) -> Any:
        """`bias_force` of (H, s, v_b, s_dot)."""
        return self._function("h", self.robot_kernel("bias_force"))

    def coriolis_term_fun(self) -> Any:
        """`coriolis_term` of (H, s, v_b, s_dot)."""
        return self._function("C", self.robot_kernel("coriolis_force"))

    def gravity_term_fun(self) -> Any:
        """`gravity_term` of (H, s)."""
        return self._function("G", self.robot_kernel("gravity_force"))

    def aba_fun(self) -> Any:
        """`aba` of (H, s, v_b, s_dot, tau), without external wrenches."""
        return self._function("aba", self.robot_kernel("forward_dynamics"))

    def _function(self, name: str, kernel: Any) -> Any:
        """A `casadi.Function` with gravity as it is now, and adam's options."""
        ca, ports = casadi_package(), [port for port in kernel.inputs if port.name != "g"]
        symbols = [ca.SX.sym(_SHORT[port.name], *matrix_shape(port)) for port in ports]
        given = dict(zip((port.name for port in ports), symbols, strict=True))
        result = kernel(*[given.get(port.name, self.g) for port in kernel.inputs])
        return ca.Function(name, symbols, [result], self.f_opts)


_SHORT = {
    "base_transform": "H",
    "joint_positions": "s",
    "base_velocity": "v_b",
    "joint_velocities": "s_dot",
    "joint_torques": "tau",
    "length_multiplier": "length_multiplier",
    "densities": "densities",
}


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
