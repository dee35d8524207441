"""Long programs in pieces.

The time of a compiler grows faster than the length of what it compiles. Code that does not fit into
the instruction cache is fetched again for each block of rows, unless a piece of it runs for several
blocks before the next piece does. And what a function needs of the stack grows with the number of
values in it.

Each piece becomes a function of its own. A value that a later piece uses goes through a slot of the
workspace, which is used again once nobody needs its value any more. Constants and inputs need no
slot.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from linkwork.expr.node import Op
from linkwork.expr.program import Port, Program
from linkwork.llvm.frames import MOST_BYTES, frame_bytes
from linkwork.llvm.lanes import Lanes

LONGEST_WHOLE = 7000  # steps; a longer program is cut
PIECE = 4000  # steps of a piece, at most
CACHED = 3000  # steps whose code stays in the instruction cache
SHORTEST = 100  # steps of a piece that is not cut again, whatever it takes of the stack


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive steps of a program, and the values that pass between them and the others."""

    start: int
    stop: int
    inputs: tuple[int, ...]  # INPUT steps that are used here
    fetched: dict[int, int]  # step of another piece that is used here: its slot
    kept: dict[int, int]  # step of this piece that a later one uses: its slot
    n_slots: int


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
        longest: steps of a program that stays in one piece; LONGEST_WHOLE if not given.
        piece: steps of a piece, at most; PIECE if not given.
        staged: outputs whose numbers are stored one by one where they are computed.
        lanes: if given, pieces are short enough to take little of the stack.
    """
    n = len(program.steps)
    longest = LONGEST_WHOLE if longest is None else longest
    count = 1 if n <= longest else _divided(n, PIECE if piece is None else piece)
    while True:
        size = max(_divided(n, count), 1)
        starts = range(0, max(n, 1), size)
        used = [_used(program, start, min(start + size, n)) for start in starts]
        _add_stores(program, used, size, staged)
        if size <= SHORTEST or lanes is None or not _is_large(program, size, used, lanes):
            return _pieces(program, size, used)
        count = 2 * len(starts)


def _divided(n: int, by: int) -> int:
    """Rounded up."""
    return -(-n // by)


def _is_large(program: Program, size: int, used: list[set[int]], lanes: Lanes) -> bool:
    """Whether a piece takes much of the stack."""
    n = len(program.steps)
    return any(
        frame_bytes(program, k * size, min((k + 1) * size, n), steps, lanes) > MOST_BYTES
        for k, steps in enumerate(used)
    )


def _pieces(program: Program, size: int, used: list[set[int]]) -> list[Piece]:
    """Pieces of a size, with a slot for each value that passes between them."""
    n = len(program.steps)
    starts = range(0, max(n, 1), size)
    last: dict[int, int] = {}  # the last piece that uses each step
    for number, steps in enumerate(used):
        for step in steps:
            last[step] = number
    slots: dict[int, int] = {}
    free: list[int] = []
    n_slots = 0
    pieces: list[Piece] = []
    for number, start in enumerate(starts):
        stop = min(start + size, n)
        free += [slots[step] for step, end in last.items() if end == number - 1 and step in slots]
        kept: dict[int, int] = {}
        for step in range(start, stop):
            if last.get(step, -1) > number and program.steps[step][0] not in (Op.CONST, Op.INPUT):
                if free:
                    kept[step] = free.pop()
                else:
                    kept[step] = n_slots
                    n_slots += 1
        slots |= kept
        inputs = tuple(s for s in sorted(used[number]) if program.steps[s][0] is Op.INPUT)
        fetched = {
            step: slots[step]
            for step in sorted(used[number])
            if step < start and program.steps[step][0] not in (Op.CONST, Op.INPUT)
        }
        pieces.append(Piece(start, stop, inputs, fetched, kept, n_slots))
    return pieces


def _used(program: Program, start: int, stop: int) -> set[int]:
    """Steps whose values the steps of a piece take."""
    used: set[int] = set()
    for op, *args in program.steps[start:stop]:
        if op not in (Op.CONST, Op.INPUT):
            used.update(args)
    return used


def _add_stores(
    program: Program, used: list[set[int]], size: int, staged: Collection[Port]
) -> None:
    """Add the values that each piece stores.

    Numbers of a staged output go to their slots one by one, each by the piece that computes it. Any
    other output is stored in blocks, each by the piece that has the last of its numbers. Which
    numbers make a block depends on the lanes; any two less than 17 apart may be in one.
    """
    offset = 0
    for port in program.outputs:
        results = program.results[offset : offset + port.size]
        for index, step in enumerate(results):
            near = [step] if port in staged else results[max(0, index - 16) : index + 17]
            for other in near:
                if other >= step:
                    used[other // size].add(step)
        offset += port.size
