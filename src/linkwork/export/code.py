"""The C text of a function: one C function for a short program, several for a long one.

A long program is cut into static functions, so that compilers take time in proportion to its
length and each has a small stack frame. What one part computes and a later one uses goes through
a workspace that the caller gives, and so do quaternions after they were made unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from linkwork.engine.codegen.c.statements import Form, Real, Scalars, Vectors
from linkwork.engine.codegen.schedule.pieces import Piece, pieces_of
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import per_port
from linkwork.export.function import BATCH_ENDING, Argument, Function
from linkwork.export.names import Names

# Numbers of steps. A shorter program is not cut; a longer one is, into parts of this length.
LONGEST_UNCUT = 1000
LONGEST_PART = 500


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
        self._function, self._form, self._names = function, form, names
        self._name = function.name
        self._program = function.program
        self._pieces = pieces_of(
            self._program,
            longest=LONGEST_UNCUT,
            piece=LONGEST_PART,
            staged=self._program.outputs,
        )
        self._is_cut = len(self._pieces) > 1
        self._array = "work" if self._is_cut else "unit"  # holds what was made unit
        self._of_input = _elements(function.inputs)
        self._unit = _unit_indices(function)
        self._targets: dict[int, list[tuple[Argument, int]]] = {}
        for argument, steps in zip(
            function.outputs,
            (part for _, part in per_port(self._program.outputs, self._program.results) if part),
            strict=True,
        ):
            for index, step in enumerate(steps):
                self._targets.setdefault(step, []).append((argument, index))

    def code(self) -> Code:
        """The function of one row."""
        function, form = self._function, self._form
        n_work = self._n_work if self._is_cut else 0
        parts, calls = self._parts()
        head = prototype(function, form.real, work=bool(n_work))
        lines = [*parts, _restricted(head), "{"]
        if function.unit_norms and not self._is_cut:
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
        n_work = max(self._n_work if self._is_cut else 0, scalar_work)
        parts, calls = self._parts()
        row = "row"
        head = prototype(function, form.real, work=bool(n_work), batch=True)
        lines = [*parts, _restricted(head), "{", "  size_t row;"]
        for unit in function.unit_norms:
            source = self._at(function.inputs[unit.input], row, unit.offset)
            lines += ["  for (row = 0; row < rows; ++row) {"]
            lines += [f"    if (lw_is_far({source}, {unit.count})) {{", "      return row;"]
            lines += ["    }", "  }"]
        lines.append(f"  for (row = 0; rows - row >= {form.lanes}u; row += {form.lanes}u) {{")
        if function.unit_norms and not self._is_cut:
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
        lines += [f"    {void}{self._name}({', '.join(given)});", "  }"]
        lines += ["  return rows;"] if function.unit_norms else []
        assert isinstance(form, Vectors)
        return Code("\n".join([*lines, "}"]) + "\n", n_work, frozenset(form.calls))

    @property
    def _n_work(self) -> int:
        return self._form.lanes * (self._function.n_unit + self._pieces[-1].n_slots)

    def _at(self, argument: Argument, row: str, offset: int = 0) -> str:
        """The address of a number of a row."""
        text = f"{argument.name} + {row} * {argument.port.size}u"
        return f"{text} + {offset}" if offset else text

    def _parts(self) -> tuple[list[str], list[str]]:
        """Static functions, and the lines that call them; of a short program just the lines."""
        form, batch = self._form, self._form.lanes > 1
        if not self._is_cut and not batch:
            return [], [f"  {line}" for line in self._body(self._pieces[0])]
        texts: list[str] = []
        calls: list[str] = []
        real = form.real.name
        for number, piece in enumerate(self._pieces, 1):
            name = self._names.new(f"{self._name}{'_rows' if batch else ''}_part{number}")
            inputs, outputs = self._arguments(piece)
            has_unit = any(self._program.steps[s][1] in self._unit for s in self._loaded(piece))
            parameters = [f"const {real} *{one.name}" for one in inputs]
            given = [self._at(one, "row") if batch else one.name for one in inputs]
            if has_unit and not self._is_cut:
                parameters.append(f"const {real} *unit")
                given.append("unit")
            parameters += [f"{real} *{one.name}" for one in outputs]
            given += [self._at(one, "row") if batch else one.name for one in outputs]
            if piece.fetched or piece.kept or (has_unit and self._is_cut):
                parameters.append(f"{real} *work" if piece.kept else f"const {real} *work")
                given.append("work")
            head = f"static LW_NOINLINE void {name}({', '.join(parameters) or 'void'})"
            texts += [_restricted(head), "{"]
            texts += [f"  {line}" for line in self._body(piece)]
            texts += ["}", ""]
            calls.append(f"  {name}({', '.join(given)});")
        return texts, calls

    def _loaded(self, piece: Piece) -> list[int]:
        """The steps that load a number of an input: those whose values the piece uses."""
        stored = [s for s in range(piece.start, piece.stop) if s in self._targets]
        own = [s for s in stored if self._program.steps[s][0] is Op.INPUT]
        return sorted({*piece.inputs, *own})

    def _arguments(self, piece: Piece) -> tuple[list[Argument], list[Argument]]:
        """The inputs and outputs that a piece reads and writes."""
        read = {
            self._of_input[self._program.steps[step][1]][0].name
            for step in self._loaded(piece)
            if self._program.steps[step][1] not in self._unit
        }
        steps = range(piece.start, piece.stop)
        written = {one.name for step in steps for one, _ in self._targets.get(step, ())}
        return (
            [one for one in self._function.inputs if one.name in read],
            [one for one in self._function.outputs if one.name in written],
        )

    def _body(self, piece: Piece) -> Iterator[str]:
        """The statements of a piece."""
        form, steps = self._form, self._program.steps
        if isinstance(form, Vectors):
            form.start()
        values: dict[int, str] = {}
        constants: set[int] = set()
        for step in self._loaded(piece):
            values[step] = f"t{step}"
            yield f"const {form.type} t{step} = {self._input(steps[step][1])};"
        n_unit = self._function.n_unit
        for step, slot in piece.fetched.items():
            values[step] = f"t{step}"
            yield f"const {form.type} t{step} = {form.fetch(n_unit + slot)};"
        for step in range(piece.start, piece.stop):
            op, *args = steps[step]
            if op is Op.CONST:
                values[step] = form.real.literal(args[0])
                constants.add(step)
            elif op is not Op.INPUT:
                for arg in args:
                    if arg not in values:  # a constant of an earlier piece
                        values[arg] = form.real.literal(steps[arg][1])
                        constants.add(arg)
                yield from form.compute(step, op, args, values, constants)
            if step in piece.kept:
                yield form.keep(n_unit + piece.kept[step], values[step])
            for argument, index in self._targets.get(step, ()):
                size, is_constant = argument.port.size, step in constants
                yield form.store(argument.name, size, index, values[step], constant=is_constant)

    def _input(self, number: int) -> str:
        """A number of the inputs, as the value of a definition."""
        form = self._form
        if number in self._unit:
            return form.load(self._array, self._function.n_unit, self._unit[number])
        argument, index = self._of_input[number]
        return form.load(argument.name, argument.port.size, index)

    def _unused(self) -> Iterator[str]:
        """Statements that mention parameters which the function does not need."""
        read: set[str] = set()
        for piece in self._pieces:
            read |= {one.name for one in self._arguments(piece)[0]}
        read |= {self._function.inputs[unit.input].name for unit in self._function.unit_norms}
        for one in self._function.inputs:
            if one.name not in read:
                yield f"  (void){one.name};"


def _elements(arguments: Sequence[Argument]) -> list[tuple[Argument, int]]:
    """The argument and the index of each number of all arguments."""
    return [(one, index) for one in arguments for index in range(one.port.size)]


def _unit_indices(function: Function) -> dict[int, int]:
    """By the index of a number among all inputs: where its unit-norm copy stands."""
    starts = list(accumulate((one.port.size for one in function.inputs), initial=0))
    found: dict[int, int] = {}
    for unit in function.unit_norms:
        for k in range(unit.count):
            found[starts[unit.input] + unit.offset + k] = len(found)
    return found


def _restricted(head: str) -> str:
    """A declaration whose pointers are restricted: no two arrays overlap."""
    return head.replace(" *", " *LW_RESTRICT ")
