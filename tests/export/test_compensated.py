"""Single precision with compensated rounding: exact pairs, critical steps, results in C."""

from __future__ import annotations

import shutil
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from tests.support.exports import build, function_of, package_for, results, run
from tests.support.expressions import MPMATH, program_for
from tests.support.real_robots import ROBOT_FILES, load_quietly

import linkwork as lw
from linkwork.engine.codegen.c.statements import DOUBLE, FLOAT
from linkwork.engine.kernel.arguments import UnitNorm
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS, Op
from linkwork.errors import ArgumentError
from linkwork.export import check
from linkwork.export.compensated import compensate_rounding, compensated, critical_steps
from linkwork.export.names import Names
from linkwork.export.package import package_of
from linkwork.export.pairs import Fused, float_fma, operations_of
from linkwork.export.requests import exported_functions
from linkwork.export.samples import difference, rounding_errors, sample_of

FLOAT_DIGITS = 2.0**-24


@pytest.fixture(autouse=True)
def _compiled_quickly(monkeypatch):
    monkeypatch.setattr(check, "OPTIONS", ("-std=c99", "-O0"))


def in_floats(program, *inputs):
    """(rows, size) results of a program run by NumPy in float32."""
    arguments = [tuple(np.asarray(part, np.float32).T) for part in inputs]
    functions = NUMPY_FUNCTIONS | {Fused.FMA: float_fma}
    result = program.run(*arguments, functions=functions, constant=np.float32)
    return np.array(np.broadcast_arrays(*result)).T.astype(float)


def all_corrected(function, *shapes, unit_norms=()):
    """Return a function with every step corrected, and its original program."""
    program = program_for(function, *shapes)
    uncorrected = function_of(program, unit_norms=unit_norms)
    return compensated(uncorrected, range(len(program.steps))), program


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32).astype(float)


def exact(program, rows):
    """Compute the results of each row with 60 digits."""
    with mp.workdps(60):
        each = [program.run([*map(mp.mpf, row)], functions=MPMATH, constant=mp.mpf) for row in rows]
        return np.array(each, dtype=object)


CANCELLING = {
    "sums": lambda a: (a[0] * 1e4 + a[1]) - a[0] * 1e4 - (a[1] - a[2] * 1e-3),
    "products": lambda a: (a[0] + 1e2) * (a[1] + 1e2) - 1e2 * (a[0] + a[1]) - 1e4,
    "constants": lambda a: (a[0] + 0.1) * 0.7 - (a[0] * 0.7 + 0.07) + 1e-6 * a[1],
    "quotients": lambda a: (a[0] + 3e3) / (a[1] * a[1] + 1.0) - 3e3 / (a[1] * a[1] + 1.0),
    "roots": lambda a: (a[0] * a[0] + 1e4).sqrt() - 100.0,
    "opposites": lambda a: (a[1] < 0.0).select(-(a[0] + 1e4), a[0] - 1e4) + 1e4,
    "choices": lambda a: (
        (a[0] < 0.0).select(a[1] + 1e4, a[2] - 1e4) - (a[0] < 0.0).select(1e4, -1e4)
    ),
}


@pytest.mark.parametrize("name", CANCELLING)
def test_digits_lost_by_cancellation_are_recovered(name, rng):
    """Each operation on pairs, compared with 60 digits; plain floats are far off."""
    function = CANCELLING[name]
    corrected, program = all_corrected(lambda a: np.array([function(a)]), (3,))
    rows = floats(rng, 50, 3)
    expected = exact(program, rows)

    def error(one):
        return max(
            abs(float((x - y) / y))
            for x, y in zip(in_floats(one, rows)[:, 0], expected[:, 0], strict=True)
        )

    assert error(corrected.program) < 1e-6
    assert error(program) > 1e-4


def test_the_root_of_zero_is_zero():
    corrected, _ = all_corrected(lambda a: np.array([(a[0] * a[0]).sqrt()]), (1,))
    with np.errstate(invalid="ignore"):
        assert in_floats(corrected.program, np.array([[0.0], [-3.0]])).tolist() == [[0.0], [3.0]]


def test_sine_and_cosine_have_unit_norm(rng):
    """The sum of their squares is 1 with more digits than a float has."""

    def excess(a):
        sine, cosine = a[0].sin(), a[0].cos()
        return np.array([(sine * sine + cosine * cosine - 1.0) + a[1] * 0.0, sine, cosine])

    corrected, program = all_corrected(excess, (2,))
    rows = floats(rng, 200, 2)

    assert np.abs(in_floats(program, rows)[:, 0]).max() > FLOAT_DIGITS
    result = in_floats(corrected.program, rows)
    assert np.abs(result[:, 0]).max() < 1e-12
    expected = np.array([np.sin(rows[:, 0]), np.cos(rows[:, 0])]).T
    assert np.abs(result[:, 1:] - expected).max() < 2 * FLOAT_DIGITS


def test_the_rounding_error_of_an_angle_is_applied(rng):
    corrected, program = all_corrected(
        lambda a: np.array([(a[0] * 100.0 + 0.1).sin() - (a[0] * 100.0).sin()]), (1,)
    )
    rows = floats(rng, 50, 1)
    expected = exact(program, rows).astype(float)

    assert np.abs(in_floats(corrected.program, rows) - expected).max() < 2e-7
    assert np.abs(in_floats(program, rows) - expected).max() > 2e-6


def test_quaternions_have_unit_norm(rng):
    """In C, also where the norm differs from 1 only by rounding."""
    unit = (UnitNorm(0, 0, 4, "the quaternion"),)
    corrected, _ = all_corrected(
        lambda a: np.array([(a * a).sum() - 1.0, a[0]]), (4,), unit_norms=unit
    )
    rows = rng.normal(size=(50, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    excess = (in_floats(corrected.program, rows))[:, 0]
    assert np.abs(excess).max() < 1e-12


def test_critical_steps_are_those_whose_rounding_changes_results():
    """a + 1e6 is rounded to 1/16; all others to 1e-7 or less."""
    program = program_for(lambda a: np.array([(a[0] + 1e6) - 1e6 + a[1] * a[2]]), (3,))
    rows = [np.array([[0.3, 0.4, 0.5], [0.1, 0.2, -0.7]])]
    chosen = critical_steps(function_of(program), rows, share=1e-3)

    assert [program.steps[step][0] for step in chosen] == [Op.ADD]
    assert not critical_steps(function_of(program), rows, share=1.0)
    corrected = compensated(function_of(program), chosen)
    assert corrected.corrected == 1
    assert np.abs(in_floats(corrected.program, rows[0])[:, 0] - [0.5, -0.04]).max() < 1e-7


def test_no_step_is_left_unused(rng):
    """Compilers would warn of it."""
    corrected, _ = all_corrected(lambda a: np.array([a[0].sin() * a[1] / a[2]]), (3,))
    used = {arg for op, *args in corrected.program.steps if op > Op.INPUT for arg in args}
    assert used | set(corrected.program.results) == set(range(len(corrected.program.steps)))
    assert operations_of(corrected.program) > corrected.program.n_ops


def dynamics_of(name, *, floating=True, quantity="forward_dynamics"):
    kd = lw.KinDyn(name if isinstance(name, lw.Model) else lw.robots.load(name), floating=floating)
    return kd, exported_functions(kd, [quantity], derivatives=False, prefix="r", names=Names())[0]


def test_a_function_that_loses_no_digits_is_unchanged():
    kd, one = dynamics_of("pendulum", floating=False)
    assert compensate_rounding(kd, one) is one


CONTRACTED = ("-O2", "-march=native", "-ffp-contract=fast")
COMPILERS = [("cc", "-std=gnu99"), ("g++", "-x", "c++", "-std=c++17")]
COMPILERS += [("clang", "-std=c99")] if shutil.which("clang") else []


@pytest.mark.parametrize("compiler", COMPILERS)
def test_products_are_not_contracted_into_sums(compiler, tmp_path, rng):
    """Contraction would lose the rounding errors of products, so options must not enable it."""
    function = CANCELLING["products"]
    corrected, program = all_corrected(lambda a: np.array([function(a)]), (3,))
    package = package_for(program, FLOAT, lanes=4)
    one = replace(package.functions[0].exported, function=corrected)
    package = package_of(package.kd, [one], prefix="lw_test", real=FLOAT, names=Names(), lanes=4)
    build(package, tmp_path)
    run([*compiler, *CONTRACTED, *package.sources, "lw_check.c", "-lm", "-o", "lw_check"], tmp_path)

    rows = floats(rng, 50, 3)
    expected = exact(program, rows).astype(float)
    for batch in (False, True):
        (result,) = results(package, tmp_path, rows, batch=batch)
        assert np.abs(result / expected - 1.0).max() < 1e-6


def test_a_robot_in_floats_is_exact_to_1e_5_at_other_states(tmp_path):
    kd, plain = dynamics_of("quadrotor", quantity="mass_matrix_dot")
    one = compensate_rounding(kd, plain)
    sample = sample_of(kd, one, FLOAT, rows=300, seed=7)
    assert rounding_errors(plain, sample.inputs, sample.outputs, FLOAT).max() > 1e-4

    package = package_of(kd, [one], prefix="lw_test", real=FLOAT, names=Names(), lanes=4)
    build(package, tmp_path)
    for batch in (False, True):
        result = results(package, tmp_path, *sample.inputs, batch=batch)
        assert difference(result, sample.outputs) < 1e-5


def test_the_report_lists_corrections_and_they_can_be_disabled(tmp_path):
    kd = lw.KinDyn(lw.robots.load("pendulum"), dtype=np.float32)
    functions = ["forward_dynamics", "com"]
    report = lw.export(kd, tmp_path / "a", functions)
    shorter = lw.export(kd, tmp_path / "b", functions, compensate=False)

    assert [row.corrected > 0 for row in report.rows] == [True, False]
    assert [row.corrected for row in shorter.rows] == [0, 0]
    assert report.rows[0].operations > shorter.rows[0].operations
    assert report.rows[0].difference < shorter.rows[0].difference
    assert report.rows[0].allowed == 1e-5
    tables = [(tmp_path / name / "README.md").read_text("ascii") for name in "ab"]
    assert ["| corrected |" in table for table in tables] == [True, False]
    with pytest.raises(ArgumentError, match=r"compensate.*pinnzoo=True"):
        lw.export(kd, tmp_path / "c", pinnzoo=True, compensate=False)


@pytest.mark.peers
def test_double_precision_may_differ_by_the_error_of_the_kernel():
    """It is measured with NumPy's longdouble; here it is compared with 60 digits."""
    model = load_quietly(next(path for path in ROBOT_FILES if path.name == "panda.urdf"))
    kd, one = dynamics_of(model)
    sample = sample_of(kd, one, DOUBLE, rows=10)
    errors = rounding_errors(one, sample.inputs, sample.outputs, DOUBLE)
    worst = int(errors.argmax())
    assert 1e-13 < errors[worst] < 1e-12
    assert sample.allowed == pytest.approx(4 * errors[worst])

    q = sample.inputs[0][worst].copy()
    q[3:7] /= np.linalg.norm(q[3:7])
    row = [q, *(part[worst] for part in sample.inputs[1:])]
    with mp.workdps(60):
        arguments = [[*map(mp.mpf, part)] for part in row]
        expected = one.function.program.run(*arguments, functions=MPMATH, constant=mp.mpf)
    error = difference([sample.outputs[0][[worst]]], [np.array([expected], dtype=float)])
    assert error == pytest.approx(errors[worst], rel=0.05)


def test_replacing_a_program_keeps_its_ports():
    kd, one = dynamics_of("pendulum")
    result = compensate_rounding(kd, one).function
    assert replace(result, program=one.function.program, corrected=0) == one.function
