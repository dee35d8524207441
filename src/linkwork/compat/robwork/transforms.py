"""Poses under RobWork's names: `aTb` is the pose of frame b in frame a."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from linkwork.compat.robwork.numbers import (
    Numbers,
    Q,
    Vector3D,
    VelocityScrew6D,
    Wrench6D,
    as_numbers,
    six_numbers,
    with_float_twin,
)
from linkwork.compat.robwork.rotations import (
    EAA,
    RPY,
    InertiaMatrix,
    Quaternion,
    Rotation2D,
    Rotation3D,
    as_rotation,
)
from linkwork.errors import ArgumentError, ShapeError, shown
from linkwork.spatial.source import motion, se3, so3
from linkwork.workcell.robwork.joints import craig_dh, hgp_dh, schilling_dh

if TYPE_CHECKING:
    from typing_extensions import Self


T = TypeVar("T", bound=Numbers)


@with_float_twin
class Transform3D(Numbers):
    """A pose: position P and rotation R, together a (4, 4) matrix."""

    __slots__ = ()

    def __init__(self, *parts: Any) -> None:
        """Take a position and a rotation, one of the two, or a (4, 4) matrix; else the identity."""
        matrix = np.eye(4)
        if len(parts) > 2:
            raise ArgumentError(f"Transform3D: expected position and rotation, got {len(parts)}")
        for part in parts:
            given = as_numbers(part, "Transform3D")
            if isinstance(part, (RPY, EAA, Quaternion)) or given.shape == (3, 3):
                matrix[:3, :3] = as_rotation(part)
            elif given.shape == (3,):
                matrix[:3, 3] = given
            elif given.shape in ((4, 4), (3, 4)) and len(parts) == 1:
                matrix[:3] = given[:3]
            else:
                raise ArgumentError(
                    f"Transform3D: expected a position or rotation, got {shown(part)}"
                )
        super().__init__(matrix)

    @classmethod
    def identity(cls) -> Self:
        """The pose of a frame in itself."""
        return cls()

    @classmethod
    def DH(cls, alpha: float, a: float, d: float, theta: float) -> Self:
        """Pose Rz(theta) Tz(d) Tx(a) Rx(alpha), the original convention."""
        return cls(schilling_dh(alpha, a, d, theta))

    @classmethod
    def craigDH(cls, alpha: float, a: float, d: float, theta: float) -> Self:
        """Pose Rx(alpha) Tx(a) Rz(theta) Tz(d), the convention of Craig's book."""
        return cls(craig_dh(alpha, a, d, theta))

    @classmethod
    def DHHGP(cls, alpha: float, a: float, beta: float, b: float) -> Self:
        """Pose Ty(b) Ry(beta) Tx(a) Rx(alpha), for axes that are nearly parallel."""
        return cls(hgp_dh(alpha, a, beta, b))

    def P(self) -> Vector3D:
        """Position; writing into it changes this pose."""
        return self.alike(Vector3D).around(self._a[:3, 3])

    def R(self) -> Rotation3D:
        """Rotation; writing into it changes this pose."""
        return self.alike(Rotation3D).around(self._a[:3, :3])

    def inverse(self) -> Self:
        """The pose of frame a in frame b."""
        return self.around(se3.inverse(self.asNumpy()))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Transform3D):
            return self.around(self._a @ other.asNumpy())
        if isinstance(other, VelocityScrew6D):  # to the axes and the origin of frame a
            return other.around(motion.transform_motion(self.asNumpy(), other.asNumpy()))
        if isinstance(other, Wrench6D):  # the same; RobWork moves it as if it were a velocity
            return other.around(motion.transform_force(self.asNumpy(), other.asNumpy()))
        point = as_numbers(other, "product with a transform", (3,))
        return self.alike(Vector3D).around(self._a[:3, :3] @ point + self._a[:3, 3])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.P()!r}, {self.R()!r})"


@with_float_twin
class Pose6D(Numbers):
    """A pose as six numbers: position (3), angle times axis (3)."""

    __slots__ = ()

    def __init__(self, *numbers: Any) -> None:
        """Take six numbers, a position and an EAA, or a Transform3D; else the identity."""
        super().__init__(six_numbers(numbers, "Pose6D"))

    def get(self, i: int) -> float:
        """A number."""
        return self[i]

    def getPos(self) -> Vector3D:
        """Position; writing into it changes this pose."""
        return self.alike(Vector3D).around(self._a[:3])

    def getEAA(self) -> EAA:
        """Rotation; writing into it changes this pose."""
        return self.alike(EAA).around(self._a[3:])

    def toTransform3D(self) -> Transform3D:
        """The pose as a matrix."""
        return self.alike(Transform3D)(self.getPos(), self.getEAA())


def inverse(value: T) -> T:
    """The inverse of a pose, rotation, quaternion or inertia matrix."""
    if isinstance(value, Quaternion):
        return value.around(value.asNumpy() * [-1, -1, -1, 1] / value.getLength() ** 2)
    if isinstance(value, InertiaMatrix):
        return value.around(np.linalg.inv(value.asNumpy()))
    if isinstance(value, (Transform3D, Rotation3D, Rotation2D)):
        return value.inverse()
    raise ArgumentError(f"inverse: expected a Transform3D or a Rotation3D, got {shown(value)}")


class Jacobian(Numbers):
    """A matrix from joint velocities to velocities; `J[i, j]`, `J(i, j)`, `J.elem(i, j)` read."""

    __slots__ = ()

    def __init__(self, *given: Any) -> None:
        """Take a matrix, its sizes, or a pose, rotation or position that moves velocities."""
        if len(given) == 1 and isinstance(given[0], Transform3D):
            super().__init__(motion.motion_transform(given[0].asNumpy()))
        elif len(given) == 1 and isinstance(given[0], Rotation3D):
            super().__init__(np.kron(np.eye(2), given[0].asNumpy()))
        elif len(given) == 1 and isinstance(given[0], Vector3D) and not isinstance(given[0], EAA):
            matrix = np.eye(6)
            matrix[:3, 3:] = so3.wedge(given[0].asNumpy())
            super().__init__(matrix)
        elif given and all(isinstance(size, (int, np.integer)) for size in given):
            super().__init__(np.zeros((6, *given)[-2:]))
        else:
            matrix = as_numbers(given[0], "Jacobian") if len(given) == 1 else np.zeros(0)
            if matrix.ndim != 2:
                raise ArgumentError(
                    "Jacobian: expected a matrix, or its numbers of rows and columns"
                )
            super().__init__(matrix)

    @staticmethod
    def zero(size1: int, size2: int) -> Jacobian:
        """All entries zero."""
        return Jacobian(size1, size2)

    def size1(self) -> int:
        """Number of rows."""
        return int(self._a.shape[0])

    def size2(self) -> int:
        """Number of columns."""
        return int(self._a.shape[1])

    def elem(self, row: int, col: int) -> float:
        """An entry."""
        return float(self._a[row, col])

    def addPosition(self, part: Vector3D, row: int, col: int) -> None:
        """Add a linear velocity to a column, in the block of six rows that has this number."""
        self._a[6 * row : 6 * row + 3, col] += as_numbers(part, "addPosition", (3,))

    def addRotation(self, part: Vector3D, row: int, col: int) -> None:
        """Add an angular velocity to a column, in the block of six rows that has this number."""
        self._a[6 * row + 3 : 6 * row + 6, col] += as_numbers(part, "addRotation", (3,))

    def __mul__(self, other: Any) -> Any:
        right = as_numbers(other, "product with a Jacobian")
        if right.shape[:1] != (self.size2(),):
            raise ShapeError(f"product: a Jacobian of {self._a.shape} times {right.shape}")
        product = self._a @ right
        if isinstance(other, Jacobian) or right.ndim == 2:
            return Jacobian(product)
        if isinstance(other, VelocityScrew6D) and self.size1() != 6:
            return Q(product)
        return VelocityScrew6D(product) if product.shape == (6,) else Q(product)

    def __repr__(self) -> str:
        return f"Jacobian {self._a!r}"
