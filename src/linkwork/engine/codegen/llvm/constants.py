"""Constants of a program, in a table.

LLVM puts each constant at an address of its own, of 64 bits, which takes an instruction of ten
bytes to load before each use. In a table, constants are at small distances from one address, which
stays in a register. A short program has its constants where they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from linkwork.engine.codegen.llvm.anchors import Anchors
from linkwork.engine.codegen.llvm.lanes import Lanes
from linkwork.engine.codegen.schedule.slots import NEARBY_STEPS
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program

FEWEST = 16  # a program with fewer constants has no table


class Constants:
    """The table, and which of its values were loaded into a register when."""

    def __init__(self, program: Program, lanes: Lanes, new: Callable[[], str]) -> None:
        self._lanes, self._new = lanes, new
        used = {step for operands in program.operands for step in operands}
        values = {
            step: args[0]
            for step, (op, *args) in enumerate(program.steps)
            if op is Op.CONST and args[0] and step in used
        }
        self._texts = list(dict.fromkeys(map(lanes.constant, values.values())))
        places = {text: place for place, text in enumerate(self._texts)}
        self._places = {step: places[lanes.constant(value)] for step, value in values.items()}
        if len(self._texts) < FEWEST:
            self._texts, self._places = [], {}
        self._last_use: dict[int, int] = {}
        self._operands = program.operands
        self._anchors = Anchors(lanes, new, ())

    @property
    def extra_parameter(self) -> str:
        """The argument of each piece: the address of the table."""
        return ", ptr %constants" if self._texts else ""

    def table(self) -> Iterator[str]:
        """The table itself."""
        if self._texts:
            vector = self._lanes.vector
            values = ", ".join(f"{vector} {text}" for text in self._texts)
            yield f"@constants = private constant [{len(self._texts)} x {vector}] [{values}]"

    def address(self) -> Iterator[str]:
        """At the start of the function: the address of the table."""
        if self._texts:
            yield "  %constants = getelementptr i8, ptr @constants, i64 0"

    def begin(self, steps: range) -> None:
        """Begin a piece, which has these steps; nothing is loaded yet."""
        self._last_use = {}
        uses = [
            (step, self._places[value])
            for step in (steps if self._lanes.width == 1 else ())  # else few are close together
            for value in self._operands[step]
            if value in self._places
        ]
        self._anchors = Anchors(self._lanes, self._new, uses, "%constants")

    def loads(self, used: Sequence[int], here: int, names: list[str]) -> Iterator[str]:
        """Load those constants that were not used a short time ago, and name them anew."""
        for step in used:
            place = self._places.get(step)
            if place is None:
                continue
            if here - self._last_use.get(step, here - NEARBY_STEPS) >= NEARBY_STEPS:
                at, names[step] = self._new(), self._new()
                yield from self._anchors.pointer(at, place, here)
                yield f"  {names[step]} = load {self._lanes.vector}, ptr {at}"
            self._last_use[step] = here
