"""Programs printed as C: statements of a short program, static functions of a long one.

A long program is cut into static functions, so that the time to compile it is proportional to its
length, and stack frames are small. Values that one function computes and a later one uses are
passed through a workspace, the array `work`. Loops are static functions, too; their values, and
those of their bodies, are in the workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from linkwork.engine.codegen.c.statements import Statements
from linkwork.engine.codegen.schedule.loops import CutLoop, CutProgram, Limits, LoopAddress, cut
from linkwork.engine.codegen.schedule.pieces import Piece
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Program

# Numbers of steps: programs longer than LONGEST_UNCUT are cut into parts of at most LONGEST_PART.
LONGEST_UNCUT = 1000
LONGEST_PART = 500
# Printed before the functions.
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
    """The location of an input element."""

    array: str
    text: str  # C expression of its value
    stride: int = 0  # if it is not 0, the expression depends on the iteration k of a loop


@dataclass(frozen=True, slots=True)
class Target:
    """The location of an output element."""

    array: str
    index: int
    stride: int = 0  # in `work`: see `LoopAddress`


@dataclass(frozen=True, slots=True)
class Parameter:
    """An array that static functions read or write, and the argument that callers pass for it."""

    name: str
    argument: str
    is_input: bool


def cut_for_c(program: Program) -> CutProgram:
    """Divide a program into pieces, each of which becomes a C function."""
    limits = Limits(LONGEST_UNCUT, LONGEST_PART)
    return cut(program, limits, staged=program.outputs, body_limits=limits)


class ProgramPrinter:
    """Prints the pieces of a program."""

    def __init__(
        self,
        parts: CutProgram,
        form: Statements,
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
            form: prints values in a floating-point type.
            name: prefix of the names of its functions.
            new_name: returns a unique name, from a proposed one.
            inputs: the source of each input element.
            targets: the output elements that have the value of a step, by step.
            origin: start of the workspace of the program in `work`.
        """
        self._parts, self._program, self._form = parts, parts.program, form
        self._name, self._new_name = name, new_name
        self._inputs, self._targets, self._origin = inputs, targets, origin
        self._loop_names = {
            step: new_name(f"{name}_loop{number}") for number, step in enumerate(parts.loops, 1)
        }

    def statements(self, piece: Piece) -> Iterator[str]:
        """Print the statements of a piece."""
        form, steps = self._form, self._program.steps
        values: dict[int, str] = {}
        for step in self._loaded(piece):
            values[step] = f"t{step}"
            yield form.define(step, self._inputs[steps[step][1]].text)
        for step, slot in piece.fetched.items():
            values[step] = f"t{step}"
            yield form.define(step, form.fetch(self._origin + slot))
        for step in range(piece.start, piece.stop):
            yield from self._step(step, piece, values)
            if step in piece.kept:
                yield form.keep(self._origin + piece.kept[step], values[step])
            for target in self._targets.get(step, ()):
                if target.array == "work":
                    yield form.keep(target.index, values[step], target.stride)
                else:
                    yield f"{target.array}[{target.index}] = {values[step]};"

    def _step(self, step: int, piece: Piece, values: dict[int, str]) -> Iterator[str]:
        """Print the statements of a step, and add its name to `values`."""
        form, steps, operands = self._form, self._program.steps, self._program.operands
        op, *args = steps[step]
        for arg in (step, *operands[step]):
            if steps[arg][0] is Op.CONST:
                values[arg] = form.real.literal(steps[arg][1])
        if op is Op.LOOP:
            yield from self._run_loop(step, values)
        elif op is Op.LOOP_RESULT:
            later = operands[step + 1 : piece.stop]
            if step in self._targets or any(step in used for used in later):
                values[step] = f"t{step}"
                yield form.define(step, form.fetch(self._origin + self._parts.results[step]))
        elif op not in (Op.CONST, Op.INPUT, Op.LOOP_STACK):
            values[step] = f"t{step}"
            yield form.compute(step, op, [values[arg] for arg in args])

    def parts(self, arrays: Sequence[Parameter]) -> tuple[list[str], list[str]]:
        """Print a static function for each piece, and the statements that call them.

        Args:
            arrays: all arrays that the program reads or writes, except `work`.
        """
        texts: list[str] = []
        calls: list[str] = []
        real = self._form.real.name
        for number, piece in enumerate(self._parts.pieces, 1):
            name = self._new_name(f"{self._name}_part{number}")
            sources = [self._inputs[self._program.steps[s][1]] for s in self._loaded(piece)]
            steps = range(piece.start, piece.stop)
            targets = [target for step in steps for target in self._targets.get(step, ())]
            read, written = {one.array for one in sources}, {one.array for one in targets}
            ops = {self._program.steps[step][0] for step in steps}
            has_k = any(one.stride for one in (*sources, *targets))
            parameters, arguments = (["long long k"], ["k"]) if has_k else ([], [])
            for array in arrays:
                if array.name in (read if array.is_input else written):
                    parameters.append(f"{'const ' if array.is_input else ''}{real} *{array.name}")
                    arguments.append(array.argument)
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
        """Return the names of the arrays from which inputs are read."""
        pieces = self._parts.pieces
        loaded = [step for piece in pieces for step in self._loaded(piece)]
        return {self._inputs[self._program.steps[step][1]].array for step in loaded}

    def loops(self) -> Iterator[str]:
        """Print the static functions of loops, each after those that it calls."""
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
                carry, next_carry = (self._origin + k for k in (part.carry, part.next_carry))
                lines.append(f"for (int j = 0; j < {part.loop.n_carry}; ++j) {{")
                lines += [f"  work[{carry} + j] = work[{next_carry} + j];", "}"]
            yield from texts
            head = f"static LW_NOINLINE void {self._loop_names[step]}({self._form.real.name} *work)"
            n = part.loop.n
            k = f"k = {n - 1}; k >= 0; --k" if part.loop.is_reversed else f"k = 0; k < {n}; ++k"
            yield from [restricted(head), "{", f"  for (long long {k}) {{"]
            if part.loop.is_conditional:
                flag = self._form.fetch(self._origin + part.carry)
                yield from (f"    if (!({flag} != 0)) {{", "      break;", "    }")
            yield from (f"    {line}" for line in lines)
            yield from ["  }", "}", ""]

    def _body(self, name: str, part: CutLoop) -> ProgramPrinter:
        """Return the printer of the body of a loop."""

        def source(address: LoopAddress) -> Source:
            text = self._form.fetch(self._origin + address.start, address.stride)
            return Source("work", text, address.stride)

        targets: dict[int, list[Target]] = {}
        for address, step in zip(part.outputs, part.body.program.results, strict=True):
            target = Target("work", self._origin + address.start, address.stride)
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
        """Return the INPUT steps whose values the piece uses or stores."""
        stored = [s for s in range(piece.start, piece.stop) if s in self._targets]
        inputs = [s for s in stored if self._program.steps[s][0] is Op.INPUT]
        return sorted({*piece.inputs, *inputs})

    def _run_loop(self, step: int, values: Mapping[int, str]) -> Iterator[str]:
        """Print stores of the initial carry and the invariants, and the call of the loop."""
        part = self._parts.loops[step]
        n_scalars = part.loop.n_inputs - part.loop.n_read
        operands = self._program.operands[step][:n_scalars]
        for arg, address in zip(operands, part.inputs, strict=False):
            yield self._form.keep(self._origin + address.start, values[arg])
        if part.loop.n:
            yield f"{self._loop_names[step]}(work);"


def restricted(head: str) -> str:
    """Add `restrict` to the pointers of a declaration, since no two arrays overlap."""
    return head.replace(" *", " *LW_RESTRICT ")
