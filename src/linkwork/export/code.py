"""The C text of a function: its signature, the check of unit norms, and its program.

Quaternions after they were made unit are in the workspace, or on the stack if there is none.
"""

from __future__ import annotations

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
from linkwork.engine.symbolic.program import per_port
from linkwork.export.function import BATCH_ENDING, Argument, Function
from linkwork.export.names import Names


@dataclass(frozen=True, slots=True)
class Code:
    """The text of a C function and of the static functions it calls."""

    text: str
    work: int  # numbers in the workspace; if 0, the function takes none
    calls: frozenset[str] = frozenset()  # what it uses of `vector_support`


def scalar_code(function: Function, real: Real, names: Names) -> Code:
    """A function of one row; `names` are those that are taken."""
    return _Writer(function, Scalars(real), names).code()


def batch_code(function: Function, real: Real, names: Names, *, lanes: int, work: int) -> Code:
    """A function of any number of rows, of which `lanes` are computed at a time.

    Args:
        function: of one row, which computes what is left over at the end.
        real: type of the numbers.
        names: those that are taken.
        lanes: numbers in a vector.
        work: numbers in the workspace of the function of one row.
    """
    return _Writer(function, Vectors(real, lanes), names).batch(work)


def can_refuse(function: Function) -> bool:
    """Whether a function may find a norm that is not 1, and then returns something."""
    return bool(function.unit_norms)


def prototype(function: Function, real: Real, *, work: bool, batch: bool = False) -> str:
    """The declaration of a function, without the semicolon."""
    name = f"{function.name}{BATCH_ENDING if batch else ''}"
    result = ("size_t" if batch else "int") if can_refuse(function) else "void"
    listed = ["size_t rows"] if batch else []
    listed += [f"const {real.name} *{one.name}" for one in function.inputs]
    listed += [f"{real.name} *{one.name}" for one in function.outputs]
    listed += [f"{real.name} *work"] if work else []
    return f"{result} {name}({', '.join(listed)})"


class _Writer:
    """Writes the C text of one function."""

    def __init__(self, function: Function, form: Form, names: Names) -> None:
        self._function, self._form = function, form
        self._is_batch = form.lanes > 1
        self._parts = cut_for_c(function.program)
        self._is_cut = len(self._parts.pieces) > 1
        self._has_work = self._is_cut or bool(function.program.loops)
        self._array = "work" if self._has_work else "unit"  # holds what was made unit
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
        """Where each number of the inputs is: in an argument, or with those that were made unit."""
        function, form = self._function, self._form
        unit = _unit_indices(function)
        elements = ((one, k) for one in function.inputs for k in range(one.port.size))
        for number, (argument, index) in enumerate(elements):
            if number in unit:
                text = form.load(self._array, function.n_unit, unit[number])
                yield Source(self._array, text)
            else:
                yield Source(argument.name, form.load(argument.name, argument.port.size, index))

    def _targets(self) -> dict[int, list[Target]]:
        """By step: the numbers of outputs that it computes."""
        function, targets = self._function, dict[int, list[Target]]()
        results = per_port(function.program.outputs, function.program.results)
        for argument, steps in zip(
            function.outputs, (steps for _, steps in results if steps), strict=True
        ):
            for index, step in enumerate(steps):
                target = Target(argument.name, argument.port.size, index)
                targets.setdefault(step, []).append(target)
        return targets

    def code(self) -> Code:
        """The function of one row."""
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
        return Code("\n".join(lines) + "\n", n_work)

    def batch(self, scalar_work: int) -> Code:
        """The function of many rows."""
        function, form = self._function, self._form
        n_work = max(self._n_work, scalar_work)
        parts, calls = self._text()
        row = "row"
        head = prototype(function, form.real, work=bool(n_work), batch=True)
        lines = [*parts, restricted(head), "{", "  size_t row;"]
        for unit in function.unit_norms:
            source = self._at(function.inputs[unit.input], row, unit.offset)
            lines += ["  for (row = 0; row < rows; ++row) {"]
            lines += [f"    if (lw_is_far({source}, {unit.count})) {{", "      return row;"]
            lines += ["    }", "  }"]
        lines.append(f"  for (row = 0; rows - row >= {form.lanes}u; row += {form.lanes}u) {{")
        if function.unit_norms and not self._has_work:
            lines.append(f"    {form.real.name} unit[{function.n_unit * form.lanes}];")
        offset = 0
        for unit in function.unit_norms:
            source = self._at(function.inputs[unit.input], "(row + lane)", unit.offset)
            target = f"{self._array} + {function.n_unit}u * lane + {offset}"
            lines += [f"    for (size_t lane = 0; lane < {form.lanes}u; ++lane) {{"]
            lines += [f"      (void)lw_unit({source}, {unit.count}, {target});", "    }"]
            offset += unit.count
        lines += [f"  {line}" for line in calls]
        given = [self._at(one, row) for one in (*function.inputs, *function.outputs)]
        given += ["work"] if scalar_work else []
        void = "(void)" if function.unit_norms else ""
        lines += ["  }", "  for (; row < rows; ++row) {"]
        lines += [f"    {void}{function.name}({', '.join(given)});", "  }"]
        lines += ["  return rows;"] if function.unit_norms else []
        assert isinstance(form, Vectors)
        return Code("\n".join([*lines, "}"]) + "\n", n_work, frozenset(form.calls))

    @property
    def _n_work(self) -> int:
        """Numbers in the workspace."""
        if not self._has_work:
            return 0
        return self._form.lanes * (self._function.n_unit + self._parts.size)

    def _at(self, argument: Argument, row: str, offset: int = 0) -> str:
        """The address of a number of a row."""
        text = f"{argument.name} + {row} * {argument.port.size}u"
        return f"{text} + {offset}" if offset else text

    def _text(self) -> tuple[list[str], list[str]]:
        """Static functions, and the lines that call them; of a short program just the lines."""
        loops = list(self._printer.loops())
        if not self._is_cut and not self._is_batch:
            statements = self._printer.statements(self._parts.pieces[0])
            return loops, [f"  {line}" for line in statements]
        function = self._function
        arrays = [Parameter(one.name, self._given(one), True) for one in function.inputs]
        arrays.append(Parameter("unit", "unit", True))
        arrays += [Parameter(one.name, self._given(one), False) for one in function.outputs]
        texts, calls = self._printer.parts(arrays)
        return [*loops, *texts], [f"  {line}" for line in calls]

    def _given(self, argument: Argument) -> str:
        return self._at(argument, "row") if self._is_batch else argument.name

    def _unused(self) -> Iterator[str]:
        """Statements that mention parameters which the function does not need."""
        read = self._printer.arrays_read()
        read |= {self._function.inputs[unit.input].name for unit in self._function.unit_norms}
        for one in self._function.inputs:
            if one.name not in read:
                yield f"  (void){one.name};"


def _unit_indices(function: Function) -> dict[int, int]:
    """By the index of a number among all inputs: where its unit-norm copy stands."""
    starts = list(accumulate((one.port.size for one in function.inputs), initial=0))
    found: dict[int, int] = {}
    for unit in function.unit_norms:
        for k in range(unit.count):
            found[starts[unit.input] + unit.offset + k] = len(found)
    return found
