"""Division of programs with loops: a body is a program with its own pieces and workspace.

The workspace of a program, in vectors of W lanes:

    frames   for each LOOP step the carry, and the invariants that its body reads
    slots    values that are passed between pieces
    stacks   for each LOOP step the stacks that it writes; items of one iteration are adjacent
    inner    the workspace of the body that is running

Only slots and the inner part are reused while the program runs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.schedule.pieces import Piece, Reserved, pieces_of
from linkwork.engine.codegen.schedule.stack_frames import MOST_STACK_BYTES
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Loop, Port, Program


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the size of functions; see `pieces_of`."""

    longest: int | None = None
    piece: int | None = None
    lanes: Lanes | None = None
    most_stack: int = MOST_STACK_BYTES


@dataclass(frozen=True, slots=True)
class LoopAddress:
    """The index of a value of a loop in the workspace: `start + stride k` in iteration k."""

    start: int
    stride: int


@dataclass(frozen=True, slots=True)
class CutLoop:
    """A LOOP step: its body, and the indices of its values in the workspace of its program."""

    loop: Loop
    body: CutProgram
    carry: int  # index of the first carry entry
    next_carry: int  # after an iteration; differs from `carry` if the body has several pieces
    invariants: int
    inner: int  # start of the workspace of the body
    read: tuple[LoopAddress, ...]
    written: tuple[LoopAddress, ...]

    @property
    def inputs(self) -> list[LoopAddress]:
        """The address of each input of the body."""
        constant = [*self._range(self.carry, self.loop.n_carry)]
        constant += self._range(self.invariants, self.loop.n_invariants)
        return [*constant, *self.read]

    @property
    def outputs(self) -> list[LoopAddress]:
        """The address of each output of the body."""
        return [*self._range(self.next_carry, self.loop.n_carry), *self.written]

    def _range(self, start: int, count: int) -> list[LoopAddress]:
        return [LoopAddress(start + k, 0) for k in range(count)]


@dataclass(frozen=True, slots=True)
class CutProgram:
    """The pieces of a program, its loops, and the size of its workspace."""

    program: Program
    pieces: tuple[Piece, ...]
    loops: dict[int, CutLoop]  # by LOOP step
    results: dict[int, int]  # by LOOP_RESULT step: its index in the workspace
    size: int  # of the workspace, in vectors


def depth_of(program: Program) -> int:
    """Return the depth of nested calls of pieces: one, and one for each level of loops."""
    return 1 + max((depth_of(loop.body) for loop in program.loops), default=0)


def cut(
    program: Program, limits: Limits, *, staged: Collection[Port] = (), body_limits: Limits
) -> CutProgram:
    """Divide a program and the bodies of its loops into pieces.

    Args:
        program: the program.
        limits: limits of the size of its functions.
        staged: outputs whose elements are stored one by one.
        body_limits: limits of the size of functions of loop bodies.
    """
    stack = MOST_STACK_BYTES // depth_of(program)
    return _cut(
        program, replace(limits, most_stack=stack), staged, replace(body_limits, most_stack=stack)
    )


def _cut(
    program: Program, limits: Limits, staged: Collection[Port], body_limits: Limits
) -> CutProgram:
    bodies: dict[int, CutProgram] = {}
    carries: dict[int, int] = {}
    size = 0
    for step, (op, *args) in enumerate(program.steps):
        if op is Op.LOOP:
            loop = program.loops[args[0]]
            body = bodies[step] = _cut(loop.body, body_limits, loop.body.outputs, body_limits)
            carries[step] = size
            size += loop.n_carry * (1 if len(body.pieces) == 1 else 2) + loop.n_invariants
    results = {
        step: carries[args[1]] + args[0]
        for step, (op, *args) in enumerate(program.steps)
        if op is Op.LOOP_RESULT
    }
    pieces = pieces_of(
        program,
        longest=limits.longest,
        piece=limits.piece,
        lanes=limits.lanes,
        most_stack=limits.most_stack,
        staged=staged,
        reserved=Reserved(results, size),
    )
    stacks: dict[int, int] = {}  # by LOOP step: the start of the stacks that it writes
    size = pieces[-1].n_slots
    for step in bodies:
        loop = program.loops[program.steps[step][1]]
        stacks[step] = size
        size += loop.n * loop.n_written
    loops: dict[int, CutLoop] = {}
    for step, body in bodies.items():
        index, *operands = program.steps[step][1:]
        loop = program.loops[index]
        read = [program.steps[arg][1:] for arg in operands[len(operands) - loop.n_read :]]
        carry_end = carries[step] + loop.n_carry
        is_cut = len(body.pieces) > 1
        loops[step] = CutLoop(
            loop,
            body,
            carry=carries[step],
            next_carry=carry_end if is_cut else carries[step],
            invariants=carry_end + loop.n_carry if is_cut else carry_end,
            inner=size,
            read=tuple(
                LoopAddress(stacks[writer] + k, program.loops[program.steps[writer][1]].n_written)
                for k, writer in read
            ),
            written=tuple(
                LoopAddress(stacks[step] + k, loop.n_written) for k in range(loop.n_written)
            ),
        )
    size += max((body.size for body in bodies.values()), default=0)
    return CutProgram(program, tuple(pieces), loops, results, size)
