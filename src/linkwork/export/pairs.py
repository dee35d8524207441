"""Steps of programs on pairs of floats: a rounded value and its rounding error.

A pair has about twice the digits of a float, by the error-free sums and products of Knuth and
Dekker. All elements are floats, so it runs on processors without double precision.

    sum       s = a + b     b' = s - a     error = (a - (s - b')) + (b - b')
    product   p = a b       error = fma(a, b, -p)

Sines and cosines come from libm with rounding errors. Only their norm is corrected: the pair is
then that of an angle that differs in its last digit, as an input may. The same holds for
quaternions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.codegen.c.statements import Fused
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Program

Pair: TypeAlias = tuple[int, int | None]
"""Indices of the steps with a value and its rounding error; None where that does not matter."""


def operations_of(program: Program) -> int:
    """Return the number of arithmetic operations, including fused ones."""
    return program.n_ops + sum(step[0] is Fused.FMA for step in program.steps)


def float_fma(a: Any, b: Any, c: Any) -> Any:
    """Fused multiply-add of NumPy floats: the product of two is exact in double precision."""
    return np.float32(np.multiply(a, b, dtype=np.float64) + c)


class PairSteps:
    """Builds steps. Arguments and results are indices of steps, in pairs or alone."""

    def __init__(self) -> None:
        self.steps: list[tuple[Any, ...]] = []
        self._constants: dict[float, int] = {}
        self._angles: dict[int, dict[Op, Pair]] = {}  # by angle: its sine and cosine

    def add(self, op: Op | Fused, *args: Any) -> int:
        """Append a step."""
        self.steps.append((op, *args))
        return len(self.steps) - 1

    def float_constant(self, value: float) -> int:
        """Return the step of a constant, created once."""
        if value not in self._constants:
            self._constants[value] = self.add(Op.CONST, value)
        return self._constants[value]

    def constant(self, value: float) -> Pair:
        """Return a constant with more digits than a float has."""
        rounded = float(np.float32(value))
        error = value - rounded
        is_pair = np.isfinite(rounded) and error != 0.0
        return self.float_constant(value), self.float_constant(error) if is_pair else None

    def pair(self, op: Op, operands: Sequence[Pair]) -> Pair:
        """Return the result of an operation, with the digits of a pair."""
        return _PAIRS[op](self, op, operands)

    def rounded(self, op: Op, operands: Sequence[Pair]) -> Pair:
        """Return the result of an operation on pairs as a float; a pair if it is exact."""
        if op in _ROUNDED:
            return _ROUNDED[op](self, op, operands), None
        high, low = self.pair(op, operands)
        if low is None or op in (Op.NEG, Op.SELECT):
            return high, low
        return self.add(Op.ADD, high, low), None

    def with_unit_norm(self, elements: Sequence[int]) -> list[Pair]:
        """Divide elements by their norm, which is almost 1: x - x (sum of squares - 1) / 2."""
        (total, error), *others = (self._two_product(one, one) for one in elements)
        for square, square_error in others:
            total, sum_error = self._two_sum(total, square)
            error = self._total([error, square_error, sum_error])
        excess = self.add(Op.ADD, self.add(Op.SUB, total, self.float_constant(1.0)), error)
        factor = self.add(Op.MUL, excess, self.float_constant(-0.5))
        return [(one, self.add(Op.MUL, one, factor)) for one in elements]

    # Operations on floats and pairs that return a pair.

    def sum(self, op: Op, operands: Sequence[Pair]) -> Pair:
        """a + b or a - b."""
        (a, a_low), (b, b_low) = operands
        if op is Op.SUB:
            b, b_low = self._negative(b), self._negative_low(b_low)
        total, error = self._two_sum(a, b)
        if a_low is None and b_low is None:
            return total, error
        return self._joined(total, self._total([error, a_low, b_low]))

    def product(self, op: Op, operands: Sequence[Pair]) -> Pair:
        """a b."""
        del op
        (a, a_low), (b, b_low) = operands
        product, error = self._two_product(a, b)
        if a_low is None and b_low is None:
            return product, error
        if b_low is not None:
            error = self.add(Fused.FMA, a, b_low, error)
        if a_low is not None:
            error = self.add(Fused.FMA, a_low, b, error)
        return self._joined(product, error)

    def quotient(self, op: Op, operands: Sequence[Pair]) -> Pair:
        """a / b; the rounding error is the remainder of a, divided by b."""
        (a, a_low), (b, b_low) = operands
        quotient = self.add(op, a, b)
        minus = self._negative(quotient)
        remainder = self._total([self.add(Fused.FMA, minus, b, a), a_low])
        if b_low is not None:
            remainder = self.add(Fused.FMA, minus, b_low, remainder)
        return self._joined(quotient, self.add(Op.DIV, remainder, b))

    def root(self, op: Op, operands: Sequence[Pair]) -> Pair:
        """The root r of a; the rounding error is the remainder of a, divided by 2 r, or 0."""
        ((a, a_low),) = operands
        root = self.add(op, a)
        remainder = self._total([self.add(Fused.FMA, self._negative(root), root, a), a_low])
        low = self.add(Op.DIV, remainder, self.add(Op.ADD, root, root))
        return self._joined(root, self.add(Op.SELECT, root, low, self.float_constant(0.0)))

    def opposite(self, op: Op, operands: Sequence[Pair]) -> Pair:
        """-a."""
        del op
        ((a, a_low),) = operands
        return self._negative(a), self._negative_low(a_low)

    def selected(self, op: Op, operands: Sequence[Pair]) -> Pair:
        """Select one of two pairs."""
        (condition, _), (a, a_low), (b, b_low) = operands
        high = self.add(op, condition, a, b)
        if a_low is None and b_low is None:
            return high, None
        zero = self.float_constant(0.0)
        lows = (zero if low is None else low for low in (a_low, b_low))
        return high, self.add(op, condition, *lows)

    def sine_or_cosine(self, op: Op, operands: Sequence[Pair]) -> Pair:
        """Both, with norm 1, rotated by the rounding error of the angle."""
        ((angle, low),) = operands
        if angle not in self._angles:
            sine, cosine = self.add(Op.SIN, angle), self.add(Op.COS, angle)
            (_, sine_low), (_, cosine_low) = self.with_unit_norm([sine, cosine])
            if low is not None:
                sine_low = self.add(Fused.FMA, cosine, low, sine_low)
                cosine_low = self.add(Fused.FMA, self._negative(sine), low, cosine_low)
            self._angles[angle] = {Op.SIN: (sine, sine_low), Op.COS: (cosine, cosine_low)}
        return self._angles[angle][op]

    # Operations on pairs that return a float.

    def rounded_sum(self, op: Op, operands: Sequence[Pair]) -> int:
        """a + b or a - b."""
        (a, a_low), (b, b_low) = operands
        if op is Op.SUB:
            b_low = self._negative_low(b_low)
        return self.add(Op.ADD, self.add(op, a, b), self._total([a_low, b_low]))

    def rounded_product(self, op: Op, operands: Sequence[Pair]) -> int:
        """a b."""
        (a, a_low), (b, b_low) = operands
        if b_low is None:
            a, a_low, b, b_low = b, b_low, a, a_low
        low = self.add(op, a, b_low)
        if a_low is not None:
            low = self.add(Fused.FMA, a_low, b, low)
        return self.add(Fused.FMA, a, b, low)

    def _two_sum(self, a: int, b: int) -> tuple[int, int]:
        total = self.add(Op.ADD, a, b)
        of_b = self.add(Op.SUB, total, a)
        of_a = self.add(Op.SUB, total, of_b)
        errors = self.add(Op.SUB, a, of_a), self.add(Op.SUB, b, of_b)
        return total, self.add(Op.ADD, *errors)

    def _two_product(self, a: int, b: int) -> tuple[int, int]:
        product = self.add(Op.MUL, a, b)
        return product, self.add(Fused.FMA, a, b, self._negative(product))

    def _joined(self, high: int, low: int) -> tuple[int, int]:
        """Renormalize a pair; `high` is at least as large as `low`."""
        total = self.add(Op.ADD, high, low)
        return total, self.add(Op.SUB, low, self.add(Op.SUB, total, high))

    def _negative(self, step: int) -> int:
        """-a; a new constant if a is constant, as no step has only constants as operands."""
        op, *args = self.steps[step]
        return self.float_constant(-args[0]) if op is Op.CONST else self.add(Op.NEG, step)

    def _negative_low(self, step: int | None) -> int | None:
        return None if step is None else self._negative(step)

    def _total(self, steps: Iterable[int | None]) -> int:
        first, *others = (step for step in steps if step is not None)
        for other in others:
            first = self.add(Op.ADD, first, other)
        return first


_ROUNDED: dict[Op, Callable[[PairSteps, Op, Sequence[Pair]], int]] = {
    Op.ADD: PairSteps.rounded_sum,
    Op.SUB: PairSteps.rounded_sum,
    Op.MUL: PairSteps.rounded_product,
}
_PAIRS: dict[Op, Callable[[PairSteps, Op, Sequence[Pair]], Pair]] = {
    Op.ADD: PairSteps.sum,
    Op.SUB: PairSteps.sum,
    Op.MUL: PairSteps.product,
    Op.DIV: PairSteps.quotient,
    Op.NEG: PairSteps.opposite,
    Op.SQRT: PairSteps.root,
    Op.SIN: PairSteps.sine_or_cosine,
    Op.COS: PairSteps.sine_or_cosine,
    Op.SELECT: PairSteps.selected,
}
HAVE_PAIRS = frozenset(_PAIRS)
"""Operations that can take and return pairs. Others take the rounded values."""
