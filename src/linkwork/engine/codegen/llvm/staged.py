"""Staging: large outputs are double buffered before they are stored.

W rows of a large output do not fit into the first-level cache. If each element were stored as it is
computed, cache lines would be fetched and written back several times. So each element is written to
a slot of a buffer (a stage), as one vector of W lanes, and stored later: a loop transposes W x W
blocks of slots, with a table of the slots of the elements of a row. Such a loop also compiles
faster than thousands of stores.

There are two stages. While the program fills one, the other is stored, a few blocks at a time
between the steps of the program, so that stores and arithmetic overlap.

Both stages, and the seams of `stores`, are at the start of the workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from linkwork.engine.cached_property import cached_property
from linkwork.engine.codegen.llvm.stores import (
    EMPTY,
    GROUP,
    NON_TEMPORAL,
    ORDINARY,
    StoreFunction,
)
from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.codegen.schedule.rows import Schedule
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Port, Program, per_port

# The number of blocks that are stored between two steps of the program: BURST, or LONG_BURST if an
# output has at least MANY_BLOCKS blocks, since each burst takes a call, which spills all registers.
BURST, LONG_BURST, MANY_BLOCKS = 8, 32, 256
STAGES = "ptr %stage, ptr %other, ptr %seams, i64 %waiting"  # parameters of each piece
NO_STAGES = "ptr null, ptr null, ptr null, i64 0"


class Stage:
    """The slots of the staged results of a program, and the code that stores them."""

    def __init__(
        self, program: Program, schedule: Schedule, lanes: VectorType, new: Callable[[], str]
    ) -> None:
        self._program, self._lanes, self._new = program, lanes, new
        self._is_staged = schedule.staged
        self.slots = schedule.stage_slots  # by step; empty if no output is staged

    @property
    def size(self) -> int:
        """Size of stages and seams in the workspace, in vectors."""
        return 2 * len(self.slots) + self._n_seams if self.slots else 0

    @property
    def _n_seams(self) -> int:
        return len(self._program.outputs) * 2 * self._lanes.width

    def functions(self) -> Iterator[str]:
        """Print the table of slots and the store function of each staged output."""
        for index, port, steps in self._outputs():
            function = StoreFunction(index, port.size, self._lanes, self._new)
            yield from function.tables([self.slots[step] for step in steps])
            yield from function.lines()
        if self.slots:
            yield "!0 = !{i32 1}"

    def prologue(self) -> Iterator[str]:
        """Print the code before the loop over rows: pointers to both stages, their constants."""
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
        yield "  %is.large.flag = load i64, ptr %is.large.at"
        yield "  %is.large = icmp ne i64 %is.large.flag, 0"
        yield f"  %how = select i1 %is.large, i64 {NON_TEMPORAL}, i64 {ORDINARY}"

    def swap(self, last: str) -> Iterator[str]:
        """Print the code at the start of each iteration, which swaps the stages.

        Args:
            last: the block at the end of an iteration.
        """
        if self.slots:
            yield f"  %stage = phi ptr [ %workspace, %start ], [ %other, {last} ]"
            yield f"  %other = phi ptr [ %stages.second, %start ], [ %stage, {last} ]"
            yield f"  %waiting = phi i64 [ {EMPTY}, %start ], [ %how, {last} ]"

    def row_pointers(self) -> Iterator[str]:
        """Print the pointers to the output rows of the other stage."""
        if self.slots:
            yield f"  %row.before = sub i64 %row, {self._lanes.width}"
            yield from self._targets("before", "%row.before")

    def put(self, step: int, value: str) -> Iterator[str]:
        """Print the store of the value of a step to its slot, if it has one."""
        if step in self.slots:
            yield from self._put(self.slots[step], value, "%stage")

    def burst(self, step: int) -> Iterator[str]:
        """Print the stores of blocks of the other stage that follow a step."""
        for index, lane, start, stop in self._bursts.get(step, ()):
            part = f"i64 {start}, i64 {stop}, i64 %waiting, i1 false"
            yield from self._call(index, lane, ("%other", "before", "%row.before"), part)

    def epilogue(self) -> Iterator[str]:
        """Print the code after the loop, which stores the stage of the last iteration."""
        if self.slots:
            yield "drain:"
            yield from self._targets("last", "%row")
            for index, port, _ in self._outputs():
                for lane in self._first_lanes:
                    is_end = str(lane == self._first_lanes[-1]).lower()
                    part = f"i64 0, i64 {port.size}, i64 %how, i1 {is_end}"
                    yield from self._call(index, lane, ("%stage", "last", "%row"), part)
            yield "  br label %end"

    def _call(
        self, index: int, lane: int, source: tuple[str, str, str], part: str
    ) -> Iterator[str]:
        """Print a call of the store function of an output, for a group of lanes."""
        stage, target, row = source
        address, to, first_row, scalar = self._new(), self._new(), self._new(), self._lanes.scalar
        offset = lane * self._program.outputs[index].size
        yield f"  {address} = getelementptr {scalar}, ptr {stage}, i64 {lane}"
        yield f"  {to} = getelementptr {scalar}, ptr %{target}{index}, i64 {offset}"
        yield f"  {first_row} = add i64 {row}, {lane}"
        rows = f"ptr {address}, ptr %seams, ptr {to}, i64 {first_row}"
        yield f"  call void @write{index}({rows}, {part})"

    @property
    def _first_lanes(self) -> range:
        """The first lane of each group."""
        return range(0, self._lanes.width, GROUP)

    def _put(self, slot: int, value: str, stage: str) -> Iterator[str]:
        address, vector = self._new(), self._lanes.vector
        yield f"  {address} = getelementptr {vector}, ptr {stage}, i64 {slot}"
        yield f"  store {vector} {value}, ptr {address}"

    def _targets(self, name: str, row: str) -> Iterator[str]:
        """Print pointers to a row of each staged output."""
        for index, port, _ in self._outputs():
            yield f"  %{name}{index}.offset = mul i64 {row}, {port.size}"
            target = f"ptr %out{index}, i64 %{name}{index}.offset"
            yield f"  %{name}{index} = getelementptr {self._lanes.scalar}, {target}"

    @cached_property
    def _bursts(self) -> dict[int, list[tuple[int, int, int, int]]]:
        """Parts (output, first lane, start, stop) to store after each step, evenly distributed."""
        n_blocks = sum(port.size for _, port, _ in self._outputs()) // self._lanes.width
        size = (LONG_BURST if n_blocks >= MANY_BLOCKS else BURST) * self._lanes.width
        parts = [
            (index, lane, start, min(start + size, port.size))
            for index, port, _ in self._outputs()
            for lane in self._first_lanes
            for start in range(0, port.size, size)
        ]
        steps = [k for k, operands in enumerate(self._program.operands) if operands] or [0]
        bursts: dict[int, list[tuple[int, int, int, int]]] = {}
        for k, part in enumerate(parts):
            bursts.setdefault(steps[k * len(steps) // len(parts)], []).append(part)
        return bursts

    def _outputs(self) -> Iterator[tuple[int, Port, Sequence[int]]]:
        """Yield the index, the port and the steps of the elements of each staged output."""
        outputs = per_port(self._program.outputs, self._program.results)
        for index, (port, steps) in enumerate(outputs):
            if self._is_staged[index]:
                yield index, port, steps
