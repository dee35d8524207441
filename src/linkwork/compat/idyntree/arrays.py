"""Vectors and matrices with iDynTree's names, and how methods return them.

All are NumPy arrays of float64 and can be used as such. An operation whose result has the same
shape keeps the class; slices and other shapes are ordinary arrays. These differ from NumPy:

`a * b`     if both are of these classes, the product in the table of `geometry`, or an error; with
            an ordinary array it is NumPy's for plain vectors and matrices, and an error for
            geometric classes
`len(M)`    rows times columns
`v.size`    NumPy's number, which can also be called: `v.size()`
`a += b`    a new object for geometric classes, so that other references to `a` keep their value
`if v:`     whether there are elements, whatever their values; comparisons return ordinary arrays

Results   each method returns its result, or writes it to an array of the caller and returns True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from operator import index as as_index
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.statuses import Partial
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.model.pose import as_floats

if TYPE_CHECKING:
    from typing_extensions import Self

Kind = TypeVar("Kind", bound="BaseArray")

PRODUCTS: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}
"""Functions for `left * right`, by the classes of both; filled by `geometry`."""


class Size(int):
    """The number of elements, which can be called like iDynTree's `size()`."""

    def __call__(self) -> int:
        """Return the number."""
        return int(self)


class BaseArray(Partial, np.ndarray[Any, np.dtype[np.float64]]):
    """An array of fixed shape: zeros, or values in row-major order."""

    SHAPE: ClassVar[tuple[int, ...]] = ()
    FAMILY: ClassVar[str] = ""  # geometric classes of different families cannot be added
    ADDITIVE: ClassVar[bool] = True  # False: only matrix products keep the class, sums do not

    def __new__(cls, *values: ArrayLike) -> Self:
        """Create an array of this class."""
        if not values:
            return array_of(cls, np.zeros(cls.SHAPE))
        flat = np.concatenate([np.ravel(as_floats(part, cls.__name__)) for part in values])
        if flat.size != prod(cls.SHAPE):
            message = f"{cls.__name__}: expected {prod(cls.SHAPE)} elements, got {flat.size}"
            raise ShapeError(message)
        return array_of(cls, flat.reshape(cls.SHAPE))

    @classmethod
    def FromPython(cls, _in: ArrayLike) -> Self:
        """Return an array of this class with the same values."""
        return cls(_in)

    @classmethod
    def Zero(cls) -> Self:
        """Return an array of zeros."""
        return array_of(cls, np.zeros(cls.SHAPE))

    def __getitem__(self, key: Any) -> Any:
        return self.view(np.ndarray)[key]

    def __len__(self) -> int:
        return prod(self.shape)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __eq__(self, other: object) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - None is allowed
        return False if other is None else super().__eq__(other)

    def __ne__(self, other: object) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - None is allowed
        return True if other is None else super().__ne__(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as NumPy's arrays

    def __call__(self, *index: int) -> float:
        """Return the element at an index, or at a row and a column."""
        return float(self[self._checked(*index)])

    def __str__(self) -> str:
        return self.toString()

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        ordinary = np.asarray(array)
        if ordinary.ndim == 0:
            return ordinary[()]
        if self.ADDITIVE:
            keeps_class = ordinary.shape == self.shape and ordinary.dtype == self.dtype
        else:
            function, operands = (None, ()) if context is None else context[:2]
            both = all(isinstance(operand, type(self)) for operand in operands[:2])
            keeps_class = function is np.matmul and both
        return ordinary.view(type(self)) if keeps_class else ordinary

    def __mul__(self, other: Any) -> Any:
        return _product(self, other, super().__mul__)

    def __rmul__(self, other: Any) -> Any:
        if np.ndim(other) and self.FAMILY:
            raise _no_product(other, self)
        return super().__rmul__(other)

    def __imul__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - a product may be of another class
        return _product(self, other, super().__mul__ if self.FAMILY else super().__imul__)

    def __add__(self, other: Any) -> Any:
        self._check_family(other, "+")
        return super().__add__(other)

    def __sub__(self, other: Any) -> Any:
        self._check_family(other, "-")
        return super().__sub__(other)

    def __iadd__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - of any class
        return self + other if self.FAMILY else super().__iadd__(other)

    def __isub__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - of any class
        return self - other if self.FAMILY else super().__isub__(other)

    @property
    def size(self) -> Size:  # pyright: ignore[reportIncompatibleVariableOverride] - a number that can be called
        """The number of elements, also as `size()`."""
        return Size(prod(self.shape))

    def toNumPy(self) -> Array:
        """Return a copy as an ordinary array."""
        return np.array(self, subok=False)

    def zero(self) -> None:
        """Set every element to 0."""
        self[...] = 0.0

    def toString(self) -> str:
        """Format the elements, one row per line."""
        rows = np.atleast_2d(self.view(np.ndarray))
        lines = (" ".join(f"{value:g}" for value in row) for row in rows.tolist())
        return "\n".join(lines)

    def _checked(self, *index: int) -> tuple[int, ...]:
        """Return the index as a tuple of integers; raise if it is out of range."""
        try:
            indices = tuple(as_index(value) for value in index)
        except TypeError:
            raise ArgumentError(f"{type(self).__name__}: expected indices, got {index}") from None
        fits = len(indices) == self.ndim and all(
            0 <= k < count for k, count in zip(indices, self.shape, strict=True)
        )
        if not fits:
            shape = " x ".join(map(str, self.shape))
            raise ValueRangeError(
                f"index {indices}: this {type(self).__name__} has {shape} elements"
            )
        return indices

    def _check_family(self, other: Any, sign: str) -> None:
        other_family = getattr(other, "FAMILY", "")
        if self.FAMILY and other_family and other_family != self.FAMILY:
            message = f"{type(self).__name__} {sign} {type(other).__name__} is not defined"
            raise ArgumentError(message)


class Vector(BaseArray):
    """An array with one index."""

    def getVal(self, index: int) -> float:
        """Return the element at an index."""
        return float(self[self._checked(index)])

    def setVal(self, index: int, new_el: float) -> bool:
        """Set the element at an index."""
        self[self._checked(index)] = new_el
        return True


class Matrix(BaseArray):
    """An array with rows and columns."""

    def getVal(self, row: int, col: int) -> float:
        """Return the element at a row and a column."""
        return float(self[self._checked(row, col)])

    def setVal(self, row: int, col: int, new_el: float) -> bool:
        """Set the element at a row and a column."""
        self[self._checked(row, col)] = new_el
        return True

    def rows(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def cols(self) -> int:
        """Return the number of columns."""
        return self.shape[1]


class VectorDynSize(Vector):
    """A vector of any length: zeros of a length, or a copy of an array."""

    def __new__(cls, values: ArrayLike = 0) -> Self:
        """Create a vector."""
        if isinstance(values, (int, np.integer)):
            return array_of(cls, np.zeros(int(values)))
        return array_of(cls, np.ravel(as_floats(values, cls.__name__)))

    def resize(self, newSize: int) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's
        """Change the length; elements within it are kept, new ones are 0."""
        super().resize((int(newSize),), refcheck=False)


class MatrixDynSize(Matrix):
    """A matrix of any shape: zeros of a shape, or a copy of an array."""

    def __new__(cls, rows: ArrayLike = 0, cols: int | None = None) -> Self:
        """Create a matrix from its number of rows and columns, or from an array."""
        if cols is None and not isinstance(rows, (int, np.integer)):
            return array_of(cls, np.atleast_2d(as_floats(rows, cls.__name__)))
        return array_of(cls, np.zeros((int(rows), int(cols or 0))))  # pyright: ignore[reportArgumentType] - a number here

    def resize(self, _newRows: int, _newCols: int) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's
        """Change the shape; the elements are undefined afterwards."""
        super().resize((int(_newRows), int(_newCols)), refcheck=False)


def array_of(kind: type[Kind], values: Array) -> Kind:
    """Copy an array to one of iDynTree's classes."""
    array = np.ndarray.__new__(kind, values.shape)
    array[...] = values
    return array


def result(value: Array, out: Any, kind: type[BaseArray] = MatrixDynSize) -> Any:
    """Return the value as an array of a class; or write it to `out` and return True."""
    if out is None:
        return array_of(kind, value)
    write(value, out)
    return True


def write(value: Array, out: Any) -> None:
    """Write to an array of the caller; iDynTree's classes of any size are resized.

    Raises:
        ArgumentError: `out` is not an array.
        ShapeError: it has another shape.
    """
    if not isinstance(out, np.ndarray):
        raise ArgumentError(f"output: expected a NumPy array to write to, got {shown(out)}")
    if out.shape != value.shape:
        if not (isinstance(out, (VectorDynSize, MatrixDynSize)) and out.ndim == value.ndim):
            raise ShapeError(f"output: expected {value.shape}, got {out.shape}")
        out.resize(*value.shape)
    out[...] = value


def write_all(values: Iterable[Array], out: Sequence[Any]) -> bool:
    """Write to several arrays of the caller; return True."""
    for value, array in zip(values, out, strict=True):
        write(value, array)
    return True


def _product(left: BaseArray, right: Any, numpy_product: Callable[[Any], Any]) -> Any:
    """Return iDynTree's product, or NumPy's where it is unambiguous."""
    if isinstance(right, BaseArray) or hasattr(right, "FAMILY"):
        for left_class in type(left).__mro__:
            for right_class in type(right).__mro__:
                if (left_class, right_class) in PRODUCTS:
                    return PRODUCTS[left_class, right_class](left, right)
        raise _no_product(left, right)
    if np.ndim(right) and left.FAMILY:
        raise _no_product(left, right)
    return numpy_product(right)


def _no_product(left: object, right: object) -> ArgumentError:
    message = f"iDynTree has no product {type(left).__name__} * {type(right).__name__}"
    return ArgumentError(f"{message}; use np.multiply for an elementwise product")


class Vector3(Vector):
    """A vector of three elements."""

    SHAPE = (3,)


class Vector4(Vector):
    """A vector of four elements."""

    SHAPE = (4,)


class Vector6(Vector):
    """A vector of six elements."""

    SHAPE = (6,)


class Vector10(Vector):
    """A vector of ten elements."""

    SHAPE = (10,)


class Matrix2x3(Matrix):
    """A (2, 3) matrix."""

    SHAPE = (2, 3)


class Matrix3x3(Matrix):
    """A (3, 3) matrix."""

    SHAPE = (3, 3)


class Matrix4x4(Matrix):
    """A (4, 4) matrix."""

    SHAPE = (4, 4)


class Matrix6x6(Matrix):
    """A (6, 6) matrix."""

    SHAPE = (6, 6)
