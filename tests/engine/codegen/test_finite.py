"""Code with checks reports results that are not finite, in any lane and piece."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from tests.support.expressions import cut_into_pieces, program_for

import linkwork as lw
from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.runtime.compiler import compiled, load_code

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p)


def function(x):
    """A function of (4,) with the quotient of the first two elements in two results."""
    ratio = x[0] / x[1]
    rest = x[2]
    for _ in range(40):
        rest = rest * x[0] + x[1]
    return np.array([ratio, ratio + rest, rest, x[2] * 2.0])


def with_loops(x):
    """The same function, with a loop for each of the two elements."""
    rest = lw.repeat(40, lambda rest: rest * x[0] + x[1], x[2])
    ratio = lw.repeat(3, lambda ratio: ratio + 1.0, x[0] / x[1])
    return np.array([ratio, ratio + rest, rest, x[2] * 2.0])


def status(rows, *, width, checked=(0, 3), scalar="double", of=function):
    """The return values of the code for these rows, and for no rows."""
    program = program_for(of, (3,))
    steps = [program.results[k] for k in checked]
    code = load_code(compiled(emit_llvm(program, "f", Lanes(width, scalar), checked=steps)))
    call = FUNCTION(code.address("f"))
    x = np.ascontiguousarray(rows, np.float64 if scalar == "double" else np.float32)
    out = np.empty((len(x), 4), x.dtype)
    size = call(None, None, None, 0, None)
    workspace = ctypes.create_string_buffer(size + 64)
    aligned = -(-ctypes.addressof(workspace) // 64) * 64
    arguments, results = ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data)
    strides = (ctypes.c_int64 * 2)(3, 0)
    args = ctypes.byref(arguments), ctypes.byref(results), strides
    return call(*args, len(x), aligned), size


@pytest.mark.parametrize("scalar", ["double", "float"])
@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("of", [function, with_loops])
def test_one_row_that_is_not_finite_is_reported(of, width, in_pieces, scalar, monkeypatch):
    if in_pieces:
        cut_into_pieces(monkeypatch, 20)
    rows = np.tile([0.5, 0.25, 1.0], (8, 1))
    actual, size = status(rows, width=width, scalar=scalar, of=of)
    assert actual == size >= 0
    for row, bad in ((0, 0.0), (5, 0.0), (7, np.nan)):
        changed = rows.copy()
        changed[row, 1] = bad
        assert status(changed, width=width, scalar=scalar, of=of)[0] == -1


def test_only_the_chosen_steps_are_checked():
    rows = np.tile([0.5, 0.0, 1.0], (4, 1))
    assert status(rows, width=4, checked=(2, 3))[0] >= 0
    assert status(rows, width=4, checked=(1,))[0] == -1


def test_constants_need_no_check():
    program = program_for(lambda x: np.array([2.0 + 0.0 * x[0], x[0]]), (1,))
    text = emit_llvm(program, "f", Lanes(4), checked=[program.results[0]])
    assert text == emit_llvm(program, "f", Lanes(4))
