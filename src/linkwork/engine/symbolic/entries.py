"""Entries of arrays: traced values, and NumPy's functions of one entry.

`Traced`       base class of traced values, such as `node.Expr`
`select`       one of two entries, by a condition that may be traced
`is_zero`      whether an entry is a structural zero: zero for all inputs
`plus`, `minus`, `times`   sums and products without operations on constant zeros and ones
`FUNCTIONS`    functions of entries, by the name of the NumPy function that they replace

An entry is a number, a traced value, or an object of another numeric type that has NumPy's
functions as methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.engine.symbolic.operations import OPERATIONS


class Traced:
    """Base class of traced values, which distinguishes them from numbers.

    A traced value has Python's operators, and NumPy's functions of one number as methods. A
    comparison returns a condition, which is traced too.
    """

    __slots__ = ()

    __lt__: Any  # each subclass has these operators
    __gt__: Any
    __le__: Any
    __invert__: Any

    def select(self, yes: Any, no: Any) -> Any:
        """Return `yes` where this condition is true, else `no`."""
        raise NotImplementedError

    def like(self, value: Any) -> Any:
        """Convert a number to a traced value of the same function."""
        raise NotImplementedError

    def number(self) -> float | None:
        """Return its value if it is a constant, else None."""
        raise NotImplementedError


_NUMBERS = (int, float, np.number, np.bool_)


def select(condition: Any, yes: Any, no: Any) -> Any:
    """Return one of two entries; the condition may be traced."""
    if isinstance(condition, Traced):
        return condition.select(yes, no)
    return yes if condition else no


def is_zero(entry: Any) -> bool:
    """Return whether an entry is the constant 0, as a number or as a traced value."""
    value = entry.number() if isinstance(entry, Traced) else entry
    return isinstance(value, (int, float)) and value == 0.0


def plus(a: Any, b: Any) -> Any:
    """Return a + b without adding a constant 0."""
    if isinstance(a, float) and a == 0.0:
        return b
    return a if isinstance(b, float) and b == 0.0 else a + b


def minus(a: Any, b: Any) -> Any:
    """Return a - b without subtracting a constant 0, or subtracting from it."""
    if isinstance(b, float) and b == 0.0:
        return a
    return -b if isinstance(a, float) and a == 0.0 else a - b


def times(a: Any, b: Any) -> Any:
    """Return a b without multiplying by a constant 0, 1 or -1."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, float) and x in (0.0, 1.0, -1.0):
            return 0.0 if x == 0.0 else y if x == 1.0 else -y
    return a * b


def _not(a: Any) -> Any:
    return ~a if isinstance(a, Traced) else not a


def _equal(a: Any, b: Any) -> Any:
    return (a <= b) & (b <= a) if isinstance(a, Traced) or isinstance(b, Traced) else a == b


def _xor(a: Any, b: Any) -> Any:
    return (a | b) & _not(a & b)


def _larger(a: Any, b: Any) -> Any:
    return select(a < b, b, select(b <= a, a, a + b))  # a + b is NaN if one of them is


def _smaller(a: Any, b: Any) -> Any:
    return select(b < a, b, select(a <= b, a, a + b))


def _ignoring_nan(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wrap a function of two numbers to return one of them where the other is NaN."""
    return lambda a, b: select(_equal(a, a), select(_equal(b, b), function(a, b), a), b)


def _sign(a: Any) -> Any:
    return select(a < 0.0, -1.0, select(a > 0.0, 1.0, a))


def _method(name: str) -> Callable[..., Any]:
    """Create a function that calls NumPy's for numbers and the method for other entries."""
    numpy_function = getattr(np, name)

    def function(a: Any, *others: Any) -> Any:
        if isinstance(a, _NUMBERS):
            for other in others:
                if isinstance(other, Traced):
                    return getattr(other.like(a), name)(*others)
            return numpy_function(a, *others)
        return getattr(a, name)(*others)

    return function


METHODS = {row.numpy: row.arity for row in OPERATIONS.values() if row.numpy}
"""NumPy's functions that are methods of traced values, and their numbers of arguments."""
_sin, _cos, _sqrt, _floor = map(_method, ("sin", "cos", "sqrt", "floor"))
_exp, _expm1, _log, _log1p = map(_method, ("exp", "expm1", "log", "log1p"))
_arctan2, _fmod, _copysign = map(_method, ("arctan2", "fmod", "copysign"))


def _arcsin(a: Any) -> Any:
    return _arctan2(a, _sqrt((1.0 - a) * (1.0 + a)))


def _arccos(a: Any) -> Any:
    return _arctan2(_sqrt((1.0 - a) * (1.0 + a)), a)


def _sinh(a: Any) -> Any:
    x = abs(a)
    e = _expm1(x)  # sinh(x) = (e + e/(e + 1)) / 2 with e = exp(x) - 1: no cancellation
    return _copysign(select(x < _LARGE, 0.5 * (e + e / (e + 1.0)), _half_exp(x)), a)


def _cosh(a: Any) -> Any:
    x = abs(a)
    return _half_exp(x) + 0.5 * _exp(-x)


def _half_exp(x: Any) -> Any:
    """Return exp(x) / 2, which is finite wherever sinh and cosh are."""
    root = _exp(0.5 * x)
    return (0.5 * root) * root


def _tanh(a: Any) -> Any:
    e = _expm1(-2.0 * abs(a))  # |tanh(x)| = |e/(e + 2)| with e = exp(-2 |x|) - 1
    return _copysign(e / (e + 2.0), a)


def _arcsinh(a: Any) -> Any:
    x = abs(a)
    is_large = x > 1.0 / np.finfo(float).eps  # 1 + x^2 rounds to x^2, and x^2 may overflow
    small = select(is_large, 1.0, x)
    square = small * small
    near_zero = _log1p(small + square / (1.0 + _sqrt(1.0 + square)))  # no cancellation
    return _copysign(select(is_large, _log(x) + _LOG_2, near_zero), a)


def _arccosh(a: Any) -> Any:
    is_large = a > 1.0 / np.finfo(float).eps
    t = select(is_large, 1.0, a) - 1.0
    return select(is_large, _log(a) + _LOG_2, _log1p(t + _sqrt(t) * _sqrt(t + 2.0)))


def _arctanh(a: Any) -> Any:
    x = abs(a)
    return _copysign(0.5 * _log1p(2.0 * x / (1.0 - x)), a)


def _ceil(a: Any) -> Any:
    return -_floor(-a)


def _rint(a: Any) -> Any:
    below = _floor(a)
    even = 2.0 * _floor(0.5 * below + 0.5)  # the even one of `below` and `below + 1`
    fraction = a - below
    return _copysign(select(fraction < 0.5, below, select(fraction > 0.5, below + 1.0, even)), a)


def _remainder(a: Any, b: Any) -> Any:
    """Return the remainder, which has the sign of b."""
    r = _fmod(a, b)
    return select(_has_other_sign(r, b), r + b, r)


def _floor_divide(a: Any, b: Any) -> Any:
    r = _fmod(a, b)
    q = (a - r) / b  # an integer, up to rounding
    q = select(_has_other_sign(r, b), q - 1.0, q)
    below = _floor(q)
    return select(_equal(b, 0.0), a / b, select(q - below > 0.5, below + 1.0, below))


def _has_other_sign(r: Any, b: Any) -> Any:
    """Return whether a remainder that is not zero has another sign than its divisor."""
    return select(b < 0.0, r > 0.0, r < 0.0)


def _logaddexp(a: Any, b: Any) -> Any:
    difference = select(_equal(a, b), 0.0, a - b)  # also of two infinite values
    return _larger(a, b) + _log1p(_exp(-abs(difference)))


_LOG_2 = float(np.log(2.0))
_LARGE = 20.0  # from here on, exp(x) - exp(-x) rounds to exp(x)
_DEGREE = np.pi / 180.0

COMPARISONS: dict[str, Callable[..., Any]] = {
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
    "logical_xor": _xor,
    "bitwise_xor": _xor,
    "isnan": lambda a: _not(_equal(a, a)),
    "isinf": lambda a: abs(a) >= np.inf,
    "isfinite": lambda a: abs(a) < np.inf,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **COMPARISONS,
    **{name: _method(name) for name in METHODS},
    "tan": lambda a: _sin(a) / _cos(a),
    "arctan": lambda a: _arctan2(a, 1.0),
    "arcsin": _arcsin,
    "arccos": _arccos,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "arcsinh": _arcsinh,
    "arccosh": _arccosh,
    "arctanh": _arctanh,
    "log2": lambda a: _log(a) * (1.0 / _LOG_2),
    "log10": lambda a: _log(a) * (1.0 / float(np.log(10.0))),
    "ceil": _ceil,
    "trunc": lambda a: select(a < 0.0, _ceil(a), _floor(a)),
    "rint": _rint,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "maximum": _larger,
    "minimum": _smaller,
    "fmax": _ignoring_nan(_larger),
    "fmin": _ignoring_nan(_smaller),
    "heaviside": lambda a, b: select(
        a < 0.0, 0.0, select(a > 0.0, 1.0, select(_equal(a, 0.0), b, a))
    ),
    "logaddexp": _logaddexp,
    "clip": lambda a, low, high: _smaller(_larger(a, low), high),
    "sign": _sign,
    "fabs": abs,
    "float_power": lambda a, b: a**b,
    "deg2rad": lambda a: a * _DEGREE,
    "radians": lambda a: a * _DEGREE,
    "rad2deg": lambda a: a / _DEGREE,
    "degrees": lambda a: a / _DEGREE,
}
