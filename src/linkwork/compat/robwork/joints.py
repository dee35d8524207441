"""Joints under RobWork's names: they move along or about the z axis of their frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from linkwork.compat.robwork.frames import FixedFrame, Frame, MovableFrame, as_matrix, written
from linkwork.compat.robwork.numbers import Q, as_numbers
from linkwork.compat.robwork.structure import State, StateStructure
from linkwork.compat.robwork.transforms import Jacobian, Transform3D
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ShapeError, model_error
from linkwork.model import joint_motion
from linkwork.model.parts import Joint as ModelJoint
from linkwork.model.parts import Mimic
from linkwork.model.pose import as_pose
from linkwork.spatial.source import motion as spatial
from linkwork.spatial.source import se3
from linkwork.workcell.parts import WORLD, CellFrame, Motion
from linkwork.workcell.robwork.joints import JOINT_TYPES


class QBox(NamedTuple):
    """Lower and upper bounds."""

    first: Q
    second: Q


class Joint(Frame):
    """A frame that moves on its parent by coordinates.

    A joint of several coordinates may be several frames of the cell in a row, as one of a file is:
    the last one has its name, and each of the others has an ending such as `.x`.
    """

    TYPE = ""  # its name in files

    def __init__(self, name: Any, transform: Any = None, structure: Any = None) -> None:
        """Make a joint by its name and pose at zero."""
        self._limits: dict[str, Array] = {}  # of coordinates whose limits the cell does not hold
        if isinstance(name, CellFrame):
            super().__init__(name, structure)
            return
        *before, last = self._make_parts(name)
        super().__init__(last, before=tuple(before))
        self.setFixedTransform(Transform3D() if transform is None else transform)

    def _make_parts(self, name: str) -> list[CellFrame]:
        if not self.TYPE:
            raise model_error("a joint is a RevoluteJoint, PrismaticJoint and so on")
        return [
            CellFrame(name=name + ending, parent=WORLD, motion=Motion(kind=kind, axis=axis))
            for ending, kind, axis in JOINT_TYPES[self.TYPE]
        ]

    @property
    def motion(self) -> Motion:
        """How it moves, in linkwork's terms; the last of several motions."""
        return _motion(self.part)

    def size(self) -> int:
        """How many numbers of a state it has."""
        return self.getDOF()

    # Limits, one for each coordinate.

    def limit(self, field: str) -> Array:
        """The limits called lower, upper, velocity or acceleration; infinite if not given."""
        limits: list[Array] = []
        for part in self.parts:
            motion = _motion(part)
            if motion.motion_kind.nv == 1:
                holder = motion if field == "acceleration" else motion.limits
                limits.append(np.full(part.size, getattr(holder, field)))
            else:
                unlimited = np.full(part.size, -np.inf if field == "lower" else np.inf)
                limits.append(self._limits.get(field, unlimited))
        return np.concatenate(limits)

    def set_limits(self, **values: object) -> None:
        """Set limits by name, each one number for all coordinates or one for each."""
        count = self.getDOF() or 1
        arrays: dict[str, Array] = {}
        for field, value in values.items():
            numbers = as_numbers(value, field).reshape(-1)
            if numbers.size not in (1, count):
                text = f"{field} of joint {self.getName()!r}: expected {count} numbers"
                raise ShapeError(f"{text}, got {numbers.size}")
            arrays[field] = np.broadcast_to(numbers, (count,))
        start, single = 0, len(self.cell_names) == 1
        for at, part in enumerate(self.parts):
            end = start + (part.size or int(single))
            if end > start:
                self._set_limits(at, {field: a[start:end] for field, a in arrays.items()})
            start = end

    def _set_limits(self, at: int, arrays: dict[str, Array]) -> None:
        motion = _motion(self.parts[at])
        if motion.motion_kind.nv != 1:
            self._limits |= arrays
            return
        numbers = {field: float(array[0]) for field, array in arrays.items()}
        if "acceleration" in numbers:
            self._change(at, **numbers)
        else:
            self._change(at, limits=replace(motion.limits, **numbers))

    def getBounds(self) -> QBox:
        """Bounds of its coordinates; infinite where there are none."""
        return QBox(Q(self.limit("lower")), Q(self.limit("upper")))

    def setBounds(self, *bounds: Any) -> None:
        """Other bounds: a lower and an upper one, or a pair of them."""
        lower, upper = bounds if len(bounds) == 2 else bounds[0]
        self.set_limits(lower=lower, upper=upper)

    def getMaxVelocity(self) -> Q:
        """Largest speeds; infinite if none are given."""
        return Q(self.limit("velocity"))

    def setMaxVelocity(self, maxVelocity: Any) -> None:
        """Other largest speeds."""
        self.set_limits(velocity=maxVelocity)

    def getMaxAcceleration(self) -> Q:
        """Largest accelerations; infinite if none are given."""
        return Q(self.limit("acceleration"))

    def setMaxAcceleration(self, maxAcceleration: Any) -> None:
        """Other largest accelerations."""
        self.set_limits(acceleration=maxAcceleration)

    def isActive(self) -> bool:
        """Whether devices drive it."""
        return self.motion.active

    def setActive(self, isActive: bool) -> None:
        """Whether devices that are made from now on drive it."""
        for at in range(len(self.cell_names)):
            self._change(at, active=bool(isActive))

    # Poses, in a state or at given coordinates.

    def getFixedTransform(self) -> Transform3D:
        """Its pose on its parent at zero."""
        return Transform3D(self.parts[0].parent_H_frame.matrix())

    def setFixedTransform(self, t3d: Transform3D) -> None:
        """Another pose on its parent at zero, in all states."""
        self._change(0, parent_H_frame=as_pose(as_matrix(t3d)))

    def getTransform(self, state: Any) -> Transform3D:
        """Its pose on its parent, in a state or at given coordinates."""
        if isinstance(state, State):
            return super().getTransform(state)
        return self.getFixedTransform() * self.getJointTransform(state)

    def getJointTransform(self, state: Any) -> Transform3D:
        """Its motion alone, without the pose at zero: in a state, or at given coordinates."""
        return Transform3D.around(reduce(np.matmul, map(_pose, *self._coordinates(state))))

    def multiplyJointTransform(
        self, parent: Transform3D, q: Any, result: Transform3D | None = None
    ) -> Transform3D:
        """A pose of its parent times its pose at given coordinates; written into `result`."""
        return written(parent * self.getTransform(q), result)

    def getJacobian(  # noqa: PLR0917 - the arguments of RobWork
        self,
        row: int,
        col: int,
        joint: Transform3D,
        tcp: Transform3D,
        state: Any,
        jacobian: Jacobian,
    ) -> None:
        """Add its columns to a Jacobian, from a row and a column on.

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
        jacobian.e()[row : row + 6, col : col + columns.shape[1]] += columns

    # Its part of a state.

    def getData(self, state: State) -> list[float]:
        """Its coordinates in a state."""
        structure = self._in_cell()
        value = structure.checked(state)
        return [x for name in self.cell_names for x in structure.cell.values(name, value).tolist()]

    def setData(self, state: State, vals: float | Sequence[float]) -> None:
        """Other coordinates, in this state; more numbers than it has are allowed, as in RobWork."""
        structure = self._in_cell()
        value = structure.checked(state)
        numbers = as_numbers(vals, "vals").reshape(-1)[: self.getDOF()]
        for part, theta in zip(*self._coordinates(numbers), strict=True):
            if part.size:
                value = structure.cell.set_values(value, part.name, theta)
        state.value = value

    def _coordinates(self, q: Any) -> tuple[tuple[CellFrame, ...], list[Array]]:
        """The frames that it is made of, and the coordinates of each."""
        numbers = as_numbers(self.getData(q) if isinstance(q, State) else q, "q").reshape(-1)
        if numbers.size != self.getDOF():
            text = f"joint {self.getName()!r}: expected {self.getDOF()} coordinates"
            raise ShapeError(f"{text}, got {numbers.size}")
        ends = np.cumsum([part.size for part in self.parts])
        return self.parts, np.split(numbers, ends[:-1])


def _motion(part: CellFrame) -> Motion:
    assert part.motion is not None
    return part.motion


def _model_joint(part: CellFrame) -> ModelJoint:
    motion = _motion(part)
    return ModelJoint(
        name=part.name,
        kind=motion.kind,
        first="first",
        second="second",
        axis=motion.axis,
        pitch=motion.pitch,
    )


def _pose(part: CellFrame, theta: Array) -> Array:
    """(4, 4) motion of a frame at given coordinates, after its pose at zero."""
    motion = _motion(part)
    moved = joint_motion.motion_pose(_model_joint(part), theta)
    return (se3.inverse(moved) if motion.backwards else moved) @ motion.joint_H_frame.matrix()


def _subspace(part: CellFrame, theta: Array) -> Array:
    """(6, n) velocities of a frame for unit velocities of its joint, in its axes at its origin."""
    motion = _motion(part)
    side = "first" if motion.backwards else "second"
    columns = joint_motion.motion_subspace(_model_joint(part), theta, child=side)
    frame_H_side = se3.inverse(motion.joint_H_frame.matrix())
    return spatial.motion_transform(frame_H_side) @ columns


class RevoluteJoint(Joint):
    """One angle."""

    TYPE = "Revolute"


class PrismaticJoint(Joint):
    """One length."""

    TYPE = "Prismatic"


class UniversalJoint(Joint):
    """Two angles: about x, then about the new y. Files do not keep its limits."""

    TYPE = "Universal"


class SphericalJoint(Joint):
    """Three angles: about x, about the new y, about the new z."""

    TYPE = "Spherical"


class PrismaticUniversalJoint(Joint):
    """Two angles and a length: about x, about the new y, along the new z."""

    TYPE = "PrismaticUniversal"


class PrismaticSphericalJoint(Joint):
    """Three angles and a length: about x, y and z, each new, then along z."""

    TYPE = "PrismaticSpherical"


class VirtualJoint(Joint):
    """A joint that has coordinates, but does not move.

    In the cell, each coordinate moves a frame along z, and the next frame moves back by as much.
    """

    def __init__(self, name: Any, transform: Any = None, dof: int = 1) -> None:
        """Make a joint by its name, its pose, and the number of its coordinates."""
        self._dof = int(dof)
        super().__init__(name, transform)

    def _make_parts(self, name: str) -> list[CellFrame]:
        if self._dof < 1:
            raise model_error(f"a virtual joint needs a coordinate, got {self._dof}", name)
        parts: list[CellFrame] = []
        for k in range(self._dof):
            back = Mimic(joint=f"{name}.{k}", multiplier=-1.0)
            ending = f".{k}.back" if k < self._dof - 1 else ""
            for end, depends in ((f".{k}", None), (ending, back)):
                motion = Motion(kind="prismatic", depends=depends)
                parts.append(CellFrame(name=name + end, parent=WORLD, motion=motion))
        return parts

    def getJointTransform(self, state: Any) -> Transform3D:
        """The identity."""
        self._coordinates(state)
        return Transform3D()

    def getJacobian(self, *args: Any, **kwargs: Any) -> None:
        """Add nothing: it does not move."""


class DependentJoint(Joint):
    """A joint that follows another: q = scale * q of its owner + offset."""

    def __init__(
        self,
        name: Any,
        transform: Any = None,
        owner: Any = None,
        scale: float = 1.0,
        offset: float = 0.0,
    ) -> None:
        """Make a joint by its name, its pose at zero, and the joint that it follows."""
        if isinstance(name, CellFrame):
            super().__init__(name, None, transform)
            return
        super().__init__(name, transform)
        if not isinstance(owner, Joint):
            raise model_error(
                "a dependent joint needs the joint that it depends on", f"joint {name!r}"
            )
        depends = Mimic(joint=owner.cell_names[-1], multiplier=scale, offset=offset)
        self._parts = (replace(self.part, motion=replace(self.motion, depends=depends)),)

    def getOwner(self) -> Joint:
        """The joint that it depends on."""
        depends = self.motion.depends
        assert depends is not None
        owner = self._in_cell().frame(depends.joint)
        assert isinstance(owner, Joint)
        return owner

    def _coordinates(self, q: Any) -> tuple[tuple[CellFrame, ...], list[Array]]:
        if not isinstance(q, State):
            return self.parts, [as_numbers(q, "q").reshape(1)]
        _, (theta,) = self.getOwner()._coordinates(q)
        return self.parts, [self.getScale() * theta + self.getOffset()]

    def getJacobian(  # noqa: PLR0917 - the arguments of RobWork
        self,
        row: int,
        col: int,
        joint: Transform3D,
        tcp: Transform3D,
        state: Any,
        jacobian: Jacobian,
    ) -> None:
        """Add its motion, for a unit velocity of its owner, to the column of the owner."""
        column = Jacobian(6, 1)
        super().getJacobian(0, 0, joint, tcp, state, column)
        jacobian.e()[row : row + 6, col] += self.getScale() * column.e()[:, 0]

    def getScale(self) -> float:
        """Its value for each unit of its owner's."""
        depends = self.motion.depends
        return depends.multiplier if depends else 1.0

    def getOffset(self) -> float:
        """Its value where its owner is at zero."""
        depends = self.motion.depends
        return depends.offset if depends else 0.0


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


def frame_of(structure: StateStructure, part: CellFrame) -> Frame:
    """The frame object of a frame of a linkwork cell."""
    if part.motion is None:
        kind: Any = MovableFrame if part.movable else FixedFrame
        return kind(part, structure=structure)
    if part.motion.depends:
        return _DEPENDENT.get(part.motion.kind, DependentJoint)(part, structure)
    return _KINDS.get(part.motion.kind, Joint)(part, None, structure)
