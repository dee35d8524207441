"""The steps of a piece as LLVM IR: in functions of rows, and in bodies of loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from linkwork.engine.codegen.llvm.addresses import Constants, VectorArray
from linkwork.engine.codegen.llvm.arithmetic import Arithmetic, Calls
from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.codegen.schedule.loops import CutLoop, CutProgram
from linkwork.engine.codegen.schedule.pieces import Piece
from linkwork.engine.symbolic.node import Op

# LLVM's scheduler compares each load and store of a basic block with all others before it, and adds
# an edge unless it can prove that they are independent: the time grows faster than the square. In
# programs with more than LONGEST_UNBOUNDED steps, a label that produces no code ends the region
# that it considers after this many loads and stores. Machine code runs as fast as without.
LONGEST_UNBOUNDED, ACCESSES_PER_REGION = 10_000, 100
_BOUNDARY = "llvm.codeview.annotation"


def boundaries(cut: CutProgram) -> Iterator[str]:
    """The declaration of what ends a region, if a program or the body of a loop is so long."""
    if _is_bounded(cut):
        yield f"declare void @{_BOUNDARY}(metadata)"
        yield '!1 = !{!"region"}'


def _is_bounded(cut: CutProgram) -> bool:
    bodies = (_is_bounded(part.body) for part in cut.loops.values())
    return len(cut.program.steps) > LONGEST_UNBOUNDED or any(bodies)


class Module:
    """What all functions of a module share: the type of values, names, and what they call."""

    def __init__(self, lanes: VectorType) -> None:
        self.lanes, self.calls = lanes, Calls()
        self._count = 0

    def new(self) -> str:
        """A new name."""
        self._count += 1
        return f"%t{self._count}"


class StepPrinter:
    """Prints the steps of a program.

    `after` prints what follows each step: it has the step and the names of all values.
    """

    def __init__(self, cut: CutProgram, module: Module, prefix: str = "") -> None:
        """Prepare a program.

        Args:
            cut: the program.
            module: what its functions belong to.
            prefix: of the names of its functions, and of its table of constants.
        """
        self._cut, self._module, self._prefix = cut, module, prefix
        self._program, lanes = cut.program, module.lanes
        self._arithmetic = Arithmetic(cut.program, lanes, module.new, module.calls)
        self.constants = Constants(cut.program, lanes, module.new, prefix)
        self.texts = [  # the text of each constant; empty for other steps
            lanes.constant(step[1]) if step[0] is Op.CONST else "" for step in cut.program.steps
        ]
        self._has_regions = len(cut.program.steps) > LONGEST_UNBOUNDED

    def slots_of(self, piece: Piece) -> VectorArray:
        """The slots of values that a piece has in common with others."""
        uses = piece.uses(self._program)
        return VectorArray(piece.fetched, self._module.lanes, self._module.new, uses)

    def begin(self, piece: Piece) -> list[str]:
        """Begin a function; the names of all values, of which only constants have some yet."""
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
        """The steps of a piece, with loads of what they use and stores of what later pieces use.

        Args:
            piece: the steps.
            names: from `begin`, and of inputs that are in registers.
            slots: from `slots_of`.
            inputs: arrays of inputs that are in memory.
            after: prints what follows each step.
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
                yield from self._arithmetic.lines(op, args, names, names[step])
                if step in piece.kept:
                    yield from slots.store(step, piece.kept[step], names[step])
            yield from after(step, names)

    def in_regions(self, lines: Iterable[str]) -> Iterator[str]:
        """Straight-line code, with boundaries for the scheduler if the program is long."""
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
        """Store the initial carry and the invariants, and call the function of the loop."""
        part: CutLoop = self._cut.loops[step]
        vector, new = self._module.lanes.vector, self._module.new
        numbers = args[: len(args) - part.loop.n_read]
        places = [part.carry + k for k in range(part.loop.n_carry)]
        places += [part.invariants + k for k in range(part.loop.n_invariants)]
        for place, arg in zip(places, numbers, strict=True):
            for array in arrays:
                yield from array.loads([arg], step, names)
            at = new()
            yield f"  {at} = getelementptr {vector}, ptr %scratch, i64 {place}"
            yield f"  store {vector} {names[arg]}, ptr {at}"
        if part.loop.n:
            yield f"  call void @{self._prefix}loop{step}(ptr %scratch)"
