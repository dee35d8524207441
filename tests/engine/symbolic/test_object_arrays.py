"""NumPy's functions on arrays of expressions: they work as on numbers, or raise an error."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from tests.support.expressions import program_for

from linkwork.engine.symbolic.arrays import ObjectArray, as_array, where
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS
from linkwork.errors import ArgumentError

X = np.array([-1.25, 0.0, 0.5, 2.0])
M = np.array([[0.3, -1.0, 0.5], [2.0, 0.0, 1.5], [-0.5, 0.25, 1.0]])


def traced(function, *point):
    """Trace a function and run its program."""
    arrays = [np.asarray(x, float) for x in point]
    program = program_for(lambda *a: function(*map(as_array, a)), *(a.shape for a in arrays))
    with np.errstate(all="ignore"):
        numbers = program.run(*(a.ravel() for a in arrays), functions=NUMPY_FUNCTIONS)
    return np.array(numbers, float).reshape(program.outputs[0].shape)


FUNCTIONS = {
    "operators": lambda x: (x + 1.0) * x - x / 4.0 + (-x) - (+x),
    "powers": lambda x: x**2 + x**3 + np.square(x) + np.power(x, 3),
    "root of a number too": lambda x: np.sqrt(np.stack([x[2], 4.0, x[3]])),
    "sin cos tan": lambda x: np.sin(x) + np.cos(x) + np.tan(x),
    "exp": np.exp,
    "log": lambda x: np.log(x + 3.0),
    "arctan": lambda x: np.arctan(x) + np.arcsin(x / 4) + np.arccos(x / 4),
    "arctan2": lambda x: np.arctan2(x, 2.0) + np.arctan2(2.0, x) + np.arctan2(x, x[::-1]),
    "hypot": lambda x: np.hypot(x, 2.0) + np.hypot(3.0, x),
    "abs": lambda x: abs(x) + np.abs(x) + np.fabs(x),
    "sign": np.sign,
    "degrees": lambda x: np.deg2rad(x) + np.rad2deg(x) + np.radians(x) + np.degrees(x),
    "maximum": lambda x: np.maximum(x, 0.1) + np.minimum(x, x[::-1]),
    "clip": lambda x: np.clip(x, -0.5, 1.0) + x.clip(-1, 1) + np.clip(x, 0, None),
    "max": lambda x: np.max(x) + x.min() + np.stack([x, -x]).max(axis=0),
    "max keepdims": lambda x: x.reshape(2, 2).max(axis=1, keepdims=True),
    "max of all": lambda x: x.reshape(2, 2).max(axis=None),
    "sum": lambda x: x.sum() + np.sum(x[:2]) + x.mean() + np.prod(x + 1.0),
    "cumsum": np.cumsum,
    "norm": np.linalg.norm,
    "norms": lambda x: np.linalg.norm(x.reshape(2, 2), axis=1, keepdims=True),
    "norm of a matrix": lambda x: np.linalg.norm(x.reshape(2, 2)),
    "where": lambda x: np.where(x < 0.1, x * 2, 7.0) + where(x > 0.1, 1, x),
    "where with a scalar": lambda x: where(x[0] < 0.0, x, -x),
    "where with booleans": lambda x: where([True, False, True, False], x, 0.0),
    "where for one": lambda x: where(x[1] <= 0.0, 3.0, x[2]),
    "comparisons": lambda x: sum(
        where(c, 1.0, 0.0) * k
        for k, c in enumerate((x < 0, x <= 0, x > 0, x >= 0, x == 0, x != 0, x == 0.5, x < x[::-1]))
    ),
    "truths": lambda x: where((x < 0) & (x > -2) | ~(x <= 1), x, 0.0),
    "logical": lambda x: where(np.logical_and(x < 0, x > -2) | np.logical_not(x <= 1), x, 0.0),
    "any all": lambda x: where((x > 1.5).any(), x, 0.0) + where(np.all(x > 1.5), x, 1.0),
    "indices": lambda x: np.stack([x[0], x[-1], *x[1:3], *(y for y in x)]) + x[..., None][0],
    "join": lambda x: np.concatenate([x, x[:1] * 2]) + np.hstack([x[0], x]),
    "array": lambda x: np.array([x[0] * 2.0, 1.0, x[1]]),
    "compare an array": lambda x: where(as_array(np.array([x[0], x[2]])) < 0, 1.0, 2.0),
    "block": lambda x: np.block([[x], [x * 2]]),
    "outer": lambda x: np.outer(x, x) + np.diag(x) + np.eye(4) * np.trace(np.outer(x, x)),
    "dot": lambda x: np.dot(x, x) + x.dot(x) + np.inner(x, x) + x @ x + np.vdot(x, x),
    "methods of a number": lambda x: x[0].reshape(1).sum() + x[1].T + x[2].max(),
    "einsum": lambda x: np.einsum("i,j->ij", x, x),
    "zeros_like": lambda x: np.zeros_like(x) + x[0],
    "in place": lambda x: np.add(x, 1.0, out=np.zeros_like(x)),
    "swapped": lambda x: np.swapaxes(np.stack([x, x + 1]), 0, 1) + np.roll(x, 1)[:, None],
    "numpy on the left": lambda x: np.arange(4.0) * x + np.float64(2.0) - x + 2 / (x + 9),
    "hyperbolic": lambda x: np.sinh(x) + np.cosh(x) + np.tanh(x),
    "inverse hyperbolic": lambda x: np.arcsinh(x) + np.arccosh(x + 3.0) + np.arctanh(x / 3.0),
    "exp and log": lambda x: np.expm1(x) + np.log1p(x + 1.5) + np.exp2(x),
    "log2 log10": lambda x: np.log2(x + 2.0) + np.log10(x + 2.0),
    "steps": lambda x: np.floor(x) + 10.0 * np.ceil(x) + 100.0 * np.trunc(x),
    "round": lambda x: np.rint(np.concatenate([x, x + 0.5, 2.0 * x])),
    "remainder": lambda x: np.stack([x % 0.7, np.mod(x, -0.7), np.remainder(5.5, x + 4.0)]),
    "floor divide": lambda x: np.stack([x // 0.7, x // -0.7, 5.5 // (x + 4.0)]),
    "half powers": lambda x: (x + 2.0) ** 0.5 + np.float_power(x + 2.0, 1.5),
    "fmax fmin": lambda x: np.fmax(x, 0.1) + np.fmin(0.1, x) + np.fmod(x, 0.7),
    "copysign": lambda x: np.copysign(1.5, x) + np.heaviside(x, 0.25) + np.logaddexp(x, 0.3),
    "finite": lambda x: np.where(np.isfinite(x) & ~np.isinf(x), x, 0.0),
    "xor": lambda x: np.where(np.logical_xor(x > -2.0, x > 0.1) ^ (x > 1.0), 1.0, x),
    "select": lambda x: np.select([x < -1.0, x < 0.1], [x, 3.0 * x], -x),
    "select without a default": lambda x: np.select([x < -1.0], [x]),
    "decimals": lambda x: np.round(x, 1) + x.round() + np.round(x * 10.0, -1),
    "array of entries": lambda x: np.sin(np.array([x[0], x[1]])) + np.tanh(np.array([x[2], x[3]])),
    "variance": lambda x: np.var(x) + np.std(x) + np.average(x, weights=[1.0, 2.0, 3.0, 4.0]),
    "differences": lambda x: np.diff(x) + np.convolve(x, [1.0, 2.0])[:3] + np.polyval(x, 2.0),
    "powers of two": lambda x: 2.0**x + np.power(np.abs(x) + 0.1, 1.7) + np.float_power(2.0, x),
    "joined": lambda x: np.r_[x, 1.0] + np.append(x, x[0]) + np.pad(x, 1)[1:],
    "tiles": lambda x: np.tile(x, 2) + np.repeat(x, 2) + np.broadcast_to(x[0], 8),
    "sqrt of a scalar": lambda x: np.sqrt(x[3]) + np.maximum(x[0], x[1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_agrees_with_numpy(name):
    function = FUNCTIONS[name]

    np.testing.assert_allclose(traced(function, X), function(X), rtol=1e-14, atol=1e-15)


MATRICES = {
    "product": lambda m, x: m @ x[:3] + x[:3] @ m + np.matmul(m, m)[0],
    "transpose": lambda m, x: m.T - np.transpose(m) * 2.0,
    "cross": lambda m, x: np.cross(m[0], m[1]),
    "trace": lambda m, x: np.trace(m) + m.trace() + m.diagonal().sum(),
    "with numbers": lambda m, x: np.eye(3) @ m @ np.arange(9.0).reshape(3, 3),
    "slices": lambda m, x: m[1:, ::2] * m[:2, 1:],
    "kron": lambda m, x: np.kron(m, m),
    "triangles": lambda m, x: np.tril(m) - 2.0 * np.triu(m, 1) + np.diag(np.diag(m)),
    "blocks": lambda m, x: np.block([[m, np.eye(3)], [np.zeros((1, 3)), x[None, :3]]]),
    "sums along axes": lambda m, x: m.sum(axis=0) + m.mean(axis=1) + np.prod(m, axis=(0, 1)),
    "traces": lambda m, x: np.einsum("ij,ji->", m, m) + np.einsum("ii", m),
    "norms of vectors": lambda m, x: np.stack(
        [np.linalg.norm(x, k) for k in (1, 2, 3, 0, np.inf, -np.inf)]
    ),
    "norms of matrices": lambda m, x: np.stack(
        [np.linalg.norm(m, k) for k in (None, "fro", 1, -1, np.inf, -np.inf)]
    ),
    "norms along axes": lambda m, x: (
        np.linalg.norm(m, 1, axis=1)
        + np.linalg.norm(m[None], np.inf, axis=(1, 2), keepdims=True)[0]
        + np.linalg.norm(m[None], 1, axis=(2, 1))
    ),
    "more of linalg": lambda m, x: np.linalg.matrix_power(m, 3) + np.linalg.multi_dot([m, m, m]),
    "tensordot": lambda m, x: np.tensordot(m, m, axes=1),
}


@pytest.mark.parametrize("name", MATRICES)
def test_a_function_of_matrices_agrees_with_numpy(name):
    function = MATRICES[name]

    np.testing.assert_allclose(traced(function, M, X), function(M, X), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("x", [np.nan, -np.inf, np.inf])
def test_nan_passes_through_maximum_and_clip(x):
    point = np.array([x, 1.0, x])
    for function in (
        lambda a: np.maximum(a, 0.5),
        lambda a: np.maximum(0.5, a),
        lambda a: np.minimum(a[::-1], a),
        lambda a: np.clip(a, -1.0, 1.0),
        lambda a: a.max(),
        abs,
        np.sign,
        lambda a: where(a == 1 * a, 1.0, 0.0),
        lambda a: where(a != 1 * a, 1.0, 0.0),
        lambda a: where(np.isnan(a), 1.0, 0.0),
    ):
        np.testing.assert_array_equal(traced(function, point), function(point))


# Functions composed of others: exact to a few units in the last place, for all arguments.

SIZES = (1e-300, 1e-20, 1e-9, 1e-4, 0.3, 0.5, 1.0, 1.7, 19.9, 20.1, 700.0, 710.2)
BOTH_SIGNS = [-x for x in SIZES] + [0.0, *SIZES]
UP_TO_1 = [x for x in BOTH_SIGNS if abs(x) < 1.0]
MADE_OF_OTHERS = {
    "tan": (mp.tan, [*UP_TO_1, 1.7, -1.7]),
    "arctan": (mp.atan, [*BOTH_SIGNS, 1e300]),
    "arcsin": (mp.asin, [*UP_TO_1, 0.999999999, -0.999999999, 1.0]),
    "arccos": (mp.acos, [*UP_TO_1, 0.999999999, -0.999999999, 1.0]),
    "sinh": (mp.sinh, BOTH_SIGNS),
    "cosh": (mp.cosh, BOTH_SIGNS),
    "tanh": (mp.tanh, BOTH_SIGNS),
    "arcsinh": (mp.asinh, [*BOTH_SIGNS, 1e10, 1e200, -1e300]),
    "arccosh": (mp.acosh, [1.0, 1.0 + 1e-12, 1.3, 50.0, 1e10, 1e200]),
    "arctanh": (mp.atanh, [*UP_TO_1, 0.999, -0.999]),
    "expm1": (mp.expm1, [x for x in BOTH_SIGNS if x < 709]),
    "log1p": (mp.log1p, [*(x for x in BOTH_SIGNS if x > -1.0), 1e300]),
    "exp2": (lambda x: mp.mpf(2) ** x, [*BOTH_SIGNS[:-1], 1000.3, 1023.7, -1000.3]),
    "log2": (lambda x: mp.log(x, 2), [1e-300, 0.5, 0.99999, 1.00001, 8.0, 1e300]),
    "log10": (mp.log10, [1e-300, 0.5, 0.99999, 1.00001, 1000.0, 1e300]),
}


@pytest.mark.parametrize("name", MADE_OF_OTHERS)
def test_a_composed_function_is_exact(name):
    exact, numbers = MADE_OF_OTHERS[name]
    with mp.workdps(60):
        expected = np.array([float(exact(mp.mpf(x))) for x in numbers])

    np.testing.assert_allclose(traced(getattr(np, name), numbers), expected, rtol=2e-15, atol=0)


STEPS = [
    -2.5,
    -2.0,
    -1.5,
    -0.5,
    -0.2,
    -0.0,
    0.2,
    0.49999999999999994,
    0.5,
    1.5,
    2.5,
    4503599627370497.5,
]


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "rint"])
def test_steps_are_exact(name):
    function = getattr(np, name)
    np.testing.assert_array_equal(traced(function, STEPS), function(STEPS))


@pytest.mark.parametrize("b", [0.1, 2 * np.pi, -0.3, 1e-3])
def test_a_remainder_is_between_zero_and_its_divisor(b, rng):
    a = np.concatenate([rng.normal(scale=10, size=40), np.arange(-20, 20) * b])
    quotient, remainder = traced(lambda x: x // b, a), traced(lambda x: x % b, a)

    assert ((remainder / b >= 0) & (remainder / b <= 1)).all()
    np.testing.assert_array_equal(quotient, np.floor(quotient))
    np.testing.assert_allclose(quotient * b + remainder, a, rtol=1e-15, atol=4e-15)


@pytest.mark.parametrize("name", ["svd", "pinv", "eigh", "qr", "slogdet", "cond"])
def test_unsupported_linear_algebra_lists_the_supported_functions(name):
    instead = r"linkwork\.linalg.*cholesky, det, inv, norm, solve$"
    with pytest.raises(ArgumentError, match=rf"^numpy\.linalg\.{name} .*{instead}"):
        traced(getattr(np.linalg, name), M)


@pytest.mark.parametrize("package", ["jax", "torch", "casadi"])
def test_values_of_other_packages_are_rejected(package):
    alien = type("Value", (), {"__module__": f"{package}.core"})()
    facts = rf"{package}.*np\.asarray"
    with pytest.raises(ArgumentError, match=facts):
        traced(lambda x: x * alien, X)
    with pytest.raises(ArgumentError, match=facts):
        traced(lambda x: np.maximum(x, alien), X)


REFUSED = {
    "numpy.linalg.svd": np.linalg.svd,
    "numpy.sort": np.sort,
    "numpy.interp": lambda m: np.interp(m[0], [0.0, 1.0], [0.0, 1.0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_that_needs_numbers_is_named(name):
    with pytest.raises(ArgumentError, match=rf"^{name} .*traced"):
        traced(REFUSED[name], M)


def branch(x):
    return x * 2.0 if x[0] > 0 else x


def loop(x):
    while x[1] < 1.0:
        x = x + 1.0
    return x


def branch_on_all(x):
    return x if x > 0 else -x


@pytest.mark.parametrize(
    "function",
    [
        branch,
        loop,
        branch_on_all,
        lambda x: max(x[0], x[1]),
        lambda x: sorted(x)[0],
        lambda x: x[0] > 0 and x[1],
        lambda x: np.array([x[0]]) < 0.0,
    ],
)
def test_a_branch_on_a_traced_value_suggests_where(function):
    with pytest.raises(TypeError, match=r"np\.where"):
        traced(function, X)


def test_writing_into_an_array_of_floats_suggests_a_solution():
    def fill(x):
        y = np.zeros(2)
        y[0] = x[0]
        return y

    with pytest.raises(ArgumentError, match=r"np\.stack"):
        traced(fill, X)


def test_object_arrays_of_numbers_compare_to_booleans():
    array = as_array(np.array([1, 2.5, 3], dtype=object))

    assert isinstance(array, ObjectArray)
    assert (array > 2).dtype == bool
    np.testing.assert_array_equal(array[array > 2], [2.5, 3])
    assert bool(array[0] == 1)
    np.testing.assert_array_equal(where(array > 2, array, 0.0).astype(float), [0.0, 2.5, 3.0])


def test_arrays_of_numbers_are_unchanged():
    x = np.arange(3.0)

    assert as_array(x) is x
    assert type(where(x > 1, x, 0.0)) is np.ndarray
    assert where(x.astype(np.float32) > 1, x.astype(np.float32), np.float32(0)).dtype == np.float32
