"""The coefficient functions, at the bounds of their two forms and elsewhere."""

from __future__ import annotations

from math import factorial

import mpmath as mp
import numpy as np
import pytest
from tests.support.spatial import DIGITS, EPS

from linkwork.spatial.source import _helpers

T = np.unique(
    np.concatenate(
        [
            [0.0, 5e-324, 1e-300, 1e-30, 1e-16, 1e-8],
            np.geomspace(1e-6, 400.0, 300),
            [b * (1 + d) for b in (1e-3, 4e-3, 9.0) for d in (-1e-3, -EPS, 0.0, EPS, 1e-3)],
        ]
    )
)


@pytest.fixture(autouse=True)
def how():
    """Run each test once: these functions are not compiled."""


def stumpff(n, t):
    """Sum of (-t)^k / (2k + n)! with many digits."""
    term = total = 1 / mp.factorial(n)
    for k in range(1, 120):
        term = -term * mp.mpf(t) / ((2 * k + n) * (2 * k + n - 1))
        total = total + term
    return total


def exact_inverse_c3(t):
    return (stumpff(3, t) - 2 * stumpff(4, t)) / (2 * stumpff(2, t))


@pytest.mark.parametrize(
    ("function", "n", "tol"),
    [
        (_helpers.cosine, 0, 1),
        (_helpers.sinc, 1, 1.5),
        (_helpers.c2, 2, 2),
        (_helpers.c3, 3, 3),
        (_helpers.c4, 4, 4),
        (_helpers.c5, 5, 6),
    ],
)
def test_each_function_is_exact_to_a_few_units_in_the_last_place(function, n, tol):
    """Relative to the amplitude of the function at angles where it oscillates around zero."""
    with mp.workdps(DIGITS):
        expected = np.array([float(stumpff(n, t)) for t in T])
    envelope = np.maximum(abs(expected), np.maximum(1.0, T) ** (-min(n, 2) / 2) / factorial(n))
    # the root of t is rounded: an angle x is known to x eps
    error = abs(function(T) - expected) / envelope / np.maximum(1.0, np.sqrt(T))
    assert error.max() <= tol * EPS


def test_the_coefficient_of_inverse_jacobians_is_exact_up_to_pi():
    t = T[np.pi**2 >= T]
    with mp.workdps(DIGITS):
        expected = np.array([float(exact_inverse_c3(x)) for x in t])
    assert (abs(_helpers.inverse_c3(t) - expected) / expected).max() <= 6 * EPS


@pytest.mark.parametrize("function", [_helpers.cosine, _helpers.sinc, _helpers.c2, _helpers.c3])
def test_large_angles_cause_no_warning_in_the_unused_branch(function):
    assert np.isfinite(function(np.array([0.0, 1e30, 1e300]))).all()


def test_double_atan_is_exact_where_it_is_used():
    x2 = np.array([0.0, 1e-300, 1e-9, 1e-4, 1e-3])
    with mp.workdps(DIGITS):
        roots = [mp.sqrt(mp.mpf(x)) for x in x2]
        expected = np.array([float(2 * mp.atan(r) / r) if r else 2.0 for r in roots])
    assert (abs(_helpers.double_atan(x2) - expected) / expected).max() <= EPS
