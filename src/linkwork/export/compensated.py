"""Programs for single precision in which the roundings of some steps are corrected.

Where results are small differences of large numbers, floats lose digits that their inputs have.
There, the steps whose roundings matter are computed as pairs of floats.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from linkwork.engine.symbolic.node import Op, operands_of
from linkwork.export.function import Function
from linkwork.export.pairs import HAVE_PAIRS, Pair, PairSteps
from linkwork.export.rounding import unit_inputs


def compensated(function: Function, critical: Collection[int]) -> Function:
    """The same function in floats, with the roundings of some steps of its program corrected."""
    old, new = function.program, PairSteps()
    units = _unit_pairs(function, critical, new)
    pairs: list[Pair] = []  # by step of the old program
    for step, (op, *args) in enumerate(old.steps):
        is_critical = step in critical
        if op is Op.CONST:
            pair = new.constant(args[0]) if is_critical else (new.number(args[0]), None)
        elif op is Op.INPUT:
            pair = units.get(args[0]) or (new.add(Op.INPUT, args[0]), None)
        else:
            given = [pairs[arg] for arg in args]
            has_pairs = any(low is not None for _, low in given)
            if op not in HAVE_PAIRS or not (is_critical or has_pairs):
                pair = new.add(op, *(high for high, _ in given)), None
            else:
                pair = new.pair(op, given) if is_critical else new.rounded(op, given)
        pairs.append(pair)
    steps, results = _without_unused(new.steps, [pairs[step][0] for step in old.results])
    program = replace(old, steps=steps, results=results)
    return replace(function, program=program, corrected=len(critical))


def _without_unused(
    steps: Sequence[tuple[Any, ...]], results: Sequence[int]
) -> tuple[tuple[tuple[Any, ...], ...], tuple[int, ...]]:
    """The steps that some results need, and the results among them."""
    needed = set(results)
    for k in reversed(range(len(steps))):
        if k in needed:
            needed.update(operands_of(steps[k][0], steps[k][1:]))
    index = {old: new for new, old in enumerate(sorted(needed))}
    left: list[tuple[Any, ...]] = []
    for k in index:
        op, *args = steps[k]
        left.append((op, *(index[arg] for arg in args)) if op > Op.INPUT else steps[k])
    return tuple(left), tuple(index[k] for k in results)


def _unit_pairs(function: Function, critical: Collection[int], new: PairSteps) -> dict[int, Pair]:
    """By index among all inputs: the numbers of quaternions of which one is critical."""
    steps = function.program.steps
    wanted = {steps[k][1] for k in critical if steps[k][0] is Op.INPUT}
    found: dict[int, Pair] = {}
    for numbers in unit_inputs(function):
        if wanted.intersection(numbers):
            loaded = [new.add(Op.INPUT, number) for number in numbers]
            found |= zip(numbers, new.with_unit_norm(loaded), strict=True)
    return found
