"""Compiles the files of an export, compares them with the kernels, and then writes them.

A small C program reads the rows of the inputs of a function from its standard input and writes
those of the outputs; no compiled code is loaded into this process.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, LinkworkError, escaped
from linkwork.export.code import can_refuse
from linkwork.export.function import Function
from linkwork.export.package import MARK
from linkwork.export.report import Report, Row
from linkwork.export.samples import Sample, difference

OPTIONS = ("-std=c99", "-O2")
COMPILE_LIMIT = 1800.0  # [s] for one call of the compiler; long functions take minutes
RUN_LIMIT = 120.0  # [s] for everything else, which takes a second
MOST_VALUES = 2048  # in the stack of a function, however it is compiled: 16 KB in double precision
_MARKED_BYTES = 400  # the mark is within so many at the start of a file
_DEFINITION = re.compile(r"^[\w ]*?\b(\w+)\([^;]*?\)\n\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CheckedFunction:
    """A C function that the check calls."""

    row: Row  # what is known without a compiler; its name is that of the function in the report
    function: Function  # its inputs and outputs
    symbol: str  # name of the C function that is called
    object_file: str
    work: int = 0  # numbers in the workspace that it takes
    lanes: int = 0  # if not 0, it takes all rows in one call, and computes so many at a time
    limited_stack: bool = True


@dataclass(frozen=True, slots=True)
class Build:
    """How the C files of an export are compiled, and the functions that are checked."""

    header: str  # declares all functions
    real: Real
    sources: Mapping[str, str]  # the C files with the functions: names and texts
    functions: tuple[CheckedFunction, ...]
    other_sources: tuple[str, ...] = ()  # that belong to the library
    programs: tuple[str, ...] = ()  # C files with a `main` that must return 0
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler."""

    command: tuple[str, ...]
    version: str  # the first line that it prints about itself

    def run(self, *arguments: str, folder: Path) -> None:
        """Run it, or raise with its messages."""
        done = _run([*self.command, *arguments], folder, limit=COMPILE_LIMIT)
        if done.returncode:
            text = " ".join((*self.command, *arguments))
            raise LinkworkError(f"the C compiler failed: {text}\n{_text(done.stderr)[:4000]}")


def find_compiler() -> Compiler | None:
    """The compiler that the environment names as CC, else cc, gcc or clang; None without one."""
    variable = os.environ.get("CC")
    for words in [shlex.split(variable)] if variable else [["cc"], ["gcc"], ["clang"]]:
        if words and shutil.which(words[0]):
            done = _run([*words, "--version"], Path.cwd())
            lines = _text(done.stdout).splitlines()
            return Compiler(tuple(words), lines[0].strip() if lines else words[0])
    return None


def write_checked(
    folder: Path,
    files: Mapping[str, str],
    readme: tuple[str, Callable[[Report], str]],
    build: Build,
    samples: Iterable[Sample],
    *,
    check: bool,
) -> Report:
    """Write the files of an export to the user's folder if they agree with the kernels.

    Args:
        folder: where to write; created if it does not exist.
        files: names and texts of all files but the README.
        readme: name of the README, and its text from the report.
        build: how to compile.
        samples: for each function of `build`, inputs and results; read only if there is a check.
        check: whether to compile and compare.

    Raises:
        ArgumentError: a file of the folder was not written by an export.
        LinkworkError: the C code does not compile, or differs from the kernels.
    """
    readme_name, readme_text = readme
    _reject_foreign_files(folder, [*files, readme_name])
    rows = tuple(one.row for one in build.functions)
    report = Report(folder, (*files, readme_name), rows, None)
    compiler = find_compiler() if check else None
    if compiler is None:
        note = "there is no C compiler" if check else "it was not asked for"
        report = replace(report, note=note)
    else:
        with tempfile.TemporaryDirectory(prefix="linkwork_export_") as name:
            _write_files(Path(name), files)
            rows = tuple(_verify(build, list(samples), Path(name), compiler))
        report = replace(report, rows=rows, compiler=f"{compiler.version}, {' '.join(OPTIONS)}")
    _write_files(folder, {**files, readme_name: readme_text(report)})
    return report


def _reject_foreign_files(folder: Path, names: Iterable[str]) -> None:
    """Raise if a file would be replaced that no export has written."""
    for name in names:
        path = folder / name
        if path.exists() and MARK.encode() not in path.read_bytes()[:_MARKED_BYTES]:
            text = f"{escaped(str(path))} was not written by linkwork and is not replaced"
            raise ArgumentError(f"{text}; choose another folder")


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts by the names of their files, which may be in subfolders."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii", newline="\n")


def _verify(
    build: Build, samples: Sequence[Sample], folder: Path, compiler: Compiler
) -> Iterator[Row]:
    """Compile the files in a folder, run them and compare; objects and programs are added to it."""
    (folder / "lw_check.c").write_text(driver_text(build), encoding="ascii")
    stack = _stack_option(compiler, folder)
    library = [*build.sources, *build.other_sources]
    programs = [*build.programs, "lw_check.c"]
    for name in [*library, *programs]:
        arguments = (*OPTIONS, *stack, *build.options, "-c", name, "-o", _object(name))
        compiler.run(*arguments, folder=folder)
    objects = [_object(name) for name in library]
    for name in programs:
        program = f"./{name.removesuffix('.c')}"
        compiler.run(_object(name), *objects, "-lm", "-o", program, folder=folder)
    for name in build.programs:
        done = _run([f"./{name.removesuffix('.c')}"], folder)
        if done.returncode:
            raise LinkworkError(f"{name} of the export failed:\n{_text(done.stdout)}")
    stacks = stacks_of(build.sources, folder)
    for index, (one, sample) in enumerate(zip(build.functions, samples, strict=True)):
        name = one.row.name
        limit = MOST_VALUES * build.real.bytes * max(one.lanes, 1)
        if one.limited_stack and stacks.get(name, 0) > limit:
            text = f"{name} takes {stacks[name]} bytes of stack"
            raise LinkworkError(f"{text}; at most {limit} are allowed")
        results = c_results(build, index, sample.inputs, len(sample.outputs[0]), folder)
        apart = difference(results, sample.outputs)
        if not apart <= sample.allowed:
            text = f"{name}: C differs from the kernel by {apart:.1e}"
            raise LinkworkError(f"{text} of the largest number; allowed {sample.allowed:.1e}")
        yield replace(
            one.row,
            stack_bytes=stacks.get(name),
            object_bytes=(folder / one.object_file).stat().st_size,
            difference=apart,
            allowed=sample.allowed,
        )


def c_results(
    build: Build, index: int, inputs: Sequence[Array], rows: int, folder: Path
) -> list[Array]:
    """(rows, size) of each output of a function, computed by the program `lw_check` in a folder.

    Args:
        build: what the program was compiled from.
        index: of the function in `build`.
        inputs: (rows, size) of each input.
        rows: how many there are.
        folder: with the program.
    """
    one = build.functions[index]
    dtype = np.float64 if build.real.name == "double" else np.float32
    parts = [part.astype(dtype) for part in inputs]
    if one.lanes:  # whole arrays one after the other
        data = b"".join(part.tobytes() for part in parts)
    else:
        data = np.concatenate(parts, axis=1).tobytes()
    done = _run(["./lw_check", str(index), str(rows)], folder, data)
    if done.returncode:
        text = f"{one.row.name}: the C function rejected its inputs or failed"
        raise LinkworkError(f"{text} ({done.returncode})")
    numbers = np.frombuffer(done.stdout, dtype)
    sizes = [argument.port.size for argument in one.function.outputs]
    if one.lanes:
        cuts = np.cumsum([rows * size for size in sizes])[:-1]
        return [part.reshape(rows, -1) for part in np.split(numbers, cuts)]
    return np.split(numbers.reshape(rows, sum(sizes)), np.cumsum(sizes)[:-1], axis=1)


def driver_text(build: Build) -> str:
    """The C program that calls one function with what it reads."""
    lines = [f'#include "{build.header}"', "#include <stdio.h>", "#include <stdlib.h>", ""]
    for index, one in enumerate(build.functions):
        lines += [f"static int run_{index}(size_t n)", "{"]
        lines += [f"  {line}" for line in _driver_lines(one, build.real.name)]
        lines += ["}", ""]
    lines += ["int main(int argc, char **argv)", "{"]
    lines += ["  const size_t n = argc == 3 ? (size_t)strtoul(argv[2], NULL, 10) : 0;"]
    lines += ["  switch (argc == 3 ? atoi(argv[1]) : -1) {"]
    lines += [f"  case {index}: return run_{index}(n);" for index in range(len(build.functions))]
    return "\n".join([*lines, "  default: return 2;", "  }", "}"]) + "\n"


def _driver_lines(one: CheckedFunction, t: str) -> Iterator[str]:
    """Statements that read inputs, call the function and write outputs, row by row or at once."""
    function = one.function
    arrays = (*function.inputs, *function.outputs)
    rows = "n" if one.lanes else "1u"
    for argument in arrays:
        count = f"{rows} * {argument.port.size}u + 1u"
        yield f"{t} *{argument.name} = ({t} *)calloc({count}, sizeof({t}));"
    if one.work:
        yield f"{t} *work = ({t} *)calloc({one.work}u, sizeof({t}));"
    passed = [argument.name for argument in arrays]
    passed = [*(["n"] if one.lanes else []), *passed, *(["work"] if one.work else [])]
    yield f"for (size_t row = 0; row < {'1u' if one.lanes else 'n'}; ++row) {{"
    for argument in function.inputs:
        count = f"{rows} * {argument.port.size}u"
        yield f"  if (fread({argument.name}, sizeof({t}), {count}, stdin) != {count}) return 3;"
    call = f"{one.symbol}({', '.join(passed)})"
    rejected = f"{call} != n" if one.lanes else call
    yield f"  if ({rejected}) return 4;" if can_refuse(function) else f"  {call};"
    for argument in function.outputs:
        count = f"{rows} * {argument.port.size}u"
        yield f"  if (fwrite({argument.name}, sizeof({t}), {count}, stdout) != {count}) return 5;"
    yield "}"
    for argument in arrays:
        yield f"free({argument.name});"
    if one.work:
        yield "free(work);"
    yield "return 0;"


def _stack_option(compiler: Compiler, folder: Path) -> list[str]:
    """The option that makes the compiler report the stack of each function, if it has it."""
    (folder / "lw_probe.c").write_text(
        "int lw_probe(void);\nint lw_probe(void) { return 0; }\n", "ascii"
    )
    command = [*compiler.command, "-fstack-usage", "-c", "lw_probe.c", "-o", "lw_probe.o"]
    _run(command, folder, limit=COMPILE_LIMIT)
    return ["-fstack-usage"] if (folder / "lw_probe.su").exists() else []


def stacks_of(sources: Mapping[str, str], folder: Path) -> dict[str, int]:
    """Bytes of stack of each public function: its own, and those of the deepest that it calls.

    The functions of one row that those of many rows call at the end are counted as well.
    """
    frames: dict[str, int] = {}
    for name in sources:
        path = folder / f"{name.removesuffix('.c')}.su"  # the compiler writes it beside the object
        if path.exists():
            rows = re.finditer(r":(\w+)\t(\d+)\t", path.read_text("utf-8"))
            frames |= {row[1]: int(row[2]) for row in rows}
    called = called_functions(sources)

    def total(name: str) -> int:
        inner = (total(other) for other in called.get(name, ()) if other != name)
        return frames.get(name, 0) + max(inner, default=0)

    return {name: total(name) for name in called if name in frames}


def called_functions(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """By function in C files of ours, in their order: the names of the functions that it calls."""
    definitions = [match for text in sources.values() for match in _DEFINITION.finditer(text)]
    return {match[1]: set(re.findall(r"\b(\w+)\(", match[2])) for match in definitions}


def _object(source: str) -> str:
    return source.removesuffix(".c") + ".o"


def _run(
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
