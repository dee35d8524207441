"""Whole exports: what is written, that it is clean C, and that it gives what the kernels give."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from tests.support.exports import CC, STRICT, build, package_for, results, run
from tests.support.kernels import floater
from tests.support.models import random_model

import linkwork as lw
from linkwork.errors import ArgumentError, LinkworkError
from linkwork.export import check, write
from linkwork.export.requests import DEFAULT_FUNCTIONS
from linkwork.kernel.arguments import UnitNorm
from linkwork.kindyn.quantities import QUANTITIES

CLOSED_LOOP = ("inverse_dynamics", "forward_dynamics", "integrate")  # what the example needs
COMPILERS = [name for name in ("cc", "g++", "clang", "clang++") if shutil.which(name)]
SANITIZED = ("-fsanitize=undefined,address", "-fno-sanitize-recover=all", "-O0", "-g")


@pytest.fixture(autouse=True)
def _compiled_quickly(monkeypatch):
    monkeypatch.setattr(check, "OPTIONS", ("-std=c99", "-O0"))


def of_frames(kd):
    """Every quantity, with the same frame where it needs some."""
    frame, other = kd.model.frame_names[-1], kd.model.frame_names[0]
    frames = {"frame": frame, "frames": [frame, other], "reference": other}
    frames |= {"origin": frame, "axes": other}
    return [(name, *(frames[one] for one in row.frames)) for name, row in QUANTITIES.items()]


def differences(report):
    return {row.name: row.difference for row in report.rows}


def test_every_quantity_of_a_robot(tmp_path):
    """Quaternions and (cos, sin) pairs, some of which have drifted."""
    kd = lw.KinDyn(random_model(np.random.default_rng(4), 3, ("revolute_cos_sin", "spherical")))
    report = lw.export(kd, tmp_path, of_frames(kd), one_file=True)

    assert len(report.rows) == len(QUANTITIES)
    assert max(differences(report).values()) < 1e-13


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("options", [{}, {"floating": False, "base": "lower_rod"}])
def test_a_robot_in_both_precisions(dtype, options, tmp_path, monkeypatch):
    monkeypatch.setattr(check, "OPTIONS", ("-std=c99", "-O1"))
    model = lw.robots.load("double_pendulum")
    kd = lw.KinDyn(model, representation="body", dtype=dtype, **options)
    report = lw.export(kd, tmp_path, ["inverse_dynamics", "integrate", "jacobian:tip"], lanes=4)

    limit = 1e-13 if dtype == np.float64 else 1e-5
    assert len(report.rows) == 6
    assert max(differences(report).values()) < limit
    assert "cc" in report.compiler or "gcc" in report.compiler
    assert all(row.stack_bytes < 8192 for row in report.rows)
    assert (tmp_path / "double_pendulum.h").read_text("ascii").count("_batch(size_t rows") == 3


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A floating robot, cut into parts, with functions of many rows."""
    folder = tmp_path_factory.mktemp("exported")
    kd = lw.KinDyn(lw.robots.load("double_pendulum"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linkwork.export.code.LONGEST_UNCUT", 150)
        patch.setattr("linkwork.export.code.LONGEST_PART", 150)
        report = lw.export(kd, folder, CLOSED_LOOP, prefix="dp", lanes=2, check=False)
    assert any(row.work_bytes for row in report.rows)
    return folder


def sources(folder):
    return sorted(path.name for path in folder.glob("*.c"))


def test_the_makefile_builds_and_tests_it(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "copy")
    printed = run(["make", "all", "test", "CFLAGS=-O1 -Werror"], folder)

    assert "passed  dp_inverse_dynamics_batch" in printed
    assert "0 failures" in printed
    assert "velocity after 2000 ticks" in run(["./example"], folder)


def test_the_self_test_fails_where_a_result_is_wrong(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "copy")
    path = folder / "dp_inverse_dynamics.c"
    path.write_text(path.read_text("ascii").replace("9.80665", "9.80664"), "ascii")
    run(["make", "selftest", "CFLAGS=-O0"], folder)

    with pytest.raises(AssertionError, match=r"(?s)FAILED  dp_inverse_dynamics .*2 failures"):
        run(["./selftest"], folder)


def test_it_has_no_undefined_behaviour(exported, tmp_path):
    """Sanitizers watch the self-test and the example, compiled as strictly as can be."""
    library = [exported / name for name in sources(exported) if name.startswith("dp_")]
    flags = ["-std=c99", *STRICT, *SANITIZED]
    for program in ("selftest", "main"):
        run([CC, *flags, exported / f"{program}.c", *library, "-lm", "-o", program], tmp_path)
        run([f"./{program}"], tmp_path)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_compiler_takes_it_and_cpp_does(compiler, exported, tmp_path):
    """Those that are installed."""
    language = ["-x", "c++", "-std=c++17"] if "++" in compiler else ["-std=c99"]
    files = [exported / name for name in sources(exported)]
    run([compiler, *language, "-fsyntax-only", *STRICT, *files], tmp_path)


def test_cmake_takes_it(exported, tmp_path, record_property):
    text = (exported / "CMakeLists.txt").read_text("ascii")
    listed = text.split("STATIC")[1].split(")")[0].split()
    assert listed == sorted(listed, key=lambda name: "_batch" in name)
    assert set(listed) == {name for name in sources(exported) if name.startswith("dp_")}
    if shutil.which("cmake") is None:
        record_property("missing", "cmake")
        return
    run(["cmake", "-S", exported, "-B", tmp_path, "-DCMAKE_BUILD_TYPE=Debug"], tmp_path)


def test_only_constants_are_global(exported, tmp_path):
    """Nothing is kept between calls: no object has data that can be written."""
    for name in sources(exported):
        if name.startswith("dp_"):
            run([CC, "-std=c99", "-c", exported / name, "-o", "x.o"], tmp_path)
            symbols = run(["nm", "x.o"], tmp_path).split("\n")
            kinds = {line.split()[-2] for line in symbols if line}
            assert kinds <= {"T", "t", "r", "R", "U"}, (name, kinds)
            used = {line.split()[-1] for line in symbols if " U " in line}
            assert all(not one.endswith(("alloc", "free", "printf")) for one in used)


def test_single_precision_for_a_small_processor(tmp_path, record_property, capsys):
    """For a Cortex-M4 where its compiler is installed; else for this machine, with the same checks:
    no number becomes a double, the stack is small, and nothing but libm is called."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False, dtype=np.float32)
    report = lw.export(kd, tmp_path, DEFAULT_FUNCTIONS, check=False)
    cross = shutil.which("arm-none-eabi-gcc")
    if cross is None:
        record_property("missing compiler", "arm-none-eabi-gcc")
    machine = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
    compiler = [cross, *machine] if cross else [CC]
    flags = ["-std=c99", "-Os", "-Wdouble-promotion", "-Wfloat-conversion", *STRICT]
    with capsys.disabled():
        print(f"\n{' '.join(compiler)} -Os, bytes of arm:")  # noqa: T201
        for name in (row.name for row in report.rows):
            object_file = f"{name}.o"
            command = [*compiler, *flags, "-fstack-usage", "-c", f"{name}.c", "-o", object_file]
            run(command, tmp_path)
            stack = check._stacks_of(tmp_path / f"{name}.su")
            tool = "arm-none-eabi-size" if cross else "size"
            code = int(run([tool, object_file], tmp_path).split("\n")[1].split()[0])
            print(f"  {name}: code {code:,}, stack {max(stack.values()):,}")  # noqa: T201
            assert max(stack.values()) < 4096
            nm = "arm-none-eabi-nm" if cross else "nm"
            symbols = run([nm, object_file], tmp_path).split("\n")
            used = {line.split()[-1] for line in symbols if " U " in line}
            libm = {"sinf", "cosf", "sqrtf", "atan2f", "sincosf", "_GLOBAL_OFFSET_TABLE_"}
            assert used <= libm


def test_a_norm_that_drifted_is_made_1_and_another_is_refused(tmp_path):
    from tests.support.expressions import program_for

    program = program_for(lambda a: a * 1.0, (6,))
    package = package_for(program, lanes=2, unit_norms=(UnitNorm(0, 1, 4, "the quaternion"),))
    build(package, tmp_path)
    row = np.array([7.0, 0.5, 0.5, -0.5, 0.5, 8.0])
    drifted, far, bad = row.copy(), row.copy(), row.copy()
    drifted[1:5] *= 1.0009
    far[1:5] *= 1.0011
    bad[1] = np.nan
    for batch in (False, True):
        (found,) = results(package, tmp_path, [row, drifted, row], batch=batch)
        np.testing.assert_array_equal(found[[0, 2]], [row, row])
        np.testing.assert_allclose(found[1], row, rtol=1e-15)
        (found,) = results(package, tmp_path, [row, bad, row], batch=batch)
        assert np.isnan(found[1]).any()
        with pytest.raises(LinkworkError, match="the C function refused its inputs"):
            results(package, tmp_path, [row, row, far], batch=batch)


def test_wrenches_gravity_and_any_kernel_are_functions_too(tmp_path):
    kd = floater()
    frame = kd.model.frame_names[-1]
    given = kd.function("inverse_dynamics", wrenches=[frame], gravity=True)
    fused = kd.function("com", ("jacobian", frame))
    report = lw.export(kd, tmp_path, {"with_forces": given, "Both of them": fused}, prefix="r")

    assert [row.name for row in report.rows] == ["r_with_forces", "r_Both_of_them"]
    header = (tmp_path / "r.h").read_text("ascii")
    wrench = f"const double *wrench_{frame}"
    assert f"const double *nu_dot, const double *gravity, {wrench}, double *out" in header
    assert f"double *out_com, double *out_jacobian_{frame})" in header


def test_a_kernel_in_single_precision_is_compared_in_double(tmp_path):
    kernel = floater(dtype=np.float32).function("com")
    report = lw.export(floater(), tmp_path, {"one": kernel, "other": kernel})

    assert [row.name for row in report.rows] == ["double_pendulum_one", "double_pendulum_other"]
    assert all(row.difference < 1e-15 for row in report.rows)


def test_the_package_of_the_same_name_can_be_called(tmp_path):
    import linkwork.export as package

    report = package(floater(), tmp_path, ["com"], check=False)
    assert report.files[0] == "double_pendulum.h"
    assert package.export is lw.export or package is lw.export


def test_a_robot_that_cannot_move(tmp_path):
    """It has poses and no dynamics."""
    kd = lw.KinDyn(lw.robots.load("quadrotor"), floating=False)
    report = lw.export(kd, tmp_path, ["transform:body", "com"], lanes=2)
    assert max(differences(report).values()) == 0.0
    run([CC, "-std=c99", "-fsyntax-only", *STRICT, *sorted(tmp_path.glob("*.c"))], tmp_path)

    with pytest.raises(ArgumentError) as caught:
        lw.export(kd, tmp_path, ["mass_matrix"])
    text = "has no numbers to take or to give; a robot that cannot move may be the reason"
    assert str(caught.value) == f"functions: mass_matrix {text}"


def test_where_there_is_no_compiler_the_report_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(check.shutil, "which", lambda name: None)
    report = lw.export(floater(), tmp_path, ["com"])

    assert report.compiler is None
    assert report.told() == "Not compiled and not checked: there is no C compiler."
    assert report.rows[0].difference is None
    assert report.told() in (tmp_path / "README.md").read_text("ascii")


def test_code_that_differs_from_the_kernel_is_not_written(tmp_path, monkeypatch):
    wrong = write.package_of

    def spoiled(*args, **named):
        package = wrong(*args, **named)
        (one,) = package.functions
        text = one.code.text.replace(" - ", " + ")
        assert text != one.code.text
        object.__setattr__(one, "code", type(one.code)(text, one.code.work))
        return package

    monkeypatch.setattr(write, "package_of", spoiled)
    with pytest.raises(LinkworkError, match="the selftest of the export failed"):
        lw.export(floater(), tmp_path / "new", ["bias_force"])
    assert not (tmp_path / "new").exists()


def test_files_of_others_are_not_replaced(tmp_path):
    kd = lw.KinDyn(lw.robots.load("pendulum"), floating=False)
    lw.export(kd, tmp_path, ["com"], check=False)
    lw.export(kd, tmp_path, ["mass_matrix"], check=False)
    (tmp_path / "Makefile").write_text("all:\n")
    with pytest.raises(ArgumentError) as caught:
        lw.export(kd, tmp_path, ["com"], check=False)
    text = f"{tmp_path / 'Makefile'} was not written by linkwork and is not replaced"
    assert str(caught.value) == f"{text}; choose another folder"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"functions": "com"}, "functions: expected a list, got 'com'"),
        ({"functions": []}, "functions: name at least one quantity"),
        ({"functions": ["comm"]}, "no quantity named 'comm'; did you mean 'com'?"),
        ({"functions": ["jacobian"]}, "expected ('jacobian', frame), got ['jacobian']"),
        ({"lanes": 3}, "lanes: expected 0, 2, 4, 8 or 16, got 3"),
        ({"lanes": True}, "lanes: expected 0, 2, 4, 8 or 16, got True"),
        ({"dtype": int}, "dtype: expected float64 or float32, got <class 'int'>"),
        ({"kd": 3}, "kd: expected a KinDyn, got 3"),
    ],
)
def test_wrong_arguments_are_named(options, text, tmp_path):
    with pytest.raises(LinkworkError) as caught:
        lw.export(options.pop("kd", floater()), tmp_path / "x", **options)
    assert str(caught.value) == text
    assert not (tmp_path / "x").exists()
