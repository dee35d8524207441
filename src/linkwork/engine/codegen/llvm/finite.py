"""Checks that results are finite, while they are in registers.

Results of a large batch are not in the cache any more when the code returns, and reading some of
them back from memory takes as long as a quarter of the computation. 0 x is 0 for a finite x, else
NaN, and NaN stays in a sum: one sum of such products, kept on the stack, tells whether all are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from linkwork.engine.codegen.llvm.arithmetic import FLAGS
from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program, per_port

SMALL_MATRIX = 6  # rows of a square output; `Kernel` passes it to the C extension


def checked_results(program: Program) -> set[int]:
    """The steps that code of several rows at a time checks: all entries of large square matrices.

    `Call` reads all other results, and those of code of one row, which are in the cache: there, one
    chain of additions after the other would take longer than reading the results.
    """
    checked: set[int] = set()
    for port, results in per_port(program.outputs, program.results):
        if len(port.shape) == 2 and port.shape[0] == port.shape[1] > SMALL_MATRIX:
            checked.update(results)
    return checked


class Finite:
    """The steps whose values have to be finite, and the instructions that check them."""

    def __init__(self, program: Program, lanes: VectorType, checked: Collection[int]) -> None:
        self._steps = {step for step in checked if program.steps[step][0] is not Op.CONST}
        self._lanes = lanes
        self._sum = ""  # the name of the sum so far, in the present function
        self._count = 0

    @property
    def extra_parameter(self) -> str:
        """The argument of each piece: where the sum is kept."""
        return ", ptr %sum" if self._steps else ""

    def prologue(self) -> Iterator[str]:
        """At the start of the function: nothing is summed up yet."""
        if self._steps:
            yield f"  %sum = alloca {self._lanes.vector}"
            yield f"  store {self._lanes.vector} {self._lanes.constant(0.0)}, ptr %sum"

    def accumulate(self, step: int, value: str) -> Iterator[str]:
        """After a step: add its value, times zero."""
        if step not in self._steps:
            return
        vector, zero, name = self._lanes.vector, self._lanes.constant(0.0), self._new()
        yield f"  {name}.zero = fmul {FLAGS} {vector} {value}, {zero}"
        if self._sum:
            yield f"  {name} = fadd {FLAGS} {vector} {self._sum}, {name}.zero"
        self._sum = name if self._sum else f"{name}.zero"

    def flush(self) -> Iterator[str]:
        """At the end of a piece: add its sum to that of the others."""
        if self._sum:
            vector, before, after = self._lanes.vector, self._new(), self._new()
            yield f"  {before} = load {vector}, ptr %sum"
            yield f"  {after} = fadd {FLAGS} {vector} {before}, {self._sum}"
            yield f"  store {vector} {after}, ptr %sum"
        self._sum = ""

    def epilogue(self, size: int) -> Iterator[str]:
        """At the end of the function: return a size, or -1 if the sum is NaN."""
        if not self._steps:
            yield f"  ret i64 {size}"
            return
        vector, width = self._lanes.vector, self._lanes.width
        yield f"  %all = load {vector}, ptr %sum"
        yield f"  %is.nan = fcmp uno {vector} %all, {self._lanes.constant(0.0)}"
        is_bad = "%is.nan"
        if width > 1:
            is_bad = "%is.bad"
            yield f"  %bits = bitcast <{width} x i1> %is.nan to i{width}"
            yield f"  %is.bad = icmp ne i{width} %bits, 0"
        yield f"  %result = select i1 {is_bad}, i64 -1, i64 {size}"
        yield "  ret i64 %result"

    def _new(self) -> str:
        self._count += 1
        return f"%finite{self._count}"
