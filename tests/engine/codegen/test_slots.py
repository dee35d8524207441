"""Values of earlier pieces are loaded where they are used, and again after many steps."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.expressions import cut_into_pieces, program_for, run_compiled

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.schedule.pieces import NEARBY_STEPS, Slots


def loads_at(*uses):
    """How often a value of an earlier piece is loaded that is used at these steps."""
    slots = Slots({3: 7})
    loads = [load for here in uses for load in slots.to_load([3, 5], here)]
    assert set(loads) == {(3, 7)}
    return len(loads)


def test_a_value_is_loaded_once_for_uses_that_follow_each_other():
    assert loads_at(100, 101, 101 + NEARBY_STEPS - 1) == 1


def test_a_value_is_loaded_again_after_many_steps():
    assert loads_at(100, 100 + NEARBY_STEPS, 101 + NEARBY_STEPS) == 2


def test_a_value_that_is_stored_for_later_is_still_in_its_register():
    slots = Slots({})
    slots.keep(0, 2)
    assert list(slots.to_load([0], 1)) == []
    assert list(slots.to_load([0], 1 + NEARBY_STEPS)) == [(0, 2)]


@pytest.mark.parametrize("width", [1, 4])
def test_pieces_that_use_values_repeatedly_give_the_same_results(width, monkeypatch):
    """Each step uses the first ones, at short and long distances."""
    cut_into_pieces(monkeypatch, 150)

    def function(x):
        seen = [x[0] * 0.5, x[1] + 1.0, x[2] - x[0]]
        for k in range(400):
            seen.append(seen[k % 7 % len(seen)] * 0.25 + seen[-1] * seen[k // 50] * 0.5)
        return np.array(seen[-9:] + seen[:5])

    program = program_for(function, (3,))
    assert emit_llvm(program, "f", Lanes(width)).count("define internal void @piece") > 3
    x = np.random.default_rng(0).uniform(-1, 1, size=(8, 3))
    (actual,) = run_compiled(program, x, width=width)
    expected = [function(row) for row in x]
    assert np.allclose(actual, expected, rtol=1e-13, atol=1e-15)
