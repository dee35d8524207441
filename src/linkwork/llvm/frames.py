"""How much of the stack the code of some steps takes: values that do not fit into registers.

Registers are spilled to the stack of whoever calls, which may be a thread with 64 KB. Optimised
code shares a slot of the stack between values that are not needed at the same time; code that is
made quickly gives a slot to every value that is not used at once.
"""

from __future__ import annotations

from linkwork.expr.node import Op
from linkwork.expr.program import Program
from linkwork.llvm.lanes import Lanes

MOST_BYTES = 28 * 1024  # of the stack that a piece of a program should take, as estimated here
_AT_ONCE = 12  # a value whose uses all follow within so many steps stays in a register


def frame_bytes(program: Program, start: int, stop: int, used: set[int], lanes: Lanes) -> int:
    """Bytes of the stack that the steps from `start` to `stop` take, about.

    Args:
        program: the steps.
        start, stop: which of them.
        used: steps before `start` whose values these need, which are loaded first.
        lanes: type and number of the lanes; quick code has one.
    """
    last = {step: start for step in used if program.steps[step][0] is not Op.CONST}
    for step in range(start, stop):
        op, *args = program.steps[step]
        if op is not Op.CONST:
            last.setdefault(step, step)
        if op not in (Op.CONST, Op.INPUT):
            last.update((arg, step) for arg in args if arg in last)
    if lanes.width == 1:
        return lanes.bytes * sum(end - max(step, start) > _AT_ONCE for step, end in last.items())
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
