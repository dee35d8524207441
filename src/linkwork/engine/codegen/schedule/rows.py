"""How rows are divided: into tiles that pass through the pieces together, or through stages.

An output is staged if its rows are large: then its numbers go to memory by way of a buffer
(`llvm/staged`). A program whose outputs are not staged runs in tiles: each piece runs for several
blocks of W rows before the next piece does, so that its code is fetched once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.schedule.loops import CutProgram, Limits, cut
from linkwork.engine.codegen.schedule.pieces import LONGEST_CACHED
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Port, Program, per_port
from linkwork.errors import ValueRangeError

# An output is staged if its rows have at least this many numbers; below, the copy costs more than
# the cache misses that it saves.
SMALLEST = 256
# The same, if the program is short and its outputs can use non-temporal stores.
SMALLEST_STREAMED = 96
# The same, if a row of all outputs together has at least LARGE_ROW numbers.
SMALLEST_OF_MANY, LARGE_ROW = 64, 600
# If both stages together need more bytes than this, no output is staged.
MOST_STAGE_BYTES = 1 << 20
SMALLEST_STORE = 16  # bytes of the smallest non-temporal store
# A program with staged outputs is cut if it has more steps than LONGEST_STAGED, into short pieces:
# more values are in slots then, which have short addresses, and fewer are spilled. Above MOST_SHORT
# steps, too many values would have to be passed on.
LONGEST_STAGED, SHORT_PIECE, MOST_SHORT = 5000, 1000, 40_000
# A tile has TILE_BLOCKS blocks of W rows, or fewer if their intermediate values would exceed
# TILE_BYTES and leave the cache.
TILE_BLOCKS, TILE_BYTES = 4, 128 * 1024
MOST_WORKSPACE_BYTES = 4 << 30  # of one thread
# In one-row code, this many adjacent constants of an output are stored as one vector.
CONSTANTS_PER_STORE = 4


class StoreBlock(NamedTuple):
    """Adjacent numbers of an output that are stored together, once the last of them is there."""

    last_step: int
    output: int
    start: int  # in a row of the output
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The pieces of a program, and how rows pass through them."""

    cut: CutProgram
    stage_slots: dict[int, int]  # by step that is a number of a staged output: its slot in a stage
    staged: tuple[bool, ...]  # by output
    stores: tuple[StoreBlock, ...]  # of the outputs that are not staged, in order
    tile_blocks: int  # blocks of W rows in a tile; 0 if each block passes through all pieces


def schedule_of(program: Program, lanes: Lanes) -> Schedule:
    """Cut a program into pieces, and decide how rows pass through them."""
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
    stores = _store_blocks(program, staged, lanes.width)
    return Schedule(parts, slots, staged, stores, blocks if is_tiled else 0)


def _check_memory(parts: CutProgram, lanes: Lanes) -> None:
    """Raise an error if the stacks of loops take more memory than a thread should have."""
    if parts.size * lanes.bytes > MOST_WORKSPACE_BYTES:
        gigabytes = parts.size * lanes.bytes / 2**30
        n = max(part.loop.n for part in parts.loops.values())
        text = f"loops of up to {n:,} iterations keep {gigabytes:,.1f} GB of intermediate values"
        limit = f"at most {MOST_WORKSPACE_BYTES / 2**30:g} GB are possible"
        raise ValueRangeError(f"{text} for {lanes.width} rows; {limit}, so use fewer iterations")


def _stage_slots(program: Program, lanes: Lanes) -> dict[int, int]:
    """The slot of each step that is a number of a staged output; empty if nothing is staged."""
    slots: dict[int, int] = {}
    outputs = program.outputs if lanes.width > 1 else ()
    for port, steps in per_port(outputs, program.results):
        for step in steps if is_large(program, port, lanes) else ():
            slots.setdefault(step, len(slots))
    return slots if 2 * len(slots) * lanes.bytes <= MOST_STAGE_BYTES else {}


def is_large(program: Program, port: Port, lanes: Lanes) -> bool:
    """Whether the rows of an output are large enough to be staged."""
    if len(program.results) >= LARGE_ROW:
        return port.size >= SMALLEST_OF_MANY
    is_short = len(program.steps) <= LONGEST_CACHED  # a longer one runs faster in tiles
    streams = is_short and can_stream(port.size, lanes)
    return port.size >= (SMALLEST_STREAMED if streams else SMALLEST)


def grain_of(size: int, lanes: Lanes) -> int:
    """Entries of the widest store to which every row is aligned: gcd(row size, W)."""
    return gcd(size, lanes.width)


def can_stream(size: int, lanes: Lanes) -> bool:
    """Whether rows of this size can use non-temporal stores."""
    return grain_of(size, lanes) * lanes.item >= SMALLEST_STORE


def block_starts(size: int, width: int) -> list[int]:
    """Starts of blocks of `width` that cover `size` numbers; the last may overlap its neighbor."""
    if size <= width:
        return [0] if size else []
    starts = list(range(0, size - width + 1, width))
    return starts if starts[-1] + width == size else [*starts, size - width]


def _store_blocks(program: Program, staged: Sequence[bool], width: int) -> tuple[StoreBlock, ...]:
    blocks: list[StoreBlock] = []
    for index, (_, results) in enumerate(per_port(program.outputs, program.results)):
        for start, end in [] if staged[index] else _store_ranges(program, results, width):
            steps = tuple(results[start:end])
            blocks.append(StoreBlock(max(steps), index, start, steps))
    return tuple(sorted(blocks))


def _store_ranges(program: Program, results: Sequence[int], width: int) -> list[tuple[int, int]]:
    """Start and end of each block of an output: W numbers; if W is 1, one or some constants."""
    size = len(results)
    if width > 1:
        return [(k, min(k + width, size)) for k in block_starts(size, width)]
    ranges: list[tuple[int, int]] = []
    known = [program.steps[step][0] is Op.CONST for step in results]
    start = 0
    while start < size:
        end = start + CONSTANTS_PER_STORE
        end = end if all(known[start:end]) else start + 1
        ranges.append((start, min(end, size)))
        start = end
    return ranges
