"""Division of rows: into tiles that pass through the pieces together, or through stages.

Outputs with large rows are staged: they are written to a buffer first (`llvm/staged`). A program
without staged outputs runs in tiles: each piece runs for several blocks of W rows before the next
piece does, so that its code is fetched once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.schedule.loops import CutProgram, Limits, cut
from linkwork.engine.codegen.schedule.pieces import LONGEST_CACHED
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Port, Program, per_port
from linkwork.errors import ValueRangeError

# Outputs are staged if their rows have at least this many elements. For smaller rows, the copy
# costs more than the cache misses that it saves.
SMALLEST = 256
# The limit for short programs whose outputs can use non-temporal stores.
SMALLEST_STREAMED = 96
# The limit if a row of all outputs together has at least LARGE_ROW elements.
SMALLEST_OF_MANY, LARGE_ROW = 64, 600
# If both stages together need more bytes, no output is staged.
MOST_STAGE_BYTES = 1 << 20
SMALLEST_STORE = 16  # bytes of the smallest non-temporal store
# A program with staged outputs and more than LONGEST_STAGED steps is cut into pieces of at most
# SHORT_PIECE steps: then more values are in slots, which have short addresses, and fewer are
# spilled. Above MOST_SHORT steps, too many values would have to be passed between short pieces.
LONGEST_STAGED, SHORT_PIECE, MOST_SHORT = 5000, 1000, 40_000
# A tile has TILE_BLOCKS blocks of W rows, or fewer if their intermediate values would exceed
# TILE_BYTES and not stay in the cache.
TILE_BLOCKS, TILE_BYTES = 4, 128 * 1024
MOST_WORKSPACE_BYTES = 4 << 30  # limit for one thread
# In code of one row, up to this many adjacent constants of an output are stored as one vector.
CONSTANTS_PER_STORE = 4


class StoreBlock(NamedTuple):
    """Adjacent elements of an output that are stored together, after the last one is computed."""

    last_step: int
    output: int
    start: int  # in a row of the output
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The pieces of a program, and how rows pass through them."""

    cut: CutProgram
    stage_slots: dict[int, int]  # slot in a stage, by step that is an element of a staged output
    staged: tuple[bool, ...]  # by output
    stores: tuple[StoreBlock, ...]  # of the outputs that are not staged, in order
    tile_blocks: int  # blocks of W rows in a tile; 0 if each block passes through all pieces


def schedule_of(program: Program, lanes: Lanes) -> Schedule:
    """Divide a program into pieces, and choose between tiles and stages."""
    slots = _stage_slots(program, lanes)
    staged = tuple(bool(slots) and is_large(program, port, lanes) for port in program.outputs)
    is_tiled = lanes.width > 1 and not slots
    is_short = any(staged) and len(program.steps) <= MOST_SHORT
    limits = Limits(
        longest=LONGEST_CACHED if is_tiled else LONGEST_STAGED if any(staged) else None,
        piece=LONGEST_CACHED if is_tiled else SHORT_PIECE if is_short else None,
        lanes=lanes,
    )
    outputs = zip(program.outputs, staged, strict=True)
    one_by_one = [port for port, is_staged in outputs if is_staged]
    parts = cut(program, limits, staged=one_by_one, body_limits=Limits(lanes=lanes))
    _check_memory(parts, lanes)
    blocks = max(1, min(TILE_BLOCKS, TILE_BYTES // max(parts.size * lanes.bytes, 1)))
    is_tiled = is_tiled and len(parts.pieces) > 1
    stores = _store_blocks(program, staged, lanes)
    return Schedule(parts, slots, staged, stores, blocks if is_tiled else 0)


def _check_memory(parts: CutProgram, lanes: Lanes) -> None:
    """Raise an error if the workspace, which contains the stacks of loops, is too large."""
    if parts.size * lanes.bytes > MOST_WORKSPACE_BYTES:
        gigabytes = parts.size * lanes.bytes / 2**30
        n = max(part.loop.n for part in parts.loops.values())
        text = f"loops of up to {n:,} iterations need {gigabytes:,.1f} GB for intermediate values"
        limit = f"the limit is {MOST_WORKSPACE_BYTES / 2**30:g} GB; use fewer iterations"
        raise ValueRangeError(f"{text} of {lanes.width} rows; {limit}")


def _stage_slots(program: Program, lanes: Lanes) -> dict[int, int]:
    """Return the slot of each step that is an element of a staged output; empty if none is."""
    slots: dict[int, int] = {}
    outputs = program.outputs if lanes.width > 1 and not lanes.columns else ()
    for port, steps in per_port(outputs, program.results):
        for step in steps if is_large(program, port, lanes) else ():
            slots.setdefault(step, len(slots))
    return slots if 2 * len(slots) * lanes.bytes <= MOST_STAGE_BYTES else {}


def is_large(program: Program, port: Port, lanes: Lanes) -> bool:
    """Return whether the rows of an output are large enough to be staged."""
    if len(program.results) >= LARGE_ROW:
        return port.size >= SMALLEST_OF_MANY
    is_short = len(program.steps) <= LONGEST_CACHED  # longer programs run faster in tiles
    streams = is_short and can_stream(port.size, lanes)
    return port.size >= (SMALLEST_STREAMED if streams else SMALLEST)


def grain_of(size: int, lanes: Lanes) -> int:
    """Return the elements of the widest store to which every row is aligned: gcd(row size, W)."""
    return gcd(size, lanes.width)


def can_stream(size: int, lanes: Lanes) -> bool:
    """Return whether rows of this size can use non-temporal stores."""
    return grain_of(size, lanes) * lanes.item >= SMALLEST_STORE


def block_starts(size: int, width: int) -> list[int]:
    """Return the starts of blocks of `width` that cover `size` elements; the last may overlap."""
    if size <= width:
        return [0] if size else []
    starts = list(range(0, size - width + 1, width))
    return starts if starts[-1] + width == size else [*starts, size - width]


def _store_blocks(program: Program, staged: Sequence[bool], lanes: Lanes) -> tuple[StoreBlock, ...]:
    blocks: list[StoreBlock] = []
    for index, (_, results) in enumerate(per_port(program.outputs, program.results)):
        for start, end in [] if staged[index] else _store_ranges(program, results, lanes):
            steps = tuple(results[start:end])
            blocks.append(StoreBlock(max(steps), index, start, steps))
    return tuple(sorted(blocks))


def _store_ranges(program: Program, results: Sequence[int], lanes: Lanes) -> list[tuple[int, int]]:
    """Return start and end of each block: W elements; if W is 1, one element or some constants."""
    size, width = len(results), lanes.width
    if lanes.columns:
        return [(k, k + 1) for k in range(size)]
    if width > 1:
        return [(k, min(k + width, size)) for k in block_starts(size, width)]
    ranges: list[tuple[int, int]] = []
    is_constant = [program.steps[step][0] is Op.CONST for step in results]
    start = 0
    while start < size:
        end = start + CONSTANTS_PER_STORE
        end = end if all(is_constant[start:end]) else start + 1
        ranges.append((start, min(end, size)))
        start = end
    return ranges
