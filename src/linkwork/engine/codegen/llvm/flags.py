"""Fast-math flags: LLVM may fuse and reassociate operations, unless constants would overflow."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program

FLAGS = "reassoc nsz arcp contract"
_AS_WRITTEN = "nsz contract"
_LARGEST = {"double": 1e300, "float": 1e37}  # magnitude of a constant that LLVM may fold two into


def flags_of(program: Program, op: Op, args: Sequence[int], scalar: str) -> str:
    """The flags of an operation.

    With `reassoc` and `arcp`, LLVM folds the constants of c (d x) and c + (d + x), and multiplies
    by 1/c for x / c. It must not where the folded constant overflows or underflows: 0 times
    infinity is NaN. `rules` leaves only those quotients by a constant c where 1/c does.
    """
    if op is Op.DIV:
        return _AS_WRITTEN if program.steps[args[1]][0] is Op.CONST else FLAGS
    constants = _constants(program, args)
    if not constants:
        return FLAGS
    alike = (Op.MUL,) if op is Op.MUL else (Op.ADD, Op.SUB)
    inner = [
        arg for step in args if program.steps[step][0] in alike for arg in program.steps[step][1:]
    ]
    for c in constants:
        for d in _constants(program, inner):
            folded = abs(c * d) if op is Op.MUL else abs(c) + abs(d)
            if not 1.0 / _LARGEST[scalar] <= folded <= _LARGEST[scalar]:
                return _AS_WRITTEN
    return FLAGS


def _constants(program: Program, steps: Sequence[int]) -> list[float]:
    return [program.steps[step][1] for step in steps if program.steps[step][0] is Op.CONST]
