"""Loops in exported C agree with the interpreter, split or not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.exports import build, package_for, results
from tests.support.loop_programs import loop_program

import linkwork as lw
from linkwork.engine.codegen.c import functions
from linkwork.engine.codegen.c.statements import DOUBLE, FLOAT
from linkwork.engine.kernel.arguments import UnitNorm
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS


def assert_same(program, folder, *, real=DOUBLE, unit_norms=()):
    """Compare 11 rows; return the exported function."""
    package = package_for(program, real, unit_norms=unit_norms)
    build(package, folder)
    rng = np.random.default_rng(1)
    a, b = rng.uniform(-1, 1, (11, 3)), rng.uniform(-1, 1, (11, 4))
    b /= np.linalg.norm(b, axis=1, keepdims=True)
    columns = program.run(list(a.T), list(b.T), functions=NUMPY_FUNCTIONS)
    expected = np.stack([np.broadcast_to(column, 11) for column in columns], axis=1)
    tolerance = 1e-9 if real is DOUBLE else 2e-3
    result = np.concatenate(results(package, folder, a, b), axis=1)
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)
    (one,) = package.functions
    return one


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_loops_agree_with_the_interpreter(seed, tmp_path):
    one = assert_same(loop_program(seed), tmp_path)
    assert "_loop1(" in one.code.text
    assert 0 < one.code.work < 200


@pytest.mark.parametrize("n", [0, 1, 30])
def test_any_number_of_iterations(n, tmp_path):
    """Stacks of n items are in the caller's workspace."""
    one = assert_same(loop_program(1, n=n, depth=0), tmp_path)
    assert one.code.work >= 3 * n


def test_loops_in_single_precision(tmp_path):
    assert_same(loop_program(2), tmp_path, real=FLOAT)


def test_loops_after_a_unit_norm(tmp_path):
    assert_same(loop_program(4), tmp_path, unit_norms=(UnitNorm(1, 0, 4, "b"),))


@pytest.mark.parametrize("seed", [1, 2])
def test_bodies_and_programs_split_into_parts(seed, tmp_path, monkeypatch):
    program = loop_program(seed, n=4, length=40)
    monkeypatch.setattr(functions, "LONGEST_UNCUT", 40)
    monkeypatch.setattr(functions, "LONGEST_PART", 25)
    one = assert_same(program, tmp_path, unit_norms=(UnitNorm(1, 0, 4, "b"),))
    assert "f_part3(" in one.code.text
    assert "loop1_part2(" in one.code.text


def test_a_function_with_a_loop_is_exported(tmp_path):
    """With its derivative, and checked against the kernels."""
    kd = lw.KinDyn(lw.robots.load("pendulum"), floating=False)

    @lw.compile(q=(kd.nq,), nu=(kd.nv,))
    def fall(q, nu):
        def step(state):
            q, nu = state
            nu = nu + 0.01 * kd.forward_dynamics(q, nu, np.zeros(kd.nv))
            return q + 0.01 * nu, nu

        return lw.repeat(20, step, (q, nu))

    report = lw.export(kd, tmp_path, {"fall": fall, "fall_rate": fall.vjp("q")})
    assert [row.name.removeprefix("pendulum_") for row in report.rows] == ["fall", "fall_rate"]
    assert all(row.difference <= row.allowed for row in report.rows)
    assert "for (long long k = 19; k >= 0; --k)" in (tmp_path / "pendulum_fall_rate.c").read_text()
