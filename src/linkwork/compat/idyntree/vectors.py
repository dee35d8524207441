"""Points, directions and spatial vectors under iDynTree's names; [linear; angular]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import Vector3, Vector6, made
from linkwork.errors import ArgumentError, shown
from linkwork.spatial import motion, se3, so3

if TYPE_CHECKING:
    from typing_extensions import Self

    from linkwork.compat.idyntree.poses import Rotation, Transform


class GeomVector3(Vector3):
    """A vector that turns with the axes it is written in."""

    FAMILY = "vector"

    def changeCoordFrame(self, newCoordFrame: Rotation) -> GeomVector3:
        """The same vector in the axes of another frame."""
        return made(GeomVector3, newCoordFrame.toNumPy() @ self.toNumPy())

    def compose(self, op1: ArrayLike, op2: ArrayLike) -> GeomVector3:
        """Sum of two vectors."""
        return GeomVector3(GeomVector3(op1).toNumPy() + GeomVector3(op2).toNumPy())

    def inverse(self, op: ArrayLike) -> GeomVector3:
        """The opposite of a vector."""
        return GeomVector3(-GeomVector3(op).toNumPy())

    def dot(self, other: ArrayLike) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's, without an output
        """Scalar product with another vector."""
        return self.view(np.ndarray).dot(np.asarray(other))

    def cross(self, other: ArrayLike) -> GeomVector3:
        """Cross product with another vector."""
        return made(GeomVector3, np.cross(self.toNumPy(), GeomVector3(other).toNumPy()))

    def exp(self) -> Rotation:
        """Rotation by this vector, angle times axis."""
        from linkwork.compat.idyntree.poses import Rotation

        return made(Rotation, so3.exp(self.toNumPy()))


class Position(Vector3):
    """A point."""

    FAMILY = "point"

    def changePoint(self, newPoint: ArrayLike) -> Position:
        """Go on to a further point, in place."""
        self[...] = self.view(np.ndarray) + Position(newPoint).toNumPy()
        return self

    def changeRefPoint(self, newRefPoint: ArrayLike) -> Position:
        """Count from another point, of which the old one is given, in place."""
        return self.changePoint(newRefPoint)

    def changeCoordinateFrame(self, newCoordinateFrame: Rotation) -> Position:
        """Write it in the axes of another frame, in place."""
        self[...] = newCoordinateFrame.toNumPy() @ self.toNumPy()
        return self

    @staticmethod
    def compose(op1: ArrayLike, op2: ArrayLike) -> Position:
        """Sum of two."""
        return Position(Position(op1).toNumPy() + Position(op2).toNumPy())

    @staticmethod
    def inverse(op: ArrayLike) -> Position:
        """The opposite."""
        return Position(-Position(op).toNumPy())

    def changePointOf(self, other: Any) -> Any:
        """A spatial vector about another point; the same as `position * vector`."""
        return self * other


class Direction(Vector3):
    """A vector of length 1; x unless three numbers are given, which are scaled."""

    FAMILY = "direction"

    def __new__(cls, *numbers: ArrayLike) -> Self:
        """Make a direction."""
        self = super().__new__(cls, *(numbers or ((1.0, 0.0, 0.0),)))
        self.Normalize()
        return self

    @staticmethod
    def Default() -> Direction:
        """The x axis."""
        return Direction()

    def Normalize(self, tol: float = 1e-12) -> None:
        """Scale it to length 1; it becomes x if it is shorter than a tolerance."""
        length = float(np.linalg.norm(self))
        self[...] = (1.0, 0.0, 0.0) if length < tol else self.view(np.ndarray) / length

    def isParallel(self, otherDirection: ArrayLike, tolerance: float) -> bool:
        """Whether another direction is the same or the opposite one."""
        other = Direction(otherDirection).toNumPy()
        apart = min(np.linalg.norm(self.toNumPy() - other), np.linalg.norm(self.toNumPy() + other))
        return bool(apart < tolerance)

    def isPerpendicular(self, otherDirection: ArrayLike, tolerance: float) -> bool:
        """Whether another direction is at a right angle."""
        return bool(abs(self.toNumPy() @ Direction(otherDirection).toNumPy()) < tolerance)

    def reverse(self) -> Direction:
        """The opposite direction."""
        return made(Direction, -self.toNumPy())

    def toString(self) -> str:
        """The numbers as a text."""
        x, y, z = self.tolist()
        return f" x {x:g} y {y:g} z {z:g}"


class SpatialVector(Vector6):
    """A linear and an angular vector."""

    def getLinearVec3(self) -> GeomVector3:
        """The linear part; changes to it change this vector."""
        return self[:3].view(GeomVector3)

    def getAngularVec3(self) -> GeomVector3:
        """The angular part; changes to it change this vector."""
        return self[3:].view(GeomVector3)

    def setLinearVec3(self, _linearVec3: ArrayLike) -> None:
        """Set the linear part."""
        self[:3] = Vector3(_linearVec3)

    def setAngularVec3(self, _angularVec3: ArrayLike) -> None:
        """Set the angular part."""
        self[3:] = Vector3(_angularVec3)

    def asVector(self) -> Vector6:
        """The same numbers."""
        return made(Vector6, self)

    def dot(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's, without an output
        """Power of a motion and a force."""
        theirs = getattr(other, "FAMILY", "")
        if theirs == self.FAMILY:
            text = f"{type(self).__name__}.dot: expected its dual, got a {type(other).__name__}"
            raise ArgumentError(text)
        return self.view(np.ndarray).dot(np.asarray(other))

    def changeCoordFrame(self, newCoordFrame: Rotation) -> Any:
        """The same vector in the axes of another frame."""
        return newCoordFrame * self

    def changePoint(self, newPoint: Position) -> Any:
        """The same vector about another point, which sees the old one at `newPoint`."""
        return newPoint * self

    @classmethod
    def compose(cls, op1: ArrayLike, op2: ArrayLike) -> Self:
        """Sum of two."""
        return cls(cls(op1).toNumPy() + cls(op2).toNumPy())

    @classmethod
    def inverse(cls, op: ArrayLike) -> Self:
        """The opposite."""
        return cls(-cls(op).toNumPy())


class SpatialMotionVector(SpatialVector):
    """A motion: moved between frames as a velocity is."""

    FAMILY = "motion"

    def cross(self, other: Any) -> Any:
        """Rate of change of a motion or a force that is fixed to what moves with this velocity."""
        if isinstance(other, SpatialMotionVector):
            return made(SpatialMotionVector, motion.motion_cross(self.toNumPy(), other.toNumPy()))
        if isinstance(other, SpatialForceVector):
            return made(SpatialForceVector, motion.force_cross(self.toNumPy(), other.toNumPy()))
        raise ArgumentError(f"cross: expected a spatial motion or force, got {shown(other)}")

    def exp(self) -> Transform:
        """Pose reached after one second with this velocity, in the moving axes."""
        from linkwork.compat.idyntree.poses import Transform

        return made(Transform, se3.exp(self.toNumPy()))


class Twist(SpatialMotionVector):
    """A velocity."""


class SpatialAcc(SpatialMotionVector):
    """An acceleration."""


class SpatialForceVector(SpatialVector):
    """A force: moved between frames as a wrench is."""

    FAMILY = "force"


class Wrench(SpatialForceVector):
    """A force and a torque."""


class SpatialMomentum(SpatialForceVector):
    """A momentum."""


SpatialMotionVectorBase = SpatialMotionVector
SpatialForceVectorBase = SpatialForceVector


class ClassicalAcc(Vector6):
    """Acceleration of a point of a body, and angular acceleration."""

    FAMILY = "classical acceleration"

    def changeCoordFrame(self, newCoordFrame: Rotation) -> ClassicalAcc:
        """Write it in the axes of another frame, in place."""
        self[...] = (newCoordFrame * self).view(np.ndarray)
        return self

    def fromSpatial(self, spatialAcc: ArrayLike, vel: ArrayLike) -> None:
        """Become the acceleration of a body of a spatial acceleration and a velocity."""
        a, v = SpatialAcc(spatialAcc).toNumPy(), Twist(vel).toNumPy()
        self[:3], self[3:] = a[:3] + np.cross(v[3:], v[:3]), a[3:]

    def toSpatial(self, spatialAcc: SpatialAcc, vel: ArrayLike) -> None:
        """Write the spatial acceleration of this body, which has a velocity."""
        v = Twist(vel).toNumPy()
        spatialAcc[:3], spatialAcc[3:] = self[:3] - np.cross(v[3:], v[:3]), self[3:]
