"""Rotations with RobWork's names.

RPY(a, b, c)                 Rz(a) Ry(b) Rx(c): the first angle is about z, unlike in URDF
EAA(x, y, z)                 angle times axis
Quaternion(qx, qy, qz, qw)   w last
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compat.robwork.vectors import (
    MathValue,
    Vector,
    Vector2D,
    Vector3D,
    as_floats,
    cross,
)
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, shown
from linkwork.spatial.source import quat, so3

if TYPE_CHECKING:
    from typing_extensions import Self


class Rotation2D(MathValue, both_precisions=True):
    """A rotation in the plane, as a matrix."""

    BRACKETS = "()"

    def __init__(self, *entries: Any) -> None:
        """Accept four elements row by row, an angle [rad] or a (2, 2) matrix; else the identity."""
        matrix = as_floats(entries[0] if len(entries) == 1 else entries, "Rotation2D")
        if matrix.ndim == 0:
            c, s = np.cos(matrix), np.sin(matrix)
            matrix = np.array([[c, -s], [s, c]])
        if matrix.size not in (0, 4):
            message = "Rotation2D: expected 4 elements or an angle"
            raise ArgumentError(f"{message}, got {shown(entries)}")
        super().__init__(matrix.reshape(2, 2) if matrix.size else np.eye(2))

    @classmethod
    def identity(cls) -> Self:
        """Return the identity."""
        return cls()

    def inverse(self) -> Self:
        """Return the inverse rotation."""
        return self.around(self._a.T.copy())

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Rotation2D):
            return self.around(self._a @ np.asarray(other))
        return self.alike(Vector2D)(self._a @ as_floats(other, "product with a rotation", (2,)))


class Rotation3D(MathValue, both_precisions=True):
    """A rotation matrix. Columns are the axes of the rotated frame."""

    BRACKETS = "()"

    def __init__(self, *entries: Any) -> None:
        """Accept nine elements row by row, three columns, or a (3, 3) matrix; else the identity."""
        if not entries:
            super().__init__(np.eye(3))
        elif len(entries) == 1:
            super().__init__(as_rotation(entries[0]).copy())
        else:
            super().__init__(_entries(entries, "Rotation3D"))

    @classmethod
    def identity(cls) -> Self:
        """Return the identity."""
        return cls()

    def getCol(self, col: int) -> Vector3D:
        """Return a column."""
        return self.alike(Vector3D)(self._a[:, col])

    def inverse(self, copy: bool = True) -> Self:
        """Return the inverse rotation; with copy=False this rotation is inverted in place."""
        transposed = self._a.T.copy()
        if copy:
            return self.around(transposed)
        self._a[...] = transposed
        return self

    def normalize(self) -> None:
        """Replace it, in place, by the nearest rotation."""
        self._a[...] = so3.project(self._a.astype(np.float64))

    def isProperRotation(self, precision: float = 1e-12) -> bool:
        """Return whether it is orthonormal and right-handed within a precision."""
        error = np.abs(self._a @ self._a.T - np.eye(3)).max()
        return bool(error <= precision and abs(np.linalg.det(self._a) - 1) <= precision)

    def tr(self) -> float:
        """Trace."""
        return float(np.trace(self._a))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (Rotation3D, InertiaMatrix)):
            return other.around(self._a @ np.asarray(other))
        if hasattr(other, "rotated"):  # a velocity, a wrench or a Jacobian
            return other.rotated(self._a)
        product = self._a @ as_floats(other, "product with a rotation", (3,))
        return self.alike(EAA if isinstance(other, EAA) else Vector3D).around(product)


def _entries(entries: tuple[Any, ...], name: str) -> Array:
    """Build a (3, 3) matrix from nine elements row by row, or from three columns."""
    if len(entries) == 9:
        return as_floats(entries, name, (9,)).reshape(3, 3)
    if len(entries) == 3:
        return np.stack([as_floats(column, name, (3,)) for column in entries], axis=1)
    raise ArgumentError(f"{name}: expected 9 elements, got {len(entries)}")


class InertiaMatrix(MathValue, both_precisions=True):
    """A (3, 3) matrix of moments of inertia [kg m^2]."""

    def __init__(self, *entries: Any) -> None:
        """Accept nine elements row by row, three columns, a diagonal or a matrix; else zero."""
        if len(entries) == 1 and np.shape(entries[0]) == (3, 3):
            super().__init__(as_floats(entries[0], "InertiaMatrix"))
        elif len(entries) <= 3 and not any(np.ndim(entry) for entry in entries):
            diagonal = np.zeros(3)
            diagonal[: len(entries)] = entries
            super().__init__(np.diag(diagonal))
        else:
            super().__init__(_entries(entries, "InertiaMatrix"))

    def __add__(self, other: InertiaMatrix) -> Self:
        return self.around(self._a + as_floats(other, "sum", (3, 3)))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Rotation3D):
            return self.around(self._a @ np.asarray(other))
        return self.alike(Vector3D)(self._a @ as_floats(other, "product with an inertia", (3,)))


class RPY(MathValue, both_precisions=True):
    """Three angles [rad]: RPY(a, b, c) = Rz(a) Ry(b) Rx(c)."""

    def __init__(self, *angles: Any) -> None:
        """Accept three angles, or a rotation."""
        if len(angles) == 1 and _is_rotation(angles[0], RPY):
            super().__init__(so3.to_rpy(as_rotation(angles[0]))[::-1].copy())
        else:
            values = angles[0] if len(angles) == 1 else (angles or np.zeros(3))
            super().__init__(as_floats(values, "RPY", (3,)))

    def toRotation3D(self) -> Rotation3D:
        """Return the rotation."""
        return self.alike(Rotation3D).around(so3.from_rpy(np.asarray(self)[::-1]))


class EAA(Vector3D, both_precisions=True):
    """An equivalent angle axis: the axis of a rotation times its angle [rad]."""

    def __init__(self, *values: Any) -> None:
        """Accept three elements, a rotation, an axis and an angle, or two vectors to align."""
        if len(values) == 2 and np.ndim(values[1]) == 0 and not isinstance(values[1], MathValue):
            axis = as_floats(values[0], "EAA axis", (3,))
            super().__init__(axis * float(values[1]))
        elif len(values) == 2:
            super().__init__(_between(*(as_floats(v, "EAA", (3,)) for v in values)))
        elif len(values) == 1 and _is_rotation(values[0], EAA):
            super().__init__(_rotation_vector(as_rotation(values[0])))
        else:
            super().__init__(*values)

    def angle(self) -> float:
        """Return the angle, at least 0 [rad]."""
        return float(np.linalg.norm(self._a))

    def axis(self) -> Vector3D:
        """Return the unit vector along the axis; zero without a rotation."""
        return self.toVector3D().normalize()

    def toVector3D(self) -> Vector3D:
        """Return axis times angle as a vector."""
        return self.alike(Vector3D)(self._a)

    def toRotation3D(self) -> Rotation3D:
        """Return the rotation."""
        return self.alike(Rotation3D).around(so3.about(np.asarray(self.axis()), self.angle()))

    def __mul__(self, other: Any) -> Any:
        """Compose with another rotation, applied first; a number scales the angle."""
        if isinstance(other, EAA):
            return self.alike(EAA)(self.toRotation3D() * other.toRotation3D())
        return super().__mul__(other)


def _rotation_vector(rotation: Array) -> Array:
    """Return angle times axis; the angle is computed by `atan2`, so right angles are exact."""
    phi = so3.log(rotation)
    length = np.linalg.norm(phi)
    angle = np.arctan2(np.linalg.norm(so3.vee(rotation)), (np.trace(rotation) - 1) / 2)
    return phi / length * angle if length else phi


def _between(v1: Array, v2: Array) -> Array:
    """Return angle times axis of the smallest rotation from one direction to another."""
    a, b = v1 / np.linalg.norm(v1), v2 / np.linalg.norm(v2)
    normal = np.cross(a, b)
    sine, cosine = float(np.linalg.norm(normal)), float(a @ b)
    if sine:
        return normal / sine * np.arctan2(sine, cosine)
    if cosine > 0:
        return np.zeros(3)
    other = np.eye(3)[np.abs(a).argmin()]
    return np.asarray(cross(Vector3D(a), Vector3D(other)).normalize()) * np.pi


class Quaternion(Vector, both_precisions=True):
    """A quaternion qx, qy, qz, qw."""

    def __init__(self, *values: Any) -> None:
        """Accept qx, qy, qz, qw, or a rotation; else the identity."""
        if not values:
            super().__init__(np.array([0.0, 0.0, 0.0, 1.0]))
        elif len(values) == 1 and _is_rotation(values[0], Quaternion):
            wxyz = quat.from_rotation(as_rotation(values[0]))
            super().__init__(np.roll(wxyz, -1))
        else:
            elements = values[0] if len(values) == 1 else values
            super().__init__(as_floats(elements, "Quaternion", (4,)))

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
        """Scale it to norm 1, in place."""
        if not self.getLength():
            raise ArgumentError("a zero quaternion cannot be normalized")
        self._a /= self.getLength()

    def toRotation3D(self, normalize: bool = True) -> Rotation3D:
        """Return the rotation of the quaternion, scaled to norm 1."""
        if not self.getLength():
            raise ArgumentError("a zero quaternion does not define a rotation")
        scaled = self._a / self.getLength() if normalize else self._a
        return self.alike(Rotation3D).around(quat.to_rotation(np.roll(scaled, 1)))

    def __mul__(self, other: Any) -> Self:
        if isinstance(other, Quaternion):
            product = quat.multiply(np.roll(self._a, 1), np.roll(np.asarray(other), 1))
            return self.around(np.roll(product, -1))
        return super().__mul__(other)


def _is_rotation(value: Any, kind: type[MathValue]) -> bool:
    """Return whether a value is a matrix, or a rotation of another kind."""
    other = isinstance(value, (RPY, EAA, Quaternion)) and not isinstance(value, kind)
    return other or as_floats(value, kind.__name__).shape[1:] not in ((), (1,))


def as_rotation(value: Any) -> Array:
    """Convert any of the rotations here, or a (3, 3) matrix, to a matrix."""
    if isinstance(value, (RPY, EAA, Quaternion)):
        return np.asarray(value.toRotation3D())
    matrix = as_floats(value, "rotation")
    if matrix.shape != (3, 3):
        raise ArgumentError(f"rotation: expected a (3, 3) matrix, got {shown(value)}")
    return matrix
