"""Vectors and configurations under RobWork's names: small mutable values around NumPy arrays.

`v[i]` and `v(i)` read, `v[i] = x` writes, `v.e()` is the array itself. Every class takes lists and
arrays where RobWork takes its own types. Each type of doubles has a twin of floats: `Vector3Df` is
`Vector3D` in single precision. It computes in double precision and rounds its results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, shown
from linkwork.spatial.source import se3, so3

if TYPE_CHECKING:
    from typing_extensions import Self

    from linkwork.compat.robwork.rotations import EAA

Pi = float(np.pi)
Deg2Rad = Pi / 180
Rad2Deg = 180 / Pi
T = TypeVar("T", bound="Numbers")
V = TypeVar("V", bound="Vector")


def as_numbers(value: object, what: str, shape: tuple[int, ...] | None = None) -> Array:
    """Take a value of RobWork's types, a list or an array as an array of floats."""
    raw = value.asNumpy() if isinstance(value, Numbers) else value
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


class EigenArray(np.ndarray):
    """An array that Eigen's `rows()`, `cols()` and `vector[i, 0]` work on, too."""

    def rows(self) -> int:
        """Number of rows."""
        return int(self.shape[0])

    def cols(self) -> int:
        """Number of columns; a vector is one column."""
        return int(self.shape[1]) if self.ndim > 1 else 1

    def __getitem__(self, index: Any) -> Any:
        if self.ndim == 1 and isinstance(index, tuple) and index[1:] == (0,):
            index = index[0]
        return super().__getitem__(index)


class Numbers:
    """What all of RobWork's mathematical types have here."""

    __slots__ = ("_a",)
    __hash__ = None  # type: ignore[assignment]  # they are mutable
    DTYPE: ClassVar[type[np.floating[Any]]] = np.float64
    FLOAT: ClassVar[Any]  # the twin in single precision
    BRACKETS: ClassVar[str] = " {}"  # what RobWork prints around the numbers

    def __init__(self, numbers: Array) -> None:
        self._a = np.asarray(numbers, self.DTYPE)

    @classmethod
    def around(cls, array: Array) -> Self:
        """A value that shares its numbers with an array."""
        value = cls.__new__(cls)
        value._a = np.asarray(array, cls.DTYPE)
        return value

    def alike(self, kind: type[T]) -> type[T]:
        """The type of the same precision as this value."""
        return kind.FLOAT if self.DTYPE is np.float32 else kind

    def e(self) -> Array:
        """The numbers themselves, as an array; a vector is one column, as in Eigen."""
        return self._a.view(EigenArray)

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
        if not isinstance(other, Numbers):
            return False
        related = isinstance(other, type(self)) or isinstance(self, type(other))
        return related and bool(np.array_equal(self._a, other._a))

    def __copy__(self) -> Self:
        return self.around(self._a.copy())

    def __deepcopy__(self, memo: object) -> Self:
        return self.around(self._a.copy())

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self._a)

    def equal(self, other: Numbers, precision: float = 2.3e-16) -> bool:
        """Whether all numbers differ by no more than a precision."""
        return bool((np.abs(self._a - other.asNumpy()) <= precision).all())

    def __repr__(self) -> str:
        *opening, closing = self.BRACKETS
        inside = ", ".join(map(short, self._a.ravel().tolist()))
        return f"{type(self).__name__}{''.join(opening)}{inside}{closing}"


def _restored(kind: type[T], array: Array) -> T:
    return kind.around(array)


def with_float_twin(kind: type[T]) -> type[T]:
    """Give a type its twin in single precision, named with an f at the end."""
    fields = {
        "__slots__": (),
        "__doc__": f"{kind.__doc__} In single precision.",
        "__module__": "linkwork.compat.robwork",
        "DTYPE": np.float32,
    }
    kind.FLOAT = type(f"{kind.__name__}f", (kind,), fields)
    return kind


def castToFloat(value: Numbers) -> Any:
    """The same value in single precision."""
    if not hasattr(value, "FLOAT"):
        raise ArgumentError(f"castToFloat: {type(value).__name__} has no type in single precision")
    return value.FLOAT.around(value.asNumpy())


class Vector(Numbers):
    """Numbers that can be added and scaled."""

    __slots__ = ()

    def norm1(self) -> float:
        """Sum of the absolute values."""
        return float(np.abs(self._a).sum())

    def norm2(self) -> float:
        """Length."""
        return float(np.sqrt(np.square(self._a).sum()))

    def normInf(self) -> float:
        """Largest absolute value."""
        return float(np.abs(self._a).max(initial=0.0))

    def __add__(self, other: Vector) -> Self:
        return self.around(self._a + as_numbers(other, "sum", self._a.shape))

    def __sub__(self, other: Vector) -> Self:
        return self.around(self._a - as_numbers(other, "difference", self._a.shape))

    def __neg__(self) -> Self:
        return self.around(-self._a)

    def __pos__(self) -> Self:
        return self.around(self._a.copy())

    def dot(self, other: Vector) -> float:
        """Scalar product."""
        return dot(self, other)

    def elemAdd(self, other: Vector | float) -> Self:
        """Sum, element by element; a number is added to all."""
        return self.around(self._a + self._elements(other))

    def elemSubtract(self, other: Vector | float) -> Self:
        """Difference, element by element; a number is subtracted from all."""
        return self.around(self._a - self._elements(other))

    def elemMultiply(self, other: Vector | float) -> Self:
        """Product, element by element."""
        return self.around(self._a * self._elements(other))

    def elemDivide(self, other: Vector | float) -> Self:
        """Quotient, element by element."""
        return self.around(self._a / self._elements(other))

    def _elements(self, other: Vector | float) -> Array:
        return as_numbers(other, "elements", self._a.shape if np.ndim(other) else ())

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


@with_float_twin
class Vector2D(Vector):
    """A vector in the plane."""

    __slots__ = ()

    def __init__(self, *xy: Any) -> None:
        """Take two numbers, or something that holds two; zero without arguments."""
        super().__init__(_coordinates(xy, "Vector2D", 2))

    def normalize(self) -> Self:
        """The vector of length 1 in its direction; the zero vector stays."""
        return normalize(self)

    def angle(self) -> float:
        """Angle from the x axis [rad]."""
        return float(np.arctan2(self._a[1], self._a[0]))


@with_float_twin
class Vector3D(Vector):
    """A vector in space."""

    __slots__ = ()
    BRACKETS = "()"

    def __init__(self, *xyz: Any) -> None:
        """Take three numbers, or something that holds three; zero without arguments."""
        super().__init__(_coordinates(xyz, "Vector3D", 3))

    @classmethod
    def zero(cls) -> Self:
        """The zero vector."""
        return cls.around(np.zeros(3))

    @classmethod
    def x(cls) -> Self:
        """The x axis."""
        return cls.around(np.array([1.0, 0.0, 0.0]))

    @classmethod
    def y(cls) -> Self:
        """The y axis."""
        return cls.around(np.array([0.0, 1.0, 0.0]))

    @classmethod
    def z(cls) -> Self:
        """The z axis."""
        return cls.around(np.array([0.0, 0.0, 1.0]))

    def cross(self, other: Vector3D) -> Vector3D:
        """Cross product."""
        return cross(self, other)

    def normalize(self) -> Self:
        """The vector of length 1 in its direction; the zero vector stays."""
        return normalize(self)


def _coordinates(numbers: tuple[Any, ...], what: str, count: int) -> Array:
    """Numbers given one by one, or as something that holds them; zeros if there are none."""
    value = numbers[0] if len(numbers) == 1 else (numbers or np.zeros(count))
    return as_numbers(value, what, (count,))


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


def six_numbers(numbers: tuple[Any, ...], what: str) -> Array:
    """Six numbers one by one, two halves of three, or a pose as position and angle times axis."""
    if len(numbers) == 2:
        return np.concatenate([as_numbers(half, what, (3,)) for half in numbers])
    if len(numbers) == 1 and np.shape(numbers[0]) == (4, 4):
        pose = as_numbers(numbers[0], what)
        return np.concatenate([se3.position_of(pose), so3.log(se3.rotation_of(pose))])
    return _coordinates(numbers, what, 6)


@with_float_twin
class VelocityScrew6D(Vector):
    """A velocity: linear (3), angular (3)."""

    __slots__ = ()

    def __init__(self, *numbers: Any) -> None:
        """Take six numbers, linear and angular velocity, or a pose; zero without arguments.

        The screw of a pose is its position and its angle times axis.
        """
        super().__init__(six_numbers(numbers, "VelocityScrew6D"))

    def linear(self) -> Vector3D:
        """Linear velocity."""
        return self.alike(Vector3D).around(self._a[:3])

    def angular(self) -> EAA:
        """Angular velocity."""
        from linkwork.compat.robwork.rotations import EAA

        return self.alike(EAA).around(self._a[3:])


@with_float_twin
class Wrench6D(Vector):
    """A force (3) and a torque (3)."""

    __slots__ = ()

    def __init__(self, *numbers: Any) -> None:
        """Take six numbers, or a force and a torque; zero without arguments."""
        if len(numbers) == 1:
            numbers = (as_numbers(numbers[0], "Wrench6D", (6,)),)
        super().__init__(six_numbers(numbers, "Wrench6D"))

    def force(self) -> Vector3D:
        """The force."""
        return self.alike(Vector3D)(self._a[:3])

    def torque(self) -> Vector3D:
        """The torque."""
        return self.alike(Vector3D)(self._a[3:])

    def setForce(self, force: Vector3D) -> None:
        """Write the force."""
        self._a[:3] = as_numbers(force, "force", (3,))

    def setTorque(self, torque: Vector3D) -> None:
        """Write the torque."""
        self._a[3:] = as_numbers(torque, "torque", (3,))


def dot(a: Vector, b: Vector) -> float:
    """Scalar product."""
    left = as_numbers(a, "dot")
    return float(left @ as_numbers(b, "dot", left.shape))


@overload
def cross(a: Vector2D, b: Vector2D) -> float: ...
@overload
def cross(a: Vector3D, b: Vector3D) -> Vector3D: ...
def cross(a: Any, b: Any) -> Any:
    """Cross product; of vectors in the plane, its component across the plane."""
    if isinstance(a, Vector2D):
        (ax, ay), (bx, by) = as_numbers(a, "cross", (2,)), as_numbers(b, "cross", (2,))
        return float(ax * by - ay * bx)
    product = np.cross(as_numbers(a, "cross", (3,)), as_numbers(b, "cross", (3,)))
    return (a.alike(Vector3D) if isinstance(a, Numbers) else Vector3D).around(product)


def normalize(v: V) -> V:
    """A vector of length 1; the zero vector stays."""
    return v / (v.norm2() or 1.0)


def norm1(v: Vector) -> float:
    """Sum of the absolute values."""
    return v.norm1()


def norm2(v: Vector) -> float:
    """Length."""
    return v.norm2()


def normInf(v: Vector) -> float:
    """Largest absolute value."""
    return v.normInf()


def concat(q1: Q, q2: Q) -> Q:
    """Two configurations, one after the other."""
    return Q(np.concatenate([as_numbers(q1, "concat"), as_numbers(q2, "concat")]))
