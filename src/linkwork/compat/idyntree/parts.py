"""Links, joints, neighbours and walks of a robot as iDynTree hands them out, to be read only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

import linkwork.model.model as described
from linkwork.compat.idyntree.arrays import SpatialInertia, Transform, made
from linkwork.compat.idyntree.order import Visit, walk
from linkwork.errors import ValueRangeError
from linkwork.model.joint_motion import child_H_parent, rest_transform
from linkwork.model.layout import Layout
from linkwork.spatial.source import inertia

TRAVERSAL_INVALID_INDEX = -1


@dataclass(frozen=True)
class Neighbor:
    """A link next to another one, and the joint between the two."""

    neighborLink: int
    neighborJoint: int


@dataclass(frozen=True)
class Link:
    """A link of a robot."""

    model: described.Model
    index: int

    def getIndex(self) -> int:
        """Index of the link."""
        return self.index

    def getInertia(self) -> SpatialInertia:
        """Inertia of the link, in its own frame."""
        return made(
            SpatialInertia, inertia.matrix(self.model.links[self.index].inertia.parameters())
        )


@dataclass(frozen=True)
class IJoint:
    """A joint of a robot."""

    model: described.Model
    index: int

    @property
    def _joint(self) -> described.Joint:
        return self.model.joints[self.index]

    def getIndex(self) -> int:
        """Index of the joint."""
        return self.index

    def getNrOfDOFs(self) -> int:
        """How many velocity coordinates it has."""
        return self._joint.nv

    def getNrOfPosCoords(self) -> int:
        """How many position coordinates it has."""
        return self._joint.nq

    def getDOFsOffset(self) -> int:
        """Where its velocity starts in the joint velocities."""
        return sum(joint.nv for joint in self.model.joints[: self.index])

    def getPosCoordsOffset(self) -> int:
        """Where its position starts in the joint positions."""
        return sum(joint.nq for joint in self.model.joints[: self.index])

    def getFirstAttachedLink(self) -> int:
        """Index of its first link."""
        return self.model.link_index(self._joint.first)

    def getSecondAttachedLink(self) -> int:
        """Index of its second link."""
        return self.model.link_index(self._joint.second)

    def getRestTransform(self, child: int, parent: int) -> Transform:
        """Pose of the parent in the child, with the joint at rest."""
        return made(Transform, rest_transform(self._joint, child=self._link(child, parent)))

    def getTransform(self, positions: ArrayLike, child: int, parent: int) -> Transform:
        """Pose of the parent in the child, with all joints at some positions."""
        s = np.asarray(positions, dtype=np.float64)
        theta = Layout(self.model, floating=False).theta(s, self._joint.name)
        return made(Transform, child_H_parent(self._joint, theta, child=self._link(child, parent)))

    def hasPosLimits(self) -> bool:
        """Whether its position has bounds."""
        limits = self._joint.limits
        return isfinite(limits.lower) or isfinite(limits.upper)

    def getMinPosLimit(self, coordinate: int = 0) -> float:
        """Lower bound of its position."""
        del coordinate  # joints with bounds have one
        return self._joint.limits.lower

    def getMaxPosLimit(self, coordinate: int = 0) -> float:
        """Upper bound of its position."""
        del coordinate
        return self._joint.limits.upper

    def _link(self, child: int, parent: int) -> str:
        ends = {self.getFirstAttachedLink(), self.getSecondAttachedLink()}
        if {child, parent} != ends:
            text = f"joint {self._joint.name!r} joins links {sorted(ends)}, not {[child, parent]}"
            raise ValueRangeError(text)
        return self.model.link_names[child]


class Traversal:
    """A walk over the links of a robot from a base; `Model.computeFullTreeTraversal` fills it."""

    def __init__(self) -> None:
        self._model: described.Model | None = None
        self._visits: Sequence[Visit] = ()

    def fill(self, model: described.Model, base: str) -> None:
        """Walk over a robot from a link."""
        self._model, self._visits = model, walk(model, base)

    def getNrOfVisitedLinks(self) -> int:
        """How many links the walk has."""
        return len(self._visits)

    def getBaseLink(self) -> Link:
        """Where the walk starts."""
        return self.getLink(0)

    def getLink(self, place: int) -> Link:
        """The link at a place of the walk."""
        model = self._robot()
        return Link(model, model.link_index(self._visits[place].link))

    def getParentLink(self, place: int) -> Link | None:
        """The link from which the one at a place is reached; none for the base."""
        model, parent = self._robot(), self._visits[place].parent
        return None if parent is None else Link(model, model.link_index(parent))

    def getParentJoint(self, place: int) -> IJoint | None:
        """The joint by which the link at a place is reached; none for the base."""
        model, joint = self._robot(), self._visits[place].joint
        return None if joint is None else IJoint(model, model.joint_index(joint.name))

    def getTraversalIndexFromLinkIndex(self, link: int) -> int:
        """Place of a link in the walk."""
        names = [visit.link for visit in self._visits]
        return names.index(self._robot().link_names[link])

    def getParentLinkFromLinkIndex(self, link: int) -> Link | None:
        """The link from which a link is reached."""
        return self.getParentLink(self.getTraversalIndexFromLinkIndex(link))

    def getParentJointFromLinkIndex(self, link: int) -> IJoint | None:
        """The joint by which a link is reached."""
        return self.getParentJoint(self.getTraversalIndexFromLinkIndex(link))

    def isParentOf(self, parent: int, child: int) -> bool:
        """Whether one link is reached from the other."""
        found = self.getParentLinkFromLinkIndex(child)
        return found is not None and found.getIndex() == parent

    def _robot(self) -> described.Model:
        if self._model is None:
            raise ValueRangeError("the traversal is empty; model.computeFullTreeTraversal fills it")
        return self._model
