"""The class of `adam.parametric.pytorch`."""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import ArrayLike

from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.compat.adam.parametric.base import Method, Parametric, with_shape
from linkwork.compat.adam.pytorch.computations import KinDynComputations


class KinDynComputationsParametric(Parametric, KinDynComputations):
    """The same for tensors, with gradients with respect to all arguments.

    Args:
        urdfstring: path or text of a URDF.
        joints_name_list: the joints that move, in their order.
        links_name_list: the links whose lengths and densities are inputs.
        device: where arguments are moved to and results are; if not given, where the tensors
            among the arguments are.
        dtype: torch.float64, as in adam, or torch.float32. All arguments are converted to this
            type, and results have it.
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

    mass_matrix: Method = with_shape("mass_matrix", joint_positions="s")
    bias_force: Method = with_shape("bias_force", joint_positions="s")
    gravity_term: Method = with_shape("gravity_term", joint_positions="base_positions")
