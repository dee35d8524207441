"""The class of `adam.parametric.casadi`."""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.bridges.casadi.sx import casadi_package, sx_function
from linkwork.compat.adam import casadi, parametric
from linkwork.compat.adam.core import add_import_paths
from linkwork.compat.adam.numpy import STANDARD_GRAVITY
from linkwork.compat.adam.parametric import SHAPE
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.program import Port

add_import_paths(__name__, "computations_parametric")

F_OPTS: dict[str, Any] = {"jit": False, "jit_options": {"flags": "-Ofast"}}


class KinDynComputationsParametric(
    parametric.KinDynComputationsParametric, casadi.KinDynComputations
):
    """The same for CasADi: functions `*_fun()` with lengths and densities as last arguments.

    `f_opts` are the options of these functions. Methods without `_fun`, which adam does not have
    here, take the arguments themselves.
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
        self.links_name_list = links_name_list
        casadi.KinDynComputations.__init__(
            self, urdfstring, joints_name_list, root_link, gravity, f_opts
        )

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
        """Return the function of the mass [kg], from lengths and densities."""
        return sx_function(self._mass_kernel())

    def _symbol(self, port: Port) -> Any:
        return getattr(self, port.name) if port.name in SHAPE else super()._symbol(port)
