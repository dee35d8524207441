"""Cuts long programs into pieces, each of which becomes a function.

The time that LLVM takes grows faster than the length of a function. Code that exceeds the
instruction cache is fetched again for each block of rows, unless each piece of it runs for several
blocks before the next piece does. And the stack frame grows with the number of live values.

A value that a later piece uses is passed through a slot of the workspace, which is reused after the
last use of the value. Constants and inputs need no slot.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain
from math import ceil

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.schedule.stack_frames import MOST_STACK_BYTES, frame_bytes
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Port, Program, per_port

# All are numbers of steps.
LONGEST_UNCUT = 3000  # a longer one is cut: it compiles faster, and slots take shorter addresses
LONGEST_PIECE = 4000  # a piece has at most this many steps
LONGEST_CACHED = 3000  # the code of this many steps stays in the instruction cache
SHORTEST_PIECE = 100  # a piece this short is not cut again, whatever its stack frame


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive steps of a program, and the values that are passed to and from other pieces."""

    start: int
    stop: int
    inputs: tuple[int, ...]  # INPUT steps that are used here
    fetched: dict[int, int]  # step of an earlier piece that is used here: its slot
    kept: dict[int, int]  # step of this piece that a later one uses: its slot
    n_slots: int  # that this piece and those before it use

    def uses(self, program: Program) -> list[tuple[int, int]]:
        """Steps of the piece and the slots that they use, in order."""
        slots = self.fetched | self.kept
        return [
            (step, slots[value])
            for step in range(self.start, self.stop)
            for value in (*program.operands[step], step)
            if value in slots
        ]


def pieces_of(
    program: Program,
    *,
    longest: int | None = None,
    piece: int | None = None,
    staged: Collection[Port] = (),
    lanes: Lanes | None = None,
) -> list[Piece]:
    """Cut a program into pieces of about the same length.

    Args:
        program: what to cut.
        longest: a program with more steps is cut; LONGEST_UNCUT if not given.
        piece: most steps of a piece; LONGEST_PIECE if not given or larger.
        staged: outputs whose numbers are stored one by one, by the piece that computes them.
        lanes: if given, pieces are short enough to have small stack frames.
    """
    n = len(program.steps)
    longest = LONGEST_UNCUT if longest is None else longest
    count = 1 if n <= longest else ceil(n / min(LONGEST_PIECE, piece or LONGEST_PIECE))
    while True:
        size = max(ceil(n / count), 1)
        starts = range(0, max(n, 1), size)
        used = [set(chain(*program.operands[start : start + size])) for start in starts]
        _add_stores(program, used, size, staged)
        if size <= SHORTEST_PIECE or lanes is None or not _is_large(program, size, used, lanes):
            return _pieces(program, size, used)
        # Fewer, longer pieces pass fewer values. Code of one row is made quickly: fewer attempts.
        count = 2 * len(starts) if lanes.width == 1 else ceil(1.25 * len(starts))


def _is_large(program: Program, size: int, used: list[set[int]], lanes: Lanes) -> bool:
    """Whether a piece has a large stack frame."""
    n = len(program.steps)
    return any(
        frame_bytes(program, k * size, min((k + 1) * size, n), steps, lanes) > MOST_STACK_BYTES
        for k, steps in enumerate(used)
    )


def _pieces(program: Program, size: int, used: list[set[int]]) -> list[Piece]:
    """Pieces of a size, with a slot for each value that is passed between them."""
    n = len(program.steps)
    starts = range(0, max(n, 1), size)
    # by step: the index of the last piece that uses it
    last = {step: index for index, steps in enumerate(used) for step in steps}
    ending: list[list[int]] = [[] for _ in used]  # by piece: the steps that it is the last to use
    for step, index in last.items():
        ending[index].append(step)
    slots: dict[int, int] = {}
    free: list[int] = []
    n_slots = 0
    pieces: list[Piece] = []
    for index, start in enumerate(starts):
        stop = min(start + size, n)
        free += [slots[step] for step in (ending[index - 1] if index else ()) if step in slots]
        kept: dict[int, int] = {}
        for step in range(start, stop):
            if last.get(step, -1) > index and program.operands[step]:
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
            if step < start and program.operands[step]
        }
        pieces.append(Piece(start, stop, inputs, fetched, kept, n_slots))
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
