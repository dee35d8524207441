"""LLVM IR: the source of a tiny program, and every operation at every width."""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import numpy as np
import pytest
from tests.support.expressions import cut_into_pieces, program_for, run_compiled

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm import steps
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.llvm.types import number
from linkwork.engine.codegen.schedule.pieces import pieces_of
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS, OPERATIONS, Op

WIDTHS = (1, 2, 4, 8)
SCALARS = ("double", "float")
EPS = {"double": np.finfo(np.float64).eps, "float": np.finfo(np.float32).eps}

GOLDEN = """\
define i64 @f(ptr noalias %in, ptr noalias %out, ptr noalias %stride, i64 %rows, \
ptr noalias %workspace) {
entry:
  %some = icmp sgt i64 %rows, 0
  br i1 %some, label %start, label %end
start:
  %in0.at = getelementptr ptr, ptr %in, i64 0
  %in0 = load ptr, ptr %in0.at
  %out0.at = getelementptr ptr, ptr %out, i64 0
  %out0 = load ptr, ptr %out0.at
  %stride0.at = getelementptr i64, ptr %stride, i64 0
  %stride0 = load i64, ptr %stride0.at
  %scratch = getelementptr double, ptr %workspace, i64 0
  br label %loop
loop:
  %row = phi i64 [ 0, %start ], [ %next, %loop ]
  %in0.0.row = add i64 %row, 0
  %in0.0.offset = mul i64 %in0.0.row, %stride0
  %in0.0 = getelementptr double, ptr %in0, i64 %in0.0.offset
  %out0.0.row = add i64 %row, 0
  %out0.0.offset = mul i64 %out0.0.row, 1
  %out0.0 = getelementptr double, ptr %out0, i64 %out0.0.offset
  %t2 = getelementptr double, ptr %in0.0, i64 0
  %t1 = load double, ptr %t2, align 8
  %t4 = getelementptr double, ptr %in0.0, i64 1
  %t3 = load double, ptr %t4, align 8
  %v3 = fmul double 0x4008000000000000, %t3
  %v4 = fadd double %t1, %v3
  %t5 = getelementptr double, ptr %out0.0, i64 0
  store double %v4, ptr %t5, align 8
  %next = add i64 %row, 1
  %more = icmp slt i64 %next, %rows
  br i1 %more, label %loop, label %end
end:
  ret i64 0
}
declare double @llvm.sqrt.f64(double)
"""


def test_the_text_of_a_tiny_program():
    program = program_for(lambda a: a[0] + 3.0 * a[1], (2,))

    assert emit_llvm(program, "f", Lanes()) == GOLDEN


def test_lanes_are_vector_elements():
    program = program_for(lambda a: a[0] + 3.0 * a[1], (2,))
    text = emit_llvm(program, "f", Lanes(2))
    three = "<double 0x4008000000000000, double 0x4008000000000000>"

    assert f"fmul <2 x double> {three}, %" in text
    assert "%next = add i64 %row, 2" in text
    assert text.count("load <2 x double>") == 2
    assert text.count("shufflevector") == 2


def haswell_code(program, width):
    """The instructions of a program for a processor with AVX2."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(
        cpu="haswell", opt=2
    )
    text = machine.emit_assembly(llvm.parse_assembly(emit_llvm(program, "f", Lanes(width))))
    return text.splitlines()


def test_vectors_are_spilled_to_an_aligned_stack_frame():
    """Otherwise half of the 32-byte spills cross cache lines, depending on the stack address."""
    program = program_for(lambda a: np.stack([a[k] * a[k - 7] for k in range(40)]), (40,))
    spills = [
        line.split()[0]
        for line in haswell_code(program, 4)
        if re.search(r"%ymm\d+, .*\(%rsp\)", line)
    ]

    assert spills
    assert set(spills) <= {"vmovapd", "vmovaps"}


@pytest.mark.parametrize("width", [1, 4])
def test_the_smaller_of_two_values_is_one_instruction(width):
    program = program_for(lambda a: (a[0] < a[1]).select(a[0], a[1]), (2,))
    code = "\n".join(haswell_code(program, width))

    assert len(re.findall(r"\tvmin[sp]d\t", code)) == 1
    assert not re.search(r"\tv(cmp|blend|cvt|ucomi)", code)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("length", [10, 10_000])
def test_a_comparison_is_used_as_a_condition_and_as_a_number(monkeypatch, width, length):
    cut_into_pieces(monkeypatch, length)

    def function(x, select):
        less = [x[k] < x[k - 1] for k in range(8)]  # their uses are in this and in later pieces
        chosen = [select(less[k], x[k], x[k - 3]) for k in range(8)]
        return np.stack([*chosen, *(less[k] * x[k - 2] + less[k - 1] for k in range(8))])

    program = program_for(lambda x: function(x, lambda c, a, b: c.select(a, b)), (8,))
    x = np.random.default_rng(0).normal(size=(12, 8))
    x[0, :2], x[1, 3], x[2, 4] = 0.5, np.nan, -0.0
    (actual,) = run_compiled(program, x, width=width)

    assert np.array_equal(actual, function(x.T, np.where).T, equal_nan=True)


def test_constants_are_exact():
    assert number(1.0, "double") == "0x3FF0000000000000"
    assert number(0.1, "double") == "0x3FB999999999999A"
    assert number(0.1, "float") == "0x3FB99999A0000000"
    assert number(1e300, "float") == "0x7FF0000000000000"
    assert number(-1e300, "float") == "0xFFF0000000000000"
    assert number(1e-300, "float") == "0x0000000000000000"
    assert number(float("inf"), "double") == "0x7FF0000000000000"


def of_op(op):
    """A program of one operation, on each of five rows of arguments."""
    shapes = [(5,)] * OPERATIONS[op].arity
    return program_for(
        lambda *arrays: np.stack([x[0].graph.apply(op, *x) for x in zip(*arrays, strict=True)]),
        *shapes,
    )


OPS = list(OPERATIONS)


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_operation_at_every_width(op, width, scalar, rng):
    program = of_op(op)
    low = 0.1 if op in (Op.SQRT, Op.LOG, Op.LOG1P, Op.POW) else -3.0
    arrays = [rng.uniform(low, 3.0, (16, 5)) for _ in program.inputs]
    arrays[0][:, 0] = arrays[-1][:, 0]  # equal numbers, for the comparisons
    arrays = [a.astype(np.float32).astype(np.float64) for a in arrays]
    if op is Op.SELECT:
        arrays[0] = (arrays[0] > 0) * 2.5
    (got,) = run_compiled(program, *arrays, width=width, scalar=scalar)
    expected = NUMPY_FUNCTIONS[op](*arrays)

    np.testing.assert_allclose(got, expected, rtol=4 * EPS[scalar], atol=2 * EPS[scalar])


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_nan_in_is_nan_out(op, width, scalar):
    """Comparisons are false for NaN; other operations return NaN if an argument is NaN."""
    program = of_op(op)
    for index in range(len(program.inputs)):
        arrays = [np.ones((8, 5)) for _ in program.inputs]
        arrays[index][::2] = np.nan
        (got,) = run_compiled(program, *arrays, width=width, scalar=scalar)
        if op in (Op.LESS, Op.LESS_EQUAL):
            assert (got[::2] == 0.0).all()
        elif op is Op.SELECT:  # NaN is not 0, so the first is selected
            assert np.isnan(got[::2]).all() == (index == 1)
        # only the sign of NaN is used; 1 to any power is 1; the second argument has no value
        elif op in (Op.COPYSIGN, Op.POW, Op.IMPLICIT):
            assert np.isnan(got[::2]).all() == (index == 0)
        else:
            assert np.isnan(got[::2]).all()
        assert not np.isnan(got[1::2]).any()


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_no_flag_allows_other_results(op):
    text = emit_llvm(of_op(op), "f", Lanes(4))

    for flag in ("nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "fast "):
        assert f" {flag}" not in text


def test_infinite_numbers_pass_through():
    program = program_for(lambda a: np.stack([a[0] / a[1], a[0] * a[1], a[0] - a[1]]), (2,))
    (got,) = run_compiled(program, [[1.0, 0.0], [np.inf, 2.0], [np.inf, np.inf]])

    np.testing.assert_array_equal(
        got, [[np.inf, 0, 1], [np.inf, np.inf, np.inf], [np.nan, np.inf, np.nan]]
    )


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", range(1, 10))
def test_rows_of_every_size(size, width, scalar, rng):
    """Blocks of W elements, a last block that overlaps, and rows shorter than W."""
    program = program_for(lambda a, b: (a[::-1] + b, b[:1] * 2.0), (size,), (size,))
    a, b = rng.normal(size=(2, 16, size)).astype(np.float32).astype(np.float64)
    got, twice = run_compiled(program, a, b, width=width, scalar=scalar)

    np.testing.assert_allclose(got, a[:, ::-1] + b, rtol=EPS[scalar])
    np.testing.assert_array_equal(twice, b[:, :1] * 2.0)


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", [1, 3, 4, 9])
def test_a_broadcast_row(size, width, scalar, rng):
    program = program_for(lambda a, b: a - b, (size,), (size,))
    a, b = rng.normal(size=(16, size)).astype(np.float32), np.arange(float(size))[None]
    (got,) = run_compiled(program, a, b, width=width, scalar=scalar)

    np.testing.assert_allclose(got, a - b, rtol=EPS[scalar], atol=EPS[scalar] * size)


@pytest.mark.parametrize("width", WIDTHS)
def test_inputs_that_are_not_used_are_not_read(width):
    program = program_for(lambda a, b: a[3:5], (9,), (2,))
    a = np.arange(16.0 * 9).reshape(16, 9)
    (got,) = run_compiled(program, a, np.zeros((16, 2)), width=width)

    np.testing.assert_array_equal(got, a[:, 3:5])


@pytest.mark.parametrize("width", WIDTHS)
def test_constants_and_repeated_results(width):
    program = program_for(
        lambda a: (np.array([1.5, 0.0, -2.0, 1e300, 5e-324]), a[[0, 0, 1, 0, 0]]), (2,)
    )
    constants, repeated = run_compiled(program, np.arange(16.0).reshape(8, 2), width=width)

    np.testing.assert_array_equal(constants, [[1.5, 0.0, -2.0, 1e300, 5e-324]] * 8)
    np.testing.assert_array_equal(repeated[3], [6.0, 6.0, 7.0, 6.0, 6.0])


@pytest.mark.parametrize("accesses", [None, 3])
@pytest.mark.parametrize("width", WIDTHS)
def test_long_programs_are_cut_into_pieces(width, accesses, rng, monkeypatch):
    """Values are passed between pieces; the piece with its last element stores an output."""

    def function(a, b):
        x = a
        for k in range(8):
            x = np.stack([x[j - 1].sin() * x[j] + b[k % 3] for j in range(9)])
        return x, a[0] + x[::-1], b, np.array([2.0, x[0].cos()], dtype=object)

    program = program_for(function, (9,), (3,))
    a, b = rng.normal(size=(40, 9)), rng.normal(size=(40, 3))  # some turns, and a part of one
    full = run_compiled(program, a, b, width=width)
    cut_into_pieces(monkeypatch, 13)
    if accesses is not None:  # as in programs so long that the scheduler would take seconds
        monkeypatch.setattr(steps, "LONGEST_UNBOUNDED", 20)
        monkeypatch.setattr(steps, "ACCESSES_PER_REGION", accesses)

    assert len(pieces_of(program)) > 10
    text = emit_llvm(program, "f", Lanes(width))
    assert "@piece10(" in text
    assert (text.count("call void @llvm.codeview.annotation") > 10) is (accesses is not None)
    for got, expected in zip(run_compiled(program, a, b, width=width), full, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_no_rows_are_computed_for_zero_rows():
    program = program_for(lambda a: a * 2.0, (3,))
    (got,) = run_compiled(program, np.zeros((0, 3)))

    assert got.shape == (0, 3)


@pytest.mark.parametrize("width", WIDTHS)
def test_empty_inputs_and_outputs(width):
    program = program_for(lambda a, b: (a, b + 1.0), (0,), (3,))
    nothing, more = run_compiled(program, np.zeros((8, 0)), np.ones((8, 3)), width=width)

    assert nothing.shape == (8, 0)
    assert (more == 2.0).all()
