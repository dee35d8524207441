"""Division of long programs into pieces, each of which becomes a function.

Three reasons: the compile time of LLVM grows faster than the length of a function. Code that
exceeds the instruction cache is fetched again for each block of rows, unless each piece runs for
several blocks before the next piece does. And the stack frame grows with the number of live values.

A value that a later piece uses is passed through a slot of the workspace, which is reused after the
last use of the value. Constants and inputs need no slot. A value is loaded where it is used: loaded
at the start of a piece, it would be spilled to the stack and loaded again, which would make up a
third of all instructions of long programs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import ceil

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.schedule.stack_frames import MOST_STACK_BYTES, frame_bytes
from linkwork.engine.symbolic.operations import LEAVES, Op
from linkwork.engine.symbolic.program import Port, Program, per_port

# Numbers of steps.
LONGEST_UNCUT = 3000  # longer programs are cut: they compile faster, and slots have short addresses
LONGEST_PIECE = 4000  # maximum length of a piece
LONGEST_CACHED = 3000  # maximum length of code that stays in the instruction cache
SHORTEST_PIECE = 100  # pieces of this length are not cut further, even if the stack frame is large
NEARBY_STEPS = 40  # a value in memory is loaded again if its last use is this many steps ago


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive steps of a program, and the values that are passed to and from other pieces."""

    start: int
    stop: int
    inputs: tuple[int, ...]  # INPUT steps that this piece uses
    fetched: dict[int, int]  # slots of the steps of earlier pieces that this piece uses
    kept: dict[int, int]  # slots of the steps of this piece that later pieces use
    n_slots: int  # number of slots of this piece and those before it
    stack_bytes: int  # estimated size of its stack frame; 0 if it was not estimated

    def uses(self, program: Program) -> list[tuple[int, int]]:
        """Return pairs of a step of the piece and a slot that it uses, in order."""
        slots = self.fetched | self.kept
        return [
            (step, slots[value])
            for step in range(self.start, self.stop)
            for value in (*program.operands[step], step)
            if value in slots
        ]


@dataclass(frozen=True, slots=True)
class Reserved:
    """Slots at the start of the workspace that loops fill with their values."""

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
    """Divide a program into pieces of about the same length.

    Args:
        program: the program.
        longest: programs with more steps are cut; LONGEST_UNCUT by default.
        piece: maximum number of steps of a piece; at most LONGEST_PIECE, which is the default.
        staged: outputs whose elements are stored one by one, by the piece that computes them.
        lanes: if set, pieces are cut until their stack frames are small.
        most_stack: bytes of the largest stack frame.
        reserved: slots that must not be assigned.
    """
    n = len(program.steps)
    operands = scalar_operands(program)
    longest = LONGEST_UNCUT if longest is None else longest
    count = 1 if n <= longest else ceil(n / min(LONGEST_PIECE, piece or LONGEST_PIECE))
    size = max(ceil(n / count), 1)
    waiting = [range(start, min(start + size, n)) for start in range(0, max(n, 1), size)][::-1]
    stored = _stored_after(program, staged)
    ranges, used, frames = list[range](), list[set[int]](), list[int]()
    while waiting:
        steps = waiting.pop()
        own = set(chain(*operands[steps.start : steps.stop]))
        own.update(*(stored[step] for step in steps if step in stored))
        frame = 0
        if lanes is not None:
            is_loop = not (ranges or waiting)
            frame = frame_bytes(program, operands, steps, own, lanes, is_loop=is_loop)
        if frame > most_stack and len(steps) > SHORTEST_PIECE:
            middle = steps.start + len(steps) // 2
            waiting += [range(middle, steps.stop), range(steps.start, middle)]
        else:
            ranges.append(steps)
            used.append(own)
            frames.append(frame)
    return _pieces(program, ranges, used, frames, reserved)


def scalar_operands(program: Program) -> Sequence[Sequence[int]]:
    """Return the operands of each step that are scalars: not loops or stacks of loops."""
    if not program.loops:
        return program.operands
    steps = program.steps
    not_scalar = {k for k, (op, *_) in enumerate(steps) if op in (Op.LOOP, Op.LOOP_STACK)}
    return [[arg for arg in args if arg not in not_scalar] for args in program.operands]


class Slots:
    """The slots of values during a piece, and the last step that used each value."""

    def __init__(self, slots: Mapping[int, int]) -> None:
        """Start a piece with the slots of values that earlier pieces have stored, by step."""
        self._slots = dict(slots)
        self._last_use: dict[int, int] = {}  # by step

    def to_load(self, used: Sequence[int], here: int) -> Iterator[tuple[int, int]]:
        """Yield the values used at step `here` that have to be loaded, with their slots."""
        for step in used:
            if step in self._slots:
                if here - self._last_use.get(step, here - NEARBY_STEPS) >= NEARBY_STEPS:
                    yield step, self._slots[step]
                self._last_use[step] = here

    def index(self, step: int) -> int | None:
        """Return the slot of the value of a step, if it has one."""
        return self._slots.get(step)

    def keep(self, step: int, slot: int) -> None:
        """Record that the value of a step, which is in a register, is also in a slot."""
        self._slots[step], self._last_use[step] = slot, step


def _pieces(
    program: Program,
    ranges: Sequence[range],
    used: Sequence[set[int]],
    frames: Sequence[int],
    reserved: Reserved,
) -> list[Piece]:
    """Create the pieces, with a slot for each value that is passed between them."""
    # The index of the last piece that uses each step, and the steps that each piece is the last to
    # use.
    last_piece = {step: index for index, steps in enumerate(used) for step in steps}
    last_uses: list[list[int]] = [[] for _ in used]
    for step, index in last_piece.items():
        last_uses[index].append(step)
    slots = dict(reserved.slots)
    free: list[int] = []
    n_slots = reserved.count
    pieces: list[Piece] = []
    for index, steps in enumerate(ranges):
        unused = last_uses[index - 1] if index else ()
        free += [slots[step] for step in unused if step in slots and step not in reserved.slots]
        kept: dict[int, int] = {}
        for step in steps:
            is_used_later = last_piece.get(step, -1) > index
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


def _stored_after(program: Program, staged: Collection[Port]) -> dict[int, set[int]]:
    """Return the values that a piece stores in outputs after a step, by step.

    An element of a staged output is stored by the piece that computes it. Other outputs are stored
    in blocks, each by the piece that computes the last of its elements. The elements of a block
    depend on the lanes; two elements less than 17 apart may be in one block.
    """
    stored: dict[int, set[int]] = {}
    for port, results in per_port(program.outputs, program.results):
        for index, step in enumerate(results):
            near = [step] if port in staged else results[max(0, index - 16) : index + 17]
            stored.setdefault(step, set()).update(other for other in near if other <= step)
    return stored
