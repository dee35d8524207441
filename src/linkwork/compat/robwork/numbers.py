"""Vectors and configurations under RobWork's names: small mutable values around NumPy arrays.

`v[i]` and `v(i)` read, `v[i] = x` writes, `v.e()` is the array itself. Every class takes lists and
arrays where RobWork takes its own types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, shown

if TYPE_CHECKING:
    from typing_extensions import Self

Pi = float(np.pi)
Deg2Rad = Pi / 180
Rad2Deg = 180 / Pi
T = TypeVar("T", bound="Numbers")


def as_numbers(value: object, what: str, shape: tuple[int, ...] | None = None) -> Array:
    """Take a value of RobWork's types, a list or an array as an array of floats."""
    raw = value.e() if isinstance(value, Numbers) else value
    try:
        array = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: expected numbers, got {shown(value)}") from None
    if shape is not None and array.shape != shape:
        raise ShapeError(f"{what}: expected shape {shape}, got {array.shape}")
    return array


def short(number: float) -> str:
    """A number as RobWork prints it: six digits."""
    return f"{number + 0.0:.6g}"


class Numbers:
    """What all of RobWork's mathematical types have here."""

    __slots__ = ("_a",)
    __hash__ = None  # type: ignore[assignment]  # they are mutable

    def __init__(self, numbers: Array) -> None:
        self._a = numbers

    @classmethod
    def around(cls, array: Array) -> Self:
        """A value that shares its numbers with an array."""
        made = cls.__new__(cls)
        made._a = array
        return made

    def e(self) -> Array:
        """The numbers themselves, as an array."""
        return self._a

    def asNumpy(self) -> Array:
        """A copy of the numbers, as an array."""
        return self._a.copy()

    def size(self) -> int:
        """How many numbers there are."""
        return int(self._a.size)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False and dtype not in (None, self._a.dtype):
            raise ValueError("a copy is needed to change the type of the numbers")
        return np.array(self._a, dtype=dtype, copy=True) if copy is not False else self._a

    def __getitem__(self, index: Any) -> Any:
        found = self._a[index]
        return float(found) if np.ndim(found) == 0 else found

    def __call__(self, *index: int) -> float:
        """An entry, as RobWork's C++ writes it."""
        return float(self._a[index])

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        self._a[index] = value

    def __len__(self) -> int:
        return len(self._a)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._a.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and bool(np.array_equal(self._a, other._a))

    def __copy__(self) -> Self:
        return self.around(self._a.copy())

    def __deepcopy__(self, memo: object) -> Self:
        return self.around(self._a.copy())

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self._a)

    def equal(self, other: Numbers, precision: float = 2.3e-16) -> bool:
        """Whether all numbers differ by no more than a precision."""
        return bool((np.abs(self._a - other.e()) <= precision).all())

    def __repr__(self) -> str:
        inside = ", ".join(map(short, self._a.ravel().tolist()))
        return f"{type(self).__name__} {{{inside}}}"


def _restored(kind: type[T], array: Array) -> T:
    return kind.around(array)


class Vector(Numbers):
    """Numbers that can be added and scaled."""

    __slots__ = ()

    def norm1(self) -> float:
        """Sum of the absolute values."""
        return float(np.abs(self._a).sum())

    def norm2(self) -> float:
        """Length."""
        return float(np.linalg.norm(self._a))

    def normInf(self) -> float:
        """Largest absolute value."""
        return float(np.abs(self._a).max(initial=0.0))

    def __add__(self, other: Vector) -> Self:
        return self.around(self._a + as_numbers(other, "sum", self._a.shape))

    def __sub__(self, other: Vector) -> Self:
        return self.around(self._a - as_numbers(other, "difference", self._a.shape))

    def __neg__(self) -> Self:
        return self.around(-self._a)

    def __mul__(self, factor: float) -> Self:
        return self.around(self._a * _factor(factor))

    def __rmul__(self, factor: float) -> Self:
        return self.around(self._a * _factor(factor))

    def __truediv__(self, divisor: float) -> Self:
        return self.around(self._a / _factor(divisor))


def _factor(value: object) -> float:
    if isinstance(value, Numbers) or np.ndim(value) != 0:  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        raise ArgumentError(f"expected a number, got {shown(value)}")
    return float(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


class Vector3D(Vector):
    """A vector in space."""

    __slots__ = ()

    def __init__(self, *xyz: Any) -> None:
        """Take three numbers, or something that holds three; zero without arguments."""
        given = xyz[0] if len(xyz) == 1 else (xyz or (0.0, 0.0, 0.0))
        super().__init__(as_numbers(given, "Vector3D", (3,)))

    @staticmethod
    def zero() -> Vector3D:
        """The zero vector."""
        return Vector3D()

    @staticmethod
    def x() -> Vector3D:
        """The x axis."""
        return Vector3D(1.0, 0.0, 0.0)

    @staticmethod
    def y() -> Vector3D:
        """The y axis."""
        return Vector3D(0.0, 1.0, 0.0)

    @staticmethod
    def z() -> Vector3D:
        """The z axis."""
        return Vector3D(0.0, 0.0, 1.0)


class Q(Vector):
    """A configuration: `Q(6, 0.0)`, `Q([1, 2])`, `Q(1.0, 2.0)` or `Q(2, 1.0, 2.0)`."""

    __slots__ = ()

    def __init__(self, *numbers: Any) -> None:
        """Take numbers in one of RobWork's ways: a list, n and a value, n and n values."""
        super().__init__(_configuration(numbers))

    @staticmethod
    def zero(n: int) -> Q:
        """n zeros."""
        return Q(np.zeros(n))

    def empty(self) -> bool:
        """Whether it has no numbers."""
        return not self.size()

    def getSubPart(self, start: int, cnt: int) -> Q:
        """Some of the numbers."""
        if not 0 <= start <= start + cnt <= self.size():
            raise ShapeError(f"getSubPart: {start} + {cnt} is beyond the {self.size()} numbers")
        return Q(self._a[start : start + cnt])

    def setSubPart(self, index: int, part: Q) -> None:
        """Write some of the numbers."""
        given = as_numbers(part, "setSubPart")
        if not 0 <= index <= index + given.size <= self.size():
            text = f"setSubPart: {index} + {given.size} is beyond the {self.size()} numbers"
            raise ShapeError(text)
        self._a[index : index + given.size] = given

    def toStdVector(self) -> list[float]:
        """The numbers as a list."""
        return self._a.tolist()

    def __repr__(self) -> str:
        return f"Q[{self.size()}]{{{', '.join(map(short, self._a.tolist()))}}}"


def _configuration(numbers: tuple[Any, ...]) -> Array:
    if not numbers:
        return np.zeros(0)
    first, *values = numbers
    counts = isinstance(first, (int, np.integer)) and not isinstance(first, bool)
    if len(numbers) == 1 and not counts:
        array = as_numbers(first, "Q")
        if array.ndim > 1:
            raise ShapeError(f"Q: expected a list of numbers, got shape {array.shape}")
        return array.reshape(-1)
    if counts and first < 0:
        raise ArgumentError(f"Q: expected a count of 0 or more, got {first}")
    if counts and not values:
        return np.zeros(first)
    if counts and len(values) == 1:
        given = as_numbers(values[0], "Q")
        return (
            np.full(first, float(given))
            if given.ndim == 0
            else as_numbers(given, "Q", (int(first),))
        )
    if counts and len(values) == first:
        return as_numbers(values, "Q")
    if counts and any(isinstance(value, (float, np.floating)) for value in values):
        raise ShapeError(f"Q: {first} numbers were announced, {len(values)} given")
    return as_numbers(numbers, "Q")


class VelocityScrew6D(Vector):
    """A velocity: linear (3), angular (3)."""

    __slots__ = ()

    def __init__(self, *numbers: Any) -> None:
        """Take six numbers, or a linear and an angular velocity; zero without arguments."""
        if len(numbers) == 2:
            halves = [as_numbers(half, "VelocityScrew6D", (3,)) for half in numbers]
            super().__init__(np.concatenate(halves))
            return
        given = numbers[0] if len(numbers) == 1 else (numbers or np.zeros(6))
        super().__init__(as_numbers(given, "VelocityScrew6D", (6,)))

    def linear(self) -> Vector3D:
        """Linear velocity."""
        return Vector3D.around(self._a[:3])

    def angular(self) -> Vector3D:
        """Angular velocity."""
        return Vector3D.around(self._a[3:])


def dot(a: Vector, b: Vector) -> float:
    """Scalar product."""
    return float(a.e() @ as_numbers(b, "dot", a.e().shape))


def cross(a: Vector3D, b: Vector3D) -> Vector3D:
    """Cross product."""
    return Vector3D(np.cross(as_numbers(a, "cross", (3,)), as_numbers(b, "cross", (3,))))


def normalize(v: Vector3D) -> Vector3D:
    """A vector of length 1; the zero vector stays."""
    length = v.norm2()
    return v / length if length else Vector3D()


def concat(q1: Q, q2: Q) -> Q:
    """Two configurations, one after the other."""
    return Q(np.concatenate([as_numbers(q1, "concat"), as_numbers(q2, "concat")]))
