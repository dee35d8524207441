"""Links of a robot, their neighbors, and traversals, under iDynTree's names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from linkwork.compat.idyntree.absent import Partial
from linkwork.compat.idyntree.arrays import array_of
from linkwork.compat.idyntree.conversion import walk
from linkwork.compat.idyntree.geometry import RotationalInertia, SpatialInertia
from linkwork.compat.idyntree.joints import IJoint, joint_of
from linkwork.errors import ValueRangeError
from linkwork.model.inertia import from_parameters
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
        tensor = super().getRotationalInertiaWrtFrameOrigin()
        tensor.flags.writeable = False  # so that a change, which would be lost, raises
        return tensor


class Link(Partial):
    """A link: one of a robot, or one that is to be added to one, without inertia at first.

    A link of `model.getLink` belongs to the robot: `setInertia`, and changes to the result of
    `inertia`, change the robot.
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

    def inertia(self) -> SpatialInertia:
        """Inertia of the link in the frame of the link; changes to it change the link."""
        if self._model is None:
            return self._inertia
        parameters = self._model.link_records[self._index].inertia.parameters()
        matrix = array_of(_InertiaInRobot, inertia.matrix(parameters))
        matrix.link = self
        return matrix

    getInertia = inertia

    def setInertia(self, _inertia: ArrayLike) -> None:
        """Set the inertia."""
        given = SpatialInertia(_inertia)
        if self._model is None:
            self._inertia[...] = given
        else:
            record = self._model.link_records[self._index]
            parameters = from_parameters(given.asVector().toNumPy())
            self._model.set_link_record(self._index, replace(record, inertia=parameters))


class Traversal(Partial):
    """The links of a robot from a base on; `Model.computeFullTreeTraversal` fills it."""

    def __init__(self) -> None:
        self._model: Model | None = None
        self._links: list[int] = []
        self._parents: list[int] = []
        self._joints: list[int] = []

    def fill(self, model: Model, base: str) -> None:
        """Visit the links of a robot from a base on."""
        robot = model.robot
        self._model = model
        visits = walk(robot, base)
        self._links = [robot.link_index(visit.link) for visit in visits]
        self._parents = [robot.link_index(v.parent) if v.parent is not None else -1 for v in visits]
        self._joints = [robot.joint_index(v.joint.name) if v.joint else -1 for v in visits]

    def getNrOfVisitedLinks(self) -> int:
        """The number of visited links."""
        return len(self._links)

    def getBaseLink(self) -> Link:
        """The link where the traversal starts."""
        return self.getLink(0)

    def getLink(self, traversalIndex: int) -> Link:
        """The link at an index of the traversal."""
        return Link.of(self._robot(), self._at(self._links, traversalIndex))

    def getParentLink(self, traversalIndex: int) -> Link | None:
        """The link from which the one at an index is reached; none for the base."""
        parent = self._at(self._parents, traversalIndex)
        return None if parent < 0 else Link.of(self._robot(), parent)

    def getParentJoint(self, traversalIndex: int) -> IJoint | None:
        """The joint by which the link at an index is reached; none for the base."""
        joint = self._at(self._joints, traversalIndex)
        return None if joint < 0 else joint_of(self._robot(), joint)

    def getTraversalIndexFromLinkIndex(self, linkIndex: int) -> int:
        """Index of a link in the traversal."""
        self._robot().getLinkName(linkIndex)
        return self._links.index(linkIndex)

    def getParentLinkFromLinkIndex(self, linkIndex: int) -> Link | None:
        """The link from which a link is reached."""
        return self.getParentLink(self.getTraversalIndexFromLinkIndex(linkIndex))

    def getParentJointFromLinkIndex(self, linkIndex: int) -> IJoint | None:
        """The joint by which a link is reached."""
        return self.getParentJoint(self.getTraversalIndexFromLinkIndex(linkIndex))

    def _at(self, numbers: list[int], index: int) -> int:
        self._robot()
        if not 0 <= index < len(numbers):
            raise ValueRangeError(f"traversal index {index}: there are {len(numbers)}, from 0")
        return numbers[index]

    def _robot(self) -> Model:
        if self._model is None:
            raise ValueRangeError("the traversal is empty; model.computeFullTreeTraversal fills it")
        return self._model
