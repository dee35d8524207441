"""The two ways to compute a program: machine code, which LLVM compiles, and NumPy.

`LINKWORK_BACKEND` selects one by name, `llvm` by default. NumPy also takes the place of machine
code that cannot be compiled or loaded.

Machine code is a function `f` that the C extension calls; its signature is `function_t` in
`engine/kernel/csrc/call.h`. Code of several rows with checks returns a negative number if an entry
of a square output with more than SMALL_MATRIX rows is not finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.llvm.finite import checked_results
from linkwork.engine.runtime.compiler import RELOCATION, LoadedByLlvm, setting
from linkwork.engine.runtime.objects import LoadedObject
from linkwork.engine.runtime.processor import has_short_offsets, this_machine
from linkwork.engine.symbolic.fusion import fused
from linkwork.engine.symbolic.program import Program, values_of

# Computes the columns of each output from those of each input: one array (rows,) for each element
# of a row. If all inputs have one row, it may return that row of an output instead of its columns.
ColumnFunction: TypeAlias = Callable[..., Sequence[Any]]
MachineCode: TypeAlias = LoadedObject | LoadedByLlvm


@dataclass(frozen=True)
class Form:
    """The variant of the code of a program: number of rows at a time, and precision."""

    width: int = 1
    scalar: str = "double"  # or "float"
    has_checks: bool = False  # whether code of several rows checks that large matrices are finite
    columns: bool = False  # whether code of several rows stores them as `Lanes.columns` says


def chosen_backend() -> str:
    """Return the name of the backend that `LINKWORK_BACKEND` selects."""
    return setting("LINKWORK_BACKEND", ("llvm", "numpy"))


def identity() -> str:
    """Return all that machine code depends on except its program, for keys of the disk cache."""
    return "|".join((this_machine().name, *RELOCATION.values()))


def vector_width(scalar: str) -> int:
    """Return the number of rows that the fastest machine code computes at a time."""
    lanes = this_machine().lanes  # the doubles of a vector register
    return 2 * lanes if scalar == "float" and lanes > 1 else lanes


def emit(program: Program, form: Form) -> str:
    """Print a program as LLVM IR."""
    program = values_of(program)
    if this_machine().has_fma:  # else LLVM would call libm for each fused step
        program = fused(program)
    checked = checked_results(program) if form.has_checks and form.width > 1 else ()
    lanes = Lanes(form.width, form.scalar, has_short_offsets(), form.columns)
    return emit_llvm(program, "f", lanes, checked=checked)
