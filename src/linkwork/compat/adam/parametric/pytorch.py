"""The class of `adam.parametric.pytorch`."""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import ArrayLike

from linkwork.compat.adam import parametric, pytorch
from linkwork.compat.adam.core import add_import_paths
from linkwork.compat.adam.numpy import STANDARD_GRAVITY
from linkwork.compat.adam.parametric import Method, with_shape

add_import_paths(__name__, "computations_parametric")


class KinDynComputationsParametric(
    parametric.KinDynComputationsParametric, pytorch.KinDynComputations
):
    """The same for tensors, with gradients with respect to all arguments.

    `device` and `dtype` are those of `pytorch.KinDynComputations`; as in adam, the default is
    torch.float64 here.
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
        self.links_name_list = links_name_list
        pytorch.KinDynComputations.__init__(
            self, urdfstring, joints_name_list, device, dtype, root_link, gravity
        )

    mass_matrix: Method = with_shape("mass_matrix", joint_positions="s")
    bias_force: Method = with_shape("bias_force", joint_positions="s")
    gravity_term: Method = with_shape("gravity_term", joint_positions="base_positions")
