"""Samples and oracles for the tests of `linkwork.spatial`.

Oracles work with mpmath numbers of 60 digits in NumPy object arrays and sum the defining power
series, so they share nothing with the closed forms that are under test.
"""

from __future__ import annotations

import math
from functools import cache, wraps

import mpmath as mp
import numpy as np
from tests.support.packages import optional_package

pin = optional_package("pinocchio")
idyn = optional_package("idyntree.bindings")

DIGITS = 60
EPS = float(np.finfo(float).eps)

BATCHES = [(), (1,), (7,), (3, 5), (0,), (2, 0)]

# Angles around every value where a formula changes or a denominator vanishes.
SMALL_ANGLES = [0.0, 5e-324, 1e-300, 1e-160, 1e-154, 1e-100, 1e-30, 1e-9, 1e-8, 1e-6, 1e-4, 1e-3]
SWITCHES = [0.0316, 0.0317, 0.0632, 0.0633, 2.9999999, 3.0, 3.0000001]  # sqrt(1e-3), twice that, 3
MIDDLE_ANGLES = [0.01, 0.1, 0.5, 1.0, 1.5, 2.0, 2.5, *SWITCHES]
NEAR_PI = [np.pi - d for d in (0.1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 0.0)]
BEYOND_PI = [np.pi + 1e-9, np.pi + 0.1, 4.0, 5.0, 6.0, 2 * np.pi - 1e-9, 2 * np.pi, 7.0, 20.0]
UP_TO_PI = SMALL_ANGLES + MIDDLE_ANGLES + NEAR_PI
ALL_ANGLES = UP_TO_PI + BEYOND_PI

AXES = np.array(
    [
        [1.0, 0.0, 0.0],
        [0.0, -1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.6, 0.0, -0.8],
        [-0.48, 0.64, 0.6],
        [1e-9, 1.0, 0.0],
        [0.5773502691896258, 0.5773502691896258, 0.5773502691896258],
    ]
)


def rotation_vectors(angles, axes=AXES):
    """Every axis with every angle: (len(axes) * len(angles), 3)."""
    return (np.asarray(angles)[:, None, None] * axes).reshape(-1, 3)


def random_rotations(rng, *batch):
    """Random rotation matrices from orthonormalized normal samples, without linkwork."""
    q, r = np.linalg.qr(rng.normal(size=(*batch, 3, 3)))
    q = q * np.sign(np.einsum("...ii->...i", r))[..., None, :]
    return q * np.where(np.linalg.det(q) < 0, -1.0, 1.0)[..., None, None]


def random_poses(rng, *batch):
    poses = np.zeros((*batch, 4, 4))
    poses[..., :3, :3] = random_rotations(rng, *batch)
    poses[..., :3, 3] = rng.normal(size=(*batch, 3))
    poses[..., 3, 3] = 1.0
    return poses


def assert_close(actual, expected, tol=4 * EPS, axes=None):
    """Equal up to `tol` times the largest entry of `expected`, over its last `axes` axes."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    over = tuple(range(-(expected.ndim if axes is None else axes), 0))
    error = abs(actual.astype(float) - expected)
    scale = abs(expected).max(axis=over, keepdims=True, initial=0.0)
    bad = ~(error <= tol * scale)
    assert not bad.any(), f"error {(error / np.where(scale == 0, 1, scale)).max():.3e} > {tol:.3e}"


def exact(array):
    """The same numbers as an object array of mpmath numbers."""
    return np.vectorize(mp.mpf, otypes=[object])(np.asarray(array, dtype=float))


def to_float(array):
    return np.vectorize(float, otypes=[float])(array)


def wedge3(w):
    x, y, z = w
    o = mp.mpf(0)
    return np.array([[o, -z, y], [z, o, -x], [-y, x, o]], dtype=object)


def adjoint6(xi):
    """Matrix of the motion cross product for [linear; angular]."""
    out = np.full((6, 6), mp.mpf(0), dtype=object)
    out[:3, :3] = out[3:, 3:] = wedge3(xi[3:])
    out[:3, 3:] = wedge3(xi[:3])
    return out


def wedge6(xi):
    out = np.full((4, 4), mp.mpf(0), dtype=object)
    out[:3, :3], out[:3, 3] = wedge3(xi[3:]), xi[:3]
    return out


def series(X, shift):
    """Sum of X^n / (n + shift)!: the exponential for shift 0, the left Jacobian for shift 1."""
    with mp.workdps(DIGITS):
        total = term = np.array(np.eye(len(X), dtype=int) * mp.mpf(1), dtype=object)
        for n in range(1, 400):
            term = term @ X / (n + shift)
            total = total + term
            if n > 20 and max(abs(e) for e in term.flat) < mp.mpf(10) ** (-DIGITS):
                return total
    raise ArithmeticError(X)


def mp_each(function, arrays):
    """Apply a function of exact vectors to each row, and round the results to floats."""
    rows = np.asarray(arrays, dtype=float)
    return _mp_each(function, rows.tobytes(), rows.shape).copy()


@cache  # tests run on the sources and on compiled code
def _mp_each(function, data, shape):
    with mp.workdps(DIGITS):
        rows = np.frombuffer(data).reshape(shape)
        return np.array([to_float(function(exact(row))) for row in rows])


def mp_inverse(matrix):
    return np.array(mp.inverse(mp.matrix(matrix.tolist())).tolist(), dtype=object)


def number_only(operator):
    """Leave arrays to NumPy, which then calls the operator for each entry."""

    @wraps(operator)
    def wrapped(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        return operator(self, other if isinstance(other, Scalar) else Scalar(other))

    return wrapped


class Scalar:
    """A number with a derivative, with only the operations of a traced scalar.

    The derivative of a square root at zero raises an error, also in a branch that is not selected.
    """

    def __init__(self, value, slope=0.0):
        self.value, self.slope = float(value), float(slope)

    @number_only
    def __add__(self, other):
        return Scalar(self.value + other.value, self.slope + other.slope)

    @number_only
    def __sub__(self, other):
        return Scalar(self.value - other.value, self.slope - other.slope)

    @number_only
    def __rsub__(self, other):
        return other - self

    @number_only
    def __mul__(self, other):
        slope = self.value * other.slope + self.slope * other.value
        return Scalar(self.value * other.value, slope)

    @number_only
    def __truediv__(self, other):
        quotient = self.value / other.value
        return Scalar(quotient, (self.slope - quotient * other.slope) / other.value)

    @number_only
    def __rtruediv__(self, other):
        return other / self

    @number_only
    def __lt__(self, other):
        return self.value < other.value

    @number_only
    def __gt__(self, other):
        return self.value > other.value

    @number_only
    def __le__(self, other):
        return self.value <= other.value

    def __abs__(self):
        return Scalar(abs(self.value), self.slope if self.value > 0 else -self.slope)

    @number_only
    def __eq__(self, other):
        return self.value == other.value

    __radd__, __rmul__ = __add__, __mul__
    __hash__ = None

    def __neg__(self):
        return Scalar(-self.value, -self.slope)

    def __float__(self):
        return self.value

    def sin(self):
        return Scalar(math.sin(self.value), math.cos(self.value) * self.slope)

    def cos(self):
        return Scalar(math.cos(self.value), -math.sin(self.value) * self.slope)

    def sqrt(self):
        root = math.sqrt(self.value)
        return Scalar(root, 0.5 * self.slope / root)

    @number_only
    def arctan2(self, x):
        slope = (x.value * self.slope - self.value * x.slope) / (self.value**2 + x.value**2)
        return Scalar(math.atan2(self.value, x.value), slope)


def slope_along(function, x, direction):
    """Derivative of a function at `x` along a direction, exact to rounding."""
    result = function(np.vectorize(Scalar, otypes=[object])(x, direction))
    return np.vectorize(lambda y: y.slope if isinstance(y, Scalar) else 0.0, otypes=[float])(result)


def as_scalars(array):
    return np.vectorize(Scalar, otypes=[object])(np.asarray(array, dtype=float))


def from_scalars(array):
    return np.vectorize(float, otypes=[float])(array)
