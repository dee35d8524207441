"""Fused products and sums: which are chosen, and that all code of a program gives the same bits."""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import numpy as np
import pytest
from tests.support.expressions import (
    cut_into_pieces,
    program_for,
    random_program,
    run_compiled,
    values,
)
from tests.support.loop_programs import loop_program
from tests.support.verifier import verify

import linkwork as lw
from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.runtime import backends
from linkwork.engine.runtime.compiler import FAST, QUICK
from linkwork.engine.runtime.processor import Machine
from linkwork.engine.symbolic.fusion import fused
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.tracing import trace

EXACT = 1.0 + 2.0**-30  # its square has 61 digits: products of it are rounded


def counts(program, *ops):
    return [sum(step[0] is op for step in program.steps) for op in ops]


@pytest.mark.parametrize(
    ("function", "products", "negations", "sums"),
    [
        (lambda a: a[0] * a[1] + a[2], 0, 0, 0),
        (lambda a: a[2] - a[0] * a[1], 0, 1, 0),
        (lambda a: a[0] * a[1] - a[2], 0, 1, 0),
        (lambda a: a[2] - a[0] * a[0], 0, 1, 0),
        (lambda a: a[0] * a[1] - a[0], 0, 1, 0),
        (lambda a: a[0] * a[1] - 2.0, 0, 0, 0),
        (lambda a: 2.0 - 3.0 * a[1], 0, 1, 0),
        (lambda a: a[0] * a[1] + a[2] * a[3], 1, 0, 0),
        (lambda a: a[0] * a[1] - a[2] * a[3], 1, 1, 0),
        (lambda a: a[0] * a[1] + a[2] * a[3] + a[0] * a[2], 1, 0, 0),
    ],
)
def test_products_that_are_fused(function, products, negations, sums, rng):
    program = program_for(function, (4,))
    changed = fused(program)
    verify(changed)
    assert counts(changed, Op.MUL, Op.NEG) == [products, negations]
    assert sum(counts(changed, Op.ADD, Op.SUB)) == sums
    at = rng.normal(size=4)
    np.testing.assert_allclose(values(changed, at), values(program, at), rtol=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.stack([a[0] * a[1] + a[2], a[0] * a[1]]),  # the product is a result
        lambda a: np.stack([a[0] * a[1] + a[2], a[0] * a[1] - a[3]]),  # it is used twice
        lambda a: a[0] / a[1] + a[2],
    ],
)
def test_products_that_are_not_fused(function):
    program = program_for(function, (4,))
    assert fused(program) == program


def test_one_rounding():
    program = fused(program_for(lambda a: a[0] * a[0] - a[1], (2,)))
    for width in (1, 2, 4):
        (got,) = run_compiled(program, [[EXACT, EXACT * EXACT]] * 4, width=width)
        assert (got == 2.0**-60).all()


def test_differences_of_products_in_functions_that_follow_numpy():
    """Neither is fused, so that they cancel if they are equal; other sums are."""

    def function(a):
        return np.stack([a[0] * a[1] - a[2] * a[3], a[0] * a[2] + a[3]])

    ports = program_for(function, (4,)).inputs
    changed = fused(trace(function, ports, "out", follows_numpy=True))
    assert counts(changed, Op.MUL, Op.SUB, Op.FMA) == [2, 1, 1]
    (got,) = run_compiled(changed, np.full((4, 4), EXACT), width=4)
    assert (got[:, 0] == 0.0).all()


def test_sums_in_the_bodies_of_loops_are_fused():
    program = loop_program(1, n=3, depth=2)
    changed = fused(program)
    verify(changed)
    assert Op.FMA in changed.loops[0].body.operations
    at = np.random.default_rng(0).uniform(-1, 1, 7)
    for one, other in zip(
        values(changed, at[:3], at[3:]), values(program, at[:3], at[3:]), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def bits(arrays):
    return [np.where(np.isnan(array), np.nan, array).tobytes() for array in arrays]


def check_same_bits(program, rows, scalar, **options):
    expected = bits(run_compiled(program, *rows, scalar=scalar))
    assert bits(run_compiled(program, *rows, scalar=scalar, level=QUICK)) == expected
    for width in (2, 4, 8, 16):
        assert bits(run_compiled(program, *rows, width=width, scalar=scalar, **options)) == expected


@pytest.mark.parametrize("scalar", ["double", "float"])
@pytest.mark.parametrize("steps", [None, 13])
@pytest.mark.parametrize("seed", range(3))
def test_code_of_any_width_and_level_gives_the_same_bits(seed, steps, scalar, monkeypatch):
    rng = np.random.default_rng(seed)
    if steps:
        cut_into_pieces(monkeypatch, steps)
    for program, sizes in (
        (random_program(seed)[0], (3, 4)),
        (loop_program(seed), (3, 4)),
    ):
        rows = [rng.uniform(-1, 1, (32, size)) for size in sizes]
        for one in rows:
            one[rng.random(one.shape) < 0.1] = -0.0
            one[3, 1] = np.nan
            one[5] = 1e-310 if scalar == "double" else 1e-41  # subnormal numbers
            one[7, 0] = 1e15  # an angle for libm
        check_same_bits(fused(program), rows, scalar)


def test_staged_results_have_the_same_bits(rng):
    program = program_for(lambda a, b: np.outer(a, b) + np.outer(b, a) * 0.3, (18,), (18,))
    rows = rng.normal(size=(32, 18)), rng.normal(size=(32, 18))
    assert "@offsets0" in emit_llvm(fused(program), "f", Lanes(8))
    check_same_bits(fused(program), rows, "double", large=True)


INSTRUCTIONS = {  # by processor: its architecture, and fused products and sums
    "haswell": ("x86_64-unknown-linux-gnu", r"vfn?m(add|sub)\d+[sp]d"),
    "cortex-a72": ("aarch64-unknown-linux-gnu", r"fn?m(add|sub)|fml[as]"),
}


@pytest.mark.parametrize("cpu", INSTRUCTIONS)
@pytest.mark.parametrize("width", [1, 2])
def test_each_fused_step_is_an_instruction(cpu, width):
    """With its negation, and no other product is fused."""
    triple, instruction = INSTRUCTIONS[cpu]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    program = fused(lw.KinDyn(lw.load("arm"), floating=False).bias_force.program)
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=FAST)
    text = machine.emit_assembly(llvm.parse_assembly(emit_llvm(program, "f", Lanes(width))))
    found = re.findall(rf"\t(?:{instruction})\t", text.split("sincos:")[0])
    assert len(found) == counts(program, Op.FMA)[0] > 50


def test_processors_without_fused_operations_multiply_and_add(monkeypatch):
    """Else libm would be called for each step."""
    program = program_for(lambda a: a[0] * a[1] + a[2], (3,))
    for has_fma in (False, True):
        machine = Machine("another", 2, has_fma)
        monkeypatch.setattr(backends, "this_machine", lambda machine=machine: machine)
        assert ("@llvm.fma" in backends.emit(program, backends.Form(2))) == has_fma
