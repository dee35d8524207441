"""C99: the text of a tiny program, and that the compiled text gives what the program gives."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest
from tests.support.expressions import LIBM, UNARY, program_for

import linkwork
from linkwork.errors import ArgumentError
from linkwork.expr.emit_c import C_FORM, c_number, emit_c
from linkwork.expr.node import Op
from linkwork.expr.program import Port, trace

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler")

GOLDEN = """\
#include <math.h>

/* 4 operations.
 * in[0]: a, 3
 * in[1]: b, a number
 * out[0]: out, 2 x 2
 */
void tiny(const double *const *in, double *const *out)
{
  const double t0 = in[0][0];
  const double t1 = in[0][1];
  const double t2 = in[1][0];
  const double t3 = sin(t0);
  const double t5 = 0.1 * t1;
  const double t6 = t3 + t5;
  const double t7 = t0 < t1 ? 1.0 : 0.0;
  const double t8 = -t2;
  const double t9 = t7 != 0.0 ? t8 : t1;
  const double t10 = t2 - t1;
  out[0][0] = t6;
  out[0][1] = t9;
  out[0][2] = (-2.5);
  out[0][3] = t10;
}
"""


def tiny(a, b):
    x, y, _ = a
    first, second = x.sin() + 0.1 * y, (x < y).select(-b, y)
    return np.array([[first, second], [-2.5, b - y]], dtype=object)


def test_the_text_of_a_tiny_program():
    assert emit_c(program_for(tiny, (3,), ()), "tiny") == GOLDEN


def compiled_c(text, folder, *flags):
    """The functions of a C text, after a compiler that accepts no warning."""
    source, library = folder / "f.c", folder / "f.so"
    source.write_text(text)
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wno-missing-prototypes"]
    command = [
        CC,
        *strict,
        "-O1",
        "-shared",
        "-fPIC",
        *flags,
        str(source),
        "-o",
        str(library),
        "-lm",
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library))


def run_c(function, program, inputs, outputs=None):
    arrays = [np.ascontiguousarray(array, dtype=float) for array in inputs]
    if outputs is None:
        outputs = [np.empty(port.shape) for port in program.outputs]
    pointers = [
        (ctypes.c_void_p * max(len(group), 1))(*(array.ctypes.data for array in group))
        for group in (arrays, outputs)
    ]
    function.restype = None
    function(*pointers)
    return np.concatenate([np.ravel(array) for array in outputs])


def assert_four_ulp(got, wanted):
    wanted = np.array(wanted, dtype=float)
    both_nan = np.isnan(got) & np.isnan(wanted)
    equal = both_nan | (got == wanted)
    with np.errstate(invalid="ignore"):
        near = np.abs(got - wanted) <= 4 * np.spacing(np.abs(wanted))
    assert (equal | near).all(), (got, wanted)


def test_every_operation_has_a_form():
    assert set(C_FORM) == set(Op) - {Op.CONST, Op.INPUT}


@needs_cc
def test_every_operation_gives_what_the_program_gives(tmp_path, rng):
    def function(a, b, c):
        every = [x.graph.apply(op, x) for op in UNARY for x in a]
        for op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.ATAN2, Op.LESS, Op.LESS_EQUAL):
            every += [x.graph.apply(op, x, y) for x, y in zip(a, b, strict=True)]
        every += [x.select(y, z) for x, y, z in zip(c, a, b, strict=True)]
        return np.array(every, dtype=object)

    program = program_for(function, (4,), (4,), (4,))
    f = compiled_c(emit_c(program, "f"), tmp_path).f
    for _ in range(50):
        a, b = rng.uniform(0.01, 5.0, (2, 4))
        a[0], c = b[0], np.array([0.0, 1.0, -0.5, 0.0])
        assert_four_ulp(run_c(f, program, (a, b, c)), program.run(a, b, c, functions=LIBM))


STEPS = (
    lambda x, y, c: x + y * c,
    lambda x, y, c: x * y - c,
    lambda x, y, c: x.sin() / (2.0 + y.cos()),
    lambda x, y, c: (x * x + 1.0).sqrt().arctan2(y),
    lambda x, y, c: (x < y).select(x, -y),
)


@needs_cc
@pytest.mark.parametrize("seed", range(10))
def test_random_programs_give_what_the_program_gives(seed, tmp_path):
    draw = np.random.default_rng(seed)

    def function(a):
        nodes = list(a)
        for _ in range(60):
            x, y = (nodes[k] for k in draw.integers(0, len(nodes), 2))
            nodes.append(STEPS[draw.integers(5)](x, y, draw.normal()))
        return np.array(nodes[-12:], dtype=object).reshape(3, 4)

    program = program_for(function, (5,))
    f = compiled_c(emit_c(program, "f"), tmp_path).f
    x = draw.uniform(-1.0, 1.0, 5)

    assert_four_ulp(run_c(f, program, (x,)), program.run(x, functions=LIBM))


@needs_cc
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "mass_matrix", "forward_dynamics"])
def test_a_robot_gives_what_the_program_gives(quantity, tmp_path, rng):
    kd = linkwork.KinDyn(linkwork.robots.load("arm"))
    program = kd.function(quantity).program
    f = compiled_c(emit_c(program, "arm_" + quantity), tmp_path)["arm_" + quantity]
    values = {"q": kd.random(1, seed=1)[0]}
    inputs = [values.get(port.name, rng.normal(size=port.shape)) for port in program.inputs]

    assert_four_ulp(run_c(f, program, inputs), program.run(*inputs, functions=LIBM))


@needs_cc
def test_numbers_read_back_exactly(tmp_path, rng):
    bits = rng.integers(0, 2**64, 500, dtype=np.uint64).view(np.float64)
    special = [
        0.0,
        1.0,
        -1.0,
        0.1,
        1e22,
        1e23,
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
    ]
    numbers = np.array([*special, math.inf, -math.inf, math.nan, *bits])
    program = trace(lambda: numbers, [], "numbers")
    f = compiled_c(emit_c(program, "f"), tmp_path).f

    np.testing.assert_array_equal(run_c(f, program, ()), numbers)


@needs_cc
def test_inputs_and_outputs_may_overlap(tmp_path):
    program = program_for(lambda a: a[::-1] * 2.0, (4,))
    f = compiled_c(emit_c(program, "f"), tmp_path).f
    x = np.arange(4.0)

    assert run_c(f, program, (x,), [x]).tolist() == [6.0, 4.0, 2.0, 0.0]


@needs_cc
def test_nan_in_is_nan_out(tmp_path):
    program = program_for(lambda a: np.stack([a[0] * 2.0 + a[1], a[0] < a[1], a[0].sin()]), (2,))
    f = compiled_c(emit_c(program, "f"), tmp_path).f

    np.testing.assert_array_equal(run_c(f, program, ([np.nan, 1.0],)), [np.nan, 0.0, np.nan])


@needs_cc
@pytest.mark.parametrize("name", ["*/ int x; /*", "wrench on link\\", "a\nb", "??/", "naïve"])
def test_names_of_ports_cannot_leave_their_comment(name, tmp_path):
    program = trace(lambda a: a + 1.0, [Port(name, (1,))], name)
    f = compiled_c(emit_c(program, "f"), tmp_path).f

    assert run_c(f, program, ([1.0],)).tolist() == [2.0]


@needs_cc
def test_it_is_also_cpp(tmp_path):
    program = program_for(tiny, (3,), ())
    f = compiled_c(emit_c(program, "tiny"), tmp_path, "-Wc++-compat").tiny

    assert run_c(f, program, ([1.0, 2.0, 3.0], 4.0)).shape == (4,)


@pytest.mark.parametrize("name", ["", "2f", "f g", "f;", "é", "f\n"])
def test_a_name_that_c_cannot_use_is_refused(name):
    with pytest.raises(ArgumentError, match="name: expected a name that C can use, got"):
        emit_c(program_for(lambda a: a, (1,)), name)


def test_numbers_as_c_writes_them():
    assert [c_number(x) for x in (1.0, -0.1, 1e300, math.inf, -math.inf, math.nan)] == [
        "1.0", "(-0.1)", "1e+300", "INFINITY", "(-INFINITY)", "NAN",
    ]  # fmt: skip
