"""Traced values, and NumPy's functions on arrays of them.

`Traced`       one value of a function that is being traced; `linkwork.expr.node.Expr` is one
`ObjectArray`  an array of them, on which NumPy's functions work as on numbers
`where`        chooses entry by entry, by a condition that may be traced
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import ArgumentError

Array: TypeAlias = NDArray[Any]

_FOREIGN = ("jax", "jaxlib", "torch", "casadi", "tensorflow", "cupy")
_INSTEAD = {  # what to do instead of functions of matrices that need numbers
    "solve": "solve with NumPy outside of the traced function, and give it the result as an input",
    "inv": "invert with NumPy outside of the traced function, and give it the result as an input",
    "det": "write the determinant out, or compute it outside and give it as an input",
    "cholesky": "factorise outside of the traced function, and give it the factor as an input",
}


class Traced:
    """One traced value: the base class by which `isinstance` tells it from a number.

    It has Python's operators, and NumPy's functions of one number as methods. A comparison gives a
    condition, which is traced too.
    """

    __slots__ = ()

    __lt__: Any  # each subclass has these operators
    __gt__: Any
    __le__: Any
    __invert__: Any

    def select(self, yes: Any, no: Any) -> Any:
        """`yes` where this condition is true, else `no`."""
        raise NotImplementedError

    def like(self, value: Any) -> Any:
        """A number as a traced value of the same function."""
        raise NotImplementedError


def where(condition: Any, yes: Any, no: Any) -> Array:
    """Choose entry by entry; the condition may be traced, and so may what it chooses from."""
    parts = [unwrapped(np.asarray(part)) for part in (condition, yes, no)]
    if any(part.dtype == object for part in parts):
        return _objects(np.frompyfunc(_chosen, 3, 1)(*parts))
    return np.where(condition, yes, no)


class ObjectArray(np.ndarray[Any, np.dtype[Any]]):
    """An array of traced values and numbers, on which NumPy's functions work as on numbers.

    A comparison gives an array of conditions, and an index always gives an array. A function that
    cannot be traced raises an `ArgumentError`.
    """

    def __getitem__(self, key: Any) -> Any:
        return _objects(super().__getitem__(key))

    def __bool__(self) -> bool:
        for entry in self.flat:
            if isinstance(entry, Traced):
                return bool(entry)
        return super().__bool__()

    def __repr__(self) -> str:
        return f"<traced array {self.shape}>" if is_traced(self) else super().__repr__()

    __str__ = __repr__

    def dot(self, b: Any, out: Any = None) -> Any:
        """The product that `np.dot` gives."""
        return np.dot(self, b, out=out)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        for value in inputs:
            package = foreign_package(value)
            if package:
                text = f"a value of {package} cannot be traced"
                raise ArgumentError(f"{text}; use np.asarray(...) to take its numbers")
        raw = [unwrapped(np.asarray(x)) if isinstance(x, np.ndarray) else x for x in inputs]
        function = _FUNCTIONS.get(ufunc.__name__)
        try:
            with np.errstate(all="ignore"):  # constants that overflow are not folded
                if function is None:
                    result = getattr(ufunc, method)(*raw, **options)
                elif method == "reduce":
                    result = _reduced(function, *raw, **options)
                else:
                    result = getattr(np.frompyfunc(function, ufunc.nin, 1), method)(*raw)
        except TypeError as error:
            if function and isinstance(error, ArgumentError):
                raise
            raise _not_traced("numpy", ufunc.__name__, error, inputs) from error
        if out is None:
            return _conditions(result) if ufunc.__name__ in _COMPARISONS else _objects(result)
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


def is_traced(value: Any) -> bool:
    """Whether there is a traced value: alone, in an array, or in lists."""
    if isinstance(value, (list, tuple)):
        return any(map(is_traced, value))
    if isinstance(value, np.ndarray) and value.dtype == object:
        return any(map(is_traced, value.flat))
    return isinstance(value, Traced)


def foreign_package(value: Any) -> str | None:
    """The name of the array package that a value belongs to, if it is not NumPy."""
    package = type(value).__module__.partition(".")[0]
    return {"jaxlib": "jax"}.get(package, package) if package in _FOREIGN else None


def unwrapped(array: Array) -> Array:
    """An array of objects whose entries are not arrays: `np.array` keeps some."""
    if array.dtype != object or not any(isinstance(entry, np.ndarray) for entry in array.flat):
        return array
    bare = [entry.item() if isinstance(entry, np.ndarray) else entry for entry in array.flat]
    return np.array([*bare, None], dtype=object)[:-1].reshape(array.shape)


def _objects(value: Any) -> Any:
    """A traced value or an array of objects as an `ObjectArray`; anything else as it is."""
    if isinstance(value, np.ndarray):
        return unwrapped(value).view(ObjectArray) if value.dtype == object else value
    return np.asarray(value, object).view(ObjectArray) if isinstance(value, Traced) else value


def _conditions(value: Any) -> Any:
    """The result of a comparison: conditions, or booleans if no entry is traced."""
    array = np.asarray(value, object)
    return _objects(array) if is_traced(array) else array.astype(bool)[()]


def _not_traced(
    module: str, name: str, error: Exception, inputs: Sequence[Any] = ()
) -> ArgumentError:
    """An error about a function, with what to do instead."""
    why = str(error) if isinstance(error, ArgumentError) else "it takes numbers only"
    for value in inputs:
        if value is None or isinstance(value, (str, bytes, complex, dict)):
            why = f"it takes real numbers, got {type(value).__name__}"
    if module == "numpy.linalg" and name in _INSTEAD:
        why = f"it takes numbers only; {_INSTEAD[name]}"
    return ArgumentError(f"{module}.{name} cannot be traced: {why}")


def _reduced(
    function: Callable[..., Any], array: Array, axis: Any = 0, keepdims: Any = False, **_: Any
) -> Any:
    """Reduce along some axes, by a function of two entries."""
    axes = range(array.ndim) if axis is None else np.atleast_1d(axis) % max(array.ndim, 1)
    moved = np.moveaxis(array, tuple(axes), range(len(axes)))
    rows = moved.reshape(-1, *moved.shape[len(axes) :])
    total = np.asarray(reduce(np.frompyfunc(function, 2, 1), rows), object)
    return np.expand_dims(total, tuple(axes)) if keepdims else total


def _norm(x: Any, ord: Any = None, axis: int | None = None, keepdims: bool = False) -> Array:
    """Length of vectors, as `np.linalg.norm`."""
    x = unwrapped(np.asarray(x)).view(ObjectArray)
    if ord not in (None, 2) or (ord == 2 and axis is None and x.ndim != 1):
        raise ArgumentError("numpy.linalg.norm cannot be traced but for the length of vectors")
    return np.sqrt((x * x).sum(axis=axis, keepdims=keepdims))


# NumPy's functions of one entry, where NumPy's own loop over objects does not work. An entry is a
# number, a traced value, or another kind of number that has NumPy's functions as methods.

_NUMBERS = (int, float, np.number, np.bool_)


def _chosen(condition: Any, yes: Any, no: Any) -> Any:
    if isinstance(condition, Traced):
        return condition.select(yes, no)
    return yes if condition else no


def _not(a: Any) -> Any:
    return ~a if isinstance(a, Traced) else not a


def _equal(a: Any, b: Any) -> Any:
    return (a <= b) & (b <= a) if isinstance(a, Traced) or isinstance(b, Traced) else a == b


def _larger(a: Any, b: Any) -> Any:
    return _chosen(a < b, b, _chosen(b <= a, a, a + b))  # a + b is NaN if one of them is


def _smaller(a: Any, b: Any) -> Any:
    return _chosen(b < a, b, _chosen(a <= b, a, a + b))


def _sign(a: Any) -> Any:
    return _chosen(a < 0.0, -1.0, _chosen(a > 0.0, 1.0, a))


def _method(name: str) -> Callable[..., Any]:
    """NumPy's function for numbers, the method of this name for other entries."""
    of_numbers = getattr(np, name)

    def function(a: Any, *others: Any) -> Any:
        if isinstance(a, _NUMBERS):
            for other in others:
                if isinstance(other, Traced):
                    return getattr(other.like(a), name)(*others)
            return of_numbers(a, *others)
        return getattr(a, name)(*others)

    return function


_ONE_ENTRY = ("sin", "cos", "sqrt", "exp", "expm1", "exp2", "log", "log1p", "floor", "arctan2")
_sin, _cos, _sqrt, _exp, _expm1, _exp2, _log, _log1p, _floor, _arctan2 = map(_method, _ONE_ENTRY)


def _arcsin(a: Any) -> Any:
    return _arctan2(a, _sqrt((1.0 - a) * (1.0 + a)))


def _arccos(a: Any) -> Any:
    return _arctan2(_sqrt((1.0 - a) * (1.0 + a)), a)


def _sinh(a: Any) -> Any:
    x = abs(a)
    e = _expm1(x)  # sinh(x) = (e + e/(e + 1)) / 2 with e = exp(x) - 1: no cancellation
    return _sign(a) * _chosen(x < _LARGE, 0.5 * (e + e / (e + 1.0)), _half_exp(x))


def _cosh(a: Any) -> Any:
    x = abs(a)
    return _half_exp(x) + 0.5 * _exp(-x)


def _half_exp(x: Any) -> Any:
    """exp(x) / 2, finite wherever sinh and cosh are."""
    root = _exp(0.5 * x)
    return (0.5 * root) * root


def _tanh(a: Any) -> Any:
    e = _expm1(-2.0 * abs(a))  # tanh(x) = -e/(e + 2) with e = exp(-2 x) - 1, for x >= 0
    return _sign(a) * (-e / (e + 2.0))


def _arcsinh(a: Any) -> Any:
    x = abs(a)
    is_large = x > 1.0 / np.finfo(float).eps  # then 1 + x^2 = x^2 to rounding, and x^2 may overflow
    small = _chosen(is_large, 1.0, x)
    square = small * small
    near_zero = _log1p(small + square / (1.0 + _sqrt(1.0 + square)))  # no cancellation
    return _sign(a) * _chosen(is_large, _log(x) + _LOG_2, near_zero)


def _arccosh(a: Any) -> Any:
    is_large = a > 1.0 / np.finfo(float).eps
    t = _chosen(is_large, 1.0, a) - 1.0
    return _chosen(is_large, _log(a) + _LOG_2, _log1p(t + _sqrt(t * (t + 2.0))))


def _arctanh(a: Any) -> Any:
    x = abs(a)
    return _sign(a) * (0.5 * _log1p(2.0 * x / (1.0 - x)))


def _ceil(a: Any) -> Any:
    return -_floor(-a)


def _rint(a: Any) -> Any:
    below = _floor(a)
    even = 2.0 * _floor(0.5 * below + 0.5)  # the even one of the two nearest integers
    fraction = a - below
    return _chosen(fraction < 0.5, below, _chosen(fraction > 0.5, below + 1.0, even))


def _quotient(a: Any, b: Any) -> tuple[Any, Any]:
    """floor(a / b) and the remainder, which has the sign of b."""
    q = _floor(a / b)
    r = a - q * b
    signed, size = _chosen(b < 0.0, -r, r), abs(b)
    low, high = signed < 0.0, signed >= size  # a / b was rounded across an integer
    q = _chosen(low, q - 1.0, _chosen(high, q + 1.0, q))
    return q, _chosen(low, r + b, _chosen(high, r - b, r))


_LOG_2 = float(np.log(2.0))
_LARGE = 20.0  # exp(x) - exp(-x) = exp(x) to rounding from here on
_DEGREE = np.pi / 180.0

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
    "isnan": lambda a: _not(_equal(a, a)),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_COMPARISONS,
    **{name: _method(name) for name in _ONE_ENTRY},
    "tan": lambda a: _sin(a) / _cos(a),
    "arctan": lambda a: _arctan2(a, 1.0),
    "arcsin": _arcsin,
    "arccos": _arccos,
    "hypot": lambda a, b: _sqrt(a * a + b * b),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "arcsinh": _arcsinh,
    "arccosh": _arccosh,
    "arctanh": _arctanh,
    "log2": lambda a: _log(a) * (1.0 / _LOG_2),
    "log10": lambda a: _log(a) * (1.0 / float(np.log(10.0))),
    "ceil": _ceil,
    "trunc": lambda a: _chosen(a < 0.0, _ceil(a), _floor(a)),
    "rint": _rint,
    "floor_divide": lambda a, b: _quotient(a, b)[0],
    "remainder": lambda a, b: _quotient(a, b)[1],
    "maximum": _larger,
    "minimum": _smaller,
    "clip": lambda a, low, high: _smaller(_larger(a, low), high),
    "sign": _sign,
    "fabs": abs,
    "float_power": lambda a, b: a**b,
    "deg2rad": lambda a: a * _DEGREE,
    "radians": lambda a: a * _DEGREE,
    "rad2deg": lambda a: a / _DEGREE,
    "degrees": lambda a: a / _DEGREE,
}
