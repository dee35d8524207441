"""What a batch computes, frozen: robot, functions, states, and how they are cut into chunks."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.batch.digests import digest_of_json
from linkwork.batch.functions import Function, inputs_of, parsed
from linkwork.batch.states import RandomStates, States, stored_states
from linkwork.engine.cached_property import cached_property
from linkwork.engine.runtime.processor import this_machine
from linkwork.engine.runtime.sources import source_digest
from linkwork.errors import ArgumentError, LinkworkError, escaped
from linkwork.kindyn import KinDyn
from linkwork.kindyn.configurations import ranges_of
from linkwork.version import __version__

CHUNK_BYTES = 32 << 20  # about so much of the largest result is one chunk, if nothing else is asked
MOST_CHUNKS = 100_000  # chunks that are chosen here are larger if there would be more of them
CHUNK_STEP = 1024  # chunks that are chosen here have a multiple of so many rows
# A kernel computes as many rows at a time as a register has lanes, and the last rows of a call one
# by one, which rounds differently. Ranges that begin at multiples of this, the most lanes that
# there are, are cut into the same groups of rows as all rows in one call would be.
ALIGNMENT = 16


@dataclass(frozen=True, eq=False)
class Plan:
    """All that a worker needs to compute any chunk."""

    kd: KinDyn
    functions: tuple[Function, ...]
    states: States
    out: Path  # folder of the Zarr group, seen by all workers
    chunk: int  # rows of a chunk; the last one may have fewer

    @property
    def rows(self) -> int:
        """How many states there are."""
        return self.states.rows

    @property
    def n_chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.rows // self.chunk)

    def span(self, chunk: int) -> tuple[int, int]:
        """First row of a chunk, and the one after its last."""
        return chunk * self.chunk, min((chunk + 1) * self.chunk, self.rows)

    def aligned_span(self, chunk: int) -> tuple[int, int]:
        """The range to compute for a chunk, so that it has the bits of one call for all rows."""
        start, stop = self.span(chunk)
        return start - start % ALIGNMENT, min(-(-stop // ALIGNMENT) * ALIGNMENT, self.rows)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What a run must have in common with the one that it continues, as JSON."""
        return {
            "format": 1,
            "linkwork": __version__,
            "sources": source_digest(),
            "dtype": np.dtype(self.kd.dtype).name,
            "robot": [self.kd.model.name, digest_of_json(list(self.kd.__dask_tokenize__()))],
            "functions": [function.text for function in self.functions],
            "rows": self.rows,
            "chunk": self.chunk,
            "states": self.states.identity(),
        }

    @cached_property
    def digest(self) -> str:
        """Names the plan."""
        return digest_of_json([self.facts, str(self.out)])

    def row_bytes(self) -> int:
        """Of all results of one state."""
        item = np.dtype(self.kd.dtype).itemsize
        return item * sum(port.size for function in self.functions for port in function.arrays)


def make_plan(
    kd: KinDyn,
    functions: str,
    out: Path,
    *,
    states: Path | None = None,
    random: int | None = None,
    seed: int = 0,
    chunk: int | None = None,
) -> Plan:
    """A plan from what a user says, or the error that says what does not fit.

    Args:
        kd: the robot and its options.
        functions: such as "mass_matrix,jacobian:l_sole".
        out: folder of the Zarr group to write.
        states: file with the states; or
        random: how many of them to draw, from `seed`.
        seed: a whole number that is not negative.
        chunk: rows of a chunk; by the size of the results if not given.
    """
    if (states is None) == (random is None):
        raise ArgumentError("give --in FILE, or --random N to draw states")
    if chunk is not None and chunk < 1:
        raise ArgumentError(f"--chunk: expected at least one row, got {chunk}")
    found = parsed(kd, functions)
    inputs = inputs_of(found)
    if states is None:
        if random is None or random < 0 or seed < 0:
            text = "--random and --seed: expected whole numbers that are not negative"
            raise ArgumentError(f"{text}, got {random} and {seed}")
        given: States = RandomStates(ranges_of(kd.layout), inputs, random, seed)
    else:
        _refuse_overlap(states, out)
        meanings = {k: v for f in found for k, v in f.kernel.signature.meanings.items()}
        meanings = {name: _with_options(text) for name, text in meanings.items()}
        given = stored_states(states, inputs, meanings)
    return Plan(kd, found, given, out.absolute(), chunk or _default_chunk(kd, found, given.rows))


def _with_options(meaning: str) -> str:
    """A message of KinDyn about an input, with options of the command in place of arguments."""
    text = meaning.replace("with floating=False", "with --fixed")
    return text.replace("with floating=True", "without --fixed")


def _refuse_overlap(states: Path, out: Path) -> None:
    """Refuse to write where the states are read."""
    source, target = states.resolve(), out.resolve()
    if source == target or source in target.parents or target in source.parents:
        text = f"--out {escaped(str(out))}: the states are read from there"
        raise ArgumentError(f"{text}; give another folder")


def _default_chunk(kd: KinDyn, functions: tuple[Function, ...], rows: int) -> int:
    item = np.dtype(kd.dtype).itemsize
    largest = max(prod(port.shape) for function in functions for port in function.arrays)
    by_size = CHUNK_BYTES // (max(largest, 16) * item) // CHUNK_STEP
    by_number = -(-rows // (MOST_CHUNKS * CHUNK_STEP))
    return max(1, by_size, by_number) * CHUNK_STEP


@dataclass(frozen=True)
class Place:
    """What computes: the version of linkwork, and the processor, on which bits depend."""

    linkwork: str
    sources: str
    processor: str

    def check(self, plan: Plan) -> None:
        """Refuse to compute a plan of another version."""
        wanted = plan.facts["linkwork"], plan.facts["sources"]
        if (self.linkwork, self.sources) != wanted:
            raise LinkworkError(other_version(wanted[0], self.linkwork))


def this_place() -> Place:
    """What this process computes with."""
    machine = this_machine()
    vendor, family, model = machine.name.split("|")[:3]
    name = f"{vendor} {family}/{model}, {machine.lanes} lanes, {digest_of_json(machine.name)[:8]}"
    return Place(__version__, source_digest(), name)


def other_version(own: str, found: str) -> str:
    """The message about a worker that has another linkwork."""
    which = "of the same version with other sources" if own == found else found
    text = f"the command is linkwork {own}, and there are workers with linkwork {which}"
    return f"{text}; install the same one on all of them"
