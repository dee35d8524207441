"""Loops in programs: tracing, simplification, interpretation, NumPy code, storage, validity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.loop_programs import loop_program
from tests.support.verifier import verify

import linkwork as lw
from linkwork.engine.runtime.numpy_code import NumpyCode
from linkwork.engine.symbolic.arrays import ObjectArray
from linkwork.engine.symbolic.loops import replay
from linkwork.engine.symbolic.node import Graph
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS, Op
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.rules import RULES
from linkwork.engine.symbolic.serialization import from_bytes, to_bytes
from linkwork.engine.symbolic.tracing import program_of, trace
from linkwork.errors import ArgumentError, ShapeError


def traced(function, *shapes):
    """The program of a function of arrays, with loops."""
    ports = [Port(f"x{k}", shape) for k, shape in enumerate(shapes)]
    return trace(lambda *arrays: function(*(a.view(ObjectArray) for a in arrays)), ports, "y")


def nested(x, p):
    """Two nested loops, which use values of the enclosing functions."""

    def outer(carry):
        a, t = carry
        b = np.sin(a) * p + np.sum(p**2)
        d = lw.repeat(3, lambda z: z * 0.9 + p[0] * t + np.sin(p), b)
        return np.where(d > 1.0, d, a - p), t + 0.1

    return lw.repeat(5, outer, (x, 0.0))


def count_of(program, op):
    """Count the steps of an operation, including those of loop bodies."""
    own = sum(step[0] is op for step in program.steps)
    return own + sum(count_of(loop.body, op) for loop in program.loops)


def test_a_program_with_nested_loops(rng):
    program = traced(nested, (3,), (3,))
    verify(program)
    assert from_bytes(to_bytes(program)) == program
    X, P = rng.normal(size=(2, 7, 3))
    expected = [nested(x, p)[0] for x, p in zip(X, P, strict=True)]
    got = [program.run(x, p, functions=NUMPY_FUNCTIONS)[:3] for x, p in zip(X, P, strict=True)]
    np.testing.assert_allclose(got, expected, rtol=1e-13)
    columns, t = NumpyCode(program)(X.T, P.T)
    np.testing.assert_allclose(np.transpose(columns), expected, rtol=1e-13)
    np.testing.assert_allclose(t[0], 0.5)
    # what is the same in each iteration is computed once, outside of both loops
    assert sum(step[0] is Op.SIN for step in program.steps) == 3 == count_of(program, Op.SIN) - 3


def test_outside_of_a_traced_function_the_body_is_called(rng):
    x = rng.normal(size=(4, 3)).astype(np.float32)
    actual = lw.repeat(3, lambda a: a * 2, x)
    np.testing.assert_array_equal(actual, 8 * x)
    assert actual.dtype == np.float32
    assert lw.repeat(0, lambda a: a * 2, 5) == 5.0
    a, (b, c) = lw.repeat(2, lambda s: (s[0] + s[1][1], (s[1][0] * 2, s[1][1])), (x, (1, x)))
    np.testing.assert_allclose(a, 3 * x)
    assert (b, c.shape) == (4.0, (4, 3))


def test_a_body_may_change_its_carry_in_place(rng):
    """The arrays that it received, and those that it returned before, do not change."""
    arguments, other = rng.normal(size=(2, 3))
    before = arguments.copy(), other.copy()

    def body(carry):
        carry += 1.0
        return other

    np.testing.assert_array_equal(lw.repeat(2, body, arguments), other)
    np.testing.assert_array_equal((arguments, other), before)


@pytest.mark.parametrize("n", [0, 1])
def test_zero_or_one_iteration_is_not_a_loop(n, rng):
    program = traced(lambda x: lw.repeat(n, lambda a: np.sin(a) + x[0], x), (2,))
    assert not program.loops
    x = rng.normal(size=2)
    got = program.run(x, functions=NUMPY_FUNCTIONS)
    np.testing.assert_allclose(got, np.sin(x) + x[0] if n else x)


def test_constant_carry_entries_are_removed():
    def function(x, p):
        def body(carry):
            a, same, zero, one, count = carry
            return a * same + zero * a[0], same, zero * a, one * one, count + one

        start = (x, p, np.zeros(3), 1.0, 0.0)
        return lw.repeat(5, body, start)

    program = traced(function, (3,), (3,))
    (loop,) = program.loops
    assert (loop.n_carry, loop.n_invariants) == (4, 3)  # a and the count; p
    a, same, zero, one, count = np.split(
        np.array(program.run(np.ones(3), np.full(3, 2.0), functions=NUMPY_FUNCTIONS), float),
        [3, 6, 9, 10],
    )
    np.testing.assert_array_equal(a, 32.0)
    np.testing.assert_array_equal(same, 2.0)
    np.testing.assert_array_equal(zero, 0.0)
    assert (one, count) == (1.0, 5.0)


def test_a_loop_on_constants_is_computed_when_it_is_traced():
    program = traced(lambda x: x + lw.repeat(10, lambda a: 0.5 * a + 1.0, np.zeros(2)), (2,))
    assert not program.loops
    assert program.n_ops == 2
    long = traced(lambda x: x + lw.repeat(10**6, lambda a: 0.5 * a + 1.0, np.zeros(2)), (2,))
    assert [loop.n for loop in long.loops] == [10**6]


def test_unused_values_are_removed():
    def function(x, p):
        a, b, _ = lw.repeat(4, lambda s: (s[0] * p[0], s[1] + s[0] * p[1], s[2] + s[1]), (x, x, x))
        inner = lw.repeat(3, lambda s: (s[0] + p[2], lw.repeat(2, np.sin, s[1])), (a[0], b))
        return inner[0]

    program = traced(function, (3,), (3,))
    verify(program)
    assert [(loop.n_carry, loop.n_invariants) for loop in program.loops] == [(1, 1), (1, 1)]
    assert count_of(program, Op.SIN) == 0


def test_equal_loops_are_shared():
    def function(x):
        return lw.repeat(4, lambda a: a * x[0], x) + lw.repeat(4, lambda a: a * x[0], x)

    program = traced(function, (2,))
    assert sum(step[0] is Op.LOOP for step in program.steps) == 1


def test_the_body_uses_conditions_and_constants_of_the_enclosing_function(rng):
    def function(x, p):
        is_large = p > 0.5
        power = 2.0

        def body(a):
            chosen = np.where(is_large & (a > 0.0), a**power, -a)
            return chosen + np.arctan2(p, a) + (p < a) * 1.0 + np.maximum(p, a) + p**2

        return lw.repeat(3, body, x)

    x, p = rng.normal(size=(2, 4))
    got = traced(function, (4,), (4,)).run(x, p, functions=NUMPY_FUNCTIONS)
    np.testing.assert_allclose(got, function(x, p), rtol=1e-13)


def until_done(x, p):
    """Iterations that stop changing the carry once a condition holds."""

    def body(carry):
        a, is_done, count = carry
        following = 0.5 * (a + p / a)
        is_done = is_done | (np.abs(following - a) < 1e-3)
        return np.where(is_done, a, following), is_done, count + ~is_done * 1.0

    a, is_done, count = lw.repeat(20, body, (x, x < 0.0, 0.0 * x))
    return a, count, np.where(~is_done, 0.0, 1.0)


@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal"])
def test_a_carry_is_compared_with_a_value_of_the_enclosing_function(name, rng):
    compare = getattr(np, name)

    def function(x, p):
        def body(carry):
            y = np.where(compare(p, carry), 0.5 * carry, carry + 0.1)
            return lw.repeat(2, lambda z: np.where(compare(carry, z), z + p, 0.9 * z), y)

        return lw.repeat(3, body, x)

    x, p = rng.normal(size=(2, 6, 3))
    x[0], x[1] = p[0], p[1] + 0.1
    compiled = lw.compile(x=3, p=3)(function)
    np.testing.assert_allclose(compiled(x, p), function(x, p), rtol=1e-14)


def test_conditions_are_carried(rng):
    x, p = rng.uniform(0.5, 5.0, (2, 6))
    got = traced(until_done, (6,), (6,)).run(x, p, functions=NUMPY_FUNCTIONS)
    np.testing.assert_allclose(np.reshape(got, (3, 6)), until_done(x, p), rtol=1e-13)
    assert 1 <= np.max(until_done(x, p)[1]) < 10

    def number_later(a):
        return lw.repeat(
            3, lambda c: np.where(c > 0.5, c * 2.0, 0.5 + c), np.array(True) & (a > 0.0)
        )

    assert traced(number_later, (1,)).run([1.0], functions=NUMPY_FUNCTIONS) == [8.0]
    flags = lw.repeat(2, lambda c: ~c, np.array([True, False]))
    assert flags.tolist() == [True, False]


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_empty_carries(shape):
    program = traced(lambda x: (x, lw.repeat(3, lambda a: (a[0] * x.sum(), ()), (x, ()))[0]), shape)
    assert program.run([], functions=NUMPY_FUNCTIONS) == []


def test_a_kernel_and_linear_equations_in_a_body(rng):
    @lw.compile(x=3, A=(3, 3))
    def step(x, A):
        return np.linalg.solve(A, x) + lw.spatial.so3.exp(x) @ x

    def function(x, A):
        return lw.repeat(4, lambda a: step(a, A) * 0.5, x)

    x, A = rng.normal(size=3), rng.normal(size=(3, 3)) + 3.0 * np.eye(3)
    got = traced(function, (3,), (3, 3)).run(x, A.ravel(), functions=NUMPY_FUNCTIONS)
    np.testing.assert_allclose(np.array(got, float), function(x, A), rtol=1e-12)


BAD_CALLS = {
    "n is negative": (lambda x: lw.repeat(-1, np.sin, x), ArgumentError, "n: .*-1"),
    "n is a float": (lambda x: lw.repeat(2.0, np.sin, x), ArgumentError, r"n: .*2\.0"),
    "n is a bool": (lambda x: lw.repeat(True, np.sin, x), ArgumentError, "n: .*True"),
    "n is traced": (lambda x: lw.repeat(x[0], np.sin, x), ArgumentError, "n: "),
    "another shape": (lambda x: lw.repeat(2, np.sum, x), ShapeError, r"\(3,\).*\(\)"),
    "another structure": (lambda x: lw.repeat(2, lambda a: (a, a), x), ShapeError, "array"),
    "nothing": (lambda x: lw.repeat(2, lambda a: None, x), ArgumentError, "NoneType"),
    "texts": (lambda x: lw.repeat(2, np.sin, (x, "a"))[0], ArgumentError, r"carry\[1\]"),
}


@pytest.mark.parametrize("what", BAD_CALLS)
@pytest.mark.parametrize("is_traced", [False, True])
def test_bad_calls(what, is_traced):
    function, error, text = BAD_CALLS[what]
    with pytest.raises(error, match=text):
        traced(function, (3,)) if is_traced else function(np.ones(3))


def test_values_of_a_body_cannot_be_used_outside_of_it():
    stored = []

    def body(a):
        stored.append(a)
        return a * 2.0

    def function(x):
        lw.repeat(3, body, x)
        return stored[0]

    for one in (
        function,
        lambda x: function(x) + x,
        lambda x: lw.repeat(2, lambda a: a + stored[0], x),
    ):
        with pytest.raises(ArgumentError, match=r"loop body.*carry"):
            traced(one, (3,))


def test_branches_on_values_of_a_body_are_rejected():
    with pytest.raises(ArgumentError, match=r"np\.where"):
        traced(lambda x: lw.repeat(3, lambda a: a if a[0] > 0 else -a, x), (3,))


def damaged(program, what):
    """A program with an invalid loop."""
    steps, (loop, *_) = list(program.steps), program.loops
    point = next(k for k, step in enumerate(steps) if step[0] is Op.LOOP)
    result = next(k for k, step in enumerate(steps) if step[0] is Op.LOOP_RESULT)
    _, index, *operands = steps[point]

    def changed(place, step):
        return replace(program, steps=(*steps[:place], step, *steps[place + 1 :]))

    return {
        "no such loop": lambda: changed(point, (Op.LOOP, len(program.loops), *operands)),
        "an operand too few": lambda: changed(point, (Op.LOOP, index, *operands[1:])),
        "a later operand": lambda: changed(point, (Op.LOOP, index, *operands[1:], point)),
        "no such result": lambda: changed(result, (Op.LOOP_RESULT, loop.n_carry, point)),
        "a result before the first": lambda: changed(result, (Op.LOOP_RESULT, -1, point)),
        "a result of a number": lambda: changed(result, (Op.LOOP_RESULT, 0, 0)),
        "no such stack": lambda: changed(result, (Op.LOOP_STACK, loop.n_written, point)),
        "an operation on a loop": lambda: changed(result, (Op.NEG, point)),
        "a loop as a result": lambda: replace(program, results=(point, *program.results[1:])),
        "a negative number of iterations": lambda: replace(program, loops=(replace(loop, n=-1),)),
        "a body with other ports": lambda: replace(
            program, loops=(replace(loop, body=replace(loop.body, inputs=loop.body.inputs[:2])),)
        ),
        "a carry too many": lambda: replace(
            program,
            loops=(
                replace(
                    loop,
                    body=replace(
                        loop.body,
                        inputs=(
                            Port("carry", (loop.n_carry + 1,)),
                            Port("invariants", (loop.n_invariants - 1,)),
                            loop.body.inputs[2],
                        ),
                    ),
                ),
            ),
        ),
        "a body that is not legal": lambda: replace(
            program, loops=(replace(loop, body=replace(loop.body, results=())),)
        ),
    }[what]()


@pytest.mark.parametrize(
    "what",
    [
        "no such loop",
        "an operand too few",
        "a later operand",
        "no such result",
        "a result before the first",
        "a result of a number",
        "no such stack",
        "an operation on a loop",
        "a loop as a result",
        "a negative number of iterations",
        "a body with other ports",
        "a carry too many",
        "a body that is not legal",
    ],
)
def test_programs_with_invalid_loops(what):
    program = damaged(traced(nested, (3,), (3,)), what)
    with pytest.raises(ValueError, match="program"):
        verify(program)


def test_stacks_are_read_by_loops_of_the_same_length_only():
    program = loop_program(1, n=4, depth=0)
    verify(program)
    stack = next(k for k, step in enumerate(program.steps) if step[0] is Op.LOOP_STACK)
    with pytest.raises(ValueError, match="results"):
        verify(replace(program, results=(stack, *program.results[1:])))
    loops = (replace(program.loops[0], n=3), *program.loops[1:])
    with pytest.raises(ValueError, match="iteration"):
        verify(replace(program, loops=loops))


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_with_loops(seed, rng):
    """The interpreter, NumPy code, bytes, and a replay in another graph agree."""
    program = loop_program(seed, n=seed, depth=seed % 3)
    again = from_bytes(to_bytes(program))
    assert again == program
    assert again.digest == program.digest
    graph = Graph(RULES)
    nodes = replay(program, graph, [graph.input() for _ in range(7)])
    results = [nodes[step] for step in program.results]
    replayed = program_of(program.inputs, program.outputs, results, graph)
    verify(replayed)
    assert replayed.n_ops <= program.n_ops
    a, b = rng.uniform(-1, 1, (3, 5)), rng.uniform(-1, 1, (4, 5))
    expected = flat(program.run(a, b, functions=NUMPY_FUNCTIONS), 5)
    c, d = NumpyCode(program)(a, b)
    for one in (replayed.run(a, b, functions=NUMPY_FUNCTIONS), [*c, *d]):
        np.testing.assert_allclose(flat(one, 5), expected, rtol=1e-9, atol=1e-9)
    first = np.concatenate(NumpyCode(program)(a[:, :1], b[:, :1]))
    np.testing.assert_allclose(first, expected[:, 0], rtol=1e-9, atol=1e-9)


def flat(columns, rows):
    return np.array([np.broadcast_to(column, rows) for column in columns], float)
