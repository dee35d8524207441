"""The class of `adam.parametric.jax`."""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork.compat.adam import jax, parametric
from linkwork.compat.adam.core import add_import_paths
from linkwork.compat.adam.parametric import Method, with_shape

add_import_paths(__name__, "computations_parametric")


class KinDynComputationsParametric(parametric.KinDynComputationsParametric, jax.KinDynComputations):
    """The same for JAX arrays, to be jitted, mapped, and differentiated in all arguments."""

    centroidal_momentum_matrix: Method = with_shape(
        "centroidal_momentum_matrix", s="joint_positions"
    )
    bias_force: Method = with_shape("bias_force", joint_velocities="s_dot")
    coriolis_term: Method = with_shape("coriolis_term", joint_velocities="s_dot")

    def forward_kinematics_fun(
        self, frame: str, length_multiplier: Any, densities: Any
    ) -> Callable[[Any, Any], Any]:
        """`forward_kinematics` of a frame as a function of (base_transform, joint_positions)."""

        def pose(base_transform: Any, joint_positions: Any) -> Any:
            shape = length_multiplier, densities
            return self.forward_kinematics(frame, base_transform, joint_positions, *shape)

        return pose
