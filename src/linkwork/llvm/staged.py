"""Staging: the results of large outputs are double buffered on their way to memory.

A row of a large output does not fit into the first-level cache beside the rows of the other lanes.
Stored as its numbers are computed, its cache lines would be fetched and written back several times.
So each number goes to a slot of a buffer (a stage), one vector for all lanes, and is stored later:
W x W blocks of slots are transposed, in the order that a table of slots gives. A loop over such
blocks also compiles faster than thousands of stores.

There are two stages. While the program fills one, the other is written to memory, a few blocks at a
time between the steps of the program, so that stores and arithmetic overlap.

Both stages, and the seams of `stores`, lie at the start of the workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from linkwork.expr.node import Op
from linkwork.expr.program import Port, Program
from linkwork.lazy import cached_property
from linkwork.llvm.lanes import Lanes
from linkwork.llvm.pieces import CACHED
from linkwork.llvm.stores import GROUP, NOTHING, PLAIN, STREAMED, Writing, streams

# An output is staged if a row of it has at least
SMALLEST = 256  # numbers;
SMALLEST_STREAMED = 96  # numbers, if the program is short and non-temporal stores can be used;
SMALLEST_OF_MANY = 64  # numbers, if a row of all outputs together has
LARGE_ROW = 1024  # numbers or more.
LARGEST = 1 << 20  # bytes; if both stages together need more, no output is staged
BURST = 8  # blocks that are stored at a time, between two steps of the program
STAGES = "ptr %stage, ptr %other, ptr %seams, i64 %waiting"  # parameters of a piece of a program
NO_STAGES = "ptr null, ptr null, ptr null, i64 0"
_NO_WORK = (Op.CONST, Op.INPUT)  # steps that take no time


class Stage:
    """The slots of the results of a program that are staged, and how they get to memory."""

    def __init__(self, program: Program, lanes: Lanes, new: Callable[[], str]) -> None:
        self._program, self._lanes, self._new = program, lanes, new

    def holds(self, port: Port) -> bool:
        """Whether an output is staged."""
        return bool(self.slots) and self._is_large(port)

    @cached_property
    def slots(self) -> dict[int, int]:
        """The slot of each step that is a result of a staged output; none if they are too many."""
        slots: dict[int, int] = {}
        start = 0
        for port in self._program.outputs if self._lanes.width > 1 else ():
            for step in self._program.results[start : start + port.size]:
                if self._is_large(port):
                    slots.setdefault(step, len(slots))
            start += port.size
        return slots if 2 * len(slots) * self._lanes.bytes <= LARGEST else {}

    @property
    def size(self) -> int:
        """Vectors of workspace that stages and seams take."""
        return 2 * len(self.slots) + self._n_seams if self.slots else 0

    @property
    def _n_seams(self) -> int:
        return len(self._program.outputs) * 2 * self._lanes.width

    def _is_large(self, port: Port) -> bool:
        if len(self._program.results) >= LARGE_ROW:
            return port.size >= SMALLEST_OF_MANY
        is_short = len(self._program.steps) <= CACHED  # a longer one runs faster in pieces
        may_stream = is_short and streams(port.size, self._lanes)
        return port.size >= (SMALLEST_STREAMED if may_stream else SMALLEST)

    def functions(self) -> Iterator[str]:
        """For each staged output, the table of its slots, and a function that stores a part."""
        for number, port, steps in self._outputs():
            offsets = ", ".join(f"i32 {self._lanes.bytes * self.slots[step]}" for step in steps)
            yield f"@offsets{number} = private constant [{port.size} x i32] [{offsets}]"
            yield from Writing(number, port.size, self._lanes, self._new).function()
        if self.slots:
            yield "!0 = !{i32 1}"

    def prepared(self) -> Iterator[str]:
        """Before the loop over rows: both stages with the results that are constants in them."""
        if not self.slots:
            return
        n = len(self.slots)
        vector = self._lanes.vector
        yield f"  %stages.second = getelementptr {vector}, ptr %workspace, i64 {n}"
        yield f"  %seams = getelementptr {vector}, ptr %workspace, i64 {2 * n}"
        for step, slot in self.slots.items():
            if self._program.steps[step][0] is Op.CONST:
                value = self._lanes.constant(self._program.steps[step][1])
                yield from self._put(slot, value, "%workspace")
                yield from self._put(slot, value, "%stages.second")
        n_inputs = len(self._program.inputs)
        yield f"  %is.large.at = getelementptr i64, ptr %stride, i64 {n_inputs}"
        yield "  %is.large.number = load i64, ptr %is.large.at"
        yield "  %is.large = icmp ne i64 %is.large.number, 0"
        yield f"  %how = select i1 %is.large, i64 {STREAMED}, i64 {PLAIN}"

    def swapped(self) -> Iterator[str]:
        """At the start of each iteration over rows: the stages change their roles."""
        if self.slots:
            yield "  %stage = phi ptr [ %workspace, %start ], [ %other, %loop ]"
            yield "  %other = phi ptr [ %stages.second, %start ], [ %stage, %loop ]"
            yield f"  %waiting = phi i64 [ {NOTHING}, %start ], [ %how, %loop ]"

    def rows_before(self) -> Iterator[str]:
        """Where the rows on the other stage are to be stored."""
        if self.slots:
            yield f"  %row.before = sub i64 %row, {self._lanes.width}"
            yield from self._targets("before", "%row.before")

    def kept(self, step: int, value: str) -> Iterator[str]:
        """Put the value of a step into its slot, if it has one."""
        if step in self.slots:
            yield from self._put(self.slots[step], value, "%stage")

    def burst(self, step: int) -> Iterator[str]:
        """After a step: store a part of the rows on the other stage."""
        for number, lane, start, stop in self._bursts.get(step, ()):
            part = f"i64 {start}, i64 {stop}, i64 %waiting, i1 false"
            yield from self._call(number, lane, ("%other", "before", "%row.before"), part)

    def drained(self) -> Iterator[str]:
        """After the loop: store the rows of its last iteration."""
        if self.slots:
            yield "drain:"
            yield from self._targets("last", "%row")
            for number, port, _ in self._outputs():
                for lane in self._first_lanes:
                    is_end = str(lane == self._first_lanes[-1]).lower()
                    part = f"i64 0, i64 {port.size}, i64 %how, i1 {is_end}"
                    yield from self._call(number, lane, ("%stage", "last", "%row"), part)
            yield "  br label %end"

    def _call(
        self, number: int, lane: int, source: tuple[str, str, str], part: str
    ) -> Iterator[str]:
        """Store a part of an output for a group of lanes: from a stage to rows."""
        stage, target, row = source
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
            target = f"ptr %out{number}, i64 %{name}{number}.offset"
            yield f"  %{name}{number} = getelementptr {self._lanes.scalar}, {target}"

    @cached_property
    def _bursts(self) -> dict[int, list[tuple[int, int, int, int]]]:
        """What to store after each step, evenly spread: output, first lane, start, stop."""
        size = BURST * self._lanes.width
        parts = [
            (number, lane, start, min(start + size, port.size))
            for number, port, _ in self._outputs()
            for lane in self._first_lanes
            for start in range(0, port.size, size)
        ]
        steps = [k for k, (op, *_) in enumerate(self._program.steps) if op not in _NO_WORK] or [0]
        bursts: dict[int, list[tuple[int, int, int, int]]] = {}
        for k, part in enumerate(parts):
            bursts.setdefault(steps[k * len(steps) // len(parts)], []).append(part)
        return bursts

    def _outputs(self) -> Iterator[tuple[int, Port, tuple[int, ...]]]:
        """The staged outputs: index, port, and the step of each number."""
        start = 0
        for number, port in enumerate(self._program.outputs):
            if self.holds(port):
                yield number, port, self._program.results[start : start + port.size]
            start += port.size
