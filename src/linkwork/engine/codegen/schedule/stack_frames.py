"""Estimates of the stack frame of compiled code, which contains spilled registers.

The calling thread may have a stack of only 64 KB. In optimized code, values that are not live at
the same time share a stack slot; its frame may be up to NOT_COUNTED bytes larger than estimated. In
quick code, every value that is not used within a few steps has a slot; its frame may be
QUICK_FACTOR times as large as estimated. On 64-bit ARM, every value of quick code has a slot, so
its frame depends only on the number of steps of a piece, which is limited. A test compares all this
with the frames of code compiled by LLVM.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Program

MOST_STACK_BYTES = 28 * 1024  # pieces with a larger estimated frame are cut again
NOT_COUNTED = 4 * 1024  # bytes of row addresses, vectors during transposition, saved registers
QUICK_FACTOR = 2.0
_NEARBY_STEPS = 12  # in quick code, a value stays in a register if all its uses follow this soon


def frame_bytes(
    program: Program,
    operands: Sequence[Sequence[int]],
    steps: range,
    used: Collection[int],
    lanes: Lanes,
    *,
    is_loop: bool = False,
) -> int:
    """Estimate the stack frame of a piece in bytes.

    Args:
        program: the program.
        operands: the operands of all its steps.
        steps: the steps of the piece.
        used: earlier steps whose values they use, counted as if all were loaded at the start.
        lanes: type and number of lanes; quick code has one lane.
        is_loop: whether the loop over rows is inside the function: then LLVM loads constants once.
    """
    start = steps.start
    passed = _passed(program, operands, steps)
    last = {
        step: max(step, start)
        for step in used
        if program.steps[step][0] is not Op.CONST and step not in passed
    }
    for step in steps:
        if program.steps[step][0] is not Op.CONST:
            last.setdefault(step, step)
        last.update((operand, step) for operand in operands[step] if operand in last)
    if lanes.width == 1:
        return lanes.bytes * sum(
            end - max(step, start) > _NEARBY_STEPS for step, end in last.items()
        )
    changes = [0] * (len(steps) + 2)
    for step, end in last.items():
        changes[max(step, start) - start] += 1
        changes[end - start + 1] -= 1
    # inputs that are loaded but not yet transposed, which LLVM may do late
    live = peak = sum(program.steps[step][0] is Op.INPUT for step in last) // 4
    for change in changes:
        live += change
        peak = max(peak, live)
    if is_loop:
        peak += len({program.steps[step][1] for step in used if program.steps[step][0] is Op.CONST})
    registers = lanes.bytes // 2  # AVX-512 has 32 registers of 64 bytes, AVX has 16 of 32 bytes
    return lanes.bytes * max(0, peak - registers)


def _passed(program: Program, operands: Sequence[Sequence[int]], steps: range) -> set[int]:
    """Return the earlier values that only loops use, to which they are copied one by one."""
    loops = [step for step in steps if program.steps[step][0] is Op.LOOP]
    if not loops:
        return set()
    others = (operands[step] for step in steps if step not in loops)
    passed = {value for step in loops for value in operands[step] if value < steps.start}
    return passed.difference(*others)
