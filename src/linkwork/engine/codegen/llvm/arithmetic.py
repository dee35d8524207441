"""The LLVM instructions of each operation of a program, for any number of lanes.

Fast-math flags allow LLVM to fuse and reassociate operations, unless constants would overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from linkwork.engine.codegen.llvm.sincos import sincos_function
from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program

FLAGS = "reassoc nsz arcp contract"
_WITHOUT_REASSOCIATION = "nsz contract"
_LARGEST = {"double": 1e300, "float": 1e37}  # largest constant that LLVM may fold two others into

_BINARY = {Op.ADD: "fadd", Op.SUB: "fsub", Op.MUL: "fmul", Op.DIV: "fdiv"}
_COMPARE = {Op.LESS: "olt", Op.LESS_EQUAL: "ole"}  # ordered: false for NaN
_INTRINSICS = {Op.SQRT: "llvm.sqrt", Op.FLOOR: "llvm.floor"}
_LIBM = {
    Op.ATAN2: ("atan2", 2),
    **{op: (op.name.lower(), 1) for op in (Op.EXP, Op.LOG, Op.EXPM1, Op.LOG1P, Op.EXP2)},
}


@dataclass
class Calls:
    """The functions that a module calls."""

    sincos: bool = False
    floor: bool = False
    libm: set[str] = field(default_factory=set[str])

    def lines(self, lanes: VectorType) -> Iterator[str]:
        """Print their definitions and declarations."""
        if self.sincos:
            yield sincos_function(lanes.vector, lanes.scalar, lanes.suffix, lanes.constant)
        for op, intrinsic in _INTRINSICS.items():
            if op is Op.SQRT or self.floor:
                yield f"declare {lanes.vector} @{intrinsic}.{lanes.suffix}({lanes.vector})"
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
        values = [names[arg] for arg in args]
        if op in _BINARY:
            flags = _flags_of(self._program, op, args, self._lanes.scalar)
            yield f"  {name} = {_BINARY[op]} {flags} {vector} {values[0]}, {values[1]}"
        elif op is Op.NEG:
            yield f"  {name} = fneg {FLAGS} {vector} {values[0]}"
        elif op in _INTRINSICS:
            self._calls.floor |= op is Op.FLOOR
            function = f"{_INTRINSICS[op]}.{self._lanes.suffix}"
            yield f"  {name} = call {vector} @{function}({vector} {values[0]})"
        elif op in (Op.SIN, Op.COS):
            yield from self._sincos(args[0], values[0], name, index=int(op is Op.COS))
        elif op in _COMPARE:
            self._tests[step] = f"{name}.is"
            yield f"  {name}.is = fcmp {_COMPARE[op]} {vector} {values[0]}, {values[1]}"
            yield f"  {name} = uitofp {self._bool} {name}.is to {vector}"
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
        if arg not in self._pairs:
            self._pairs[arg] = self._new()
            yield f"  {self._pairs[arg]} = call fastcc {pair} @sincos({vector} {value})"
        yield f"  {name} = extractvalue {pair} {self._pairs[arg]}, {index}"

    def _library(self, op: Op, values: list[str], name: str) -> Iterator[str]:
        """Print a call of libm for each lane."""
        function, count = _LIBM[op]
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


def _flags_of(program: Program, op: Op, args: Sequence[int], scalar: str) -> str:
    """Return the flags of an operation.

    With `reassoc` and `arcp`, LLVM folds the constants of c (d x) and c + (d + x), and multiplies
    by 1/c for x / c. This must not happen if the folded constant overflows or underflows, since 0
    times infinity is NaN. Quotients by a constant c remain after simplification (`rules`) only if
    1/c overflows or underflows.
    """
    if op is Op.DIV:
        return _WITHOUT_REASSOCIATION if program.steps[args[1]][0] is Op.CONST else FLAGS
    constants = _constants(program, args)
    if not constants:
        return FLAGS
    foldable = (Op.MUL,) if op is Op.MUL else (Op.ADD, Op.SUB)
    inner = [
        arg
        for step in args
        if program.steps[step][0] in foldable
        for arg in program.steps[step][1:]
    ]
    for c in constants:
        for d in _constants(program, inner):
            folded = abs(c * d) if op is Op.MUL else abs(c) + abs(d)
            if not 1.0 / _LARGEST[scalar] <= folded <= _LARGEST[scalar]:
                return _WITHOUT_REASSOCIATION
    return FLAGS


def _constants(program: Program, steps: Sequence[int]) -> list[float]:
    return [program.steps[step][1] for step in steps if program.steps[step][0] is Op.CONST]
