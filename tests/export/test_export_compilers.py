"""Exports with all available compilers: strict, sanitized, as C++, and for other processors.

GCC, under the name cc, is always needed. Tests with Clang, CMake, cross-compilers, QEMU and Wine
are defined only where these are installed. Their common requirements are also checked with GCC.
`make test-embedded` needs all of them except Wine, and prints how to install them.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import numpy as np
import pytest
from tests.support.exports import CC, STRICT, run

import linkwork as lw
from linkwork.errors import LinkworkError
from linkwork.export import check
from linkwork.export.requests import DEFAULT_FUNCTIONS

pytestmark = pytest.mark.slow

SIMULATION = ("inverse_dynamics", "forward_dynamics", "integrate")
SANITIZED = ("-fsanitize=undefined,address", "-fno-sanitize-recover=all", "-O0", "-g")
C_COMPILERS = ["cc", *filter(shutil.which, ["clang"])]
CPP_COMPILERS = ["g++", *filter(shutil.which, ["clang++"])]
CORTEX_M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
# Compiler, its options, and the prefix of the names of its tools.
TARGETS = {
    "this machine": (CC or "cc", (), ""),
    "Cortex-M4": ("arm-none-eabi-gcc", CORTEX_M4, "arm-none-eabi-"),
}
# Compilers for other machines and for Windows, and what runs their programs here.
EMULATED = {
    "32-bit ARM": ("arm-linux-gnueabihf-gcc", "qemu-arm-static"),
    "64-bit ARM": ("aarch64-linux-gnu-gcc", "qemu-aarch64-static"),
    "64-bit RISC-V": ("riscv64-linux-gnu-gcc", "qemu-riscv64-static"),
    "Windows": ("x86_64-w64-mingw32-gcc", shutil.which("wine64") or "/usr/lib/wine/wine64"),
}
LIBM = {"sinf", "cosf", "sqrtf", "atan2f", "sincosf", "fmaf"}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A floating robot, split into parts."""
    folder = tmp_path_factory.mktemp("exported")
    kd = lw.KinDyn(lw.robots.load("double_pendulum"), floating=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linkwork.engine.codegen.c.functions.LONGEST_UNCUT", 150)
        patch.setattr("linkwork.engine.codegen.c.functions.LONGEST_PART", 150)
        report = lw.export(kd, folder, SIMULATION, prefix="dp", check=False)
    assert any(row.work_bytes for row in report.rows)
    return folder


def sources(folder):
    return sorted(path.name for path in folder.glob("*.c"))


def library(folder):
    return [folder / name for name in sources(folder) if name.startswith("dp_")]


def test_the_self_test_passes_without_warnings_of_the_compiler(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "copy")
    run([CC, "-std=c99", "-O1", *STRICT, *sources(folder), "-lm", "-o", "selftest"], folder)
    printed = run(["./selftest"], folder)

    assert "passed  dp_inverse_dynamics" in printed
    assert "0 failures" in printed


def test_the_self_test_fails_where_a_result_is_wrong(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "copy")
    path = folder / "dp_inverse_dynamics.c"
    path.write_text(path.read_text("ascii").replace("9.80665", "9.80664"), "ascii")
    run([CC, "-O0", *sources(folder), "-lm", "-o", "selftest"], folder)

    with pytest.raises(AssertionError, match=r"(?s)FAILED  dp_inverse_dynamics .*1 failures"):
        run(["./selftest"], folder)


def has_sanitizers(compiler):
    """Whether the compiler links them: for Clang they are a separate package."""
    command = [compiler, *SANITIZED, "-x", "c", "-", "-o", "/dev/null"]
    code = b"int main(void) { return 0; }"
    return not subprocess.run(command, input=code, capture_output=True, check=False).returncode


@pytest.mark.parametrize("compiler", ["cc", *filter(has_sanitizers, C_COMPILERS[1:])])
def test_it_has_no_undefined_behavior(compiler, exported, tmp_path):
    """Sanitizers check the self-test."""
    command = [compiler, "-std=c99", *STRICT, *SANITIZED, exported / "selftest.c"]
    run([*command, *library(exported), "-lm", "-o", "selftest"], tmp_path)
    run(["./selftest"], tmp_path)


@pytest.mark.parametrize("compiler", C_COMPILERS)
def test_it_compiles_without_a_warning(compiler, exported, tmp_path):
    files = [exported / name for name in sources(exported)]
    run([compiler, "-std=c99", "-O2", "-fsyntax-only", *STRICT, *files], tmp_path)


def test_the_call_in_the_readme_compiles_and_runs(exported, tmp_path):
    lines = (
        (exported / "README.md").read_text("ascii").split("A call, with memory")[1].split("\n\n")
    )
    include, *declarations, call = [line.strip() for line in lines[1].splitlines()]
    program = "\n".join([include, *declarations, "int main(void)", "{", "  q[3] = 1.0;", call])
    (tmp_path / "call.c").write_text(f"{program}\n  return 0;\n}}\n", "ascii")
    command = [CC, "-std=c99", *STRICT, f"-I{exported}", "call.c", *library(exported)]
    run([*command, "-lm", "-o", "call"], tmp_path)
    run(["./call"], tmp_path)


@pytest.mark.parametrize("compiler", CPP_COMPILERS)
def test_it_is_cpp_as_well(compiler, exported, tmp_path):
    """It compiles and runs as C++17, and as a C library called from C++."""
    cpp = [compiler, "-x", "c++", "-std=c++17", *STRICT]
    run([*cpp, exported / "selftest.c", *library(exported), "-lm", "-o", "all"], tmp_path)
    for path in library(exported):
        run([CC, "-std=c99", "-c", path, "-o", f"{path.stem}.o"], tmp_path)
    run([*cpp, "-c", exported / "selftest.c", "-o", "selftest.o"], tmp_path)
    objects = sorted(tmp_path.glob("*.o"))
    run([compiler, *objects, "-lm", "-o", "mixed"], tmp_path)

    for program in ("./all", "./mixed"):
        assert "0 failures" in run([program], tmp_path)


def test_cmake_has_all_files(exported):
    code = (exported / "CMakeLists.txt").read_text("ascii")
    listed = code.split("add_library(dp")[1].split(")")[0].split()
    assert set(listed) == {name for name in sources(exported) if name.startswith("dp_")}


if shutil.which("cmake"):

    def test_cmake_builds_and_tests_it(exported, tmp_path):
        run(["cmake", "-S", exported, "-B", tmp_path, "-DCMAKE_BUILD_TYPE=Debug"], tmp_path)
        run(["cmake", "--build", tmp_path], tmp_path)
        assert "100% tests passed" in run(["ctest", "--test-dir", tmp_path], tmp_path)


def test_only_constants_are_global(exported, tmp_path):
    """There is no state between calls: no object has writable data."""
    for path in library(exported):
        run([CC, "-std=c99", "-c", path, "-o", "x.o"], tmp_path)
        symbols = run(["nm", "x.o"], tmp_path).split("\n")
        kinds = {line.split()[-2] for line in symbols if line}
        assert kinds <= {"T", "t", "r", "R", "U"}, (path, kinds)
        used = {line.split()[-1] for line in symbols if " U " in line}
        assert all(not one.endswith(("alloc", "free", "printf")) for one in used)


def test_no_function_calls_itself(exported):
    """Functions only call libm and functions defined before them in the file."""
    for path in library(exported):
        calls = check.called_functions({path.name: path.read_text("ascii")})
        names = list(calls)
        for k, called in enumerate(calls.values()):
            assert not called & set(names[k:])
        assert len(names) > 1


@pytest.mark.parametrize("name", [name for name, row in TARGETS.items() if shutil.which(row[0])])
def test_single_precision_for_a_small_processor(name, tmp_path, capsys):
    """No value becomes a double, the stack is small, and only libm is called."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False, dtype=np.float32)
    report = lw.export(kd, tmp_path, DEFAULT_FUNCTIONS, check=False)
    compiler, machine, tools = TARGETS[name]
    flags = ["-std=c99", "-Os", "-Wdouble-promotion", "-Wfloat-conversion", *STRICT]
    with capsys.disabled():
        print(f"\narm for {name}, {compiler} -Os: bytes")  # noqa: T201
        for symbol in (row.name for row in report.rows):
            command = [compiler, *machine, *flags, "-fstack-usage", "-c", f"{symbol}.c"]
            run([*command, "-o", f"{symbol}.o"], tmp_path)
            source = {f"{symbol}.c": (tmp_path / f"{symbol}.c").read_text("ascii")}
            stack = check.stacks_of(source, tmp_path)[symbol]
            code = int(run([f"{tools}size", f"{symbol}.o"], tmp_path).split("\n")[1].split()[0])
            print(f"  {symbol}: code {code:,}, stack {stack:,}")  # noqa: T201
            assert stack < 2048
            assert code < 24_576
            symbols = run([f"{tools}nm", f"{symbol}.o"], tmp_path).split("\n")
            used = {line.split()[-1] for line in symbols if " U " in line}
            assert used <= LIBM | {"_GLOBAL_OFFSET_TABLE_"}


def has_emulator(name):
    return all(map(shutil.which, EMULATED[name]))


@pytest.fixture(scope="module", params=[np.float64, np.float32], ids=["double", "float"])
def arm(request, tmp_path_factory):
    """Dynamics and a Jacobian of a robot arm."""
    folder = tmp_path_factory.mktemp("arm")
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False, dtype=request.param)
    lw.export(kd, folder, [*SIMULATION, "jacobian:tool"], prefix="dp", check=False)
    return folder


@pytest.mark.parametrize("options", ["-O0", "-O1 -ffp-contract=fast"])
@pytest.mark.parametrize("name", ["this machine", *filter(has_emulator, EMULATED)])
def test_other_processors_compute_the_results_of_the_kernels(name, options, arm, tmp_path):
    """The self-test, which holds results of the kernels, passes; also with fused multiply-add."""
    compiler, *emulator = EMULATED.get(name, (CC,))
    files = [arm / "selftest.c", *library(arm)]
    flags = ["-std=c99", *options.split(), "-static", *STRICT]
    run([compiler, *flags, *files, "-lm", "-o", "selftest.exe"], tmp_path)
    wine = {"WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
    printed = run([*emulator, "./selftest.exe"], tmp_path, env={**os.environ, **wine})

    assert "passed  dp_forward_dynamics" in printed
    assert "0 failures" in printed


def test_the_stack_is_bounded_however_long_a_function_is(tmp_path, monkeypatch):
    """Also without optimization, where each value of a part is on the stack."""
    monkeypatch.setattr(check, "OPTIONS", ("-std=c99", "-O0"))
    kd = lw.KinDyn(lw.robots.load("arm"))
    report = lw.export(kd, tmp_path, ["mass_matrix", "jacobian:tool"])

    assert all(0 < row.stack_bytes < 16_384 for row in report.rows)
    monkeypatch.setattr(check, "MOST_VALUES", 20)
    message = r"arm_jacobian_tool.*\d+ bytes.*\b160\b"
    with pytest.raises(LinkworkError, match=message):
        lw.export(kd, tmp_path / "new", ["jacobian:tool"])
    assert not (tmp_path / "new").exists()
