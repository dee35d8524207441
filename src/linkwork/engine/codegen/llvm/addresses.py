"""Slots and constants in memory, with short addresses in instructions.

x86 processors decode 16 bytes per cycle. An instruction that reads memory takes six bytes if the
offset from an address in a register is at most 127 bytes, and nine bytes for larger offsets; two of
the latter exceed 16 bytes. So if several adjacent slots are used within a few steps, an address
between them, the anchor, is loaded into a register first. An empty inline assembly hides the
computation of the anchor from LLVM, which would otherwise combine the offsets.

LLVM assigns a separate 64-bit address to each constant, and loads it with an instruction of ten
bytes before each use. In a table, constants have small offsets from one address, which stays in a
register. Short programs have no table.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.codegen.schedule.pieces import Slots
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Program

REACH = 128  # bytes before and after an anchor
SOON = 30  # steps for which an anchor is used: few registers are available for addresses
FEWEST_USES = 3  # minimum number of uses within SOON steps for which an anchor is created
FEWEST_CONSTANTS = 16  # programs with fewer constants have no table


class Anchors:
    """The anchors of a piece, one for the slots of each window of 2 REACH bytes."""

    def __init__(
        self,
        lanes: VectorType,
        new: Callable[[], str],
        uses: Iterable[tuple[int, int]],
        base: str = "%scratch",
    ) -> None:
        """Prepare a piece.

        Args:
            lanes: type of the values in slots.
            new: returns a new name.
            uses: pairs of a step and a slot that it uses, in order.
            base: the pointer to slot 0.
        """
        self._lanes, self._new, self._base = lanes, new, base
        self._slots = 2 * REACH // lanes.bytes  # slots of a window
        self._uses: dict[int, list[int]] = {}  # steps that use a window, by window
        # Vectors of 64 bytes need no anchors: short offsets are multiples of their size.
        if lanes.short_offsets and lanes.bytes <= REACH // 4:
            for step, slot in uses:
                self._uses.setdefault(slot // self._slots, []).append(step)
        self._anchors: dict[int, tuple[int, str]] = {}  # last step and name, by window

    def pointer(self, name: str, slot: int, here: int) -> Iterator[str]:
        """Print the address of a slot, relative to an anchor if that is worthwhile."""
        vector, window = self._lanes.vector, slot // self._slots
        last_step, anchor = self._anchors.get(window, (-1, ""))
        middle = window * self._slots + self._slots // 2
        if here > last_step and self._is_worthwhile(window, here):
            address, anchor = self._new(), self._new()
            self._anchors[window] = last_step, _ = here + SOON, anchor
            yield f"  {address} = getelementptr {vector}, ptr {self._base}, i64 {middle}"
            yield f'  {anchor} = call ptr asm "", "=r,0"(ptr {address})'
        if here <= last_step:
            yield f"  {name} = getelementptr {vector}, ptr {anchor}, i64 {slot - middle}"
        else:
            yield f"  {name} = getelementptr {vector}, ptr {self._base}, i64 {slot}"

    def _is_worthwhile(self, window: int, here: int) -> bool:
        uses = self._uses.get(window, [])
        return bisect_left(uses, here + SOON) - bisect_left(uses, here) >= FEWEST_USES


class VectorArray:
    """An array of vectors in memory that a piece loads values from."""

    def __init__(
        self,
        indices: Mapping[int, int],
        lanes: VectorType,
        new: Callable[[], str],
        uses: Iterable[tuple[int, int]] = (),
        base: str = "%scratch",
    ) -> None:
        """Prepare a piece.

        Args:
            indices: indices of the values of earlier steps in the array, by step.
            lanes: type of the values.
            new: returns a new name.
            uses: pairs of a step and an index that it uses, in order.
            base: the pointer to the array.
        """
        self._slots, self._lanes, self._new = Slots(indices), lanes, new
        self._base = base
        self._anchors = Anchors(lanes, new, uses, base)

    def loads(self, used: Sequence[int], here: int, names: list[str]) -> Iterator[str]:
        """Print loads of values that are not in a register at step `here`, and rename them."""
        for step, index in self._slots.to_load(used, here):
            address, names[step] = self._new(), self._new()
            yield from self._anchors.pointer(address, index, here)
            yield f"  {names[step]} = load {self._lanes.vector}, ptr {address}"

    def has(self, step: int) -> bool:
        """Return whether the array has the value of a step."""
        return self._slots.index(step) is not None

    def load_once(self, step: int, name: str) -> Iterator[str]:
        """Print the load of a value under another name."""
        vector, address = self._lanes.vector, self._new()
        index = self._slots.index(step)
        yield f"  {address} = getelementptr {vector}, ptr {self._base}, i64 {index}"
        yield f"  {name} = load {vector}, ptr {address}"

    def store(self, step: int, index: int, name: str) -> Iterator[str]:
        """Print the store of the value of a step that a later piece uses."""
        address = self._new()
        yield from self._anchors.pointer(address, index, step)
        yield f"  store {self._lanes.vector} {name}, ptr {address}"
        self._slots.keep(step, index)

    def load_result(self, step: int, index: int, name: str) -> Iterator[str]:
        """Print the load of the value of a step that a loop has stored."""
        address = self._new()
        yield from self._anchors.pointer(address, index, step)
        yield f"  {name} = load {self._lanes.vector}, ptr {address}"
        self._slots.keep(step, index)


class Constants:
    """The table of the constants of a program."""

    def __init__(
        self, program: Program, lanes: VectorType, new: Callable[[], str], prefix: str = ""
    ) -> None:
        self._lanes, self._new, self._name = lanes, new, f"@{prefix}constants"
        used = {step for operands in program.operands for step in operands}
        values = {
            step: args[0]
            for step, (op, *args) in enumerate(program.steps)
            if op is Op.CONST and args[0] and step in used
        }
        self._texts = list(dict.fromkeys(map(lanes.constant, values.values())))
        indices = {text: index for index, text in enumerate(self._texts)}
        self._indices = {step: indices[lanes.constant(value)] for step, value in values.items()}
        if len(self._texts) < FEWEST_CONSTANTS:
            self._texts, self._indices = [], {}
        self._operands = program.operands

    @property
    def extra_parameter(self) -> str:
        """The parameter of each piece that points to the table."""
        return ", ptr %constants" if self._texts else ""

    def table(self) -> Iterator[str]:
        """Print the table."""
        if self._texts:
            vector = self._lanes.vector
            values = ", ".join(f"{vector} {text}" for text in self._texts)
            yield f"{self._name} = private constant [{len(self._texts)} x {vector}] [{values}]"

    def address(self) -> Iterator[str]:
        """Print the address of the table, at the start of the function."""
        if self._texts:
            yield f"  %constants = getelementptr i8, ptr {self._name}, i64 0"

    def of_piece(self, steps: range) -> VectorArray:
        """Return the table as an array for a piece with these steps."""
        uses = [
            (step, self._indices[value])
            for step in (steps if self._lanes.width == 1 else ())  # vectors are too far apart
            for value in self._operands[step]
            if value in self._indices
        ]
        return VectorArray(self._indices, self._lanes, self._new, uses, "%constants")
