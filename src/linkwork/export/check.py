"""Compile the files of an export, compare them with the kernels, and write them.

A small C program reads rows of the inputs of a function from standard input and writes rows of the
outputs. No compiled code is loaded into this process.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

import numpy as np

from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.runtime.atomic_files import write_file
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, LinkworkError, WriteError, escaped, shown
from linkwork.export.code import Function, checks_norms
from linkwork.export.samples import Sample, difference

OPTIONS = ("-std=c99", "-O2")
COMPILE_LIMIT = 1800.0  # [s] for one call of the compiler; long functions take minutes
RUN_LIMIT = 120.0  # [s] for all other programs, which take about a second
MOST_VALUES = 2048  # on the stack of a function with any compiler: 16 KB in double precision
_SUMS = "SHA256SUMS"  # lists the digests of the files, so that edited ones are recognized
_DEFINITION = re.compile(r"^[\w ]*?\b(\w+)\([^;]*?\)\n\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """One C function. Values that need a compiler are None if there is none."""

    name: str
    operations: int
    work_bytes: int  # size of the workspace that the caller passes
    stack_bytes: int | None = None  # of the function and its deepest part, without libm
    object_bytes: int | None = None  # of the object file
    difference: float | None = None  # largest difference from the kernel, relative to the result
    allowed: float | None = None  # 1e-13 or 1e-5, more where the result is sensitive to rounding


@dataclass(frozen=True, slots=True)
class Report:
    """All functions of an export, and how they were compiled."""

    folder: Path
    files: tuple[str, ...]
    rows: tuple[Row, ...]
    compiler: str | None  # its name, version and options; None if there is none
    note: str = ""  # why the code was not checked

    columns: ClassVar[tuple[str, ...]] = (
        *("function", "operations", "work [B]", "stack [B]", "object [B]"),
        *("difference", "allowed"),
    )
    """Headings of the table."""

    def cells(self) -> Iterator[tuple[str, ...]]:
        """Format the rows of the table."""
        for row in self.rows:
            counts = (row.operations, row.work_bytes, row.stack_bytes, row.object_bytes)
            formatted = ("-" if count is None else f"{count:,}" for count in counts)
            errors = (row.difference, row.allowed)
            yield row.name, *formatted, *("-" if e is None else f"{e:.0e}" for e in errors)

    def summary(self) -> str:
        """Return a sentence that states how the code was checked."""
        if self.compiler is None:
            return f"Not compiled and not checked: {self.note}."
        meaning = "differences from linkwork's results are relative to the largest element of each"
        return f"Compiled by {self.compiler}; {meaning}."

    def markdown(self) -> str:
        """Return a table for the README."""
        lines = [self.summary(), "", f"| {' | '.join(self.columns)} |"]
        lines.append("|---" + "|---:" * (len(self.columns) - 1) + "|")
        lines += [f"| `{cells[0]}` | {' | '.join(cells[1:])} |" for cells in self.cells()]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class CheckedFunction:
    """A C function that the check calls."""

    row: Row  # facts that need no compiler; its name is that of the function in the report
    function: Function  # its inputs and outputs
    symbol: str  # name of the C function that is called
    object_file: str
    work: int = 0  # length of its workspace
    limited_stack: bool = True


@dataclass(frozen=True, slots=True)
class Build:
    """How the C files of an export are compiled, and the functions that are checked."""

    header: str  # declares all functions
    real: Real
    sources: Mapping[str, str]  # the C files with the functions: contents by name
    functions: tuple[CheckedFunction, ...]
    other_sources: tuple[str, ...] = ()  # further C files of the library
    programs: tuple[str, ...] = ()  # C files with a `main` that must return 0
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler."""

    command: tuple[str, ...]
    version: str  # the first line of `--version`

    def run(self, *arguments: str, folder: Path) -> None:
        """Run the compiler; raise with its messages if it fails."""
        done = _run([*self.command, *arguments], folder, limit=COMPILE_LIMIT)
        if done.returncode:
            command = " ".join((*self.command, *arguments))
            raise LinkworkError(f"the C compiler failed: {command}\n{_decoded(done.stderr)[:4000]}")


def find_compiler() -> Compiler | None:
    """Return the compiler in the variable CC, else cc, gcc or clang; None if there is none."""
    variable = os.environ.get("CC")
    for words in [shlex.split(variable)] if variable else [["cc"], ["gcc"], ["clang"]]:
        if words and shutil.which(words[0]):
            done = _run([*words, "--version"], Path.cwd())
            lines = _decoded(done.stdout).splitlines()
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
    force: bool,
) -> Report:
    """Write the files of an export to the user's folder if they agree with the kernels.

    Args:
        folder: destination; created if it does not exist.
        files: contents of all files except the README, by name.
        readme: name of the README, and a function from the report to its contents.
        build: how to compile.
        samples: inputs and results for each function of `build`; only used if `check` is set.
        check: whether to compile and compare.
        force: whether to overwrite files that were edited or that no export has written.

    Raises:
        ArgumentError: without `force`, if there is such a file.
        WriteError: the folder cannot be written, or is a file.
        LinkworkError: the C code does not compile, or differs from the kernels.
    """
    readme_name, readme_text = readme
    with _write_errors(folder):
        sums = _sums_in(folder)
        if not force:
            _reject_edited_files(folder, [*files, readme_name], sums)
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is a file; expected a folder")
    rows = tuple(one.row for one in build.functions)
    report = Report(folder, (*files, readme_name, _SUMS), rows, None)
    compiler = find_compiler() if check else None
    if compiler is None:
        note = "there is no C compiler" if check else "the check was disabled"
        report = replace(report, note=note)
    else:
        with tempfile.TemporaryDirectory(prefix="linkwork_export_") as name:
            _write_files(Path(name), files)
            rows = tuple(_verify(build, list(samples), Path(name), compiler))
        report = replace(report, rows=rows, compiler=f"{compiler.version}, {' '.join(OPTIONS)}")
    files = {**files, readme_name: readme_text(report)}
    sums |= {name: sha256(text.encode("ascii")).hexdigest() for name, text in files.items()}
    listed = "".join(f"{digest}  {name}\n" for name, digest in sums.items())
    with _write_errors(folder):
        _write_files(folder, {**files, _SUMS: listed})
    return report


@contextmanager
def _write_errors(folder: Path) -> Generator[None, None, None]:
    """Raise a `WriteError` for a folder that cannot be written."""
    try:
        yield
    except LinkworkError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        reason = getattr(error, "strerror", None) or error
        raise WriteError(f"cannot write to {shown(str(folder))}: {reason}") from None


def _sums_in(folder: Path) -> dict[str, str]:
    """Return the digests of files that earlier exports have written to a folder, by name."""
    path = folder / _SUMS
    lines = (
        path.read_text(encoding="ascii", errors="replace").splitlines() if path.is_file() else ()
    )
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _reject_edited_files(folder: Path, names: Iterable[str], sums: Mapping[str, str]) -> None:
    """Raise if a file would be overwritten that is not as an export has written it."""
    for name in names:
        path = folder / name
        if path.exists() and sha256(path.read_bytes()).hexdigest() != sums.get(name):
            reason = "was edited" if name in sums else "was not written by an export"
            hint = "choose another folder, or overwrite it with --force (in Python, force=True)"
            raise ArgumentError(f"{escaped(str(path))} {reason}; {hint}")


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, given as contents by name; names may contain subfolders."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text)


def _verify(
    build: Build, samples: Sequence[Sample], folder: Path, compiler: Compiler
) -> Iterator[Row]:
    """Compile the files in a folder, run them and compare; build products stay in the folder."""
    (folder / "lw_check.c").write_text(driver_text(build), encoding="ascii")
    stack = _stack_option(compiler, folder)
    library = [*build.sources, *build.other_sources]
    programs = [*build.programs, "lw_check.c"]
    for name in [*library, *programs]:
        arguments = (*OPTIONS, *stack, *build.options, "-c", name, "-o", _object(name))
        compiler.run(*arguments, folder=folder)
    objects = [_object(name) for name in library]
    for name in programs:
        program = _program(name, folder)
        compiler.run(_object(name), *objects, "-lm", "-o", program, folder=folder)
    for name in build.programs:
        done = _run([_program(name, folder)], folder)
        if done.returncode:
            raise LinkworkError(f"{name} of the export failed:\n{_decoded(done.stdout)}")
    stacks = stacks_of(build.sources, folder)
    for index, (one, sample) in enumerate(zip(build.functions, samples, strict=True)):
        name = one.row.name
        limit = MOST_VALUES * build.real.bytes
        if one.limited_stack and stacks.get(name, 0) > limit:
            message = f"{name} needs {stacks[name]} bytes of stack"
            raise LinkworkError(f"{message}; at most {limit} are allowed")
        results = c_results(build, index, sample.inputs, len(sample.outputs[0]), folder)
        error = difference(results, sample.outputs)
        if not error <= sample.allowed:
            message = f"{name}: the C code differs from the kernel by {error:.1e}"
            raise LinkworkError(f"{message} of the largest element; allowed {sample.allowed:.1e}")
        yield replace(
            one.row,
            stack_bytes=stacks.get(name),
            object_bytes=(folder / one.object_file).stat().st_size,
            difference=error,
            allowed=sample.allowed,
        )


def c_results(
    build: Build, index: int, inputs: Sequence[Array], rows: int, folder: Path
) -> list[Array]:
    """Compute (rows, size) of each output of a function with the program `lw_check` in a folder.

    Args:
        build: what the program was compiled from.
        index: index of the function in `build`.
        inputs: (rows, size) of each input.
        rows: number of rows.
        folder: folder of the program.
    """
    one = build.functions[index]
    dtype = np.float64 if build.real.name == "double" else np.float32
    parts = [part.astype(dtype) for part in inputs]
    data = np.concatenate(parts, axis=1).tobytes()
    done = _run([_program("lw_check.c", folder), str(index), str(rows)], folder, data)
    if done.returncode:
        message = f"{one.row.name}: the C function rejected its inputs or failed"
        raise LinkworkError(f"{message} ({done.returncode})")
    values = np.frombuffer(done.stdout, dtype)
    sizes = [argument.port.size for argument in one.function.outputs]
    return np.split(values.reshape(rows, sum(sizes)), np.cumsum(sizes)[:-1], axis=1)


def driver_text(build: Build) -> str:
    """Return the C program that calls one function with the rows that it reads."""
    lines = [f'#include "{build.header}"', "#include <stdio.h>", "#include <stdlib.h>"]
    lines += ["#ifdef _WIN32", "#include <fcntl.h>", "#include <io.h>", "#endif", ""]
    for index, one in enumerate(build.functions):
        lines += [f"static int run_{index}(size_t n)", "{"]
        lines += [f"  {line}" for line in _driver_lines(one, build.real.name)]
        lines += ["}", ""]
    lines += ["int main(int argc, char **argv)", "{"]
    lines += ["  const size_t n = argc == 3 ? (size_t)strtoul(argv[2], NULL, 10) : 0;"]
    lines += ["#ifdef _WIN32", "  _setmode(0, _O_BINARY);", "  _setmode(1, _O_BINARY);", "#endif"]
    lines += ["  switch (argc == 3 ? atoi(argv[1]) : -1) {"]
    lines += [f"  case {index}: return run_{index}(n);" for index in range(len(build.functions))]
    return "\n".join([*lines, "  default: return 2;", "  }", "}"]) + "\n"


def _driver_lines(one: CheckedFunction, t: str) -> Iterator[str]:
    """Yield statements that read inputs, call the function and write outputs."""
    function = one.function
    sizes = {a.name: f"{a.port.size}u + 1u" for a in (*function.inputs, *function.outputs)}
    sizes |= {"work": f"{one.work}u"} if one.work else {}
    for name, size in sizes.items():
        yield f"{t} *{name} = ({t} *)calloc({size}, sizeof({t}));"
    yield "for (size_t row = 0; row < n; ++row) {"
    for argument in function.inputs:
        count = f"{argument.port.size}u"
        yield f"  if (fread({argument.name}, sizeof({t}), {count}, stdin) != {count}) return 3;"
    call = f"{one.symbol}({', '.join(sizes)})"
    yield f"  if ({call}) return 4;" if checks_norms(function) else f"  {call};"
    for argument in function.outputs:
        count = f"{argument.port.size}u"
        yield f"  if (fwrite({argument.name}, sizeof({t}), {count}, stdout) != {count}) return 5;"
    yield "}"
    for name in sizes:
        yield f"free({name});"
    yield "return 0;"


def _stack_option(compiler: Compiler, folder: Path) -> list[str]:
    """Return the option that makes the compiler report stack sizes, if it supports one."""
    (folder / "lw_probe.c").write_text(
        "int lw_probe(void);\nint lw_probe(void) { return 0; }\n", "ascii"
    )
    command = [*compiler.command, "-fstack-usage", "-c", "lw_probe.c", "-o", "lw_probe.o"]
    _run(command, folder, limit=COMPILE_LIMIT)
    return ["-fstack-usage"] if (folder / "lw_probe.su").exists() else []


def stacks_of(sources: Mapping[str, str], folder: Path) -> dict[str, int]:
    """Return the stack of each public function in bytes, including the functions that it calls.

    For a function of many rows this includes the function of one row, which it calls at the end.
    """
    frames: dict[str, int] = {}
    for name in sources:
        path = folder / f"{name.removesuffix('.c')}.su"  # the compiler writes it next to the object
        if path.exists():
            rows = re.finditer(r":(\w+)\t(\d+)\t", path.read_text("utf-8"))
            frames |= {row[1]: int(row[2]) for row in rows}
    called = called_functions(sources)

    def total(name: str) -> int:
        inner = (total(other) for other in called.get(name, ()) if other != name)
        return frames.get(name, 0) + max(inner, default=0)

    return {name: total(name) for name in called if name in frames}


def called_functions(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return, for each function in generated C files, the names of the functions that it calls."""
    definitions = [match for text in sources.values() for match in _DEFINITION.finditer(text)]
    return {match[1]: set(re.findall(r"\b(\w+)\(", match[2])) for match in definitions}


def _object(source: str) -> str:
    return source.removesuffix(".c") + ".o"


def _program(source: str, folder: Path) -> str:
    """Return the path of a program: Windows needs the ending, and no path relative to `cwd`."""
    ending = ".exe" if os.name == "nt" else ""
    return str(folder.absolute() / f"{source.removesuffix('.c')}{ending}")


def _run(
    command: Sequence[str], folder: Path, data: bytes = b"", *, limit: float = RUN_LIMIT
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a folder, with data as its standard input.

    Raises:
        LinkworkError: it took longer than `limit` seconds and was stopped.
    """
    try:
        return subprocess.run(
            command, cwd=folder, input=data, capture_output=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        message = f"stopped after {limit:g} s: {' '.join(command)}"
        raise LinkworkError(f"{message}; check=False writes the files without this check") from None


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
