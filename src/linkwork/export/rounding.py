"""Which roundings of a program move its results: an estimate for each step, at some states.

A step that is rounded to a float changes each result by its derivative times what was rounded off.
Derivatives of all results by all steps would be a large matrix. Random combinations of the results,
each with a sign of its own, need one backward sweep each, and the mean square of what a rounding
does to them is the sum of squares of what it does to the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from linkwork.engine.autodiff.partials import partial_derivatives
from linkwork.engine.kernel.norms import normalized
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import NUMPY_FUNCTIONS, Port, Program, per_port
from linkwork.export.function import Function

COMBINATIONS = 8  # of results
_EXACT = (Op.NEG, Op.SELECT, Op.LESS, Op.LESS_EQUAL, Op.FLOOR)  # round nothing off


class _Numbers(np.ndarray[Any, Any]):
    """An array with the methods that `partial_derivatives` calls."""

    def sin(self) -> Array:
        return np.sin(self)

    def cos(self) -> Array:
        return np.cos(self)

    def exp(self) -> Array:
        return np.exp(self)


def critical_steps(function: Function, inputs: Sequence[Array], *, share: float) -> frozenset[int]:
    """The fewest steps whose roundings to float make up all but a share of the error of results.

    Args:
        function: what is computed.
        inputs: (rows, size) of each input: states at which the error is estimated.
        share: of the root of the mean square of the error, at the state where it is largest.
    """
    spans = [unit.span for unit in function.unit_norms]
    rows = normalized(inputs, spans, np.float64)
    assert rows is not None
    squares = _moved(function, rows) ** 2  # (steps, rows)
    order = np.argsort(-squares.max(axis=1), kind="stable")
    left = np.cumsum(squares[order][::-1], axis=0)[::-1].max(axis=1)  # if those before are exact
    needed = int(np.count_nonzero(left > share**2 * left[0]))
    return frozenset(order[:needed].tolist())


def unit_inputs(function: Function) -> Iterator[tuple[int, ...]]:
    """For each quaternion or (cos, sin) pair, the indices of its numbers among all inputs."""
    starts = list(accumulate((one.port.size for one in function.inputs), initial=0))
    for unit in function.unit_norms:
        first = starts[unit.input] + unit.offset
        yield tuple(range(first, first + unit.count))


def _moved(function: Function, inputs: Sequence[Array]) -> Array:
    """(steps, rows): how far the rounding of each step moves the results."""
    program, n = function.program, len(inputs[0])
    every = replace(
        program, outputs=(Port("every", (len(program.steps),)),), results=range(len(program.steps))
    )
    with np.errstate(all="ignore"):
        columns = (tuple(part.T) for part in inputs)
        found = every.run(*columns, functions=NUMPY_FUNCTIONS, constant=np.float64)
        values = [np.broadcast_to(np.asarray(one, float), n).view(_Numbers) for one in found]
        moved = np.zeros((len(values), n))
        rounded = _rounded_off(function, values)
        for step, adjoint in _adjoints(program, values):
            moved[step] = np.sqrt(np.mean(adjoint * adjoint, axis=0)) * rounded[step]
    return np.nan_to_num(moved, nan=0.0, posinf=0.0, neginf=0.0)


def _rounded_off(function: Function, values: Sequence[Array]) -> list[Any]:
    """By step: what rounding to a float may take from its value."""
    unit = {number for numbers in unit_inputs(function) for number in numbers}
    half_ulp = 2.0**-24
    found: list[Any] = []
    for (op, *args), value in zip(function.program.steps, values, strict=True):
        if op is Op.CONST:
            found.append(abs(args[0] - float(np.float32(args[0]))))
        elif op in _EXACT or (op is Op.INPUT and args[0] not in unit):
            found.append(0.0)
        else:
            found.append(half_ulp * np.abs(value))
    return found


def _adjoints(program: Program, values: Sequence[Array]) -> Iterator[tuple[int, Array]]:
    """Each step with (combinations, rows): derivatives of combinations of the results by it."""
    rng = np.random.default_rng(0)
    adjoints: list[Any] = [None] * len(values)

    def add(step: int, part: Array) -> None:
        adjoints[step] = part if adjoints[step] is None else adjoints[step] + part

    for port, steps in per_port(program.outputs, program.results):
        if port.size:
            largest = np.max([np.abs(values[step]) for step in steps], axis=0)
            for step in steps:
                signs = rng.choice([-1.0, 1.0], size=(COMBINATIONS, 1))
                add(step, signs / np.where(largest, largest, 1.0))
    for step in reversed(range(len(values))):
        adjoint, (op, *args) = adjoints[step], program.steps[step]
        adjoints[step] = None
        if adjoint is None:
            continue
        yield step, adjoint
        if op is Op.SELECT:
            chosen = values[args[0]] != 0
            add(args[1], np.where(chosen, adjoint, 0.0))
            add(args[2], np.where(chosen, 0.0, adjoint))
        elif op not in (Op.CONST, Op.INPUT):
            given: Any = [values[arg] for arg in args]
            of_value: Any = values[step]
            for arg, slope in zip(args, partial_derivatives(op, given, of_value), strict=True):
                add(arg, adjoint * slope)
