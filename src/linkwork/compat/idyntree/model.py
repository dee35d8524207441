"""A robot as iDynTree's `Model`: links, joints and frames by index and by name.

Indices   of links and joints from 0; frames have the indices of links, then additional ones
Errors    a name or an index that the robot does not have is -1, an empty name or False, with a
          warning, where iDynTree returns these; otherwise it raises
Checks    whether the links form a tree is checked when the robot is used
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import index as as_index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import linkwork.model.model as described
from linkwork.compat.idyntree.arrays import VectorDynSize, array_of, result
from linkwork.compat.idyntree.geometry import Transform
from linkwork.compat.idyntree.joints import IJoint, joint_of
from linkwork.compat.idyntree.links import Link, Traversal
from linkwork.compat.idyntree.records import JointRecord, ModelRecords, index_of, name_at
from linkwork.compat.idyntree.shapes import ModelSolidShapes
from linkwork.compat.idyntree.statuses import status, success
from linkwork.errors import (
    ArgumentError,
    LinkworkError,
    ShapeError,
    model_error,
    shown,
)
from linkwork.model import parts
from linkwork.model.inertia import from_parameters
from linkwork.model.numbers import argument
from linkwork.model.pose import as_floats, as_pose


class Model(ModelRecords):
    """A robot, and the link that is its default base.

    Args:
        robot: a `linkwork.Model`, whose links, joints and frames keep their order, or another
            model of this class. If not given, there are no links yet; `addLink` adds them.
            `ModelLoader` loads a robot in the order of iDynTree.
        base: the default base; that of the robot if not given.
    """

    def __init__(
        self, robot: described.Model | Model | None = None, base: str | None = None
    ) -> None:
        super().__init__()
        if isinstance(robot, Model):
            self.copy_from(robot)
        elif isinstance(robot, described.Model):
            self.set_robot(robot, base or robot.default_base)
        elif robot is not None:
            raise ArgumentError(f"robot: expected a linkwork.Model, got {shown(robot)}")
        if base is not None:
            self._base = self.link_name(self.link_index(base))

    def __repr__(self) -> str:
        counts = f"{self.getNrOfLinks()} links, {self.getNrOfJoints()} joints"
        return (
            f"<Model {self._name!r}: {counts}, {self.getNrOfFrames()} frames, base {self._base!r}>"
        )

    def copy(self) -> Model:
        """Return another model of the same robot."""
        return Model(self)

    def copy_from(self, other: Model) -> None:
        """Copy the robot of another model, which can be changed independently afterwards."""
        lists = ("_links", "_joints", "_frames")
        vars(self).update(vars(other) | {name: [*vars(other)[name]] for name in lists})

    def set_robot(self, robot: described.Model, base: str) -> None:
        """Set the robot and its default base."""
        robot.link_index(base)
        self._name, self._base, self._robot = robot.name, base, robot
        self._links, self._frames = [*robot.links], [*robot.frames]
        self._joints = [JointRecord.of(joint) for joint in robot.joints]

    def isValid(self) -> bool:
        """Return whether the links and joints form a tree; True if there are no links."""
        try:
            return not self._links or bool(self.robot.links)
        except LinkworkError:
            return False

    def toString(self) -> str:
        """Format links, frames and joints."""
        links, joints = self._link_names(), [record.joint for record in self._joints]
        lines = ["Model:", "  Links:"]
        lines += [f"    [{index}] {name}" for index, name in enumerate(links)]
        lines += ["  Frames:"]
        lines += [
            f"    [{n}] {f.name} --> {f.link}" for n, f in enumerate(self._frames, len(links))
        ]
        lines += ["  Joints:"]
        lines += [
            f"    [{index}] {joint.name} (dofs: {joint.nv}) : {joint.first}<-->{joint.second}"
            for index, joint in enumerate(joints)
        ]
        return "\n".join(lines) + "\n"

    @status("")
    def getJointName(self, index: int) -> str:
        """Return the name of a joint."""
        return name_at("joint", self._joint_names(), index)

    @status("")
    def getFrameName(self, frameIndex: int) -> str:
        """Return the name of a frame."""
        return self.frame_name(frameIndex)

    @status(-1)
    def getJointIndex(self, jointName: str) -> int:
        """Return the index of a joint."""
        return index_of("joint", jointName, self._joint_names())

    @status(-1)
    def getFrameIndex(self, frameName: str) -> int:
        """Return the index of a frame."""
        return index_of("frame", frameName, self._frame_names())

    def isValidLinkIndex(self, index: int) -> bool:
        """Return whether there is a link of this index."""
        return 0 <= index < self.getNrOfLinks()

    def getLink(self, linkIndex: int) -> Link:
        """Return a link of the robot."""
        self.link_name(linkIndex)  # raises if there is no such link
        return Link.of(self, linkIndex)

    def getJoint(self, index: int) -> IJoint:
        """Return a joint of the robot."""
        return joint_of(self, index)

    @status(-1)
    def getFrameLink(self, frameIndex: int) -> int:
        """Return the index of the link that a frame is fixed to."""
        return self.link_index(self._frame(frameIndex).link)

    def getFrameTransform(self, frameIndex: int) -> Transform:
        """Return the pose of a frame in its link."""
        return array_of(Transform, self._frame(frameIndex).link_H_frame.matrix())

    @status(False, output="frameIndeces")
    def getLinkAdditionalFrames(self, lnkIndex: int, frameIndeces: list[int] | None = None) -> Any:
        """Return the indices of the additional frames of a link.

        Returns:
            The indices; or True, if a list for them was passed.
        """
        name, first = self.link_name(lnkIndex), self.getNrOfLinks()
        indices = [n for n, frame in enumerate(self._frames, first) if frame.link == name]
        if frameIndeces is None:
            return indices
        frameIndeces[:] = indices
        return True

    def getDefaultBaseLink(self) -> int:
        """Return the index of the default base; -1 if there is no link."""
        return self.link_index(self._base) if self._base else -1

    @success
    def setDefaultBaseLink(self, linkIndex: int) -> None:
        """Set another link as the default base."""
        self._base = self.link_name(linkIndex)

    @success
    def computeFullTreeTraversal(self, traversal: Traversal, base: int | None = None) -> None:
        """Visit all links, starting at a base; the default base if not given."""
        traversal.fill(self, self._base if base is None else self.link_name(base))

    @status(-1)
    def addLink(self, name: str, link: Link) -> int:
        """Add a link; the first one is the default base.

        Returns:
            The index of the link.

        Raises:
            ModelError: a link or frame of this name exists already.
        """
        argument(link, Link, "link")
        self._check_new("link", name, self._frame_names())
        inertia = from_parameters(link.getInertia().asVector().toNumPy())
        self._links.append(parts.Link(name=name, inertia=inertia))
        self._base, self._robot = self._base or name, None
        return len(self._links) - 1

    @status(-1)
    def addJoint(self, *names_and_joint: Any) -> int:
        """Add a joint between two links of the robot.

        Args:
            names_and_joint: name and joint, which has the indices of its links; or the names of the
                first link, the second link and the joint, and the joint.

        Returns:
            The index of the joint.

        Raises:
            ModelError: a joint of this name exists already.
        """
        if len(names_and_joint) == 4:
            first, second, name, joint = names_and_joint
            return self._add_joint(name, joint, first, second)
        if len(names_and_joint) != 2:
            message = f"addJoint: expected 2 or 4 arguments, got {len(names_and_joint)}"
            raise ArgumentError(message)
        name, joint = names_and_joint
        argument(joint, IJoint, "joint")
        links = self._link_names()
        ends = (joint.getFirstAttachedLink(), joint.getSecondAttachedLink())
        for end in ends:
            if not self.isValidLinkIndex(end):
                message = f"link index {end}: expected 0 to {len(links) - 1}"
                raise model_error(message, f"joint {name!r}")
        return self._add_joint(name, joint, links[ends[0]], links[ends[1]])

    @status(-1)
    def addJointAndLink(
        self, existingLink: str, jointName: str, joint: IJoint, newLinkName: str, newLink: Link
    ) -> int:
        """Add a link, and the joint that connects it to a link of the robot.

        Returns:
            The index of the joint.
        """
        argument(joint, IJoint, "joint")
        self.link_index(existingLink)  # raises if it does not exist
        self._check_new("joint", jointName, self._joint_names())
        self.addLink(newLinkName, newLink)
        return self._add_joint(jointName, joint, existingLink, newLinkName)

    @success
    def addAdditionalFrameToLink(
        self, linkName: str, frameName: str, link_H_frame: ArrayLike
    ) -> None:
        """Add a frame fixed to a link."""
        self.link_index(linkName)  # raises if it does not exist
        self._check_new("frame", frameName, self._frame_names())
        pose = as_pose(np.array(link_H_frame, subok=False), "link_H_frame")
        self._frames.append(parts.Frame(name=frameName, link=linkName, link_H_frame=pose))
        self._robot = None

    def visualSolidShapes(self) -> ModelSolidShapes:
        """Return the visual shapes; changes to them change the robot."""
        return ModelSolidShapes(self, "visuals")

    def collisionSolidShapes(self) -> ModelSolidShapes:
        """Return the collision shapes; changes to them change the robot."""
        return ModelSolidShapes(self, "collisions")

    def getTotalMass(self) -> float:
        """Return the mass of the robot [kg]."""
        return float(np.sum([link.inertia.mass for link in self._links]))

    def getInertialParameters(self, modelInertialParams: Any = None) -> Any:
        """For each link m, m c, and ixx, ixy, ixz, iyy, iyz, izz about its origin.

        Returns:
            (10 links,); or True, if an array to write to was passed.
        """
        parameters = [link.inertia.parameters() for link in self._links]
        return result(
            np.concatenate([np.zeros(0), *parameters]), modelInertialParams, VectorDynSize
        )

    @success
    def updateInertialParameters(self, modelInertialParams: ArrayLike) -> None:
        """Set the inertias of all links, in the order of `getInertialParameters`."""
        parameters = as_floats(modelInertialParams, "parameters")
        if parameters.shape != (10 * self.getNrOfLinks(),):
            message = f"parameters: expected {(10 * self.getNrOfLinks(),)}, got {parameters.shape}"
            raise ShapeError(message)
        for index, row in enumerate(parameters.reshape(-1, 10)):
            record = replace(self._links[index], inertia=from_parameters(row))
            self.set_link_record(index, record)

    def _add_joint(self, name: str, joint: IJoint, first: str, second: str) -> int:
        argument(joint, IJoint, "joint")
        self.link_index(first)  # raises if it does not exist
        self.link_index(second)
        self._check_new("joint", name, self._joint_names())
        mounted = replace(joint.record.joint, name=name, first=first, second=second, location=None)
        self._joints.append(replace(joint.record, joint=mounted))
        self._robot = None
        return len(self._joints) - 1

    def _check_new(self, kind: str, name: str, names: Sequence[str]) -> None:
        if name in names:
            raise model_error("the name is already in use", f"{kind} {name!r}")

    def _frame(self, index: int) -> parts.Frame:
        name, additional = self.frame_name(index), as_index(index) - len(self._links)
        return self._frames[additional] if additional >= 0 else parts.Frame(name=name, link=name)
