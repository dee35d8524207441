"""Programs: runs on several number types, operation counts, digests, and verification."""

from __future__ import annotations

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from tests.support.expressions import LIBM, MPMATH, program_for
from tests.support.verifier import verify

from linkwork.engine.symbolic.loops import replay
from linkwork.engine.symbolic.node import Graph
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS, OPERATIONS, Op
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.rules import RULES
from linkwork.engine.symbolic.tracing import program_of, trace
from linkwork.errors import ArgumentError


def everything(a, b):
    x, y, z = a
    return np.stack(
        [
            (x + y - z) * (x / y),
            -((x * x + y * y).sqrt()),
            x.sin() * z.cos() + y.arctan2(z),
            (x < y).select(x.exp(), z.log()),
            (x <= b[0, 0]).select(2.0, y),
            b[1, 1] - 3.0,
        ]
    )


@pytest.fixture
def program():
    return program_for(everything, (3,), (2, 2))


def reference(a, b):
    x, y, z = np.moveaxis(a, -1, 0)
    return np.stack(
        [
            (x + y - z) * (x / y),
            -np.hypot(x, y),
            np.sin(x) * np.cos(z) + np.arctan2(y, z),
            np.where(x < y, np.exp(x), np.log(z)),
            np.where(x <= b[..., 0, 0], 2.0, y),
            b[..., 1, 1] - 3.0,
        ],
        axis=-1,
    )


def test_every_operation_has_oracles():
    assert set(OPERATIONS) == set(LIBM) == set(MPMATH)


def test_run_on_numpy_numbers(program, rng):
    a, b = rng.uniform(0.5, 2.0, 3), rng.normal(size=(2, 2))
    got = program.run(a, b.ravel(), functions=NUMPY_FUNCTIONS)

    np.testing.assert_allclose(np.array(got, float), reference(a, b), rtol=1e-14)


def test_run_on_a_batch_of_columns(program, rng):
    a, b = rng.uniform(0.5, 2.0, (7, 3)), rng.normal(size=(7, 2, 2))
    got = program.run(a.T, b.reshape(7, 4).T, functions=NUMPY_FUNCTIONS)

    np.testing.assert_allclose(np.stack(got, axis=-1), reference(a, b), rtol=1e-14)


def test_run_on_numbers_with_many_digits(program, rng):
    a, b = rng.uniform(0.5, 2.0, 3), rng.normal(size=(2, 2))
    with mp.workdps(40):
        got = program.run(map(mp.mpf, a), map(mp.mpf, b.ravel()), functions=MPMATH)

    np.testing.assert_allclose(np.array(got, float), reference(a, b), rtol=1e-14)


def test_operations_are_counted_without_functions_and_comparisons():
    program = program_for(lambda a: (a[0] + a[1]) * a[0] / a[1] - (-a[1]).exp() + a[0].sin(), (2,))

    assert program.n_ops == 6
    assert program_for(lambda a: (a[0] < a[1]).select(a[0], a[1]), (2,)).n_ops == 0
    assert program_for(lambda a: a, (2,)).n_ops == 0


def test_common_subexpressions_are_computed_once():
    program = program_for(lambda a: np.stack([a[0] * a[1], a[1] * a[0] + 1.0]), (2,))

    assert program.n_ops == 2


def test_unused_steps_are_removed():
    def wasteful(a):
        (a * 100.0).sum()
        return a[0] + 1.0

    program = program_for(wasteful, (5,))

    assert [step[0] for step in program.steps] == [Op.INPUT, Op.CONST, Op.ADD]


def test_a_program_without_inputs_or_with_constants_only():
    program = trace(lambda: (np.eye(2), 3), [], "out")

    assert program.outputs == (Port("out[0]", (2, 2)), Port("out[1]", ()))
    assert program.run(functions=NUMPY_FUNCTIONS) == [1.0, 0.0, 0.0, 1.0, 3.0]


def test_equal_programs_have_one_digest(program):
    assert program_for(everything, (3,), (2, 2)).digest == program.digest
    assert program_for(lambda a, b: everything(a, b) + 1.0, (3,), (2, 2)).digest != program.digest
    renamed = replace(program, outputs=(Port("other", (6,)),))
    assert renamed.digest != program.digest


def test_replaying_a_program_gives_the_same_program(program):
    graph = Graph(RULES)
    inputs = [graph.input() for port in program.inputs for _ in range(port.size)]
    nodes = replay(program, graph, inputs)
    again = program_of(program.inputs, program.outputs, [nodes[k] for k in program.results], graph)

    values = np.linspace(0.5, 1.5, 7)
    assert again.n_ops == program.n_ops
    assert again.run(values, functions=LIBM) == program.run(values, functions=LIBM)


def test_replaying_on_numbers_folds_everything(program):
    graph = Graph(RULES)
    values = np.linspace(0.5, 1.5, 7)
    nodes = replay(program, graph, [graph.constant(value) for value in values])

    assert all(node.op is Op.CONST for node in nodes)
    expected = program.run(values, functions=LIBM)
    assert [nodes[k].args[0] for k in program.results] == pytest.approx(expected, rel=1e-15)


def test_returned_values_must_belong_to_the_trace():
    stored = []
    program_for(lambda a: stored.append(a[0]) or a, (1,))

    with pytest.raises(ArgumentError, match=r"traced function.*another"):
        program_for(lambda a: stored[0], (1,))
    with pytest.raises(ArgumentError, match=r"number.*str"):
        program_for(lambda a: np.array(["1"], object), (1,))


def damaged(program, what):
    steps = list(program.steps)
    point = next(k for k, step in enumerate(steps) if step[0] is Op.MUL)

    def changed(step):
        return [*steps[:point], step, *steps[point + 1 :]]

    changes = {
        "uses a later step": {"steps": changed((Op.MUL, point, 0))},
        "uses a step before the first": {"steps": changed((Op.MUL, -1, 0))},
        "has too many arguments": {"steps": changed((Op.MUL, 0, 0, 0))},
        "has too few arguments": {"steps": changed((Op.SELECT, 0, 0))},
        "has no operation": {"steps": changed((4, 0, 0))},
        "reads past the inputs": {"steps": [(Op.INPUT, 99), *steps[1:]]},
        "has a result too few": {"results": program.results[1:]},
        "has a result that is no step": {"results": (len(steps), *program.results[1:])},
        "has an output too many": {"outputs": (*program.outputs, Port("more", (1,)))},
        "has lost its inputs": {"inputs": ()},
    }
    return replace(program, **changes[what])


@pytest.mark.parametrize(
    "what",
    [
        "uses a later step",
        "uses a step before the first",
        "has too many arguments",
        "has too few arguments",
        "has no operation",
        "reads past the inputs",
        "has a result too few",
        "has a result that is no step",
        "has an output too many",
        "has lost its inputs",
    ],
)
def test_a_damaged_program_is_rejected(program, what):
    verify(program)
    with pytest.raises(ValueError, match="program"):
        verify(damaged(program, what))


def test_an_empty_program_is_valid():
    verify(Program((), (), (), ()))
