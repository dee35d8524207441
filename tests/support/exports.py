"""Programs and robots as compiled C, run in a separate process."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np

import linkwork as lw
from linkwork.engine.codegen.c.statements import DOUBLE
from linkwork.engine.symbolic.program import values_of
from linkwork.export.check import c_results, driver_text
from linkwork.export.code import Argument, Function, Names
from linkwork.export.files import header_text
from linkwork.export.package import package_of
from linkwork.export.requests import Exported
from linkwork.export.write import build_of

STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror")
CC = shutil.which("cc")


def function_of(program, name="lw_test_f", unit_norms=()):
    """A C function with the names of the ports of a program, which must be valid in C."""
    inputs = tuple(Argument(f"in_{port.name}", port) for port in program.inputs)
    outputs = tuple(Argument(f"out_{port.name}", port) for port in program.outputs)
    return Function(name, "a test", values_of(program), inputs, outputs, unit_norms)


def package_for(program, real=DOUBLE, unit_norms=()):
    """A package with one function; the robot does not matter."""
    kd = lw.KinDyn(lw.robots.load("pendulum"), floating=False)
    one = Exported(function_of(values_of(program), unit_norms=unit_norms), None)  # pyright: ignore
    return package_of(kd, [one], prefix="lw_test", real=real, names=Names())


def build(package, folder, *flags, compiler=CC):
    """Compile the functions of a package, without a warning, and the program that calls them."""
    files = {"lw_test.h": header_text(package), **package.sources}
    for name, text in files.items():
        (folder / name).write_text(text, "ascii")
    (folder / "lw_check.c").write_text(driver_text(build_of(package)), "ascii")
    command = [compiler, "-std=c99", "-O1", *STRICT, *flags, *package.sources, "lw_check.c"]
    run([*command, "-lm", "-o", "lw_check"], folder)


def results(package, folder, *inputs):
    """(rows, size) of each output, computed by C; inputs are (rows, size) arrays."""
    rows = [np.asarray(part, float).reshape(len(part), -1) for part in inputs]
    rows = rows or [np.empty((1, 0))]
    return c_results(build_of(package), 0, rows, len(rows[0]), folder)


def run(command, folder, **options):
    """Run a command that must succeed without warnings."""
    done = subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def assert_four_ulp(got, expected):
    """Check that values are equal up to four units in the last place, and NaN where expected."""
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    equal = (np.isnan(got) & np.isnan(expected)) | (got == expected)
    with np.errstate(invalid="ignore"):
        near = np.abs(got - expected) <= 4 * np.spacing(np.abs(expected))
    assert (equal | near).all(), (got, expected)
