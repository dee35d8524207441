"""How long the program of a Jacobian would be, without making it, and the mode of less work."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Loop, Program, per_port

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
    """The mode in which a Jacobian takes less work, and about how many steps it has then.

    Args:
        program: what to differentiate.
        active: the indices of the input numbers to differentiate with respect to.
    """
    position = {k: 1 << place for place, k in enumerate(sorted(active))}
    total = sum(port.size for port in program.inputs)
    bits = [position.get(k, 0) for k in range(total)]
    forward = _forward(program, bits)
    outputs = {result: 1 << place for place, result in enumerate(dict.fromkeys(program.results))}
    reverse = _Size(*(int(REVERSE_CSE_FACTOR * part) for part in _reverse(program, bits, outputs)))
    mode: Mode = "reverse" if reverse.work < forward.work else "forward"
    return mode, program.n_steps + (reverse if mode == "reverse" else forward).steps


class _Size(NamedTuple):
    """How many steps there are, and how many are computed: a body as often as it runs."""

    steps: int
    work: int


def _forward(program: Program, bits: Sequence[int]) -> _Size:
    """One product for each column of each factor, and one sum where two columns meet.

    Args:
        program: what to differentiate.
        bits: for each number of the inputs its columns.
    """
    steps = more_work = 0
    columns = program.dependencies(bits)
    for (op, *args), operands in zip(program.steps, program.operands, strict=True):
        if op is Op.LOOP_RESULT or op is Op.LOOP_STACK:
            continue
        each = [columns[operand] for operand in operands]
        if op is Op.LOOP:
            loop = program.loops[args[0]]
            body = _forward(loop.body, _body_bits(loop, each))
            steps, more_work = steps + body.steps, more_work + loop.n * body.work - body.steps
            continue
        if op not in (Op.ADD, Op.SUB):
            constant = op is Op.MUL and not all(each)  # a factor that does not vary costs as much
            steps += sum(own.bit_count() for own in each) if not constant else 0
            steps += max((own.bit_count() for own in each), default=0) if constant else 0
        if len(each) > 1:
            steps += (each[0] & each[1]).bit_count()
    return _Size(steps, steps + more_work)


def _body_bits(loop: Loop, operands: Sequence[int]) -> list[int]:
    """The columns of the inputs of a body, from those of the operands of its loop."""
    return [*loop.dependencies(operands).results, *operands[loop.n_carry :]]


def _reverse(program: Program, bits: Sequence[int], outputs: Mapping[int, int]) -> _Size:
    """The same with the adjoints of each step in place of its columns.

    Args:
        program: what to differentiate.
        bits: for each number of the inputs its columns.
        outputs: by step, the outputs that it is, as bits.
    """
    steps = more_work = 0
    columns = program.dependencies(bits)
    reached = [0] * len(program.steps)  # the outputs that depend on each step
    for result, bit in outputs.items():
        reached[result] |= bit
    for step in range(len(reached) - 1, -1, -1):
        (op, *args), own = program.steps[step], reached[step]
        operands = program.operands[step]
        if not own or not columns[step]:
            continue
        if op is Op.LOOP:  # each sweep computes its body again
            loop = program.loops[args[0]]
            of_body = _body_bits(loop, [columns[operand] for operand in operands])
            body = _reverse(loop.body, of_body, dict.fromkeys(loop.body.results, own))
            again = own.bit_count() * loop.body.n_steps
            steps += body.steps + again
            more_work += loop.n * (body.work + again) - body.steps - again
            for operand in operands:
                reached[operand] |= own
            continue
        is_sum = op in (Op.ADD, Op.SUB, Op.NEG, Op.LOOP_RESULT, Op.LOOP_STACK)
        for operand in operands:
            if columns[operand]:
                steps += (reached[operand] & own).bit_count()
                steps += 0 if is_sum else own.bit_count()
                reached[operand] |= own
    return _Size(steps, steps + more_work)
