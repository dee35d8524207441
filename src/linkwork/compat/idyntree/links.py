"""Links of a robot, their neighbors, and traversals, with iDynTree's names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import array_of
from linkwork.compat.idyntree.conversion import traversal
from linkwork.compat.idyntree.geometry import RotationalInertia, SpatialInertia
from linkwork.compat.idyntree.joints import IJoint, joint_of
from linkwork.compat.idyntree.records import ModelRecords
from linkwork.compat.idyntree.statuses import Partial, status
from linkwork.errors import ValueRangeError
from linkwork.model.inertia import from_parameters
from linkwork.spatial.source import inertia


class _InertiaInRobot(SpatialInertia):
    """The inertia of a link of a robot; changes to it change the robot."""

    link: Link | None = None

    def __setitem__(self, key: Any, values: Any) -> None:
        super().__setitem__(key, values)
        if self.link is not None:
            self.link.setInertia(self)

    def getRotationalInertiaWrtFrameOrigin(self) -> RotationalInertia:
        """Return the inertia tensor about the origin, read-only."""
        tensor = super().getRotationalInertiaWrtFrameOrigin()
        tensor.flags.writeable = False  # a change would be lost, so it raises
        return tensor


class Link(Partial):
    """A link of a robot, or one to be added to a robot, initially without inertia.

    A link of `model.getLink` belongs to the robot: `setInertia`, and changes to the result of
    `inertia`, change the robot.
    """

    def __init__(self) -> None:
        self._model: ModelRecords | None = None
        self._index = -1
        self._inertia = SpatialInertia()

    @classmethod
    def of(cls, model: ModelRecords, index: int) -> Link:
        """Return the link of a robot at an index."""
        self = cls()
        self._model, self._index = model, index
        return self

    def getIndex(self) -> int:
        """Return the index of the link in its robot; -1 if it has none."""
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
        new_inertia = SpatialInertia(_inertia)
        if self._model is None:
            self._inertia[...] = new_inertia
        else:
            record = self._model.link_records[self._index]
            parameters = from_parameters(new_inertia.asVector().toNumPy())
            self._model.set_link_record(self._index, replace(record, inertia=parameters))


class Traversal(Partial):
    """The links of a robot, starting at a base; filled by `Model.computeFullTreeTraversal`."""

    def __init__(self) -> None:
        self._model: ModelRecords | None = None
        self._visits: list[tuple[int, int, int]] = []  # indices of link, parent and joint, or -1

    def fill(self, model: ModelRecords, base: str) -> None:
        """Visit the links of a robot, starting at a base."""
        robot = model.robot
        self._model = model
        self._visits = [
            (
                robot.link_index(link),
                -1 if parent is None else robot.link_index(parent),
                -1 if joint is None else robot.joint_index(joint.name),
            )
            for link, parent, joint in traversal(robot, base)
        ]

    def getNrOfVisitedLinks(self) -> int:
        """Return the number of visited links."""
        return len(self._visits)

    def getBaseLink(self) -> Link:
        """Return the link where the traversal starts."""
        return self.getLink(0)

    def getLink(self, traversalIndex: int) -> Link:
        """Return the link at an index of the traversal."""
        model, (link, _, _) = self._visit(traversalIndex)
        return Link.of(model, link)

    def getParentLink(self, traversalIndex: int) -> Link | None:
        """Return the parent of the link at an index of the traversal; None for the base."""
        model, (_, parent, _) = self._visit(traversalIndex)
        return None if parent < 0 else Link.of(model, parent)

    def getParentJoint(self, traversalIndex: int) -> IJoint | None:
        """Return the joint between the link at an index of the traversal and its parent."""
        model, (_, _, joint) = self._visit(traversalIndex)
        return None if joint < 0 else joint_of(model, joint)

    def isParentOf(self, parentCandidate: int, childCandidate: int) -> bool:
        """Return whether a link is the parent of another one."""
        model, _ = self._visit(0)
        model.link_name(childCandidate)  # raises if there is no such link
        return (childCandidate, parentCandidate) in [visit[:2] for visit in self._visits]

    @status(-1)
    def getParentLinkIndexFromJointIndex(self, model: ModelRecords, jntIdx: int) -> int:
        """Index of the link of a joint that is nearer to the base; -1 if there is no such joint."""
        return self._ends(model, jntIdx)[1]

    @status(-1)
    def getChildLinkIndexFromJointIndex(self, model: ModelRecords, jntIdx: int) -> int:
        """Return the index of the link of a joint that is farther from the base."""
        return self._ends(model, jntIdx)[0]

    def _ends(self, model: ModelRecords, joint: int) -> tuple[int, int]:
        """Return the indices of child and parent of a joint of a model."""
        ends = joint_of(model, joint)
        first, second = ends.getFirstAttachedLink(), ends.getSecondAttachedLink()
        return (second, first) if self.isParentOf(first, second) else (first, second)

    def _visit(self, index: int) -> tuple[ModelRecords, tuple[int, int, int]]:
        if self._model is None:
            message = "the traversal is empty; call model.computeFullTreeTraversal first"
            raise ValueRangeError(message)
        if not 0 <= index < len(self._visits):
            message = f"traversal index {index}: expected 0 to {len(self._visits) - 1}"
            raise ValueRangeError(message)
        return self._model, self._visits[index]
