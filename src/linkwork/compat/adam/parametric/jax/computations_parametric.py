"""The class of `adam.parametric.jax`."""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.bridges.jax import wrap
from linkwork.compat.adam.jax.computations import KinDynComputations
from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.compat.adam.parametric.base import Parametric
from linkwork.kernel.kernel import Kernel


class KinDynComputationsParametric(Parametric, KinDynComputations):
    """The same for JAX arrays: to be jitted, mapped, and differentiated by all arguments.

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

    def _of_kernel(self, kernel: Kernel) -> Any:
        return wrap(kernel)
