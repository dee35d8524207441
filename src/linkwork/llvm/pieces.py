"""Long programs in pieces.

A compiler's time grows faster than the length of what it compiles; and code that does not fit into
a near cache is fetched anew in each turn of the loop over rows, unless a piece of it runs for
several rows before the next piece does.

Each piece becomes a function of its own. A value that a later piece uses goes through a scratch
slot, which is used again once nobody needs its value any more. Constants and inputs need no slot.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from linkwork.expr.node import Op
from linkwork.expr.program import Port, Program

LONGEST_WHOLE = 7000  # steps; longer programs are cut
PIECE = 4000  # steps
CACHED = 3000  # steps whose code stays in a near cache


@dataclass(frozen=True, slots=True)
class Piece:
    """Some steps of a program in a row, and what passes between them and the others."""

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
) -> list[Piece]:
    """Cut a program into pieces.

    Args:
        program: what to cut.
        longest: steps of a program that stays whole; LONGEST_WHOLE if not given.
        piece: steps of a piece; PIECE if not given.
        staged: outputs whose numbers are written one by one where they are made.
    """
    n = len(program.steps)
    longest = LONGEST_WHOLE if longest is None else longest
    piece = PIECE if piece is None else piece
    size = n if n <= longest else -(-n // -(-n // piece))  # all about the same
    starts = range(0, max(n, 1), max(size, 1))
    used = [_used(program, start, min(start + size, n)) for start in starts]
    _add_stores(program, used, size, staged)
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
    found: set[int] = set()
    for op, *args in program.steps[start:stop]:
        if op not in (Op.CONST, Op.INPUT):
            found.update(args)
    return found


def _add_stores(
    program: Program, used: list[set[int]], size: int, staged: Collection[Port]
) -> None:
    """Numbers of a staged output go to their places one by one, each by the piece that makes it.

    Any other output is stored in blocks, each by the piece that has the last of its numbers. Which
    numbers make a block depends on the lanes; any that stand within sixteen of each other may.
    """
    offset = 0
    for port in program.outputs:
        results = program.results[offset : offset + port.size]
        for place, step in enumerate(results):
            near = [step] if port in staged else results[max(0, place - 16) : place + 17]
            for other in near:
                if other >= step:
                    used[other // size].add(step)
        offset += port.size
