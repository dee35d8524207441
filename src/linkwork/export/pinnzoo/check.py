"""Compiles an export for PinnZoo and compares its wrappers with the kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import LinkworkError
from linkwork.export.check import OPTIONS, Compiler, compared, run, stack_option, stacks_of
from linkwork.export.package import Written
from linkwork.export.pinnzoo.code import name_of
from linkwork.export.pinnzoo.files import PinnZooPackage
from linkwork.export.report import Row
from linkwork.export.samples import Sample


def verify_pinnzoo(
    package: PinnZooPackage, samples: Sequence[Sample], folder: Path, compiler: Compiler
) -> list[Row]:
    """Compile the files in a folder and compare; raises if something is wrong.

    Args:
        package: what the files were written from.
        samples: for each function, inputs and results.
        folder: with the files; objects and programs are added.
        compiler: which one.
    """
    (folder / "lw_check.c").write_text(_driver(package), encoding="ascii")
    without = [] if package.space.bodies else ["-DPINNZOO_WITHOUT_KINEMATICS"]
    include = [f"-I{package.folder}", "-Isrc", *without]
    stack = stack_option(compiler, folder)
    objects: list[str] = []
    for name in (*package.sources, f"{package.folder}/vector_orders.c", "src/wrapper.c"):
        objects.append(name.removesuffix(".c") + ".o")
        compiler.run(*OPTIONS, *stack, *include, "-c", name, "-o", objects[-1], folder=folder)
    compiler.run(*OPTIONS, *include, "lw_check.c", *objects, "-lm", "-o", "lw_check", folder=folder)
    stacks = stacks_of(package.sources, folder)
    rows: list[Row] = []
    for number, (one, sample) in enumerate(zip(package.functions, samples, strict=True)):
        name, found = name_of(one), _found(one, sample, folder, number)
        rows.append(
            replace(
                unchecked_row(one),
                stack_bytes=stacks.get(name),
                object_bytes=(folder / package.folder / f"{name}.o").stat().st_size,
                difference=compared(name, sample, found),
                allowed=sample.allowed,
            )
        )
    return rows


def unchecked_row(one: Written) -> Row:
    """What is known without a compiler. The workspace is on the stack here."""
    return Row(name_of(one), one.exported.function.program.n_ops, 8 * one.code.work)


def _found(one: Written, sample: Sample, folder: Path, number: int) -> list[Array]:
    """What the C function gives."""
    rows = np.concatenate(sample.inputs, axis=1)
    command = ["./lw_check", str(number), str(len(rows))]
    done = run(command, folder, rows.tobytes())
    if done.returncode:
        raise LinkworkError(f"{name_of(one)}: the C function did not run ({done.returncode})")
    sizes = [output.port.size for output in one.exported.function.outputs]
    numbers = np.frombuffer(done.stdout, np.float64).reshape(len(rows), sum(sizes))
    return np.split(numbers, np.cumsum(sizes)[:-1], axis=1)


def _driver(package: PinnZooPackage) -> str:
    """The C program that calls one wrapper with what it reads, row by row."""
    lines = ['#include "wrapper.h"', "#include <stdio.h>", "#include <stdlib.h>", ""]
    for number, one in enumerate(package.functions):
        lines += [f"static int run_{number}(long rows)", "{"]
        lines += [f"  {line}" for line in _run_lines(one)]
        lines += ["}", ""]
    lines += ["int main(int argc, char **argv)", "{"]
    lines += ["  const long rows = argc == 3 ? atol(argv[2]) : 0;"]
    lines += ["  switch (argc == 3 ? atoi(argv[1]) : -1) {"]
    lines += [f"  case {k}: return run_{k}(rows);" for k in range(len(package.functions))]
    return "\n".join([*lines, "  default: return 2;", "  }", "}", ""])


def _run_lines(one: Written) -> Iterator[str]:
    function = one.exported.function
    arrays = (*function.inputs, *function.outputs)
    for argument in arrays:
        yield f"static double {argument.name}[{argument.port.size}];"
    yield "for (long row = 0; row < rows; ++row) {"
    for argument in function.inputs:
        size = argument.port.size
        yield f"  if (fread({argument.name}, sizeof(double), {size}, stdin) != {size}) return 3;"
    yield f"  {name_of(one)}_wrapper({', '.join(argument.name for argument in arrays)});"
    for argument in function.outputs:
        size = argument.port.size
        yield f"  if (fwrite({argument.name}, sizeof(double), {size}, stdout) != {size}) return 5;"
    yield "}"
    yield "return 0;"
