"""Joints under iDynTree's names: those of a robot, and those that are to be added to one.

Links     by index; the motion is that of `child` relative to `parent`, whichever is the first
Robot     a joint of `model.getJoint` belongs to the robot: what is set changes the robot
Errors    a link or a coordinate that the joint does not have raises
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import made
from linkwork.compat.idyntree.joint_bounds import JointBounds
from linkwork.compat.idyntree.outputs import give_matrix
from linkwork.compat.idyntree.poses import Transform
from linkwork.compat.idyntree.records import JointRecord, neutral
from linkwork.compat.idyntree.vectors import SpatialMotionVector
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ValueRangeError
from linkwork.model.joint_motion import (
    child_H_parent,
    motion_subspace,
    neutral_transform,
    position_jacobian,
)
from linkwork.model.parts import Joint
from linkwork.model.pose import as_floats, as_pose
from linkwork.spatial import se3

if TYPE_CHECKING:
    from typing_extensions import Self

    from linkwork.compat.idyntree.model import Model

UNKNOWN_LINK = -1


class IJoint(JointBounds):
    """A joint. `FixedJoint`, `RevoluteJoint`, `PrismaticJoint` and `SphericalJoint` make one."""

    KIND: ClassVar[str] = ""

    def __init__(self) -> None:
        if not self.KIND:
            text = "IJoint: make a FixedJoint, RevoluteJoint, PrismaticJoint or SphericalJoint"
            raise ArgumentError(text)
        axis = (1.0, 0.0, 0.0)  # iDynTree's, until it is set
        self._own = JointRecord(
            Joint(name="joint", kind=self.KIND, first="first", second="second", axis=axis)
        )
        self._links = (UNKNOWN_LINK, UNKNOWN_LINK)
        self._index = -1
        self._model: Model | None = None

    @classmethod
    def of(cls, model: Model, index: int) -> Self:
        """The joint of a robot at an index."""
        self = cls.__new__(cls)
        self._model, self._index = model, index
        return self

    @property
    def _record(self) -> JointRecord:
        return self._own if self._model is None else self._model.joint_records[self._index]

    @_record.setter
    def _record(self, record: JointRecord) -> None:
        if self._model is None:
            self._own = record
        else:
            self._model.set_joint_record(self._index, record)

    @property
    def record(self) -> JointRecord:
        """The joint as it is kept."""
        return self._record

    @property
    def _joint(self) -> Joint:
        return self._record.joint

    def __repr__(self) -> str:
        name = "" if self._model is None else f" {self._joint.name!r}"
        links = f"{self.getFirstAttachedLink()} and {self.getSecondAttachedLink()}"
        return f"<{type(self).__name__}{name} between links {links}>"

    def clone(self) -> Self:
        """The same joint, belonging to no robot."""
        twin = type(self).__new__(type(self))
        twin._model = None
        joint = replace(self._joint, name="joint", first="first", second="second", place=None)
        twin._own = replace(self._record, joint=joint)
        twin._links = (self.getFirstAttachedLink(), self.getSecondAttachedLink())
        twin._index = self._index
        return twin

    def getIndex(self) -> int:
        """Index of the joint in its robot; -1 if it has none."""
        return self._index

    def getNrOfDOFs(self) -> int:
        """How many velocity coordinates it has."""
        return self._joint.nv

    def getNrOfPosCoords(self) -> int:
        """How many position coordinates it has."""
        return self._joint.nq

    def getDOFsOffset(self) -> int:
        """Where its velocity starts in the joint velocities."""
        if self._model is None:
            return 0
        return sum(record.joint.nv for record in self._model.joint_records[: self._index])

    def getPosCoordsOffset(self) -> int:
        """Where its position starts in the joint positions."""
        if self._model is None:
            return 0
        return sum(record.joint.nq for record in self._model.joint_records[: self._index])

    def getFirstAttachedLink(self) -> int:
        """Index of its first link."""
        return (
            self._links[0] if self._model is None else self._model.getLinkIndex(self._joint.first)
        )

    def getSecondAttachedLink(self) -> int:
        """Index of its second link."""
        return (
            self._links[1] if self._model is None else self._model.getLinkIndex(self._joint.second)
        )

    def setAttachedLinks(self, link1: int, link2: int) -> None:
        """Join two links."""
        if self._model is None:
            self._links = (int(link1), int(link2))
            return
        first, second = self._model.getLinkName(link1), self._model.getLinkName(link2)
        self._record = replace(self._record, joint=replace(self._joint, first=first, second=second))

    def setRestTransform(self, link1_X_link2: ArrayLike) -> None:
        """Set the pose of the second link in the first at position 0; the axis stays there."""
        rest = Transform(link1_X_link2).toNumPy()
        mount = se3.inverse(self._joint.first_H_joint.matrix()) @ rest
        self._set(joint_H_second=as_pose(mount, "link1_X_link2"))

    def getRestTransform(self, child: int, parent: int) -> Transform:
        """Pose of the parent in the child at position 0."""
        return made(Transform, neutral_transform(self._joint, child=self._side(child, parent)))

    def getTransform(self, jntPos: ArrayLike, child: int, parent: int) -> Transform:
        """Pose of the parent in the child, with all joints at some positions."""
        theta = self._theta(jntPos)
        return made(Transform, child_H_parent(self._joint, theta, child=self._side(child, parent)))

    def getMotionSubspaceVector(
        self, dof_i: int, child: int, parent: int | None = None
    ) -> SpatialMotionVector:
        """Velocity of the child relative to the parent for a velocity coordinate of 1.

        It is written in the axes of the child, at its origin. Where it depends on the position, as
        that of the first link of a spherical joint, it is given for position 0.
        """
        side = self._side(child, parent)
        if not self._joint.nv:
            return SpatialMotionVector()
        self._check_coordinate(dof_i)
        S = motion_subspace(self._joint, neutral(self._joint), child=side)
        return made(SpatialMotionVector, S[:, dof_i])

    def getPositionDerivativeVelocityJacobian(
        self, jntPos: ArrayLike, positionDerivative_J_velocity: Any = None
    ) -> Any:
        """J with theta_dot = J nu, (nq, nv), at a position of this joint or of all joints.

        Returns:
            J; or True, if there is an array to write to.
        """
        J = position_jacobian(self._joint, self._theta(jntPos))
        return give_matrix(np.array(J), positionDerivative_J_velocity)

    def isFixedJoint(self) -> bool:
        """Whether it is a `FixedJoint`."""
        return self._joint.kind == "fixed"

    def isRevoluteJoint(self) -> bool:
        """Whether it is a `RevoluteJoint`."""
        return self._joint.kind == "revolute"

    def isPrismaticJoint(self) -> bool:
        """Whether it is a `PrismaticJoint`."""
        return self._joint.kind == "prismatic"

    def isSphericalJoint(self) -> bool:
        """Whether it is a `SphericalJoint`."""
        return self._joint.kind == "spherical"

    def asFixedJoint(self) -> Any:
        """This joint if it is fixed, else None."""
        return self if self.isFixedJoint() else None

    def asRevoluteJoint(self) -> Any:
        """This joint if it is revolute, else None."""
        return self if self.isRevoluteJoint() else None

    def asPrismaticJoint(self) -> Any:
        """This joint if it is prismatic, else None."""
        return self if self.isPrismaticJoint() else None

    def asSphericalJoint(self) -> Any:
        """This joint if it is spherical, else None."""
        return self if self.isSphericalJoint() else None

    def _set(self, **changes: Any) -> None:
        self._record = replace(self._record, joint=replace(self._joint, **changes))

    def _check_coordinate(self, index: int) -> None:
        if not 0 <= index < self._joint.nv:
            text = f"joint {self._joint.name!r}: coordinate {index}: there are {self._joint.nv}"
            raise ValueRangeError(text)

    def _side(self, child: int, parent: int | None) -> str:
        """Name of the link that is the child."""
        ends = (self.getFirstAttachedLink(), self.getSecondAttachedLink())
        given = (child,) if parent is None else (child, parent)
        if child not in ends or (parent is not None and sorted(given) != sorted(ends)):
            text = f"joint {self._joint.name!r} joins links {sorted(ends)}, not {list(given)}"
            raise ValueRangeError(text)
        return self._joint.first if child == ends[0] else self._joint.second

    def _theta(self, positions: ArrayLike) -> Array:
        """The coordinates of this joint, given alone or in the positions of all joints."""
        s = np.ravel(as_floats(positions, "jntPos"))
        first, nq = self.getPosCoordsOffset(), self._joint.nq
        if s.shape == (nq,):
            first = 0
        if len(s) < first + nq:
            text = f"jntPos: joint {self._joint.name!r} is at {first} to {first + nq}, got {len(s)}"
            raise ValueRangeError(text)
        return np.array(s[first : first + nq])
