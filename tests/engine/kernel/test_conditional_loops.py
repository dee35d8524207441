"""Loops with a condition, and derivatives of solutions of equations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.exports import CC, build, package_for, results

import linkwork as lw
from linkwork.engine.symbolic.program import Program


def _loops(program: Program) -> list[bool]:
    return [loop.is_conditional for loop in program.loops]


def _branch(x, y):
    return lw.repeat(1, lambda c: 2.0 * c + np.sin(y), x, condition=lambda c: c[0] > 0.0)


def _root(y):
    """The square root of y[0]^2 by Newton's method, until the error is small."""
    square = y[0] * y[0]
    return lw.repeat(
        30,
        lambda c: 0.5 * (c + square / c),
        square + 1.0,
        condition=lambda c: abs(c * c - square) > 1e-12 * square,
    )


@pytest.fixture
def kernels():
    return lw.compile(x=3, y=3)(_branch), lw.compile(y=1)(_root)


def test_a_branch_is_taken_by_rows_of_a_batch(kernels):
    branch, _ = kernels
    x, y = np.random.default_rng(0).normal(size=(2, 1003, 3))
    expected = np.where(x[:, :1] > 0.0, 2.0 * x + np.sin(y), x)
    np.testing.assert_allclose(branch(x, y), expected, rtol=0, atol=1e-15)
    assert _loops(branch.program) == [True]


@pytest.mark.parametrize("single", [False, True])
def test_rows_do_not_depend_on_their_neighbors(kernels, single):
    branch, root = kernels
    if single:
        branch, root = (
            lw.compile(x=3, y=3, dtype=np.float32)(_branch),
            lw.compile(y=1, dtype=np.float32)(_root),
        )
    x, y = np.random.default_rng(1).normal(size=(2, 67, 3)).astype(branch.dtype)
    x[::5] = np.nan  # their condition is false
    branch.warmup()
    root.warmup()
    together, roots = branch(x, y), root(y[:, :1])
    order = np.random.default_rng(2).permutation(64)
    np.testing.assert_array_equal(branch(x[order], y[order]), together[order])
    np.testing.assert_array_equal(root(y[order, :1]), roots[order])


def test_an_iteration_ends_where_its_condition_does(kernels):
    _, root = kernels
    y = np.array([[0.5], [-3.0], [1e3], [1e-4]])
    np.testing.assert_allclose(root(y), abs(y[:, 0]), rtol=1e-12)
    body = root.program.loops[0].body
    assert body.n_ops < 20, "the body is compiled once"
    assert _root(np.array([2.0])) == pytest.approx(2.0), "plain numbers iterate as well"


def test_constant_conditions_are_decided_while_tracing():
    def counted(n, value):
        return lambda x: lw.repeat(n, lambda c: c + 1.0, x, condition=lambda c: np.bool_(value))

    always, never = lw.compile(x=2)(counted(1, True)), lw.compile(x=2)(counted(4, False))
    assert not always.program.loops
    assert not never.program.loops
    np.testing.assert_array_equal(always(np.ones(2)), [2.0, 2.0])
    np.testing.assert_array_equal(never(np.ones(2)), [1.0, 1.0])


def test_derivatives_follow_the_iterations_of_each_row(kernels):
    branch, root = kernels
    x, y = np.random.default_rng(3).normal(size=(2, 20, 3))
    taken = (x[:, 0] > 0.0)[:, None, None]
    expected = np.where(taken, 2.0, 1.0) * np.eye(3)
    np.testing.assert_allclose(branch.jacobian("x")(x, y), expected, atol=1e-15)
    slopes = root.vjp("y")(y[:, :1], np.ones(20))
    np.testing.assert_allclose(slopes[:, 0], np.sign(y[:, 0]), atol=1e-5)


@pytest.mark.skipif(CC is None, reason="there is no C compiler")
def test_exported_c_ends_early(kernels, tmp_path):
    _, root = kernels
    package = package_for(root.program)
    assert "break;" in "".join(package.sources.values())
    build(package, tmp_path)
    y = np.random.default_rng(4).uniform(0.1, 9.0, (5, 1))
    (result,) = results(package, tmp_path, y)
    np.testing.assert_allclose(result[:, 0], root(y), rtol=1e-14)


@pytest.mark.parametrize("condition", [lambda c: c[0] + 1.0, lambda c: c > 0.0, lambda c: 3])
def test_a_condition_is_one_comparison(condition):
    with pytest.raises(lw.ArgumentError, match="expected one comparison"):
        lw.compile(x=2)(lambda x: lw.repeat(2, lambda c: 2.0 * c, x, condition=condition))


def _equation(x, p):
    return np.stack([x[0] ** 2 - p[0], x[1] - x[0] * p[0], 3.0 * x[2] - x[1]])


def _slopes(x, p):
    zero = 0.0 * p[0]
    return np.stack(
        [
            np.stack([2.0 * x[0], zero, zero]),
            np.stack([-p[0], zero + 1.0, zero]),
            np.stack([zero, zero - 1.0, zero + 3.0]),
        ]
    )


def _solved(p):
    def newton(x):
        return x - lw.linalg.solve(_slopes(x, p), _equation(x, p))

    return lw.repeat(30, newton, np.stack([p[0], p[0], p[0]]))


def test_derivatives_of_a_solution_do_not_differentiate_the_solver():
    plain = lw.compile(p=1)(_solved)
    solved = lw.compile(p=1)(
        lambda p: lw.implicit(_solved(p), lambda x: _equation(x, p), lambda x: _slopes(x, p))
    )
    p = np.array([[2.0], [0.3]])
    root = np.sqrt(p[:, 0])
    np.testing.assert_array_equal(solved(p), plain(p))
    assert solved.program.n_ops == plain.program.n_ops, "the equation is for derivatives only"
    expected = np.stack([0.5 / root, 1.5 * root, 0.5 * root], axis=-1)
    np.testing.assert_allclose(solved.jacobian("p")(p)[..., 0], expected, rtol=1e-12)
    cotangent = np.array([1.0, -2.0, 0.5])
    (slope,) = np.atleast_2d(solved.vjp("p")(p, cotangent)[..., 0])
    np.testing.assert_allclose(slope, expected @ cotangent, rtol=1e-12)
    assert [loop.n_written for loop in solved.vjp("p").program.loops] == [0]


def test_a_stopped_value_is_a_constant():
    f = lw.compile(x=2)(lambda x: lw.stop_gradient(np.sin(x)) * x)
    x = np.array([0.3, -2.0])
    np.testing.assert_allclose(f(x), np.sin(x) * x, rtol=1e-15)
    np.testing.assert_allclose(f.jacobian("x")(x), np.diag(np.sin(x)), rtol=1e-15)
    np.testing.assert_array_equal(lw.stop_gradient([1.0, 2.0]), [1.0, 2.0])


def test_shapes_of_an_equation_are_checked():
    with pytest.raises(lw.ShapeError, match="implicit: expected x and residual"):
        lw.implicit(np.ones(2), lambda x: x[:1], lambda x: np.eye(2))


def test_a_branch_keeps_its_work_inside():
    """What depends on a part of the carry that stays the same is not computed before the branch."""

    def powers(y, x):
        for _ in range(30):
            y = y * x + 1.0
        return y

    @lw.compile(x=2)
    def f(x):
        carry = np.zeros(2), x
        branch = lambda carry: (powers(carry[1], carry[1]), carry[1])  # noqa: E731
        return x + lw.repeat(1, branch, carry, condition=lambda carry: x[0] > 0.0)[0]

    (loop,) = f.program.loops
    assert (loop.n, loop.is_conditional) == (1, True)
    assert loop.body.n_ops > 100 > f.program.n_ops - loop.body.n_ops
    rows = np.random.default_rng(0).normal(size=(40, 2))
    expected = rows + np.where(rows[:, :1] > 0.0, powers(rows, rows), 0.0)
    np.testing.assert_allclose(f(rows), expected, rtol=1e-13, atol=1e-13)
    f.warmup()
    together = f(rows)
    for row, one in zip(rows, together, strict=True):
        np.testing.assert_array_equal(f(row), one)
    jacobian = f.jacobian("x")(rows)
    h = np.array([1e-7, 0.0])
    slopes = (f(rows + h) - f(rows - h)) / 2e-7
    np.testing.assert_allclose(jacobian[:, 0, 0], slopes[:, 0], rtol=1e-4, atol=1e-4)


def test_operations_of_a_loop_that_ends_early_are_estimated():
    """They decide on threads, so a generous limit of iterations must not count in full."""

    def operations(n, **options):
        body = lambda x: np.sin(x) + x * x  # noqa: E731
        return lw.compile(x=3)(lambda x: lw.repeat(n, body, x, **options)).program.n_ops

    def goes_on(x):
        return x[0] > 0.0

    assert operations(1000, condition=goes_on) == operations(10, condition=goes_on)
    assert operations(1000, condition=goes_on) < operations(10) < operations(1000)
