"""Rotations under RobWork's names.

RPY(a, b, c)                 Rz(a) Ry(b) Rx(c): the first angle is about z, unlike in URDF
EAA(x, y, z)                 angle times axis
Quaternion(qx, qy, qz, qw)   w last
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.arrays import Array
from linkwork.compat.robwork.numbers import (
    Numbers,
    Vector3D,
    VelocityScrew6D,
    as_numbers,
    cross,
    short,
)
from linkwork.errors import ArgumentError, shown
from linkwork.spatial.source import quat, so3


class Rotation3D(Numbers):
    """A rotation matrix. Columns are the axes of the rotated frame."""

    __slots__ = ()

    def __init__(self, *entries: Any) -> None:
        """Take nine numbers row by row, three columns, or a (3, 3) matrix; else the identity."""
        if not entries:
            super().__init__(np.eye(3))
        elif len(entries) == 9:
            super().__init__(as_numbers(entries, "Rotation3D", (9,)).reshape(3, 3))
        elif len(entries) == 3:
            columns = [as_numbers(column, "Rotation3D", (3,)) for column in entries]
            super().__init__(np.stack(columns, axis=1))
        elif len(entries) == 1:
            super().__init__(as_rotation(entries[0]).copy())
        else:
            raise ArgumentError(f"Rotation3D: expected 9 numbers, got {len(entries)}")

    @staticmethod
    def identity() -> Rotation3D:
        """No rotation."""
        return Rotation3D()

    def getCol(self, col: int) -> Vector3D:
        """A column."""
        return Vector3D(self._a[:, col])

    def getRow(self, row: int) -> Vector3D:
        """A row."""
        return Vector3D(self._a[row])

    def inverse(self, copy: bool = True) -> Rotation3D:
        """The inverse rotation; with copy=False it is written into this one."""
        turned = self._a.T.copy()
        if copy:
            return Rotation3D.around(turned)
        self._a[...] = turned
        return self

    def isProperRotation(self, precision: float = 1e-12) -> bool:
        """Whether it is orthonormal and right-handed to a precision."""
        off = np.abs(self._a @ self._a.T - np.eye(3)).max()
        return bool(off <= precision and abs(np.linalg.det(self._a) - 1) <= precision)

    def tr(self) -> float:
        """Trace."""
        return float(np.trace(self._a))

    def __mul__(self, other: Any) -> Any:
        return _rotated(self._a, other)

    def __repr__(self) -> str:
        rows = ["{" + ", ".join(map(short, row)) + "}" for row in self._a.tolist()]
        return f"Rotation3D {{{', '.join(rows)}}}"


def _rotated(R: Array, other: Any) -> Any:
    from linkwork.compat.robwork.jacobian import Jacobian

    if isinstance(other, Rotation3D):
        return Rotation3D.around(R @ other.e())
    if isinstance(other, VelocityScrew6D):
        return VelocityScrew6D((R @ other.e().reshape(2, 3, 1)).reshape(6))
    if isinstance(other, Jacobian):
        blocks = other.e().reshape(-1, 3, other.size2())
        return Jacobian((R @ blocks).reshape(other.e().shape))
    return Vector3D(R @ as_numbers(other, "product with a rotation", (3,)))


class RPY(Numbers):
    """Three angles [rad]: RPY(a, b, c) = Rz(a) Ry(b) Rx(c)."""

    __slots__ = ()

    def __init__(self, *angles: Any) -> None:
        """Take three angles, or a rotation."""
        if len(angles) == 1 and _is_rotation(angles[0], RPY):
            super().__init__(so3.to_rpy(as_rotation(angles[0]))[::-1].copy())
        else:
            given = angles[0] if len(angles) == 1 else (angles or np.zeros(3))
            super().__init__(as_numbers(given, "RPY", (3,)))

    def toRotation3D(self) -> Rotation3D:
        """The rotation."""
        return Rotation3D.around(so3.from_rpy(self._a[::-1].copy()))


class EAA(Numbers):
    """An equivalent angle axis: the axis of a rotation times its angle [rad]."""

    __slots__ = ()

    def __init__(self, *numbers: Any) -> None:
        """Take three numbers, a rotation, an axis and an angle, or vectors to turn from and to."""
        if len(numbers) == 2 and np.ndim(numbers[1]) == 0 and not isinstance(numbers[1], Numbers):
            axis = as_numbers(numbers[0], "EAA axis", (3,))
            super().__init__(axis * float(numbers[1]))
        elif len(numbers) == 2:
            super().__init__(_between(*(as_numbers(v, "EAA", (3,)) for v in numbers)))
        elif len(numbers) == 1 and _is_rotation(numbers[0], EAA):
            super().__init__(so3.log(as_rotation(numbers[0])))
        else:
            given = numbers[0] if len(numbers) == 1 else (numbers or np.zeros(3))
            super().__init__(as_numbers(given, "EAA", (3,)))

    def angle(self) -> float:
        """Angle, from 0 [rad]."""
        return float(np.linalg.norm(self._a))

    def axis(self) -> Vector3D:
        """Unit vector along the axis; zero without a rotation."""
        angle = self.angle()
        return Vector3D(self._a / angle) if angle else Vector3D()

    def toRotation3D(self) -> Rotation3D:
        """The rotation."""
        return Rotation3D.around(so3.exp(self._a))


def _between(v1: Array, v2: Array) -> Array:
    """Angle times axis of the smallest rotation that turns one direction into another."""
    a, b = v1 / np.linalg.norm(v1), v2 / np.linalg.norm(v2)
    across = np.cross(a, b)
    sine, cosine = float(np.linalg.norm(across)), float(a @ b)
    if sine:
        return across / sine * np.arctan2(sine, cosine)
    if cosine > 0:
        return np.zeros(3)
    other = np.eye(3)[np.abs(a).argmin()]
    axis = cross(Vector3D(a), Vector3D(other)).e()
    return axis / np.linalg.norm(axis) * np.pi


class Quaternion(Numbers):
    """A quaternion qx, qy, qz, qw."""

    __slots__ = ()

    def __init__(self, *numbers: Any) -> None:
        """Take qx, qy, qz, qw, or a rotation; else no rotation."""
        if not numbers:
            super().__init__(np.array([0.0, 0.0, 0.0, 1.0]))
        elif len(numbers) == 1 and _is_rotation(numbers[0], Quaternion):
            wxyz = quat.from_rotation(as_rotation(numbers[0]))
            super().__init__(np.roll(wxyz, -1))
        else:
            given = numbers[0] if len(numbers) == 1 else numbers
            super().__init__(as_numbers(given, "Quaternion", (4,)))

    def getQx(self) -> float:
        """First component."""
        return float(self._a[0])

    def getQy(self) -> float:
        """Second component."""
        return float(self._a[1])

    def getQz(self) -> float:
        """Third component."""
        return float(self._a[2])

    def getQw(self) -> float:
        """Last component: the cosine of half the angle."""
        return float(self._a[3])

    def getLength(self) -> float:
        """Norm."""
        return float(np.linalg.norm(self._a))

    def normalize(self) -> None:
        """Scale to norm 1, in place."""
        if not self.getLength():
            raise ArgumentError("a zero quaternion has no direction")
        self._a /= self.getLength()

    def toRotation3D(self, normalize: bool = True) -> Rotation3D:
        """The rotation of the quaternion scaled to norm 1."""
        if not self.getLength():
            raise ArgumentError("a zero quaternion is no rotation")
        scaled = self._a / self.getLength() if normalize else self._a
        return Rotation3D.around(quat.to_rotation(np.roll(scaled, 1)))

    def __mul__(self, other: Any) -> Quaternion:
        if isinstance(other, Quaternion):
            product = quat.multiply(np.roll(self._a, 1), np.roll(other.e(), 1))
            return Quaternion(np.roll(product, -1))
        return Quaternion(self._a * float(other))


def _is_rotation(value: Any, kind: type[Numbers]) -> bool:
    """Whether a value is a matrix, or a rotation of another kind."""
    other = isinstance(value, (RPY, EAA, Quaternion)) and not isinstance(value, kind)
    return other or np.ndim(as_numbers(value, kind.__name__)) == 2


def as_rotation(value: Any) -> Array:
    """Take any of the rotations here, or a (3, 3) matrix, as a matrix."""
    if isinstance(value, (RPY, EAA, Quaternion)):
        return value.toRotation3D().e()
    matrix = as_numbers(value, "rotation")
    if matrix.shape != (3, 3):
        raise ArgumentError(f"rotation: expected a (3, 3) matrix, got {shown(value)}")
    return matrix
