"""A line in space, about which or along which a joint moves, under iDynTree's names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import Matrix3x3, Matrix4x4, Vector3, made
from linkwork.compat.idyntree.poses import Rotation, Transform
from linkwork.compat.idyntree.vectors import Direction, Position, SpatialAcc, Twist
from linkwork.errors import ArgumentError
from linkwork.spatial import se3


class Axis:
    """A direction and a point: x through the origin unless both, or another axis, are given."""

    FAMILY = "axis"

    def __init__(self, *parts: Any) -> None:
        self._direction, self._origin = Direction(), Position()
        if len(parts) == 1 and isinstance(parts[0], Axis):
            self.setDirection(parts[0].getDirection())
            self.setOrigin(parts[0].getOrigin())
        elif len(parts) == 2:
            self._direction, self._origin = Direction(parts[0]), Position(parts[1])
        elif parts:
            raise ArgumentError(f"Axis: expected a direction and a point, got {len(parts)} parts")

    def __repr__(self) -> str:
        return f"Axis({self._direction.tolist()}, {self._origin.tolist()})"

    def __str__(self) -> str:
        return self.toString()

    def toString(self) -> str:
        """The numbers as a text."""
        return f"Direction: {self._direction.toString()} Origin: {self._origin.toString()}"

    def getDirection(self) -> Direction:
        """Direction of the axis; changes to it change the axis."""
        return self._direction

    def getOrigin(self) -> Position:
        """A point of the axis; changes to it change the axis."""
        return self._origin

    def setDirection(self, _direction: ArrayLike) -> None:
        """Give it another direction."""
        self._direction[...] = Direction(_direction)

    def setOrigin(self, _position: ArrayLike) -> None:
        """Give it another point."""
        self._origin[...] = Position(_position)

    def getRotationTransform(self, theta: float) -> Transform:
        """Pose of what has turned about the axis by an angle."""
        R = Rotation.RotAxis(self._direction, theta).toNumPy()
        p = self._origin.toNumPy()
        return made(Transform, se3.pose(R, p - R @ p))

    def getRotationTransformDerivative(self, theta: float) -> TransformDerivative:
        """Its derivative by the angle."""
        R = Rotation.RotAxisDerivative(self._direction, theta).toNumPy()
        return TransformDerivative(R, -R @ self._origin.toNumPy())

    def getRotationTwist(self, dtheta: float) -> Twist:
        """Velocity of what turns about the axis."""
        linear = np.cross(self._origin.toNumPy(), self._direction.toNumPy())
        return Twist(dtheta * linear, dtheta * self._direction.toNumPy())

    def getRotationSpatialAcc(self, d2theta: float) -> SpatialAcc:
        """Acceleration of what starts to turn about the axis."""
        return SpatialAcc(self.getRotationTwist(d2theta).toNumPy())

    def getTranslationTransform(self, dist: float) -> Transform:
        """Pose of what has moved along the axis by a distance."""
        return made(Transform, se3.pose(np.eye(3), dist * self._direction.toNumPy()))

    def getTranslationTransformDerivative(self, arg2: float) -> TransformDerivative:
        """Its derivative by the distance, the same at every one."""
        del arg2
        return TransformDerivative(np.zeros((3, 3)), self._direction.toNumPy())

    def getTranslationTwist(self, ddist: float) -> Twist:
        """Velocity of what moves along the axis."""
        return Twist(ddist * self._direction.toNumPy(), np.zeros(3))

    def getTranslationSpatialAcc(self, d2dist: float) -> SpatialAcc:
        """Acceleration of what starts to move along the axis."""
        return SpatialAcc(self.getTranslationTwist(d2dist).toNumPy())

    def isParallel(self, otherAxis: Axis, tolerance: float) -> bool:
        """Whether another axis has the same or the opposite direction."""
        return self._direction.isParallel(otherAxis.getDirection(), tolerance)

    def reverse(self) -> Axis:
        """The same line the other way."""
        return Axis(self._direction.reverse(), self._origin)

    def getPointOnAxisClosestToGivenPoint(self, point: ArrayLike) -> Position:
        """The nearest point of the axis."""
        d, o = self._direction.toNumPy(), self._origin.toNumPy()
        return Position(o + (Position(point).toNumPy() - o) @ d * d)

    def getDistanceBetweenAxisAndPoint(self, point: ArrayLike) -> float:
        """Distance of a point from the axis."""
        nearest = self.getPointOnAxisClosestToGivenPoint(point).toNumPy()
        return float(np.linalg.norm(Position(point).toNumPy() - nearest))


class TransformDerivative(Matrix4x4):
    """Derivative of a pose by a number: 0, or those of the rotation and the position."""

    FAMILY = "derivative of a pose"

    def __new__(cls, *parts: ArrayLike) -> TransformDerivative:
        """Make a derivative."""
        if len(parts) != 2:
            return super().__new__(cls, *parts)
        self = made(cls, np.zeros((4, 4)))
        self[:3, :3], self[:3, 3] = Matrix3x3(parts[0]), Vector3(parts[1])
        return self

    def fromHomogeneousTransformDerivative(self, transformDerivative: ArrayLike) -> None:
        """Become the derivative of a matrix."""
        self[...] = Matrix4x4(transformDerivative)

    def asHomogeneousTransformDerivative(self) -> Matrix4x4:
        """The derivative as a matrix."""
        return made(Matrix4x4, self)

    def getRotationDerivative(self) -> Matrix3x3:
        """Derivative of the rotation."""
        return made(Matrix3x3, self[:3, :3])

    def getPositionDerivative(self) -> Vector3:
        """Derivative of the position."""
        return made(Vector3, self[:3, 3])

    def setRotationDerivative(self, rotationDerivative: ArrayLike) -> None:
        """Set the derivative of the rotation."""
        self[:3, :3] = Matrix3x3(rotationDerivative)

    def setPositionDerivative(self, positionDerivative: ArrayLike) -> None:
        """Set the derivative of the position."""
        self[:3, 3] = Vector3(positionDerivative)

    def derivativeOfInverse(self, transform: Transform) -> TransformDerivative:
        """Derivative of the inverse of a pose that has this one."""
        inverse = transform.inverse().toNumPy()
        return TransformDerivative(-inverse @ self.toNumPy() @ inverse)
