"""Functions in single precision with compensated rounding.

Where results are small differences of large numbers, floats lose digits that the inputs have.
There, the steps whose rounding errors matter are computed as pairs of floats (`pairs`).

These steps are estimated at some states. Rounding a step to a float changes each result by its
derivative times the rounding error. The derivatives of all results with respect to all steps would
be a large matrix. Instead, random combinations of the results, with random signs, are
differentiated, one backward sweep for each. The mean square of the effect of a rounding error on
them is the sum of squares of its effects on the results.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from linkwork.engine.autodiff.guards import partial_derivatives
from linkwork.engine.codegen.c.statements import FLOAT
from linkwork.engine.kernel.norms import normalized
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS, Op, operands_of
from linkwork.engine.symbolic.program import Port, Program, per_port
from linkwork.export.function import Function
from linkwork.export.pairs import HAVE_PAIRS, Pair, PairSteps
from linkwork.export.requests import Exported
from linkwork.export.samples import DIFFERENCE, rounding_errors, sample_of
from linkwork.kindyn import KinDyn
from linkwork.kindyn.constrained import ConstrainedKinDyn

# Number of states at which errors are measured (other states than those of the check), and of the
# states with the largest errors, which are examined more closely.
STATES, WORST = 256, 32
# Other states may be worse: errors above half of the allowed difference are reduced to a quarter.
TOO_MUCH, AIM = DIFFERENCE["float"] / 2, DIFFERENCE["float"] / 4
COMBINATIONS = 8  # of results
_SEED = 1
_TRIES = 3  # each aims at half the error of the one before
_EXACT = (Op.NEG, Op.SELECT, Op.LESS, Op.LESS_EQUAL, Op.FLOOR)  # operations without rounding


def compensate_rounding(kd: KinDyn | ConstrainedKinDyn, one: Exported) -> Exported:
    """Return the function for single precision, with the rounding errors that matter corrected.

    Most functions are returned unchanged. Small differences of large numbers, as in the dynamics of
    a light base with a heavy arm, are computed with more digits than a float has.
    """
    sample = sample_of(kd, one, FLOAT, rows=STATES, seed=_SEED)
    errors = rounding_errors(one, sample.inputs, sample.outputs, FLOAT)
    if errors.max() <= TOO_MUCH or one.function.program.loops:  # steps in loops have no pairs
        return one
    worst = np.argsort(-errors)[:WORST]
    inputs = [part[worst] for part in sample.inputs]
    corrected = one
    for aim in (AIM / 2**k for k in range(_TRIES)):
        critical = critical_steps(one.function, inputs, share=aim / float(errors.max()))
        corrected = replace(one, function=compensated(one.function, critical))
        if rounding_errors(corrected, sample.inputs, sample.outputs, FLOAT).max() <= AIM:
            break
    return corrected


def compensated(function: Function, critical: Collection[int]) -> Function:
    """Return the function in floats, with the rounding errors of some of its steps corrected."""
    old, new = function.program, PairSteps()
    units = _unit_pairs(function, critical, new)
    pairs: list[Pair] = []  # by step of the old program
    for step, (op, *args) in enumerate(old.steps):
        is_critical = step in critical
        if op is Op.CONST:
            pair = new.constant(args[0]) if is_critical else (new.float_constant(args[0]), None)
        elif op is Op.INPUT:
            pair = units.get(args[0]) or (new.add(Op.INPUT, args[0]), None)
        else:
            operands = [pairs[arg] for arg in args]
            has_pairs = any(low is not None for _, low in operands)
            if op not in HAVE_PAIRS or not (is_critical or has_pairs):
                pair = new.add(op, *(high for high, _ in operands)), None
            else:
                pair = new.pair(op, operands) if is_critical else new.rounded(op, operands)
        pairs.append(pair)
    steps, results = _without_unused(new.steps, [pairs[step][0] for step in old.results])
    program = replace(old, steps=steps, results=results)
    return replace(function, program=program, corrected=len(critical))


def _without_unused(
    steps: Sequence[tuple[Any, ...]], results: Sequence[int]
) -> tuple[tuple[tuple[Any, ...], ...], tuple[int, ...]]:
    """Return the steps that some results need, and the new indices of the results."""
    needed = set(results)
    for k in reversed(range(len(steps))):
        if k in needed:
            needed.update(operands_of(steps[k][0], steps[k][1:]))
    index = {old: new for new, old in enumerate(sorted(needed))}
    kept_steps: list[tuple[Any, ...]] = []
    for k in index:
        op, *args = steps[k]
        kept_steps.append((op, *(index[arg] for arg in args)) if op > Op.INPUT else steps[k])
    return tuple(kept_steps), tuple(index[k] for k in results)


def _unit_pairs(function: Function, critical: Collection[int], new: PairSteps) -> dict[int, Pair]:
    """Return corrected elements of the unit vectors with a critical element, by input index."""
    steps = function.program.steps
    critical_inputs = {steps[k][1] for k in critical if steps[k][0] is Op.INPUT}
    pairs: dict[int, Pair] = {}
    for indices in _unit_inputs(function):
        if critical_inputs.intersection(indices):
            loaded = [new.add(Op.INPUT, index) for index in indices]
            pairs |= zip(indices, new.with_unit_norm(loaded), strict=True)
    return pairs


class _Values(np.ndarray[Any, Any]):
    """An array with the methods that `partial_derivatives` calls."""

    def sin(self) -> Array:
        return np.sin(self)

    def cos(self) -> Array:
        return np.cos(self)

    def exp(self) -> Array:
        return np.exp(self)


def critical_steps(function: Function, inputs: Sequence[Array], *, share: float) -> frozenset[int]:
    """Return the fewest steps whose float rounding causes all but a share of the error of results.

    Args:
        function: the function.
        inputs: (rows, size) of each input: states at which the error is estimated.
        share: allowed fraction of the root mean square error, at the state where it is largest.
    """
    spans = [unit.span for unit in function.unit_norms]
    rows = normalized(inputs, spans, np.float64)
    assert rows is not None
    squares = _effects(function, rows) ** 2  # (steps, rows)
    order = np.argsort(-squares.max(axis=1), kind="stable")
    left = np.cumsum(squares[order][::-1], axis=0)[::-1].max(axis=1)  # if earlier ones are exact
    needed = int(np.count_nonzero(left > share**2 * left[0]))
    return frozenset(order[:needed].tolist())


def _unit_inputs(function: Function) -> Iterator[tuple[int, ...]]:
    """Yield the input indices of the elements of each quaternion or (cos, sin) pair."""
    starts = list(accumulate((one.port.size for one in function.inputs), initial=0))
    for unit in function.unit_norms:
        first = starts[unit.input] + unit.offset
        yield tuple(range(first, first + unit.count))


def _effects(function: Function, inputs: Sequence[Array]) -> Array:
    """(steps, rows): effect of the rounding error of each step on the results."""
    program, n = function.program, len(inputs[0])
    every = replace(
        program, outputs=(Port("every", (len(program.steps),)),), results=range(len(program.steps))
    )
    with np.errstate(all="ignore"):
        columns = (tuple(part.T) for part in inputs)
        results = every.run(*columns, functions=NUMPY_FUNCTIONS, constant=np.float64)
        values = [np.broadcast_to(np.asarray(one, float), n).view(_Values) for one in results]
        effects = np.zeros((len(values), n))
        errors = _rounding_errors(function, values)
        for step, adjoint in _adjoints(program, values):
            effects[step] = np.sqrt(np.mean(adjoint * adjoint, axis=0)) * errors[step]
    return np.nan_to_num(effects, nan=0.0, posinf=0.0, neginf=0.0)


def _rounding_errors(function: Function, values: Sequence[Array]) -> list[Any]:
    """Return the largest rounding error of the value of each step in float."""
    unit = {index for indices in _unit_inputs(function) for index in indices}
    half_ulp = 2.0**-24
    errors: list[Any] = []
    for (op, *args), value in zip(function.program.steps, values, strict=True):
        if op is Op.CONST:
            errors.append(abs(args[0] - float(np.float32(args[0]))))
        elif op in _EXACT or (op is Op.INPUT and args[0] not in unit):
            errors.append(0.0)
        else:
            errors.append(half_ulp * np.abs(value))
    return errors


def _adjoints(program: Program, values: Sequence[Array]) -> Iterator[tuple[int, Array]]:
    """Yield each step with (combinations, rows) derivatives of combinations of the results."""
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
            operands: Any = [values[arg] for arg in args]
            result: Any = values[step]
            partials = partial_derivatives(op, operands, result)
            for arg, partial in zip(args, partials, strict=True):
                add(arg, adjoint * partial)
