"""Values of earlier pieces are loaded where they are used, and again if that was long ago."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.expressions import program_for, run_compiled

from linkwork.engine.codegen.llvm import emit
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.llvm.lanes import Lanes
from linkwork.engine.codegen.schedule import pieces
from linkwork.engine.codegen.schedule.slots import NEARBY_STEPS, Slots


def names():
    numbers = iter(range(1000))
    return lambda: f"%t{next(numbers)}"


def loads_at(*uses):
    """How many loads a value of an earlier piece takes that is used at these steps."""
    slots, named = Slots({3: 7}, Lanes(4), names()), [""] * 10
    lines = [line for here in uses for line in slots.loads([3, 5], here, named)]
    assert named[3]
    assert not named[5]
    assert all("i64 7" in line for line in lines if "getelementptr" in line)
    return sum("= load " in line for line in lines)


def test_a_value_is_loaded_once_for_uses_that_follow_each_other():
    assert loads_at(100, 101, 101 + NEARBY_STEPS - 1) == 1


def test_a_value_is_loaded_again_after_a_pause():
    assert loads_at(100, 100 + NEARBY_STEPS, 101 + NEARBY_STEPS) == 2


def test_a_value_that_is_stored_for_later_is_still_in_its_register():
    slots, named = Slots({}, Lanes(4), names()), ["%v0"]
    lines = list(slots.store(0, 2, "%v0"))
    assert sum("store " in line for line in lines) == 1
    assert not list(slots.loads([0], 1, named))
    assert list(slots.loads([0], 1 + NEARBY_STEPS, named))
    assert named[0] != "%v0"


@pytest.mark.parametrize("width", [1, 4])
def test_pieces_that_use_values_again_and_again_give_the_same_numbers(width, monkeypatch):
    """Each step uses the first ones: some lately, some long ago."""
    monkeypatch.setattr(pieces, "LONGEST_UNCUT", 50)
    monkeypatch.setattr(pieces, "LONGEST_PIECE", 150)
    monkeypatch.setattr(emit, "LONGEST_CACHED", 150)

    def function(x):
        seen = [x[0] * 0.5, x[1] + 1.0, x[2] - x[0]]
        for k in range(400):
            seen.append(seen[k % 7 % len(seen)] * 0.25 + seen[-1] * seen[k // 50] * 0.5)
        return np.array(seen[-9:] + seen[:5])

    program = program_for(function, (3,))
    assert emit_llvm(program, "f", Lanes(width)).count("define internal void @piece") > 3
    x = np.random.default_rng(0).uniform(-1, 1, size=(8, 3))
    (found,) = run_compiled(program, x, width=width)
    expected = [function(row) for row in x]
    assert np.allclose(found, expected, rtol=1e-13, atol=1e-15)
