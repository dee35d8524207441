"""Joints with iDynTree's names: joints of a robot, and joints to be added to one.

Links     by index; the motion is that of `child` relative to `parent`, whichever is the first
Robot     a joint of `model.getJoint` belongs to the robot: setters change the robot
Limits    of the position may be set while they are disabled. A joint without velocity coordinates,
          or with several, has none: setters return False, as in iDynTree. Joints with one
          coordinate ignore `_index`, as in iDynTree, because callers often pass the index of the
          joint
Errors    a link or a coordinate that the joint does not have raises
"""

from __future__ import annotations

from dataclasses import replace
from sys import float_info
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import array_of
from linkwork.compat.idyntree.geometry import Axis, Position, SpatialMotionVector, Transform
from linkwork.compat.idyntree.records import JointRecord, ModelRecords, name_at
from linkwork.compat.idyntree.statuses import Partial, casts
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ValueRangeError
from linkwork.model.joints.motion import (
    child_H_parent,
    motion_subspace,
    neutral_transform,
)
from linkwork.model.parts import Joint, unit_vector
from linkwork.model.pose import Pose, as_floats, as_pose
from linkwork.spatial import se3

if TYPE_CHECKING:
    from typing_extensions import Self


UNKNOWN_LINK = -1


class IJoint(Partial):
    """A joint, of one of the classes below.

    Args:
        parts: nothing; or the pose of the second link in the first, for `RevoluteJoint` and
            `PrismaticJoint` followed by the axis in the first, optionally preceded by both links;
            or a joint.
    """

    KIND: ClassVar[str] = ""
    HAS_AXIS: ClassVar[bool] = False

    def __init__(self, *parts: Any) -> None:
        if not self.KIND:
            names = ", ".join(kind.__name__ for kind in CLASSES.values())
            raise ArgumentError(f"IJoint is abstract; use one of {names}")
        axis = (1.0, 0.0, 0.0)  # iDynTree's default
        joint = Joint(name="joint", kind=self.KIND, first="first", second="second", axis=axis)
        self._stored = JointRecord.of(joint)
        self._links = (UNKNOWN_LINK, UNKNOWN_LINK)
        self._index = -1
        self._model: ModelRecords | None = None
        self._construct(list(parts))

    def _construct(self, parts: list[Any]) -> None:
        """Accept the arguments of iDynTree's constructors."""
        if len(parts) == 1 and isinstance(parts[0], type(self)):
            vars(self).update(vars(parts[0].clone()))
            return
        count = len(parts)
        if count == 3 + self.HAS_AXIS:
            self.setAttachedLinks(parts.pop(0), parts.pop(0))
        if len(parts) not in (0, 1 + self.HAS_AXIS):
            expected = "a pose and an axis" if self.HAS_AXIS else "a pose"
            message = f"{type(self).__name__}: expected no arguments, {expected}, or a joint of"
            raise ArgumentError(f"{message} this class; both links may come first; got {count}")
        if parts:
            self.setRestTransform(parts[0])
        if isinstance(self, AxisJoint) and parts:
            self.setAxis(parts[1])

    @classmethod
    def of(cls, model: ModelRecords, index: int) -> Self:
        """Return the joint of a robot at an index."""
        self = cls.__new__(cls)
        self._model, self._index = model, index
        return self

    @property
    def record(self) -> JointRecord:
        """The joint as stored: in its robot, or in this object."""
        return self._stored if self._model is None else self._model.joint_records[self._index]

    @property
    def _joint(self) -> Joint:
        return self.record.joint

    def _set(self, record: JointRecord) -> None:
        if self._model is None:
            self._stored = record
        else:
            self._model.set_joint_record(self._index, record)

    def _set_joint(self, **changes: Any) -> None:
        self._set(replace(self.record, joint=replace(self._joint, **changes)))

    def __repr__(self) -> str:
        name = "" if self._model is None else f" {self._joint.name!r}"
        links = f"{self.getFirstAttachedLink()} and {self.getSecondAttachedLink()}"
        return f"<{type(self).__name__}{name} between links {links}>"

    def clone(self) -> Self:
        """Return a copy that belongs to no robot."""
        copy = type(self).__new__(type(self))
        copy._model = None
        joint = replace(self._joint, name="joint", first="first", second="second", location=None)
        copy._stored = replace(self.record, joint=joint)
        copy._links = (self.getFirstAttachedLink(), self.getSecondAttachedLink())
        copy._index = self._index
        return copy

    def getIndex(self) -> int:
        """Return the index of the joint in its robot; -1 if it has none."""
        return self._index

    def getNrOfDOFs(self) -> int:
        """Return the number of velocity coordinates."""
        return self._joint.nv

    def getNrOfPosCoords(self) -> int:
        """Return the number of position coordinates."""
        return self._joint.nq

    def getDOFsOffset(self) -> int:
        """Return the index of its first velocity coordinate in the joint velocities."""
        return sum(joint.nv for joint in self._joints_before())

    def getPosCoordsOffset(self) -> int:
        """Return the index of its first position coordinate in the joint positions."""
        return sum(joint.nq for joint in self._joints_before())

    def _joints_before(self) -> list[Joint]:
        records = () if self._model is None else self._model.joint_records[: self._index]
        return [record.joint for record in records]

    def getFirstAttachedLink(self) -> int:
        """Return the index of its first link."""
        model = self._model
        return self._links[0] if model is None else model.getLinkIndex(self._joint.first)

    def getSecondAttachedLink(self) -> int:
        """Return the index of its second link."""
        model = self._model
        return self._links[1] if model is None else model.getLinkIndex(self._joint.second)

    def setAttachedLinks(self, link1: int, link2: int) -> None:
        """Set both links."""
        if self._model is None:
            self._links = (int(link1), int(link2))
        else:
            first, second = self._model.link_name(link1), self._model.link_name(link2)
            self._set_joint(first=first, second=second)

    def setRestTransform(self, link1_X_link2: ArrayLike) -> None:
        """Set the pose of the second link in the first at position 0; the axis is unchanged."""
        first_H_second = Transform(link1_X_link2).toNumPy()
        joint_H_second = se3.inverse(self._joint.first_H_joint.matrix()) @ first_H_second
        self._set_joint(joint_H_second=as_pose(joint_H_second, "link1_X_link2"))

    def getRestTransform(self, child: int, parent: int) -> Transform:
        """Return the pose of the parent in the child at position 0."""
        return array_of(Transform, neutral_transform(self._joint, child=self._side(child, parent)))

    def getTransform(self, jntPos: ArrayLike, child: int, parent: int) -> Transform:
        """Return the pose of the parent in the child at positions of all joints."""
        side = self._side(child, parent)
        return array_of(Transform, child_H_parent(self._joint, self._theta(jntPos), child=side))

    def getMotionSubspaceVector(
        self, dof_i: int, child: int, parent: int | None = None
    ) -> SpatialMotionVector:
        """Return the velocity of the child relative to the parent for a velocity coordinate of 1.

        It is expressed in the axes of the child, at its origin. If it depends on the position, as
        for the first link of a spherical joint, it is evaluated at position 0.
        """
        joint, side = self._joint, self._side(child, parent)
        if not joint.nv:
            return SpatialMotionVector()
        if not 0 <= dof_i < joint.nv:
            message = f"joint {joint.name!r}: coordinate {dof_i}: expected 0 to {joint.nv - 1}"
            raise ValueRangeError(message)
        neutral = np.array(joint.motion_kind.neutral, dtype=np.float64)
        return array_of(SpatialMotionVector, motion_subspace(joint, neutral, child=side)[:, dof_i])

    isFixedJoint, asFixedJoint = casts("FixedJoint")
    isRevoluteJoint, asRevoluteJoint = casts("RevoluteJoint")
    isPrismaticJoint, asPrismaticJoint = casts("PrismaticJoint")
    isSphericalJoint, asSphericalJoint = casts("SphericalJoint")

    def hasPosLimits(self) -> bool:
        """Return whether the limits of the position are enabled."""
        return self.record.enabled

    def enablePosLimits(self, enable: bool) -> bool:
        """Enable or disable the limits of the position."""
        return self._set_limits(self.record.limits, enabled=enable)

    def getMinPosLimit(self, _index: int = 0) -> float:
        """Return the lower limit of the position; the largest negative float if none was set."""
        return max(self.record.limits[0], -float_info.max) if self._joint.nv == 1 else 0.0

    def getMaxPosLimit(self, _index: int = 0) -> float:
        """Return the upper limit of the position; the largest float if none was set."""
        return min(self.record.limits[1], float_info.max) if self._joint.nv == 1 else 0.0

    def getPosLimits(self, _index: int, min: Any = None, max: Any = None) -> tuple[float, float]:
        """Both limits of the position; `min` and `max` are outputs in C++ and are not used."""
        del min, max
        return self.getMinPosLimit(_index), self.getMaxPosLimit(_index)

    def setPosLimits(self, _index: int, min: float, max: float) -> bool:
        """Set both limits of the position."""
        return self._set_limits((min, max), enabled=self.record.enabled)

    def _set_limits(self, limits: tuple[float, float], *, enabled: bool) -> bool:
        has_limits = self._joint.nv == 1
        if has_limits:
            self._set(self.record.with_limits(limits, enabled=enabled))
        return has_limits

    def _side(self, child: int, parent: int | None = None) -> str:
        """Return the name of the link that is the child."""
        ends = (self.getFirstAttachedLink(), self.getSecondAttachedLink())
        links = (child,) if parent is None else (child, parent)
        if child not in ends or (parent is not None and sorted(links) != sorted(ends)):
            message = f"joint {self._joint.name!r} connects links {sorted(ends)}, not {list(links)}"
            raise ValueRangeError(message)
        return self._joint.first if child == ends[0] else self._joint.second

    def _theta(self, positions: ArrayLike) -> Array:
        """Select the coordinates of this joint from its position, or from those of all joints."""
        s = np.ravel(as_floats(positions, "jntPos"))
        first, nq = self.getPosCoordsOffset(), self._joint.nq
        if s.shape == (nq,):
            first = 0
        if len(s) < first + nq:
            message = f"jntPos: joint {self._joint.name!r} has coordinates {first} to"
            raise ValueRangeError(f"{message} {first + nq - 1}, got a vector of length {len(s)}")
        return np.array(s[first : first + nq])


class FixedJoint(IJoint):
    """A joint that connects two links rigidly. Arguments: see `IJoint`."""

    KIND = "fixed"


class AxisJoint(IJoint):
    """A joint that moves about or along an axis."""

    HAS_AXIS = True

    def getAxis(self, child: int, parent: int | None = None) -> Axis:
        """The axis in the frame of a link, for the motion of this link relative to the other."""
        joint = self._joint
        if self._side(child, parent) == joint.first:
            pose, sign = joint.first_H_joint.matrix(), -1.0
        else:
            pose, sign = se3.inverse(joint.joint_H_second.matrix()), 1.0
        return Axis(sign * (pose[:3, :3] @ np.array(joint.axis)), pose[:3, 3])

    def setAxis(self, axis: Axis, child: int | None = None, parent: int | None = None) -> None:
        """Set the axis in the frame of a link, as returned by `getAxis`.

        Without links, it is the axis of the second link, in the frame of the first.
        """
        joint = self._joint
        first_H_second = neutral_transform(joint, child=joint.first)
        if child is None:
            in_first = axis
        elif self._side(child, parent) == joint.first:
            in_first = axis.reverse()
        else:
            in_first = Transform(first_H_second) * axis
        first_H_joint = Pose(xyz=tuple(in_first.getOrigin().tolist()))
        self._set_joint(
            axis=unit_vector(in_first.getDirection().tolist()),
            first_H_joint=first_H_joint,
            joint_H_second=as_pose(se3.inverse(first_H_joint.matrix()) @ first_H_second),
        )


class RevoluteJoint(AxisJoint):
    """Rotation about an axis. Arguments: see `IJoint`."""

    KIND = "revolute"


class RevoluteSO2Joint(AxisJoint):
    """Rotation about an axis; its position is (cos, sin) of the angle. Arguments: see `IJoint`."""

    KIND = "revolute_cos_sin"


class PrismaticJoint(AxisJoint):
    """Translation along an axis. Arguments: see `IJoint`."""

    KIND = "prismatic"


class SphericalJoint(IJoint):
    """Rotation about a point; its position is a quaternion w, x, y, z. Arguments: see `IJoint`."""

    KIND = "spherical"

    def setRestTransform(self, link1_X_link2: ArrayLike) -> None:
        """Set the pose of the second link in the first at position 0; the center is unchanged."""
        first_H_second = Transform(link1_X_link2).toNumPy()
        self._set_poses(first_H_second, np.array(self._joint.first_H_joint.xyz))

    def setJointCenter(self, link: int, center: ArrayLike) -> None:
        """Set the center of rotation, in the frame of one of the links."""
        first_H_second = neutral_transform(self._joint, child=self._joint.first)
        point = Position(center).toNumPy()
        if self._side(link) != self._joint.first:
            point = se3.transform_point(first_H_second, point)
        self._set_poses(first_H_second, point)

    def getJointCenter(self, link: int) -> Position:
        """Return the center of rotation, in the frame of one of the links."""
        if self._side(link) == self._joint.first:
            return Position(self._joint.first_H_joint.xyz)
        return Position(se3.inverse(self._joint.joint_H_second.matrix())[:3, 3])

    def _set_poses(self, first_H_second: Array, center: Array) -> None:
        """Set joint axes parallel to those of the second link, as iDynTree's velocities require."""
        first_H_joint = se3.pose(first_H_second[:3, :3], center)
        self._set_joint(
            first_H_joint=as_pose(first_H_joint),
            joint_H_second=as_pose(se3.inverse(first_H_joint) @ first_H_second),
        )


class OtherJoint(IJoint):
    """A joint of a kind that iDynTree does not have, such as helical or planar."""

    KIND = "other"


CLASSES: dict[str, type[IJoint]] = {
    kind.KIND: kind
    for kind in (FixedJoint, RevoluteJoint, RevoluteSO2Joint, PrismaticJoint, SphericalJoint)
}


def joint_of(model: ModelRecords, index: int) -> IJoint:
    """Return the joint of a robot at an index, of the class of its kind."""
    name_at("joint", [record.joint.name for record in model.joint_records], index)  # or raises
    return CLASSES.get(model.joint_records[index].joint.kind, OtherJoint).of(model, index)
