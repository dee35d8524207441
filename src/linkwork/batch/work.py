"""What a process does with one chunk: read its states, compute, write; or compute and compare."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork.batch import store
from linkwork.batch.digests import digest_of
from linkwork.batch.functions import Function, inputs_of
from linkwork.batch.plan import Plan, this_place
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ShapeError, SingularJointError, ValueRangeError


@dataclass(frozen=True)
class Outcome:
    """What became of a chunk."""

    chunk: int
    digest: str  # of its states, if they are read from a file
    processor: str  # that computed it
    refused: str = ""  # why it was not computed, or what is wrong with what is stored


def compute(plan: Plan, chunk: int, threads: int | None = None) -> Outcome:
    """Compute a chunk and write it; on return it is on the disk.

    States that a function refuses make a chunk that is not done, and what the function said. Arrays
    of functions before that one may have the rows of the chunk.
    """
    digest, states = _states(plan, chunk)
    arrays = _arrays(plan)
    try:
        for port, rows in _results(plan, chunk, states, threads):
            store.write(plan, arrays[port.name], port, chunk, rows)
    except (ValueRangeError, SingularJointError, ShapeError) as error:
        said = _with_rows_of_all(str(error), plan, chunk)
        return Outcome(chunk, digest, this_place().processor, said)
    return Outcome(chunk, digest, this_place().processor)


def verify(plan: Plan, chunk: int, threads: int | None = None) -> Outcome:
    """Compute a chunk again, and compare it bit for bit with what is stored."""
    digest, states = _states(plan, chunk)
    start, stop = plan.span(chunk)
    arrays, own = _arrays(plan), this_place().processor
    for port, rows in _results(plan, chunk, states, threads):
        try:
            stored: Array = arrays[port.name][start:stop]
        except Exception as error:  # noqa: BLE001 - a damaged file is refused in many ways
            text = str(error).strip().splitlines() or [type(error).__name__]
            return Outcome(chunk, digest, own, f"{port.name} cannot be read: {text[0]}")
        same = _bits(stored) == _bits(rows)
        if not same.all():
            first = start + int(np.argmin(same.reshape(len(rows), -1).all(axis=1)))
            return Outcome(chunk, digest, own, f"{port.name} differs from row {first:,} on")
    return Outcome(chunk, digest, own)


def states_digest(plan: Plan, chunk: int) -> Outcome:
    """Read the states of a chunk, and compute nothing."""
    return Outcome(chunk, _states(plan, chunk)[0], "")


def _states(plan: Plan, chunk: int) -> tuple[str, dict[str, Array]]:
    """The digest of the states of a chunk, and what to compute it from, by input.

    Rows that are computed to fill groups of rows up are copies of the first and the last state. The
    states of other chunks could be refused, and it would not be the fault of this one.
    """
    start, stop = plan.span(chunk)
    first, last = plan.aligned_span(chunk)
    names = [port.name for port in inputs_of(plan.functions)]
    own = {name: plan.states.read(name, start, stop) for name in names}
    index = np.clip(np.arange(first, last), start, stop - 1) - start
    filled = last - first > stop - start
    digest = digest_of(own.values()) if plan.states.can_change else ""
    return digest, {k: v[index] if filled else v for k, v in own.items()}


def _results(
    plan: Plan, chunk: int, states: dict[str, Array], threads: int | None
) -> Iterator[tuple[Port, Array]]:
    """The rows of each array; they are valid until the next ones are asked for."""
    this_place().check(plan)
    start, stop = plan.span(chunk)
    first, last = plan.aligned_span(chunk)
    for function in _ready(plan):
        given = [states[port.name] for port in function.inputs]
        outputs = _buffers(plan, function, last - first)
        function.kernel(*given, out=outputs, threads=threads)
        results = outputs if isinstance(outputs, tuple) else (outputs,)
        for port, rows in zip(function.arrays, results, strict=True):
            yield port, rows[start - first : stop - first]


@lru_cache(maxsize=4)
def _ready(plan: Plan) -> tuple[Function, ...]:
    """The functions with their fast code in use, so that all chunks are computed by the same."""
    for function in plan.functions:
        function.kernel.warmup()
    return plan.functions


@lru_cache(maxsize=4)
def _arrays(plan: Plan) -> dict[str, Any]:
    return store.opened(plan)


_own = threading.local()  # memory that a thread uses again: that of a fresh array costs more


def _buffers(plan: Plan, function: Function, rows: int) -> Any:
    """Arrays for the results of a function."""
    if getattr(_own, "key", None) != (plan.digest, rows):
        _own.key, _own.arrays = (plan.digest, rows), {}
    if function.text not in _own.arrays:
        made = [np.empty((rows, *port.shape), plan.kd.dtype) for port in function.arrays]
        _own.arrays[function.text] = tuple(made) if len(made) > 1 else made[0]
    return _own.arrays[function.text]


def _bits(array: Array) -> Array:
    """The bits of numbers, to be compared: NaN is equal to itself, and 0 is not -0."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _with_rows_of_all(text: str, plan: Plan, chunk: int) -> str:
    """A message about a row that was computed, with its number among all rows."""
    first = plan.aligned_span(chunk)[0]
    start, stop = plan.span(chunk)

    def among_all(found: re.Match[str]) -> str:
        return f"(row {min(max(first + int(found[1]), start), stop - 1):,})"

    return re.sub(r"\(row (\d+)\)", among_all, text)
