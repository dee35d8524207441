"""Joints under RobWork's names: they move along or about the z axis of their frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from linkwork.compat.robwork.frames import FixedFrame, Frame, MovableFrame, as_matrix
from linkwork.compat.robwork.numbers import Q, as_numbers
from linkwork.compat.robwork.structure import State, StateStructure
from linkwork.compat.robwork.transforms import Transform3D
from linkwork.errors import model_error
from linkwork.model.parts import Mimic
from linkwork.model.pose import as_pose
from linkwork.workcell.parts import CellFrame, Motion


class QBox(NamedTuple):
    """Lower and upper bounds."""

    first: Q
    second: Q


class Joint(Frame):
    """A frame that moves on its parent by coordinates."""

    KIND = ""
    AXIS: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __init__(self, name: Any, transform: Any = None, structure: Any = None) -> None:
        """Make a joint by its name and pose at zero."""
        if isinstance(name, CellFrame):
            super().__init__(name, structure)
            return
        if not self.KIND:
            raise model_error("a joint is a RevoluteJoint, PrismaticJoint and so on")
        pose = as_pose(as_matrix(Transform3D() if transform is None else transform))
        motion = Motion(kind=self.KIND, axis=self.AXIS)
        super().__init__(CellFrame(name=name, parent="WORLD", parent_H_frame=pose, motion=motion))

    @property
    def motion(self) -> Motion:
        """How it moves, in linkwork's terms."""
        motion = self.part.motion
        assert motion is not None
        return motion

    def getBounds(self) -> QBox:
        """Bounds of its coordinates; infinite where there are none."""
        n, limits = self.getDOF(), self.motion.limits
        return QBox(Q([limits.lower] * n), Q([limits.upper] * n))

    def setBounds(self, *bounds: Any) -> None:
        """Other bounds: a lower and an upper one, or a pair of them."""
        lower, upper = bounds if len(bounds) == 2 else bounds[0]
        low, high = (float(as_numbers(one, "bounds").reshape(-1)[0]) for one in (lower, upper))
        self._change(limits=replace(self.motion.limits, lower=low, upper=high))

    def getMaxVelocity(self) -> Q:
        """Largest speed; infinite if none is given."""
        return Q([self.motion.limits.velocity] * self.getDOF())

    def setMaxVelocity(self, maxVelocity: Any) -> None:
        """Another largest speed."""
        speed = float(as_numbers(maxVelocity, "maxVelocity").reshape(-1)[0])
        self._change(limits=replace(self.motion.limits, velocity=speed))

    def getMaxAcceleration(self) -> Q:
        """Largest acceleration; infinite if none is given."""
        return Q([self.motion.acceleration] * self.getDOF())

    def setMaxAcceleration(self, maxAcceleration: Any) -> None:
        """Another largest acceleration."""
        self._change(
            acceleration=float(as_numbers(maxAcceleration, "maxAcceleration").reshape(-1)[0])
        )

    def isActive(self) -> bool:
        """Whether devices drive it."""
        return self.motion.active

    def setActive(self, isActive: bool) -> None:
        """Whether devices that are made from now on drive it."""
        self._change(active=bool(isActive))

    def getFixedTransform(self) -> Transform3D:
        """Its pose on its parent at zero."""
        return Transform3D(self.part.parent_H_frame.matrix())

    def setFixedTransform(self, t3d: Transform3D) -> None:
        """Another pose on its parent at zero, in all states."""
        self._change(parent_H_frame=as_pose(as_matrix(t3d)))

    def getJointTransform(self, state: State) -> Transform3D:
        """Its motion alone: what its coordinates make of it."""
        return self.getFixedTransform().inverse() * self.getTransform(state)

    def getData(self, state: State) -> list[float]:
        """Its coordinates in a state."""
        structure = self._in_cell()
        return structure.cell.values(self.getName(), structure.checked(state)).tolist()

    def setData(self, state: State, vals: Sequence[float]) -> None:
        """Other coordinates, in this state."""
        structure = self._in_cell()
        value = structure.checked(state)
        state.value = structure.cell.set_values(value, self.getName(), as_numbers(vals, "vals"))


class RevoluteJoint(Joint):
    """One angle."""

    KIND = "revolute"


class PrismaticJoint(Joint):
    """One length."""

    KIND = "prismatic"


class UniversalJoint(Joint):
    """Two angles: about x, then about the new y."""

    KIND = "universal"
    AXIS = (1.0, 0.0, 0.0)


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
        depends = Mimic(joint=owner.getName(), multiplier=scale, offset=offset)
        self._part = replace(self._part, motion=replace(self.motion, depends=depends))

    def getOwner(self) -> Frame:
        """The joint that it depends on."""
        depends = self.motion.depends
        assert depends is not None
        return self._in_cell().frame(depends.joint)

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

    KIND = "revolute"


class DependentPrismaticJoint(DependentJoint):
    """A dependent length."""

    KIND = "prismatic"


_KINDS = {kind.KIND: kind for kind in (RevoluteJoint, PrismaticJoint, UniversalJoint)}
_DEPENDENT = {kind.KIND: kind for kind in (DependentRevoluteJoint, DependentPrismaticJoint)}


def frame_of(structure: StateStructure, part: CellFrame) -> Frame:
    """The frame object of a frame of a linkwork cell."""
    if part.motion is None:
        kind: Any = MovableFrame if part.movable else FixedFrame
        return kind(part, structure=structure)
    if part.motion.depends:
        return _DEPENDENT.get(part.motion.kind, DependentJoint)(part, structure)
    return _KINDS.get(part.motion.kind, Joint)(part, None, structure)
