"""The steps of a piece printed as LLVM IR, for functions of rows and for loop bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from linkwork.engine.codegen.llvm.addresses import Constants, VectorArray
from linkwork.engine.codegen.llvm.arithmetic import Arithmetic, Calls
from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.codegen.schedule.loops import CutLoop, CutProgram
from linkwork.engine.codegen.schedule.pieces import Piece
from linkwork.engine.symbolic.operations import Op

# LLVM's scheduler compares each load and store of a region with all others before it, and adds an
# edge unless it can prove that they are independent: its time grows faster than the square of their
# number. In programs with more than LONGEST_UNBOUNDED steps, an intrinsic that generates no code
# ends the region after ACCESSES_PER_REGION loads and stores. The code is not slower for it.
LONGEST_UNBOUNDED, ACCESSES_PER_REGION = 10_000, 100
_BOUNDARY = "llvm.codeview.annotation"


def boundaries(cut: CutProgram) -> Iterator[str]:
    """Print the declaration of the intrinsic that ends a region, if a program uses it."""
    if _is_bounded(cut):
        yield f"declare void @{_BOUNDARY}(metadata)"
        yield '!1 = !{!"region"}'


def _is_bounded(cut: CutProgram) -> bool:
    bodies = (_is_bounded(part.body) for part in cut.loops.values())
    return len(cut.program.steps) > LONGEST_UNBOUNDED or any(bodies)


class Module:
    """State that the functions of a module share: the type of values, names, called functions."""

    def __init__(self, lanes: VectorType) -> None:
        self.lanes, self.calls = lanes, Calls()
        self._count = 0

    def new(self) -> str:
        """Return a new name."""
        self._count += 1
        return f"%t{self._count}"


class StepPrinter:
    """Prints the steps of a program."""

    def __init__(self, cut: CutProgram, module: Module, prefix: str = "") -> None:
        """Prepare a program.

        Args:
            cut: the program.
            module: the module of its functions.
            prefix: prefix of the names of its functions and of its table of constants.
        """
        self._cut, self._module, self._prefix = cut, module, prefix
        self._program, lanes = cut.program, module.lanes
        self._arithmetic = Arithmetic(cut.program, lanes, module.new, module.calls)
        self.constants = Constants(cut.program, lanes, module.new, prefix)
        self.texts = [  # the literal of each constant; empty for other steps
            lanes.constant(step[1]) if step[0] is Op.CONST else "" for step in cut.program.steps
        ]
        self._has_regions = len(cut.program.steps) > LONGEST_UNBOUNDED

    def slots_of(self, piece: Piece) -> VectorArray:
        """Return the slots of values that a piece shares with others."""
        uses = piece.uses(self._program)
        return VectorArray(piece.fetched, self._module.lanes, self._module.new, uses)

    def begin(self, piece: Piece) -> list[str]:
        """Start a function; return the names of all values, which are empty except constants."""
        self._arithmetic.start()
        self._constants = self.constants.of_piece(range(piece.start, piece.stop))
        return list(self.texts)

    def lines(
        self,
        piece: Piece,
        names: list[str],
        slots: VectorArray,
        inputs: Sequence[VectorArray],
        after: Callable[[int, list[str]], Iterator[str]],
    ) -> Iterator[str]:
        """Print the steps of a piece, with loads of operands and stores for later pieces.

        Args:
            piece: the steps.
            names: the names returned by `begin`, with those of inputs that are in registers.
            slots: the slots returned by `slots_of`.
            inputs: arrays of inputs that are in memory.
            after: prints the lines that follow a step, from the step and the names of all values.
        """
        arrays = (slots, self._constants, *inputs)
        for step in range(piece.start, piece.stop):
            op, *args = self._program.steps[step]
            if op is Op.LOOP:
                yield from self._run_loop(step, args[1:], arrays, names)
            elif op is Op.LOOP_RESULT:
                names[step] = f"%v{step}"
                yield from slots.load_result(step, self._cut.results[step], names[step])
            elif op not in (Op.CONST, Op.INPUT, Op.LOOP_STACK):
                for array in arrays:
                    yield from array.loads(args, step, names)
                names[step] = f"%v{step}"
                yield from self._arithmetic.lines(step, names)
                if step in piece.kept:
                    yield from slots.store(step, piece.kept[step], names[step])
            yield from after(step, names)

    def in_regions(self, lines: Iterable[str]) -> Iterator[str]:
        """Print straight-line code, with region boundaries if the program is long."""
        accesses = 0
        for line in lines:
            yield line
            accesses += line.startswith("  store ") or " = load " in line
            if self._has_regions and accesses == ACCESSES_PER_REGION:
                yield f"  call void @{_BOUNDARY}(metadata !1)"
                accesses = 0

    def _run_loop(
        self, step: int, args: Sequence[int], arrays: Sequence[VectorArray], names: list[str]
    ) -> Iterator[str]:
        """Print stores of the initial carry and the invariants, and the call of the loop.

        A conditional loop is not called where its condition is false in all lanes.
        """
        part: CutLoop = self._cut.loops[step]
        n_carry, n_scalars = part.loop.n_carry, len(args) - part.loop.n_read
        for k, arg in enumerate(args[:n_carry]):
            for array in arrays:
                yield from array.loads([arg], step, names)
            yield from self._passed(names[arg], part.carry + k)
        if not part.loop.n:
            return
        if part.loop.is_conditional:
            yield from self._module.lanes.is_any(names[args[0]], f"%any{step}")
            yield f"  br i1 %any{step}, label %run{step}, label %skip{step}"
            yield f"run{step}:"
        for k, arg in enumerate(args[n_carry:n_scalars]):
            name = names[arg]
            for array in arrays:
                if array.has(arg):  # loaded without renaming it: later code may skip this block
                    name = self._module.new()
                    yield from array.load_once(arg, name)
            yield from self._passed(name, part.invariants + k)
        yield f"  call void @{self._prefix}loop{step}(ptr %scratch)"
        if part.loop.is_conditional:
            yield f"  br label %skip{step}"
            yield f"skip{step}:"

    def _passed(self, value: str, index: int) -> Iterator[str]:
        """Print the store of a value in the workspace."""
        vector, address = self._module.lanes.vector, self._module.new()
        yield f"  {address} = getelementptr {vector}, ptr %scratch, i64 {index}"
        yield f"  store {vector} {value}, ptr {address}"

    def last_block(self, piece: Piece, first: str) -> str:
        """Return the block at the end of a piece that starts in block `first`."""
        loops = self._cut.loops.items()
        skipped = [
            step
            for step, part in loops
            if piece.start <= step < piece.stop and part.loop.n and part.loop.is_conditional
        ]
        return f"%skip{max(skipped)}" if skipped else first
