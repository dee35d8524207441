"""Cuts long programs into pieces, each of which becomes a function.

The time that LLVM takes grows faster than the length of a function. Code that exceeds the
instruction cache is fetched again for each block of rows, unless each piece of it runs for several
blocks before the next piece does. And the stack frame grows with the number of live values.

A value that a later piece uses is passed through a slot of the workspace, which is reused after the
last use of the value. Constants and inputs need no slot. It is loaded where it is used: if it was
loaded at the start of the piece, and if nothing used it for long, its register would be spilled to
the stack, only to be loaded again: for long programs, a third of all instructions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import ceil

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.schedule.stack_frames import MOST_STACK_BYTES, frame_bytes
from linkwork.engine.symbolic.node import LEAVES, Op
from linkwork.engine.symbolic.program import Port, Program, per_port

# All are counts of steps.
LONGEST_UNCUT = 3000  # a longer one is cut: it compiles faster, and slots take shorter addresses
LONGEST_PIECE = 4000  # a piece has at most this many steps
LONGEST_CACHED = 3000  # the code of this many steps stays in the instruction cache
SHORTEST_PIECE = 100  # a piece this short is not cut again, whatever its stack frame
NEARBY_STEPS = 40  # a value in memory that was not used for so long is loaded again


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive steps of a program, and the values that are passed to and from other pieces."""

    start: int
    stop: int
    inputs: tuple[int, ...]  # INPUT steps that are used here
    fetched: dict[int, int]  # step of an earlier piece that is used here: its slot
    kept: dict[int, int]  # step of this piece that a later one uses: its slot
    n_slots: int  # that this piece and those before it use
    stack_bytes: int  # of its stack frame, estimated; 0 if there are no lanes to estimate it for

    def uses(self, program: Program) -> list[tuple[int, int]]:
        """Steps of the piece and the slots that they use, in order."""
        slots = self.fetched | self.kept
        return [
            (step, slots[value])
            for step in range(self.start, self.stop)
            for value in (*program.operands[step], step)
            if value in slots
        ]


@dataclass(frozen=True, slots=True)
class Reserved:
    """Slots at the start of the workspace that other code fills: the values of loops."""

    slots: Mapping[int, int] = field(default_factory=dict[int, int])  # by LOOP_RESULT step
    count: int = 0


NOTHING_RESERVED = Reserved()


def pieces_of(
    program: Program,
    *,
    longest: int | None = None,
    piece: int | None = None,
    staged: Collection[Port] = (),
    lanes: Lanes | None = None,
    most_stack: int = MOST_STACK_BYTES,
    reserved: Reserved = NOTHING_RESERVED,
) -> list[Piece]:
    """Cut a program into pieces of about the same length.

    Args:
        program: what to cut.
        longest: a program with more steps is cut; LONGEST_UNCUT if not given.
        piece: most steps of a piece; LONGEST_PIECE if not given or larger.
        staged: outputs whose numbers are stored one by one, by the piece that computes them.
        lanes: if given, pieces are short enough to have small stack frames.
        most_stack: bytes of the largest stack frame.
        reserved: slots that are taken.
    """
    n = len(program.steps)
    operands = number_operands(program)
    longest = LONGEST_UNCUT if longest is None else longest
    count = 1 if n <= longest else ceil(n / min(LONGEST_PIECE, piece or LONGEST_PIECE))
    while True:
        size = max(ceil(n / count), 1)
        ranges = [range(start, min(start + size, n)) for start in range(0, max(n, 1), size)]
        used = [set(chain(*operands[steps.start : steps.stop])) for steps in ranges]
        _add_stores(program, used, size, staged)
        frames = [0] * len(ranges)
        if lanes is not None:
            is_loop = len(ranges) == 1
            frames = [
                frame_bytes(program, operands, steps, values, lanes, is_loop=is_loop)
                for steps, values in zip(ranges, used, strict=True)
            ]
        if size <= SHORTEST_PIECE or lanes is None or max(frames) <= most_stack:
            return _pieces(program, ranges, used, frames, reserved)
        # Fewer, longer pieces pass fewer values. Code of one row is needed soon: fewer attempts.
        count = 2 * len(ranges) if lanes.width == 1 else ceil(1.25 * len(ranges))


def number_operands(program: Program) -> Sequence[Sequence[int]]:
    """For each step the steps whose numbers it uses; loops and stacks of loops are no numbers."""
    if not program.loops:
        return program.operands
    steps = program.steps
    no_numbers = {k for k, (op, *_) in enumerate(steps) if op in (Op.LOOP, Op.LOOP_STACK)}
    return [[arg for arg in args if arg not in no_numbers] for args in program.operands]


class Slots:
    """The slots of values during a piece, and how long ago each value was in a register."""

    def __init__(self, slots: Mapping[int, int]) -> None:
        """Begin a piece with the slots of values that were stored before it, by step."""
        self._slots = dict(slots)
        self._last_use: dict[int, int] = {}  # by step

    def to_load(self, used: Sequence[int], here: int) -> Iterator[tuple[int, int]]:
        """Those of the values used at a step that have to be loaded, with their slots."""
        for step in used:
            if step in self._slots:
                if here - self._last_use.get(step, here - NEARBY_STEPS) >= NEARBY_STEPS:
                    yield step, self._slots[step]
                self._last_use[step] = here

    def keep(self, step: int, slot: int) -> None:
        """Note that the value of a step, still in its register, is also in a slot."""
        self._slots[step], self._last_use[step] = slot, step


def _pieces(
    program: Program,
    ranges: Sequence[range],
    used: Sequence[set[int]],
    frames: Sequence[int],
    reserved: Reserved,
) -> list[Piece]:
    """Pieces with these steps, with a slot for each value that is passed between them."""
    # by step: the index of the last piece that uses it
    last = {step: index for index, steps in enumerate(used) for step in steps}
    ending: list[list[int]] = [[] for _ in used]  # by piece: the steps that it is the last to use
    for step, index in last.items():
        ending[index].append(step)
    slots = dict(reserved.slots)
    free: list[int] = []
    n_slots = reserved.count
    pieces: list[Piece] = []
    for index, steps in enumerate(ranges):
        ended = ending[index - 1] if index else ()
        free += [slots[step] for step in ended if step in slots and step not in reserved.slots]
        kept: dict[int, int] = {}
        for step in steps:
            is_used_later = last.get(step, -1) > index
            is_new = step not in reserved.slots and program.steps[step][0] not in LEAVES
            if is_used_later and is_new:
                if free:
                    kept[step] = free.pop()
                else:
                    kept[step] = n_slots
                    n_slots += 1
        slots |= kept
        inputs = tuple(s for s in sorted(used[index]) if program.steps[s][0] is Op.INPUT)
        fetched = {
            step: slots[step]
            for step in sorted(used[index])
            if step < steps.start and step in slots
        }
        frame = frames[index]
        pieces.append(Piece(steps.start, steps.stop, inputs, fetched, kept, n_slots, frame))
    return pieces


def _add_stores(
    program: Program, used: list[set[int]], size: int, staged: Collection[Port]
) -> None:
    """Add the values that each piece stores in outputs.

    A number of a staged output is stored by the piece that computes it. Any other output is stored
    in blocks, each by the piece that computes the last of its numbers. Which numbers form a block
    depends on the lanes; any two less than 17 apart may be in one.
    """
    for port, results in per_port(program.outputs, program.results):
        for index, step in enumerate(results):
            near = [step] if port in staged else results[max(0, index - 16) : index + 17]
            for other in near:
                if other >= step:
                    used[other // size].add(step)
