"""The class of `adam.parametric.jax`."""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.compat.adam.jax.computations import KinDynComputations
from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.compat.adam.parametric.base import Method, Parametric, with_shape


class KinDynComputationsParametric(Parametric, KinDynComputations):
    """The same for JAX arrays: to be jitted, mapped, and differentiated in all arguments.

    Args:
        urdfstring: path or text of a URDF.
        joints_name_list: the joints that move, in their order.
        links_name_list: the links whose lengths and densities are inputs.
        root_link: the link whose pose and velocity are those of the base; the one that no joint
            holds if not given.
        gravity: (6,) acceleration of free fall in the world, and three zeros.
    """

    def __init__(
        self,
        urdfstring: Any,
        joints_name_list: Sequence[str],
        links_name_list: Sequence[str],
        root_link: str | None = None,
        gravity: ArrayLike = STANDARD_GRAVITY,
    ) -> None:
        self._list_links(links_name_list)
        KinDynComputations.__init__(
            self, urdfstring, joints_name_list, root_link=root_link, gravity=gravity
        )

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
