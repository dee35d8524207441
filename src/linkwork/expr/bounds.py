"""Bounds of the values of a program, and which partial derivatives may not be finite.

Derivatives guard products of 0 and infinity (slopes.py). A guard costs several operations, so that
in a program whose results all pass through a root or a select, as distances do, guards everywhere
would make up most of the derivative. Bounds tell where they can be left out.

Inputs   those that derivatives are taken with respect to are at most `LARGEST_INPUT` in magnitude;
         any other may be infinite
Squares  a sum of squares, with factors and further terms that are constant and not negative, is 0
         only where each square is 0
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from linkwork.expr.node import Op
from linkwork.expr.program import Program

LARGEST_INPUT = 1e9
LARGEST = 3e38  # finite as float32, too


@dataclass(frozen=True)
class Bounds:
    """Bounds of the value of each step."""

    most: list[float]  # of the magnitude; infinite if not known
    least: list[float]  # of a sum of squares and constants, or its root; else minus infinity

    def is_steep(self, program: Program, step: int) -> bool:
        """Whether a partial derivative of a step may not be finite."""
        op, *args = program.steps[step]
        match op:
            case Op.MUL:
                return max(self.most[arg] for arg in args) > LARGEST
            case Op.SIN | Op.COS:
                return math.isinf(self.most[args[0]])
            case Op.DIV:
                return not self.most[step] <= LARGEST * min(self.least[args[1]], 1.0)
            case Op.SQRT | Op.LOG:
                return not self.least[args[0]] * LARGEST >= 1.0
            case Op.EXP:
                return self.most[step] > LARGEST
            case Op.ATAN2 | Op.EXPM1 | Op.LOG1P | Op.EXP2:
                return True
            case _:
                return False


def bounds_of(program: Program, active: Collection[int]) -> Bounds:
    """The bounds of each step.

    Args:
        program: what is differentiated.
        active: the indices of the input numbers to differentiate by.
    """
    bounds = Bounds([], [])
    for op, *args in program.steps:
        match op:
            case Op.CONST:
                most, least = abs(args[0]), args[0]
            case Op.INPUT:
                most, least = LARGEST_INPUT if args[0] in active else math.inf, -math.inf
            case _:
                most = _most(op, [bounds.most[arg] for arg in args], bounds.least[args[-1]])
                least = _least(op, args, [bounds.least[arg] for arg in args], program)
        bounds.most.append(most if most <= LARGEST else math.inf)
        bounds.least.append(least)
    return bounds


def _most(op: Op, most: list[float], least: float) -> float:
    """The largest magnitude of a result, from those of the arguments and the least of the last."""
    match op:
        case Op.ADD | Op.SUB:
            return most[0] + most[1]
        case Op.MUL:
            return most[0] * most[1]
        case Op.DIV:
            return most[0] / least if least > 0.0 else math.inf
        case Op.NEG:
            return most[0]
        case Op.SQRT:
            return math.sqrt(most[0]) if least >= 0.0 else math.inf
        case Op.SIN | Op.COS:
            return most[0] if math.isinf(most[0]) else 1.0
        case Op.LESS | Op.LESS_EQUAL:
            return 1.0
        case Op.SELECT:
            return max(most[1:])
        case Op.EXP:
            return math.exp(min(most[0], 100.0))
        case _:
            return math.inf


def _least(op: Op, args: list[int], least: list[float], program: Program) -> float:
    """The least value of a sum of squares; minus infinity of anything else."""
    is_square = op is Op.MUL and args[0] == args[1]
    factors = [program.steps[arg][0] is Op.CONST for arg in args]
    if is_square:
        return max(least[0], 0.0) ** 2 if least[0] < LARGEST else 0.0
    if op is Op.ADD or (op is Op.MUL and any(factors)):
        if min(least) < 0.0:
            return -math.inf
        if op is Op.ADD:
            return least[0] + least[1]
        # a product with the constant 0 does not remain in a program
        return least[0] * least[1]
    if op is Op.SQRT and least[0] > 0.0:
        return math.sqrt(least[0])
    return -math.inf
