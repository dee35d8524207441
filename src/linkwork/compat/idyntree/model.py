"""A robot as iDynTree's `Model`: links, joints and frames by index and by name.

Indices   of links and joints from 0; of frames those of the links, then the additional ones
Errors    a name or an index that the robot does not have raises; `isLinkNameUsed`,
          `isValidLinkIndex` and their like ask first
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import index as as_index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import linkwork.model.model as described
from linkwork.compat.idyntree.arrays import Transform, made
from linkwork.compat.idyntree.outputs import give_vector
from linkwork.compat.idyntree.parts import IJoint, Link, Neighbor, Traversal
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.model.describe import describe
from linkwork.model.edit import with_frame
from linkwork.model.inertia import from_parameters
from linkwork.model.pose import as_floats


class Model:
    """A robot, and the link that is its base unless another one is asked for.

    Args:
        robot: a `linkwork.Model`; links, joints and frames keep their order. `ModelLoader` makes
            one in the order of iDynTree.
        base: its default base; that of the robot if not given.
    """

    def __init__(self, robot: described.Model, base: str | None = None) -> None:
        if not isinstance(robot, described.Model):
            raise ArgumentError(f"robot: expected a linkwork.Model, got {shown(robot)}")
        self._robot = robot
        self._base = robot.link_names[robot.link_index(base or robot.default_base)]

    @property
    def robot(self) -> described.Model:
        """The robot as linkwork sees it."""
        return self._robot

    def __repr__(self) -> str:
        return f"Model({self._robot!r}, base={self._base!r})"

    def copy(self) -> Model:
        """Another model of the same robot."""
        return Model(self._robot, self._base)

    def isValid(self) -> bool:
        """True: what is no robot cannot be made."""
        return True

    def toString(self) -> str:
        """The robot as a drawing."""
        return describe(self._robot)

    def getNrOfLinks(self) -> int:
        """How many links there are."""
        return len(self._robot.links)

    def getNrOfJoints(self) -> int:
        """How many joints there are, fixed ones too."""
        return len(self._robot.joints)

    def getNrOfFrames(self) -> int:
        """How many frames there are, those of the links too."""
        return len(self._robot.frame_names)

    def getNrOfDOFs(self) -> int:
        """Length of the joint velocities."""
        return sum(joint.nv for joint in self._robot.joints)

    def getNrOfPosCoords(self) -> int:
        """Length of the joint positions."""
        return sum(joint.nq for joint in self._robot.joints)

    def getLinkName(self, link: int) -> str:
        """Name of a link."""
        return at("link", self._robot.link_names, link)

    def getJointName(self, joint: int) -> str:
        """Name of a joint."""
        return at("joint", self._robot.joint_names, joint)

    def getFrameName(self, frame: int) -> str:
        """Name of a frame."""
        return at("frame", self._robot.frame_names, frame)

    def getLinkIndex(self, name: str) -> int:
        """Index of a link."""
        return self._robot.link_index(name)

    def getJointIndex(self, name: str) -> int:
        """Index of a joint."""
        return self._robot.joint_index(name)

    def getFrameIndex(self, name: str) -> int:
        """Index of a frame."""
        return self._robot.frame_index(name)

    def isLinkNameUsed(self, name: str) -> bool:
        """Whether a link has this name."""
        return name in self._robot.link_names

    def isJointNameUsed(self, name: str) -> bool:
        """Whether a joint has this name."""
        return name in self._robot.joint_names

    def isFrameNameUsed(self, name: str) -> bool:
        """Whether a link or an additional frame has this name."""
        return name in self._robot.frame_names

    def isValidLinkIndex(self, link: int) -> bool:
        """Whether there is a link of this index."""
        return 0 <= link < self.getNrOfLinks()

    def isValidJointIndex(self, joint: int) -> bool:
        """Whether there is a joint of this index."""
        return 0 <= joint < self.getNrOfJoints()

    def isValidFrameIndex(self, frame: int) -> bool:
        """Whether there is a frame of this index."""
        return 0 <= frame < self.getNrOfFrames()

    def getLink(self, link: int) -> Link:
        """A link."""
        self.getLinkName(link)
        return Link(self._robot, link)

    def getJoint(self, joint: int) -> IJoint:
        """A joint."""
        self.getJointName(joint)
        return IJoint(self._robot, joint)

    def getFrameLink(self, frame: int) -> int:
        """Index of the link that a frame is fixed to."""
        return self._robot.link_index(self._robot.frame(self.getFrameName(frame)).link)

    def getFrameTransform(self, frame: int) -> Transform:
        """Pose of a frame in its link."""
        return made(Transform, self._robot.frame(self.getFrameName(frame)).link_H_frame.matrix())

    def getLinkAdditionalFrames(self, link: int, out: list[int] | None = None) -> Any:
        """Indices of the additional frames of a link.

        Returns:
            the indices; or True, if there is a list `out` to put them in.
        """
        name, first = self.getLinkName(link), self.getNrOfLinks()
        found = [n for n, frame in enumerate(self._robot.frames, first) if frame.link == name]
        if out is None:
            return found
        out[:] = found
        return True

    def getNrOfNeighbors(self, link: int) -> int:
        """How many joints a link has."""
        return len(self._robot.neighbors(self.getLinkName(link)))

    def getNeighbor(self, link: int, number: int) -> Neighbor:
        """A link next to a link, in the order of the joints between them."""
        neighbors = self._robot.neighbors(self.getLinkName(link))
        if not 0 <= number < len(neighbors):
            text = f"neighbor {number}: link {self.getLinkName(link)!r} has {len(neighbors)}"
            raise ValueRangeError(text)
        other, joint = neighbors[number]
        return Neighbor(self._robot.link_index(other), self._robot.joint_index(joint))

    def getDefaultBaseLink(self) -> int:
        """Index of the default base."""
        return self._robot.link_index(self._base)

    def setDefaultBaseLink(self, link: int) -> bool:
        """Make another link the default base."""
        self._base = self.getLinkName(link)
        return True

    def computeFullTreeTraversal(self, traversal: Traversal, base: int | None = None) -> bool:
        """Walk over all links from a base, the default one if not given."""
        traversal.fill(self._robot, self._base if base is None else self.getLinkName(base))
        return True

    def getTotalMass(self) -> float:
        """Mass of the robot [kg]."""
        return self._robot.total_mass

    def getInertialParameters(self, out: Any = None) -> Any:
        """For each link m, m c, and ixx, ixy, ixz, iyy, iyz, izz about its origin.

        Returns:
            (10 links,); or True, if there is an array `out` to write to.
        """
        each = [link.inertia.parameters() for link in self._robot.links]
        return give_vector(np.concatenate(each), out)

    def updateInertialParameters(self, parameters: ArrayLike) -> bool:
        """Give the links other inertias, as `getInertialParameters` lists them."""
        numbers = as_floats(parameters, "parameters")
        if numbers.shape != (10 * self.getNrOfLinks(),):
            text = f"parameters: expected {(10 * self.getNrOfLinks(),)}, got {numbers.shape}"
            raise ShapeError(text)
        rows = numbers.reshape(-1, 10)
        links = [
            replace(link, inertia=from_parameters(row))
            for link, row in zip(self._robot.links, rows, strict=True)
        ]
        self._robot = replace(self._robot, links=tuple(links))
        return True

    def addAdditionalFrameToLink(self, link: str, name: str, link_H_frame: ArrayLike) -> bool:
        """Fix a further frame to a link."""
        self._robot.link_index(link)
        self._robot = with_frame(self._robot, name, link, np.array(link_H_frame, subok=False))
        return True


def at(what: str, names: Sequence[str], index: int) -> str:
    """The name at an index, or an error that says how many there are."""
    try:
        place = as_index(index)
    except TypeError:
        raise ArgumentError(f"{what}: expected an index, got {shown(index)}") from None
    if not 0 <= place < len(names):
        raise ValueRangeError(f"{what} index {place}: there are {len(names)}, from 0")
    return names[place]
