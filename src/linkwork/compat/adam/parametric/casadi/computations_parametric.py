"""The class of `adam.parametric.casadi`."""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.bridges.casadi.sx import casadi_package, sx_function
from linkwork.compat.adam.casadi.computations import KinDynComputations
from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.compat.adam.parametric.base import SHAPE, Parametric
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.program import Port

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

    @cached_property
    def length_multiplier(self) -> Any:
        """(k, 1) symbols of the lengths in the functions `*_fun()`."""
        return casadi_package().SX.sym("length_multiplier", len(self.links_name_list))

    @cached_property
    def densities(self) -> Any:
        """(k, 1) symbols of the densities in the functions `*_fun()`."""
        return casadi_package().SX.sym("densities", len(self.links_name_list))

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()  # CasADi's symbols cannot be pickled
        return {key: value for key, value in state.items() if key not in SHAPE}

    def get_total_mass(self) -> Any:
        """The function of the mass [kg], from lengths and densities."""
        return sx_function(self._mass_kernel())

    def _symbol(self, port: Port) -> Any:
        return getattr(self, port.name) if port.name in SHAPE else super()._symbol(port)
