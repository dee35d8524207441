"""The data of a robot of iDynTree: links, joints and frames as they are stored, by index and name.

`Model` adds iDynTree's other methods. Joints, links and shapes that belong to a model read and
change its records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from operator import index as as_index

import linkwork.model.model as described
from linkwork.compat.idyntree.statuses import Partial, status
from linkwork.errors import ArgumentError, ValueRangeError, name_not_found, shown
from linkwork.model import parts
from linkwork.model.parts import Joint

NAME = "iDynTree model"  # name of robots built here; they have no name in iDynTree


@dataclass(frozen=True)
class JointRecord:
    """A `linkwork.Joint`, the limits of its position, and whether they are enabled."""

    joint: Joint  # unlimited while they are disabled
    limits: tuple[float, float]
    enabled: bool

    @classmethod
    def of(cls, joint: Joint) -> JointRecord:
        """Return the record of a joint, with finite limits enabled."""
        limits = (joint.limits.lower, joint.limits.upper)
        return cls(joint, limits, any(map(isfinite, limits)))

    def with_limits(self, limits: tuple[float, float], *, enabled: bool) -> JointRecord:
        """Return the record with other limits."""
        lower, upper = limits if enabled else (-inf, inf)
        joint_limits = replace(self.joint.limits, lower=lower, upper=upper)
        return JointRecord(replace(self.joint, limits=joint_limits), limits, enabled)


class ModelRecords(Partial):
    """Links, joints and frames of a robot, and its default base; initially none."""

    def __init__(self) -> None:
        self._name, self._base = NAME, ""
        self._links: list[parts.Link] = []
        self._joints: list[JointRecord] = []
        self._frames: list[parts.Frame] = []
        self._robot: described.Model | None = None  # None: not built from the lists yet

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
                joints=tuple(record.joint for record in self._joints),
                frames=tuple(self._frames),
            )
        return self._robot

    @property
    def joint_records(self) -> Sequence[JointRecord]:
        """The joints, as stored."""
        return self._joints

    def set_joint_record(self, index: int, record: JointRecord) -> None:
        """Change a joint."""
        self._joints[index], self._robot = record, None

    @property
    def link_records(self) -> Sequence[parts.Link]:
        """The links, as stored."""
        return self._links

    def set_link_record(self, index: int, record: parts.Link) -> None:
        """Change a link."""
        self._links[index], self._robot = record, None

    def link_name(self, index: int) -> str:
        """Return the name of a link; raise if there is no such link."""
        return name_at("link", self._link_names(), index)

    def link_index(self, name: str) -> int:
        """Return the index of a link; raise if there is no such link."""
        return index_of("link", name, self._link_names())

    def frame_name(self, index: int) -> str:
        """Return the name of a frame; raise if there is no such frame."""
        return name_at("frame", self._frame_names(), index)

    def getNrOfLinks(self) -> int:
        """Return the number of links."""
        return len(self._links)

    def getNrOfJoints(self) -> int:
        """Return the number of joints, including fixed ones."""
        return len(self._joints)

    def getNrOfFrames(self) -> int:
        """Return the number of frames, including those of links."""
        return len(self._links) + len(self._frames)

    def getNrOfDOFs(self) -> int:
        """Return the length of the joint velocities."""
        return sum(record.joint.nv for record in self._joints)

    def getNrOfPosCoords(self) -> int:
        """Return the length of the joint positions."""
        return sum(record.joint.nq for record in self._joints)

    @status("")
    def getLinkName(self, linkIndex: int) -> str:
        """Return the name of a link."""
        return self.link_name(linkIndex)

    @status(-1)
    def getLinkIndex(self, linkName: str) -> int:
        """Return the index of a link."""
        return self.link_index(linkName)

    def _link_names(self) -> list[str]:
        return [link.name for link in self._links]

    def _joint_names(self) -> list[str]:
        return [record.joint.name for record in self._joints]

    def _frame_names(self) -> list[str]:
        return [*self._link_names(), *(frame.name for frame in self._frames)]


def name_at(kind: str, names: Sequence[str], index: int) -> str:
    """Return the name at an index; raise if the index is out of range."""
    try:
        integer = as_index(index)
    except TypeError:
        raise ArgumentError(f"{kind}: expected an index, got {shown(index)}") from None
    if not 0 <= integer < len(names):
        message = f"{kind} index {integer}: out of range, there are {len(names)}"
        raise ValueRangeError(message)
    return names[integer]


def index_of(kind: str, name: str, names: Sequence[str]) -> int:
    """Return the index of a name; raise if there is no such name."""
    if name not in names:
        raise name_not_found(kind, name, names)
    return names.index(name)
