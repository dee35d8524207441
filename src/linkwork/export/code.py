"""C functions: their names, arguments and programs, and their code with the check of unit norms.

Identifiers   letters, digits and single underscores. Each has a prefix, so that it cannot be a
              keyword, macro or reserved name
Comments      characters that could end a comment, join lines or form a trigraph are written as %XX,
              their UTF-8 bytes, as in a URL; so different names stay different
Unit norms    normalized quaternions are stored in the workspace, or on the stack if there is none
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
from linkwork.engine.codegen.c.statements import Form, Real, Scalars, Vectors
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
# Endings of macro names: sizes of vectors of the robot, and of workspaces of functions.
SIZES = ("NQ", "NV", "WORK", "BATCH_WORK")
MACRO_ENDINGS = ("_work", "_batch_work")
# Other names that occur in the files of an export, or in the headers that they include.
_RESERVED = (
    *("lw_unit", "lw_is_far", "lw_vec", "lw_mask", "lw_loose", "lw_rows", "lw_store", "lw_set"),
    *("lw_one", "lw_zero", "lw_sincos", "lw_restrict", "lw_noinline"),
    *("lw_circle", "lw_is_fused", "lw_fma_rows"),
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


BATCH_ENDING = "_batch"  # ends the name of a function of many rows


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
    calls: frozenset[str] = frozenset()  # helpers of `vector_support` that it uses
    operations: frozenset[Op] = frozenset()  # of a function of one row


def scalar_code(function: Function, real: Real, names: Names) -> Code:
    """Generate a function of one row; `names` are used already."""
    return _Writer(function, Scalars(real), names).code()


def batch_code(function: Function, real: Real, names: Names, *, lanes: int, work: int) -> Code:
    """Generate a function of any number of rows, of which `lanes` are computed at a time.

    Args:
        function: the function of one row, which computes the remaining rows at the end.
        real: floating-point type.
        names: names that are used already.
        lanes: number of elements in a vector.
        work: length of the workspace of the function of one row.
    """
    return _Writer(function, Vectors(real, lanes), names).batch(work)


def checks_norms(function: Function) -> bool:
    """Return whether a function checks norms, and so returns an error code if one is not 1."""
    return bool(function.unit_norms)


def prototype(function: Function, real: Real, *, work: bool, batch: bool = False) -> str:
    """Return the declaration of a function, without the semicolon."""
    name = f"{function.name}{BATCH_ENDING if batch else ''}"
    result = ("size_t" if batch else "int") if checks_norms(function) else "void"
    parameters = ["size_t rows"] if batch else []
    parameters += [f"const {real.name} *{one.name}" for one in function.inputs]
    parameters += [f"{real.name} *{one.name}" for one in function.outputs]
    parameters += [f"{real.name} *work"] if work else []
    return f"{result} {name}({', '.join(parameters)})"


class _Writer:
    """Generates the C code of one function."""

    def __init__(self, function: Function, form: Form, names: Names) -> None:
        self._function, self._form = function, form
        self._is_batch = form.lanes > 1
        self._program = fused(function.program)
        self._parts = cut_for_c(self._program)
        self._is_cut = len(self._parts.pieces) > 1
        self._has_work = self._is_cut or bool(self._program.loops)
        self._array = "work" if self._has_work else "unit"  # holds the normalized elements
        self._printer = ProgramPrinter(
            self._parts,
            form,
            f"{function.name}{'_rows' if self._is_batch else ''}",
            names.new,
            inputs=list(self._sources()),
            targets=self._targets(),
            origin=function.n_unit,
        )

    def _sources(self) -> Iterator[Source]:
        """Yield the location of each input element: an argument, or the normalized elements."""
        function, form = self._function, self._form
        unit = _unit_indices(function)
        elements = ((one, k) for one in function.inputs for k in range(one.port.size))
        for flat_index, (argument, index) in enumerate(elements):
            if flat_index in unit:
                expression = form.load(self._array, function.n_unit, unit[flat_index])
                yield Source(self._array, expression)
            else:
                yield Source(argument.name, form.load(argument.name, argument.port.size, index))

    def _targets(self) -> dict[int, list[Target]]:
        """Return, by step, the output elements that it computes."""
        function, targets = self._function, dict[int, list[Target]]()
        results = per_port(self._program.outputs, self._program.results)
        for argument, steps in zip(
            function.outputs, (steps for _, steps in results if steps), strict=True
        ):
            for index, step in enumerate(steps):
                target = Target(argument.name, argument.port.size, index)
                targets.setdefault(step, []).append(target)
        return targets

    def code(self) -> Code:
        """Return the function of one row."""
        function, form = self._function, self._form
        n_work = self._n_work
        parts, calls = self._text()
        head = prototype(function, form.real, work=bool(n_work))
        lines = [*parts, restricted(head), "{"]
        if function.unit_norms and not self._has_work:
            lines.append(f"  {form.type} unit[{function.n_unit}];")
        offset = 0
        for unit in function.unit_norms:
            source = f"{function.inputs[unit.input].name} + {unit.offset}"
            call = f"lw_unit({source}, {unit.count}, {self._array} + {offset})"
            lines += [f"  if ({call}) {{", "    return 1;", "  }"]
            offset += unit.count
        lines += calls
        lines += [*self._unused(), *(["  return 0;"] if function.unit_norms else []), "}"]
        return Code("\n".join(lines) + "\n", n_work, operations=self._program.operations)

    def batch(self, scalar_work: int) -> Code:
        """Return the function of many rows."""
        function, form = self._function, self._form
        n_work = max(self._n_work, scalar_work)
        parts, calls = self._text()
        row = "row"
        head = prototype(function, form.real, work=bool(n_work), batch=True)
        lines = [*parts, restricted(head), "{", "  size_t row;"]
        for unit in function.unit_norms:
            source = self._address(function.inputs[unit.input], row, unit.offset)
            lines += ["  for (row = 0; row < rows; ++row) {"]
            lines += [f"    if (lw_is_far({source}, {unit.count})) {{", "      return row;"]
            lines += ["    }", "  }"]
        lines.append(f"  for (row = 0; rows - row >= {form.lanes}u; row += {form.lanes}u) {{")
        if function.unit_norms and not self._has_work:
            lines.append(f"    {form.real.name} unit[{function.n_unit * form.lanes}];")
        offset = 0
        for unit in function.unit_norms:
            source = self._address(function.inputs[unit.input], "(row + lane)", unit.offset)
            target = f"{self._array} + {function.n_unit}u * lane + {offset}"
            lines += [f"    for (size_t lane = 0; lane < {form.lanes}u; ++lane) {{"]
            lines += [f"      (void)lw_unit({source}, {unit.count}, {target});", "    }"]
            offset += unit.count
        lines += [f"  {line}" for line in calls]
        arguments = [self._address(one, row) for one in (*function.inputs, *function.outputs)]
        arguments += ["work"] if scalar_work else []
        void = "(void)" if function.unit_norms else ""
        lines += ["  }", "  for (; row < rows; ++row) {"]
        lines += [f"    {void}{function.name}({', '.join(arguments)});", "  }"]
        lines += ["  return rows;"] if function.unit_norms else []
        assert isinstance(form, Vectors)
        return Code("\n".join([*lines, "}"]) + "\n", n_work, frozenset(form.calls))

    @property
    def _n_work(self) -> int:
        """Length of the workspace."""
        if not self._has_work:
            return 0
        return self._form.lanes * (self._function.n_unit + self._parts.size)

    def _address(self, argument: Argument, row: str, offset: int = 0) -> str:
        """Return the address of an element of a row."""
        address = f"{argument.name} + {row} * {argument.port.size}u"
        return f"{address} + {offset}" if offset else address

    def _text(self) -> tuple[list[str], list[str]]:
        """Return static functions and the lines that call them; only lines for a short program."""
        loops = list(self._printer.loops())
        if not self._is_cut and not self._is_batch:
            statements = self._printer.statements(self._parts.pieces[0])
            return loops, [f"  {line}" for line in statements]
        function = self._function
        arrays = [Parameter(one.name, self._passed(one), True) for one in function.inputs]
        arrays.append(Parameter("unit", "unit", True))
        arrays += [Parameter(one.name, self._passed(one), False) for one in function.outputs]
        texts, calls = self._printer.parts(arrays)
        return [*loops, *texts], [f"  {line}" for line in calls]

    def _passed(self, argument: Argument) -> str:
        return self._address(argument, "row") if self._is_batch else argument.name

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
