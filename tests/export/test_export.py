"""Complete exports: their files are strict C, and their results agree with the kernels."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.support.constrained import stance_of
from tests.support.exports import CC, STRICT, build, package_for, results, run
from tests.support.kernels import floater
from tests.support.linkages import four_bar
from tests.support.models import random_model
from tests.support.real_robots import ROBOT_FILES, load_quietly

import linkwork as lw
from linkwork.engine.codegen.c.statements import DOUBLE, FLOAT
from linkwork.engine.kernel.arguments import UnitNorm
from linkwork.errors import ArgumentError, LinkworkError
from linkwork.export import check, write
from linkwork.export.code import Names
from linkwork.export.requests import exported_functions
from linkwork.export.samples import sample_of


@pytest.fixture(autouse=True)
def _compiled_quickly(monkeypatch):
    monkeypatch.setattr(check, "OPTIONS", ("-std=c99", "-O0"))


def of_frames(kd):
    """Return every quantity, with the same frame for all frame arguments."""
    frame, other = kd.model.frame_names[-1], kd.model.frame_names[0]
    frames = {"frame": frame, "frames": [frame, other], "reference": other}
    frames |= {"origin": frame, "axes": other}
    return [
        (name, *(frames[one] for one in row.frames)) for name, row in lw.KinDyn.quantities.items()
    ]


def differences(report):
    return {row.name: row.difference for row in report.rows}


def test_every_quantity_of_a_robot(tmp_path):
    """Quaternions and (cos, sin) pairs, some of which have drifted."""
    kd = lw.KinDyn(random_model(np.random.default_rng(4), 3, ("revolute_cos_sin", "spherical")))
    report = lw.export(kd, tmp_path, of_frames(kd), one_file=True)

    assert len(report.rows) == len(lw.KinDyn.quantities)
    assert max(differences(report).values()) < 1e-13


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("options", [{}, {"floating": False, "base": "lower_rod"}])
def test_a_robot_in_both_precisions(dtype, options, tmp_path, monkeypatch):
    monkeypatch.setattr(check, "OPTIONS", ("-std=c99", "-O1"))
    model = lw.robots.load("double_pendulum")
    kd = lw.KinDyn(model, representation="body", dtype=dtype, **options)
    report = lw.export(kd, tmp_path, ["inverse_dynamics", "integrate", "jacobian:tip"])

    limit = 1e-13 if dtype == np.float64 else 1e-5
    assert len(report.rows) == 3
    assert max(differences(report).values()) < limit
    assert "cc" in report.compiler or "gcc" in report.compiler
    assert all(row.stack_bytes < 8192 for row in report.rows)


def test_a_drifted_norm_is_normalized_and_a_wrong_norm_is_rejected(tmp_path):
    from tests.support.expressions import program_for

    program = program_for(lambda a: a * 1.0, (6,))
    package = package_for(program, unit_norms=(UnitNorm(0, 1, 4, "the quaternion"),))
    build(package, tmp_path)
    row = np.array([7.0, 0.5, 0.5, -0.5, 0.5, 8.0])
    drifted, far, bad = row.copy(), row.copy(), row.copy()
    drifted[1:5] *= 1.0009
    far[1:5] *= 1.0011
    bad[1] = np.nan
    (result,) = results(package, tmp_path, [row, drifted, row])
    np.testing.assert_array_equal(result[[0, 2]], [row, row])
    np.testing.assert_allclose(result[1], row, rtol=1e-15)
    (result,) = results(package, tmp_path, [row, bad, row])
    assert np.isnan(result[1]).any()
    with pytest.raises(LinkworkError, match="lw_test_f"):
        results(package, tmp_path, [row, row, far])


def test_a_norm_in_single_precision_is_1_to_the_last_bit(tmp_path, rng):
    """As in the kernels, which normalize in double precision."""
    from tests.support.expressions import program_for

    program = program_for(lambda a: a * 1.0, (4,))
    package = package_for(program, FLOAT, unit_norms=(UnitNorm(0, 0, 4, "the quaternion"),))
    build(package, tmp_path)
    rows = rng.normal(size=(300, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) / rng.uniform(0.9991, 1.0009, (300, 1))
    rows = rows.astype(np.float32).astype(float)
    (result,) = results(package, tmp_path, rows)

    expected = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.abs(result - expected).max() < 2.0**-24


def test_kernels_with_wrenches_and_gravity_and_fused_kernels(tmp_path):
    kd = floater()
    frame = kd.model.frame_names[-1]
    arguments = kd.function("inverse_dynamics", wrenches=[frame], gravity=True)
    fused = kd.function("com", ("jacobian", frame))
    report = lw.export(kd, tmp_path, {"with_forces": arguments, "Both of them": fused}, prefix="r")

    assert [row.name for row in report.rows] == ["r_with_forces", "r_Both_of_them"]
    header = " ".join((tmp_path / "r.h").read_text("ascii").split())
    wrench = f"const double *wrench_{frame}"
    assert f"const double *nu_dot, const double *gravity, {wrench}, double *out" in header
    assert f"double *out_com, double *out_jacobian_{frame})" in header


def test_a_kernel_in_single_precision_is_compared_in_double(tmp_path):
    kernel = floater(dtype=np.float32).function("com")
    report = lw.export(floater(), tmp_path, {"one": kernel, "other": kernel})

    assert [row.name for row in report.rows] == ["double_pendulum_one", "double_pendulum_other"]
    assert all(row.difference < 1e-15 for row in report.rows)


def test_the_package_is_callable(tmp_path):
    import linkwork.export as package

    report = package(floater(), tmp_path, ["com"], check=False)
    assert report.files[0] == "double_pendulum.h"
    assert package.export is lw.export or package is lw.export


def test_a_robot_without_moving_joints(tmp_path):
    """It has poses but no dynamics."""
    kd = lw.KinDyn(lw.robots.load("quadrotor"), floating=False)
    report = lw.export(kd, tmp_path, ["transform:body", "com"])
    assert max(differences(report).values()) == 0.0
    run([CC, "-std=c99", "-fsyntax-only", *STRICT, *sorted(tmp_path.glob("*.c"))], tmp_path)

    with pytest.raises(ArgumentError, match=r"mass_matrix .*no moving joints"):
        lw.export(kd, tmp_path, ["mass_matrix"])


def test_without_a_compiler_the_report_states_it(tmp_path, monkeypatch):
    monkeypatch.setattr(check.shutil, "which", lambda name: None)
    report = lw.export(floater(), tmp_path, ["com"])

    assert report.compiler is None
    assert "no C compiler" in report.summary()
    assert report.rows[0].difference is None
    assert report.summary() in (tmp_path / "README.md").read_text("ascii")


def test_code_that_differs_from_the_kernel_is_not_written(tmp_path, monkeypatch):
    wrong = write.package_of

    def spoiled(*args, **named):
        package = wrong(*args, **named)
        (one,) = package.functions
        code = one.code.text.replace(" - ", " + ")
        assert code != one.code.text
        object.__setattr__(one, "code", replace(one.code, text=code))
        return package

    monkeypatch.setattr(write, "package_of", spoiled)
    with pytest.raises(LinkworkError, match=r"selftest\.c"):
        lw.export(floater(), tmp_path / "new", ["bias_force"])
    assert not (tmp_path / "new").exists()


def test_only_unchanged_files_of_an_export_are_overwritten(tmp_path):
    kd = lw.KinDyn(lw.robots.load("pendulum"), floating=False)
    lw.export(kd, tmp_path, ["com"], check=False)
    lw.export(kd, tmp_path, ["mass_matrix"], check=False)
    path = tmp_path / "CMakeLists.txt"
    path.write_text(path.read_text() + "# my own target")
    (tmp_path / "SHA256SUMS").write_text((tmp_path / "SHA256SUMS").read_text() + "\ndamaged\n")
    for robot in (kd, lw.KinDyn(lw.robots.load("double_pendulum"), floating=False)):
        with pytest.raises(ArgumentError, match=re.escape(str(path)) + ".*force"):
            lw.export(robot, tmp_path, ["com"], check=False)
    assert path.read_text().endswith("# my own target")
    lw.export(kd, tmp_path, ["com"], check=False, force=True)
    lw.export(kd, tmp_path, ["com"], check=False)

    other = tmp_path / "other"
    other.mkdir()
    (other / "CMakeLists.txt").write_text("project(own)\n")
    with pytest.raises(ArgumentError, match=re.escape(str(other / "CMakeLists.txt"))):
        lw.export(kd, other, ["com"], check=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"functions": "com"}, "functions.*list.*'com'"),
        ({"functions": []}, "functions.*at least one"),
        ({"functions": ["comm"]}, "'comm'.*'com'"),
        ({"functions": ["jacobian"]}, "jacobian:FRAME.*'jacobian'"),
        ({"dtype": int}, "dtype.*float64 or float32.*int"),
        ({"kd": 3}, "KinDyn.*3"),
    ],
)
def test_wrong_arguments_are_named(options, message, tmp_path):
    with pytest.raises(LinkworkError, match=message):
        lw.export(options.pop("kd", floater()), tmp_path / "x", **options)
    assert not (tmp_path / "x").exists()


def test_every_output_is_described_and_every_line_is_short(tmp_path):
    kd = floater()
    lw.export(kd, tmp_path, of_frames(kd), prefix="r", check=False)
    lines = (tmp_path / "r.h").read_text("ascii").splitlines()

    assert max(map(len, lines)) <= 100
    outputs = [line for line in lines if line.startswith(" * out")]
    assert len(outputs) > len(lw.KinDyn.quantities)
    assert all(": " in line for line in outputs)


@pytest.mark.peers
def test_a_result_that_is_sensitive_to_rounding_may_differ_more():
    """The mass matrix of panda is ill-conditioned only with a floating base."""
    model = load_quietly(next(path for path in ROBOT_FILES if path.name == "panda.urdf"))
    allowed = []
    for floating in (True, False):
        kd = lw.KinDyn(model, floating=floating)
        expected = exported_functions(
            kd, ["forward_dynamics"], derivatives=False, prefix="p", names=Names()
        )
        allowed.append(sample_of(kd, expected[0], DOUBLE, rows=10).allowed)
    assert allowed[0] > 2e-13
    assert allowed[1] == 1e-13


def test_a_compiler_that_does_not_terminate_is_stopped(tmp_path, monkeypatch):
    compiler = tmp_path / "endless"
    compiler.write_text(
        '#!/bin/sh\ncase "$1" in --version) echo endless;; *) exec sleep 1000;; esac\n'
    )
    compiler.chmod(0o700)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setattr(check, "COMPILE_LIMIT", 0.1)
    kd = lw.KinDyn(lw.robots.load("pendulum"), floating=False)
    with pytest.raises(lw.LinkworkError, match=r"0\.1 s.*endless"):
        lw.export(kd, tmp_path / "out", ["com"])
    assert not (tmp_path / "out").exists()


def test_constrained_robots(tmp_path):
    """Redundant contacts, in both precisions; constrained and other functions in one library."""
    stance = stance_of(lw.KinDyn)
    names = list(lw.ConstrainedKinDyn.quantities)
    report = lw.export(stance, tmp_path / "double", names, one_file=True)
    assert [row.name for row in report.rows] == [f"leg_{name}" for name in names]
    # the pseudo-inverse of redundant constraints amplifies rounding errors
    assert max(row.allowed for row in report.rows) < 1e-5
    assert differences(report)["leg_step"] < 1e-12
    closed = lw.export(lw.KinDyn(four_bar()).constrained(), tmp_path / "closed", ["error"])
    assert closed.rows[0].allowed < 1e-12  # at configurations where the error is not zero
    header = (tmp_path / "double" / "leg.h").read_text()
    assert "heel 0..2, toe 3..5" in header

    single = lw.export(stance, tmp_path / "single", ["jacobian", "step"], dtype=np.float32)
    assert max(row.allowed for row in single.rows) < 1e-3
    both = lw.export(
        stance.kindyn, tmp_path / "both", ["mass_matrix", stance.forward_dynamics], check=False
    )
    assert [row.name for row in both.rows] == ["leg_mass_matrix", "leg_forward_dynamics"]
    with pytest.raises(ArgumentError, match="constraints"):
        lw.export(stance, tmp_path / "zoo", pinnzoo=True)
    with pytest.raises(lw.NameNotFoundError, match="jacobain"):
        lw.export(stance, tmp_path / "wrong", ["jacobain"])


def test_a_folder_that_cannot_be_written_is_reported_with_its_name(tmp_path):
    file = tmp_path / "robot.txt"
    file.write_text("text")
    (tmp_path / "loop").symlink_to("loop")
    kd = lw.KinDyn(lw.robots.load("pendulum"), floating=False)
    for folder in (file, file / "c", tmp_path / "loop", tmp_path / ("n" * 300), "a\0b"):
        for pinnzoo in (False, True):
            with pytest.raises(lw.WriteError, match="cannot write to"):
                lw.export(kd, folder, check=False, pinnzoo=pinnzoo)
    assert file.read_text() == "text"
    for folder in (None, 5, b"folder"):
        with pytest.raises(lw.ArgumentError, match="folder: expected a path"):
            lw.export(kd, folder)
