"""Compiles an export and compares it with the kernels, in a process of its own.

A small C program reads the rows of the inputs of a function from its standard input and writes
those of the outputs; no compiled code is loaded into this process.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import LinkworkError
from linkwork.export.code import can_refuse
from linkwork.export.function import BATCH_ENDING
from linkwork.export.package import Package, Written
from linkwork.export.pairs import operations_of
from linkwork.export.report import Row
from linkwork.export.samples import Sample, difference

OPTIONS = ("-std=c99", "-O2")
COMPILE_LIMIT = 1800.0  # [s] for one call of the compiler; long functions take minutes
RUN_LIMIT = 120.0  # [s] for everything else, which takes a second
MOST_VALUES = 2048  # in the stack of a function, however it is compiled: 16 KB in double precision
_DEFINITION = re.compile(r"^[\w ]*?\b(\w+)\([^;]*?\)\n\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler."""

    command: tuple[str, ...]
    version: str  # the first line that it tells about itself

    def run(self, *arguments: str, folder: Path) -> None:
        """Run it, or raise with what it says."""
        done = run([*self.command, *arguments], folder, limit=COMPILE_LIMIT)
        if done.returncode:
            text = " ".join((*self.command, *arguments))
            raise LinkworkError(f"the C compiler failed: {text}\n{_text(done.stderr)[:4000]}")


def found_compiler() -> Compiler | None:
    """The compiler that the environment names as CC, else cc, gcc or clang; None without one."""
    given = os.environ.get("CC")
    for words in [shlex.split(given)] if given else [["cc"], ["gcc"], ["clang"]]:
        if words and shutil.which(words[0]):
            done = run([*words, "--version"], Path.cwd())
            lines = _text(done.stdout).splitlines()
            return Compiler(tuple(words), lines[0].strip() if lines else words[0])
    return None


def verify(
    package: Package, samples: Sequence[Sample], folder: Path, compiler: Compiler
) -> list[Row]:
    """Compile the files in a folder and compare; raises if something is wrong.

    Args:
        package: what the files were written from.
        samples: for each function, inputs and results.
        folder: with the files; objects and programs are added.
        compiler: which one.
    """
    (folder / "lw_check.c").write_text(_driver(package), encoding="ascii")
    objects: list[str] = []
    for name in (*package.sources, "selftest.c", "main.c", "lw_check.c"):
        objects.append(name.removesuffix(".c") + ".o")
        stack = stack_option(compiler, folder) if name in package.sources else []
        compiler.run(*OPTIONS, *stack, "-c", name, "-o", objects[-1], folder=folder)
    *library, selftest, main, driver = objects
    for program, own in (("selftest", selftest), ("example", main), ("lw_check", driver)):
        compiler.run(own, *library, "-lm", "-o", f"./{program}", folder=folder)
    for program in ("selftest", "example"):
        done = run([f"./{program}"], folder)
        if done.returncode:
            raise LinkworkError(f"the {program} of the export failed:\n{_text(done.stdout)}")
    stacks = stacks_of(package.sources, folder)
    known = unchecked(package)
    rows: list[Row] = []
    for number, (one, sample) in enumerate(zip(package.functions, samples, strict=True)):
        for batch in (False, True) if one.batch else (False,):
            found = _found(package, one, sample, folder, number, batch=batch)
            name = f"{one.exported.function.name}{BATCH_ENDING if batch else ''}"
            file = package.prefix + (BATCH_ENDING if batch else "") if package.one_file else name
            limit = MOST_VALUES * package.real.bytes * (package.lanes if batch else 1)
            if stacks.get(name, 0) > limit:
                text = f"{name} takes {stacks[name]} bytes of stack"
                raise LinkworkError(f"{text}; at most {limit} are allowed")
            rows.append(
                replace(
                    next(row for row in known if row.name == name),
                    stack_bytes=stacks.get(name),
                    object_bytes=(folder / f"{file}.o").stat().st_size,
                    difference=compared(name, sample, found),
                    allowed=sample.allowed,
                )
            )
    return rows


def unchecked(package: Package) -> list[Row]:
    """What is known without a compiler."""
    rows: list[Row] = []
    for one in package.functions:
        function, size = one.exported.function, package.real.bytes
        operations, corrected = operations_of(function.program), function.corrected
        work = one.code.work * size
        rows.append(Row(function.name, operations, work, corrected=corrected))
        if one.batch:
            name, work = f"{function.name}{BATCH_ENDING}", one.batch.work * size
            rows.append(Row(name, operations, work, corrected=corrected))
    return rows


def compared(name: str, sample: Sample, found: Sequence[Array]) -> float:
    """How far C is from the kernel; raises if that is too far."""
    apart = difference(found, sample.outputs)
    if not apart <= sample.allowed:
        text = f"{name}: C differs from the kernel by {apart:.1e}"
        raise LinkworkError(f"{text} of the largest number; allowed {sample.allowed:.1e}")
    return apart


def _found(
    package: Package, one: Written, sample: Sample, folder: Path, number: int, *, batch: bool
) -> list[Array]:
    """What the C function gives."""
    dtype = np.float64 if package.real.name == "double" else np.float32
    rows = np.concatenate([part.astype(dtype) for part in sample.inputs], axis=1)
    n = len(sample.outputs[0])
    if batch:  # whole arrays one after the other
        data = b"".join(part.astype(dtype).tobytes() for part in sample.inputs)
    else:
        data = rows.tobytes()
    done = run(["./lw_check", str(2 * number + batch), str(n)], folder, data)
    if done.returncode:
        raise LinkworkError(f"{one.exported.function.name}: the C function refused its inputs")
    numbers = np.frombuffer(done.stdout, dtype)
    sizes = [a.port.size for a in one.exported.function.outputs]
    if batch:
        cuts = np.cumsum([n * size for size in sizes])[:-1]
        return [part.reshape(n, -1) for part in np.split(numbers, cuts)]
    return np.split(numbers.reshape(n, sum(sizes)), np.cumsum(sizes)[:-1], axis=1)


def _driver(package: Package) -> str:
    """The C program that calls one function with what it reads."""
    t = package.real.name
    lines = [f'#include "{package.prefix}.h"', "#include <stdio.h>", "#include <stdlib.h>", ""]
    cases: list[str] = []
    for number, one in enumerate(package.functions):
        for batch in (False, True) if one.batch else (False,):
            index = 2 * number + batch
            lines += [f"static int run_{index}(size_t n)", "{"]
            lines += [f"  {line}" for line in _run_lines(one, t, batch=batch)]
            lines += ["}", ""]
            cases.append(f"  case {index}: return run_{index}(n);")
    lines += ["int main(int argc, char **argv)", "{"]
    lines += ["  const size_t n = argc == 3 ? (size_t)strtoul(argv[2], NULL, 10) : 0;"]
    lines += ["  switch (argc == 3 ? atoi(argv[1]) : -1) {", *cases]
    return "\n".join([*lines, "  default: return 2;", "  }", "}"]) + "\n"


def _run_lines(one: Written, t: str, *, batch: bool) -> Iterator[str]:
    function, code = one.exported.function, one.batch if batch else one.code
    assert code
    arrays = (*function.inputs, *function.outputs)
    rows = "n" if batch else "1u"
    for argument in arrays:
        count = f"{rows} * {argument.port.size}u + 1u"
        yield f"{t} *{argument.name} = ({t} *)calloc({count}, sizeof({t}));"
    if code.work:
        yield f"{t} *work = ({t} *)calloc({code.work}u, sizeof({t}));"
    given = [*(["n"] if batch else []), *(a.name for a in arrays), *(["work"] if code.work else [])]
    yield f"for (size_t row = 0; row < {'1u' if batch else 'n'}; ++row) {{"
    for argument in function.inputs:
        count = f"{rows} * {argument.port.size}u"
        yield f"  if (fread({argument.name}, sizeof({t}), {count}, stdin) != {count}) return 3;"
    call = f"{function.name}{BATCH_ENDING if batch else ''}({', '.join(given)})"
    refused = f"{call} != n" if batch else call
    yield f"  if ({refused}) return 4;" if can_refuse(function) else f"  {call};"
    for argument in function.outputs:
        count = f"{rows} * {argument.port.size}u"
        yield f"  if (fwrite({argument.name}, sizeof({t}), {count}, stdout) != {count}) return 5;"
    yield "}"
    for argument in arrays:
        yield f"free({argument.name});"
    if code.work:
        yield "free(work);"
    yield "return 0;"


def stack_option(compiler: Compiler, folder: Path) -> list[str]:
    """The option that makes the compiler tell what stack each function takes, if it has it."""
    probe = folder / "lw_probe.c"
    if not probe.exists():
        probe.write_text("int lw_probe(void);\nint lw_probe(void) { return 0; }\n", "ascii")
        command = [*compiler.command, "-fstack-usage", "-c", probe.name, "-o", "lw_probe.o"]
        run(command, folder, limit=COMPILE_LIMIT)
    return ["-fstack-usage"] if (folder / "lw_probe.su").exists() else []


def stacks_of(sources: Mapping[str, str], folder: Path) -> dict[str, int]:
    """Bytes of stack of each public function: its own, and those of the deepest that it calls.

    The functions of one row that those of many rows call at the end are counted as well.
    """
    own: dict[str, int] = {}
    for name in sources:
        path = folder / f"{name.removesuffix('.c')}.su"
        own |= _stacks_of(path) if path.exists() else {}
    bodies = [pair for text in sources.values() for pair in _bodies(text)]
    called = {name: set(re.findall(r"\b(\w+)\(", body)) for name, body in bodies}

    def total(name: str) -> int:
        inner = (total(other) for other in called.get(name, ()) if other != name)
        return own.get(name, 0) + max(inner, default=0)

    return {name: total(name) for name in called if name in own}


def _stacks_of(path: Path) -> dict[str, int]:
    """Bytes of stack of each function, from the file that the compiler writes beside an object."""
    rows = re.finditer(r":(\w+)\t(\d+)\t", path.read_text("utf-8"))
    return {found[1]: int(found[2]) for found in rows}


def _bodies(text: str) -> Iterator[tuple[str, str]]:
    """Name and body of each function in a C text of ours."""
    for found in _DEFINITION.finditer(text):
        yield found[1], found[2]


def run(
    command: Sequence[str], folder: Path, data: bytes = b"", *, limit: float = RUN_LIMIT
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a folder, with some data as its input.

    Raises:
        LinkworkError: it takes longer than `limit` seconds, and was stopped.
    """
    try:
        return subprocess.run(
            command, cwd=folder, input=data, capture_output=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        text = f"stopped after {limit:g} s: {' '.join(command)}"
        raise LinkworkError(f"{text}; check=False writes the files without this check") from None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
