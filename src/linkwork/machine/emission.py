"""The LLVM IR of a program, for so many rows at a time."""

from __future__ import annotations

from linkwork.expr.program import Program, per_port
from linkwork.llvm.emit import emit_llvm
from linkwork.llvm.lanes import Lanes

SMALL_MATRIX = 6  # as in _call.h


def emitted(program: Program, width: int, scalar: str, checks: bool) -> str:
    """LLVM IR of a function `f`.

    Args:
        program: what it computes.
        width: rows that are computed at a time.
        scalar: `double` or `float`.
        checks: whether it tells if a result is not finite.
    """
    checked = checked_results(program) if checks else ()
    return emit_llvm(program, "f", Lanes(width, scalar), checked=checked)


def checked_results(program: Program) -> set[int]:
    """The steps that compiled code checks: the diagonals of large square matrices.

    Where equations are singular, these are not finite either. `Call` reads all other results.
    """
    checked: set[int] = set()
    for port, results in per_port(program.outputs, program.results):
        if len(port.shape) == 2 and port.shape[0] == port.shape[1] > SMALL_MATRIX:
            checked.update(results[:: port.shape[0] + 1])
    return checked
