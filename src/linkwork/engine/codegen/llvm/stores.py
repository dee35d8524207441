"""Stores from a stage to memory, for the rows of a group of lanes, W elements of each at a time.

Results too large for the caches use non-temporal stores, since an ordinary store would first read
the cache line that it overwrites. A non-temporal store needs an aligned address. It writes a grain:
gcd(row size, W) elements, so that all rows have the same offset (`shift`) from an aligned address.

If that offset is not 0, a grain contains the end of one row and the start of the next: a seam. Both
parts are assembled in the workspace and stored as one grain.

If the grain is too small for a non-temporal store, as for rows of an odd size, the rows of a group
of lanes are stored as one flat sequence, since they are contiguous in memory. Each vector is
gathered element by element, with a table of the positions of the elements in the stage. The
elements after the last aligned address stay in the workspace, until the first ones of the next
group complete their vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.codegen.schedule.rows import can_stream, grain_of

GROUP = 4  # rows that are stored at a time, since processors have few write-combining buffers
EMPTY, ORDINARY, NON_TEMPORAL = 0, 1, 2  # the state of a stage: empty, or the kind of its stores

# Labels after the loops that copy elements of odd rows one by one.
_AFTER = {"head": "flat.joined", "tail": "flat.kept", "last": "end"}


class StoreFunction:
    """The LLVM function that stores a part of an output, from a stage to a group of rows."""

    def __init__(self, index: int, size: int, lanes: VectorType, new: Callable[[], str]) -> None:
        self._index, self._size, self._lanes, self._new = index, size, lanes, new
        self._rows = min(lanes.width, GROUP)
        self._grain = grain_of(size, lanes)
        self._can_stream = can_stream(size, lanes)
        self._is_even = self._grain == lanes.width  # whether rows are multiples of W elements
        self._odd_rows = OddRowStores(index, size, lanes, self._rows)

    def tables(self, slots: Sequence[int]) -> Iterator[str]:
        """Print the tables of the positions of elements in the stage, from their slots."""
        offsets = ", ".join(f"i32 {self._lanes.bytes * slot}" for slot in slots)
        yield f"@offsets{self._index} = private constant [{self._size} x i32] [{offsets}]"
        if not self._can_stream:
            yield self._odd_rows.table(slots)

    def lines(self) -> Iterator[str]:
        """Print the function, which stores elements `first` to `stop` of a group of rows.

        `row` is the first row, `how` the kind of stores, and `is.end` is true for the last rows.
        The call with `first` = 0 also stores the elements at the ends of rows that no block of W
        elements covers.
        """
        lanes, grain, last = self._lanes, self._grain, self._size - self._lanes.width
        rows = "ptr %stage, ptr %all.seams, ptr %to0, i64 %row"
        parameters = f"{rows}, i64 %first, i64 %stop, i64 %how, i1 %is.end"
        yield f"define internal void @write{self._index}({parameters}) noinline{lanes.frame} {{"
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
            yield f"  %shift = sdiv exact i64 %bytes, {lanes.item}"  # elements to the first grain
            yield f"  %to.end = sub i64 {grain}, %shift"
            yield f"  %left = and i64 %to.end, {grain - 1}"  # elements after the last grain
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
        """Print the loop over blocks from `first` to `stop`, plus `shift`, at most to `last`."""
        yield f"  br i1 %{how}.has.ends, label %{how}.ends, label %{how}.begin"
        yield f"{how}.ends:"
        if how == "streamed":
            yield from self._seams()
        else:  # the last elements of each row
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
        """Print the stores of seams, for rows that do not start at an aligned address.

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
        meeting = [new() for _ in heads]  # by lane: end of the previous row, start of this row
        for lane, address in enumerate(meeting):
            yield f"  {address} = getelementptr {vector}, ptr %seams, i64 {2 * lane}"
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
        """Print the store of the grain of a seam at the offset `start` in a lane's row."""
        address, grain = self._new(), self._new()
        kind = f"<{self._grain} x {self._lanes.scalar}>"
        yield f"  {address} = getelementptr {self._lanes.scalar}, ptr {meeting}, i64 %seam.at"
        yield f"  {grain} = load {kind}, ptr {address}, align {self._lanes.item}"
        yield from self._streamed(grain, kind, lane, start)

    def _written(self, start: str, *, streams: bool) -> Iterator[str]:
        """Print the stores of W elements of each lane's row."""
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
        """Load W elements of each row: the names of the vectors, and the lines."""
        part, new = VectorType(self._rows, self._lanes.scalar).vector, self._new
        first, values = new(), list[str]()
        lines = [f"  {first} = getelementptr i32, ptr @offsets{self._index}, i64 {start}"]
        for k in range(self._lanes.width):
            address, offset, wide, slot, value = (new() for _ in range(5))
            lines += [
                f"  {address} = getelementptr i32, ptr {first}, i64 {k}",
                f"  {offset} = load i32, ptr {address}",
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
        """Print non-temporal stores of W elements of a lane's row, grain by grain."""
        kind, vector = f"<{self._grain} x {self._lanes.scalar}>", self._lanes.vector
        for first in range(0, self._lanes.width, self._grain):
            part, address = self._new(), self._new()
            picks = ", ".join(f"i32 {first + k}" for k in range(self._grain))
            mask = f"<{self._grain} x i32> <{picks}>"
            yield f"  {part} = shufflevector {vector} {row}, {vector} {row}, {mask}"
            yield f"  {address} = add i64 {start}, {first}"
            yield from self._streamed(part, kind, lane, address)

    def _streamed(self, value: str, kind: str, lane: int, start: str) -> Iterator[str]:
        """Print a non-temporal store of a grain."""
        address, bytes_ = self._new(), self._grain * self._lanes.item
        yield f"  {address} = getelementptr {self._lanes.scalar}, ptr %to{lane}, i64 {start}"
        yield f"  store {kind} {value}, ptr {address}, align {bytes_}, !nontemporal !0"

    def _stored(self, row: str, lane: int, start: str) -> Iterator[str]:
        """Print an ordinary store of W elements in the row of a lane."""
        address = self._new()
        yield f"  {address} = getelementptr {self._lanes.scalar}, ptr %to{lane}, i64 {start}"
        yield f"  store {self._lanes.vector} {row}, ptr {address}, align {self._lanes.item}"


class OddRowStores:
    """The part of a store function that stores a group of rows of an odd size."""

    def __init__(self, index: int, size: int, lanes: VectorType, rows: int) -> None:
        self._index, self._lanes = index, lanes
        self._total, self._count = rows * size, rows  # elements of a group, and of a vector
        self._vector = f"<{rows} x {lanes.scalar}>"
        self._bytes = rows * lanes.item

    def table(self, slots: Sequence[int]) -> str:
        """Print the positions of the elements of a group in the stage, from the slots of a row."""
        item, size = self._lanes.item, self._lanes.bytes
        offsets = [size * slot + item * lane for lane in range(self._count) for slot in slots]
        listed = ", ".join(f"i32 {offset}" for offset in offsets)
        return f"@flat{self._index} = private constant [{self._total} x i32] [{listed}]"

    def lines(self, new: Callable[[], str]) -> Iterator[str]:
        """Print the code from the label %flat to a branch to %end."""
        scalar, count, total = self._lanes.scalar, self._count, self._total
        first_seam = 2 * self._lanes.width * self._index
        yield "flat:"
        yield f"  %flat.seam = getelementptr {self._lanes.vector}, ptr %all.seams, i64 {first_seam}"
        yield "  %flat.address = ptrtoint ptr %to0 to i64"
        yield "  %flat.back = sub i64 0, %flat.address"
        yield f"  %flat.bytes = and i64 %flat.back, {self._bytes - 1}"
        yield f"  %flat.shift = sdiv exact i64 %flat.bytes, {self._lanes.item}"
        yield f"  %flat.left = sub i64 {count}, %flat.shift"  # elements before it
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
            element, lines = self._element("%flat.at", k, new)
            yield from lines
            joined = new()
            yield f"  {joined} = insertelement {self._vector} {value}, {scalar} {element}, i32 {k}"
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
        """Print a loop that copies elements of the group one by one."""
        loop, after, (start, stop) = f"flat.{name}.loop", _AFTER[name], ends
        yield f"  %flat.{name}.some = icmp slt i64 {start}, {stop}"
        yield f"  br i1 %flat.{name}.some, label %{loop}, label %{after}"
        yield f"{loop}:"
        yield f"  %flat.{name}.at = phi i64 [ {start}, {before} ], [ %flat.{name}.next, %{loop} ]"
        element, lines = self._element(f"%flat.{name}.at", 0, new)
        yield from lines
        yield f"  %flat.{name}.index = sub i64 %flat.{name}.at, {start}"
        target = f"{self._lanes.scalar}, ptr {to}, i64 %flat.{name}.index"
        yield f"  %flat.{name}.to = getelementptr {target}"
        yield f"  store {self._lanes.scalar} {element}, ptr %flat.{name}.to"
        yield f"  %flat.{name}.next = add i64 %flat.{name}.at, 1"
        yield f"  %flat.{name}.more = icmp slt i64 %flat.{name}.next, {stop}"
        yield f"  br i1 %flat.{name}.more, label %{loop}, label %{after}"

    def _element(self, start: str, k: int, new: Callable[[], str]) -> tuple[str, list[str]]:
        """Load element `start` + k of the sequence: its name, and the lines."""
        first, address, offset, wide, slot, value = (new() for _ in range(6))
        return value, [
            f"  {first} = getelementptr i32, ptr @flat{self._index}, i64 {start}",
            f"  {address} = getelementptr i32, ptr {first}, i64 {k}",
            f"  {offset} = load i32, ptr {address}",
            f"  {wide} = zext i32 {offset} to i64",
            f"  {slot} = getelementptr i8, ptr %stage, i64 {wide}",
            f"  {value} = load {self._lanes.scalar}, ptr {slot}",
        ]

    def _streamed(self, value: str, start: str, new: Callable[[], str]) -> Iterator[str]:
        address = new()
        yield f"  {address} = getelementptr {self._lanes.scalar}, ptr %to0, i64 {start}"
        yield f"  store {self._vector} {value}, ptr {address}, align {self._bytes}, !nontemporal !0"
