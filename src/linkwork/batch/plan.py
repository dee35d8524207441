"""Description of a batch: robot, functions, states, and their division into chunks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.batch.states import RandomStates, States, stored_states
from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.sources import source_digest
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, escaped
from linkwork.kindyn import KinDyn
from linkwork.kindyn.configurations import ranges_of
from linkwork.kindyn.requests import request_of_text
from linkwork.version import __version__

# The default size of chunks: a multiple of `CHUNK_STEP` rows, about `CHUNK_BYTES` of the largest
# result, and more if there would be more than `MOST_CHUNKS` chunks.
CHUNK_BYTES = 32 << 20
MOST_CHUNKS = 100_000
CHUNK_STEP = 1024
# A kernel computes as many rows at a time as a register has lanes, and the last rows of a call one
# by one, which rounds differently. Ranges that begin at multiples of this, the largest number of
# lanes, are split into the same groups of rows as one call for all rows.
ALIGNMENT = 16


@dataclass(frozen=True)
class Function:
    """One quantity of a robot, as written on a command line, and the arrays of its results."""

    kd: KinDyn
    text: str  # as on the command line, such as "jacobian:l_sole"

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel that computes the quantity."""
        request: Any = request_of_text(self.text, self.kd.quantities)
        return self.kd.function(request)

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The inputs, without parameters of the robot that have a default."""
        signature = self.kernel.signature
        return tuple(port for port in signature.inputs if port.name not in signature.defaults)

    @property
    def arrays(self) -> tuple[Port, ...]:
        """Name and row shape of each array of results, named as in `Kernel.named`."""
        outputs = self.kernel.signature.outputs
        return tuple(Port(port.name.replace("/", "_"), port.shape) for port in outputs)


def parse_functions(kd: KinDyn, text: str) -> tuple[Function, ...]:
    """Parse names of quantities separated by commas; unknown names raise.

    Args:
        kd: the robot.
        text: such as "mass_matrix,jacobian:l_sole". The frames of a quantity follow it, each after
            a colon.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise ArgumentError(f"--function: expected names separated by commas, got {text!r}")
    functions = tuple(Function(kd, word) for word in words)
    seen: dict[str, str] = {}
    for function in functions:
        for port in function.arrays:
            if port.name in seen:
                pair = f"{seen[port.name]!r} and {function.text!r}"
                message = f"--function: {pair} both have a result named {port.name!r}"
                raise ArgumentError(f"{message}; compute them in separate runs")
            seen[port.name] = function.text
    return functions


def inputs_of(functions: Sequence[Function]) -> tuple[Port, ...]:
    """Return the inputs of all functions together, each once."""
    ports = {port.name: port for function in functions for port in function.inputs}
    return tuple(ports.values())


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that a worker needs to compute any chunk."""

    kd: KinDyn
    functions: tuple[Function, ...]
    states: States
    out: Path  # folder of the Zarr group, accessible to all workers
    chunk: int  # rows of a chunk; the last one may have fewer

    @property
    def rows(self) -> int:
        """Number of states."""
        return self.states.rows

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return -(-self.rows // self.chunk)

    def span(self, chunk: int) -> tuple[int, int]:
        """Return the first row of a chunk, and the one after its last."""
        return chunk * self.chunk, min((chunk + 1) * self.chunk, self.rows)

    def aligned_span(self, chunk: int) -> tuple[int, int]:
        """Return the range to compute for a chunk, so that its bits agree with one call for all."""
        start, stop = self.span(chunk)
        return start - start % ALIGNMENT, min(-(-stop // ALIGNMENT) * ALIGNMENT, self.rows)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What a run must have in common with the run that it resumes, as JSON."""
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
        """A digest that identifies the plan."""
        return digest_of_json([self.facts, str(self.out)])


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
    """Check a user's options, and create a plan.

    Args:
        kd: the robot and its options.
        functions: such as "mass_matrix,jacobian:l_sole".
        out: folder of the Zarr group to write.
        states: file with the states; if None,
        random: number of states to draw from `seed`.
        seed: a nonnegative integer.
        chunk: rows of a chunk; chosen by the size of the results if not given.
    """
    if (states is None) == (random is None):
        raise ArgumentError("states: use either --in FILE, or --random N to draw states")
    if chunk is not None and chunk < 1:
        raise ArgumentError(f"--chunk: expected at least one row, got {chunk}")
    parsed = parse_functions(kd, functions)
    inputs = inputs_of(parsed)
    source: States
    if states is None:
        if random is None or random < 0 or seed < 0:
            message = "--random and --seed: expected nonnegative integers"
            raise ArgumentError(f"{message}, got {random} and {seed}")
        source = RandomStates(ranges_of(kd.layout), inputs, random, seed)
    else:
        _check_overlap(states, out)
        meanings = {k: v for f in parsed for k, v in f.kernel.signature.meanings.items()}
        meanings = {name: _with_options(text) for name, text in meanings.items()}
        source = stored_states(states, inputs, meanings)
    rows = chunk or _default_chunk(kd, parsed, source.rows)
    return Plan(kd, parsed, source, out.absolute(), rows)


def _with_options(meaning: str) -> str:
    """A message of KinDyn about an input, with options of the command in place of arguments."""
    text = meaning.replace("with floating=False", "with --fixed")
    return text.replace("with floating=True", "with --floating")


def _check_overlap(states: Path, out: Path) -> None:
    """Raise if the results would be written to where the states are read from."""
    source, target = states.resolve(), out.resolve()
    if source == target or source in target.parents or target in source.parents:
        message = f"--out {escaped(str(out))}: the states are read from there"
        raise ArgumentError(f"{message}; choose another folder")


def _default_chunk(kd: KinDyn, functions: tuple[Function, ...], rows: int) -> int:
    item = np.dtype(kd.dtype).itemsize
    largest = max(prod(port.shape) for function in functions for port in function.arrays)
    by_size = CHUNK_BYTES // (max(largest, 16) * item) // CHUNK_STEP
    by_number = -(-rows // (MOST_CHUNKS * CHUNK_STEP))
    return max(1, by_size, by_number) * CHUNK_STEP


def digest_of_json(value: Any) -> str:
    """Return a digest of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
