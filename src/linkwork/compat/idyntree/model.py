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
from linkwork.compat.idyntree.arrays import made
from linkwork.compat.idyntree.building import ModelParts
from linkwork.compat.idyntree.joint_classes import joint_of
from linkwork.compat.idyntree.joints import IJoint
from linkwork.compat.idyntree.outputs import give_vector
from linkwork.compat.idyntree.parts import Link, Neighbor
from linkwork.compat.idyntree.poses import Transform
from linkwork.compat.idyntree.shapes import ModelSolidShapes
from linkwork.compat.idyntree.traversal import Traversal
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    ArgumentError,
    LinkworkError,
    ShapeError,
    ValueRangeError,
    name_not_found,
    shown,
)
from linkwork.model.inertia import from_parameters
from linkwork.model.parts import Frame
from linkwork.model.pose import as_floats


class Model(ModelParts):
    """A robot, and the link that is its base unless another one is asked for.

    Args:
        robot: a `linkwork.Model`, whose links, joints and frames keep their order, or another of
            these. Without it there are no links yet; `addLink` adds some. `ModelLoader` makes one
            in the order of iDynTree.
        base: its default base; that of the robot if not given.
    """

    def __init__(
        self, robot: described.Model | Model | None = None, base: str | None = None
    ) -> None:
        super().__init__()
        if isinstance(robot, Model):
            self.become(robot)
        elif isinstance(robot, described.Model):
            self.take(robot, base or robot.default_base)
        elif robot is not None:
            raise ArgumentError(f"robot: expected a linkwork.Model, got {shown(robot)}")
        if base is not None:
            self._base = self.getLinkName(self.getLinkIndex(base))

    def __repr__(self) -> str:
        counts = f"{self.getNrOfLinks()} links, {self.getNrOfJoints()} joints"
        return (
            f"<Model {self._name!r}: {counts}, {self.getNrOfFrames()} frames, base {self._base!r}>"
        )

    def copy(self) -> Model:
        """Another model of the same robot."""
        return Model(self)

    def become(self, other: Model) -> None:
        """Take over the robot of another one, which can be changed independently afterwards."""
        lists = ("_links", "_joints", "_frames")
        self.__dict__.update(other.__dict__ | {name: [*other.__dict__[name]] for name in lists})

    def isValid(self) -> bool:
        """Whether the links and joints form a tree; so does nothing at all."""
        try:
            return not self._links or bool(self.robot.links)
        except LinkworkError:
            return False

    def toString(self) -> str:
        """Links, frames and joints as a text."""
        links, joints = self._link_names(), [record.joint for record in self._joints]
        lines = ["Model:", "  Links:"]
        lines += [f"    [{number}] {name}" for number, name in enumerate(links)]
        lines += ["  Frames:"]
        lines += [
            f"    [{n}] {f.name} --> {f.link}" for n, f in enumerate(self._frames, len(links))
        ]
        lines += ["  Joints:"]
        lines += [
            f"    [{number}] {joint.name} (dofs: {joint.nv}) : {joint.first}<-->{joint.second}"
            for number, joint in enumerate(joints)
        ]
        return "\n".join(lines) + "\n"

    def getPackageDirs(self) -> tuple[str, ...]:
        """Folders in which meshes are looked for."""
        return self._packages

    def setPackageDirs(self, packageDirs: Sequence[str]) -> None:
        """Set the folders in which meshes are looked for; linkwork looks when it loads."""
        self._packages = tuple(packageDirs)

    def getNrOfLinks(self) -> int:
        """How many links there are."""
        return len(self._links)

    def getNrOfJoints(self) -> int:
        """How many joints there are, fixed ones too."""
        return len(self._joints)

    def getNrOfFrames(self) -> int:
        """How many frames there are, those of the links too."""
        return len(self._links) + len(self._frames)

    def getNrOfDOFs(self) -> int:
        """Length of the joint velocities."""
        return sum(record.joint.nv for record in self._joints)

    def getNrOfPosCoords(self) -> int:
        """Length of the joint positions."""
        return sum(record.joint.nq for record in self._joints)

    def getLinkName(self, linkIndex: int) -> str:
        """Name of a link."""
        return at("link", self._link_names(), linkIndex)

    def getJointName(self, index: int) -> str:
        """Name of a joint."""
        return at("joint", self._joint_names(), index)

    def getFrameName(self, frameIndex: int) -> str:
        """Name of a frame."""
        return at("frame", self._frame_names(), frameIndex)

    def getLinkIndex(self, linkName: str) -> int:
        """Index of a link."""
        return _index("link", linkName, self._link_names())

    def getJointIndex(self, jointName: str) -> int:
        """Index of a joint."""
        return _index("joint", jointName, self._joint_names())

    def getFrameIndex(self, frameName: str) -> int:
        """Index of a frame."""
        return _index("frame", frameName, self._frame_names())

    def isLinkNameUsed(self, linkName: str) -> bool:
        """Whether a link has this name."""
        return linkName in self._link_names()

    def isJointNameUsed(self, jointName: str) -> bool:
        """Whether a joint has this name."""
        return jointName in self._joint_names()

    def isFrameNameUsed(self, frameName: str) -> bool:
        """Whether a link or an additional frame has this name."""
        return frameName in self._frame_names()

    def isValidLinkIndex(self, index: int) -> bool:
        """Whether there is a link of this index."""
        return 0 <= index < self.getNrOfLinks()

    def isValidJointIndex(self, index: int) -> bool:
        """Whether there is a joint of this index."""
        return 0 <= index < self.getNrOfJoints()

    def isValidFrameIndex(self, index: int) -> bool:
        """Whether there is a frame of this index."""
        return 0 <= index < self.getNrOfFrames()

    def getLink(self, linkIndex: int) -> Link:
        """A link of the robot."""
        self.getLinkName(linkIndex)
        return Link.of(self, linkIndex)

    def getJoint(self, index: int) -> IJoint:
        """A joint of the robot."""
        self.getJointName(index)
        return joint_of(self, index)

    def getFrameLink(self, frameIndex: int) -> int:
        """Index of the link that a frame is fixed to."""
        return self.getLinkIndex(self._frame(frameIndex).link)

    def getFrameTransform(self, frameIndex: int) -> Transform:
        """Pose of a frame in its link."""
        return made(Transform, self._frame(frameIndex).link_H_frame.matrix())

    def getLinkAdditionalFrames(self, lnkIndex: int, frameIndeces: list[int] | None = None) -> Any:
        """Indices of the additional frames of a link.

        Returns:
            the indices; or True, if there is a list to put them in.
        """
        name, first = self.getLinkName(lnkIndex), self.getNrOfLinks()
        found = [n for n, frame in enumerate(self._frames, first) if frame.link == name]
        if frameIndeces is None:
            return found
        frameIndeces[:] = found
        return True

    def getNrOfNeighbors(self, link: int) -> int:
        """How many joints a link has."""
        return len(self._neighbors(self.getLinkName(link)))

    def getNeighbor(self, link: int, neighborIndex: int) -> Neighbor:
        """A link next to a link, in the order of the joints between them."""
        name = self.getLinkName(link)
        neighbors = self._neighbors(name)
        if not 0 <= neighborIndex < len(neighbors):
            text = f"neighbor {neighborIndex}: link {name!r} has {len(neighbors)}"
            raise ValueRangeError(text)
        return neighbors[neighborIndex]

    def getDefaultBaseLink(self) -> int:
        """Index of the default base; -1 if there is no link."""
        return self.getLinkIndex(self._base) if self._base else -1

    def setDefaultBaseLink(self, linkIndex: int) -> bool:
        """Make another link the default base."""
        self._base = self.getLinkName(linkIndex)
        return True

    def computeFullTreeTraversal(self, traversal: Traversal, base: int | None = None) -> bool:
        """Walk over all links from a base, the default one if not given."""
        traversal.fill(self, self._base if base is None else self.getLinkName(base))
        return True

    def visualSolidShapes(self) -> ModelSolidShapes:
        """Shapes that a viewer draws; changes to them change the robot."""
        return ModelSolidShapes(self, "visuals")

    def collisionSolidShapes(self) -> ModelSolidShapes:
        """Shapes that a collision checker tests; changes to them change the robot."""
        return ModelSolidShapes(self, "collisions")

    def getTotalMass(self) -> float:
        """Mass of the robot [kg]."""
        return float(np.sum([link.inertia.mass for link in self._links]))

    def getInertialParameters(self, modelInertialParams: Any = None) -> Any:
        """For each link m, m c, and ixx, ixy, ixz, iyy, iyz, izz about its origin.

        Returns:
            (10 links,); or True, if there is an array to write to.
        """
        each = [link.inertia.parameters() for link in self._links]
        return give_vector(np.concatenate([np.zeros(0), *each]), modelInertialParams)

    def updateInertialParameters(self, modelInertialParams: ArrayLike) -> bool:
        """Give the links other inertias, as `getInertialParameters` lists them."""
        numbers = as_floats(modelInertialParams, "parameters")
        if numbers.shape != (10 * self.getNrOfLinks(),):
            text = f"parameters: expected {(10 * self.getNrOfLinks(),)}, got {numbers.shape}"
            raise ShapeError(text)
        rows: Array = numbers.reshape(-1, 10)
        self._links = [
            replace(link, inertia=from_parameters(row))
            for link, row in zip(self._links, rows, strict=True)
        ]
        self._robot = None
        return True

    def _frame(self, index: int) -> Frame:
        name, additional = self.getFrameName(index), as_index(index) - len(self._links)
        return self._frames[additional] if additional >= 0 else Frame(name=name, link=name)

    def _neighbors(self, name: str) -> list[Neighbor]:
        found: list[Neighbor] = []
        for number, record in enumerate(self._joints):
            ends = (record.joint.first, record.joint.second)
            if name in ends:
                other = ends[1] if name == ends[0] else ends[0]
                found.append(Neighbor(self.getLinkIndex(other), number))
        return found


def at(what: str, names: Sequence[str], index: int) -> str:
    """The name at an index, or an error that says how many there are."""
    try:
        number = as_index(index)
    except TypeError:
        raise ArgumentError(f"{what}: expected an index, got {shown(index)}") from None
    if not 0 <= number < len(names):
        raise ValueRangeError(f"{what} index {number}: there are {len(names)}, from 0")
    return names[number]


def _index(what: str, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise name_not_found(what, name, names)
    return names.index(name)
