"""Large outputs: their numbers wait until all are there, and are written while the next are made.

A row of a large output does not fit into the nearest cache beside the rows of the other lanes.
Written as its numbers come, its lines would be fetched and written back several times. So each
number is kept in a slot of a stage, a value for all lanes, and is written later: W x W blocks of
slots are put in order, by a table of slots. A loop also compiles faster than thousands of stores.

There are two stages. While one is filled, what waits on the other is written, a few blocks at a
time between the steps of the program: memory takes its time, and the processor goes on meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from linkwork.expr.node import Op
from linkwork.expr.program import Port, Program
from linkwork.lazy import cached_property
from linkwork.llvm.lanes import Lanes
from linkwork.llvm.pieces import CACHED
from linkwork.llvm.stores import GROUP, NOTHING, PLAIN, STREAMED, Writing, streams

SMALLEST = 256  # numbers of an output that is staged,
SMALLEST_STREAMED = 96  # of one of a short program that can be written past the caches,
SMALLEST_OF_MANY, LARGE_ROW = 64, 1024  # of one beside others, all of which have so many
LARGEST = 1 << 20  # bytes of two stages, which are on the stack
BURST = 8  # blocks that are written at a time
STAGES = "ptr %stage, ptr %other, ptr %seams, i64 %waiting"  # what a piece of a program is given
NO_STAGES = "ptr null, ptr null, ptr null, i64 0"
_FREE = (Op.CONST, Op.INPUT)


class Stage:
    """The slots of the results of a program that are staged, and how they get to memory."""

    def __init__(self, program: Program, lanes: Lanes, new: Callable[[], str]) -> None:
        self._program, self._lanes, self._new = program, lanes, new

    def holds(self, port: Port) -> bool:
        """Whether an output is staged."""
        return bool(self.slots) and self._is_large(port)

    @cached_property
    def slots(self) -> dict[int, int]:
        """The slot of each step that is a result of a staged output; none if too many are."""
        found: dict[int, int] = {}
        start = 0
        for port in self._program.outputs if self._lanes.width > 1 else ():
            for step in self._program.results[start : start + port.size]:
                if self._is_large(port):
                    found.setdefault(step, len(found))
            start += port.size
        return found if 2 * len(found) * self._lanes.bytes <= LARGEST else {}

    def _is_large(self, port: Port) -> bool:
        if len(self._program.results) >= LARGE_ROW:
            return port.size >= SMALLEST_OF_MANY
        is_short = len(self._program.steps) <= CACHED  # a longer one had better run in pieces
        may_stream = is_short and streams(port.size, self._lanes)
        return port.size >= (SMALLEST_STREAMED if may_stream else SMALLEST)

    def functions(self) -> Iterator[str]:
        """For each staged output, where each number waits, and a function that writes some."""
        for number, port, steps in self._outputs():
            places = ", ".join(f"i32 {self._lanes.bytes * self.slots[step]}" for step in steps)
            yield f"@places{number} = private constant [{port.size} x i32] [{places}]"
            yield from Writing(number, port.size, self._lanes, self._new).function()
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
        for number, lane, start, stop in self._bursts.get(step, ()):
            part = f"i64 {start}, i64 {stop}, i64 %waiting, i1 false"
            yield from self._call(number, lane, ("%other", "before", "%row.before"), part)

    def rest(self) -> Iterator[str]:
        """After the loop: write what waits since its last turn."""
        if self.slots:
            yield "rest:"
            yield from self._targets("last", "%row")
            for number, port, _ in self._outputs():
                for lane in self._first_lanes:
                    is_end = str(lane == self._first_lanes[-1]).lower()
                    part = f"i64 0, i64 {port.size}, i64 %how, i1 {is_end}"
                    yield from self._call(number, lane, ("%stage", "last", "%row"), part)
            yield "  br label %end"

    def _call(
        self, number: int, lane: int, places: tuple[str, str, str], part: str
    ) -> Iterator[str]:
        """Have a part of an output written for a group of lanes: from a stage to rows."""
        stage, target, row = places
        at, to, own, scalar = self._new(), self._new(), self._new(), self._lanes.scalar
        offset = lane * self._program.outputs[number].size
        yield f"  {at} = getelementptr {scalar}, ptr {stage}, i64 {lane}"
        yield f"  {to} = getelementptr {scalar}, ptr %{target}{number}, i64 {offset}"
        yield f"  {own} = add i64 {row}, {lane}"
        yield f"  call void @write{number}(ptr {at}, ptr %seams, ptr {to}, i64 {own}, {part})"

    @property
    def _first_lanes(self) -> range:
        """The first lane of each group."""
        return range(0, self._lanes.width, GROUP)

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
    def _bursts(self) -> dict[int, list[tuple[int, int, int, int]]]:
        """What to write after each step, evenly spread: number, first lane, start, stop."""
        size = BURST * self._lanes.width
        parts = [
            (number, lane, start, min(start + size, port.size))
            for number, port, _ in self._outputs()
            for lane in self._first_lanes
            for start in range(0, port.size, size)
        ]
        steps = [k for k, (op, *_) in enumerate(self._program.steps) if op not in _FREE] or [0]
        found: dict[int, list[tuple[int, int, int, int]]] = {}
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
