"""Constants in a table and slots near an anchor: short addresses, and the same results."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.expressions import cut_into_pieces, program_for, run_compiled

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.addresses import FEWEST_CONSTANTS, FEWEST_USES, SOON, Anchors
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.llvm.types import VectorType


def with_constants(n):
    """A function with n constants, each used several times."""

    def function(x):
        numbers = [0.1 * (k + 1) for k in range(n)]
        return np.array([sum(c * x[k % 3] for k, c in enumerate(numbers)), numbers[0] * x[1] - 0.7])

    return function


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("n", [4, FEWEST_CONSTANTS + 1, 60])
def test_many_constants_are_in_a_table(width, n):
    function = with_constants(n)
    program = program_for(function, (3,))
    assert ("@constants" in emit_llvm(program, "f", Lanes(width))) == (n > FEWEST_CONSTANTS)
    x = np.random.default_rng(0).uniform(-1, 1, size=(8, 3))
    (actual,) = run_compiled(program, x, width=width)
    np.testing.assert_allclose(actual, [function(row) for row in x], rtol=1e-13)


@pytest.mark.parametrize("width", [1, 4])
def test_pieces_share_the_table(width, monkeypatch):
    cut_into_pieces(monkeypatch, 40)
    function = with_constants(60)
    program = program_for(function, (3,))
    text = emit_llvm(program, "f", Lanes(width))
    assert text.count("@constants = ") == 1
    assert "define internal void @piece2" in text
    x = np.random.default_rng(0).uniform(-1, 1, size=(8, 3))
    (actual,) = run_compiled(program, x, width=width)
    np.testing.assert_allclose(actual, [function(row) for row in x], rtol=1e-13)


def pointers(uses, width=4, *, is_x86=True):
    numbers = iter(range(1000))
    anchors = Anchors(VectorType(width, "double", is_x86), lambda: f"%t{next(numbers)}", uses)
    return [list(anchors.pointer(f"%p{k}", slot, step)) for k, (step, slot) in enumerate(uses)]


def test_slots_used_together_share_an_anchor():
    lines = pointers([(k, k) for k in range(8)])
    assert sum("asm" in line for own in lines for line in own) == 1
    assert [int(own[-1].rsplit(" ", 1)[1]) for own in lines] == list(range(-4, 4))


def test_a_machine_without_short_offsets_has_no_anchors():
    lines = pointers([(k, k) for k in range(8)], is_x86=False)
    assert [int(own[-1].rsplit(" ", 1)[1]) for own in lines] == list(range(8))


@pytest.mark.parametrize(
    "uses",
    [
        [(k, 0) for k in range(FEWEST_USES - 1)],  # too few
        [(k * SOON, k) for k in range(8)],  # too far apart in time
        [(k, 8 * k) for k in range(8)],  # too far apart in memory
    ],
)
def test_slots_that_are_not_used_together_have_no_anchor(uses):
    for (_, slot), own in zip(uses, pointers(uses), strict=True):
        assert len(own) == 1
        assert own[0].endswith(f"ptr %scratch, i64 {slot}")


def test_long_vectors_need_no_anchor():
    assert all(len(own) == 1 for own in pointers([(k, k) for k in range(4)], 8))
