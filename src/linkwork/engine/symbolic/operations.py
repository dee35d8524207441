"""The operations of programs, one row each: everything that the engine and the bridges know of it.

An operation is added by a member of `Op` with an `Operation`. Constant folding, traced values,
derivatives, bounds, all printers and the bridges to other packages read its row.

The name of a member in lower case is its function in libm, PyTorch, CasADi and `jax.lax`. Where a
function is not differentiable, its derivative is defined as:

    a < b, a <= b     0 everywhere
    floor(a)          0 everywhere
    select(c, a, b)   the derivative of the selected branch, even if that of the other is NaN
                      (`autodiff/guards.py` states the assumptions on inputs)
    sqrt(a)           a' / (2 sqrt(a)); at a = 0 this is 0 if a' is 0, and infinite otherwise. So
                      the derivative of the norm of a vector is 0 at the zero vector
    atan2(y, x)       undefined at the origin, where it is NaN
    hypot(a, b)       0 at the origin
    pow(a, b)         the derivative with respect to b is 0 at a = 0, and NaN for a < 0
    copysign(a, b)    at a = 0, that of the side of its sign: 1 or -1
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")

LARGEST = 3e38  # larger magnitudes count as infinite; finite in float32, too


class Bound(NamedTuple):
    """Bounds of a value."""

    most: float  # upper bound of the magnitude; infinite if unknown
    least: float  # lower bound of a sum of squares or its root; minus infinity for others

    @property
    def inverse(self) -> float:
        """Bound of the magnitude of the inverse."""
        return 1.0 / self.least if self.least > 1.0 / LARGEST else math.inf


def _unbounded(*bounds: Bound) -> float:
    del bounds
    return math.inf


def _at_most_one(*bounds: Bound) -> float:
    del bounds
    return 1.0


@dataclass(frozen=True, slots=True)
class Operation:
    """A row of the table: an operation on numbers."""

    arity: int
    on_floats: Callable[..., Any]  # raises if the result is not a finite number
    # Partial derivatives for each argument, from the result and the arguments; None for SELECT.
    partials: Callable[..., tuple[Any, ...]] | None = None
    _: KW_ONLY
    # Bound of the magnitude of the result, from the bounds of the arguments.
    most: Callable[..., float] = _unbounded
    # Bound of the magnitudes of the partial derivatives, one for all or one for each, from the
    # bounds of the result and the arguments.
    steepest: Callable[..., float | tuple[float, ...]] = _unbounded
    parity: int = 0  # 1 if f(-a) = f(a), -1 if f(-a) = -f(a)
    symbol: str = ""  # the operator of C and Python; the result of a comparison is 1 or 0
    numpy: str = ""  # the function of NumPy, which becomes a method of traced values
    on_arrays: Callable[..., Any] | None = None  # if NumPy has none, and `on_floats` rejects arrays
    operators: Callable[..., Any] | None = None  # by Python's operators, for values of any package
    llvm: str = ""  # an instruction or an intrinsic; by default, libm is called for each lane
    jax: str = ""  # path in `jax`, if `jax.lax` has no function of this name

    @property
    def on_any(self) -> Callable[..., Any] | None:
        """The operation on values of any package, by Python's operators; None for functions."""
        return self.operators or (self.on_floats if self.symbol else None)

    @property
    def is_comparison(self) -> bool:
        """Whether the result is 1 or 0."""
        return self.symbol in ("<", "<=")


def _atan2_partials(value: Any, y: Any, x: Any) -> tuple[Any, ...]:
    del value
    inverse = 1.0 / (x * x + y * y)
    return x * inverse, -(y * inverse)


def _div_partials(value: Any, a: Any, b: Any) -> tuple[Any, ...]:
    del a
    inverse = 1.0 / b
    return inverse, -(value * inverse)


def _pow_partials(value: Any, a: Any, b: Any) -> tuple[Any, ...]:
    """Return b a^(b - 1) and a^b log(a), where 0 times infinity is 0."""
    lowered = (b == 0.0).select(1.0, b) - 1.0
    return b * a**lowered, value * (a == 0.0).select(1.0, a).log()


def _hypot_partials(value: Any, a: Any, b: Any) -> tuple[Any, ...]:
    inverse = 1.0 / (value == 0.0).select(1.0, value)
    return a * inverse, b * inverse


def _copysign_partials(value: Any, a: Any, b: Any) -> tuple[Any, ...]:
    del value
    one = a.like(1.0)
    return one.copysign(a) * one.copysign(b), 0.0


def _sum_of_most(a: Bound, b: Bound) -> float:
    return a.most + b.most


class Op(IntEnum):
    """The operations. Stored programs contain their numbers, so new ones are added at the end."""

    row: Operation | None  # None for operations that do not compute a number from numbers

    def __new__(cls, row: Operation | None) -> Op:
        """Create a member with the next number."""
        number = len(cls.__members__)
        op = int.__new__(cls, number)
        op._value_ = number
        op.row = row
        return op

    CONST = None
    INPUT = None
    ADD = Operation(
        2,
        operator.add,
        lambda value, a, b: (1.0, 1.0),
        most=_sum_of_most,
        steepest=_at_most_one,
        symbol="+",
        llvm="fadd",
    )
    SUB = Operation(
        2,
        operator.sub,
        lambda value, a, b: (1.0, -1.0),
        most=_sum_of_most,
        steepest=_at_most_one,
        symbol="-",
        llvm="fsub",
    )
    MUL = Operation(
        2,
        operator.mul,
        lambda value, a, b: (b, a),
        most=lambda a, b: a.most * b.most,
        steepest=lambda value, a, b: (b.most, a.most),
        symbol="*",
        llvm="fmul",
    )
    DIV = Operation(
        2,
        operator.truediv,
        _div_partials,
        most=lambda a, b: a.most * b.inverse,
        steepest=lambda value, a, b: max(value.most, 1.0) * b.inverse,
        symbol="/",
        on_arrays=np.divide,
        llvm="fdiv",
    )
    NEG = Operation(
        1,
        operator.neg,
        lambda value, a: (-1.0,),
        most=lambda a: a.most,
        steepest=_at_most_one,
        symbol="-",
        llvm="fneg",
    )
    SQRT = Operation(
        1,
        math.sqrt,
        lambda value, a: (0.5 * (1.0 / value),),
        most=lambda a: max(a.most, 1.0) if a.least >= 0.0 else math.inf,
        steepest=lambda value, a: a.inverse,
        numpy="sqrt",
        llvm="llvm.sqrt",
    )
    SIN = Operation(
        1,
        math.sin,
        lambda value, a: (a.cos(),),
        most=lambda a: min(a.most, 1.0) if a.most < math.inf else math.inf,
        steepest=lambda value, a: a.most,
        parity=-1,
        numpy="sin",
    )
    COS = Operation(
        1,
        math.cos,
        lambda value, a: (-a.sin(),),
        most=lambda a: 1.0 if a.most < math.inf else math.inf,
        steepest=lambda value, a: a.most,
        parity=1,
        numpy="cos",
    )
    ATAN2 = Operation(2, math.atan2, _atan2_partials, numpy="arctan2")
    LESS = Operation(  # 1 where a < b, else 0
        2,
        lambda a, b: float(a < b),
        lambda value, a, b: (0.0, 0.0),
        most=_at_most_one,
        steepest=_at_most_one,
        symbol="<",
        on_arrays=lambda a, b: (a < b) * 1.0,
        operators=operator.lt,
        llvm="fcmp olt",
        jax="lax.lt",
    )
    SELECT = Operation(  # b where a is not 0, else c
        3,
        lambda c, a, b: a if c else b,
        most=lambda c, a, b: max(a.most, b.most),
        steepest=_at_most_one,
        on_arrays=lambda c, a, b: np.where(np.not_equal(c, 0), a, b),
    )
    EXP = Operation(
        1,
        math.exp,
        lambda value, a: (value,),
        most=lambda a: math.exp(min(a.most, 100.0)),
        steepest=lambda value, a: value.most,
        numpy="exp",
    )
    LOG = Operation(
        1,
        math.log,
        lambda value, a: (1.0 / a,),
        steepest=lambda value, a: a.inverse,
        numpy="log",
    )
    LESS_EQUAL = Operation(  # 1 where a <= b, else 0
        2,
        lambda a, b: float(a <= b),
        lambda value, a, b: (0.0, 0.0),
        most=_at_most_one,
        steepest=_at_most_one,
        symbol="<=",
        on_arrays=lambda a, b: (a <= b) * 1.0,
        operators=operator.le,
        llvm="fcmp ole",
        jax="lax.le",
    )
    FLOOR = Operation(
        1,
        lambda a: float(math.floor(a)),
        lambda value, a: (0.0,),
        steepest=_at_most_one,
        numpy="floor",
        llvm="llvm.floor",
    )
    EXPM1 = Operation(1, math.expm1, lambda value, a: (a.exp(),), numpy="expm1")
    LOG1P = Operation(1, math.log1p, lambda value, a: (1.0 / (1.0 + a),), numpy="log1p")
    EXP2 = Operation(
        1,
        lambda a: 2.0**a,
        lambda value, a: (math.log(2.0) * value,),
        numpy="exp2",
        operators=lambda a: 2.0**a,
    )
    POW = Operation(2, math.pow, _pow_partials, on_arrays=np.power, operators=operator.pow)
    HYPOT = Operation(
        2,
        math.hypot,
        _hypot_partials,
        most=_sum_of_most,
        steepest=_at_most_one,
        numpy="hypot",
        operators=lambda a, b: (a * a + b * b) ** 0.5,
        jax="numpy.hypot",
    )
    FMOD = Operation(
        2, math.fmod, lambda value, a, b: (1.0, (value - a) / b), numpy="fmod", jax="lax.rem"
    )
    COPYSIGN = Operation(  # a with the sign of b
        2,
        math.copysign,
        _copysign_partials,
        most=lambda a, b: a.most,
        steepest=_at_most_one,
        numpy="copysign",
        llvm="llvm.copysign",
        jax="numpy.copysign",
    )
    LOOP = None  # a `program.Loop`; it has several values, which only the next two operations read
    LOOP_RESULT = None  # an entry of the carry of a loop after its last iteration
    LOOP_STACK = None  # the values that a loop wrote, one per iteration; only other loops read them
    IMPLICIT = Operation(  # the value of a with the derivative of b; printers print only a
        2,
        lambda a, b: a,
        lambda value, a, b: (0.0, 1.0),
        most=lambda a, b: a.most,
        steepest=_at_most_one,
        operators=lambda a, b: a,
    )
    FMA = Operation(  # a b + c, rounded once by machine code; only `fusion.fused` makes it
        3,
        lambda a, b, c: a * b + c,
        lambda value, a, b, c: (b, a, 1.0),
        most=lambda a, b, c: a.most * b.most + c.most,
        steepest=lambda value, a, b, c: (b.most, a.most, 1.0),
        operators=lambda a, b, c: a * b + c,
        llvm="llvm.fma",
    )


OPERATIONS: dict[Op, Operation] = {op: op.row for op in Op if op.row is not None}
ARITHMETIC = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG)  # the operations that `Program.n_ops` counts
LEAVES = (Op.CONST, Op.INPUT)  # operations that use no other nodes
# The number of arguments of each operation. A LOOP has one for the loop and one for each input.
ARGUMENTS: dict[Op, int] = {op: row.arity for op, row in OPERATIONS.items()} | {
    Op.CONST: 1,
    Op.INPUT: 1,
    Op.LOOP_RESULT: 2,
    Op.LOOP_STACK: 2,
}
FLOAT_FUNCTIONS: dict[Op, Callable[..., Any]] = {
    op: row.on_floats for op, row in OPERATIONS.items()
}
"""The value of each operation on Python floats; raises if it is not a finite number."""
NUMPY_FUNCTIONS: dict[Op, Callable[..., Any]] = {
    op: getattr(np, row.numpy) if row.numpy else row.on_arrays or row.on_floats
    for op, row in OPERATIONS.items()
}
"""The value of each operation on NumPy arrays."""
_INPUT, _LOOP, _LOOP_STACK = Op.INPUT, Op.LOOP, Op.LOOP_STACK  # avoids attribute lookups


def operands_of(op: Op, args: tuple[T, ...]) -> tuple[T, ...]:
    """Return the arguments of an operation that are nodes or steps.

    All arguments are, except the first one of some operations: the value of a CONST, the index of
    an INPUT, the loop of a LOOP, and the index of a LOOP_RESULT or LOOP_STACK among the values of
    its loop.
    """
    return args[1:] if op <= _INPUT or _LOOP <= op <= _LOOP_STACK else args
