"""Joints with RobWork's names: they move along or about the z axis of their frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from linkwork.compat.robwork.frames import (
    FixedFrame,
    Frame,
    MovableFrame,
    State,
    StateStructure,
    as_matrix,
    write_result,
)
from linkwork.compat.robwork.transforms import Jacobian, Transform3D
from linkwork.compat.robwork.vectors import Q, as_floats
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ShapeError, model_error
from linkwork.model.joints.motion import pose_of, subspace_of
from linkwork.model.parts import Mimic
from linkwork.model.pose import as_pose
from linkwork.spatial.source import motion as spatial
from linkwork.spatial.source import se3
from linkwork.workcell.cell.frames import WORLD, CellFrame, Motion
from linkwork.workcell.cell.structure import moved_pose
from linkwork.workcell.files.joints import JOINT_TYPES


class QBox(NamedTuple):
    """Lower and upper bounds."""

    first: Q
    second: Q


class Joint(Frame):
    """A frame that moves on its parent.

    A joint with several coordinates may consist of several consecutive frames of the cell, as in a
    file: the last one has its name, and each of the others has an ending such as `.x`.
    """

    TYPE = ""  # its name in files

    @cached_property
    def _limits(self) -> dict[str, Array]:
        """Limits of coordinates for which the cell stores none."""
        return {}

    def __init__(self, name: str, transform: Any = None) -> None:
        """Create a joint from its name and its pose at zero."""
        *before, last = self._create_parts(name)
        super().__init__(last, before=tuple(before))
        self.setFixedTransform(Transform3D() if transform is None else transform)

    def _create_parts(self, name: str) -> list[CellFrame]:
        if not self.TYPE:
            raise model_error("Joint is abstract; use RevoluteJoint, PrismaticJoint or another")
        return [
            CellFrame(name=name + ending, parent=WORLD, motion=Motion(kind=kind, axis=axis))
            for ending, kind, axis in JOINT_TYPES[self.TYPE]
        ]

    @property
    def motion(self) -> Motion:
        """The motion as a linkwork object; the last of several motions."""
        return _motion(self.part)

    def size(self) -> int:
        """Return the number of values that it has in a state."""
        return self.getDOF()

    # Limits, one for each coordinate.

    def limit(self, field: str) -> Array:
        """Return the limits lower, upper, velocity or acceleration; infinite if there are none."""
        limits: list[Array] = []
        for part in self.parts:
            motion = _motion(part)
            if motion.motion_kind.nv == 1:
                source = motion if field == "acceleration" else motion.limits
                limits.append(np.full(part.size, getattr(source, field)))
            else:
                unlimited = np.full(part.size, -np.inf if field == "lower" else np.inf)
                limits.append(self._limits.get(field, unlimited))
        return np.concatenate(limits)

    def set_limits(self, **values: object) -> None:
        """Set limits by name, each one value for all coordinates or one for each."""
        count = self.getDOF() or 1
        arrays: dict[str, Array] = {}
        for field, value in values.items():
            array = as_floats(value, field).reshape(-1)
            if array.size not in (1, count):
                message = f"{field} of joint {self.getName()!r}: expected {count} elements"
                raise ShapeError(f"{message}, got {array.size}")
            arrays[field] = np.broadcast_to(array, (count,))
        start, single = 0, len(self.cell_names) == 1
        for index, part in enumerate(self.parts):
            end = start + (part.size or int(single))
            if end > start:
                self._set_limits(index, {field: a[start:end] for field, a in arrays.items()})
            start = end

    def _set_limits(self, index: int, arrays: dict[str, Array]) -> None:
        motion = _motion(self.parts[index])
        if motion.motion_kind.nv != 1:
            self._limits.update(arrays)
            return
        limits = {field: float(array[0]) for field, array in arrays.items()}
        if "acceleration" in limits:
            self._change(index, **limits)
        else:
            self._change(index, limits=replace(motion.limits, **limits))

    def getBounds(self) -> QBox:
        """Return the bounds of its coordinates; infinite where there are none."""
        return QBox(Q(self.limit("lower")), Q(self.limit("upper")))

    def setBounds(self, *bounds: Any) -> None:
        """Set a lower and an upper bound, or a pair of them."""
        lower, upper = bounds if len(bounds) == 2 else bounds[0]
        self.set_limits(lower=lower, upper=upper)

    def getMaxVelocity(self) -> Q:
        """Return the largest speeds; infinite if there are none."""
        return Q(self.limit("velocity"))

    def setMaxVelocity(self, maxVelocity: Any) -> None:
        """Set the largest speeds."""
        self.set_limits(velocity=maxVelocity)

    def getMaxAcceleration(self) -> Q:
        """Return the largest accelerations; infinite if there are none."""
        return Q(self.limit("acceleration"))

    def setMaxAcceleration(self, maxAcceleration: Any) -> None:
        """Set the largest accelerations."""
        self.set_limits(acceleration=maxAcceleration)

    def isActive(self) -> bool:
        """Return whether devices actuate it."""
        return self.motion.active

    def setActive(self, isActive: bool) -> None:
        """Set whether devices created from now on actuate it."""
        for index in range(len(self.cell_names)):
            self._change(index, active=bool(isActive))

    # Poses, in a state or at some coordinates.

    def getFixedTransform(self) -> Transform3D:
        """Return its pose on its parent at zero."""
        return Transform3D(self.parts[0].parent_H_frame.matrix())

    def setFixedTransform(self, t3d: Transform3D) -> None:
        """Set its pose on its parent at zero, in all states."""
        self._change(0, parent_H_frame=as_pose(as_matrix(t3d)))

    def getTransform(self, state: Any) -> Transform3D:
        """Return its pose on its parent, in a state or at some coordinates."""
        if isinstance(state, State):
            return super().getTransform(state)
        return self.getFixedTransform() * self.getJointTransform(state)

    def getJointTransform(self, state: Any) -> Transform3D:
        """Return its motion without the pose at zero, in a state or at some coordinates."""
        return Transform3D.around(reduce(np.matmul, map(_pose, *self._coordinates(state))))

    def multiplyJointTransform(
        self, parent: Transform3D, q: Any, result: Transform3D | None = None
    ) -> Transform3D:
        """Return a pose of its parent times its pose at some coordinates; also set `result`."""
        return write_result(parent * self.getTransform(q), result)

    def getJacobian(  # noqa: PLR0917 - the arguments of RobWork
        self,
        row: int,
        col: int,
        joint: Transform3D,
        tcp: Transform3D,
        state: Any,
        jacobian: Jacobian,
    ) -> None:
        """Add its columns to a Jacobian, starting at a row and a column.

        Args:
            row: index of the first of six rows, [linear; angular].
            col: index of the column of its first coordinate.
            joint: pose of the joint, after its motion, in the base.
            tcp: pose in the base of the frame whose velocity the Jacobian describes.
            state: a state or the coordinates.
            jacobian: the matrix to add to.
        """
        shifted = as_matrix(joint).copy()
        shifted[:3, 3] -= as_matrix(tcp)[:3, 3]
        to_tcp, columns = spatial.motion_transform(shifted), np.zeros((6, 0))
        for part, theta in reversed(list(zip(*self._coordinates(state), strict=True))):
            columns = np.hstack([to_tcp @ _subspace(part, theta), columns])
            to_tcp = to_tcp @ spatial.motion_transform(se3.inverse(_pose(part, theta)))
        block = jacobian.e()[row : row + 6, col : col + columns.shape[1]]
        if block.shape != columns.shape:
            size, count = (jacobian.size1(), jacobian.size2()), columns.shape[1]
            message = f"getJacobian: 6 rows from {row} and {count} columns from {col}"
            raise ShapeError(f"{message} exceed a Jacobian of shape {size}")
        block += columns

    # Values in a state.

    def getData(self, state: State) -> list[float]:
        """Return its coordinates in a state."""
        structure, value = self._in_state(state)
        return [x for name in self.cell_names for x in structure.cell.values(name, value).tolist()]

    def setData(self, state: State, vals: float | Sequence[float]) -> None:
        """Set its coordinates in a state; surplus values are ignored, as in RobWork."""
        structure, value = self._in_state(state)
        values = as_floats(vals, "vals").reshape(-1)[: self.getDOF()]
        for part, theta in zip(*self._coordinates(values), strict=True):
            if part.size:
                value = structure.cell.set_values(value, part.name, theta)
        state.value = value

    def _coordinates(self, q: Any) -> tuple[tuple[CellFrame, ...], list[Array]]:
        """Return the frames of the cell that it consists of, and the coordinates of each."""
        values = as_floats(self.getData(q) if isinstance(q, State) else q, "q").reshape(-1)
        if values.size != self.getDOF():
            message = f"joint {self.getName()!r}: expected {self.getDOF()} coordinates"
            raise ShapeError(f"{message}, got {values.size}")
        ends = np.cumsum([part.size for part in self.parts])
        return self.parts, np.split(values, ends[:-1])


def _motion(part: CellFrame) -> Motion:
    assert part.motion is not None
    return part.motion


def _pose(part: CellFrame, theta: Array) -> Array:
    """(4, 4) motion of a frame at some coordinates, after its pose at zero."""
    return moved_pose(_motion(part), theta)


def _subspace(part: CellFrame, theta: Array) -> Array:
    """(6, n) velocity of a frame for unit velocities of its joint, in its axes at its origin.

    For a dependent joint, it is the velocity for a unit velocity of the joint it depends on.
    """
    motion = _motion(part)
    columns = subspace_of(motion.motion_kind, motion.constants, theta)
    if motion.backwards:
        moved = pose_of(motion.motion_kind, motion.constants, theta)
        columns = -spatial.motion_transform(moved) @ columns
    frame_H_side = se3.inverse(motion.joint_H_frame.matrix())
    rate = motion.depends.multiplier if motion.depends else 1.0
    return rate * spatial.motion_transform(frame_H_side) @ columns


class RevoluteJoint(Joint):
    """A joint with one angle."""

    TYPE = "Revolute"


class PrismaticJoint(Joint):
    """A joint with one length."""

    TYPE = "Prismatic"


class UniversalJoint(Joint):
    """A joint with two angles: about x, then about the new y. Files do not store its limits."""

    TYPE = "Universal"


class SphericalJoint(Joint):
    """A joint with three angles: about x, about the new y, about the new z."""

    TYPE = "Spherical"


class PrismaticUniversalJoint(Joint):
    """A joint with two angles and a length: about x, about the new y, along the new z."""

    TYPE = "PrismaticUniversal"


class PrismaticSphericalJoint(Joint):
    """A joint with three angles and a length: about x, y and z, each new, then along z."""

    TYPE = "PrismaticSpherical"


class DependentJoint(Joint):
    """A joint that depends on another: q = scale * q of its owner + offset."""

    def __init__(
        self, name: str, transform: Any, owner: Joint, scale: float = 1.0, offset: float = 0.0
    ) -> None:
        """Create a joint from its name, its pose at zero, and the joint that it depends on."""
        super().__init__(name, transform)
        depends = Mimic(joint=owner.cell_names[-1], multiplier=scale, offset=offset)
        self._parts = (replace(self.part, motion=replace(self.motion, depends=depends)),)

    def _coordinates(self, q: Any) -> tuple[tuple[CellFrame, ...], list[Array]]:
        if not isinstance(q, State):
            return self.parts, [as_floats(q, "q").reshape(1)]
        depends = self.motion.depends
        assert depends is not None
        owner = self._in_cell().frame(depends.joint)
        assert isinstance(owner, Joint)
        _, (theta,) = owner._coordinates(q)
        return self.parts, [depends.multiplier * theta + depends.offset]


class DependentRevoluteJoint(DependentJoint):
    """A dependent angle."""

    TYPE = "Revolute"


class DependentPrismaticJoint(DependentJoint):
    """A dependent length."""

    TYPE = "Prismatic"


_KINDS = {
    JOINT_TYPES[kind.TYPE][0][1]: kind for kind in (RevoluteJoint, PrismaticJoint, UniversalJoint)
}
_DEPENDENT = {"revolute": DependentRevoluteJoint, "prismatic": DependentPrismaticJoint}


def frame_class(part: CellFrame) -> type[Frame]:
    """Return the class of the object for a frame of a linkwork cell."""
    if part.motion is None:
        return MovableFrame if part.movable else FixedFrame
    if part.motion.depends:
        return _DEPENDENT.get(part.motion.kind, DependentJoint)
    return _KINDS.get(part.motion.kind, Joint)


StateStructure.frame_class = staticmethod(frame_class)
