"""Estimates the stack frame of compiled code: the registers that are spilled.

The stack may be that of a thread with 64 KB. Optimized code shares a stack slot between values that
are not live at the same time, and may be up to NOT_COUNTED bytes larger than estimated. Code that
is compiled quickly gives a slot to every value that is not used within a few steps, and may be
QUICK_FACTOR times as large as estimated. A test compares both with the frames that LLVM makes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program

MOST_STACK_BYTES = 28 * 1024  # a piece of a program is cut again if its frame is estimated larger
NOT_COUNTED = 4 * 1024  # bytes: addresses of rows, vectors that are transposed, saved registers
QUICK_FACTOR = 2.0
_NEARBY_STEPS = 12  # in quick code, a value whose uses all follow this soon stays in a register


def frame_bytes(
    program: Program,
    operands: Sequence[Sequence[int]],
    steps: range,
    used: Collection[int],
    lanes: Lanes,
    *,
    is_loop: bool = False,
) -> int:
    """Estimated bytes of stack of some steps.

    Args:
        program: the steps.
        operands: of all of them.
        steps: which of them.
        used: earlier steps whose values they use, counted as if all were loaded at the start.
        lanes: type and number of lanes; quick code has one.
        is_loop: whether these steps are repeated without a call: then LLVM loads constants once.
    """
    start = steps.start
    last = {step: max(step, start) for step in used if program.steps[step][0] is not Op.CONST}
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
    live = peak = 0
    for change in changes:
        live += change
        peak = max(peak, live)
    if is_loop:
        peak += len({program.steps[step][1] for step in used if program.steps[step][0] is Op.CONST})
    registers = lanes.bytes // 2  # AVX-512 has 32 of 64 bytes, AVX has 16 of 32
    return lanes.bytes * max(0, peak - registers)
