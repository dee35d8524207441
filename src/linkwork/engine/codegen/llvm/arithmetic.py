"""The LLVM instructions of each operation of a program, for any number of lanes.

No flag allows LLVM to change a result: each operation rounds once, as the program says, so code of
one row and of several gives the same bits. Fused products and sums are steps: `symbolic/fusion.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from linkwork.engine.codegen.llvm.sincos import sincos_function
from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.symbolic.operations import OPERATIONS, Op
from linkwork.engine.symbolic.program import Program

_INTRINSIC = "llvm."  # prefix of their names


@dataclass
class Calls:
    """The functions that a module calls."""

    sincos: bool = False
    intrinsics: set[Op] = field(default_factory=lambda: {Op.SQRT})
    libm: set[str] = field(default_factory=set[str])

    def lines(self, lanes: VectorType) -> Iterator[str]:
        """Print their definitions and declarations."""
        if self.sincos:
            yield sincos_function(lanes.vector, lanes.scalar, lanes.suffix, lanes.constant)
        for op in sorted(self.intrinsics):
            row = OPERATIONS[op]
            parameters = ", ".join([lanes.vector] * row.arity)
            yield f"declare {lanes.vector} @{row.llvm}.{lanes.suffix}({parameters})"
        yield from (f"declare {lanes.scalar} @{text}" for text in sorted(self.libm))


class Arithmetic:
    """Prints operations, and records which functions they call."""

    def __init__(
        self, program: Program, lanes: VectorType, new: Callable[[], str], calls: Calls
    ) -> None:
        self._program, self._lanes, self._new, self._calls = program, lanes, new, calls
        self._pairs: dict[int, str] = {}  # names of pairs (sin, cos), by step of the angle
        self._tests: dict[int, str] = {}  # names of i1, by step of the comparison

    def start(self) -> None:
        """Start another function, where values of the previous one are not defined."""
        self._pairs, self._tests = {}, {}

    def lines(self, step: int, names: Sequence[str]) -> Iterator[str]:
        """Print the instructions of an operation on earlier steps."""
        op, *rest = self._program.steps[step]
        args: list[int] = rest
        vector, name = self._lanes.vector, names[step]
        values, row = [names[arg] for arg in args], OPERATIONS[op]
        if row.llvm.startswith(_INTRINSIC):
            self._calls.intrinsics.add(op)
            arguments = ", ".join(f"{vector} {value}" for value in values)
            yield f"  {name} = call {vector} @{row.llvm}.{self._lanes.suffix}({arguments})"
        elif row.is_comparison:
            self._tests[step] = f"{name}.is"
            yield f"  {name}.is = {row.llvm} {vector} {values[0]}, {values[1]}"
            yield f"  {name} = uitofp {self._bool} {name}.is to {vector}"
        elif row.llvm:
            yield f"  {name} = {row.llvm} {vector} {', '.join(values)}"
        elif op in (Op.SIN, Op.COS):
            yield from self._sincos(args[0], values[0], name, index=int(op is Op.COS))
        elif op is Op.SELECT:
            if args[0] not in self._tests:  # computed, or compared in another function
                self._tests[args[0]] = f"{name}.is"
                zero = self._lanes.constant(0.0)
                yield f"  {name}.is = fcmp une {vector} {values[0]}, {zero}"
            choice = f"{vector} {values[1]}, {vector} {values[2]}"
            yield f"  {name} = select {self._bool} {self._tests[args[0]]}, {choice}"
        else:
            yield from self._library(op, values, name)

    @property
    def _bool(self) -> str:
        return "i1" if self._lanes.width == 1 else f"<{self._lanes.width} x i1>"

    def _sincos(self, arg: int, value: str, name: str, index: int) -> Iterator[str]:
        """Print the sine or cosine of an angle; one call computes both."""
        vector, pair = self._lanes.vector, f"{{ {self._lanes.vector}, {self._lanes.vector} }}"
        self._calls.sincos = True
        self._calls.intrinsics.add(Op.FMA)
        if arg not in self._pairs:
            self._pairs[arg] = self._new()
            yield f"  {self._pairs[arg]} = call fastcc {pair} @sincos({vector} {value})"
        yield f"  {name} = extractvalue {pair} {self._pairs[arg]}, {index}"

    def _library(self, op: Op, values: list[str], name: str) -> Iterator[str]:
        """Print a call of libm for each lane."""
        function, count = op.name.lower(), OPERATIONS[op].arity
        scalar, vector, width = self._lanes.scalar, self._lanes.vector, self._lanes.width
        function += "" if scalar == "double" else "f"
        self._calls.libm.add(f"{function}({', '.join([scalar] * count)})")
        joined = "undef"
        for lane in range(width):
            parts: list[str] = []
            for value in values:
                part = value
                if width > 1:
                    part = self._new()
                    yield f"  {part} = extractelement {vector} {value}, i32 {lane}"
                parts.append(f"{scalar} {part}")
            result = name if width == 1 else self._new()
            yield f"  {result} = call {scalar} @{function}({', '.join(parts)})"
            if width > 1:
                target = name if lane == width - 1 else self._new()
                yield f"  {target} = insertelement {vector} {joined}, {scalar} {result}, i32 {lane}"
                joined = target
