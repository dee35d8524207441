"""Estimated size of the program of a Jacobian, and the mode with less work."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Loop, Program, per_port

Mode: TypeAlias = Literal["forward", "reverse"]

# Terms of reverse mode are more often equal or constant. This fraction of them remains.
REVERSE_CSE_FACTOR = 0.8


def jacobian_steps(program: Program, wrt: Sequence[str]) -> int:
    """Estimate the number of steps of a Jacobian in the cheaper mode.

    Args:
        program: the program to differentiate.
        wrt: the inputs to differentiate with respect to.
    """
    total = sum(port.size for port in program.inputs)
    ports = per_port(program.inputs, range(total))
    return cheaper_mode(program, {k for port, ks in ports if port.name in wrt for k in ks})[1]


def cheaper_mode(program: Program, active: Collection[int]) -> tuple[Mode, int]:
    """Return the mode in which a Jacobian takes less work, and an estimate of its steps.

    Args:
        program: the program to differentiate.
        active: the indices of the input elements to differentiate with respect to.
    """
    bit = {k: 1 << column for column, k in enumerate(sorted(active))}
    total = sum(port.size for port in program.inputs)
    bits = [bit.get(k, 0) for k in range(total)]
    forward = _forward(program, bits)
    outputs = {result: 1 << row for row, result in enumerate(dict.fromkeys(program.results))}
    reverse = _Size(*(int(REVERSE_CSE_FACTOR * part) for part in _reverse(program, bits, outputs)))
    mode: Mode = "reverse" if reverse.work < forward.work else "forward"
    return mode, program.n_steps + (reverse if mode == "reverse" else forward).steps


class _Size(NamedTuple):
    """Number of steps of a program, and number of steps computed, with all loop iterations."""

    steps: int
    work: int


def _forward(program: Program, bits: Sequence[int]) -> _Size:
    """Count a product for each column of each argument, and a sum for each common column.

    Args:
        program: the program to differentiate.
        bits: the columns of each input element, as bits.
    """
    steps = more_work = 0
    columns = program.dependencies(bits)
    for (op, *args), operands in zip(program.steps, program.operands, strict=True):
        if op is Op.LOOP_RESULT or op is Op.LOOP_STACK:
            continue
        operand_columns = [columns[operand] for operand in operands]
        if op is Op.LOOP:
            loop = program.loops[args[0]]
            body = _forward(loop.body, _body_bits(loop, operand_columns))
            steps, more_work = steps + body.steps, more_work + loop.n * body.work - body.steps
            continue
        if op not in (Op.ADD, Op.SUB):
            counts = [bits.bit_count() for bits in operand_columns]
            is_scaling = op is Op.MUL and not all(counts)  # one factor is constant
            steps += max(counts, default=0) if is_scaling else sum(counts)
        if len(operand_columns) > 1:
            steps += (operand_columns[0] & operand_columns[1]).bit_count()
    return _Size(steps, steps + more_work)


def _body_bits(loop: Loop, operands: Sequence[int]) -> list[int]:
    """Return the columns of the inputs of a body, from those of the operands of its loop."""
    return [*loop.dependencies(operands).results, *operands[loop.n_carry :]]


def _reverse(program: Program, bits: Sequence[int], outputs: Mapping[int, int]) -> _Size:
    """Count products and sums as in `_forward`, with the outputs that depend on each step.

    Args:
        program: the program to differentiate.
        bits: the columns of each input element, as bits.
        outputs: by step, the outputs that have its value, as bits.
    """
    steps = more_work = 0
    columns = program.dependencies(bits)
    reached = [0] * len(program.steps)  # the outputs that depend on each step
    for result, bit in outputs.items():
        reached[result] |= bit
    for step in range(len(reached) - 1, -1, -1):
        (op, *args), step_outputs = program.steps[step], reached[step]
        operands = program.operands[step]
        if not step_outputs or not columns[step]:
            continue
        if op is Op.LOOP:  # the pass for each output computes the values of the body again
            loop = program.loops[args[0]]
            body_bits = _body_bits(loop, [columns[operand] for operand in operands])
            body = _reverse(loop.body, body_bits, dict.fromkeys(loop.body.results, step_outputs))
            recomputed = step_outputs.bit_count() * loop.body.n_steps
            steps += body.steps + recomputed
            more_work += loop.n * (body.work + recomputed) - body.steps - recomputed
            for operand in operands:
                reached[operand] |= step_outputs
            continue
        is_sum = op in (Op.ADD, Op.SUB, Op.NEG, Op.LOOP_RESULT, Op.LOOP_STACK)
        for operand in operands:
            if columns[operand]:
                steps += (reached[operand] & step_outputs).bit_count()
                steps += 0 if is_sum else step_outputs.bit_count()
                reached[operand] |= step_outputs
    return _Size(steps, steps + more_work)
