"""Shape checks, block matrices and power series for all spatial modules.

Constants have the dtype of the array they are combined with, so that float32 stays float32.

Functions of an angle that exponentials and their Jacobians need, accurate down to angle zero.

With t = angle^2, Stumpff's functions c_n(t) = 1/n! - t/(n+2)! + t^2/(n+4)! - ... are

    c0 = cos(x)    c1 = sin(x)/x    c2 = (1 - cos(x))/x^2    c3 = (x - sin(x))/x^3    ...

with x = sqrt(t).

Recursion    c_n + t c_(n+2) = 1/n!
Derivative   2 dc_n/dt = n c_(n+2) - c_(n+1)

They are functions of t and not of x, so that they and their derivatives are smooth at zero. Below a
bound the power series is used, above it the closed form; both are accurate to a few units in the
last place there. The branch that is not selected is evaluated at another t, where it is finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array, cos, join, sin, sqrt, stack, where

# The bound on t below which the power series is used, and its number of terms.
SINC = 1e-3, 5  # c0 and c1 have no cancellation in closed form: it fails only near zero
STUMPFF = 9.0, 15  # c3, c4 and c5 lose digits in closed form until the angle is about 3


def cosine(t: Array) -> Array:
    """c0 = cos(x)."""
    return _branched(0, t, SINC, lambda t: cos(sqrt(t)))


def sinc(t: Array) -> Array:
    """c1 = sin(x)/x."""
    return _branched(1, t, SINC, lambda t: sin(sqrt(t)) / sqrt(t))


def c2(t: Array) -> Array:
    """(1 - cos(x))/x^2, by the half angle."""
    half = sinc(0.25 * t)
    return 0.5 * half * half


def c3(t: Array) -> Array:
    """(x - sin(x))/x^3."""
    return _branched(3, t, STUMPFF, lambda t: (1.0 - sinc(t)) / t)


def c4(t: Array) -> Array:
    """(x^2/2 - 1 + cos(x))/x^4."""
    return _branched(4, t, STUMPFF, lambda t: (0.5 - c2(t)) / t)


def c5(t: Array) -> Array:
    """(x^3/6 - x + sin(x))/x^5."""
    return _branched(5, t, STUMPFF, lambda t: (1.0 / 6.0 - c3(t)) / t)


def _branched(
    n: int, t: Array, limits: tuple[float, int], closed: Callable[[Array], Array]
) -> Array:
    """c_n(t) by its power series below a bound, by the closed form above it."""
    bound, terms = limits
    small = t < bound
    series = _power_series(n, where(small, t, 0.0), terms)
    return where(small, series, closed(where(small, t + bound, t)))


def inverse_c3(t: Array) -> Array:
    """(1 - (x/2) cot(x/2))/x^2, the coefficient of the inverse Jacobian that corresponds to c3."""
    # 1 - c1/(2 c2) = (2 c2 - c1)/(2 c2), and by the recursion 2 c2 - c1 = t (c3 - 2 c4)
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


LARGE_POWER = 2.0**100  # exact in both precisions; makes the inverses of subnormal numbers finite


def expect(name: str, value: ArrayLike, *tail: int) -> Array:
    """Convert `value` to an array and check its trailing axes; `name` is for the message."""
    return as_array(value, name, tail)


def eye(size: int, like: Array) -> Array:
    """(size, size) identity matrix with the dtype of `like`."""
    return np.eye(size, dtype=like.dtype)


def zero(like: Array) -> Array:
    """Zeros of the shape and dtype of `like`."""
    return np.zeros_like(like)


def per_vector(c: Array) -> Array:
    """Reshape (...) to (..., 1): one value for each vector of a batch."""
    return as_array(c)[..., None]


def per_matrix(c: Array) -> Array:
    """Reshape (...) to (..., 1, 1): one value for each matrix of a batch."""
    return as_array(c)[..., None, None]


def largest_is_one(vectors: Array) -> Array:
    """Divide vectors (..., n) by their largest entry, so that no square overflows or vanishes.

    Compiled code may multiply by the inverse instead, which must not overflow. So if all entries
    are tiny, they are multiplied by a power of two first.
    """
    tiny = abs(vectors).max(axis=-1, keepdims=True) < 1.0 / LARGE_POWER
    vectors = vectors * where(tiny, LARGE_POWER, 1.0).astype(vectors.dtype)
    return vectors / abs(vectors).max(axis=-1, keepdims=True)


def block(rows: Sequence[Sequence[Array]]) -> Array:
    """Build a matrix (..., m, n) from rows of matrices, after broadcasting their batch axes."""
    bands = [join(row) for row in rows]
    return stack([band[..., i, :] for band in bands for i in range(band.shape[-2])], axis=-2)


def split_pose(a_H_b: ArrayLike) -> tuple[Array, Array]:
    """Split a pose (..., 4, 4) into rotation (..., 3, 3) and position (..., 3)."""
    pose = expect("a_H_b", a_H_b, 4, 4)
    return pose[..., :3, :3], pose[..., :3, 3]
