"""Linear algebra of small matrices: traced and numeric results, derivatives, and messages."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import scipy.linalg
from tests.support.kindyn import STEP, run_program

import linkwork as lw
from linkwork import linalg
from linkwork.engine.autodiff.diff import jacobian
from linkwork.errors import ArgumentError, LinkworkError, ShapeError

SIZES = [1, 2, 3, 4, 6, 9]
PD = "positive definite"


def traced(function, *point):
    """Trace a function and run its program."""
    return run(compiled(function, *point).program, *point)


def compiled(function, *point):
    if len(point) == 1:
        return lw.compile(a=np.shape(point[0]))(lambda a: function(a))  # noqa: PLW0108
    return lw.compile(a=np.shape(point[0]), b=np.shape(point[1]))(lambda a, b: function(a, b))  # noqa: PLW0108


def run(program, *point):
    with np.errstate(all="ignore"):
        return run_program(program, *map(np.ravel, point))[0]


def positive_definite(n, rng):
    a = rng.normal(size=(n, n))
    return a @ a.T + 0.1 * np.eye(n)


def assert_solved(a, x, b):
    """Check that the residual is small compared with its terms."""
    size = np.abs(a) @ np.abs(x) + np.abs(b)
    assert np.abs(a @ x - b).max() <= 1e-12 * size.max()


HARD = {
    "random": lambda n, rng: rng.normal(size=(n, n)),
    "permuted": lambda n, rng: (np.eye(n) + 1e-9 * rng.normal(size=(n, n)))[rng.permutation(n)],
    "zeros on the diagonal": lambda n, rng: np.roll(np.diag(rng.normal(size=n)), 1, axis=0),
    "tiny on the diagonal": lambda n, rng: (
        rng.normal(size=(n, n)) * np.where(np.eye(n), 1e-18, 1.0)
    ),
    "rows of all sizes": lambda n, rng: rng.normal(size=(n, n)) * 10.0 ** np.linspace(-9, 9, n),
    "nearly singular": lambda n, rng: np.ones((n, n)) + 1e-6 * rng.normal(size=(n, n)),
    "hilbert": lambda n, rng: 1.0 / (1.0 + np.arange(n)[:, None] + np.arange(n)),
    "wilkinson": lambda n, rng: np.tril(-np.ones((n, n)), -1) + np.eye(n) + np.eye(n)[-1],
}


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("n", SIZES)
def test_equations_are_solved_as_accurately_as_by_numpy(n, kind, rng):
    b = rng.normal(size=n)
    a = HARD[kind](n, rng)

    assert_solved(a, traced(np.linalg.solve, a, b), b)


@pytest.mark.parametrize("n", SIZES)
def test_rows_are_pivoted_in_any_order(n, rng):
    """The same program solves every order of the rows."""
    f = compiled(np.linalg.solve, np.eye(n), np.zeros(n)).program
    a, b = rng.normal(size=(n, n)) * 10.0 ** rng.integers(-6, 6, size=(n, 1)), rng.normal(size=n)
    for _ in range(10):
        order = rng.permutation(n)
        assert_solved(a[order], run(f, a[order], b[order]), b[order])


@pytest.mark.parametrize("n", SIZES)
def test_positive_definite_equations(n, rng):
    a, b = positive_definite(n, rng), rng.normal(size=(n, 2))
    x = traced(lambda a, b: linalg.solve(a, b, assume=PD), a, b)

    assert_solved(a, x, b)
    inverse = traced(lambda a: linalg.inv(a, assume=PD), a)
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(inverse @ a, np.eye(n), atol=1e-10)
    garbage = np.tril(a) + np.triu(rng.normal(size=(n, n)), 1)  # is not read
    again = traced(lambda a, b: linalg.solve(a, b, assume=PD), garbage, b)
    np.testing.assert_array_equal(again, x)


@pytest.mark.parametrize("n", SIZES)
def test_inverse_determinant_and_factor_agree_with_numpy(n, rng):
    a, s = rng.normal(size=(n, n)), positive_definite(n, rng)

    np.testing.assert_allclose(traced(np.linalg.inv, a) @ a, np.eye(n), atol=1e-11)
    size = np.linalg.norm(a, axis=1).prod()
    assert abs(traced(np.linalg.det, a) - np.linalg.det(a)) <= 1e-14 * size
    factor = traced(np.linalg.cholesky, s)
    np.testing.assert_array_equal(factor, np.tril(factor))
    np.testing.assert_allclose(factor @ factor.T, s, rtol=1e-12, atol=1e-13)
    upper = traced(lambda s: linalg.cholesky(s, upper=True), s)
    np.testing.assert_allclose(upper, factor.T, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n", SIZES)
def test_determinants_of_permutations(n, rng):
    f = compiled(np.linalg.det, np.eye(n)).program
    for _ in range(6):
        a = np.eye(n)[rng.permutation(n)] * rng.choice([-1.0, 1.0], size=n)
        assert run(f, a) == np.linalg.det(a)


FUNCTIONS = {
    "solve": lambda a, b: np.linalg.solve(a, b),  # noqa: PLW0108
    "solve for several": lambda a, b: np.linalg.solve(a, np.outer(b, b)),
    "inv": lambda a, b: np.linalg.inv(a) @ b,
    "det": lambda a, b: np.linalg.det(a) * b,
    "positive definite": lambda a, b: linalg.solve(a @ a.T + np.eye(len(b)), b, assume=PD),
    "inverse of one": lambda a, b: linalg.inv(a @ a.T + np.eye(len(b)), assume=PD) @ b,
    "cholesky": lambda a, b: np.linalg.cholesky(a @ a.T + np.eye(len(b))) @ b,
    "norm": lambda a, b: np.linalg.norm(a @ b) * b + np.linalg.norm(a, 3, axis=0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_derivatives_by_complex_steps(n, name, rng):
    a, b = rng.normal(size=(n, n)), rng.normal(size=n)
    f = compiled(FUNCTIONS[name], a, b)
    for k, wrt in enumerate("ab"):
        slope = run(f.jacobian(wrt).program, a, b)
        for index in np.ndindex(np.shape((a, b)[k])):
            moved = [a.astype(complex), b.astype(complex)]
            moved[k][index] += 1j * STEP
            expected = run(f.program, *moved).imag / STEP
            actual = slope[(..., *index)]
            np.testing.assert_allclose(
                actual, expected, rtol=1e-9, atol=1e-10 * np.abs(slope).max()
            )


@pytest.mark.parametrize("function", [np.linalg.solve, lambda a, b: linalg.solve(a, b, assume=PD)])
def test_compiled_code_solves_batches(function, rng):
    a = np.stack([positive_definite(4, rng) for _ in range(50)])
    b = rng.normal(size=(50, 4))
    f = compiled(function, a[0], b[0])
    f.warmup()

    expected = np.linalg.solve(a, b[..., None])[..., 0]
    np.testing.assert_allclose(f(a, b), expected, rtol=1e-9)
    np.testing.assert_allclose(f(a[0], b[0]), expected[0], rtol=1e-9)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_singular_matrix_that_is_not_selected_has_no_derivative(mode):
    """A branch that is not selected adds nothing, even if it is NaN."""

    def guarded(a, b):
        return np.where(abs(np.linalg.det(a)) > 1e-9, np.linalg.solve(a, b), 0.0)

    a, b = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0]), np.ones(3)
    program = jacobian(compiled(guarded, a, b).program, "a", mode=mode)
    np.testing.assert_array_equal(run(program, a, b), np.zeros((3, 3, 3)))


# Shapes, and zeros that are known.

SHAPES = {
    "a vector": ((3, 3), (3,)),
    "columns": ((3, 3), (3, 2)),
    "several matrices": ((2, 3, 3), (3,)),
    "several of both": ((2, 1, 3, 3), (4, 3, 2)),
    "no columns": ((3, 3), (3, 0)),
    "nothing": ((0, 0), (0,)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_those_of_numpy(name, rng):
    a, b = (rng.normal(size=shape) for shape in SHAPES[name])
    expected = np.linalg.solve(a, b[:, None])[..., 0] if b.ndim == 1 else np.linalg.solve(a, b)

    np.testing.assert_allclose(traced(np.linalg.solve, a, b), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(traced(np.linalg.inv, a), np.linalg.inv(a), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(traced(np.linalg.det, a), np.linalg.det(a), rtol=1e-9)
    np.testing.assert_array_equal(linalg.solve(a, b), expected)


def test_numeric_arrays_are_computed_by_numpy(rng):
    a, b = positive_definite(4, rng), rng.normal(size=4)

    np.testing.assert_array_equal(linalg.solve(a.tolist(), b), np.linalg.solve(a, b))
    np.testing.assert_array_equal(linalg.solve(a, b, assume=PD), np.linalg.solve(a, b))
    np.testing.assert_array_equal(linalg.inv(a), np.linalg.inv(a))
    np.testing.assert_array_equal(linalg.inv(a, assume=PD), np.linalg.inv(a))
    assert linalg.det(a) == np.linalg.det(a)
    np.testing.assert_array_equal(linalg.cholesky(a), np.linalg.cholesky(a))
    np.testing.assert_allclose(linalg.cholesky(a, upper=True), np.linalg.cholesky(a).T, rtol=1e-12)
    assert linalg.norm([3.0, 4.0]) == 5.0
    assert linalg.norm(a, "nuc") == np.linalg.norm(a, "nuc")
    with pytest.raises(np.linalg.LinAlgError):
        linalg.inv(np.zeros((2, 2)))


def test_lists_of_traced_values_are_accepted(rng):
    x = rng.normal(size=2)
    f = lw.compile(x=2)(lambda x: linalg.solve([[x[0], 1.0], [1.0, x[1]]], [1.0, x[0]]))

    expected = np.linalg.solve([[x[0], 1.0], [1.0, x[1]]], [1.0, x[0]])
    np.testing.assert_allclose(run(f.program, x), expected, rtol=1e-12)


@pytest.mark.parametrize("part", [np.tril, np.triu, lambda a: np.tril(a)[::-1]])
def test_triangular_equations_are_solved_by_substitution(part, rng):
    a, b = rng.normal(size=(5, 5)), rng.normal(size=5)
    f = compiled(lambda a, b: np.linalg.solve(part(a), b), a, b)

    assert f.program.n_ops == 5 + 5 + 2 * 10  # 1 / diagonal, times that, and the products beside it
    assert_solved(part(a), run(f.program, a, b), b)


def test_structural_zeros_take_no_operations():
    n = 8
    banded = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) < 2
    banded_solve = compiled(
        lambda a, b: linalg.solve(a * banded, b, assume=PD), np.eye(n), np.zeros(n)
    )
    assert banded_solve.program.n_ops <= 9 * n  # of a factor without fill-in
    pose = compiled(lambda a: np.linalg.inv(np.vstack([a, [0, 0, 0, 1]])), np.zeros((3, 4)))
    matrix = compiled(np.linalg.inv, np.zeros((3, 3)))
    assert pose.program.n_ops <= matrix.program.n_ops + 3 * 3 * 2


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_results_of_singular_matrices_are_not_finite_without_an_error(n, rng):
    a = np.outer(np.arange(1.0, n + 1), np.arange(n))  # exact in floating point, of rank 1
    b = rng.normal(size=n)

    assert not np.isfinite(traced(np.linalg.solve, a, b)).any()
    assert not np.isfinite(traced(np.linalg.inv, a)).all()
    assert traced(np.linalg.det, a) == 0.0
    assert not np.isfinite(traced(lambda a: linalg.solve(a, np.ones(n), assume=PD), 0.0 * a)).any()
    assert np.isnan(traced(np.linalg.cholesky, -np.eye(n))).any()
    known = lw.compile(b=n)(lambda b: np.linalg.solve(np.zeros((n, n)), b)).program
    assert not np.isfinite(run(known, b)).any()


def test_numbers_of_many_digits(rng):
    """Objects of other numeric types are computed with their operators."""
    a, b = rng.normal(size=(4, 4)), rng.normal(size=4)
    with mp.workdps(40):
        exact = np.vectorize(mp.mpf, otypes=[object])
        x = linalg.solve(exact(a), exact(b))
        residual = exact(a) @ np.asarray(x) - exact(b)
        assert max(abs(r) for r in residual) < mp.mpf(10) ** -35


# Messages.


def of(function, *shapes):
    return lambda: compiled(function, *map(np.zeros, shapes))


FACTS = {
    r"inv: .*square.*\(2, 3\)": (
        of(np.linalg.inv, (2, 3)),
        ShapeError,
    ),
    r"solve: .*square.*\(3,\)": (
        of(np.linalg.solve, (3,), (3,)),
        ShapeError,
    ),
    r"solve: .*\bb\b.*\(3,\).*\(\.\.\., 3, k\).*\(4,\)": (
        of(np.linalg.solve, (3, 3), (4,)),
        ShapeError,
    ),
    r"solve: .*\bb\b.*\(3,\).*\(\.\.\., 3, k\).*\(\)": (
        lambda: linalg.solve(np.eye(3), 1.0),
        ShapeError,
    ),
    "assume: .*'general' or 'positive definite'.*'positive'": (
        of(lambda a, b: linalg.solve(a, b, assume="positive"), (3, 3), (3,)),
        ArgumentError,
    ),
    "norm: ord=2 of matrices .*'fro', 1, -1, inf or -inf": (
        of(lambda a: np.linalg.norm(a, 2), (3, 3)),
        ArgumentError,
    ),
    "norm: ord='nuc' of vectors .*'fro', 1, -1, inf or -inf": (
        of(lambda a: np.linalg.norm(a, "nuc"), (3,)),
        ArgumentError,
    ),
    r"<lambda> .*np\.array\(\.\.\.\).*linkwork\.linalg.*np\.stack": (
        of(lambda a: np.linalg.inv(np.array([[a[0], 1.0], [1.0, a[1]]])), (2,)),
        ArgumentError,
    ),
    r"<lambda> .*NumPy's functions.*np\.array\(\.\.\.\).*np\.stack": (
        of(lambda a: np.sin(np.array([a[0], 1.0])), (2,)),
        ArgumentError,
    ),
    r"<lambda> .*SciPy.*linkwork\.linalg.*cholesky, det, inv, norm, solve": (
        of(scipy.linalg.solve, (3, 3), (3,)),
        ArgumentError,
    ),
}


@pytest.mark.parametrize("facts", FACTS)
def test_bad_use_is_explained(facts):
    call, kind = FACTS[facts]
    with pytest.raises(kind, match=f"^{facts}") as caught:
        call()
    assert isinstance(caught.value, LinkworkError)
