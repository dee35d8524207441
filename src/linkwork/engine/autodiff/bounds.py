"""Bounds of the values of a program, and which partial derivatives may not be finite.

Derivatives guard products of 0 and infinity (partials.py). A guard costs several operations, so
that in a program whose results all pass through a root or a select, as distances do, guards
everywhere would make up most of the derivative. Bounds tell where they can be left out.

Inputs   those that derivatives are taken with respect to are at most `LARGEST_INPUT` in magnitude;
         any other may be infinite
Loops    a carry is as large as an input if its initial value is bounded. It may be infinite where a
         select after the loop may discard it, and in loops with roots
Squares  a sum of squares, with factors and further terms that are constant and not negative, is 0
         only where each square is 0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program

LARGEST_INPUT = 1e9
LARGEST = 3e38  # finite as float32, too


@dataclass(frozen=True)
class Bounds:
    """Bounds of the value of each step."""

    most: list[float]  # of the magnitude; infinite if not known
    least: list[float]  # of a sum of squares and constants, or its root; else minus infinity

    def steep(self, program: Program, step: int) -> tuple[bool, ...]:
        """For each argument of a step, whether the partial derivative may not be finite."""
        op, *args = program.steps[step]
        match op:
            case Op.MUL:  # the derivative with respect to each is the other
                return self.most[args[1]] > LARGEST, self.most[args[0]] > LARGEST
            case Op.SIN | Op.COS:
                largest = self.most[args[0]]
            case Op.EXP:
                largest = self.most[step]
            case Op.DIV:  # 1 / b and (a / b) / b
                largest = max(self.most[step], 1.0) * _inverse(self.least[args[1]])
            case Op.SQRT | Op.LOG:
                largest = _inverse(self.least[args[0]])
            case Op.ATAN2 | Op.EXPM1 | Op.LOG1P | Op.EXP2 | Op.LOOP:
                largest = math.inf
            case _:
                largest = 1.0
        return (not largest <= LARGEST,) * len(args)


def bounds_of(
    program: Program, active: Collection[int], largest_inputs: Sequence[float] | None = None
) -> Bounds:
    """The bounds of each step; nothing is known of the values of loops.

    Args:
        program: what is differentiated.
        active: the indices of the input numbers to differentiate with respect to.
        largest_inputs: bounds of the magnitudes of the inputs, if they are not as above.
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
    """The largest magnitude of 1 / b, from the least value of b."""
    return 1.0 / least if least > 1.0 / LARGEST else math.inf


# The largest magnitude of a result, from those of the arguments; infinite for other operations.
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
}


def _most(op: Op, most: list[float], least: float) -> float:
    """The largest magnitude of a result, from those of the arguments and the least of the last."""
    if op is Op.DIV:
        return most[0] * _inverse(least)
    if op is Op.SQRT and least < 0.0:  # NaN of a negative number
        return math.inf
    return _MOST[op](*most) if op in _MOST else math.inf


def _least(op: Op, args: list[int], least: list[float], program: Program) -> float:
    """The least value of a sum of squares; minus infinity of anything else."""
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
