"""Partial derivatives, guards where their products are not finite, and where these are needed.

A guard of a product of 0 and infinity takes several operations. If all results of a program pass
through a root or a select, as distances do, guards everywhere would make up most of the derivative.
Bounds of the values of a program show which guards can be omitted. They assume:

Inputs   inputs to differentiate with respect to are at most `LARGEST_INPUT` in magnitude; others
         may be infinite
Loops    a carry is at most `LARGEST_INPUT` if its initial value is bounded. It may be infinite if a
         select after the loop may discard it, and in loops with roots
Squares  a sum of squares, with constant factors and terms that are not negative, is 0 only where
         each square is 0
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from linkwork.engine.symbolic.node import Expr
from linkwork.engine.symbolic.operations import LARGEST, OPERATIONS, Bound, Op
from linkwork.engine.symbolic.program import Program

LARGEST_INPUT = 1e9


def partial_derivatives(op: Op, args: Sequence[Expr], value: Expr) -> tuple[Expr | float, ...]:
    """Return the partial derivatives of an operation, except select, for each argument.

    Args:
        op: the operation.
        args: its arguments.
        value: its result.
    """
    partials = OPERATIONS[op].partials
    assert partials is not None
    return partials(value, *args)


def masked(entry: Expr, partial: Expr | float) -> Expr:
    """The product of a derivative and a partial derivative, where 0 times infinity or NaN is 0.

    If the partial derivative is finite, the result is the unmasked product, so that second
    derivatives are correct even where the first factor is 0.
    """
    if not isinstance(partial, Expr) or partial.op is Op.CONST:
        return entry * partial
    product = entry * partial
    return _is_finite(partial).select(product, entry.select(product, 0.0))


def mask_infinite_adjoint(term: Expr, entry: Expr, partial: Expr) -> Expr:
    """Replace the product of an infinite adjoint and a partial derivative of 0 by 0.

    Args:
        term: the product.
        entry: the adjoint, which may be infinite, as that of sqrt(0).
        partial: the partial derivative.
    """
    return _is_finite(entry).select(term, partial.select(term, 0.0))


def _is_finite(value: Expr) -> Expr:
    """Return 1 where a value is finite in float32 and float64, else 0."""
    return (value <= LARGEST).select(value >= -LARGEST, 0.0)


def is_zero(node: Expr) -> bool:
    """Return whether a derivative is a structural zero."""
    return node.op is Op.CONST and node.args[0] == 0.0


def bounds_of(
    program: Program, active: Collection[int], largest_inputs: Sequence[float] | None = None
) -> list[Bound]:
    """Compute the bounds of the value of each step; the values of loops are unbounded.

    Args:
        program: the program to differentiate.
        active: the indices of the input elements to differentiate with respect to.
        largest_inputs: bounds of the magnitudes of the inputs; default as described above.
    """
    bounds: list[Bound] = []
    for op, *args in program.steps:
        if op.row is not None:
            operands = [bounds[arg] for arg in args]
            most, least = op.row.most(*operands), _least(op, args, operands, program)
        elif op is Op.CONST:
            most, least = abs(args[0]), args[0]
        else:
            most, least = math.inf, -math.inf
            if op is Op.INPUT:
                most = LARGEST_INPUT if args[0] in active else math.inf
                most = most if largest_inputs is None else largest_inputs[args[0]]
        bounds.append(Bound(most if most <= LARGEST else math.inf, least))
    return bounds


def steep_arguments(program: Program, step: int, bounds: Sequence[Bound]) -> tuple[bool, ...]:
    """Return for each argument of a step whether the partial derivative may not be finite."""
    op, *args = program.steps[step]
    if op.row is None:
        return (op is Op.LOOP,) * len(args)
    largest = op.row.steepest(bounds[step], *[bounds[arg] for arg in args])
    each = largest if isinstance(largest, tuple) else (largest,) * len(args)
    return tuple(not one <= LARGEST for one in each)


def _least(op: Op, args: list[int], bounds: Sequence[Bound], program: Program) -> float:
    """Bound the least value of a sum of squares; minus infinity for other values."""
    least = [bound.least for bound in bounds]
    if op is Op.SELECT:
        return _least_chosen(args, least, program)
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


def _least_chosen(args: list[int], least: Sequence[float], program: Program) -> float:
    """Bound the least value of a select: x > c in `c < x ? x : y` and in `x < c ? y : x`."""
    condition, *branches = args
    values = list(least[1:])
    op, *compared = program.steps[condition]
    if op in (Op.LESS, Op.LESS_EQUAL):
        for k, x, c in (0, compared[1], compared[0]), (1, compared[0], compared[1]):
            kind, *value = program.steps[c]
            # a least value of 0 would mean a sum of squares
            if branches[k] == x and kind is Op.CONST and value[0] > 0.0:
                values[k] = max(value[0], values[k])
    return min(values)
