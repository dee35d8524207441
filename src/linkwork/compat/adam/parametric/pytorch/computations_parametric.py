"""The class of `adam.parametric.pytorch`."""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import ArrayLike

from linkwork.bridges.torch import wrap
from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.compat.adam.parametric.base import Parametric
from linkwork.compat.adam.pytorch.computations import Converted, KinDynComputations
from linkwork.kernel.kernel import Kernel


class KinDynComputationsParametric(Parametric, KinDynComputations):
    """The same for tensors, with gradients by all arguments.

    Args:
        urdfstring: path or text of a URDF.
        joints_name_list: the joints that move, in their order.
        links_name_list: the links whose lengths and densities are inputs.
        device: where constants are; results are where the arguments are.
        dtype: torch.float64, as in adam, or torch.float32; of arguments that are no tensors.
        root_link: the link whose pose and velocity are those of the base; the one that no joint
            holds if not given.
        gravity: (6,) acceleration of free fall in the world, and three zeros.
    """

    def __init__(  # noqa: PLR0917 - adam's arguments
        self,
        urdfstring: Any,
        joints_name_list: Sequence[str],
        links_name_list: Sequence[str],
        device: Any = None,
        dtype: torch.dtype = torch.float64,
        root_link: str | None = None,
        gravity: ArrayLike | torch.Tensor = STANDARD_GRAVITY,
    ) -> None:
        self._list_links(links_name_list)
        KinDynComputations.__init__(
            self, urdfstring, joints_name_list, device, dtype, root_link, gravity
        )

    def _of_kernel(self, kernel: Kernel) -> Any:
        return Converted(wrap(kernel), self.dtype, self.device)
