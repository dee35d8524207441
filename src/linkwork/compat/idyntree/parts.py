"""Links and neighbours of a robot as iDynTree hands them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import made
from linkwork.compat.idyntree.inertias import RotationalInertia, SpatialInertia
from linkwork.spatial.source import inertia

if TYPE_CHECKING:
    from linkwork.compat.idyntree.model import Model


@dataclass
class Neighbor:
    """A link next to another one, and the joint between the two."""

    neighborLink: int = -1
    neighborJoint: int = -1


class _InertiaInRobot(SpatialInertia):
    """The inertia of a link of a robot, which changes with it."""

    link: Link | None = None

    def __setitem__(self, key: Any, numbers: Any) -> None:
        super().__setitem__(key, numbers)
        if self.link is not None:
            self.link.setInertia(self)

    def getRotationalInertiaWrtFrameOrigin(self) -> RotationalInertia:
        """Tensor about the origin; it can only be read."""
        found = super().getRotationalInertiaWrtFrameOrigin()
        found.flags.writeable = False  # so that a change, which would be lost, raises
        return found


class Link:
    """A link: one of a robot, or one that is to be added to one, without inertia at first.

    A link of `model.getLink` belongs to the robot: `setInertia`, and changes to what `inertia`
    gives, change the robot.
    """

    def __init__(self) -> None:
        self._model: Model | None = None
        self._index = -1
        self._inertia = SpatialInertia()

    @classmethod
    def of(cls, model: Model, index: int) -> Link:
        """The link of a robot at an index."""
        self = cls()
        self._model, self._index = model, index
        return self

    def getIndex(self) -> int:
        """Index of the link in its robot; -1 if it has none."""
        return self._index

    def setIndex(self, _index: int) -> None:
        """Set the index of a link that belongs to no robot."""
        if self._model is None:
            self._index = _index

    def inertia(self) -> SpatialInertia:
        """Inertia of the link, in its own frame; changes to it change the link."""
        if self._model is None:
            return self._inertia
        parameters = self._model.link_inertia(self._index).parameters()
        found = made(_InertiaInRobot, inertia.matrix(parameters))
        found.link = self
        return found

    getInertia = inertia

    def setInertia(self, _inertia: ArrayLike) -> None:
        """Give the link another inertia."""
        given = SpatialInertia(_inertia)
        if self._model is None:
            self._inertia[...] = given
        else:
            self._model.set_link_inertia(self._index, given.asVector().toNumPy())
