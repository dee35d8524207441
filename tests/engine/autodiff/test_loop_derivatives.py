"""Derivatives of functions with loops, against those of the same functions unrolled."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tests.support.loop_programs import loop_program
from tests.support.verifier import verify

import linkwork as lw
from linkwork.engine.autodiff import diff
from linkwork.engine.symbolic.arrays import ObjectArray
from linkwork.engine.symbolic.node import Graph
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.rules import RULES
from linkwork.engine.symbolic.tracing import program_of, trace


def unrolled(n, body, carry):
    """`lw.repeat` without a loop in the program."""
    for _ in range(n):
        carry = body(carry)
    return carry


def traced(function, repeat, *shapes):
    ports = [Port(name, shape) for name, shape in zip("xp", shapes, strict=True)]
    return trace(lambda *a: function(repeat, *(one.view(ObjectArray) for one in a)), ports, "y")


def run(program, *inputs):
    """Compute the results of a program."""
    flat = [np.ravel(one) for one in inputs]
    with np.errstate(all="ignore"):
        return np.array(program.run(*flat, functions=NUMPY_FUNCTIONS), float)


def in_one(repeat, x, p):
    y = repeat(6, lambda a: a + 0.1 * np.sin(a[::-1]) * p - 0.05 * p[0] * a**2, x)
    return y @ p


def in_two(repeat, x, p):
    """Nested loops, with selects, divisions, and values of both enclosing functions."""

    def outer(carry):
        a, t = carry
        b = np.sin(a) * p + np.sum(p**2) * np.roll(a, 1)
        d = repeat(3, lambda z: z * 0.9 + p[0] * t * z[::-1] + np.sin(p), b)
        return np.where(d > 1.0, 1.0 / d, a - p), t + 0.1 * a[0]

    y, t = repeat(4, outer, (x, 0.0 * x[0]))
    return y @ y + t * p[1]


def one_after_the_other(repeat, x, p):
    y = repeat(3, lambda a: a * p, x)
    z = repeat(5, lambda a: np.cos(a) + y, p * y[0])
    return z @ repeat(2, lambda a: a * z[::-1] / (1.0 + a**2), y)


def with_roots(repeat, x, p):
    return np.sum(repeat(3, lambda a: a / np.sqrt(a @ a + p[0] ** 2) + p * np.exp(-a), x))


def with_rotations(repeat, x, p):
    def turn(a):
        c, s = np.cos(p[1] * a[2]), np.sin(p[1] * a[2])
        return np.stack([c * a[0] - s * a[1], s * a[0] + c * a[1], a[2] + 0.1 * a[0]])

    return repeat(4, turn, x) @ np.array([1.0, 2.0, 3.0])


def of_one_input(repeat, x, p):
    """The carry of the second part does not depend on x, and some carry entries are unused."""
    a, b, _ = repeat(4, lambda c: (c[0] * p, c[1] + p**2, c[2] * c[0]), (x, p, x))
    return a @ b


def with_conditions(repeat, x, p):
    """Entries that are far enough do not change."""

    def body(carry):
        a, is_done = carry
        is_done = is_done | (a > 1.2)
        return np.where(is_done, a, a + 0.3 * p * a[::-1]), is_done

    return repeat(5, body, (x, x > 1.4))[0] @ p


FUNCTIONS = [
    in_one,
    in_two,
    with_conditions,
    one_after_the_other,
    with_roots,
    with_rotations,
    of_one_input,
]
BOTH = ["x", "p"]
DERIVATIVES = {
    "jvp": (lambda f: diff.jvp(f, BOTH), ("x", "p", "dx", "dp")),
    "jvp of one": (lambda f: diff.jvp(f, "p"), ("x", "p", "dp")),
    "vjp": (lambda f: diff.vjp(f, BOTH), ("x", "p", "ct")),
    "gradient": (lambda f: diff.gradient(f, BOTH), ("x", "p")),
    "gradient of one": (lambda f: diff.gradient(f, "x"), ("x", "p")),
    "jacobian forward": (lambda f: diff.jacobian(f, BOTH, mode="forward"), ("x", "p")),
    "jacobian reverse": (lambda f: diff.jacobian(f, BOTH, mode="reverse"), ("x", "p")),
    "jacobian": (lambda f: diff.jacobian(f, BOTH), ("x", "p")),
    "hessian": (lambda f: diff.hessian(f, BOTH), ("x", "p")),
    "hvp": (lambda f: diff.hvp(f, BOTH), ("x", "p", "dx", "dp")),
    "jvp of vjp": (lambda f: diff.jvp(diff.vjp(f, BOTH), "x"), ("x", "p", "ct", "dx")),
    "vjp of jvp": (lambda f: diff.vjp(diff.jvp(f, BOTH), BOTH), ("x", "p", "dx", "dp", "ct")),
    "vjp of vjp": (lambda f: diff.vjp(diff.vjp(f, BOTH), BOTH), ("x", "p", "ct", "dx", "dp")),
    "jvp of jvp": (
        lambda f: diff.jvp(diff.jvp(f, BOTH), ["x", "d_p"]),
        ("x", "p", "dx", "dp", "dp", "dx"),
    ),
}


@pytest.mark.parametrize("kind", DERIVATIVES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_are_those_of_the_unrolled_function(function, kind, rng):
    arguments = dict(zip(("x", "p", "dx", "dp"), rng.uniform(0.2, 1.5, (4, 3)), strict=True))
    arguments |= {"ct": [0.7]}
    derive, names = DERIVATIVES[kind]
    inputs = [arguments[name] for name in names]
    with_loops = derive(traced(function, lw.repeat, (3,), (3,)))
    verify(with_loops)
    assert with_loops.loops
    expected = run(derive(traced(function, unrolled, (3,), (3,))), *inputs)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(run(with_loops, *inputs), expected, atol=1e-13 * scale, rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_gradients_by_complex_steps(n, rng):
    def function(repeat, x, p):
        return np.sum(repeat(n, lambda a: np.sin(a) * p + a[::-1] * a, x) * p)

    program = traced(function, lw.repeat, (3,), (3,))
    assert bool(program.loops) == (n > 1)
    x, p = rng.uniform(0.2, 0.8, (2, 3))
    expected = [
        function(unrolled, x + 1e-30j * one[:3], p + 1e-30j * one[3:]).imag / 1e-30
        for one in np.eye(6)
    ]
    for mode in ("forward", "reverse"):
        actual = run(diff.jacobian(program, ["x", "p"], mode=mode), x, p)
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_a_program_does_not_grow_with_the_number_of_iterations():
    def function(n):
        return traced(
            lambda r, x, p: in_one(lambda _, b, c: r(n, b, c), x, p), lw.repeat, (3,), (3,)
        )

    short, long = function(10), function(1000)
    assert short.n_steps == long.n_steps
    assert long.n_ops > 90 * short.n_ops
    for derive in (diff.gradient, diff.hessian):
        assert derive(short, "x").n_steps == derive(long, "x").n_steps


def test_the_values_of_a_loop_are_computed_once():
    """Tangents and values are in one loop; adjoints in another, which computes the body again."""
    program = traced(in_one, lw.repeat, (3,), (3,))
    (body,) = [loop.body for loop in program.loops]
    assert len(diff.jvp(program, BOTH).loops) == 1
    gradient = diff.gradient(program, BOTH)
    assert len(gradient.loops) == 2
    assert gradient.n_ops < 4 * program.n_ops
    stored, back = gradient.loops
    assert (stored.n_written, stored.is_reversed) == (3, False)
    assert stored.body.n_ops == body.n_ops
    assert (back.n_read, back.n_carry, back.is_reversed) == (3, 7, True)  # of x, p and 0.05 p[0]


def test_derivatives_that_are_zero_in_each_iteration_are_not_carried():
    """Tangents along x of values that depend only on p, and linear loops."""
    program = traced(of_one_input, lw.repeat, (3,), (3,))
    assert [loop.n_carry for loop in program.loops] == [6]
    (loop,) = diff.jvp(program, "x").loops
    assert loop.n_carry == 6  # b, and the tangent of a
    linear = traced(lambda r, x, p: np.sum(r(5, lambda a: a * p, x)), lw.repeat, (3,), (3,))
    (loop,) = diff.gradient(linear, "x").loops  # needs no value of the first loop
    assert (loop.n_read, loop.n_carry) == (0, 3)


def test_a_branch_that_is_not_selected_has_no_effect(rng):
    """As without loops, even if it is infinite or NaN, inside of a loop or after it."""

    def inside(repeat, x, p):
        y = repeat(3, lambda a: np.where(a > 0.0, a * 1.1, np.sqrt(a) / (p - p)), x)
        return y @ p

    def after(repeat, x, p):
        grown = repeat(9, lambda a: np.exp(a) * a * p, x)
        return np.sum(np.where(p > 0.0, x * p, grown))

    def root(repeat, x, p):
        moved = repeat(3, lambda a: a + p * (p - 1.0), x)
        return np.sqrt(np.sum((moved - x) ** 2))  # at the root of zero

    x, p = rng.uniform(5.0, 6.0, 3), np.ones(3)
    for function in (inside, after, root):
        for mode in ("forward", "reverse"):
            derive = partial(diff.jacobian, wrt=BOTH, mode=mode)
            expected = run(derive(traced(function, unrolled, (3,), (3,))), x, p)
            actual = run(derive(traced(function, lw.repeat, (3,), (3,))), x, p)
            assert np.isfinite(expected).all()
            np.testing.assert_allclose(actual, expected, rtol=1e-12)


def without_loops(program):
    """The same program with its loops unrolled."""
    graph = Graph(RULES)

    def values(own, inputs):
        nodes = own.values(inputs, graph.operations, graph.constant, loop)
        return [nodes[step] for step in own.results]

    def loop(own, operands):
        return own.run_body(operands, lambda row: values(own.body, row))

    inputs = [graph.input() for port in program.inputs for _ in range(port.size)]
    return program_of(program.inputs, program.outputs, values(program, inputs), graph)


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5, 6])  # 2 and 7 are large
def test_random_programs_with_loops_and_stacks(seed, rng):
    """Nested and reversed loops, which read stacks of other loops."""
    program = loop_program(seed, n=seed % 4 + 1, depth=seed % 3, size=2)
    plain = without_loops(program)
    assert not plain.loops
    a, b, da, db, c, d = (rng.uniform(-1, 1, size) for size in (3, 4, 3, 4, 2, 3))
    both = ["a", "b"]
    for derive, inputs in (
        (lambda f: diff.jvp(f, both), (a, b, da, db)),
        (lambda f: diff.vjp(f, both), (a, b, c, d)),
        (lambda f: diff.jacobian(f, "a", mode="forward"), (a, b)),
        (lambda f: diff.jacobian(f, "b", mode="reverse"), (a, b)),
        (lambda f: diff.vjp(diff.vjp(f, "a"), "b"), (a, b, c, d, da)),
        (lambda f: diff.jvp(diff.vjp(f, "a"), both), (a, b, c, d, da, db)),
        (lambda f: diff.vjp(diff.jvp(f, both), both), (a, b, da, db, c, d)),
    ):
        made = derive(program)
        verify(made)
        expected = run(derive(plain), *inputs)
        scale = np.abs(expected).max() + 1e-300
        np.testing.assert_allclose(run(made, *inputs), expected, atol=1e-10 * scale)
