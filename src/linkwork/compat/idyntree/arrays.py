"""Arrays that answer to the names iDynTree gives its vectors and matrices.

All are NumPy arrays of float64 and can be used as such. An operation whose result has the same
shape keeps the class; parts and other shapes are ordinary arrays. `H * x`, with H a `Transform` or
a `Rotation`, means what it means in iDynTree where x is one of these classes.

6-vectors   [linear; angular]
resize      only `VectorDynSize` and `MatrixDynSize`; as outputs they take the size they need
size        is NumPy's number, not a method: write `len(v)`
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.errors import ShapeError
from linkwork.model.pose import as_floats
from linkwork.spatial import motion, quat, se3, so3

if TYPE_CHECKING:
    from typing_extensions import Self

Kind = TypeVar("Kind", bound="Numbers")


class Numbers(np.ndarray[Any, np.dtype[np.float64]]):
    """An array of fixed shape: zeros, or the numbers given, one after the other."""

    SHAPE: ClassVar[tuple[int, ...]] = ()

    def __new__(cls, *numbers: ArrayLike) -> Self:
        """Make an array of this class."""
        if not numbers:
            return made(cls, np.zeros(cls.SHAPE))
        flat = np.concatenate([np.ravel(as_floats(part, cls.__name__)) for part in numbers])
        if flat.size != prod(cls.SHAPE):
            raise ShapeError(f"{cls.__name__}: expected {prod(cls.SHAPE)} numbers, got {flat.size}")
        return made(cls, flat.reshape(cls.SHAPE))

    @classmethod
    def FromPython(cls, numbers: ArrayLike) -> Self:
        """The same numbers, as an array of this class."""
        return cls(numbers)

    def __getitem__(self, key: Any) -> Any:
        return self.view(np.ndarray)[key]

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        if plain.ndim == 0:
            return plain[()]
        return plain.view(type(self)) if plain.shape == self.shape else plain

    def toNumPy(self) -> Array:
        """A copy as an ordinary array."""
        return np.array(self, subok=False)

    def zero(self) -> None:
        """Set every number to 0."""
        self[...] = 0.0

    def getVal(self, *place: int) -> float:
        """The number at an index, or at a row and a column."""
        return float(self[place])

    def setVal(self, *place_and_value: float) -> bool:
        """Set the number at an index, or at a row and a column."""
        *place, value = place_and_value
        self[tuple(map(int, place))] = value
        return True

    def rows(self) -> int:
        """How many rows a matrix has."""
        return self.shape[0]

    def cols(self) -> int:
        """How many columns a matrix has."""
        return self.shape[1]

    def toString(self) -> str:
        """The numbers as a text."""
        return str(self.view(np.ndarray))


def made(kind: type[Kind], numbers: Array) -> Kind:
    """A copy of an array as one of iDynTree's classes."""
    array = np.ndarray.__new__(kind, numbers.shape)
    array[...] = numbers
    return array


class VectorDynSize(Numbers):
    """A vector of any length: zeros of a length, or the numbers of `FromPython`."""

    def __new__(cls, size: int = 0) -> Self:
        """Make a vector of zeros."""
        return made(cls, np.zeros(int(size)))

    @classmethod
    def FromPython(cls, numbers: ArrayLike) -> Self:
        """The same numbers, as a vector."""
        return made(cls, np.ravel(as_floats(numbers, cls.__name__)))

    def resize(self, size: int) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's
        """Give it another length, and numbers that mean nothing."""
        super().resize((size,), refcheck=False)


class MatrixDynSize(Numbers):
    """A matrix of any shape: zeros of a shape, or the numbers of `FromPython`."""

    def __new__(cls, rows: int = 0, cols: int = 0) -> Self:
        """Make a matrix of zeros."""
        return made(cls, np.zeros((int(rows), int(cols))))

    @classmethod
    def FromPython(cls, numbers: ArrayLike) -> Self:
        """The same numbers, as a matrix."""
        return made(cls, np.atleast_2d(as_floats(numbers, cls.__name__)))

    def resize(self, rows: int, cols: int) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's
        """Give it another shape, and numbers that mean nothing."""
        super().resize((rows, cols), refcheck=False)


class Vector3(Numbers):
    """Three numbers."""

    SHAPE = (3,)


class Position(Vector3):
    """A point."""


class Vector6(Numbers):
    """Six numbers."""

    SHAPE = (6,)

    def asVector(self) -> Vector6:
        """The same numbers."""
        return made(Vector6, self)

    def getLinearVec3(self) -> Vector3:
        """The linear part."""
        return made(Vector3, self[:3])

    def getAngularVec3(self) -> Vector3:
        """The angular part."""
        return made(Vector3, self[3:])


class SpatialMotionVector(Vector6):
    """A motion: moved between frames as a velocity is."""


class Twist(SpatialMotionVector):
    """A velocity."""


class SpatialAcc(SpatialMotionVector):
    """An acceleration."""


class SpatialForceVector(Vector6):
    """A force: moved between frames as a wrench is."""


class Wrench(SpatialForceVector):
    """A force and a torque."""


class SpatialMomentum(SpatialForceVector):
    """A momentum."""


class Matrix3x3(Numbers):
    """A (3, 3) matrix."""

    SHAPE = (3, 3)


class Matrix4x4(Numbers):
    """A (4, 4) matrix."""

    SHAPE = (4, 4)


class Matrix6x6(Numbers):
    """A (6, 6) matrix."""

    SHAPE = (6, 6)


class Rotation(Matrix3x3):
    """Orientation of a frame b in a frame a; the identity unless nine numbers are given."""

    def __new__(cls, *numbers: ArrayLike) -> Self:
        """Make a rotation."""
        return super().__new__(cls, *(numbers or (np.eye(3),)))

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
    def RotationFromQuaternion(wxyz: ArrayLike) -> Rotation:
        """Rotation of a unit quaternion w, x, y, z."""
        return made(Rotation, quat.to_rotation(wxyz))

    def asRPY(self) -> Vector3:
        """Roll, pitch and yaw."""
        return made(Vector3, so3.to_rpy(self.toNumPy()))

    def asQuaternion(self) -> Numbers:
        """Quaternion w, x, y, z."""
        return made(Numbers, quat.from_rotation(self.toNumPy()))

    def inverse(self) -> Rotation:
        """Orientation of a in b."""
        return made(Rotation, self.toNumPy().T)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (Rotation, Vector3)):
            return made(type(other), self.toNumPy() @ other.toNumPy())
        return super().__mul__(other)


class Transform(Matrix4x4):
    """Pose of a frame b in a frame a: the identity, a matrix, or a rotation and a position."""

    def __new__(cls, *parts: ArrayLike) -> Self:
        """Make a pose."""
        if len(parts) == 2:
            return made(cls, se3.pose(Rotation(parts[0]).toNumPy(), Position(parts[1]).toNumPy()))
        return super().__new__(cls, *(parts or (np.eye(4),)))

    @staticmethod
    def Identity() -> Transform:
        """The pose of a frame in itself."""
        return Transform()

    def asHomogeneousTransform(self) -> Matrix4x4:
        """The pose as a matrix."""
        return made(Matrix4x4, self)

    def fromHomogeneousTransform(self, matrix: ArrayLike) -> None:
        """Become the pose that a matrix says."""
        self[...] = Matrix4x4(matrix)

    def asAdjointTransform(self) -> Matrix6x6:
        """Matrix that moves velocities in b to a."""
        return made(Matrix6x6, motion.motion_transform(self.toNumPy()))

    def asAdjointTransformWrench(self) -> Matrix6x6:
        """Matrix that moves forces in b to a."""
        return made(Matrix6x6, motion.force_transform(self.toNumPy()))

    def getPosition(self) -> Position:
        """Origin of b in a."""
        return made(Position, self[:3, 3])

    def getRotation(self) -> Rotation:
        """Orientation of b in a."""
        return made(Rotation, self[:3, :3])

    def setPosition(self, position: ArrayLike) -> None:
        """Move the origin of b."""
        self[:3, 3] = Position(position)

    def setRotation(self, rotation: ArrayLike) -> None:
        """Turn b."""
        self[:3, :3] = Rotation(rotation)

    def inverse(self) -> Transform:
        """Pose of a in b."""
        return made(Transform, se3.inverse(self.toNumPy()))

    def __mul__(self, other: Any) -> Any:
        here = self.toNumPy()
        if isinstance(other, Transform):
            return made(Transform, here @ other.toNumPy())
        if isinstance(other, Vector3):
            return made(type(other), se3.transform_point(here, other.toNumPy()))
        if isinstance(other, SpatialMotionVector):
            return made(type(other), motion.transform_motion(here, other.toNumPy()))
        if isinstance(other, SpatialForceVector):
            return made(type(other), motion.transform_force(here, other.toNumPy()))
        return super().__mul__(other)


class SpatialInertia(Matrix6x6):
    """Inertia as the matrix from velocity to momentum."""

    def asMatrix(self) -> Matrix6x6:
        """The matrix from velocity to momentum."""
        return made(Matrix6x6, self)

    def getMass(self) -> float:
        """Mass [kg]."""
        return self.getVal(0, 0)

    def getCenterOfMass(self) -> Position:
        """Centre of mass [m]; the origin if there is no mass."""
        mass = self.getMass()
        return made(Position, so3.vee(self[3:, :3]) / mass) if mass else Position()

    def getRotationalInertiaWrtFrameOrigin(self) -> Matrix3x3:
        """Tensor about the origin."""
        return made(Matrix3x3, self[3:, 3:])
