"""Stores from a stage to memory: the rows of a group of lanes, W numbers of each at a time.

Results too large for the caches use non-temporal stores: an ordinary store would first read the
cache line that it overwrites. A non-temporal store needs an aligned address. It writes a grain: a
vector, or the largest part of one of which the row size is a multiple, so that all rows have the
same offset (`shift`) from an aligned address.

If that offset is not 0, a grain spans the end of one row and the start of the next: a seam. Both
parts are assembled in the workspace, and stored as one. Rows of an odd size take another way
(`flat`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd

from linkwork.engine.codegen.llvm.lanes import Lanes
from linkwork.engine.codegen.llvm.unaligned_stores import FlatStores

SMALLEST_STORE = 16  # bytes of the smallest non-temporal store
GROUP = 4  # rows that are stored at a time: processors have few write-combining buffers
EMPTY, ORDINARY, NON_TEMPORAL = 0, 1, 2  # what a stage holds: nothing, or rows for these stores


def grain_of(size: int, lanes: Lanes) -> int:
    """Entries of the widest store to which every row is aligned: gcd(row size, W)."""
    return gcd(size, lanes.width)


def can_stream(size: int, lanes: Lanes) -> bool:
    """Whether rows of this size can use non-temporal stores."""
    return grain_of(size, lanes) * lanes.item >= SMALLEST_STORE


class StoreFunction:
    """The LLVM function that stores a part of an output, from a stage to a group of rows."""

    def __init__(self, index: int, size: int, lanes: Lanes, new: Callable[[], str]) -> None:
        self._index, self._size, self._lanes, self._new = index, size, lanes, new
        self._rows = min(lanes.width, GROUP)
        self._grain = grain_of(size, lanes)
        self._can_stream = can_stream(size, lanes)
        self._is_even = self._grain == lanes.width  # whether rows are multiples of W numbers
        self._flat = FlatStores(index, size, lanes, self._rows)

    def tables(self, slots: Sequence[int]) -> Iterator[str]:
        """Where the numbers of a row are in the stage, given their slots."""
        offsets = ", ".join(f"i32 {self._lanes.bytes * slot}" for slot in slots)
        yield f"@offsets{self._index} = private constant [{self._size} x i32] [{offsets}]"
        if not self._can_stream:
            yield self._flat.table(slots)

    def lines(self) -> Iterator[str]:
        """The function: stores numbers `first` to `stop` of a group of rows, from `row` on.

        `how` is the kind of stores; `is.end` says that these are the last rows. The call with
        `first` = 0 also stores the numbers at the ends of rows that no block of W numbers covers.
        """
        lanes, grain, last = self._lanes, self._grain, self._size - self._lanes.width
        rows = "ptr %stage, ptr %all.seams, ptr %to0, i64 %row"
        takes = f"{rows}, i64 %first, i64 %stop, i64 %how, i1 %is.end"
        yield f"define internal void @write{self._index}({takes}) noinline{lanes.frame} {{"
        for lane in range(1, self._rows):
            start = f"{lanes.scalar}, ptr %to0, i64 {lane * self._size}"
            yield f"  %to{lane} = getelementptr {start}"
        yield "  %is.first = icmp eq i64 %first, 0"
        streamed = "streamed" if self._can_stream else "odd"
        yield f"  switch i64 %how, label %end [ i64 {ORDINARY}, label %ordinary"
        yield f"    i64 {NON_TEMPORAL}, label %{streamed} ]"
        yield "ordinary:"
        yield f"  %ordinary.has.ends = and i1 %is.first, {'false' if self._is_even else 'true'}"
        yield from self._loop("ordinary", "0", str(last))
        if self._can_stream:
            yield "streamed:"
            yield "  %address = ptrtoint ptr %to0 to i64"
            yield "  %back = sub i64 0, %address"
            yield f"  %bytes = and i64 %back, {grain * lanes.item - 1}"
            yield f"  %shift = sdiv exact i64 %bytes, {lanes.item}"  # numbers to the first grain
            yield f"  %to.end = sub i64 {grain}, %shift"
            yield f"  %left = and i64 %to.end, {grain - 1}"  # numbers after the last grain
            yield f"  %last = sub i64 {last}, %left"
            yield "  %is.shifted = icmp ne i64 %shift, 0"
            yield f"  %has.ends = or i1 %is.shifted, {'false' if self._is_even else 'true'}"
            yield "  %streamed.has.ends = and i1 %is.first, %has.ends"
            yield from self._loop("streamed", "%shift", "%last")
        else:
            yield "odd:"  # all at once, with the first part
            yield "  br i1 %is.first, label %flat, label %end"
            yield from self._flat.lines(self._new)
        yield "end:"
        yield "  ret void"
        yield "}"

    def _loop(self, how: str, shift: str, last: str) -> Iterator[str]:
        """The loop over blocks from `first` to `stop`, plus `shift`; none starts after `last`."""
        yield f"  br i1 %{how}.has.ends, label %{how}.ends, label %{how}.begin"
        yield f"{how}.ends:"
        if how == "streamed":
            yield from self._seams()
        else:  # the last numbers of each row
            yield from self._written(str(self._size - self._lanes.width), streams=False)
        yield f"  br label %{how}.begin"
        yield f"{how}.begin:"
        yield f"  %{how}.start = add i64 %first, {shift}"
        yield f"  %{how}.wanted = add i64 %stop, {shift}"
        yield f"  %{how}.all = add i64 {last}, 1"
        yield f"  %{how}.fits = icmp slt i64 %{how}.wanted, %{how}.all"
        yield f"  %{how}.stop = select i1 %{how}.fits, i64 %{how}.wanted, i64 %{how}.all"
        yield f"  %{how}.some = icmp slt i64 %{how}.start, %{how}.stop"
        yield f"  br i1 %{how}.some, label %{how}.loop, label %end"
        yield f"{how}.loop:"
        yield f"  %{how}.at = phi i64 [ %{how}.start, %{how}.begin ], [ %{how}.next, %{how}.loop ]"
        yield from self._written(f"%{how}.at", streams=how == "streamed")
        yield f"  %{how}.next = add i64 %{how}.at, {self._lanes.width}"
        yield f"  %{how}.more = icmp slt i64 %{how}.next, %{how}.stop"
        yield f"  br i1 %{how}.more, label %{how}.loop, label %end"

    def _seams(self) -> Iterator[str]:
        """The ends of rows that do not start at an aligned address.

        The end of the last row stays in the workspace until the next rows are stored.
        """
        lanes, last, new = self._lanes, self._size - self._lanes.width, self._new
        vector, width = lanes.vector, lanes.width
        if not self._is_even:
            yield from self._written("%last", streams=True)
        heads, lines = self._block("0")
        yield from lines
        tails, lines = self._block(str(last))
        yield from lines
        own = 2 * width * self._index
        yield f"  %seams = getelementptr {vector}, ptr %all.seams, i64 {own}"
        yield "  %is.start = icmp eq i64 %row, 0"
        yield f"  %seam = add i64 %shift, {self._size - self._grain}"
        yield f"  %seam.before = sub i64 %shift, {self._grain}"
        yield f"  %seam.at = add i64 %shift, {width - self._grain}"
        meeting = [new() for _ in heads]  # by lane: the end of the previous row, then its start
        for lane, at in enumerate(meeting):
            yield f"  {at} = getelementptr {vector}, ptr %seams, i64 {2 * lane}"
        for lane, head in enumerate(heads):
            behind = new()
            yield f"  {behind} = getelementptr {vector}, ptr {meeting[lane]}, i64 1"
            yield f"  store {vector} {head}, ptr {behind}"
        for lane in range(self._rows - 1):
            yield f"  store {vector} {tails[lane]}, ptr {meeting[lane + 1]}"
            yield from self._store_seam(meeting[lane + 1], lane, "%seam")
        yield "  br i1 %is.start, label %start, label %joined"
        yield "start:"
        yield from self._stored(heads[0], 0, "0")
        yield "  br label %started"
        yield "joined:"
        yield from self._store_seam(meeting[0], 0, "%seam.before")
        yield "  br label %started"
        yield "started:"
        yield f"  store {vector} {tails[-1]}, ptr {meeting[0]}"
        yield "  br i1 %is.end, label %finish, label %streamed.begin"
        yield "finish:"
        yield from self._stored(tails[-1], self._rows - 1, str(last))

    def _store_seam(self, meeting: str, lane: int, start: str) -> Iterator[str]:
        """Store the grain of a seam at the offset `start` in a lane's row."""
        at, grain = self._new(), self._new()
        kind = f"<{self._grain} x {self._lanes.scalar}>"
        yield f"  {at} = getelementptr {self._lanes.scalar}, ptr {meeting}, i64 %seam.at"
        yield f"  {grain} = load {kind}, ptr {at}, align {self._lanes.item}"
        yield from self._streamed(grain, kind, lane, start)

    def _written(self, start: str, *, streams: bool) -> Iterator[str]:
        """Store W numbers of each lane's row."""
        rows, lines = self._block(start)
        yield from lines
        for lane, row in enumerate(rows):
            if not streams:
                yield from self._stored(row, lane, start)
            elif self._is_even:
                yield from self._streamed(row, self._lanes.vector, lane, start)
            else:
                yield from self._in_grains(row, lane, start)

    def _block(self, start: str) -> tuple[list[str], list[str]]:
        """W numbers of each row: names of the vectors, and the lines that make them."""
        part, new = Lanes(self._rows, self._lanes.scalar).vector, self._new
        first, values = new(), list[str]()
        lines = [f"  {first} = getelementptr i32, ptr @offsets{self._index}, i64 {start}"]
        for k in range(self._lanes.width):
            at, offset, wide, slot, value = (new() for _ in range(5))
            lines += [
                f"  {at} = getelementptr i32, ptr {first}, i64 {k}",
                f"  {offset} = load i32, ptr {at}",
                f"  {wide} = zext i32 {offset} to i64",
                f"  {slot} = getelementptr i8, ptr %stage, i64 {wide}",
                f"  {value} = load {part}, ptr {slot}",
            ]
            values.append(value)
        vectors: list[str] = []
        for k in range(self._rows):
            vector, joins = self._lanes.joined(values[k :: self._rows], new)
            vectors.append(vector)
            lines += joins
        rows, shuffles = self._lanes.transposed(vectors, new)
        return rows, lines + shuffles

    def _in_grains(self, row: str, lane: int, start: str) -> Iterator[str]:
        """Non-temporal stores of W numbers of a lane's row, grain by grain."""
        kind, vector = f"<{self._grain} x {self._lanes.scalar}>", self._lanes.vector
        for first in range(0, self._lanes.width, self._grain):
            part, at = self._new(), self._new()
            picks = ", ".join(f"i32 {first + k}" for k in range(self._grain))
            mask = f"<{self._grain} x i32> <{picks}>"
            yield f"  {part} = shufflevector {vector} {row}, {vector} {row}, {mask}"
            yield f"  {at} = add i64 {start}, {first}"
            yield from self._streamed(part, kind, lane, at)

    def _streamed(self, value: str, kind: str, lane: int, start: str) -> Iterator[str]:
        """A non-temporal store of a grain."""
        at, bytes_ = self._new(), self._grain * self._lanes.item
        yield f"  {at} = getelementptr {self._lanes.scalar}, ptr %to{lane}, i64 {start}"
        yield f"  store {kind} {value}, ptr {at}, align {bytes_}, !nontemporal !0"

    def _stored(self, row: str, lane: int, start: str) -> Iterator[str]:
        """An ordinary store of W numbers in the row of a lane."""
        at = self._new()
        yield f"  {at} = getelementptr {self._lanes.scalar}, ptr %to{lane}, i64 {start}"
        yield f"  store {self._lanes.vector} {row}, ptr {at}, align {self._lanes.item}"
