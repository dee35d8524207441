"""Stores from a stage to memory: the rows of a group of lanes, W numbers of each at a time.

Results too large for the caches use non-temporal stores: an ordinary store would first read the
cache line that it overwrites. A non-temporal store needs an aligned address. It writes a grain: a
vector, or the largest part of one of which the row size is a multiple, so that all rows have the
same offset (`shift`) from an aligned address.

If that offset is not 0, a grain spans the end of one row and the start of the next: a seam. Both
parts are assembled in the workspace, and stored as one.

Rows of an odd size have different offsets from an aligned address, but those of a group of lanes
follow each other in memory, and a group is a multiple of its number of rows long. So a group is
stored as one flat sequence: each vector is gathered number by number, by a table that says where
each number of the sequence is in the stage. The numbers after the last aligned address stay in the
workspace, until the first ones of the next group complete their vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.codegen.schedule.rows import can_stream, grain_of

GROUP = 4  # rows that are stored at a time: processors have few write-combining buffers
EMPTY, ORDINARY, NON_TEMPORAL = 0, 1, 2  # what a stage holds: nothing, or rows for these stores

# Labels after the loops of odd rows that copy numbers one by one.
_AFTER = {"head": "flat.joined", "tail": "flat.kept", "last": "end"}


class StoreFunction:
    """The LLVM function that stores a part of an output, from a stage to a group of rows."""

    def __init__(self, index: int, size: int, lanes: VectorType, new: Callable[[], str]) -> None:
        self._index, self._size, self._lanes, self._new = index, size, lanes, new
        self._rows = min(lanes.width, GROUP)
        self._grain = grain_of(size, lanes)
        self._can_stream = can_stream(size, lanes)
        self._is_even = self._grain == lanes.width  # whether rows are multiples of W numbers
        self._odd_rows = OddRowStores(index, size, lanes, self._rows)

    def tables(self, slots: Sequence[int]) -> Iterator[str]:
        """Where the numbers of a row are in the stage, given their slots."""
        offsets = ", ".join(f"i32 {self._lanes.bytes * slot}" for slot in slots)
        yield f"@offsets{self._index} = private constant [{self._size} x i32] [{offsets}]"
        if not self._can_stream:
            yield self._odd_rows.table(slots)

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
            yield from self._odd_rows.lines(self._new)
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
        first_seam = 2 * width * self._index
        yield f"  %seams = getelementptr {vector}, ptr %all.seams, i64 {first_seam}"
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
        part, new = VectorType(self._rows, self._lanes.scalar).vector, self._new
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


class OddRowStores:
    """The part of a store function that stores a whole group of rows of an odd size."""

    def __init__(self, index: int, size: int, lanes: VectorType, rows: int) -> None:
        self._index, self._lanes = index, lanes
        self._total, self._count = rows * size, rows  # numbers of a group, and of a vector
        self._vector = f"<{rows} x {lanes.scalar}>"
        self._bytes = rows * lanes.item

    def table(self, slots: Sequence[int]) -> str:
        """Where in the stage each number of a group is, from the slot of each number of a row."""
        item, size = self._lanes.item, self._lanes.bytes
        places = [size * slot + item * lane for lane in range(self._count) for slot in slots]
        listed = ", ".join(f"i32 {place}" for place in places)
        return f"@flat{self._index} = private constant [{self._total} x i32] [{listed}]"

    def lines(self, new: Callable[[], str]) -> Iterator[str]:
        """From the label %flat on, up to a branch to %end."""
        scalar, count, total = self._lanes.scalar, self._count, self._total
        first_seam = 2 * self._lanes.width * self._index
        yield "flat:"
        yield f"  %flat.seam = getelementptr {self._lanes.vector}, ptr %all.seams, i64 {first_seam}"
        yield "  %flat.address = ptrtoint ptr %to0 to i64"
        yield "  %flat.back = sub i64 0, %flat.address"
        yield f"  %flat.bytes = and i64 %flat.back, {self._bytes - 1}"
        yield f"  %flat.shift = sdiv exact i64 %flat.bytes, {self._lanes.item}"
        yield f"  %flat.left = sub i64 {count}, %flat.shift"  # of the group before, in the seam
        yield "  %flat.is.shifted = icmp ne i64 %flat.shift, 0"
        yield "  %flat.is.start = icmp eq i64 %row, 0"
        yield f"  %flat.behind = getelementptr {scalar}, ptr %flat.seam, i64 %flat.left"
        yield "  %flat.head = select i1 %flat.is.start, ptr %to0, ptr %flat.behind"
        yield from self._copied("head", "%flat", ("0", "%flat.shift"), "%flat.head", new)
        yield "flat.joined:"
        yield "  %flat.is.whole = xor i1 %flat.is.start, true"
        yield "  %flat.has.seam = and i1 %flat.is.whole, %flat.is.shifted"
        yield "  br i1 %flat.has.seam, label %flat.meet, label %flat.begin"
        yield "flat.meet:"
        yield f"  %flat.both = load {self._vector}, ptr %flat.seam"
        yield "  %flat.before = sub i64 0, %flat.left"
        yield from self._streamed("%flat.both", "%flat.before", new)
        yield "  br label %flat.begin"
        yield "flat.begin:"
        yield "  br label %flat.loop"
        yield "flat.loop:"
        yield "  %flat.at = phi i64 [ %flat.shift, %flat.begin ], [ %flat.next, %flat.loop ]"
        value = "undef"
        for k in range(count):
            number, lines = self._number("%flat.at", k, new)
            yield from lines
            joined = new()
            yield f"  {joined} = insertelement {self._vector} {value}, {scalar} {number}, i32 {k}"
            value = joined
        yield from self._streamed(value, "%flat.at", new)
        yield f"  %flat.next = add i64 %flat.at, {count}"
        yield f"  %flat.more = icmp sle i64 %flat.next, {total - count}"
        yield "  br i1 %flat.more, label %flat.loop, label %flat.rest"
        yield "flat.rest:"
        ends = ("%flat.next", str(total))
        yield from self._copied("tail", "%flat.rest", ends, "%flat.seam", new)
        yield "flat.kept:"
        yield "  br i1 %is.end, label %flat.end, label %end"
        yield "flat.end:"
        yield f"  %flat.last = getelementptr {scalar}, ptr %to0, i64 %flat.next"
        yield from self._copied("last", "%flat.end", ends, "%flat.last", new)

    def _copied(
        self, name: str, before: str, ends: tuple[str, str], to: str, new: Callable[[], str]
    ) -> Iterator[str]:
        """A loop that copies some numbers of the group, from one to another, one by one."""
        loop, after, (start, stop) = f"flat.{name}.loop", _AFTER[name], ends
        yield f"  %flat.{name}.some = icmp slt i64 {start}, {stop}"
        yield f"  br i1 %flat.{name}.some, label %{loop}, label %{after}"
        yield f"{loop}:"
        yield f"  %flat.{name}.at = phi i64 [ {start}, {before} ], [ %flat.{name}.next, %{loop} ]"
        number, lines = self._number(f"%flat.{name}.at", 0, new)
        yield from lines
        yield f"  %flat.{name}.place = sub i64 %flat.{name}.at, {start}"
        place = f"{self._lanes.scalar}, ptr {to}, i64 %flat.{name}.place"
        yield f"  %flat.{name}.to = getelementptr {place}"
        yield f"  store {self._lanes.scalar} {number}, ptr %flat.{name}.to"
        yield f"  %flat.{name}.next = add i64 %flat.{name}.at, 1"
        yield f"  %flat.{name}.more = icmp slt i64 %flat.{name}.next, {stop}"
        yield f"  br i1 %flat.{name}.more, label %{loop}, label %{after}"

    def _number(self, start: str, k: int, new: Callable[[], str]) -> tuple[str, list[str]]:
        """Number k after a place of the sequence: its name, and the lines that load it."""
        first, at, offset, wide, slot, value = (new() for _ in range(6))
        return value, [
            f"  {first} = getelementptr i32, ptr @flat{self._index}, i64 {start}",
            f"  {at} = getelementptr i32, ptr {first}, i64 {k}",
            f"  {offset} = load i32, ptr {at}",
            f"  {wide} = zext i32 {offset} to i64",
            f"  {slot} = getelementptr i8, ptr %stage, i64 {wide}",
            f"  {value} = load {self._lanes.scalar}, ptr {slot}",
        ]

    def _streamed(self, value: str, start: str, new: Callable[[], str]) -> Iterator[str]:
        at = new()
        yield f"  {at} = getelementptr {self._lanes.scalar}, ptr %to0, i64 {start}"
        yield f"  store {self._vector} {value}, ptr {at}, align {self._bytes}, !nontemporal !0"
