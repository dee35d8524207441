"""The loop over tiles: each piece of a long program runs for several blocks of rows at a time.

The code of a long program exceeds the instruction cache. If each block of W rows ran through all of
it, all of it would be fetched from the next cache for each block. So the rows are cut into tiles of
some blocks, and each piece runs for all blocks of a tile before the next piece does. Each block has
a scratch of its own, for the values that pieces pass on, and a stage of its own in each of the two
buffers of large outputs: what a tile leaves on its stages is stored while the next tile runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linkwork.llvm.lanes import Lanes
from linkwork.llvm.staged import NO_STAGES, Stage

# A tile has at most MOST_BLOCKS blocks, and fewer if scratch and stages of all would take more
# than these bytes and leave the cache; with stages, a larger one.
MOST_BLOCKS = 4
MOST_BYTES, MOST_STAGED_BYTES = 128 * 1024, 384 * 1024


def blocks_of_tile(lanes: Lanes, n_slots: int, stage: Stage) -> int:
    """How many blocks of W rows a tile has.

    Args:
        lanes: type and number of lanes.
        n_slots: values that pieces pass to each other.
        stage: of the large outputs.
    """
    most = MOST_STAGED_BYTES if stage.slots else MOST_BYTES
    needed = (n_slots + 2 * len(stage.slots)) * lanes.bytes
    return max(1, min(MOST_BLOCKS, most // max(needed, 1)))


@dataclass(frozen=True)
class TileLoop:
    """The body of a function that calls the pieces of a program, tile by tile."""

    lanes: Lanes
    stage: Stage
    n_pieces: int
    n_slots: int
    blocks: int  # of a tile

    def lines(self) -> Iterator[str]:
        """The loop, after the pointers to the ports; workspace is stages, then scratches."""
        lanes, stage = self.lanes, self.stage
        ends = f"%after{self.n_pieces - 1}"
        yield f"  %scratch = getelementptr {lanes.vector}, ptr %workspace, i64 {stage.size}"
        yield from stage.prepared()
        yield "  br label %loop"
        yield "loop:"
        yield f"  %first = phi i64 [ 0, %start ], [ %last, {ends} ]"
        yield from stage.swapped(ends)
        yield f"  %last = add i64 %first, {lanes.width * self.blocks}"
        yield "  %is.short = icmp sgt i64 %last, %rows"
        yield "  %stop = select i1 %is.short, i64 %rows, i64 %last"
        yield "  br label %blocks0"
        for k in range(self.n_pieces):
            yield from self._piece(k)
        yield "  %again = icmp slt i64 %last, %rows"
        yield f"  br i1 %again, label %loop, label %{'drain' if stage.slots else 'end'}"
        if stage.slots:
            yield from self._drain()
        yield "end:"
        yield f"  ret i64 {(stage.size + self.blocks * self.n_slots) * lanes.bytes}"

    def _piece(self, k: int) -> Iterator[str]:
        """Piece k for all blocks of the tile."""
        vector, staged = self.lanes.vector, bool(self.stage.slots)
        before = f"after{k - 1}" if k else "loop"
        own = {"scratch": ("scratch", self.n_slots)}  # what each block has its own part of
        if staged:
            own |= {name: (name, len(self.stage.slots)) for name in ("stage", "other")}
        yield f"blocks{k}:"
        yield f"  %row{k} = phi i64 [ %first, %{before} ], [ %next{k}, %blocks{k} ]"
        for name, (start, _) in own.items():
            values = f"[ %{start}, %{before} ], [ %{name}{k}.next, %blocks{k} ]"
            yield f"  %{name}{k} = phi ptr {values}"
        stages = f"ptr %stage{k}, ptr %other{k}, ptr %seams, i64 %waiting" if staged else NO_STAGES
        given = f"ptr %in, ptr %out, ptr %stride, ptr %scratch{k}, {stages}, i64 %row{k}"
        yield f"  call void @piece{k}({given})"
        yield f"  %next{k} = add i64 %row{k}, {self.lanes.width}"
        for name, (_, size) in own.items():
            yield f"  %{name}{k}.next = getelementptr {vector}, ptr %{name}{k}, i64 {size}"
        yield f"  %more{k} = icmp slt i64 %next{k}, %stop"
        yield f"  br i1 %more{k}, label %blocks{k}, label %after{k}"
        yield f"after{k}:"
        if k + 1 < self.n_pieces:
            yield f"  br label %blocks{k + 1}"

    def _drain(self) -> Iterator[str]:
        """After the loop: store what is left on the stages.

        The last tile may be short. Then the last blocks of the tile before it are still to be
        stored, for each block stores that of the tile before it. Rows are stored in their order.
        """
        vector, width, size = self.lanes.vector, self.lanes.width, len(self.stage.slots)
        yield "drain:"
        yield f"  %left.first = sub i64 %stop, {width * self.blocks}"
        yield "  %done = sub i64 %stop, %first"
        yield f"  %done.blocks = sdiv exact i64 %done, {width}"
        yield f"  %done.slots = mul i64 %done.blocks, {size}"
        yield f"  %left.start = getelementptr {vector}, ptr %other, i64 %done.slots"
        yield "  %has.left = icmp slt i64 %left.first, %first"
        yield "  br i1 %has.left, label %left, label %own"
        for name, entry, first, start, stop, how, after in (
            ("left", "drain", "%left.first", "%left.start", "%first", "%waiting", "own"),
            ("own", None, "%first", "%stage", "%stop", "%how", "end"),
        ):
            entries = [f"[ {{}}, %{one} ]" for one in ([entry] if entry else ["drain", "left"])]
            rows = ", ".join([one.format(first) for one in entries])
            stages = ", ".join([one.format(start) for one in entries])
            yield f"{name}:"
            yield f"  %{name}.row = phi i64 {rows}, [ %{name}.next, %{name} ]"
            yield f"  %{name}.stage = phi ptr {stages}, [ %{name}.stage.next, %{name} ]"
            yield f"  %{name}.next = add i64 %{name}.row, {width}"
            yield f"  %{name}.more = icmp slt i64 %{name}.next, {stop}"
            yield f"  %{name}.is.end = xor i1 %{name}.more, true"
            is_end = f"%{name}.is.end" if name == "own" else "false"
            yield from self.stage.stored(f"{name}.stage", f"{name}.row", how, is_end)
            after_it = f"%{name}.stage, i64 {size}"
            yield f"  %{name}.stage.next = getelementptr {vector}, ptr {after_it}"
            yield f"  br i1 %{name}.more, label %{name}, label %{after}"
