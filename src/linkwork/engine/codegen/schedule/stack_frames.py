"""Estimates the stack frame of compiled code: the registers that are spilled.

The stack may be that of a thread with 64 KB. Optimised code shares a stack slot between values that
are not live at the same time; code that is compiled quickly gives a slot to every value that is not
used within a few steps.
"""

from __future__ import annotations

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program

MOST_STACK_BYTES = 28 * 1024  # a piece of a program is cut again if its frame is estimated larger
_NEARBY_STEPS = 12  # in quick code, a value whose uses all follow this soon stays in a register


def frame_bytes(program: Program, start: int, stop: int, used: set[int], lanes: Lanes) -> int:
    """Estimated bytes of stack of the steps from `start` to `stop`.

    Args:
        program: the steps.
        start, stop: which of them.
        used: earlier steps whose values they use, counted as if all were loaded at `start`.
        lanes: type and number of lanes; quick code has one.
    """
    last = {step: start for step in used if program.steps[step][0] is not Op.CONST}
    for step in range(start, stop):
        if program.steps[step][0] is not Op.CONST:
            last.setdefault(step, step)
        last.update((operand, step) for operand in program.operands[step] if operand in last)
    if lanes.width == 1:
        return lanes.bytes * sum(
            end - max(step, start) > _NEARBY_STEPS for step, end in last.items()
        )
    changes = [0] * (stop - start + 2)
    for step, end in last.items():
        changes[max(step, start) - start] += 1
        changes[end - start + 1] -= 1
    live = peak = 0
    for change in changes:
        live += change
        peak = max(peak, live)
    registers = lanes.bytes // 2  # AVX-512 has 32 of 64 bytes, AVX has 16 of 32
    return lanes.bytes * max(0, peak - registers)
