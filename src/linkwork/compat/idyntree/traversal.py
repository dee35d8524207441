"""Walks over the links of a robot under iDynTree's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.compat.idyntree.joint_classes import joint_of
from linkwork.compat.idyntree.order import walk
from linkwork.compat.idyntree.parts import Link
from linkwork.errors import ValueRangeError

if TYPE_CHECKING:
    from linkwork.compat.idyntree.joints import IJoint
    from linkwork.compat.idyntree.model import Model

TRAVERSAL_INVALID_INDEX = -1


class Traversal:
    """A walk over the links of a robot from a base; `Model.computeFullTreeTraversal` fills it."""

    def __init__(self) -> None:
        self._model: Model | None = None
        self._links: list[int] = []
        self._parents: list[int] = []
        self._joints: list[int] = []

    def fill(self, model: Model, base: str) -> None:
        """Walk over a robot from a link."""
        robot = model.robot
        self._model = model
        visits = walk(robot, base)
        self._links = [robot.link_index(visit.link) for visit in visits]
        self._parents = [robot.link_index(v.parent) if v.parent is not None else -1 for v in visits]
        self._joints = [robot.joint_index(v.joint.name) if v.joint else -1 for v in visits]

    def getNrOfVisitedLinks(self) -> int:
        """How many links the walk has."""
        return len(self._links)

    def getBaseLink(self) -> Link:
        """Where the walk starts."""
        return self.getLink(0)

    def getLink(self, traversalIndex: int) -> Link:
        """The link at an index of the walk."""
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
        """Index of a link in the walk."""
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
