"""Compiled functions at zeros of both signs, infinities, NaN, subnormal and huge numbers.

The oracle is NumPy. `docs/compile.md` has the table of errors and the list of differences.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kernels import floater

import linkwork as lw

# The largest difference from NumPy in units in the last place: float64, float32.
ULPS = {
    **dict.fromkeys(("sqrt", "floor", "ceil", "trunc", "rint", "sign", "fabs"), (0, 0)),
    **dict.fromkeys(("isnan", "isinf", "isfinite", "negative", "absolute", "square"), (0, 0)),
    **dict.fromkeys(("hypot", "copysign", "fmod", "remainder", "heaviside"), (1, 1)),
    **dict.fromkeys(("minimum", "maximum", "fmin", "fmax", "less", "equal"), (0, 0)),
    **dict.fromkeys(("power", "float_power", "floor_divide", "reciprocal"), (1, 1)),
    **dict.fromkeys(("sin", "cos", "arctan", "exp", "expm1", "log", "log1p", "exp2"), (2, 3)),
    **dict.fromkeys(("tan", "arcsin", "arccos", "sinh", "cosh", "tanh", "arctan2"), (4, 4)),
    **dict.fromkeys(
        ("arcsinh", "arccosh", "arctanh", "log2", "log10", "deg2rad", "rad2deg"), (3, 3)
    ),
}
UNARY = [name for name in ULPS if getattr(np, name).nin == 1]
BINARY = [name for name in ULPS if getattr(np, name).nin == 2]
POWERS = (
    *(0, 1, 2, 3, 5, 8, 9, 64, 65, 1001, -1, -2, -3, -4, -65, 0.5, 1.5, -0.5, -1.5, 2.5),
    *(1 / 3, -0.3, 1e10, np.inf, -np.inf, np.nan),
)
WAYS = ["llvm", "numpy"]


def special(dtype):
    """Numbers at which functions are undefined, overflow, underflow, round or cancel."""
    limits = np.finfo(dtype)
    sizes = np.array(
        [
            *(0.0, 0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 20.5, 88.5, 100.5, 710.0, 1e5, 1e16),
            *(1e-9, 1e-3, 0.9999, 1.0001, np.pi, np.pi / 2, 0.49999999999999994, np.inf),
            *(limits.eps, 1.0 + limits.eps, limits.tiny, limits.smallest_subnormal),
            *(limits.tiny * 0.3, limits.max, limits.max * 0.3, 1.1 * limits.max**0.5),
            *(0.9 * limits.tiny**0.5, limits.max**0.25, 1.0 / limits.eps, 0.5 / limits.eps + 0.5),
        ]
    ).astype(dtype)
    return np.concatenate([sizes, -sizes, np.array([np.nan], dtype)])


def ulps(a, b):
    """The number of floating-point numbers between two finite arrays."""
    kind = np.int64 if a.dtype == np.float64 else np.int32

    def position(x):
        bits = np.ascontiguousarray(x).view(kind).astype(object)
        return np.where(bits < 0, np.iinfo(kind).min - bits, bits)

    return np.abs(position(a) - position(b)).astype(float)


def check_equal(actual, expected, limit, arguments, name):
    """Check NaN and infinities by position, other numbers by ulps; zeros may have either sign."""
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    finite = np.isfinite(actual) & np.isfinite(expected) & ~same
    same[finite] = ulps(actual[finite], expected[finite]) <= limit
    wrong = np.flatnonzero(~same)[:3]
    listed = [(*(x[k] for x in arguments), actual[k], expected[k]) for k in wrong]
    assert not listed, f"{name}: {listed}"


def check_kernel(kernel, functions, limits, arguments):
    """Compare batch and rows, with quick and with fast code, with the functions themselves."""
    with np.errstate(all="ignore"):
        expected = [np.asarray(function(*arguments)).astype(kernel.dtype) for function in functions]
    rows = range(0, len(arguments[0]), 1 if len(arguments) == 1 else 37)
    for _ in range(2):
        batch = kernel(*arguments)
        single = np.array([kernel(*(x[k] for x in arguments)) for k in rows])
        for k, (result, limit) in enumerate(zip(expected, limits, strict=True)):
            check_equal(batch[:, k], result, limit, arguments, k)
            chosen = [x[rows] for x in arguments]
            check_equal(single[:, k], result[rows], limit, chosen, k)
        kernel.warmup()


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    monkeypatch.setenv("LINKWORK_BACKEND", request.param)
    return request.param


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_of_one_number_agree_with_numpy(way, dtype):
    functions = [getattr(np, name) for name in UNARY]
    limits = [ULPS[name][dtype == np.float32] for name in UNARY]
    kernel = lw.compile(x=(), dtype=dtype)(
        lambda x: np.stack(
            [np.where(f(x), 1.0, 0.0) if "is" in f.__name__ else f(x) for f in functions]
        )
    )
    check_kernel(kernel, functions, limits, [special(dtype)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_of_two_numbers_agree_with_numpy(way, dtype):
    functions = [getattr(np, name) for name in BINARY]
    limits = [ULPS[name][dtype == np.float32] for name in BINARY]
    kernel = lw.compile(x=(), y=(), dtype=dtype)(
        lambda x, y: np.stack([1.0 * f(x, y) for f in functions])
    )
    grid = np.meshgrid(special(dtype), special(dtype))
    check_kernel(kernel, functions, limits, [x.ravel() for x in grid])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_agree_with_numpy(way, dtype):
    functions = [lambda x, p=p: x**p for p in POWERS] + [lambda x: 2.0**x, lambda x: (-3.0) ** x]
    limits = [5 if abs(p) <= 8 and p == round(p) else 1 for p in POWERS[:-3]] + [1] * 5
    kernel = lw.compile(x=(), dtype=dtype)(lambda x: np.stack([f(x) for f in functions]))
    x = special(dtype)

    def exact(function):
        return lambda x: np.asarray(function(x), dtype)

    check_kernel(kernel, [exact(f) for f in functions], limits, [x])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_infinities_and_nan_propagate_through_expressions(way, dtype):
    functions = [
        lambda x, y: x - x,
        lambda x, y: (x - y) + (y - x),
        lambda x, y: x * y - y * x,
        lambda x, y: x - (x + y),
        lambda x, y: (x + y) - y,
        lambda x, y: x / y + y / x,
        lambda x, y: 1.0 / np.sqrt(x),
        lambda x, y: np.where(x < y, x, y),
    ]
    kernel = lw.compile(x=(), y=(), dtype=dtype)(
        lambda x, y: np.stack([f(x, y) for f in functions])
    )
    grid = np.meshgrid(special(dtype), special(dtype))
    arguments = [x.ravel() for x in grid]
    with np.errstate(all="ignore"):
        expected = np.stack([f(*arguments) for f in functions], axis=-1)
    for _ in range(2):
        actual = kernel(*arguments)
        np.testing.assert_array_equal(np.isnan(actual[:, :2]), np.isnan(expected[:, :2]))
        for k in range(3, len(functions)):
            check_equal(actual[:, k], expected[:, k], 1, arguments, k)
        # x y - y x is fused: an infinite product minus an infinite one is NaN, finite ones differ
        # by rounding
        with np.errstate(all="ignore"):
            is_finite = np.isfinite(arguments[0] * arguments[1])
        np.testing.assert_array_equal(np.isnan(actual[:, 2]), ~is_finite)
        kernel.warmup()


def test_logaddexp_agrees_relative_to_the_larger_argument(way):
    grid = np.meshgrid(special(np.float64), special(np.float64))
    x, y = (part.ravel() for part in grid)
    kernel = lw.compile(x=(), y=())(lambda x, y: 1.0 * np.logaddexp(x, y))
    with np.errstate(all="ignore"):
        expected = np.logaddexp(x, y)
    actual = kernel(x, y)
    finite = np.isfinite(expected)
    check_equal(actual[~finite], expected[~finite], 0, [x[~finite], y[~finite]], "logaddexp")
    error = np.abs(actual[finite] - expected[finite])
    assert (error <= 4e-16 * (1.0 + np.maximum(np.abs(x), np.abs(y))[finite])).all()


def test_the_sign_of_zero_is_an_input():
    """It decides the results of copysign, arctan2, 1 / x and powers, and abs removes it."""
    zeros = np.array([0.0, -0.0] * 8)
    kernel = lw.compile(x=())(
        lambda x: np.stack([np.copysign(1.0, x), np.arctan2(x, -1.0), 1.0 / x, x**-3, 1.0 / abs(x)])
    )
    for _ in range(2):
        actual = kernel(zeros)
        np.testing.assert_array_equal(actual[0], [1.0, np.pi, np.inf, np.inf, np.inf])
        np.testing.assert_array_equal(actual[1], [-1.0, -np.pi, -np.inf, -np.inf, np.inf])
        kernel.warmup()


# Derivatives.

FINITE = {  # function, point, derivative
    "x**3 at 0": (lambda x: x**3, 0.0, 0.0),
    "x**2 at 0": (lambda x: x**2, 0.0, 0.0),
    "x**20 at 0": (lambda x: x**20, 0.0, 0.0),
    "x**1.5 at 0": (lambda x: x**1.5, 0.0, 0.0),
    "x**2.5 at 0": (lambda x: x**2.5, 0.0, 0.0),
    "x**1 at 0": (lambda x: x**1.0, 0.0, 1.0),
    "x**0 at 0": (lambda x: x**0.0 + x, 0.0, 1.0),
    "x**65 at -1": (lambda x: x**65, -1.0, 65.0),
    "x**-4 at -2": (lambda x: x**-4, -2.0, 0.125),
    "2**x at 0": (lambda x: 2.0**x, 0.0, np.log(2.0)),
    "0**x at 2": (lambda x: 0.0**x, 2.0, 0.0),
    "x**y at (0, 0)": (lambda x: x ** (0.0 * x + x * 0.0 + 2.0 - 2.0), 0.0, 0.0),
    "hypot at 0": (lambda x: np.hypot(x, 0.0), 0.0, 0.0),
    "hypot of huge numbers": (lambda x: np.hypot(x, 1e300), 1e300, 0.5**0.5),
    "abs at 0": (abs, 0.0, 1.0),
    "fmod at a multiple": (lambda x: np.fmod(x, 1.5), 4.5, 1.0),
    "remainder at a multiple": (lambda x: x % 1.5, -4.5, 1.0),
    "remainder by x": (lambda x: 7.0 % x, 1.5, -4.0),
    "floor_divide": (lambda x: x // 1.5, 4.0, 0.0),
    "tanh at 0": (np.tanh, 0.0, 1.0),
    "sinh at 0": (np.sinh, 0.0, 1.0),
    "arcsinh at 0": (np.arcsinh, 0.0, 1.0),
    "arctanh at 0": (np.arctanh, 0.0, 1.0),
    "logaddexp of equal numbers": (lambda x: np.logaddexp(x, x), 3.0, 1.0),
    "tanh of a huge number": (np.tanh, 1e300, 0.0),
}


@pytest.mark.parametrize("name", FINITE)
def test_derivatives_are_finite_where_they_exist(name):
    function, point, slope = FINITE[name]
    kernel = lw.compile(x=())(lambda x: 1.0 * function(x))
    for derivative in (kernel.jacobian("x"), kernel.gradient("x")):
        assert derivative(point) == pytest.approx(slope, rel=1e-14)
    assert kernel.jvp("x")(point, 1.0) == pytest.approx(slope, rel=1e-14)


def test_derivatives_of_powers_with_respect_to_the_exponent():
    power = lw.compile(x=(), y=())(lambda x, y: x**y).jacobian("x", "y")
    assert power(2.0, 3.0) == pytest.approx((12.0, 8.0 * np.log(2.0)), rel=1e-14)
    assert power(0.0, 3.0) == pytest.approx((0.0, 0.0))
    assert power(0.0, 0.0) == pytest.approx((0.0, 0.0))
    assert power(-2.0, 3.0)[0] == pytest.approx(12.0, rel=1e-14)
    assert np.isnan(power(-2.0, 3.0)[1])


# Elements that must have norm 1.


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_an_infinite_quaternion_gives_nan_in_its_row_only(backend, value, monkeypatch):
    monkeypatch.setenv("LINKWORK_BACKEND", backend)
    kd = floater()
    q = kd.random(20, seed=0)
    expected = kd.mass_matrix(q)
    q[7, 3] = value
    actual = kd.mass_matrix(q)
    assert np.isnan(actual[7]).any()
    assert np.isnan(kd.mass_matrix(q[7])).any()
    others = np.arange(20) != 7
    np.testing.assert_allclose(actual[others], expected[others], rtol=1e-12, atol=1e-14)
    q[7, 3] = 1e200  # finite, but no quaternion
    with pytest.raises(lw.ValueRangeError, match="norm"):
        kd.mass_matrix(q)


def test_an_error_about_results_that_overflow_has_the_results():
    kd = floater()
    q, nu, tau = kd.random(3, seed=0), np.ones((3, kd.nv)), np.zeros((3, kd.nv))
    expected = kd.forward_dynamics(q, nu, tau)
    nu[1] = 1e200
    with pytest.raises(lw.ValueRangeError) as caught:
        kd.forward_dynamics(q, nu, tau)
    np.testing.assert_array_equal(caught.value.mask, [False, True, False])
    np.testing.assert_allclose(caught.value.results[[0, 2]], expected[[0, 2]], rtol=1e-9)
