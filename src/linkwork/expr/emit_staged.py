"""Large outputs: their numbers wait until all are there, and are written while the next are made.

A row of a large output does not fit into the nearest cache beside the rows of the other lanes.
Written as its numbers come, its lines would be fetched and written back several times. So each
number is kept in a slot of a stage, a value for all lanes, and is written later: W x W blocks of
slots are put in order, by a table of slots. A loop also compiles faster than thousands of stores.

There are two stages. While one is filled, what waits on the other is written, a few blocks at a
time between the steps of the program: memory takes its time, and the processor goes on meanwhile.

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
LARGEST = 2 << 20  # bytes of two stages, which are on the stack
BURST = 8  # blocks that are written at a time
NOTHING, PLAIN, STREAMED = 0, 1, 2  # what waits on a stage, and how it is to be written
STAGES = "ptr %stage, ptr %other, ptr %seams, i64 %waiting"  # what a piece of a program is given
NO_STAGES = "ptr null, ptr null, ptr null, i64 0"
_FREE = (Op.CONST, Op.INPUT)


class Stage:
    """The slots of the results of a program that are staged, and how they get to memory."""

    def __init__(self, program: Program, lanes: Lanes, new: Callable[[], str]) -> None:
        self._program, self._lanes, self._new = program, lanes, new

    def holds(self, port: Port) -> bool:
        """Whether an output is staged."""
        return bool(self.slots) and port.size >= SMALLEST

    @cached_property
    def slots(self) -> dict[int, int]:
        """The slot of each step that is a result of a staged output; none if too many are."""
        found: dict[int, int] = {}
        start = 0
        for port in self._program.outputs if self._lanes.width > 1 else ():
            for step in self._program.results[start : start + port.size]:
                if port.size >= SMALLEST:
                    found.setdefault(step, len(found))
            start += port.size
        return found if 2 * len(found) * self._lanes.bytes <= LARGEST else {}

    def functions(self) -> Iterator[str]:
        """For each staged output, where each number waits, and a function that writes some."""
        for number, port, steps in self._outputs():
            places = ", ".join(f"i32 {self._lanes.bytes * self.slots[step]}" for step in steps)
            yield f"@places{number} = private constant [{port.size} x i32] [{places}]"
            yield from _Writing(number, port.size, self._lanes, self._new).function()
        if self.slots:
            yield "!0 = !{i32 1}"

    def prepared(self) -> Iterator[str]:
        """Before the loop over rows: both stages, with results that are facts; how to write."""
        if not self.slots:
            return
        n = len(self.slots)
        yield f"  %stages = alloca {self._lanes.vector}, i64 {2 * n}, align 64"
        yield f"  %stages.second = getelementptr {self._lanes.vector}, ptr %stages, i64 {n}"
        for step, slot in self.slots.items():
            if self._program.steps[step][0] is Op.CONST:
                value = self._lanes.constant(self._program.steps[step][1])
                yield from self._put(slot, value, "%stages")
                yield from self._put(slot, value, "%stages.second")
        seams = len(self._program.outputs) * 2 * self._lanes.width
        yield f"  %seams = alloca {self._lanes.vector}, i64 {seams}, align 64"
        n_inputs = len(self._program.inputs)
        yield f"  %is.large.at = getelementptr i64, ptr %stride, i64 {n_inputs}"
        yield "  %is.large.number = load i64, ptr %is.large.at"
        yield "  %is.large = icmp ne i64 %is.large.number, 0"
        yield f"  %how = select i1 %is.large, i64 {STREAMED}, i64 {PLAIN}"

    def turn(self) -> Iterator[str]:
        """At the start of a turn of the loop over rows: which stage to fill, and what waits."""
        if self.slots:
            yield "  %stage = phi ptr [ %stages, %entry ], [ %other, %loop ]"
            yield "  %other = phi ptr [ %stages.second, %entry ], [ %stage, %loop ]"
            yield f"  %waiting = phi i64 [ {NOTHING}, %entry ], [ %how, %loop ]"

    def rows_before(self) -> Iterator[str]:
        """Where the rows go that wait on the other stage."""
        if self.slots:
            yield f"  %row.before = sub i64 %row, {self._lanes.width}"
            yield from self._targets("before", "%row.before")

    def kept(self, step: int, value: str) -> Iterator[str]:
        """Put the value of a step into its slot, if it has one."""
        if step in self.slots:
            yield from self._put(self.slots[step], value, "%stage")

    def burst(self, step: int) -> Iterator[str]:
        """After a step: write some of what waits."""
        for number, first, stop in self._bursts.get(step, ()):
            rows = f"ptr %other, ptr %seams, ptr %before{number}, i64 %row.before"
            given = f"{rows}, i64 {first}, i64 {stop}, i64 %waiting, i1 false"
            yield f"  call void @write{number}({given})"

    def rest(self) -> Iterator[str]:
        """After the loop: write what waits since its last turn."""
        if self.slots:
            yield "rest:"
            yield from self._targets("last", "%row")
            for number, port, _ in self._outputs():
                rows = f"ptr %stage, ptr %seams, ptr %last{number}, i64 %row"
                given = f"{rows}, i64 0, i64 {port.size}, i64 %how, i1 true"
                yield f"  call void @write{number}({given})"
            yield "  br label %end"

    def _put(self, slot: int, value: str, stage: str) -> Iterator[str]:
        at, vector = self._new(), self._lanes.vector
        yield f"  {at} = getelementptr {vector}, ptr {stage}, i64 {slot}"
        yield f"  store {vector} {value}, ptr {at}"

    def _targets(self, name: str, row: str) -> Iterator[str]:
        """Where the first of some rows starts in each staged output."""
        for number, port, _ in self._outputs():
            yield f"  %{name}{number}.offset = mul i64 {row}, {port.size}"
            place = f"ptr %out{number}, i64 %{name}{number}.offset"
            yield f"  %{name}{number} = getelementptr {self._lanes.scalar}, {place}"

    @cached_property
    def _bursts(self) -> dict[int, list[tuple[int, int, int]]]:
        """Parts of outputs (number, first, stop) to write after each step, evenly spread."""
        size = BURST * self._lanes.width
        parts = [
            (number, start, min(start + size, port.size))
            for number, port, _ in self._outputs()
            for start in range(0, port.size, size)
        ]
        steps = [k for k, (op, *_) in enumerate(self._program.steps) if op not in _FREE] or [0]
        found: dict[int, list[tuple[int, int, int]]] = {}
        for k, part in enumerate(parts):
            found.setdefault(steps[k * len(steps) // len(parts)], []).append(part)
        return found

    def _outputs(self) -> Iterator[tuple[int, Port, tuple[int, ...]]]:
        """The staged outputs: number, port, and the step of each number."""
        start = 0
        for number, port in enumerate(self._program.outputs):
            if self.holds(port):
                yield number, port, self._program.results[start : start + port.size]
            start += port.size


class _Writing:
    """The function that writes a part of an output, from a stage to the rows of all lanes."""

    def __init__(self, number: int, size: int, lanes: Lanes, new: Callable[[], str]) -> None:
        self._number, self._size, self._lanes, self._new = number, size, lanes, new
        self._is_even = size % lanes.width == 0  # all rows are equally far from aligned addresses

    def function(self) -> Iterator[str]:
        """Write numbers `first` to `stop` of rows from `row` on, after which may come no more.

        With the first part comes what the loop does not reach at the ends of rows.
        """
        lanes = self._lanes
        rows = "ptr %stage, ptr %all.seams, ptr %to0, i64 %row"
        takes = f"{rows}, i64 %first, i64 %stop, i64 %how, i1 %is.end"
        yield f"define internal void @write{self._number}({takes}) noinline {{"
        for lane in range(1, lanes.width):
            place = f"{lanes.scalar}, ptr %to0, i64 {lane * self._size}"
            yield f"  %to{lane} = getelementptr {place}"
        yield "  %is.first = icmp eq i64 %first, 0"
        streamed = "streamed" if self._is_even else "plain"
        yield f"  switch i64 %how, label %end [ i64 {PLAIN}, label %plain"
        yield f"    i64 {STREAMED}, label %{streamed} ]"
        yield "plain:"
        yield from self._part("plain", "0")
        if self._is_even:
            yield "streamed:"
            yield "  %address = ptrtoint ptr %to0 to i64"
            yield "  %back = sub i64 0, %address"
            yield f"  %bytes = and i64 %back, {lanes.bytes - 1}"
            yield f"  %shift = sdiv exact i64 %bytes, {lanes.item}"  # to an aligned number
            yield from self._part("streamed", "%shift")
        yield "end:"
        yield "  ret void"
        yield "}"

    def _part(self, how: str, shift: str) -> Iterator[str]:
        """The blocks that start so many numbers after `first` to before `stop`."""
        last = self._size - self._lanes.width
        yield f"  %{how}.is.shifted = icmp ne i64 {shift if self._is_even else 1}, 0"
        yield f"  %{how}.has.ends = and i1 %is.first, %{how}.is.shifted"
        yield f"  br i1 %{how}.has.ends, label %{how}.ends, label %{how}.begin"
        yield f"{how}.ends:"
        yield from self._seams() if how == "streamed" else self._ends()
        yield f"  br label %{how}.begin"
        yield f"{how}.begin:"
        yield f"  %{how}.start = add i64 %first, {shift}"
        yield f"  %{how}.wanted = add i64 %stop, {shift}"
        yield f"  %{how}.fits = icmp sle i64 %{how}.wanted, {last}"
        yield f"  %{how}.stop = select i1 %{how}.fits, i64 %{how}.wanted, i64 {last + 1}"
        yield f"  %{how}.some = icmp slt i64 %{how}.start, %{how}.stop"
        yield f"  br i1 %{how}.some, label %{how}.loop, label %end"
        yield f"{how}.loop:"
        yield f"  %{how}.at = phi i64 [ %{how}.start, %{how}.begin ], [ %{how}.next, %{how}.loop ]"
        rows, lines = self._block(f"%{how}.at")
        yield from lines
        for lane, row in enumerate(rows):
            yield from self._stored(row, lane, f"%{how}.at", streams=how == "streamed")
        yield f"  %{how}.next = add i64 %{how}.at, {self._lanes.width}"
        yield f"  %{how}.more = icmp slt i64 %{how}.next, %{how}.stop"
        yield f"  br i1 %{how}.more, label %{how}.loop, label %end"

    def _ends(self) -> Iterator[str]:
        """The first and the last numbers of each row, where the loop does not reach all of them."""
        for start in (0, self._size - self._lanes.width):
            rows, lines = self._block(str(start))
            yield from lines
            for lane, row in enumerate(rows):
                yield from self._stored(row, lane, str(start), streams=False)

    def _seams(self) -> Iterator[str]:
        """The same where rows are shifted: an aligned block lies across two rows.

        What ends one row and what starts the next meet in memory, and are taken as a whole from
        there. The end of the last row waits there for the next rows.
        """
        lanes, last, new = self._lanes, self._size - self._lanes.width, self._new
        vector, width = lanes.vector, lanes.width
        heads, lines = self._block("0")
        yield from lines
        tails, lines = self._block(str(last))
        yield from lines
        place = 2 * width * self._number
        yield f"  %seams = getelementptr {vector}, ptr %all.seams, i64 {place}"
        yield "  %is.start = icmp eq i64 %row, 0"
        yield f"  %seam = add i64 %shift, {last}"
        yield f"  %seam.before = sub i64 %shift, {width}"
        meeting = [new() for _ in range(width)]  # of each lane's row and the one before
        for lane, at in enumerate(meeting):
            yield f"  {at} = getelementptr {vector}, ptr %seams, i64 {2 * lane}"
        for lane, head in enumerate(heads):
            behind = new()
            yield f"  {behind} = getelementptr {vector}, ptr {meeting[lane]}, i64 1"
            yield f"  store {vector} {head}, ptr {behind}"
        for lane in range(width - 1):
            yield f"  store {vector} {tails[lane]}, ptr {meeting[lane + 1]}"
            yield from self._met(meeting[lane + 1], lane, "%seam")
        yield "  br i1 %is.start, label %start, label %joined"
        yield "start:"
        yield from self._stored(heads[0], 0, "0", streams=False)
        yield "  br label %started"
        yield "joined:"
        yield from self._met(meeting[0], 0, "%seam.before")
        yield "  br label %started"
        yield "started:"
        yield f"  store {vector} {tails[-1]}, ptr {meeting[0]}"
        yield "  br i1 %is.end, label %finish, label %streamed.begin"
        yield "finish:"
        yield from self._stored(tails[-1], width - 1, str(last), streams=False)

    def _met(self, meeting: str, lane: int, start: str) -> Iterator[str]:
        """Store what has met, at an aligned place of a lane's row."""
        at, whole = self._new(), self._new()
        yield f"  {at} = getelementptr {self._lanes.scalar}, ptr {meeting}, i64 %shift"
        yield f"  {whole} = load {self._lanes.vector}, ptr {at}, align {self._lanes.item}"
        yield from self._stored(whole, lane, start, streams=True)

    def _block(self, start: str) -> tuple[list[str], list[str]]:
        """W numbers for each lane: names of the vectors, and the lines that make them."""
        vector, new = self._lanes.vector, self._new
        first, values = new(), list[str]()
        lines = [f"  {first} = getelementptr i32, ptr @places{self._number}, i64 {start}"]
        for k in range(self._lanes.width):
            at, offset, wide, place, value = (new() for _ in range(5))
            lines += [
                f"  {at} = getelementptr i32, ptr {first}, i64 {k}",
                f"  {offset} = load i32, ptr {at}",
                f"  {wide} = zext i32 {offset} to i64",
                f"  {place} = getelementptr i8, ptr %stage, i64 {wide}",
                f"  {value} = load {vector}, ptr {place}",
            ]
            values.append(value)
        rows, shuffles = self._lanes.transposed(values, new)
        return rows, lines + shuffles

    def _stored(self, row: str, lane: int, start: str, *, streams: bool) -> Iterator[str]:
        """Store W numbers in the row of a lane."""
        at, item, whole = self._new(), self._lanes.item, self._lanes.bytes
        how = f"align {whole}, !nontemporal !0" if streams else f"align {item}"
        yield f"  {at} = getelementptr {self._lanes.scalar}, ptr %to{lane}, i64 {start}"
        yield f"  store {self._lanes.vector} {row}, ptr {at}, {how}"
