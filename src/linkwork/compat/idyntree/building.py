"""The parts of a robot that can still grow, under the names with which iDynTree adds them.

The links need not hang together before the robot is used: `robot` checks that they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

import linkwork.model.model as described
from linkwork.compat.idyntree.joints import IJoint
from linkwork.compat.idyntree.parts import Link
from linkwork.compat.idyntree.records import JointRecord, record_of
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, model_error, name_not_found, shown
from linkwork.model import parts
from linkwork.model.geometry import Shape
from linkwork.model.inertia import Inertia, from_parameters
from linkwork.model.pose import as_pose

NAME = "iDynTree model"  # of robots that were built, as iDynTree gives them none


class ModelParts:
    """Links, joints and frames as lists."""

    def __init__(self) -> None:
        self._name, self._base = NAME, ""
        self._links: list[parts.Link] = []
        self._joints: list[JointRecord] = []
        self._frames: list[parts.Frame] = []
        self._packages: tuple[str, ...] = ()
        self._robot: described.Model | None = None

    @property
    def robot(self) -> described.Model:
        """The robot as a `linkwork.Model`.

        Raises:
            ModelError: there are no links yet, or they do not form a tree.
        """
        if self._robot is None:
            self._robot = described.Model(
                name=self._name,
                links=tuple(self._links),
                joints=tuple(record.described() for record in self._joints),
                frames=tuple(self._frames),
            )
        return self._robot

    @property
    def joint_records(self) -> Sequence[JointRecord]:
        """The joints as they are kept."""
        return self._joints

    def set_joint_record(self, index: int, record: JointRecord) -> None:
        """Change a joint."""
        self._joints[index], self._robot = record, None

    @property
    def link_records(self) -> Sequence[parts.Link]:
        """The links as they are kept."""
        return self._links

    def set_link_shapes(
        self, kind: Literal["visuals", "collisions"], index: int, shapes: Sequence[Shape]
    ) -> None:
        """Change the visual or the collision shapes of a link."""
        changes: dict[str, Any] = {kind: tuple(shapes)}
        self._links[index], self._robot = replace(self._links[index], **changes), None

    def link_inertia(self, index: int) -> Inertia:
        """Inertia of a link."""
        return self._links[index].inertia

    def set_link_inertia(self, index: int, parameters: Array) -> None:
        """Change the inertia of a link."""
        self._links[index] = replace(self._links[index], inertia=from_parameters(parameters))
        self._robot = None

    def addLink(self, name: str, link: Link) -> int:
        """Add a link; the first one is the default base.

        Returns:
            its index.

        Raises:
            ModelError: a link or a frame has this name already.
        """
        if not isinstance(link, Link):
            raise ArgumentError(f"link: expected a Link, got {shown(link)}")
        self._check_new("link", name, self._frame_names())
        inertia = from_parameters(link.getInertia().asVector().toNumPy())
        self._links.append(parts.Link(name=name, inertia=inertia))
        self._base, self._robot = self._base or name, None
        return len(self._links) - 1

    def addJoint(self, *names_and_joint: Any) -> int:
        """Add a joint between two links that there are.

        Args:
            names_and_joint: name and joint, which knows its links by index; or the names of the
                first link, the second link and the joint, and the joint.

        Returns:
            its index.

        Raises:
            ModelError: a joint has this name already.
        """
        if len(names_and_joint) == 4:
            first, second, name, joint = names_and_joint
            return self._add_joint(name, joint, first, second)
        if len(names_and_joint) != 2:
            text = f"addJoint: expected 2 or 4 arguments, got {len(names_and_joint)}"
            raise ArgumentError(text)
        name, joint = names_and_joint
        _check_joint(joint)
        links = self._link_names()
        ends = (joint.getFirstAttachedLink(), joint.getSecondAttachedLink())
        for end in ends:
            if not 0 <= end < len(links):
                raise model_error(f"link index {end}: there are {len(links)}", f"joint {name!r}")
        return self._add_joint(name, joint, links[ends[0]], links[ends[1]])

    def addJointAndLink(
        self, existingLink: str, jointName: str, joint: IJoint, newLinkName: str, newLink: Link
    ) -> int:
        """Add a link, and the joint by which it hangs on a link that there is.

        Returns:
            index of the joint.
        """
        _check_joint(joint)
        self._check_link(existingLink)
        self._check_new("joint", jointName, self._joint_names())
        self.addLink(newLinkName, newLink)
        return self._add_joint(jointName, joint, existingLink, newLinkName)

    def addAdditionalFrameToLink(
        self, linkName: str, frameName: str, link_H_frame: ArrayLike
    ) -> bool:
        """Fix a further frame to a link."""
        self._check_link(linkName)
        self._check_new("frame", frameName, self._frame_names())
        pose = as_pose(np.array(link_H_frame, subok=False), "link_H_frame")
        self._frames.append(parts.Frame(name=frameName, link=linkName, link_H_frame=pose))
        self._robot = None
        return True

    def take(self, robot: described.Model, base: str) -> None:
        """Become a robot."""
        robot.link_index(base)
        self._name, self._base, self._robot = robot.name, base, robot
        self._links, self._frames = [*robot.links], [*robot.frames]
        self._joints = [record_of(joint) for joint in robot.joints]

    def _add_joint(self, name: str, joint: IJoint, first: str, second: str) -> int:
        _check_joint(joint)
        self._check_link(first)
        self._check_link(second)
        self._check_new("joint", name, self._joint_names())
        record = joint.record
        placed = replace(record.joint, name=name, first=first, second=second, place=None)
        self._joints.append(replace(record, joint=placed))
        self._robot = None
        return len(self._joints) - 1

    def _link_names(self) -> list[str]:
        return [link.name for link in self._links]

    def _joint_names(self) -> list[str]:
        return [record.joint.name for record in self._joints]

    def _frame_names(self) -> list[str]:
        return [*self._link_names(), *(frame.name for frame in self._frames)]

    def _check_link(self, name: str) -> None:
        if name not in self._link_names():
            raise name_not_found("link", name, self._link_names())

    def _check_new(self, what: str, name: str, names: Sequence[str]) -> None:
        if name in names:
            raise model_error("the name is used already", f"{what} {name!r}")


def _check_joint(joint: object) -> None:
    if not isinstance(joint, IJoint):
        raise ArgumentError(f"joint: expected an IJoint, got {shown(joint)}")
