"""The LLVM IR of a program, for so many rows at a time."""

from __future__ import annotations

from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.llvm.finite import checked_results
from linkwork.engine.codegen.llvm.lanes import Lanes
from linkwork.engine.symbolic.program import Program


def emitted(program: Program, width: int, scalar: str, checks: bool) -> str:
    """LLVM IR of a function `f`.

    Args:
        program: what it computes.
        width: rows that are computed at a time.
        scalar: `double` or `float`.
        checks: whether code of several rows at a time reports results that are not finite.
    """
    checked = checked_results(program) if checks and width > 1 else ()
    return emit_llvm(program, "f", Lanes(width, scalar), checked=checked)
