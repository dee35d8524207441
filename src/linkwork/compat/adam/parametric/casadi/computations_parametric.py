"""The class of `adam.parametric.casadi`."""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.bridges.casadi_sx import sx_function
from linkwork.compat.adam.casadi.computations import CasadiFunction, KinDynComputations
from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.compat.adam.parametric.base import Parametric
from linkwork.kernel.kernel import Kernel

F_OPTS: dict[str, Any] = {"jit": False, "jit_options": {"flags": "-Ofast"}}


class KinDynComputationsParametric(Parametric, KinDynComputations):
    """The same for CasADi: functions `*_fun()` with lengths and densities as last arguments.

    Args:
        urdfstring: path or text of a URDF.
        joints_name_list: the joints that move, in their order.
        links_name_list: the links whose lengths and densities are inputs.
        root_link: the link whose pose and velocity are those of the base; the one that no joint
            holds if not given.
        gravity: (6,) acceleration of free fall in the world, and three zeros.
        f_opts: options of the functions.

    Methods without `_fun`, which adam does not have here, take the arguments themselves.
    """

    def __init__(  # noqa: PLR0917 - adam's arguments
        self,
        urdfstring: Any,
        joints_name_list: Sequence[str],
        links_name_list: Sequence[str],
        root_link: str | None = None,
        gravity: ArrayLike = STANDARD_GRAVITY,
        f_opts: Mapping[str, Any] = F_OPTS,
    ) -> None:
        self._list_links(links_name_list)
        KinDynComputations.__init__(self, urdfstring, joints_name_list, root_link, gravity, f_opts)

    def get_total_mass(self) -> Any:
        """The function of the mass [kg], from lengths and densities."""
        return sx_function(self._mass_kernel())

    def _of_kernel(self, kernel: Kernel) -> Any:
        return CasadiFunction(kernel)
