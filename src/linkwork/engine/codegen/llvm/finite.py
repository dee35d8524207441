"""Checks that results are finite while they are in registers.

The results of a large batch are no longer in the cache when the code returns, and reading some of
them back from memory takes a quarter of the time of the computation. The product 0 x is 0 if x is
finite, else NaN, so all results are finite if and only if the sum of these products is not NaN. The
sum is on the stack.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.symbolic.operations import OPERATIONS, Op
from linkwork.engine.symbolic.program import Program, per_port

SMALL_MATRIX = 6  # larger square outputs are checked here; `Kernel` passes it to the C extension
_ADD, _MUL = OPERATIONS[Op.ADD].llvm, OPERATIONS[Op.MUL].llvm


def checked_results(program: Program) -> set[int]:
    """Return the steps that code of several lanes checks: the entries of large square matrices.

    The C extension checks all other results by reading them, and those of code of one row: they are
    in the cache, and reading them is faster than a chain of additions.
    """
    checked: set[int] = set()
    for port, results in per_port(program.outputs, program.results):
        if len(port.shape) == 2 and port.shape[0] == port.shape[1] > SMALL_MATRIX:
            checked.update(results)
    return checked


class Finite:
    """The steps whose values must be finite, and the instructions that check them."""

    def __init__(self, program: Program, lanes: VectorType, checked: Collection[int]) -> None:
        self._steps = {step for step in checked if program.steps[step][0] is not Op.CONST}
        self._lanes = lanes
        self._sum = ""  # the name of the partial sum in the current function
        self._count = 0

    @property
    def extra_parameter(self) -> str:
        """The parameter of each piece that points to the sum."""
        return ", ptr %sum" if self._steps else ""

    def prologue(self) -> Iterator[str]:
        """Print the initialization of the sum, at the start of the function."""
        if self._steps:
            yield f"  %sum = alloca {self._lanes.vector}"
            yield f"  store {self._lanes.vector} {self._lanes.constant(0.0)}, ptr %sum"

    def accumulate(self, step: int, value: str) -> Iterator[str]:
        """Print the addition of 0 times the value of a step."""
        if step not in self._steps:
            return
        vector, zero, name = self._lanes.vector, self._lanes.constant(0.0), self._new()
        yield f"  {name}.zero = {_MUL} {vector} {value}, {zero}"
        if self._sum:
            yield f"  {name} = {_ADD} {vector} {self._sum}, {name}.zero"
        self._sum = name if self._sum else f"{name}.zero"

    def flush(self) -> Iterator[str]:
        """Print the end of a piece, which adds its partial sum to the sum."""
        if self._sum:
            vector, before, after = self._lanes.vector, self._new(), self._new()
            yield f"  {before} = load {vector}, ptr %sum"
            yield f"  {after} = {_ADD} {vector} {before}, {self._sum}"
            yield f"  store {vector} {after}, ptr %sum"
        self._sum = ""

    def epilogue(self, size: int) -> Iterator[str]:
        """Print the end of the function, which returns a size, or -1 if the sum is NaN."""
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
