"""Stores from a stage to memory, for the rows of a group of lanes, W elements of each at a time.

Ordinary   a loop over blocks of W elements; the last block of a row may overlap the one before it
Streamed   results too large for the caches use non-temporal stores, since an ordinary store would
           first read the cache line that it overwrites. Such a store needs an aligned address. It
           writes a grain: gcd(row size, W) elements, so that all rows have the same distance
           (`shift`) to the first aligned address. A grain that contains the end of one row and the
           start of the next one is a seam: it is assembled in the workspace and stored as a whole

               row 0                      row 1                      row 2
               |..|grain|grain| ... |grain.|.grain| ... |grain|gra...|
                ^ shift             seam ---^

Flat       if a grain is too small for a non-temporal store, as for rows of an odd size, the rows of
           a group are stored as one sequence, since they are contiguous in memory. Each vector is
           gathered element by element, with a table of positions in the stage. The elements after
           the last aligned address stay in the workspace, until the first ones of the next group
           complete their vector

The text of a function is printed in paragraphs, in which `;` starts a comment that is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.codegen.schedule.rows import can_stream, grain_of

GROUP = 4  # rows that are stored at a time, since processors have few write-combining buffers
EMPTY, ORDINARY, NON_TEMPORAL = 0, 1, 2  # the state of a stage: empty, or the kind of its stores

_COMMENT = re.compile(r" *;.*")


def _paragraph(text: str) -> Iterator[str]:
    """Yield the lines of a paragraph of LLVM IR: labels, and instructions, which are indented."""
    for line in text.strip().split("\n"):
        code = _COMMENT.sub("", line).strip()
        yield code if code.endswith(":") else f"  {code}"


class StoreFunction:
    """The LLVM function that stores a part of an output, from a stage to a group of rows."""

    def __init__(self, index: int, size: int, lanes: VectorType, new: Callable[[], str]) -> None:
        self._index, self._size, self._lanes, self._new = index, size, lanes, new
        self._rows = min(lanes.width, GROUP)
        self._grain = grain_of(size, lanes)
        self._grain_type = f"<{self._grain} x {lanes.scalar}>"
        self._can_stream = can_stream(size, lanes)
        self._is_even = self._grain == lanes.width  # whether rows are multiples of W elements
        self._last = size - lanes.width  # start of the last block of a row
        self._flat = FlatStores(index, size, lanes, self._rows, new)

    def tables(self, slots: Sequence[int]) -> Iterator[str]:
        """Print the tables of the positions of elements in the stage, from their slots."""
        offsets = ", ".join(f"i32 {self._lanes.bytes * slot}" for slot in slots)
        yield f"@offsets{self._index} = private constant [{self._size} x i32] [{offsets}]"
        if not self._can_stream:
            yield self._flat.table(slots)

    def lines(self) -> Iterator[str]:
        """Print the function, which stores elements `first` to `stop` of a group of rows.

        `row` is the first row, `how` the kind of stores, and `is.end` is true for the last rows.
        The call with `first` = 0 also stores the elements at the ends of rows that no block of W
        elements covers.
        """
        lanes, has_ends = self._lanes, "false" if self._is_even else "true"
        rows = "ptr %stage, ptr %all.seams, ptr %to0, i64 %row"
        parameters = f"{rows}, i64 %first, i64 %stop, i64 %how, i1 %is.end"
        yield f"define internal void @write{self._index}({parameters}) noinline{lanes.frame} {{"
        for lane in range(1, self._rows):
            start = f"{lanes.scalar}, ptr %to0, i64 {lane * self._size}"
            yield f"  %to{lane} = getelementptr {start}"
        streamed = "streamed" if self._can_stream else "odd"
        yield "  %is.first = icmp eq i64 %first, 0"
        yield f"  switch i64 %how, label %end [ i64 {ORDINARY}, label %ordinary"
        yield f"    i64 {NON_TEMPORAL}, label %{streamed} ]"
        yield from _paragraph(f"""
            ordinary:
              %ordinary.has.ends = and i1 %is.first, {has_ends}
            """)
        yield from self._loop("ordinary", "0", str(self._last))
        if self._can_stream:
            bytes_, mask = self._grain * lanes.item - 1, self._grain - 1
            yield from _paragraph(f"""
                streamed:
                  %address = ptrtoint ptr %to0 to i64
                  %back = sub i64 0, %address
                  %bytes = and i64 %back, {bytes_}
                  %shift = sdiv exact i64 %bytes, {lanes.item}  ; elements to the first grain
                  %to.end = sub i64 {self._grain}, %shift
                  %left = and i64 %to.end, {mask}  ; elements after the last grain
                  %last = sub i64 {self._last}, %left
                  %is.shifted = icmp ne i64 %shift, 0
                  %has.ends = or i1 %is.shifted, {has_ends}
                  %streamed.has.ends = and i1 %is.first, %has.ends
                """)
            yield from self._loop("streamed", "%shift", "%last")
        else:
            yield "odd:"  # all at once, with the first part
            yield "  br i1 %is.first, label %flat, label %end"
            yield from self._flat.lines()
        yield from ("end:", "  ret void", "}")

    def _loop(self, how: str, shift: str, last: str) -> Iterator[str]:
        """Print the loop over blocks from `first` to `stop`, plus `shift`, at most to `last`."""
        yield f"  br i1 %{how}.has.ends, label %{how}.ends, label %{how}.begin"
        yield f"{how}.ends:"
        if how == "streamed":
            yield from self._seams()
        else:  # the last elements of each row
            yield from self._store_block(str(self._last), streams=False)
        yield from _paragraph(f"""
              br label %{how}.begin
            {how}.begin:
              %{how}.start = add i64 %first, {shift}
              %{how}.wanted = add i64 %stop, {shift}
              %{how}.all = add i64 {last}, 1
              %{how}.fits = icmp slt i64 %{how}.wanted, %{how}.all
              %{how}.stop = select i1 %{how}.fits, i64 %{how}.wanted, i64 %{how}.all
              %{how}.some = icmp slt i64 %{how}.start, %{how}.stop
              br i1 %{how}.some, label %{how}.loop, label %end
            {how}.loop:
              %{how}.at = phi i64 [ %{how}.start, %{how}.begin ], [ %{how}.next, %{how}.loop ]
            """)
        yield from self._store_block(f"%{how}.at", streams=how == "streamed")
        yield from _paragraph(f"""
              %{how}.next = add i64 %{how}.at, {self._lanes.width}
              %{how}.more = icmp slt i64 %{how}.next, %{how}.stop
              br i1 %{how}.more, label %{how}.loop, label %end
            """)

    def _seams(self) -> Iterator[str]:
        """Print the stores of seams, for rows that do not start at an aligned address.

        The end of the last row stays in the workspace until the next rows are stored.
        """
        lanes, new = self._lanes, self._new
        vector, width = lanes.vector, lanes.width
        if not self._is_even:
            yield from self._store_block("%last", streams=True)
        heads, lines = self._block("0")
        yield from lines
        tails, lines = self._block(str(self._last))
        yield from lines
        first_seam = 2 * width * self._index
        yield from _paragraph(f"""
              %seams = getelementptr {vector}, ptr %all.seams, i64 {first_seam}
              %is.start = icmp eq i64 %row, 0
              %seam = add i64 %shift, {self._size - self._grain}  ; its offset in its first row
              %seam.before = sub i64 %shift, {self._grain}  ; and in its second row
              %seam.at = add i64 %shift, {width - self._grain}  ; and in the workspace
            """)
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
        yield from self._store_vector(heads[0], 0, "0")
        yield "  br label %started"
        yield "joined:"
        yield from self._store_seam(meeting[0], 0, "%seam.before")
        yield "  br label %started"
        yield "started:"
        yield f"  store {vector} {tails[-1]}, ptr {meeting[0]}"
        yield "  br i1 %is.end, label %finish, label %streamed.begin"
        yield "finish:"
        yield from self._store_vector(tails[-1], self._rows - 1, str(self._last))

    def _store_seam(self, meeting: str, lane: int, start: str) -> Iterator[str]:
        """Print the store of the grain that spans two rows, at an offset in a lane's row."""
        address, grain = self._new(), self._new()
        yield f"  {address} = getelementptr {self._lanes.scalar}, ptr {meeting}, i64 %seam.at"
        yield f"  {grain} = load {self._grain_type}, ptr {address}, align {self._lanes.item}"
        yield from self._stream_grain(grain, self._grain_type, lane, start)

    def _store_block(self, start: str, *, streams: bool) -> Iterator[str]:
        """Print the stores of W elements of each lane's row."""
        rows, lines = self._block(start)
        yield from lines
        for lane, row in enumerate(rows):
            if not streams:
                yield from self._store_vector(row, lane, start)
            elif self._is_even:
                yield from self._stream_grain(row, self._lanes.vector, lane, start)
            else:
                yield from self._stream_grains(row, lane, start)

    def _block(self, start: str) -> tuple[list[str], list[str]]:
        """Load W elements of each row: the names of the vectors, and the lines."""
        part, new = VectorType(self._rows, self._lanes.scalar).vector, self._new
        first, values = new(), list[str]()
        lines = [f"  {first} = getelementptr i32, ptr @offsets{self._index}, i64 {start}"]
        for k in range(self._lanes.width):
            value, loads = _load_from_stage(first, k, part, new)
            values.append(value)
            lines += loads
        vectors: list[str] = []
        for k in range(self._rows):
            vector, joins = self._lanes.joined(values[k :: self._rows], new)
            vectors.append(vector)
            lines += joins
        rows, shuffles = self._lanes.transposed(vectors, new)
        return rows, lines + shuffles

    def _stream_grains(self, row: str, lane: int, start: str) -> Iterator[str]:
        """Print non-temporal stores of W elements of a lane's row, grain by grain."""
        vector = self._lanes.vector
        for first in range(0, self._lanes.width, self._grain):
            part, address = self._new(), self._new()
            picks = ", ".join(f"i32 {first + k}" for k in range(self._grain))
            mask = f"<{self._grain} x i32> <{picks}>"
            yield f"  {part} = shufflevector {vector} {row}, {vector} {row}, {mask}"
            yield f"  {address} = add i64 {start}, {first}"
            yield from self._stream_grain(part, self._grain_type, lane, address)

    def _stream_grain(self, value: str, kind: str, lane: int, start: str) -> Iterator[str]:
        """Print a non-temporal store of a grain."""
        address, bytes_ = self._new(), self._grain * self._lanes.item
        yield f"  {address} = getelementptr {self._lanes.scalar}, ptr %to{lane}, i64 {start}"
        yield f"  store {kind} {value}, ptr {address}, align {bytes_}, !nontemporal !0"

    def _store_vector(self, row: str, lane: int, start: str) -> Iterator[str]:
        """Print an ordinary store of W elements in the row of a lane."""
        address = self._new()
        yield f"  {address} = getelementptr {self._lanes.scalar}, ptr %to{lane}, i64 {start}"
        yield f"  store {self._lanes.vector} {row}, ptr {address}, align {self._lanes.item}"


def _load_from_stage(
    table: str, k: int, kind: str, new: Callable[[], str]
) -> tuple[str, list[str]]:
    """Load from the stage at the position in entry k of a table: the name, and the lines."""
    address, offset, wide, slot, value = (new() for _ in range(5))
    return value, [
        f"  {address} = getelementptr i32, ptr {table}, i64 {k}",
        f"  {offset} = load i32, ptr {address}",
        f"  {wide} = zext i32 {offset} to i64",
        f"  {slot} = getelementptr i8, ptr %stage, i64 {wide}",
        f"  {value} = load {kind}, ptr {slot}",
    ]


class FlatStores:
    """The part of a store function that stores the rows of a group as one sequence."""

    def __init__(
        self, index: int, size: int, lanes: VectorType, rows: int, new: Callable[[], str]
    ) -> None:
        self._index, self._lanes, self._new = index, lanes, new
        self._total, self._count = rows * size, rows  # elements of a group, and of a vector
        self._vector = f"<{rows} x {lanes.scalar}>"
        self._bytes = rows * lanes.item

    def table(self, slots: Sequence[int]) -> str:
        """Print the positions of the elements of a group in the stage, from the slots of a row."""
        item, size = self._lanes.item, self._lanes.bytes
        offsets = [size * slot + item * lane for lane in range(self._count) for slot in slots]
        listed = ", ".join(f"i32 {offset}" for offset in offsets)
        return f"@flat{self._index} = private constant [{self._total} x i32] [{listed}]"

    def lines(self) -> Iterator[str]:
        """Print the code from the label %flat to a branch to %end."""
        lanes, scalar, count, total = self._lanes, self._lanes.scalar, self._count, self._total
        first_seam = 2 * lanes.width * self._index
        yield from _paragraph(f"""
            flat:
              %flat.seam = getelementptr {lanes.vector}, ptr %all.seams, i64 {first_seam}
              %flat.address = ptrtoint ptr %to0 to i64
              %flat.back = sub i64 0, %flat.address
              %flat.bytes = and i64 %flat.back, {self._bytes - 1}
              %flat.shift = sdiv exact i64 %flat.bytes, {lanes.item}  ; elements to the first vector
              %flat.left = sub i64 {count}, %flat.shift  ; elements before it, in the workspace
              %flat.is.shifted = icmp ne i64 %flat.shift, 0
              %flat.is.start = icmp eq i64 %row, 0
              %flat.behind = getelementptr {scalar}, ptr %flat.seam, i64 %flat.left
              %flat.head = select i1 %flat.is.start, ptr %to0, ptr %flat.behind
            """)
        yield from self._copy("head", "%flat", ("0", "%flat.shift"), "%flat.head", "flat.joined")
        yield from _paragraph(f"""
            flat.joined:
              %flat.is.whole = xor i1 %flat.is.start, true
              %flat.has.seam = and i1 %flat.is.whole, %flat.is.shifted
              br i1 %flat.has.seam, label %flat.meet, label %flat.begin
            flat.meet:  ; the vector of the end of the previous group and the start of this one
              %flat.both = load {self._vector}, ptr %flat.seam
              %flat.before = sub i64 0, %flat.left
            """)
        yield from self._stream("%flat.both", "%flat.before")
        yield from _paragraph("""
              br label %flat.begin
            flat.begin:
              br label %flat.loop
            flat.loop:
              %flat.at = phi i64 [ %flat.shift, %flat.begin ], [ %flat.next, %flat.loop ]
            """)
        value = "undef"
        for k in range(count):
            element, lines = self._element("%flat.at", k)
            yield from lines
            joined = self._new()
            yield f"  {joined} = insertelement {self._vector} {value}, {scalar} {element}, i32 {k}"
            value = joined
        yield from self._stream(value, "%flat.at")
        yield from _paragraph(f"""
              %flat.next = add i64 %flat.at, {count}
              %flat.more = icmp sle i64 %flat.next, {total - count}
              br i1 %flat.more, label %flat.loop, label %flat.rest
            flat.rest:
            """)
        ends = ("%flat.next", str(total))
        yield from self._copy("tail", "%flat.rest", ends, "%flat.seam", "flat.kept")
        yield from _paragraph(f"""
            flat.kept:
              br i1 %is.end, label %flat.end, label %end
            flat.end:
              %flat.last = getelementptr {scalar}, ptr %to0, i64 %flat.next
            """)
        yield from self._copy("last", "%flat.end", ends, "%flat.last", "end")

    def _copy(
        self, name: str, before: str, ends: tuple[str, str], to: str, after: str
    ) -> Iterator[str]:
        """Print a loop that copies elements of the group one by one.

        Args:
            name: of the loop.
            before, after: the labels before and after it.
            ends: the first element, and the one after the last.
            to: the address of the first element.
        """
        this, loop, (start, stop) = f"%flat.{name}", f"flat.{name}.loop", ends
        scalar = self._lanes.scalar
        yield from _paragraph(f"""
              {this}.some = icmp slt i64 {start}, {stop}
              br i1 {this}.some, label %{loop}, label %{after}
            {loop}:
              {this}.at = phi i64 [ {start}, {before} ], [ {this}.next, %{loop} ]
            """)
        element, lines = self._element(f"{this}.at", 0)
        yield from lines
        yield from _paragraph(f"""
              {this}.index = sub i64 {this}.at, {start}
              {this}.to = getelementptr {scalar}, ptr {to}, i64 {this}.index
              store {scalar} {element}, ptr {this}.to
              {this}.next = add i64 {this}.at, 1
              {this}.more = icmp slt i64 {this}.next, {stop}
              br i1 {this}.more, label %{loop}, label %{after}
            """)

    def _element(self, start: str, k: int) -> tuple[str, list[str]]:
        """Load element `start` + k of the sequence: its name, and the lines."""
        first = self._new()
        value, loads = _load_from_stage(first, k, self._lanes.scalar, self._new)
        return value, [
            f"  {first} = getelementptr i32, ptr @flat{self._index}, i64 {start}",
            *loads,
        ]

    def _stream(self, value: str, start: str) -> Iterator[str]:
        address = self._new()
        yield f"  {address} = getelementptr {self._lanes.scalar}, ptr %to0, i64 {start}"
        yield f"  store {self._vector} {value}, ptr {address}, align {self._bytes}, !nontemporal !0"
