"""Entries of arrays: traced values, and NumPy's functions of one entry.

`Traced`       one value of a function that is being traced; `node.Expr` is one
`chosen`       one of two entries, by a condition that may be traced
`is_zero`      whether an entry is zero whatever the inputs are: a structural zero
`plus`, `minus`, `times`   sums and products that leave structural zeros and ones out
`FUNCTIONS`    by the names of NumPy's functions, where NumPy's own loop over objects does not work

An entry is a number, a traced value, or another kind of number that has NumPy's functions as
methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


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

    def number(self) -> float | None:
        """Its value, if that is known already."""
        raise NotImplementedError


_NUMBERS = (int, float, np.number, np.bool_)


def chosen(condition: Any, yes: Any, no: Any) -> Any:
    """One of two entries; the condition may be traced."""
    if isinstance(condition, Traced):
        return condition.select(yes, no)
    return yes if condition else no


def is_zero(entry: Any) -> bool:
    """Whether an entry is a structural zero: the constant 0, as a number or as a traced value."""
    value = entry.number() if isinstance(entry, Traced) else entry
    return isinstance(value, (int, float)) and value == 0.0


def plus(a: Any, b: Any) -> Any:
    """a + b; a constant 0 is left out."""
    if isinstance(a, float) and a == 0.0:
        return b
    return a if isinstance(b, float) and b == 0.0 else a + b


def minus(a: Any, b: Any) -> Any:
    """a - b; a constant 0 is left out."""
    if isinstance(b, float) and b == 0.0:
        return a
    return -b if isinstance(a, float) and a == 0.0 else a - b


def times(a: Any, b: Any) -> Any:
    """a b; a constant 0, 1 or -1 takes no product."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, float) and x in (0.0, 1.0, -1.0):
            return 0.0 if x == 0.0 else y if x == 1.0 else -y
    return a * b


def _not(a: Any) -> Any:
    return ~a if isinstance(a, Traced) else not a


def _equal(a: Any, b: Any) -> Any:
    return (a <= b) & (b <= a) if isinstance(a, Traced) or isinstance(b, Traced) else a == b


def _either(a: Any, b: Any) -> Any:
    return (a | b) & _not(a & b)


def _larger(a: Any, b: Any) -> Any:
    return chosen(a < b, b, chosen(b <= a, a, a + b))  # a + b is NaN if one of them is


def _smaller(a: Any, b: Any) -> Any:
    return chosen(b < a, b, chosen(a <= b, a, a + b))


def _ignoring_nan(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of two numbers that gives the other one where one of them is NaN."""
    return lambda a, b: chosen(_equal(a, a), chosen(_equal(b, b), function(a, b), a), b)


def _sign(a: Any) -> Any:
    return chosen(a < 0.0, -1.0, chosen(a > 0.0, 1.0, a))


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


ONE_ENTRY = ("sin", "cos", "sqrt", "exp", "expm1", "exp2", "log", "log1p", "floor", "arctan2")
_sin, _cos, _sqrt, _exp, _expm1, _exp2, _log, _log1p, _floor, _arctan2 = map(_method, ONE_ENTRY)


def _arcsin(a: Any) -> Any:
    return _arctan2(a, _sqrt((1.0 - a) * (1.0 + a)))


def _arccos(a: Any) -> Any:
    return _arctan2(_sqrt((1.0 - a) * (1.0 + a)), a)


def _sinh(a: Any) -> Any:
    x = abs(a)
    e = _expm1(x)  # sinh(x) = (e + e/(e + 1)) / 2 with e = exp(x) - 1: no cancellation
    return _sign(a) * chosen(x < _LARGE, 0.5 * (e + e / (e + 1.0)), _half_exp(x))


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
    small = chosen(is_large, 1.0, x)
    square = small * small
    near_zero = _log1p(small + square / (1.0 + _sqrt(1.0 + square)))  # no cancellation
    return _sign(a) * chosen(is_large, _log(x) + _LOG_2, near_zero)


def _arccosh(a: Any) -> Any:
    is_large = a > 1.0 / np.finfo(float).eps
    t = chosen(is_large, 1.0, a) - 1.0
    return chosen(is_large, _log(a) + _LOG_2, _log1p(t + _sqrt(t * (t + 2.0))))


def _arctanh(a: Any) -> Any:
    x = abs(a)
    return _sign(a) * (0.5 * _log1p(2.0 * x / (1.0 - x)))


def _ceil(a: Any) -> Any:
    return -_floor(-a)


def _rint(a: Any) -> Any:
    below = _floor(a)
    even = 2.0 * _floor(0.5 * below + 0.5)  # the even one of the two nearest integers
    fraction = a - below
    return chosen(fraction < 0.5, below, chosen(fraction > 0.5, below + 1.0, even))


def _quotient(a: Any, b: Any) -> tuple[Any, Any]:
    """floor(a / b) and the remainder, which has the sign of b."""
    q = _floor(a / b)
    r = a - q * b
    signed, size = chosen(b < 0.0, -r, r), abs(b)
    low, high = signed < 0.0, signed >= size  # a / b was rounded across an integer
    q = chosen(low, q - 1.0, chosen(high, q + 1.0, q))
    return q, chosen(low, r + b, chosen(high, r - b, r))


def _signed_remainder(a: Any, b: Any) -> Any:
    remainder = _quotient(abs(a), abs(b))[1]
    return chosen(a < 0.0, -remainder, remainder)


_LOG_2 = float(np.log(2.0))
_LARGE = 20.0  # exp(x) - exp(-x) = exp(x) to rounding from here on
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
    "logical_xor": _either,
    "bitwise_xor": _either,
    "isnan": lambda a: _not(_equal(a, a)),
    "isinf": lambda a: abs(a) >= np.inf,
    "isfinite": lambda a: abs(a) < np.inf,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **COMPARISONS,
    **{name: _method(name) for name in ONE_ENTRY},
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
    "trunc": lambda a: chosen(a < 0.0, _ceil(a), _floor(a)),
    "rint": _rint,
    "floor_divide": lambda a, b: _quotient(a, b)[0],
    "remainder": lambda a, b: _quotient(a, b)[1],
    "maximum": _larger,
    "minimum": _smaller,
    "fmod": _signed_remainder,
    "fmax": _ignoring_nan(_larger),
    "fmin": _ignoring_nan(_smaller),
    "copysign": lambda a, b: chosen(b < 0.0, -abs(a), abs(a)),
    "heaviside": lambda a, b: chosen(
        a < 0.0, 0.0, chosen(a > 0.0, 1.0, chosen(_equal(a, 0.0), b, a))
    ),
    "logaddexp": lambda a, b: _larger(a, b) + _log1p(_exp(-abs(a - b))),
    "clip": lambda a, low, high: _smaller(_larger(a, low), high),
    "sign": _sign,
    "fabs": abs,
    "float_power": lambda a, b: a**b,
    "deg2rad": lambda a: a * _DEGREE,
    "radians": lambda a: a * _DEGREE,
    "rad2deg": lambda a: a / _DEGREE,
    "degrees": lambda a: a / _DEGREE,
}
