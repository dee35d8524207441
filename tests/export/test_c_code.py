"""C code of programs: a tiny one verbatim, others by the results of the compiled code."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.support.exports import (
    assert_four_ulp,
    build,
    function_of,
    package_for,
    results,
)
from tests.support.expressions import BINARY, LIBM, UNARY, program_for, run_compiled

from linkwork.engine.codegen.c import functions
from linkwork.engine.codegen.c.statements import DOUBLE, FLOAT
from linkwork.engine.kernel.arguments import UnitNorm
from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64, this_machine
from linkwork.engine.symbolic.fusion import fused
from linkwork.engine.symbolic.tracing import trace
from linkwork.export.code import Names, code_of

GOLDEN = """\
void lw_test_f(const double *LW_RESTRICT in_a, const double *LW_RESTRICT in_b, \
double *LW_RESTRICT out_out)
{
  const double t0 = in_a[0];
  const double t1 = in_a[1];
  const double t2 = in_b[0];
  const double t3 = LW_SIN(t0);
  const double t5 = LW_FMA(0.1, t1, t3);
  out_out[0] = t5;
  const double t6 = t0 < t1 ? 1.0 : 0.0;
  const double t7 = -t2;
  const double t8 = t6 != 0.0 ? t7 : t1;
  out_out[1] = t8;
  const double t9 = t2 - t1;
  out_out[3] = t9;
  out_out[2] = (-2.5);
}
"""


def tiny(a, b):
    x, y, _ = a
    first, second = x.sin() + 0.1 * y, (x < y).select(-b, y)
    return np.array([[first, second], [-2.5, b - y]], dtype=object)


def every_operation(a, b, c):
    every = [x.graph.apply(op, x) for op in UNARY for x in a]
    for op in BINARY:
        every += [x.graph.apply(op, x, y) for x, y in zip(a, b, strict=True)]
    every += [x.select(y, z) for x, y, z in zip(c, a, b, strict=True)]
    every += [(a[0] < 1.0).select(2.0, b[0]), (a[1] > 1.0).select(b[1], -1.0), a[0].arctan2(2.0)]
    return np.array(every, dtype=object)


def rows_for_every_operation(rng, n):
    a, b = rng.uniform(0.01, 5.0, (2, n, 4))
    a[:, 0] = b[:, 0]
    return a, b, np.tile([0.0, 1.0, -0.5, 0.0], (n, 1))


def test_the_code_of_a_tiny_program():
    code = code_of(function_of(program_for(tiny, (3,), ())), DOUBLE, Names()).text
    assert code == GOLDEN


def test_every_operation_agrees_with_the_program(tmp_path, rng):
    program = program_for(every_operation, (4,), (4,), (4,))
    package = package_for(program)
    build(package, tmp_path)
    arguments = rows_for_every_operation(rng, 11)
    expected = [program.run(*rows, functions=LIBM) for rows in zip(*arguments, strict=True)]
    (result,) = results(package, tmp_path, *arguments)
    assert_four_ulp(result, expected)


def test_every_operation_in_single_precision(tmp_path, rng):
    program = program_for(every_operation, (4,), (4,), (4,))
    package = package_for(program, FLOAT)
    build(package, tmp_path, "-Wdouble-promotion")
    arguments = [part.astype(np.float32) for part in rows_for_every_operation(rng, 9)]
    expected = [program.run(*rows, functions=LIBM) for rows in zip(*arguments, strict=True)]
    (result,) = results(package, tmp_path, *arguments)
    np.testing.assert_allclose(result, np.array(expected, float), rtol=2e-6, atol=3e-7)


STEPS = (
    lambda x, y, c: x + y * c,
    lambda x, y, c: x * y - c,
    lambda x, y, c: x.sin() / (2.0 + y.cos()),
    lambda x, y, c: (x * x + 1.0).sqrt().arctan2(y),
    lambda x, y, c: (x < y).select(x, -y),
)


def random_program(seed, length):
    draw = np.random.default_rng(seed)

    def function(a):
        nodes = list(a)
        for _ in range(length):
            x, y = (nodes[k] for k in draw.integers(max(0, len(nodes) - 40), len(nodes), 2))
            nodes.append(STEPS[draw.integers(5)](x, y, draw.normal()))
        return np.array([*nodes[-9:], a[0], 1.5, nodes[10]], dtype=object).reshape(3, 4)

    return program_for(function, (5,))


@pytest.mark.parametrize("seed", range(3))
def test_a_program_split_into_parts_agrees_with_the_program(seed, tmp_path, monkeypatch):
    """Parts share values, constants, inputs and outputs, including unit norms."""
    program = random_program(seed, 120)
    monkeypatch.setattr(functions, "LONGEST_UNCUT", 40)
    monkeypatch.setattr(functions, "LONGEST_PART", 37)
    package = package_for(program, unit_norms=(UnitNorm(0, 1, 2, "a pair"),))
    build(package, tmp_path)
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, (6, 5))
    x[:, 1:3] /= np.linalg.norm(x[:, 1:3], axis=1, keepdims=True)
    drifted = x.copy()
    drifted[2, 1:3] *= 1.0005

    (one,) = package.functions
    assert one.code.work > 2
    assert one.code.text.count("static LW_NOINLINE") > 4
    expected = np.array([program.run(row, functions=LIBM) for row in x], float)
    (result,) = results(package, tmp_path, drifted)
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12)


def test_constants_are_written_exactly(tmp_path, rng):
    bits = rng.integers(0, 2**64, 300, dtype=np.uint64).view(np.float64)
    special = [0.0, 1.0, -1.0, 0.1, 1e22, 1e23, 5e-324, 2.2250738585072014e-308, 1.8e308]
    values = np.array([*special, math.inf, -math.inf, math.nan, *bits])
    package = package_for(trace(lambda: values, [], "numbers"))
    build(package, tmp_path)

    np.testing.assert_array_equal(results(package, tmp_path)[0][0], values)


def test_single_precision_constants_are_written_exactly(rng):
    bits = rng.integers(0, 2**32, 2000, dtype=np.uint32).view(np.float32)
    values = [float(x) for x in bits if np.isfinite(x)]
    for number in (*values, 0.1, 1e-45, 3.4028234e38, 1e-60):
        literal = FLOAT.literal(number).strip("()")
        assert literal.endswith("f")
        assert np.float32(literal[:-1]) == np.float32(number)


def test_literals_have_the_form_of_c():
    values = (1.0, -0.1, 1e300, math.inf, -math.inf, math.nan)
    assert [DOUBLE.literal(x) for x in values] == [
        "1.0", "(-0.1)", "1e+300", "INFINITY", "(-INFINITY)", "NAN",
    ]  # fmt: skip
    assert [FLOAT.literal(x) for x in values] == [
        "1.0f", "(-0.1f)", "INFINITY", "INFINITY", "(-INFINITY)", "NAN",
    ]  # fmt: skip


@pytest.mark.parametrize(("real", "limit"), [(DOUBLE, 3e-16), (FLOAT, 1.5e-7)])
@pytest.mark.skipif(not IS_LINUX_ON_X86_64, reason="the options of GCC are those of x86-64")
@pytest.mark.skipif(not this_machine().has_fma, reason="the code is run")
def test_sine_and_cosine_hold_for_all_angles(real, limit, tmp_path):
    """The polynomials: small, near multiples of pi/2, large, beyond the range of the reduction."""
    program = program_for(lambda a: np.stack([a[0].sin(), a[0].cos()]), (1,))
    package = package_for(program, real)
    build(package, tmp_path, "-mfma")
    near = np.arange(-40, 41) * (math.pi / 2)
    angles = np.concatenate(
        [np.linspace(-8, 8, 1601), near, near + 1e-9, [0.0, 1e-300, 1e-8, 9999.0, 1e5, 1e7, 1e15]]
    )
    dtype = np.float64 if real is DOUBLE else np.float32
    angles = angles.astype(dtype).astype(float)[:, None]
    (result,) = results(package, tmp_path, angles)
    expected = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

    assert np.abs(result - expected).max() < limit
    tiny_ones = np.abs(angles[:, 0]) < 1e-3
    np.testing.assert_allclose(result[tiny_ones], expected[tiny_ones], rtol=3 * limit)


def test_nan_and_infinity_result_in_nan(tmp_path):
    program = program_for(lambda a: np.stack([a[0] * 2.0 + a[1], a[0] < a[1], a[0].sin()]), (2,))
    package = package_for(program)
    build(package, tmp_path)
    arguments = [[np.nan, 1.0], [np.inf, np.nan], [1.0, 2.0]]
    expected = [[np.nan, 0.0, np.nan], [np.nan, 0.0, np.nan], [4.0, 1.0, math.sin(1.0)]]
    np.testing.assert_array_equal(results(package, tmp_path, arguments)[0], expected)


@pytest.mark.skipif(not IS_LINUX_ON_X86_64, reason="the options of GCC are those of x86-64")
@pytest.mark.skipif(not this_machine().has_fma, reason="the code is run")
@pytest.mark.parametrize("real", [DOUBLE, FLOAT])
@pytest.mark.parametrize("options", ["-O0", "-O2 -std=c99", "-O3 -std=gnu11"])
def test_the_same_bits_as_machine_code_where_products_are_fused(real, options, tmp_path):
    """Also with angles that libm computes."""
    program = random_program(5, 120)
    package = package_for(program, real)
    build(package, tmp_path, "-mavx2", "-mfma", *options.split())
    x = np.random.default_rng(5).normal(size=(16, 5)).astype(np.float32).astype(float)
    x[3], x[5, 0], x[7, 1] = -0.0, 1e15, np.nan
    (expected,) = run_compiled(fused(program), x, scalar=real.name, width=1)
    (result,) = results(package, tmp_path, x)
    same = result.astype(expected.dtype)
    assert np.isnan(same).any()
    assert (np.isnan(same) == np.isnan(expected)).all()
    known = ~np.isnan(same)
    assert same[known].tobytes() == expected[known].tobytes()
