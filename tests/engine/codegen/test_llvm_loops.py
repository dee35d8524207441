"""Loops as machine code agree with the interpreter, at every width, cut, and staged."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.expressions import cut_into_pieces, run_compiled
from tests.support.loop_programs import loop_program

import linkwork as lw
from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.runtime.compiler import QUICK
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS

LANES = [(1, "double"), (2, "double"), (4, "double"), (8, "double"), (1, "float"), (8, "float")]


def interpreted(program, a, b):
    """(rows, size) of each output, by the interpreter."""
    columns = program.run(list(a.T), list(b.T), functions=NUMPY_FUNCTIONS)
    flat = np.stack([np.broadcast_to(column, len(a)) for column in columns], axis=1)
    return flat[:, : program.outputs[0].size], flat[:, program.outputs[0].size :]


def assert_same(program, *, width, scalar="double", rows=16, **options):
    rng = np.random.default_rng(1)
    a, b = rng.uniform(-1, 1, (rows, 3)), rng.uniform(-1, 1, (rows, 4))
    actual = run_compiled(program, a, b, width=width, scalar=scalar, **options)
    tolerance = 1e-9 if scalar == "double" else 2e-3
    for one, other in zip(actual, interpreted(program, a, b), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("width", "scalar"), LANES)
def test_loops_agree_with_the_interpreter(seed, width, scalar):
    assert_same(loop_program(seed), width=width, scalar=scalar)


@pytest.mark.parametrize("seed", range(4))
def test_code_compiled_quickly(seed):
    assert_same(loop_program(seed), width=1, level=QUICK)


@pytest.mark.parametrize("n", [0, 1, 2, 37])
@pytest.mark.parametrize("width", [1, 4])
def test_any_number_of_iterations(n, width):
    assert_same(loop_program(0, n=n, depth=0), width=width)


@pytest.mark.parametrize("width", [1, 4])
def test_nested_loops(width):
    assert_same(loop_program(1, n=3, depth=2), width=width)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [1, 4, 8])
def test_bodies_and_programs_that_are_cut(seed, width, monkeypatch):
    """Values of loops are used in later pieces; the carry of a cut body is in the workspace."""
    program = loop_program(seed, n=4, length=40)
    cut_into_pieces(monkeypatch, 25)
    text = emit_llvm(program, "f", Lanes(width))
    assert "define internal void @piece3(" in text
    assert ".piece2(" in text
    assert_same(program, width=width, rows=40)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("size", [300, 301])
def test_staged_outputs_with_loops(size, large):
    program = loop_program(2, size=size)
    assert "@write0" in emit_llvm(program, "f", Lanes(4))
    assert_same(program, width=4, large=large)


def test_stacks_that_need_too_much_memory():
    program = loop_program(1, n=10**8, depth=0)
    with pytest.raises(lw.ValueRangeError, match=r"100,000,001 iterations.* GB .*8 rows"):
        emit_llvm(program, "f", Lanes(8))
