"""Programs in which some values are pairs of floats: the rounded value, and what was rounded off.

Where results are small differences of large numbers, single precision loses digits that its inputs
have. There, the steps whose roundings matter are carried out with about twice the digits, by the
error-free sums and products of Knuth and Dekker. Everything stays a float, so it runs on processors
that have no other numbers.

    sum       s = a + b     b' = s - a     error = (a - (s - b')) + (b - b')
    product   p = a b       error = fma(a, b, -p)

Sines and cosines come from libm with their own roundings. What is corrected is their norm: then the
pair is that of an angle which differs in its last digit, as an input may. Quaternions likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np

from linkwork.export.function import Function
from linkwork.export.rounding import unit_inputs
from linkwork.expr.node import Op
from linkwork.expr.program import Program


class Fused(IntEnum):
    """An operation that only exported programs have."""

    FMA = 64  # a b + c, rounded once


Pair: TypeAlias = tuple[int, int | None]
"""Steps that hold a value and what was rounded off; None where that does not matter."""


def compensated(function: Function, critical: Collection[int]) -> Function:
    """The same function in floats, with the roundings of some steps corrected."""
    program = _Writer(function, critical).program()
    return replace(function, program=program, corrected=len(critical))


def float_fma(a: Any, b: Any, c: Any) -> Any:
    """The fused operation on floats of NumPy: the product of two is exact in double precision."""
    return np.float32(np.multiply(a, b, dtype=np.float64) + c)


class _Writer:
    """Writes the steps of the new program."""

    def __init__(self, function: Function, critical: Collection[int]) -> None:
        self._function, self._critical = function, critical
        self._steps: list[tuple[Any, ...]] = []
        self._constants: dict[float, int] = {}
        self._pairs: list[Pair] = []  # by step of the old program
        self._norms: dict[int, dict[Op, Pair]] = {}  # by angle: its sine and cosine
        self._units = self._unit_pairs()

    def program(self) -> Program:
        """The new program."""
        old = self._function.program
        for step, (op, *args) in enumerate(old.steps):
            if op is Op.CONST:
                pair = self._constant(args[0], corrected=step in self._critical)
            elif op is Op.INPUT:
                pair = self._units.get(args[0]) or (self._add(Op.INPUT, args[0]), None)
            else:
                pair = self._computed(step, op, args)
            self._pairs.append(pair)
        results = tuple(self._pairs[step][0] for step in old.results)
        return replace(old, steps=tuple(self._steps), results=results)

    def _add(self, op: Op | Fused, *args: Any) -> int:
        self._steps.append((op, *args))
        return len(self._steps) - 1

    def _number(self, value: float) -> int:
        """The step of a constant, each once."""
        if value not in self._constants:
            self._constants[value] = self._add(Op.CONST, value)
        return self._constants[value]

    def _constant(self, value: float, *, corrected: bool) -> Pair:
        rounded = float(np.float32(value))
        less = value - rounded
        use_pair = corrected and np.isfinite(rounded) and less != 0.0
        return self._number(value), self._number(less) if use_pair else None

    def _computed(self, step: int, op: Op, args: Sequence[int]) -> Pair:
        given = [self._pairs[arg] for arg in args]
        is_critical = step in self._critical
        has_pairs = any(low is not None for _, low in given)
        write = _RULES.get(op)
        if write is None or not (has_pairs or is_critical):
            return self._add(op, *(high for high, _ in given)), None
        if not is_critical and op in _ROUNDED:
            return _ROUNDED[op](self, op, given), None
        high, low = write(self, op, given)
        if is_critical or low is None or op in (Op.NEG, Op.SELECT):
            return high, low
        return self._add(Op.ADD, high, low), None

    # Of pairs, a float.

    def _rounded_sum(self, op: Op, given: Sequence[Pair]) -> int:
        (a, a_low), (b, b_low) = given
        if op is Op.SUB:
            b_low = self._negative(b_low)
        return self._add(Op.ADD, self._add(op, a, b), self._total([a_low, b_low]))

    def _rounded_product(self, op: Op, given: Sequence[Pair]) -> int:
        (a, a_low), (b, b_low) = given
        if b_low is None:
            a, a_low, b, b_low = b, b_low, a, a_low
        low = self._add(op, a, b_low)
        if a_low is not None:
            low = self._add(Fused.FMA, a_low, b, low)
        return self._add(Fused.FMA, a, b, low)

    # Of floats and pairs, a pair with as many digits as there can be.

    def _sum(self, op: Op, given: Sequence[Pair]) -> Pair:
        (a, a_low), (b, b_low) = given
        if op is Op.SUB:
            b, b_low = self._add(Op.NEG, b), self._negative(b_low)
        total, error = self._two_sum(a, b)
        if a_low is None and b_low is None:
            return total, error
        return self._joined(total, self._total([error, a_low, b_low]))

    def _product(self, op: Op, given: Sequence[Pair]) -> Pair:
        del op
        (a, a_low), (b, b_low) = given
        product, error = self._two_product(a, b)
        if a_low is None and b_low is None:
            return product, error
        if b_low is not None:
            error = self._add(Fused.FMA, a, b_low, error)
        if a_low is not None:
            error = self._add(Fused.FMA, a_low, b, error)
        return self._joined(product, error)

    def _quotient(self, op: Op, given: Sequence[Pair]) -> Pair:
        del op
        (a, a_low), (b, b_low) = given
        quotient = self._add(Op.DIV, a, b)
        minus = self._add(Op.NEG, quotient)
        left = self._total([self._add(Fused.FMA, minus, b, a), a_low])
        if b_low is not None:
            left = self._add(Fused.FMA, minus, b_low, left)
        return self._joined(quotient, self._add(Op.DIV, left, b))

    def _root(self, op: Op, given: Sequence[Pair]) -> Pair:
        ((a, a_low),) = given
        root = self._add(op, a)
        left = self._total([self._add(Fused.FMA, self._add(Op.NEG, root), root, a), a_low])
        low = self._add(Op.DIV, left, self._add(Op.ADD, root, root))
        zero = self._number(0.0)
        return self._joined(root, self._add(Op.SELECT, root, low, zero))  # of 0 it is 0

    def _opposite(self, op: Op, given: Sequence[Pair]) -> Pair:
        ((a, a_low),) = given
        return self._add(op, a), self._negative(a_low)

    def _selected(self, op: Op, given: Sequence[Pair]) -> Pair:
        (condition, _), (a, a_low), (b, b_low) = given
        high = self._add(op, condition, a, b)
        if a_low is None and b_low is None:
            return high, None
        zero = self._number(0.0)
        lows = (zero if low is None else low for low in (a_low, b_low))
        return high, self._add(op, condition, *lows)

    def _sine_or_cosine(self, op: Op, given: Sequence[Pair]) -> Pair:
        ((angle, low),) = given
        if angle not in self._norms:
            sine, cosine = self._add(Op.SIN, angle), self._add(Op.COS, angle)
            (_, sine_low), (_, cosine_low) = self._with_unit_norm([sine, cosine])
            if low is not None:
                sine_low = self._add(Fused.FMA, cosine, low, sine_low)
                cosine_low = self._add(Fused.FMA, self._add(Op.NEG, sine), low, cosine_low)
            self._norms[angle] = {Op.SIN: (sine, sine_low), Op.COS: (cosine, cosine_low)}
        return self._norms[angle][op]

    def _unit_pairs(self) -> dict[int, Pair]:
        """By index among all inputs: numbers of the quaternions of which one is critical."""
        steps = self._function.program.steps
        critical = {steps[k][1] for k in self._critical if steps[k][0] is Op.INPUT}
        found: dict[int, Pair] = {}
        for numbers in unit_inputs(self._function):
            if critical.intersection(numbers):
                loaded = [self._add(Op.INPUT, number) for number in numbers]
                found |= zip(numbers, self._with_unit_norm(loaded), strict=True)
        return found

    def _with_unit_norm(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Numbers whose norm is almost 1, with what is missing: x (1 - (sum of squares - 1) / 2)."""
        (total, error), *others = (self._two_product(one, one) for one in numbers)
        for square, own in others:
            total, rounded_off = self._two_sum(total, square)
            error = self._total([error, own, rounded_off])
        excess = self._add(Op.ADD, self._add(Op.SUB, total, self._number(1.0)), error)
        factor = self._add(Op.MUL, excess, self._number(-0.5))
        return [(one, self._add(Op.MUL, one, factor)) for one in numbers]

    def _two_sum(self, a: int, b: int) -> tuple[int, int]:
        total = self._add(Op.ADD, a, b)
        of_b = self._add(Op.SUB, total, a)
        of_a = self._add(Op.SUB, total, of_b)
        lost = self._add(Op.SUB, a, of_a), self._add(Op.SUB, b, of_b)
        return total, self._add(Op.ADD, *lost)

    def _two_product(self, a: int, b: int) -> tuple[int, int]:
        product = self._add(Op.MUL, a, b)
        return product, self._add(Fused.FMA, a, b, self._add(Op.NEG, product))

    def _joined(self, high: int, low: int) -> tuple[int, int]:
        """The same sum with all the digits that fit in the first; it is not the smaller one."""
        total = self._add(Op.ADD, high, low)
        return total, self._add(Op.SUB, low, self._add(Op.SUB, total, high))

    def _negative(self, step: int | None) -> int | None:
        return None if step is None else self._add(Op.NEG, step)

    def _total(self, steps: Iterable[int | None]) -> int:
        first, *others = (step for step in steps if step is not None)
        for other in others:
            first = self._add(Op.ADD, first, other)
        return first


_ROUNDED: dict[Op, Callable[[_Writer, Op, Sequence[Pair]], int]] = {
    Op.ADD: _Writer._rounded_sum,
    Op.SUB: _Writer._rounded_sum,
    Op.MUL: _Writer._rounded_product,
}
_RULES: dict[Op, Callable[[_Writer, Op, Sequence[Pair]], Pair]] = {
    Op.ADD: _Writer._sum,
    Op.SUB: _Writer._sum,
    Op.MUL: _Writer._product,
    Op.DIV: _Writer._quotient,
    Op.NEG: _Writer._opposite,
    Op.SQRT: _Writer._root,
    Op.SIN: _Writer._sine_or_cosine,
    Op.COS: _Writer._sine_or_cosine,
    Op.SELECT: _Writer._selected,
}
