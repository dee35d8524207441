"""Operations on one chunk: compute and write it, or compute it again and compare."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork.batch import store
from linkwork.batch.plan import Function, Plan, digest_of_json, inputs_of
from linkwork.batch.states import digest_of_arrays, first_line
from linkwork.engine.runtime.processor import this_machine
from linkwork.engine.runtime.sources import source_digest
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port
from linkwork.errors import LinkworkError, ShapeError, SingularJointError, ValueRangeError
from linkwork.version import __version__


@dataclass(frozen=True)
class WorkerEnvironment:
    """What the bits of results depend on: the version of linkwork, and the processor."""

    linkwork: str
    sources: str
    processor: str

    def check(self, plan: Plan) -> None:
        """Raise if the plan was created by another version."""
        planned = plan.facts["linkwork"], plan.facts["sources"]
        if (self.linkwork, self.sources) != planned:
            raise version_mismatch(planned[0], self.linkwork)


def this_environment() -> WorkerEnvironment:
    """Return the environment of this process."""
    machine = this_machine()
    vendor, family, model = machine.name.split("|")[:3]
    name = f"{vendor} {family}/{model}, {machine.lanes} lanes, {digest_of_json(machine.name)[:8]}"
    return WorkerEnvironment(__version__, source_digest(), name)


def version_mismatch(command: str, worker: str) -> LinkworkError:
    """Return the error for a worker that has another version of linkwork than the command."""
    which = "of the same version with other sources" if command == worker else worker
    message = f"the command is linkwork {command}, but there are workers with linkwork {which}"
    return LinkworkError(f"{message}; install the same one on all of them")


@dataclass(frozen=True)
class Outcome:
    """The outcome of an operation on a chunk."""

    chunk: int
    digest: str  # of its states, if they are read from a file
    processor: str  # that computed it
    error: str = ""  # why it was not computed, or what is wrong with the stored results


def compute(plan: Plan, chunk: int, threads: int | None = None) -> Outcome:
    """Compute a chunk and write it; on return it is on the disk.

    If a function rejects a state, the chunk is not done, and the outcome has the error message.
    Arrays of the functions before that one may already contain the rows of the chunk.
    """
    digest, states = read_states(plan, chunk)
    arrays = _arrays(plan)
    message = ""
    try:
        for port, rows in results(plan, chunk, states, threads):
            store.write(plan, arrays[port.name], port, chunk, rows)
    except (ValueRangeError, SingularJointError, ShapeError) as error:
        message = _with_global_rows(str(error), plan, chunk)
    return Outcome(chunk, digest, this_environment().processor, message)


def verify(plan: Plan, chunk: int, threads: int | None = None) -> Outcome:
    """Compute a chunk again, and compare it bit for bit with the stored results."""
    digest, states = read_states(plan, chunk)
    start, stop = plan.span(chunk)
    arrays, processor = _arrays(plan), this_environment().processor
    for port, rows in results(plan, chunk, states, threads):
        try:
            stored: Array = arrays[port.name][start:stop]
        except Exception as error:  # noqa: BLE001 - a damaged file raises many types of errors
            message = f"{port.name} cannot be read: {first_line(error)}"
            return Outcome(chunk, digest, processor, message)
        same = _bits(stored) == _bits(rows)
        if not same.all():
            first = start + int(np.argmin(same.reshape(len(rows), -1).all(axis=1)))
            return Outcome(chunk, digest, processor, f"{port.name} differs from row {first:,} on")
    return Outcome(chunk, digest, processor)


def states_digest(plan: Plan, chunk: int, threads: int | None = None) -> Outcome:
    """Read the states of a chunk without computing."""
    del threads
    return Outcome(chunk, read_states(plan, chunk)[0], "")


def read_states(plan: Plan, chunk: int) -> tuple[str, dict[str, Array]]:
    """Return the digest of the states of a chunk, and the rows to compute it from, by input.

    Rows that only complete a group of rows are copies of the first and the last state: states of
    other chunks might be rejected, which must not affect this one.
    """
    start, stop = plan.span(chunk)
    first, last = plan.aligned_span(chunk)
    names = [port.name for port in inputs_of(plan.functions)]
    states = {name: plan.states.read(name, start, stop) for name in names}
    digest = digest_of_arrays(states.values()) if plan.states.can_change else ""
    if last - first > stop - start:
        index = np.clip(np.arange(first, last), start, stop - 1) - start
        states = {name: rows[index] for name, rows in states.items()}
    return digest, states


def results(
    plan: Plan, chunk: int, states: dict[str, Array], threads: int | None
) -> Iterator[tuple[Port, Array]]:
    """Compute the rows of each array of results."""
    this_environment().check(plan)
    start, stop = plan.span(chunk)
    first, _ = plan.aligned_span(chunk)
    for function in _compiled(plan):
        inputs = [states[port.name] for port in function.inputs]
        outputs: Any = function.kernel(*inputs, threads=threads)
        arrays = outputs if isinstance(outputs, tuple) else (outputs,)
        for port, rows in zip(function.arrays, arrays, strict=True):
            yield port, rows[start - first : stop - first]


@lru_cache(maxsize=4)
def _compiled(plan: Plan) -> tuple[Function, ...]:
    """Return the functions with their optimized code in use, so that it computes all chunks."""
    for function in plan.functions:
        function.kernel.warmup()
    return plan.functions


@lru_cache(maxsize=4)
def _arrays(plan: Plan) -> dict[str, Any]:
    return store.open_arrays(plan)


def _bits(array: Array) -> Array:
    """Return the bits of an array for a comparison: NaN equals itself, and 0 differs from -0."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _with_global_rows(message: str, plan: Plan, chunk: int) -> str:
    """Replace the index of a row in the computed range by its index among all rows."""
    first = plan.aligned_span(chunk)[0]
    start, stop = plan.span(chunk)

    def global_row(match: re.Match[str]) -> str:
        return f"(row {min(max(first + int(match[1]), start), stop - 1):,})"

    return re.sub(r"\(row (\d+)\)", global_row, message)
