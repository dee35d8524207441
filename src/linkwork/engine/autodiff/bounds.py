"""Bounds of the values of a program, which determine where partial derivatives are finite.

Derivatives guard products of 0 and infinity (partials.py). A guard takes several operations. If all
results of a program pass through a root or a select, as distances do, guards everywhere would make
up most of the derivative. Bounds show which guards can be omitted. They assume:

Inputs   inputs to differentiate with respect to are at most `LARGEST_INPUT` in magnitude; others
         may be infinite
Loops    a carry is at most `LARGEST_INPUT` if its initial value is bounded. It may be infinite if a
         select after the loop may discard it, and in loops with roots
Squares  a sum of squares, with constant factors and terms that are not negative, is 0 only where
         each square is 0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program

LARGEST_INPUT = 1e9
LARGEST = 3e38  # finite in float32, too


@dataclass(frozen=True)
class Bounds:
    """Bounds of the value of each step."""

    most: list[float]  # upper bound of the magnitude; infinite if unknown
    least: list[float]  # lower bound of a sum of squares or its root; minus infinity for others

    def steep(self, program: Program, step: int) -> tuple[bool, ...]:
        """Return for each argument of a step whether the partial derivative may not be finite."""
        op, *args = program.steps[step]
        match op:
            case Op.MUL:  # the partial derivative for each factor is the other factor
                return self.most[args[1]] > LARGEST, self.most[args[0]] > LARGEST
            case Op.SIN | Op.COS:
                largest = self.most[args[0]]
            case Op.EXP:
                largest = self.most[step]
            case Op.DIV:  # 1 / b and (a / b) / b
                largest = max(self.most[step], 1.0) * _inverse(self.least[args[1]])
            case Op.SQRT | Op.LOG:
                largest = _inverse(self.least[args[0]])
            case Op.ATAN2 | Op.EXPM1 | Op.LOG1P | Op.EXP2 | Op.POW | Op.FMOD | Op.LOOP:
                largest = math.inf
            case _:
                largest = 1.0
        return (not largest <= LARGEST,) * len(args)


def bounds_of(
    program: Program, active: Collection[int], largest_inputs: Sequence[float] | None = None
) -> Bounds:
    """Compute the bounds of each step; the values of loops are unbounded.

    Args:
        program: the program to differentiate.
        active: the indices of the input elements to differentiate with respect to.
        largest_inputs: bounds of the magnitudes of the inputs; default as described above.
    """
    bounds = Bounds([], [])
    for op, *args in program.steps:
        match op:
            case Op.CONST:
                most, least = abs(args[0]), args[0]
            case Op.INPUT:
                most, least = LARGEST_INPUT if args[0] in active else math.inf, -math.inf
                most = most if largest_inputs is None else largest_inputs[args[0]]
            case Op.LOOP | Op.LOOP_RESULT | Op.LOOP_STACK:
                most, least = math.inf, -math.inf
            case _:
                most = _most(op, [bounds.most[arg] for arg in args], bounds.least[args[-1]])
                least = _least(op, args, [bounds.least[arg] for arg in args], program)
        bounds.most.append(most if most <= LARGEST else math.inf)
        bounds.least.append(least)
    return bounds


def _inverse(least: float) -> float:
    """Bound the magnitude of 1 / b by the least value of b."""
    return 1.0 / least if least > 1.0 / LARGEST else math.inf


# Bound of the magnitude of a result, from those of the arguments; infinite for other operations.
_MOST: dict[Op, Callable[..., float]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a + b,
    Op.MUL: lambda a, b: a * b,
    Op.NEG: lambda a: a,
    Op.SQRT: lambda a: max(a, 1.0),
    Op.SIN: lambda a: min(a, 1.0) if a < math.inf else a,
    Op.COS: lambda a: 1.0 if a < math.inf else a,
    Op.LESS: lambda a, b: 1.0,
    Op.LESS_EQUAL: lambda a, b: 1.0,
    Op.SELECT: lambda c, a, b: max(a, b),
    Op.EXP: lambda a: math.exp(min(a, 100.0)),
    Op.HYPOT: lambda a, b: a + b,
    Op.COPYSIGN: lambda a, b: a,
}


def _most(op: Op, most: list[float], least: float) -> float:
    """Bound the magnitude of a result, from the arguments' and the last one's least value."""
    if op is Op.DIV:
        return most[0] * _inverse(least)
    if op is Op.SQRT and least < 0.0:  # may be NaN
        return math.inf
    return _MOST[op](*most) if op in _MOST else math.inf


def _least(op: Op, args: list[int], least: list[float], program: Program) -> float:
    """Bound the least value of a sum of squares; minus infinity for other values."""
    if op is Op.SQRT and least[0] > 0.0:
        return math.sqrt(least[0])
    if op is Op.MUL and args[0] == args[1]:
        return max(least[0], 0.0) ** 2 if least[0] < 1e150 else 0.0
    if min(least) >= 0.0:
        if op is Op.ADD:
            return least[0] + least[1]
        if op is Op.MUL and any(program.steps[arg][0] is Op.CONST for arg in args):
            return least[0] * least[1]
    return -math.inf
