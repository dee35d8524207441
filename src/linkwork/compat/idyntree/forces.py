"""Forces on a robot as arrays: one wrench for each link, or generalized forces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.compat.idyntree.arrays import Numbers, VectorDynSize, Wrench, made
from linkwork.compat.idyntree.model import Model

if TYPE_CHECKING:
    from typing_extensions import Self


class LinkWrenches(Numbers):
    """(links, 6) a wrench for each link of a robot, 0 at first; `wrenches(link)` is one of them."""

    def __new__(cls, model: Model) -> Self:
        """Make wrenches that are 0."""
        return made(cls, np.zeros((model.getNrOfLinks(), 6)))

    def __call__(self, link: int) -> Wrench:
        """The wrench on a link; changes to it change these wrenches."""
        return self[link].view(Wrench)

    def getNrOfLinks(self) -> int:
        """How many links there are."""
        return self.shape[0]


class FreeFloatingGeneralizedTorques(Numbers):
    """(6 + n,) the wrench on the base, then the joint torques; 0 at first."""

    def __new__(cls, model: Model) -> Self:
        """Make forces that are 0."""
        return made(cls, np.zeros(6 + model.getNrOfDOFs()))

    def baseWrench(self) -> Wrench:
        """The wrench on the base; changes to it change these forces."""
        return self[:6].view(Wrench)

    def jointTorques(self) -> VectorDynSize:
        """The joint torques; changes to them change these forces."""
        return self[6:].view(VectorDynSize)
