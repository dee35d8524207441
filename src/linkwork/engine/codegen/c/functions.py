"""Programs as C: one list of statements for a short program, several functions for a long one.

A long program is cut into static functions, so that compilers take time in proportion to its
length and each has a small stack frame. What one part computes and a later one uses goes through
a workspace, the array `work`. Loops are static functions, too: they have their values, and those of
their bodies, in the workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from linkwork.engine.codegen.c.statements import Form
from linkwork.engine.codegen.schedule.loops import CutLoop, CutProgram, Limits, Place, cut
from linkwork.engine.codegen.schedule.pieces import Piece
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program

# Numbers of steps. A shorter program is not cut; a longer one is, into parts of this length.
LONGEST_UNCUT = 1000
LONGEST_PART = 500
# What the functions begin with.
MACROS = """\
#if defined(__GNUC__)
#define LW_RESTRICT __restrict__
#define LW_NOINLINE __attribute__((noinline))
#elif defined(_MSC_VER)
#define LW_RESTRICT __restrict
#define LW_NOINLINE __declspec(noinline)
#elif defined(__cplusplus)
#define LW_RESTRICT
#define LW_NOINLINE
#else
#define LW_RESTRICT restrict
#define LW_NOINLINE
#endif
"""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a number of the inputs is."""

    array: str
    text: str  # the value of a definition
    stride: int = 0  # if it is not 0, the text depends on the iteration k of a loop


@dataclass(frozen=True, slots=True)
class Target:
    """Where a number of the outputs goes."""

    array: str
    size: int  # of a row of the array
    index: int  # in a row
    stride: int = 0  # in `work`: see `Place`


@dataclass(frozen=True, slots=True)
class Parameter:
    """An array that parts read or write, and what it is where they are called."""

    name: str
    argument: str
    is_input: bool


def cut_for_c(program: Program) -> CutProgram:
    """The pieces of a program, each of which becomes a C function."""
    limits = Limits(LONGEST_UNCUT, LONGEST_PART)
    return cut(program, limits, staged=program.outputs, body_limits=limits)


class ProgramPrinter:
    """Prints the pieces of a program."""

    def __init__(
        self,
        parts: CutProgram,
        form: Form,
        name: str,
        new_name: Callable[[str], str],
        *,
        inputs: Sequence[Source],
        targets: Mapping[int, Sequence[Target]],
        origin: int = 0,
    ) -> None:
        """Prepare a program.

        Args:
            parts: the program.
            form: how values are written.
            name: what the names of its functions begin with.
            new_name: makes a name that is not taken.
            inputs: by number of all inputs.
            targets: by step.
            origin: where in `work` the workspace of the program begins.
        """
        self._parts, self._program, self._form = parts, parts.program, form
        self._name, self._new_name = name, new_name
        self._inputs, self._targets, self._origin = inputs, targets, origin
        self._loop_names = {
            step: new_name(f"{name}_loop{number}") for number, step in enumerate(parts.loops, 1)
        }

    def statements(self, piece: Piece) -> Iterator[str]:
        """The statements of a piece."""
        form, steps = self._form, self._program.steps
        form.start()
        values: dict[int, str] = {}
        constants: set[int] = set()
        for step in self._loaded(piece):
            values[step] = f"t{step}"
            yield f"const {form.type} t{step} = {self._inputs[steps[step][1]].text};"
        for step, slot in piece.fetched.items():
            values[step] = f"t{step}"
            yield f"const {form.type} t{step} = {form.fetch(self._origin + slot)};"
        for step in range(piece.start, piece.stop):
            yield from self._step(step, piece, values, constants)
            if step in piece.kept:
                yield form.keep(self._origin + piece.kept[step], values[step])
            for number, target in enumerate(self._targets.get(step, ())):
                text, is_constant = values[step], step in constants
                yield from self._store(f"k{step}_{number}", target, text, constant=is_constant)

    def _step(
        self, step: int, piece: Piece, values: dict[int, str], constants: set[int]
    ) -> Iterator[str]:
        """The statements that compute a step; they put its name into `values`."""
        form, steps, operands = self._form, self._program.steps, self._program.operands
        op, *args = steps[step]
        for arg in (step, *operands[step]):
            if steps[arg][0] is Op.CONST and arg not in values:  # of this piece or an earlier one
                values[arg] = form.real.literal(steps[arg][1])
                constants.add(arg)
        if op is Op.LOOP:
            yield from self._run_loop(step, values, constants)
        elif op is Op.LOOP_RESULT:
            later = operands[step + 1 : piece.stop]
            if step in self._targets or any(step in used for used in later):
                values[step] = f"t{step}"
                place = self._origin + self._parts.results[step]
                yield f"const {form.type} t{step} = {form.fetch(place)};"
        elif op not in (Op.CONST, Op.INPUT, Op.LOOP_STACK):
            yield from form.compute(step, op, args, values, constants)

    def parts(self, arrays: Sequence[Parameter]) -> tuple[list[str], list[str]]:
        """A static function for each piece, and the statements that call them.

        Args:
            arrays: all that the program reads or writes, but `work`.
        """
        texts: list[str] = []
        calls: list[str] = []
        real = self._form.real.name
        for number, piece in enumerate(self._parts.pieces, 1):
            name = self._new_name(f"{self._name}_part{number}")
            sources = [self._inputs[self._program.steps[s][1]] for s in self._loaded(piece)]
            steps = range(piece.start, piece.stop)
            targets = [one for step in steps for one in self._targets.get(step, ())]
            read, written = ({one.array for one in part} for part in (sources, targets))
            ops = {self._program.steps[step][0] for step in steps}
            has_k = any(one.stride for one in (*sources, *targets))
            parameters, arguments = (["long long k"], ["k"]) if has_k else ([], [])
            for one in arrays:
                if one.name in (read if one.is_input else written):
                    parameters.append(f"{'const ' if one.is_input else ''}{real} *{one.name}")
                    arguments.append(one.argument)
            if piece.kept or Op.LOOP in ops or "work" in written:
                parameters.append(f"{real} *work")
                arguments.append("work")
            elif piece.fetched or Op.LOOP_RESULT in ops or "work" in read:
                parameters.append(f"const {real} *work")
                arguments.append("work")
            head = f"static LW_NOINLINE void {name}({', '.join(parameters) or 'void'})"
            texts += [restricted(head), "{"]
            texts += [f"  {line}" for line in self.statements(piece)]
            texts += ["}", ""]
            calls.append(f"{name}({', '.join(arguments)});")
        return texts, calls

    def arrays_read(self) -> set[str]:
        """The arrays that hold the inputs that are used."""
        pieces = self._parts.pieces
        loaded = [step for piece in pieces for step in self._loaded(piece)]
        return {self._inputs[self._program.steps[step][1]].array for step in loaded}

    def loops(self) -> Iterator[str]:
        """The static functions of loops, each after those that it calls."""
        for step, part in self._parts.loops.items():
            if not part.loop.n:
                continue
            body = self._body(self._loop_names[step], part)
            yield from body.loops()
            pieces = part.body.pieces
            if len(pieces) == 1:
                texts, lines = list[str](), list(body.statements(pieces[0]))
            else:
                texts, lines = body.parts(())
                count, start = self._form.lanes * part.loop.n_carry, self._form.lanes * self._origin
                carry, after = (
                    start + self._form.lanes * place for place in (part.carry, part.next_carry)
                )
                lines.append(f"for (int j = 0; j < {count}; ++j) {{")
                lines += [f"  work[{carry} + j] = work[{after} + j];", "}"]
            yield from texts
            head = f"static LW_NOINLINE void {self._loop_names[step]}({self._form.real.name} *work)"
            n = part.loop.n
            k = f"k = {n - 1}; k >= 0; --k" if part.loop.is_reversed else f"k = 0; k < {n}; ++k"
            yield from [restricted(head), "{", f"  for (long long {k}) {{"]
            yield from (f"    {line}" for line in lines)
            yield from ["  }", "}", ""]

    def _body(self, name: str, part: CutLoop) -> ProgramPrinter:
        """The printer of the body of a loop."""

        def source(place: Place) -> Source:
            text = self._form.fetch(self._origin + place.start, place.stride)
            return Source("work", text, place.stride)

        targets: dict[int, list[Target]] = {}
        for place, step in zip(part.outputs, part.body.program.results, strict=True):
            target = Target("work", 0, self._origin + place.start, place.stride)
            targets.setdefault(step, []).append(target)
        return ProgramPrinter(
            part.body,
            self._form,
            name,
            self._new_name,
            inputs=list(map(source, part.inputs)),
            targets=targets,
            origin=self._origin + part.inner,
        )

    def _loaded(self, piece: Piece) -> list[int]:
        """The steps that load a number of an input: those whose values the piece uses."""
        stored = [s for s in range(piece.start, piece.stop) if s in self._targets]
        inputs = [s for s in stored if self._program.steps[s][0] is Op.INPUT]
        return sorted({*piece.inputs, *inputs})

    def _run_loop(self, step: int, values: Mapping[int, str], constants: set[int]) -> Iterator[str]:
        """Store the initial carry and the invariants, and call the function of the loop."""
        part, form = self._parts.loops[step], self._form
        n_numbers = part.loop.n_inputs - part.loop.n_read
        operands = self._program.operands[step][:n_numbers]
        for k, (arg, place) in enumerate(zip(operands, part.inputs, strict=False)):
            text = values[arg]
            if arg in constants:
                lines, text = form.spread(f"k{step}_{k}", text)
                yield from lines
            yield form.keep(self._origin + place.start, text)
        if part.loop.n:
            yield f"{self._loop_names[step]}(work);"

    def _store(self, name: str, target: Target, value: str, *, constant: bool) -> Iterator[str]:
        """Write a number of an output; `name` is for a constant."""
        form = self._form
        if target.array != "work":
            yield form.store(target.array, target.size, target.index, value, constant=constant)
            return
        if constant:
            lines, value = form.spread(name, value)
            yield from lines
        yield form.keep(target.index, value, target.stride)


def restricted(head: str) -> str:
    """A declaration whose pointers are restricted: no two arrays overlap."""
    return head.replace(" *", " *LW_RESTRICT ")
