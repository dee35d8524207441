"""The functions of an angle that stand in exponentials and Jacobians, exact down to angle zero.

With t = angle^2, Stumpff's functions c_n(t) = 1/n! - t/(n+2)! + t^2/(n+4)! - ... are

    c0 = cos(x)    c1 = sin(x)/x    c2 = (1 - cos(x))/x^2    c3 = (x - sin(x))/x^3    ...

with x = sqrt(t).

Recursion    c_n + t c_(n+2) = 1/n!
Derivative   2 dc_n/dt = n c_(n+2) - c_(n+1)

They are taken from t and not from x, so that they and their derivatives are smooth at zero. Below a
bound the power series is used, above it the closed form; each is exact to a few units in the last
place where it is used. The branch that is not used sees a harmless t.
"""

from __future__ import annotations

from math import factorial
from typing import Any

from linkwork.arrays import Array, cos, sin, sqrt, where

SINC_BOUND = 1e-3  # c0 and c1 have no cancellation: the series is needed only around zero
SINC_TERMS = 5
STUMPFF_BOUND = 9.0  # c3, c4, c5 lose digits in closed form until the angle is about 3
STUMPFF_TERMS = 15


def cosine(t: Array) -> Array:
    """c0 = cos(x)."""
    small = t < SINC_BOUND
    x = sqrt(where(small, t + SINC_BOUND, t))
    return where(small, _power_series(0, where(small, t, 0.0), SINC_TERMS), cos(x))


def sinc(t: Array) -> Array:
    """c1 = sin(x)/x."""
    small = t < SINC_BOUND
    x = sqrt(where(small, t + SINC_BOUND, t))
    return where(small, _power_series(1, where(small, t, 0.0), SINC_TERMS), sin(x) / x)


def c2(t: Array) -> Array:
    """(1 - cos(x))/x^2, by the half angle."""
    half = sinc(0.25 * t)
    return 0.5 * half * half


def c3(t: Array) -> Array:
    """(x - sin(x))/x^3."""
    small = t < STUMPFF_BOUND
    large = where(small, t + STUMPFF_BOUND, t)
    series = _power_series(3, where(small, t, 0.0), STUMPFF_TERMS)
    return where(small, series, (1.0 - sinc(large)) / large)


def c4(t: Array) -> Array:
    """(x^2/2 - 1 + cos(x))/x^4."""
    small = t < STUMPFF_BOUND
    large = where(small, t + STUMPFF_BOUND, t)
    series = _power_series(4, where(small, t, 0.0), STUMPFF_TERMS)
    return where(small, series, (0.5 - c2(large)) / large)


def c5(t: Array) -> Array:
    """(x^3/6 - x + sin(x))/x^5."""
    small = t < STUMPFF_BOUND
    large = where(small, t + STUMPFF_BOUND, t)
    series = _power_series(5, where(small, t, 0.0), STUMPFF_TERMS)
    return where(small, series, (1.0 / 6.0 - c3(large)) / large)


def inverse_c3(t: Array) -> Array:
    """(1 - (x/2) cot(x/2))/x^2, which takes the place of c3 in the inverse of a Jacobian."""
    # 1 - c1/(2 c2) = (2 c2 - c1)/(2 c2), and the recursion makes 2 c2 - c1 = t (c3 - 2 c4)
    return (c3(t) - 2.0 * c4(t)) / (2.0 * c2(t))


def double_atan(x2: Array) -> Array:
    """2 atan(x)/x for x2 = x^2 up to 1e-3, by its power series."""
    return 2.0 * (1.0 - x2 * (1 / 3 - x2 * (1 / 5 - x2 * (1 / 7 - x2 * (1 / 9 - x2 / 11)))))


def _power_series(n: int, t: Array, terms: int) -> Array:
    """The first terms of c_n, by Horner's rule."""
    total: Any = 1.0 / factorial(2 * terms - 2 + n)
    for k in reversed(range(terms - 1)):
        total = 1.0 / factorial(2 * k + n) - t * total
    return total
