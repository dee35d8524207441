"""Points, directions, spatial vectors, rotations, poses and inertias with iDynTree's names.

6-vectors   [linear; angular]
Poses       a rotation or a pose is that of a frame b in a frame a
Products    the table `PRODUCTS` at the end defines `left * right`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import (
    PRODUCTS,
    Matrix3x3,
    Matrix4x4,
    Matrix6x6,
    Vector3,
    Vector4,
    Vector6,
    Vector10,
    array_of,
)
from linkwork.compat.idyntree.statuses import Partial
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, shown
from linkwork.spatial import inertia, motion, quat, se3, so3

if TYPE_CHECKING:
    from typing_extensions import Self


class GeomVector3(Vector3):
    """A vector that rotates with the axes it is expressed in."""

    FAMILY = "vector"

    def dot(self, other: ArrayLike) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's, without an output
        """Return the scalar product with another vector."""
        return self.view(np.ndarray).dot(np.asarray(other))

    def cross(self, other: ArrayLike) -> GeomVector3:
        """Return the cross product with another vector."""
        return array_of(GeomVector3, np.cross(self.toNumPy(), GeomVector3(other).toNumPy()))

    def exp(self) -> Rotation:
        """Return the rotation with this rotation vector."""
        return array_of(Rotation, so3.exp(self.toNumPy()))


class Position(Vector3):
    """A point."""

    FAMILY = "point"


class Direction(Vector3):
    """A vector of length 1: three components that are normalized, or by default x."""

    FAMILY = "direction"

    def __new__(cls, *values: ArrayLike) -> Self:
        """Create a direction."""
        self = super().__new__(cls, *(values or ((1.0, 0.0, 0.0),)))
        self.Normalize()
        return self

    def Normalize(self, tol: float = 1e-12) -> None:
        """Normalize it; it becomes x if it is shorter than a tolerance."""
        length = float(np.linalg.norm(self))
        self[...] = (1.0, 0.0, 0.0) if length < tol else self.view(np.ndarray) / length

    def reverse(self) -> Direction:
        """Return the opposite direction."""
        return array_of(Direction, -self.toNumPy())

    def toString(self) -> str:
        """Format the components."""
        x, y, z = self.tolist()
        return f" x {x:g} y {y:g} z {z:g}"


class Axis(Partial):
    """A line: by default x through the origin; a direction and a point; or another axis."""

    FAMILY = "axis"

    def __init__(self, *parts: Any) -> None:
        if len(parts) == 1 and isinstance(parts[0], Axis):
            parts = parts[0].getDirection(), parts[0].getOrigin()
        if len(parts) not in (0, 2):
            message = f"Axis: expected a direction and a point, got {len(parts)} arguments"
            raise ArgumentError(message)
        self._direction, self._origin = Direction(*parts[:1]), Position(*parts[1:])

    def __repr__(self) -> str:
        return f"Axis({self._direction.tolist()}, {self._origin.tolist()})"

    def __str__(self) -> str:
        return self.toString()

    def toString(self) -> str:
        """Format direction and point."""
        return f"Direction: {self._direction.toString()} Origin: {self._origin.toString()}"

    def getDirection(self) -> Direction:
        """Return the direction of the axis; changes to it change the axis."""
        return self._direction

    def getOrigin(self) -> Position:
        """Return a point of the axis; changes to it change the axis."""
        return self._origin

    def setDirection(self, _direction: ArrayLike) -> None:
        """Set the direction."""
        self._direction[...] = Direction(_direction)

    def setOrigin(self, _position: ArrayLike) -> None:
        """Set the point."""
        self._origin[...] = Position(_position)

    def reverse(self) -> Axis:
        """Return the same line with the opposite direction."""
        return Axis(self._direction.reverse(), self._origin)


class SpatialVector(Vector6):
    """A linear and an angular vector."""

    def getLinearVec3(self) -> GeomVector3:
        """Return the linear part; changes to it change this vector."""
        return self[:3].view(GeomVector3)

    def getAngularVec3(self) -> GeomVector3:
        """Return the angular part; changes to it change this vector."""
        return self[3:].view(GeomVector3)

    def setLinearVec3(self, _linearVec3: ArrayLike) -> None:
        """Set the linear part."""
        self[:3] = Vector3(_linearVec3)

    def setAngularVec3(self, _angularVec3: ArrayLike) -> None:
        """Set the angular part."""
        self[3:] = Vector3(_angularVec3)

    def asVector(self) -> Vector6:
        """Return the components as a plain vector."""
        return array_of(Vector6, self)

    def dot(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's, without an output
        """Return the power of a motion and a force."""
        if getattr(other, "FAMILY", "") == self.FAMILY:
            message = f"{type(self).__name__}.dot: expected its dual, got a {type(other).__name__}"
            raise ArgumentError(message)
        return self.view(np.ndarray).dot(np.asarray(other))


class SpatialMotionVector(SpatialVector):
    """A motion vector, transformed between frames like a velocity."""

    FAMILY = "motion"

    def cross(self, other: Any) -> Any:
        """Rate of change of a motion or a force that is fixed to a body with this velocity."""
        if isinstance(other, SpatialMotionVector):
            rate = motion.motion_cross(self.toNumPy(), other.toNumPy())
            return array_of(SpatialMotionVector, rate)
        if isinstance(other, SpatialForceVector):
            rate = motion.force_cross(self.toNumPy(), other.toNumPy())
            return array_of(SpatialForceVector, rate)
        raise ArgumentError(f"cross: expected a spatial motion or force, got {shown(other)}")

    def exp(self) -> Transform:
        """Return the pose reached after one second with this velocity, in the moving axes."""
        return array_of(Transform, se3.exp(self.toNumPy()))


class Twist(SpatialMotionVector):
    """A velocity."""


class SpatialAcc(SpatialMotionVector):
    """An acceleration."""


class SpatialForceVector(SpatialVector):
    """A force vector, transformed between frames like a wrench."""

    FAMILY = "force"


class Wrench(SpatialForceVector):
    """A force and a torque."""


class SpatialMomentum(SpatialForceVector):
    """A momentum."""


class Rotation(Matrix3x3):
    """Orientation of a frame b in a frame a: nine elements, or by default the identity."""

    FAMILY = "rotation"
    ADDITIVE = False

    def __new__(cls, *values: ArrayLike) -> Self:
        """Create a rotation."""
        return super().__new__(cls, *(values or (np.eye(3),)))

    @staticmethod
    def Identity() -> Rotation:
        """Return the identity."""
        return Rotation()

    @staticmethod
    def RPY(roll: float, pitch: float, yaw: float) -> Rotation:
        """Rz(yaw) Ry(pitch) Rx(roll)."""
        return array_of(Rotation, so3.from_rpy([roll, pitch, yaw]))

    @staticmethod
    def RotX(angle: float) -> Rotation:
        """Return the rotation about x."""
        return array_of(Rotation, so3.rot_x(angle))

    @staticmethod
    def RotY(angle: float) -> Rotation:
        """Return the rotation about y."""
        return array_of(Rotation, so3.rot_y(angle))

    @staticmethod
    def RotZ(angle: float) -> Rotation:
        """Return the rotation about z."""
        return array_of(Rotation, so3.rot_z(angle))

    @staticmethod
    def RotAxis(direction: ArrayLike, angle: float) -> Rotation:
        """Return the rotation about a direction."""
        return array_of(Rotation, so3.about(Direction(direction).toNumPy(), angle))

    @staticmethod
    def RotationFromQuaternion(quaternion: ArrayLike) -> Rotation:
        """Return the rotation of a quaternion w, x, y, z, which is normalized."""
        return array_of(Rotation, quat.to_rotation(quat.normalize(Vector4(quaternion).toNumPy())))

    def fromQuaternion(self, quaternion: ArrayLike) -> None:
        """Set the rotation of a quaternion w, x, y, z, which is normalized."""
        self[...] = Rotation.RotationFromQuaternion(quaternion)

    def asQuaternion(self) -> Vector4:
        """Return the quaternion w, x, y, z."""
        return array_of(Vector4, quat.from_rotation(self.toNumPy()))

    def asRPY(self) -> Vector3:
        """Return roll, pitch and yaw; the roll is 0 where the pitch is +-pi/2."""
        R = self.toNumPy()
        if abs(R[2, 0]) < 1.0:
            return array_of(Vector3, so3.to_rpy(R))
        return Vector3(0.0, -np.copysign(np.pi / 2, R[2, 0]), np.arctan2(-R[0, 1], R[1, 1]))

    def log(self) -> GeomVector3:
        """Return the rotation vector: angle times axis."""
        return array_of(GeomVector3, so3.log(self.toNumPy()))

    def inverse(self) -> Rotation:
        """Return the orientation of a in b."""
        return array_of(Rotation, self.toNumPy().T)


class Transform(Matrix4x4):
    """Pose of a frame b in a frame a: the identity, a matrix, or a rotation and a position."""

    FAMILY = "pose"
    ADDITIVE = False

    def __new__(cls, *parts: ArrayLike) -> Self:
        """Create a pose."""
        if len(parts) == 2:
            R, p = Rotation(parts[0]).toNumPy(), Position(parts[1]).toNumPy()
            return array_of(cls, se3.pose(R, p))
        return super().__new__(cls, *(parts or (np.eye(4),)))

    @staticmethod
    def Identity() -> Transform:
        """Return the identity."""
        return Transform()

    def asHomogeneousTransform(self) -> Matrix4x4:
        """Return the pose as a matrix."""
        return array_of(Matrix4x4, self)

    def asAdjointTransform(self) -> Matrix6x6:
        """Return the matrix that transforms velocities in b to a."""
        return array_of(Matrix6x6, motion.motion_transform(self.toNumPy()))

    def asAdjointTransformWrench(self) -> Matrix6x6:
        """Return the matrix that transforms forces in b to a."""
        return array_of(Matrix6x6, motion.force_transform(self.toNumPy()))

    def getPosition(self) -> Position:
        """Return the origin of b in a; changes to it change this pose."""
        return self[:3, 3].view(Position)

    def getRotation(self) -> Rotation:
        """Return the orientation of b in a; changes to it change this pose."""
        return self[:3, :3].view(Rotation)

    def setPosition(self, position: ArrayLike) -> None:
        """Set the origin of b in a."""
        self[:3, 3] = Position(position)

    def setRotation(self, rotation: ArrayLike) -> None:
        """Set the orientation of b in a."""
        self[:3, :3] = Rotation(rotation)

    def inverse(self) -> Transform:
        """Return the pose of a in b."""
        return array_of(Transform, se3.inverse(self.toNumPy()))

    def log(self) -> SpatialMotionVector:
        """Return the velocity that reaches this pose in one second, in the moving axes."""
        return array_of(SpatialMotionVector, se3.log(self.toNumPy()))

    def toString(self) -> str:
        """Format the rotation, then the position."""
        return f"{self.getRotation().toString()}\n {self.getPosition().toString()}"


class RotationalInertia(Matrix3x3):
    """Inertia tensor."""

    FAMILY = "rotational inertia"


class SpatialInertia(Matrix6x6):
    """Inertia of a body: zero, a matrix, or mass, center of mass and tensor about the origin."""

    FAMILY = "inertia"

    def __new__(cls, *values: ArrayLike) -> Self:
        """Create an inertia."""
        if len(values) != 3:
            return super().__new__(cls, *values)
        mass, com, tensor = values
        self = super().__new__(cls)
        self[:3, :3] = float(np.asarray(mass)) * np.eye(3)
        self[3:, :3] = so3.wedge(float(np.asarray(mass)) * Position(com).toNumPy())
        self[:3, 3:] = self[3:, :3].T
        self[3:, 3:] = RotationalInertia(tensor)
        return self

    def fromRotationalInertiaWrtCenterOfMass(
        self, mass: float, com: ArrayLike, rotInertia: ArrayLike
    ) -> None:
        """Set the inertia from a mass, its center, and the tensor about that center."""
        tensor = RotationalInertia(rotInertia).toNumPy()
        self[...] = inertia.matrix(inertia.from_com(mass, Position(com).toNumPy(), tensor))

    def fromVector(self, inertialParams: ArrayLike) -> None:
        """Set the inertia from m, m c, and ixx, ixy, ixz, iyy, iyz, izz about the origin."""
        self[...] = inertia.matrix(Vector10(inertialParams).toNumPy())

    def asVector(self) -> Vector10:
        """Return the ten parameters of `fromVector`."""
        return array_of(Vector10, inertia.from_matrix(self.toNumPy()))

    def asMatrix(self) -> Matrix6x6:
        """Return the matrix from velocity to momentum."""
        return array_of(Matrix6x6, self)

    def getMass(self) -> float:
        """Return the mass [kg]."""
        return self.getVal(0, 0)

    def getCenterOfMass(self) -> Position:
        """Return the center of mass [m]; the origin if there is no mass."""
        mass = self.getMass()
        return array_of(Position, so3.vee(self[3:, :3]) / mass) if mass else Position()

    def getRotationalInertiaWrtFrameOrigin(self) -> RotationalInertia:
        """Return the tensor about the origin; changes to it change this inertia."""
        return self[3:, 3:].view(RotationalInertia)

    def getRotationalInertiaWrtCenterOfMass(self) -> RotationalInertia:
        """Return the tensor about the center of mass."""
        return array_of(RotationalInertia, inertia.to_com(self.asVector().toNumPy())[2])


Rule = Callable[[Array, Array], Array]


def _product(rule: Rule, kind: Any = None) -> Callable[[Any, Any], Any]:
    """Build a product with the class of its right side, or with another class."""
    return lambda left, right: array_of(kind or type(right), rule(left.toNumPy(), right.toNumPy()))


def _moved_axis(left: Any, right: Axis) -> Axis:
    return Axis(left * right.getDirection(), left * right.getOrigin())


def _rotated(R: Array, vector: Array) -> Array:
    return np.concatenate([R @ vector[:3], R @ vector[3:]])


def _moved_inertia(H: Array, M: Array) -> Array:
    return motion.force_transform(H) @ M @ motion.motion_transform(se3.inverse(H))


def _translated(rule: Rule) -> Rule:
    """Apply a rule for poses to a translation."""
    return lambda p, vector: rule(se3.pose(np.eye(3), p), vector)


PRODUCTS.update(
    {
        (Rotation, Rotation): _product(np.matmul),
        (Rotation, Position): _product(np.matmul),
        (Rotation, Direction): _product(np.matmul),
        (Rotation, Axis): _moved_axis,
        (Rotation, SpatialMotionVector): _product(_rotated),
        (Rotation, SpatialForceVector): _product(_rotated),
        (Rotation, RotationalInertia): _product(lambda R, tensor: R @ tensor @ R.T),
        (Transform, Transform): _product(np.matmul),
        (Transform, Position): _product(se3.transform_point),
        (Transform, Direction): _product(lambda H, direction: H[:3, :3] @ direction),
        (Transform, Axis): _moved_axis,
        (Transform, SpatialMotionVector): _product(motion.transform_motion),
        (Transform, SpatialForceVector): _product(motion.transform_force),
        (Transform, SpatialInertia): _product(_moved_inertia),
        (Position, SpatialMotionVector): _product(_translated(motion.transform_motion)),
        (Position, SpatialForceVector): _product(_translated(motion.transform_force)),
        (SpatialInertia, Twist): _product(np.matmul, SpatialMomentum),
        (SpatialInertia, SpatialAcc): _product(np.matmul, Wrench),
        (SpatialInertia, SpatialMotionVector): _product(np.matmul, SpatialForceVector),
        (Twist, Twist): _product(motion.motion_cross, SpatialAcc),
        (Twist, SpatialAcc): _product(motion.motion_cross, SpatialAcc),
        (Twist, SpatialMomentum): _product(motion.force_cross, Wrench),
    }
)
