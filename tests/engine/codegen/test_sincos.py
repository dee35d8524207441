"""Sine and cosine against mpmath, from denormal to the largest angles."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from tests.support.expressions import program_for, run_compiled

from linkwork.engine.codegen.sincos import SINCOS_CONSTANTS

PROGRAM = program_for(lambda a: np.stack([a[0].sin(), a[0].cos()]), (1,))
DOUBLE, SINGLE = np.float64, np.float32
# largest error, absolute and relative where the sine or cosine is small
BOUND = {DOUBLE: (3e-16, 4e-16), SINGLE: (1.2e-7, 2e-7)}


def sincos(angles, dtype=DOUBLE, width=4):
    padded = np.concatenate([angles, np.zeros(-len(angles) % 8)]).astype(dtype)[:, None]
    scalar = "double" if dtype is DOUBLE else "float"
    (got,) = run_compiled(PROGRAM, padded, width=width, scalar=scalar)
    return got[: len(angles)]


def exact(angles):
    """Sine and cosine as pairs of doubles whose sum has 30 digits."""
    with mp.workdps(400):
        pairs = [mp.cos_sin(mp.mpf(float(angle))) for angle in angles]
        rows = [[s, c] for c, s in pairs]
        high = np.array(rows, dtype=float)
        low = [[float(x - float(x)) for x in row] for row in rows]
    return high, np.array(low)


def errors(angles, dtype=DOUBLE, width=4):
    angles = np.asarray(angles, dtype)
    high, low = exact(angles)
    got = sincos(angles, dtype, width).astype(float)
    absolute = np.abs((got - high) - low)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(absolute == 0, 0.0, absolute / np.abs(high))
    return absolute, relative


def horner(coefficients, t):
    total = mp.mpf(0)
    for coefficient in coefficients:
        total = total * t + coefficient
    return total


def around_quarter_turns(dtype, largest):
    """The floats nearest to multiples of pi/2, and their neighbors."""
    rng = np.random.default_rng(0)
    n = np.concatenate([np.arange(-40, 41), rng.integers(1, int(largest / 1.6), 300)])
    with mp.workdps(50):
        near = np.array([float(k * mp.pi / 2) for k in map(int, n)], dtype)
    return np.concatenate(
        [near, np.nextafter(near, dtype(np.inf)), np.nextafter(near, dtype(-9e9))]
    )


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("span", [1e-3, 0.8, 10.0, 1e3, 1e6, 1e9])
def test_random_angles(span, width, rng):
    absolute, relative = errors(rng.uniform(-span, span, 400), width=width)

    assert absolute.max() <= BOUND[DOUBLE][0]
    assert relative.max() <= BOUND[DOUBLE][1]


@pytest.mark.parametrize("largest", [1e3, 1e6, 1e9, 1e14])
def test_angles_around_quarter_turns(largest):
    """A sine or cosine near 0 has full relative precision."""
    absolute, relative = errors(around_quarter_turns(DOUBLE, largest))

    assert absolute.max() <= BOUND[DOUBLE][0]
    assert relative.max() <= BOUND[DOUBLE][1]


@pytest.mark.parametrize("dtype", [DOUBLE, SINGLE])
def test_angles_around_eighth_turns(dtype):
    """Where the reduction changes to the next multiple of pi/2."""
    n = np.arange(1, 400, 2)
    near = (n * np.pi / 4).astype(dtype)
    angles = np.concatenate([near, np.nextafter(near, dtype(0)), np.nextafter(near, dtype(9e9))])
    absolute, _ = errors(angles, dtype)

    assert absolute.max() <= BOUND[dtype][0]


@pytest.mark.parametrize("dtype", [DOUBLE, SINGLE])
def test_small_angles(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    angles = np.array([tiny, 3 * tiny, np.finfo(dtype).tiny, 1e-30, 1e-9, 1e-4], dtype)
    angles = np.concatenate([angles, -angles])
    got = sincos(angles, dtype)

    np.testing.assert_array_equal(got[np.abs(angles) < 1e-8, 0], angles[np.abs(angles) < 1e-8])
    np.testing.assert_array_equal(got[np.abs(angles) < 1e-8, 1], 1.0)
    assert errors(angles, dtype)[1].max() <= BOUND[dtype][1]


def test_the_smallest_doubles():
    angles = np.array([1e-300, -1e-300, 5e-324])

    np.testing.assert_array_equal(sincos(angles), np.stack([angles, np.ones(3)], axis=1))


@pytest.mark.parametrize("dtype", [DOUBLE, SINGLE])
def test_zero(dtype):
    np.testing.assert_array_equal(sincos(np.array([0.0, -0.0]), dtype), [[0.0, 1.0]] * 2)


@pytest.mark.parametrize("width", [1, 2, 8])
@pytest.mark.parametrize("dtype", [DOUBLE, SINGLE])
def test_angles_of_any_size(dtype, width, rng):
    """Large angles in a batch must not change the results of small ones."""
    powers = rng.uniform(5, np.log10(np.finfo(dtype).max), 400)
    angles = np.concatenate([10.0**powers, -(10.0**powers), [np.finfo(dtype).max]]).astype(dtype)
    mixed = np.stack([angles, np.linspace(-3.0, 3.0, len(angles), dtype=dtype)], axis=1).ravel()
    absolute, relative = errors(mixed, dtype, width)

    assert absolute.max() <= BOUND[dtype][0]
    assert relative.max() <= BOUND[dtype][1]
    np.testing.assert_array_equal(
        sincos(mixed, dtype, width)[1::2], sincos(mixed[1::2], dtype, width)
    )


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", [DOUBLE, SINGLE])
def test_infinity_and_nan_give_nan(dtype, width):
    got = sincos(np.array([np.inf, -np.inf, np.nan, 1.0, -np.nan]), dtype, width)

    np.testing.assert_array_equal(np.isnan(got), np.array([[1, 1, 1, 0, 1]] * 2, bool).T)


@pytest.mark.parametrize("width", [1, 4, 8])
@pytest.mark.parametrize("span", [1e-3, 0.8, 10.0, 1e3, 1e5])
def test_random_angles_in_single_precision(span, width, rng):
    absolute, relative = errors(rng.uniform(-span, span, 400), SINGLE, width)

    assert absolute.max() <= BOUND[SINGLE][0]
    assert relative.max() <= BOUND[SINGLE][1]


@pytest.mark.parametrize("largest", [1e3, 1e5])
def test_angles_around_quarter_turns_in_single_precision(largest):
    absolute, relative = errors(around_quarter_turns(SINGLE, largest), SINGLE)

    assert absolute.max() <= BOUND[SINGLE][0]
    assert relative.max() <= BOUND[SINGLE][1]


@pytest.mark.parametrize(
    ("scalar", "sine", "cosine"), [("double", 4e-18, 3e-18), ("float", 4.1e-9, 1.3e-10)]
)
def test_the_polynomials_are_nearly_optimal(scalar, sine, cosine):
    """The optimal polynomials have the errors 3.7e-18, 6e-20, 3.8e-9 and 1.2e-10."""
    numbers = SINCOS_CONSTANTS[scalar]
    rounded = (lambda x: mp.mpf(float(np.float32(x)))) if scalar == "float" else mp.mpf
    with mp.workdps(40):
        s = [rounded(c) for c in reversed(numbers.sine)]
        c = [rounded(c) for c in reversed(numbers.cosine)]
        worst = [mp.mpf(0), mp.mpf(0)]
        for k in range(1, 1001):
            r = mp.pi / 4 * k / 1000
            t = r * r
            worst[0] = max(worst[0], abs((r + r * t * horner(s, t)) / mp.sin(r) - 1))
            worst[1] = max(worst[1], abs((1 - t / 2 + t * t * horner(c, t)) / mp.cos(r) - 1))
        parts = [rounded(part) for part in numbers.half_pi]
        assert abs(sum(parts) - mp.pi / 2) < abs(parts[-1]) * mp.mpf(2) ** (
            -50 if scalar == "double" else -20
        )

    assert worst[0] <= sine
    assert worst[1] <= cosine
