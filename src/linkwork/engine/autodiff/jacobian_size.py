"""How long the program of a Jacobian would be, without making it, and in which mode it is short."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program, per_port

Mode: TypeAlias = Literal["forward", "reverse"]

# More of the terms of reverse mode turn out to be equal or constant: this part of them is left.
REVERSE_CSE_FACTOR = 0.8


def jacobian_steps(program: Program, wrt: Sequence[str]) -> int:
    """About how many steps a Jacobian takes, in the mode that takes fewer.

    Args:
        program: what to differentiate.
        wrt: the inputs to differentiate with respect to.
    """
    total = sum(port.size for port in program.inputs)
    ports = per_port(program.inputs, range(total))
    return cheaper_mode(program, {k for port, own in ports if port.name in wrt for k in own})[1]


def cheaper_mode(program: Program, active: Collection[int]) -> tuple[Mode, int]:
    """The mode in which a Jacobian takes fewer steps, and about how many.

    Args:
        program: what to differentiate.
        active: the indices of the input numbers to differentiate by.
    """
    columns = _columns(program, active)
    forward = _forward_steps(program, columns)
    reverse = int(REVERSE_CSE_FACTOR * _reverse_steps(program, columns))
    mode: Mode = "reverse" if reverse < forward else "forward"
    return mode, len(program.steps) + min(forward, reverse)


def _columns(program: Program, active: Collection[int]) -> list[int]:
    """For each step the inputs that it depends on, as the bits of a number."""
    bits = {k: 1 << position for position, k in enumerate(sorted(active))}
    columns: list[int] = []
    for step, operands in zip(program.steps, program.operands, strict=True):
        own = bits.get(step[1], 0) if step[0] is Op.INPUT else 0
        for operand in operands:
            own |= columns[operand]
        columns.append(own)
    return columns


def _forward_steps(program: Program, columns: list[int]) -> int:
    """One product for each column of each factor, and one sum where two columns meet."""
    total = 0
    for (op, *_), operands in zip(program.steps, program.operands, strict=True):
        each = [columns[operand] for operand in operands]
        if op not in (Op.ADD, Op.SUB):
            constant = op is Op.MUL and not all(each)  # a factor that does not vary costs as much
            total += sum(own.bit_count() for own in each) if not constant else 0
            total += max((own.bit_count() for own in each), default=0) if constant else 0
        if len(each) > 1:
            total += (each[0] & each[1]).bit_count()
    return total


def _reverse_steps(program: Program, columns: list[int]) -> int:
    """The same with the adjoints of each step in place of its columns."""
    reached = [0] * len(program.steps)  # the outputs that depend on each step, as bits
    for position, result in enumerate(dict.fromkeys(program.results)):
        reached[result] |= 1 << position
    total = 0
    for step in range(len(reached) - 1, -1, -1):
        op, own = program.steps[step][0], reached[step]
        if not own or not columns[step]:
            continue
        for operand in program.operands[step]:
            if columns[operand]:
                total += (reached[operand] & own).bit_count()
                total += own.bit_count() if op not in (Op.ADD, Op.SUB, Op.NEG) else 0
                reached[operand] |= own
    return total
