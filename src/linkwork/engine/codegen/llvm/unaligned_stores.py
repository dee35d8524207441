"""Non-temporal stores of rows that have an odd size.

Such rows have different offsets from an aligned address, but those of a group of lanes follow each
other in memory, and a group is a multiple of its number of rows long. So they are stored as one
sequence: each vector is gathered number by number, by a table that says where each number of the
sequence is in the stage. The numbers after the last aligned address stay in the workspace, until
the first ones of the next group complete their vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from linkwork.engine.codegen.llvm.lanes import Lanes

# Labels after the loops that copy numbers one by one.
_AFTER = {"head": "flat.joined", "tail": "flat.kept", "last": "end"}


class FlatStores:
    """The part of a store function that stores a whole group of rows of an odd size."""

    def __init__(self, index: int, size: int, lanes: Lanes, rows: int) -> None:
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
        own = 2 * self._lanes.width * self._index
        yield "flat:"
        yield f"  %flat.seam = getelementptr {self._lanes.vector}, ptr %all.seams, i64 {own}"
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
