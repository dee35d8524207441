"""Vectors and configurations with RobWork's names: small mutable values around NumPy arrays.

`v[i]` and `v(i)` read, `v[i] = x` writes, `v.e()` is the array itself. Every class accepts lists
and arrays where RobWork has its own types. Each type has a variant in single precision:
`Vector3Df` for `Vector3D`. It computes in double precision and rounds its results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, shown

if TYPE_CHECKING:
    from typing_extensions import Self

Pi = float(np.pi)
Deg2Rad = Pi / 180
Rad2Deg = 180 / Pi
T = TypeVar("T", bound="MathValue")
V = TypeVar("V", bound="Vector")
PRECISIONS: dict[str, type] = {}
"""`Vector3Dd`, which is `Vector3D`, `Vector3Df` and so on."""


def as_floats(value: object, name: str, shape: tuple[int, ...] | None = None) -> Array:
    """Convert a value of RobWork's types, a list or an array to an array of floats."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}: expected numbers, got {shown(value)}") from None
    if array.ndim == 2 and shape == array.shape[:1] and array.shape[1] == 1:
        return array[:, 0]  # a column, as `asNumpy` returns
    if shape is not None and array.shape != shape:
        raise ShapeError(f"{name}: expected shape {shape}, got {array.shape}")
    return array


def short(number: float) -> str:
    """Format a number as RobWork does: six digits."""
    return f"{number + 0.0:.6g}"


class EigenArray(np.ndarray):
    """An array that also supports Eigen's `rows()`, `cols()` and `vector[i, 0]`."""

    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.shape[0])

    def cols(self) -> int:
        """Return the number of columns; a vector is one column."""
        return int(self.shape[1]) if self.ndim > 1 else 1

    def __getitem__(self, index: Any) -> Any:
        if self.ndim == 1 and isinstance(index, tuple) and index[1:] == (0,):
            index = index[0]
        return super().__getitem__(index)


class MathValue:
    """Base class of RobWork's mathematical types."""

    __hash__ = None  # type: ignore[assignment]  # they are mutable
    DTYPE: ClassVar[type[np.floating[Any]]] = np.float64
    FLOAT: ClassVar[Any]  # the variant in single precision
    BRACKETS: ClassVar[str] = " {}"  # printed around the elements

    def __init_subclass__(cls, *, both_precisions: bool = False) -> None:
        """Add the variant in single precision to a type, whose name ends in f."""
        if both_precisions:
            name, doc = cls.__name__, f"{cls.__doc__} In single precision."
            fields = {"__doc__": doc, "__module__": "linkwork.compat.robwork", "DTYPE": np.float32}
            cls.FLOAT = type(f"{name}f", (cls,), fields)
            PRECISIONS.update({f"{name}d": cls, f"{name}f": cls.FLOAT})

    def __init__(self, elements: Array) -> None:
        self._a = np.asarray(elements, self.DTYPE)

    @classmethod
    def around(cls, array: Array) -> Self:
        """Return a value that shares its memory with an array."""
        value = cls.__new__(cls)
        value._a = np.asarray(array, cls.DTYPE)
        return value

    def alike(self, kind: type[T]) -> type[T]:
        """Return a type in the precision of this value."""
        return kind.FLOAT if self.DTYPE is np.float32 else kind

    def e(self) -> Array:
        """Return the elements as an array that shares memory; a vector is a column, as in Eigen."""
        return self._a.view(EigenArray)

    def asNumpy(self) -> Array:
        """Return a copy of the elements as an array; a vector is a column (n, 1), as in RobWork."""
        return (self._a if self._a.ndim == 2 else self._a[:, None]).copy()

    def size(self) -> int:
        """Return the number of elements."""
        return int(self._a.size)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False and dtype not in (None, self._a.dtype):
            raise ValueError("a copy is needed to change the type of the elements")
        return np.array(self._a, dtype=dtype, copy=True) if copy is not False else self._a

    def __getitem__(self, index: Any) -> Any:
        element = self._a[index]
        return float(element) if np.ndim(element) == 0 else element

    def __call__(self, *index: int) -> float:
        """Return an element, as in RobWork's C++ interface."""
        return float(self._a[index])

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        self._a[index] = value

    def __len__(self) -> int:
        return len(self._a)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._a.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MathValue):
            return False
        related = isinstance(other, type(self)) or isinstance(self, type(other))
        return related and bool(np.array_equal(self._a, other._a))

    def __copy__(self) -> Self:
        return self.around(self._a.copy())

    def __deepcopy__(self, memo: object) -> Self:
        return self.around(self._a.copy())

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self._a)

    def equal(self, other: MathValue, precision: float = 2.3e-16) -> bool:
        """Return whether all elements differ by at most a precision."""
        return bool((np.abs(self._a - np.asarray(other)) <= precision).all())

    def __repr__(self) -> str:
        *opening, closing = self.BRACKETS
        inside = ", ".join(map(short, self._a.ravel().tolist()))
        return f"{type(self).__name__}{''.join(opening)}{inside}{closing}"


def _restored(kind: type[T], array: Array) -> T:
    return kind.around(array)


def castToFloat(value: MathValue) -> Any:
    """Convert a value to single precision."""
    if not hasattr(value, "FLOAT"):
        raise ArgumentError(f"castToFloat: {type(value).__name__} has no single precision")
    return value.FLOAT.around(np.asarray(value))


class Vector(MathValue):
    """A vector that can be added and scaled."""

    def norm1(self) -> float:
        """Return the sum of the absolute values."""
        return float(np.abs(self._a).sum())

    def norm2(self) -> float:
        """Length."""
        return float(np.sqrt(np.square(self._a).sum()))

    def normInf(self) -> float:
        """Return the largest absolute value."""
        return float(np.abs(self._a).max(initial=0.0))

    def __add__(self, other: Vector) -> Self:
        return self.around(self._a + as_floats(other, "sum", self._a.shape))

    def __sub__(self, other: Vector) -> Self:
        return self.around(self._a - as_floats(other, "difference", self._a.shape))

    def __neg__(self) -> Self:
        return self.around(-self._a)

    def __pos__(self) -> Self:
        return self.around(self._a.copy())

    def dot(self, other: Vector) -> float:
        """Return the scalar product."""
        return dot(self, other)

    def elemAdd(self, other: Vector | float) -> Self:
        """Return the elementwise sum; a number is added to all elements."""
        return self.around(self._a + self._elements(other))

    def elemSubtract(self, other: Vector | float) -> Self:
        """Return the elementwise difference; a number is subtracted from all elements."""
        return self.around(self._a - self._elements(other))

    def elemMultiply(self, other: Vector | float) -> Self:
        """Return the elementwise product."""
        return self.around(self._a * self._elements(other))

    def elemDivide(self, other: Vector | float) -> Self:
        """Return the elementwise quotient."""
        return self.around(self._a / self._elements(other))

    def _elements(self, other: Vector | float) -> Array:
        return as_floats(other, "elements", self._a.shape if np.ndim(other) else ())

    def __mul__(self, factor: float) -> Self:
        return self.around(self._a * _factor(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Self:
        return self.around(self._a / _factor(divisor))


def _factor(value: object) -> float:
    if isinstance(value, MathValue) or np.ndim(value) != 0:  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        raise ArgumentError(f"expected a number, got {shown(value)}")
    return float(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


class Point(Vector):
    """A vector of the plane or of space, which has a direction."""

    def normalize(self) -> Self:
        """Return the vector of length 1 in its direction; the zero vector is unchanged."""
        return normalize(self)


class Vector2D(Point, both_precisions=True):
    """A vector in the plane."""

    def __init__(self, *xy: Any) -> None:
        """Accept two elements, or a sequence of two; zero without arguments."""
        super().__init__(coordinates(xy, "Vector2D", 2))

    def angle(self) -> float:
        """Return the angle from the x axis [rad]."""
        return float(np.arctan2(self._a[1], self._a[0]))


class Vector3D(Point, both_precisions=True):
    """A vector in space."""

    BRACKETS = "()"

    def __init__(self, *xyz: Any) -> None:
        """Accept three elements, or a sequence of three; zero without arguments."""
        super().__init__(coordinates(xyz, "Vector3D", 3))

    @classmethod
    def zero(cls) -> Self:
        """Return the zero vector."""
        return cls.around(np.zeros(3))

    @classmethod
    def x(cls) -> Self:
        """Return the x axis."""
        return cls.around(np.array([1.0, 0.0, 0.0]))

    @classmethod
    def y(cls) -> Self:
        """Return the y axis."""
        return cls.around(np.array([0.0, 1.0, 0.0]))

    @classmethod
    def z(cls) -> Self:
        """Return the z axis."""
        return cls.around(np.array([0.0, 0.0, 1.0]))

    def cross(self, other: Vector3D) -> Vector3D:
        """Return the cross product."""
        return cross(self, other)


def coordinates(values: tuple[Any, ...], name: str, count: int) -> Array:
    """Convert elements, or a sequence of them, to an array; zeros if there are none."""
    elements = values[0] if len(values) == 1 else (values or np.zeros(count))
    return as_floats(elements, name, (count,))


class Q(Vector):
    """A configuration: `Q(6, 0.0)`, `Q([1, 2])`, `Q(1.0, 2.0)` or `Q(2, 1.0, 2.0)`."""

    def __init__(self, *values: Any) -> None:
        """Accept the forms of RobWork: a list, n and a value, n and n values, or values."""
        super().__init__(_configuration(values))

    @staticmethod
    def zero(n: int) -> Q:
        """Return n zeros."""
        return Q(np.zeros(n))

    def empty(self) -> bool:
        """Return whether it has no elements."""
        return not self.size()

    def getSubPart(self, start: int, cnt: int) -> Q:
        """Return some of the elements."""
        if not 0 <= start <= start + cnt <= self.size():
            raise ShapeError(f"getSubPart: {start} + {cnt} exceeds the {self.size()} elements")
        return Q(self._a[start : start + cnt])

    def toStdVector(self) -> list[float]:
        """Return the elements as a list."""
        return self._a.tolist()

    def __repr__(self) -> str:
        return f"Q[{self.size()}]{{{', '.join(map(short, self._a.tolist()))}}}"


def _configuration(arguments: tuple[Any, ...]) -> Array:
    if not arguments:
        return np.zeros(0)
    first, *values = arguments
    is_count = isinstance(first, (int, np.integer)) and not isinstance(first, bool)
    if len(arguments) == 1 and not is_count:
        array = as_floats(first, "Q")
        if array.ndim > 1 and array.shape[1:] != (1,):
            raise ShapeError(f"Q: expected a list of numbers, got shape {array.shape}")
        return array.reshape(-1)
    if is_count and first < 0:
        raise ArgumentError(f"Q: expected a count of 0 or more, got {first}")
    if is_count and not values:
        return np.zeros(first)
    if is_count and len(values) == 1:
        elements = as_floats(values[0], "Q")
        return (
            np.full(first, float(elements))
            if elements.ndim == 0
            else as_floats(elements, "Q", (int(first),))
        )
    if is_count and len(values) == first:
        return as_floats(values, "Q")
    if is_count and any(isinstance(value, (float, np.floating)) for value in values):
        raise ShapeError(f"Q: expected {first} elements, got {len(values)}")
    return as_floats(arguments, "Q")


def dot(a: Vector, b: Vector) -> float:
    """Return the scalar product."""
    left = as_floats(a, "dot")
    return float(left @ as_floats(b, "dot", left.shape))


@overload
def cross(a: Vector2D, b: Vector2D) -> float: ...
@overload
def cross(a: Vector3D, b: Vector3D) -> Vector3D: ...
def cross(a: Any, b: Any) -> Any:
    """Return the cross product; for vectors in the plane, its component normal to the plane."""
    if isinstance(a, Vector2D):
        (ax, ay), (bx, by) = as_floats(a, "cross", (2,)), as_floats(b, "cross", (2,))
        return float(ax * by - ay * bx)
    product = np.cross(as_floats(a, "cross", (3,)), as_floats(b, "cross", (3,)))
    return (a.alike(Vector3D) if isinstance(a, MathValue) else Vector3D).around(product)


def normalize(v: V) -> V:
    """Return the vector of length 1 in its direction; the zero vector is unchanged."""
    return v / (v.norm2() or 1.0)


def norm1(v: Vector) -> float:
    """Return the sum of the absolute values."""
    return v.norm1()


def norm2(v: Vector) -> float:
    """Return the length."""
    return v.norm2()


def normInf(v: Vector) -> float:
    """Return the largest absolute value."""
    return v.normInf()


def concat(q1: Q, q2: Q) -> Q:
    """Concatenate two configurations."""
    return Q(np.concatenate([as_floats(q1, "concat"), as_floats(q2, "concat")]))
