"""Rotations and poses under iDynTree's names. A rotation or a pose is that of a frame b in a."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import (
    Matrix3x3,
    Matrix4x4,
    Matrix6x6,
    Vector3,
    Vector4,
    made,
)
from linkwork.compat.idyntree.outputs import write
from linkwork.compat.idyntree.vectors import (
    Direction,
    GeomVector3,
    Position,
    SpatialMotionVector,
)
from linkwork.spatial import motion, quat, se3, so3

if TYPE_CHECKING:
    from typing_extensions import Self


class Rotation(Matrix3x3):
    """Orientation of a frame b in a frame a; the identity unless nine numbers are given."""

    FAMILY = "rotation"

    def __new__(cls, *numbers: ArrayLike) -> Self:
        """Make a rotation."""
        return super().__new__(cls, *(numbers or (np.eye(3),)))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return _wrapped(self, array, context)

    @staticmethod
    def Identity() -> Rotation:
        """No rotation."""
        return Rotation()

    @staticmethod
    def RPY(roll: float, pitch: float, yaw: float) -> Rotation:
        """Rz(yaw) Ry(pitch) Rx(roll)."""
        return made(Rotation, so3.from_rpy([roll, pitch, yaw]))

    @staticmethod
    def RotX(angle: float) -> Rotation:
        """Rotation about x."""
        return made(Rotation, so3.rot_x(angle))

    @staticmethod
    def RotY(angle: float) -> Rotation:
        """Rotation about y."""
        return made(Rotation, so3.rot_y(angle))

    @staticmethod
    def RotZ(angle: float) -> Rotation:
        """Rotation about z."""
        return made(Rotation, so3.rot_z(angle))

    @staticmethod
    def RotAxis(direction: ArrayLike, angle: float) -> Rotation:
        """Rotation about a direction."""
        return made(Rotation, so3.about(Direction(direction).toNumPy(), angle))

    @staticmethod
    def RotationFromQuaternion(quaternion: ArrayLike) -> Rotation:
        """Rotation of a quaternion w, x, y, z, which is scaled to length 1."""
        return made(Rotation, quat.to_rotation(quat.normalize(Vector4(quaternion).toNumPy())))

    def fromQuaternion(self, quaternion: ArrayLike) -> None:
        """Become the rotation of a quaternion w, x, y, z, which is scaled to length 1."""
        self[...] = Rotation.RotationFromQuaternion(quaternion)

    def asQuaternion(self) -> Vector4:
        """Quaternion w, x, y, z."""
        return made(Vector4, quat.from_rotation(self.toNumPy()))

    def getQuaternion(self, *out: Any) -> Any:
        """The quaternion w, x, y, z; or True, if there is an array to write to."""
        if not out:
            return self.asQuaternion()
        write(self.asQuaternion().toNumPy(), *out)
        return True

    def asRPY(self) -> Vector3:
        """Roll, pitch and yaw; the roll is 0 where the pitch is +-pi/2."""
        R = self.toNumPy()
        if abs(R[2, 0]) < 1.0:
            return made(Vector3, so3.to_rpy(R))
        return Vector3(0.0, -np.copysign(np.pi / 2, R[2, 0]), np.arctan2(-R[0, 1], R[1, 1]))

    def getRPY(self, r: Any = None, p: Any = None, y: Any = None) -> tuple[float, float, float]:
        """Roll, pitch and yaw; the arguments are C++'s outputs, and are not used."""
        del r, p
        del y
        roll, pitch, yaw = self.asRPY().tolist()
        return roll, pitch, yaw

    def log(self) -> GeomVector3:
        """Angle times axis."""
        return made(GeomVector3, so3.log(self.toNumPy()))

    def inverse(self) -> Rotation:
        """Orientation of a in b."""
        return made(Rotation, self.toNumPy().T)

    @staticmethod
    def inverse2(orient: Rotation) -> Rotation:
        """The inverse of a rotation."""
        return orient.inverse()

    @staticmethod
    def compose(op1: Rotation, op2: Rotation) -> Rotation:
        """One after the other: op1 * op2."""
        return op1 * op2

    def changeCoordFrameOf(self, other: Any) -> Any:
        """What is written in the axes of b, in those of a; the same as `rotation * other`."""
        return self * other

    def changeOrientFrame(self, newOrientFrame: Rotation) -> Rotation:
        """Speak of a frame that has this rotation in b, in place."""
        self[...] = self.toNumPy() @ newOrientFrame.toNumPy()
        return self

    def changeRefOrientFrame(self, newRefOrientFrame: Rotation) -> Rotation:
        """Speak of a frame in which a has this rotation, in place."""
        self[...] = newRefOrientFrame.toNumPy() @ self.toNumPy()
        return self

    def changeCoordinateFrame(self, newCoordinateFrame: Rotation) -> Rotation:
        """The same as `changeRefOrientFrame`."""
        return self.changeRefOrientFrame(newCoordinateFrame)


class Transform(Matrix4x4):
    """Pose of a frame b in a frame a: the identity, a matrix, or a rotation and a position."""

    FAMILY = "pose"

    def __new__(cls, *parts: ArrayLike) -> Self:
        """Make a pose."""
        if len(parts) == 2:
            return made(cls, se3.pose(Rotation(parts[0]).toNumPy(), Position(parts[1]).toNumPy()))
        return super().__new__(cls, *(parts or (np.eye(4),)))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return _wrapped(self, array, context)

    @staticmethod
    def Identity() -> Transform:
        """The pose of a frame in itself."""
        return Transform()

    def asHomogeneousTransform(self) -> Matrix4x4:
        """The pose as a matrix."""
        return made(Matrix4x4, self)

    def fromHomogeneousTransform(self, transform: ArrayLike) -> None:
        """Become the pose of a matrix."""
        self[...] = Matrix4x4(transform)

    def asAdjointTransform(self) -> Matrix6x6:
        """Matrix that moves velocities in b to a."""
        return made(Matrix6x6, motion.motion_transform(self.toNumPy()))

    def asAdjointTransformWrench(self) -> Matrix6x6:
        """Matrix that moves forces in b to a."""
        return made(Matrix6x6, motion.force_transform(self.toNumPy()))

    def getPosition(self) -> Position:
        """Origin of b in a; changes to it change this pose."""
        return self[:3, 3].view(Position)

    def getRotation(self) -> Rotation:
        """Orientation of b in a; changes to it change this pose."""
        return self[:3, :3].view(Rotation)

    def setPosition(self, position: ArrayLike) -> None:
        """Move the origin of b."""
        self[:3, 3] = Position(position)

    def setRotation(self, rotation: ArrayLike) -> None:
        """Give b another orientation."""
        self[:3, :3] = Rotation(rotation)

    def inverse(self) -> Transform:
        """Pose of a in b."""
        return made(Transform, se3.inverse(self.toNumPy()))

    @staticmethod
    def inverse2(trans: Transform) -> Transform:
        """The inverse of a pose."""
        return trans.inverse()

    @staticmethod
    def compose(op1: Transform, op2: Transform) -> Transform:
        """One after the other: op1 * op2."""
        return op1 * op2

    def log(self) -> SpatialMotionVector:
        """Velocity that leads to this pose in one second, in the moving axes."""
        return made(SpatialMotionVector, se3.log(self.toNumPy()))

    def toString(self) -> str:
        """The rotation, then the position, as a text."""
        return f"{self.getRotation().toString()}\n {self.getPosition().toString()}"


def _wrapped(pose: Rotation | Transform, array: Any, context: Any) -> Any:
    """Only a matrix product of poses is a pose; a sum is an ordinary array."""
    ordinary = np.asarray(array)
    if ordinary.ndim == 0:
        return ordinary[()]
    if context is None or context[0] is not np.matmul:
        return ordinary
    both = all(isinstance(operand, type(pose)) for operand in context[1][:2])
    return ordinary.view(type(pose)) if both else ordinary
