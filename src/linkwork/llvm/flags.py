"""What LLVM may do to an operation: fuse and reorder it, but not so that constants overflow."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.expr.node import Op
from linkwork.expr.program import Program

FLAGS = "reassoc nsz arcp contract"
_AS_WRITTEN = "nsz contract"
_LARGEST = {"double": 1e300, "float": 1e37}  # of a constant that two others may be joined to


def flags_of(program: Program, op: Op, args: Sequence[int], scalar: str) -> str:
    """The flags of an operation.

    LLVM joins the constants of c (d x) and c + (d + x), and multiplies by 1/c for x / c. Where the
    result is infinite or 0, it may not: 0 times infinity is NaN. Of quotients by a constant, the
    rules have left only those.
    """
    if op is Op.DIV:
        return _AS_WRITTEN if program.steps[args[1]][0] is Op.CONST else FLAGS
    kin = (Op.MUL,) if op is Op.MUL else (Op.ADD, Op.SUB)
    inner = [
        arg for step in args if program.steps[step][0] in kin for arg in program.steps[step][1:]
    ]
    for c in _constants(program, args):
        for d in _constants(program, inner):
            joined = abs(c * d) if op is Op.MUL else abs(c) + abs(d)
            if not 1.0 / _LARGEST[scalar] <= joined <= _LARGEST[scalar]:
                return _AS_WRITTEN
    return FLAGS


def _constants(program: Program, steps: Sequence[int]) -> list[float]:
    return [program.steps[step][1] for step in steps if program.steps[step][0] is Op.CONST]
