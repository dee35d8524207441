"""Vectors in memory at addresses that take few bytes in an instruction: slots and constants.

A processor of the x86 family decodes 16 bytes a cycle. An instruction that reads memory at a
distance of up to 127 bytes from an address in a register takes six bytes, at any other distance
nine, and two of those are more than a cycle's worth. So where several slots close to each other are
used soon, an address between them, the anchor, is put into a register first. An empty piece of
assembly hides from LLVM how it was computed, which would else add up the distances.

LLVM puts each constant at an address of its own, of 64 bits, which takes an instruction of ten
bytes to load before each use. In a table, constants are at small distances from one address, which
stays in a register. A short program has its constants where they are used.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.codegen.schedule.pieces import Slots
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program

REACH = 128  # bytes before and after an anchor
SOON = 30  # steps after which an anchor is renewed: registers for addresses are few
FEWEST_USES = 3  # an anchor is made for this many uses within so many steps
FEWEST_CONSTANTS = 16  # a program with fewer constants has no table


class Anchors:
    """The anchors of a piece; each serves the slots of one window of 2 REACH bytes."""

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
            uses: steps and the slots that they use, in order.
            base: the pointer to slot 0.
        """
        self._lanes, self._new, self._base = lanes, new, base
        self._slots = 2 * REACH // lanes.bytes  # of a window
        self._uses: dict[int, list[int]] = {}  # by window: the steps that use it
        # vectors of 64 bytes have short distances that are multiples of their size
        if lanes.short_offsets and lanes.bytes <= REACH // 4:
            for step, slot in uses:
                self._uses.setdefault(slot // self._slots, []).append(step)
        self._anchors: dict[
            int, tuple[int, str]
        ] = {}  # by window: until when it is of use, its name

    def pointer(self, name: str, slot: int, here: int) -> Iterator[str]:
        """A pointer to a slot, by way of an anchor if that is worth it."""
        vector, window = self._lanes.vector, slot // self._slots
        until, anchor = self._anchors.get(window, (-1, ""))
        middle = window * self._slots + self._slots // 2
        if here > until and self._is_worth_it(window, here):
            at, anchor = self._new(), self._new()
            self._anchors[window] = until, _ = here + SOON, anchor
            yield f"  {at} = getelementptr {vector}, ptr {self._base}, i64 {middle}"
            yield f'  {anchor} = call ptr asm "", "=r,0"(ptr {at})'
        if here <= until:
            yield f"  {name} = getelementptr {vector}, ptr {anchor}, i64 {slot - middle}"
        else:
            yield f"  {name} = getelementptr {vector}, ptr {self._base}, i64 {slot}"

    def _is_worth_it(self, window: int, here: int) -> bool:
        uses = self._uses.get(window, [])
        return bisect_left(uses, here + SOON) - bisect_left(uses, here) >= FEWEST_USES


class VectorArray:
    """An array of vectors in memory, from which a piece loads values that are not in registers."""

    def __init__(
        self,
        places: Mapping[int, int],
        lanes: VectorType,
        new: Callable[[], str],
        uses: Iterable[tuple[int, int]] = (),
        base: str = "%scratch",
    ) -> None:
        """Prepare a piece.

        Args:
            places: where in the array the values of earlier steps are.
            lanes: type of the values.
            new: returns a new name.
            uses: steps and the places that they use, in order.
            base: the pointer to the array.
        """
        self._slots, self._lanes, self._new = Slots(places), lanes, new
        self._anchors = Anchors(lanes, new, uses, base)

    def loads(self, used: Sequence[int], here: int, names: list[str]) -> Iterator[str]:
        """Load those of some values that are not in a register at a step, and rename them."""
        for step, place in self._slots.to_load(used, here):
            at, names[step] = self._new(), self._new()
            yield from self._anchors.pointer(at, place, here)
            yield f"  {names[step]} = load {self._lanes.vector}, ptr {at}"

    def store(self, step: int, place: int, name: str) -> Iterator[str]:
        """Store the value of a step that a later piece uses."""
        at = self._new()
        yield from self._anchors.pointer(at, place, step)
        yield f"  store {self._lanes.vector} {name}, ptr {at}"
        self._slots.keep(step, place)

    def load_result(self, step: int, place: int, name: str) -> Iterator[str]:
        """Load the value of a step that is in memory already."""
        at = self._new()
        yield from self._anchors.pointer(at, place, step)
        yield f"  {name} = load {self._lanes.vector}, ptr {at}"
        self._slots.keep(step, place)


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
        places = {text: place for place, text in enumerate(self._texts)}
        self._places = {step: places[lanes.constant(value)] for step, value in values.items()}
        if len(self._texts) < FEWEST_CONSTANTS:
            self._texts, self._places = [], {}
        self._operands = program.operands

    @property
    def extra_parameter(self) -> str:
        """The argument of each piece: the address of the table."""
        return ", ptr %constants" if self._texts else ""

    def table(self) -> Iterator[str]:
        """The table itself."""
        if self._texts:
            vector = self._lanes.vector
            values = ", ".join(f"{vector} {text}" for text in self._texts)
            yield f"{self._name} = private constant [{len(self._texts)} x {vector}] [{values}]"

    def address(self) -> Iterator[str]:
        """At the start of the function: the address of the table."""
        if self._texts:
            yield f"  %constants = getelementptr i8, ptr {self._name}, i64 0"

    def of_piece(self, steps: range) -> VectorArray:
        """The table, from which a piece with these steps loads."""
        uses = [
            (step, self._places[value])
            for step in (steps if self._lanes.width == 1 else ())  # else few are close together
            for value in self._operands[step]
            if value in self._places
        ]
        return VectorArray(self._places, self._lanes, self._new, uses, "%constants")
