"""C functions: their names, arguments and programs, and their code with the check of unit norms.

Identifiers   letters, digits and single underscores. Each has a prefix, so that it cannot be a
              keyword, macro or reserved name
Comments      characters that could end a comment, join lines or form a trigraph are written as %XX,
              their UTF-8 bytes, as in a URL; so different names stay different
Unit norms    normalized quaternions are stored in the workspace, or on the stack if there is none
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from linkwork.engine.codegen.c.functions import (
    Parameter,
    ProgramPrinter,
    Source,
    Target,
    cut_for_c,
    restricted,
)
from linkwork.engine.codegen.c.statements import Real, Statements
from linkwork.engine.kernel.arguments import UnitNorm
from linkwork.engine.symbolic.fusion import fused
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Port, Program, per_port
from linkwork.errors import ArgumentError, shown

LONGEST_PART = 48  # characters of a name in an identifier; file systems allow 255 in total
# A prefix is also a file name: it must differ from these files and from the headers of C.
_USED_FILE_NAMES = frozenset(
    (
        *("main", "selftest", "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes"),
        *("iso646", "limits", "locale", "math", "setjmp", "signal", "stdarg", "stdbool", "stddef"),
        *("stdint", "stdio", "stdlib", "string", "tgmath", "time", "wchar", "wctype", "lw"),
    )
)
# Endings of macro names: sizes of vectors of the robot, and of the longest workspace.
SIZES = ("NQ", "NV", "WORK")
# Other names that occur in the files of an export, or in the headers that they include.
_RESERVED = (
    *("lw_unit", "lw_noinline", "lw_restrict", "lw_circle"),
    *(f"lw_{op.name.lower()}" for op in Op),
    *("size_t", "ssize_t", "wchar_t", "ptrdiff_t", "max_align_t", "float_t", "double_t", "off_t"),
    *("fpos_t", "va_list", "math_errhandling"),
)
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


def identifier_part(text: str) -> str:
    """Convert a string to part of an identifier; other than ASCII letters and digits become `_`."""
    part = re.sub(r"[^A-Za-z0-9]+", "_", text)[:LONGEST_PART].strip("_")
    return part or "x"


def comment_text(text: str) -> str:
    """Escape a string for comments in C, Markdown and makefiles."""
    return re.sub(
        r"[^A-Za-z0-9 _.,:+=@^()\[\]/-]",
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass")),
        text,
    )


def checked_prefix(prefix: object) -> str:
    """Return the user's prefix; raise if names that begin with it would be invalid in C."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix) or len(prefix) > LONGEST_PART:
        message = "prefix: expected a letter, then letters, digits and single underscores"
        raise ArgumentError(f"{message}, at most {LONGEST_PART} characters; got {shown(prefix)}")
    if prefix.lower() in _USED_FILE_NAMES:
        message = f"prefix: {prefix!r} is the name of another file or header; choose another one"
        raise ArgumentError(message)
    return prefix


def default_prefix(name: str) -> str:
    """Return the prefix derived from the name of a robot."""
    part = identifier_part(name).lower()
    is_free = part[0].isalpha() and part not in _USED_FILE_NAMES
    return part if is_free else f"robot_{part}"[:LONGEST_PART].rstrip("_")


class Names:
    """The identifiers of an export, each unique even when case is ignored.

    Macros are in capitals, and some file systems ignore case.
    """

    def __init__(self, prefix: str = "") -> None:
        """Reserve the names of the macros and files that begin with a prefix."""
        self._used = {*_RESERVED, *(f"{prefix}_{name}".lower() for name in ("h", *SIZES))}

    def new(self, name: str, *endings: str) -> str:
        """Return a name, with a number if it, or it with one of the endings, is used already."""
        unique, number = name, 1
        while any(form in self._used for form in _forms(unique, endings)):
            number += 1
            unique = f"{name}_{number}"
        self._used.update(_forms(unique, endings))
        return unique


def _forms(name: str, endings: tuple[str, ...]) -> list[str]:
    return [name.lower(), *(f"{name}{ending}".lower() for ending in endings)]


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a C function: an array in C order."""

    name: str  # in C
    port: Port
    description: str = ""  # for the header


@dataclass(frozen=True, slots=True)
class Function:
    """A C function."""

    name: str  # in C
    title: str  # description of what it computes, for the header
    program: Program
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    unit_norms: tuple[UnitNorm, ...] = ()

    @property
    def n_unit(self) -> int:
        """Number of input elements that belong to a quaternion or a (cos, sin) pair."""
        return sum(unit.count for unit in self.unit_norms)


@dataclass(frozen=True, slots=True)
class Code:
    """The source of a C function and of the static functions it calls."""

    text: str
    work: int  # length of the workspace; if 0, the function has none
    operations: frozenset[Op]


def code_of(function: Function, real: Real, names: Names) -> Code:
    """Generate the code of a function; `names` are used already."""
    return _Writer(function, real, names).code()


def checks_norms(function: Function) -> bool:
    """Return whether a function checks norms, and so returns an error code if one is not 1."""
    return bool(function.unit_norms)


def prototype(function: Function, real: Real, *, work: bool) -> str:
    """Return the declaration of a function, without the semicolon."""
    result = "int" if checks_norms(function) else "void"
    parameters = [f"const {real.name} *{one.name}" for one in function.inputs]
    parameters += [f"{real.name} *{one.name}" for one in function.outputs]
    parameters += [f"{real.name} *work"] if work else []
    return f"{result} {function.name}({', '.join(parameters)})"


CMAKE_HEAD = """\
cmake_minimum_required(VERSION 3.10)
project({project} C)

set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
"""


def guarded(guard: str, declarations: Sequence[str], macros: Sequence[str] = ()) -> list[str]:
    """Return the lines of a header: macros, and declarations for C and C++."""
    lines = [f"#ifndef {guard}", f"#define {guard}", "", *macros]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", "", *declarations]
    return [*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]


class _Writer:
    """Generates the C code of one function."""

    def __init__(self, function: Function, real: Real, names: Names) -> None:
        self._function, self._real = function, real
        self._program = fused(function.program)
        self._parts = cut_for_c(self._program)
        self._is_cut = len(self._parts.pieces) > 1
        self._has_work = self._is_cut or bool(self._program.loops)
        self._array = "work" if self._has_work else "unit"  # holds the normalized elements
        self._printer = ProgramPrinter(
            self._parts,
            Statements(real),
            function.name,
            names.new,
            inputs=list(self._sources()),
            targets=self._targets(),
            origin=function.n_unit,
        )

    def _sources(self) -> Iterator[Source]:
        """Yield the location of each input element: an argument, or the normalized elements."""
        unit = _unit_indices(self._function)
        elements = ((one, k) for one in self._function.inputs for k in range(one.port.size))
        for flat_index, (argument, index) in enumerate(elements):
            array = argument.name
            if flat_index in unit:
                array, index = self._array, unit[flat_index]  # noqa: PLW2901
            yield Source(array, f"{array}[{index}]")

    def _targets(self) -> dict[int, list[Target]]:
        """Return, by step, the output elements that it computes."""
        function, targets = self._function, dict[int, list[Target]]()
        results = per_port(self._program.outputs, self._program.results)
        for argument, steps in zip(
            function.outputs, (steps for _, steps in results if steps), strict=True
        ):
            for index, step in enumerate(steps):
                targets.setdefault(step, []).append(Target(argument.name, index))
        return targets

    def code(self) -> Code:
        """Return the function, and the static functions that it calls."""
        function = self._function
        n_work = function.n_unit + self._parts.size if self._has_work else 0
        parts, calls = self._text()
        head = prototype(function, self._real, work=bool(n_work))
        lines = [*parts, restricted(head), "{"]
        if function.unit_norms and not self._has_work:
            lines.append(f"  {self._real.name} unit[{function.n_unit}];")
        offset = 0
        for unit in function.unit_norms:
            source = f"{function.inputs[unit.input].name} + {unit.offset}"
            call = f"lw_unit({source}, {unit.count}, {self._array} + {offset})"
            lines += [f"  if ({call}) {{", "    return 1;", "  }"]
            offset += unit.count
        lines += calls
        lines += [*self._unused(), *(["  return 0;"] if function.unit_norms else []), "}"]
        return Code("\n".join(lines) + "\n", n_work, self._program.operations)

    def _text(self) -> tuple[list[str], list[str]]:
        """Return static functions and the lines that call them; only lines for a short program."""
        loops = list(self._printer.loops())
        if not self._is_cut:
            statements = self._printer.statements(self._parts.pieces[0])
            return loops, [f"  {line}" for line in statements]
        function = self._function
        arrays = [Parameter(one.name, one.name, True) for one in function.inputs]
        arrays.append(Parameter("unit", "unit", True))
        arrays += [Parameter(one.name, one.name, False) for one in function.outputs]
        texts, calls = self._printer.parts(arrays)
        return [*loops, *texts], [f"  {line}" for line in calls]

    def _unused(self) -> Iterator[str]:
        """Yield statements that mention unused parameters."""
        read = self._printer.arrays_read()
        read |= {self._function.inputs[unit.input].name for unit in self._function.unit_norms}
        for one in self._function.inputs:
            if one.name not in read:
                yield f"  (void){one.name};"


def _unit_indices(function: Function) -> dict[int, int]:
    """Return the index of the normalized copy of each input element that has one."""
    starts = list(accumulate((one.port.size for one in function.inputs), initial=0))
    indices: dict[int, int] = {}
    for unit in function.unit_norms:
        for k in range(unit.count):
            indices[starts[unit.input] + unit.offset + k] = len(indices)
    return indices
