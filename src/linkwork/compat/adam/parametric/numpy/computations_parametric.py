"""The class of `adam.parametric.numpy`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.compat.adam.parametric.base import Parametric


class KinDynComputationsParametric(Parametric):
    """Kinematics and dynamics of a robot whose links have lengths and densities as inputs.

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
        super().__init__(urdfstring, joints_name_list, root_link=root_link, gravity=gravity)
