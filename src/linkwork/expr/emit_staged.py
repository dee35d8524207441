"""Large outputs: their numbers wait until all are there, and are written from end to end.

A row of a large output does not fit into the nearest cache beside the rows of the other lanes.
Written as its numbers come, its lines would be fetched and written back several times. So each
number is kept in a slot of the stage, a value for all lanes, and a loop at the end puts W x W
blocks of them in order, by a table of slots. A loop also compiles faster than thousands of stores.

Results too large for any cache are written past the caches: a plain store would read the line first
that it overwrites. Such stores take whole vectors at aligned addresses, so the rows of all lanes
must be equally far from one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from linkwork.expr.lanes import Lanes
from linkwork.expr.node import Op
from linkwork.expr.program import Port, Program

SMALLEST = 256  # numbers of an output that is staged


class Stage:
    """The slots of the results of a program that are staged."""

    def __init__(self, program: Program, lanes: Lanes, new: Callable[[], str]) -> None:
        self._program, self._lanes, self._new = program, lanes, new

    def holds(self, port: Port) -> bool:
        """Whether an output is staged."""
        return self._lanes.width > 1 and port.size >= SMALLEST

    @cached_property
    def slots(self) -> dict[int, int]:
        """The slot of each step that is a result of a staged output."""
        found: dict[int, int] = {}
        for _, _, steps in self._outputs():
            for step in steps:
                found.setdefault(step, len(found))
        return found

    def tables(self) -> Iterator[str]:
        """For each staged output, where on the stage each of its numbers waits, in bytes."""
        for number, port, steps in self._outputs():
            places = ", ".join(f"i32 {self._lanes.bytes * self.slots[step]}" for step in steps)
            yield f"@places{number} = private constant [{port.size} x i32] [{places}]"
        if self.slots:
            yield "!0 = !{i32 1}"

    def prepared(self) -> Iterator[str]:
        """Before the loop over rows: the stage, with results that are facts; whether to stream."""
        if not self.slots:
            return
        yield f"  %stage = alloca {self._lanes.vector}, i64 {len(self.slots)}, align 64"
        for step, slot in self.slots.items():
            if self._program.steps[step][0] is Op.CONST:
                value = self._lanes.constant(self._program.steps[step][1])
                yield from self.kept(slot, value)
        n_inputs = len(self._program.inputs)
        yield f"  %is.large.at = getelementptr i64, ptr %stride, i64 {n_inputs}"
        yield "  %is.large.number = load i64, ptr %is.large.at"
        yield "  %is.large = icmp ne i64 %is.large.number, 0"
        for number, port, _ in self._outputs():
            if self._is_even(port):  # how many numbers come before an aligned one
                yield f"  %address{number} = ptrtoint ptr %out{number} to i64"
                yield f"  %back{number} = sub i64 0, %address{number}"
                yield f"  %bytes{number} = and i64 %back{number}, {self._lanes.bytes - 1}"
                yield f"  %shift{number} = sdiv exact i64 %bytes{number}, {self._lanes.item}"

    def kept(self, slot: int, value: str) -> Iterator[str]:
        """Put a value into its slot."""
        at, vector = self._new(), self._lanes.vector
        yield f"  {at} = getelementptr {vector}, ptr %stage, i64 {slot}"
        yield f"  store {vector} {value}, ptr {at}"

    @property
    def last_label(self) -> str:
        """The block of code in which a turn of the loop over rows ends."""
        return ["loop", *(f"stored{number}" for number, _, _ in self._outputs())][-1]

    def written(self) -> Iterator[str]:
        """At the end of a turn: write the rows of all lanes from end to end."""
        before = "loop"
        for number, port, _ in self._outputs():
            for lane in range(self._lanes.width):
                yield f"  %to{number}.{lane}.row = add i64 %row, {lane}"
                yield f"  %to{number}.{lane}.offset = mul i64 %to{number}.{lane}.row, {port.size}"
                offset = f"ptr %out{number}, i64 %to{number}.{lane}.offset"
                yield f"  %to{number}.{lane} = getelementptr {self._lanes.scalar}, {offset}"
            last = str(port.size - self._lanes.width)
            if self._is_even(port):
                yield f"  br i1 %is.large, label %streaming{number}, label %store{number}"
                yield f"streaming{number}:"
                yield from self._block(number, "0", streams=False)  # what is not aligned
                yield from self._block(number, last, streams=False)
                yield f"  br label %stream{number}"
                start = f"[ %shift{number}, %streaming{number} ]"
                yield from self._loop(number, port, f"stream{number}", start)
            else:
                yield f"  br label %store{number}"
            yield from self._loop(number, port, f"store{number}", f"[ 0, %{before} ]")
            yield f"stored{number}:"
            if port.size % self._lanes.width:  # once more, over some that are there already
                yield from self._block(number, last, streams=False)
            before = f"stored{number}"

    def _loop(self, number: int, port: Port, label: str, start: str) -> Iterator[str]:
        width = self._lanes.width
        yield f"{label}:"
        yield f"  %{label}.at = phi i64 {start}, [ %{label}.next, %{label} ]"
        yield from self._block(number, f"%{label}.at", streams=label.startswith("stream"))
        yield f"  %{label}.next = add i64 %{label}.at, {width}"
        yield f"  %{label}.more = icmp sle i64 %{label}.next, {port.size - width}"
        yield f"  br i1 %{label}.more, label %{label}, label %stored{number}"

    def _block(self, number: int, start: str, *, streams: bool) -> Iterator[str]:
        """W numbers in the rows of all lanes."""
        vector, new = self._lanes.vector, self._new
        first, values = new(), list[str]()
        yield f"  {first} = getelementptr i32, ptr @places{number}, i64 {start}"
        for k in range(self._lanes.width):
            at, offset, wide, place, value = (new() for _ in range(5))
            yield f"  {at} = getelementptr i32, ptr {first}, i64 {k}"
            yield f"  {offset} = load i32, ptr {at}"
            yield f"  {wide} = zext i32 {offset} to i64"
            yield f"  {place} = getelementptr i8, ptr %stage, i64 {wide}"
            yield f"  {value} = load {vector}, ptr {place}"
            values.append(value)
        rows, lines = self._lanes.transposed(values, new)
        yield from lines
        how = (
            f"align {self._lanes.bytes}, !nontemporal !0"
            if streams
            else f"align {self._lanes.item}"
        )
        for lane, row in enumerate(rows):
            at = new()
            place = f"{self._lanes.scalar}, ptr %to{number}.{lane}, i64 {start}"
            yield f"  {at} = getelementptr {place}"
            yield f"  store {vector} {row}, ptr {at}, {how}"

    def _is_even(self, port: Port) -> bool:
        """Whether all rows are equally far from an aligned address."""
        return port.size % self._lanes.width == 0

    def _outputs(self) -> Iterator[tuple[int, Port, tuple[int, ...]]]:
        """The staged outputs: number, port, and the step of each number."""
        start = 0
        for number, port in enumerate(self._program.outputs):
            if self.holds(port):
                yield number, port, self._program.results[start : start + port.size]
            start += port.size
