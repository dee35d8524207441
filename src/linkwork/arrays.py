"""The few array functions that spatial algebra and algorithms may use.

Everything above this layer is written with operators, `...` indexing and these functions, and never
writes into an array. So the same code can later run on other kinds of arrays by teaching only this
module about them.

Batch    the last one or two axes are the vector or matrix; any axes before them are a batch
Float    float64 unless the caller's arrays say otherwise
Object   arrays of objects, such as expressions of a function being traced, are `ObjectArray`s
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.errors import ArgumentError

Array: TypeAlias = NDArray[Any]


def as_array(value: ArrayLike) -> Array:
    """Take a number, list or array as a floating-point array; arrays of floats stay as they are."""
    array = np.asarray(value)
    if array.dtype == object:
        return _unwrapped(array).view(ObjectArray)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def stack(parts: Sequence[Any], axis: int = -1) -> Array:
    """Join parts along a new axis, after broadcasting them against each other."""
    return np.stack(np.broadcast_arrays(*parts), axis=axis)


def join(parts: Sequence[Array]) -> Array:
    """Join vectors end to end along the last axis, after broadcasting their batch axes."""
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    full = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts]
    return np.concatenate(full, axis=-1)


def matrix(rows: Sequence[Sequence[Any]]) -> Array:
    """Make (..., m, n) from m rows of n entries, each a number or a batch of numbers."""
    width = len(rows[0])
    flat = stack([entry for row in rows for entry in row])
    return flat.reshape(*flat.shape[:-1], len(rows), width)


def where(condition: Any, yes: Any, no: Any) -> Array:
    """Choose entry by entry; a condition may be traced, and then each of the other two may too."""
    parts = [_unwrapped(np.asarray(part)) for part in (condition, yes, no)]
    if any(part.dtype == object for part in parts):
        return _objects(np.frompyfunc(_chosen, 3, 1)(*parts))
    return np.where(condition, yes, no)


def sin(x: Any) -> Array:
    """Sine of each entry."""
    return np.sin(x)


def cos(x: Any) -> Array:
    """Cosine of each entry."""
    return np.cos(x)


def sqrt(x: Any) -> Array:
    """Square root of each entry."""
    return np.sqrt(x)


def atan2(y: Any, x: Any) -> Array:
    """Angle of the point (x, y), entry by entry."""
    return np.arctan2(y, x)


def dot(a: Array, b: Array) -> Array:
    """Sum of products along the last axis."""
    return (a * b).sum(axis=-1)


def cross(a: Array, b: Array) -> Array:
    """Cross product of 3-vectors along the last axis."""
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    return stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def matvec(m: Array, v: Array) -> Array:
    """Product of matrices (..., m, n) with vectors (..., n)."""
    return (m @ v[..., None])[..., 0]


def transpose(m: Array) -> Array:
    """Swap the last two axes."""
    return np.swapaxes(m, -1, -2)


class ObjectArray(np.ndarray[Any, np.dtype[Any]]):
    """An array of objects that are no numbers yet, on which NumPy's functions work as on numbers.

    A comparison gives what the entries give and not their truth, an index always gives an array,
    and numbers may stand beside objects. An object must have NumPy's functions as methods, and
    `select(yes, no)` and `like(number)`. What cannot work raises an `ArgumentError`.
    """

    def __getitem__(self, key: Any) -> Any:
        return _objects(super().__getitem__(key))

    def __bool__(self) -> bool:
        for entry in self.flat:
            if hasattr(entry, "select"):
                return bool(entry)
        return super().__bool__()

    def dot(self, b: Any, out: Any = None) -> Any:
        """The product that `np.dot` gives."""
        return np.dot(self, b, out=out)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        raw = [_unwrapped(np.asarray(x)) if isinstance(x, np.ndarray) else x for x in inputs]
        function = _FUNCTIONS.get(ufunc.__name__)
        try:
            if function is None:
                result = getattr(ufunc, method)(*raw, **options)
            elif method == "reduce":
                result = _reduced(function, *raw, **options)
            else:
                result = getattr(np.frompyfunc(function, ufunc.nin, 1), method)(*raw)
        except TypeError as error:
            if function and isinstance(error, ArgumentError):
                raise
            raise _not_traced("numpy", ufunc.__name__, error) from error
        if out is None:
            return _truths(result) if ufunc.__name__ in _COMPARISONS else _objects(result)
        out[0][...] = result
        return out[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        replaced = {np.where: where, np.linalg.norm: _norm}.get(func)
        if replaced:
            return replaced(*args, **kwargs)
        try:
            result = super().__array_function__(func, types, args, kwargs)
        except (TypeError, AttributeError) as error:
            raise _not_traced(func.__module__, func.__name__, error) from error
        if isinstance(result, (tuple, list)):
            return type(result)(_objects(part) for part in result)
        return _objects(result)


def _unwrapped(array: Array) -> Array:
    """An array with objects where `np.array` has put arrays of one object."""
    if array.dtype != object or not any(isinstance(entry, np.ndarray) for entry in array.flat):
        return array
    bare = [entry.item() if isinstance(entry, np.ndarray) else entry for entry in array.flat]
    return np.array([*bare, None], dtype=object)[:-1].reshape(array.shape)


def _objects(value: Any) -> Any:
    """Objects, alone or in an array, as an array of objects; all else as it is."""
    if isinstance(value, np.ndarray):
        return _unwrapped(value).view(ObjectArray) if value.dtype == object else value
    return np.asarray(value, object).view(ObjectArray) if hasattr(value, "select") else value


def _truths(value: Any) -> Any:
    """What a comparison of entries gives; truths that are known as booleans."""
    array = np.asarray(value, object)
    unknown = any(hasattr(entry, "select") for entry in array.flat)
    return _objects(array) if unknown else array.astype(bool)[()]


def _not_traced(module: str, name: str, error: Exception) -> ArgumentError:
    why = error if isinstance(error, ArgumentError) else "it takes numbers only"
    return ArgumentError(f"{module}.{name} cannot be traced: {why}")


def _reduced(
    function: Callable[..., Any], array: Array, axis: Any = 0, keepdims: Any = False, **_: Any
) -> Any:
    """Join the entries along some axes, one after the other."""
    axes = range(array.ndim) if axis is None else np.atleast_1d(axis) % max(array.ndim, 1)
    moved = np.moveaxis(array, tuple(axes), range(len(axes)))
    rows = moved.reshape(-1, *moved.shape[len(axes) :])
    total = np.asarray(reduce(np.frompyfunc(function, 2, 1), rows), object)
    return np.expand_dims(total, tuple(axes)) if keepdims else total


def _norm(x: Any, ord: Any = None, axis: int | None = None, keepdims: bool = False) -> Array:
    """Length of vectors, as `np.linalg.norm`."""
    x = as_array(x)
    if ord not in (None, 2) or (ord == 2 and axis is None and x.ndim != 1):
        raise ArgumentError("numpy.linalg.norm cannot be traced but for the length of vectors")
    return np.sqrt((x * x).sum(axis=axis, keepdims=keepdims))


# NumPy's functions of one entry, where those that NumPy has for objects will not do.


def _chosen(condition: Any, yes: Any, no: Any) -> Any:
    if hasattr(condition, "select"):
        return condition.select(yes, no)
    return yes if condition else no


def _not(a: Any) -> Any:
    return ~a if hasattr(a, "select") else not a


def _equal(a: Any, b: Any) -> Any:
    traced = hasattr(a, "select") or hasattr(b, "select")
    return (a <= b) & (b <= a) if traced else a == b


def _larger(a: Any, b: Any) -> Any:
    return _chosen(a < b, b, _chosen(b <= a, a, a + b))  # a + b is NaN if one of them is


def _smaller(a: Any, b: Any) -> Any:
    return _chosen(b < a, b, _chosen(a <= b, a, a + b))


def _method(name: str) -> Callable[..., Any]:
    """A function of numbers that is a method of objects."""

    def function(a: Any, *rest: Any) -> Any:
        for other in rest:
            if hasattr(other, "like") and not hasattr(a, "like"):
                a = other.like(a)
        return getattr(a, name)(*rest) if hasattr(a, name) else getattr(np, name)(a, *rest)

    return function


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": _equal,
    "not_equal": lambda a, b: _not(_equal(a, b)),
    "logical_and": lambda a, b: a & b,
    "logical_or": lambda a, b: a | b,
    "logical_not": _not,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "invert": _not,
}
_METHODS = ("sin", "cos", "tan", "sqrt", "exp", "log", "arctan", "arcsin", "arccos")
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_COMPARISONS,
    **{name: _method(name) for name in (*_METHODS, "arctan2", "hypot")},
    "maximum": _larger,
    "minimum": _smaller,
    "clip": lambda a, low, high: _smaller(_larger(a, low), high),
    "sign": lambda a: _chosen(a < 0.0, -1.0, _chosen(a > 0.0, 1.0, a)),
    "fabs": abs,
    "float_power": lambda a, b: a**b,
    "deg2rad": lambda a: a * (np.pi / 180.0),
    "radians": lambda a: a * (np.pi / 180.0),
    "rad2deg": lambda a: a * (180.0 / np.pi),
    "degrees": lambda a: a * (180.0 / np.pi),
}
