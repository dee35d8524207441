"""Values that are passed between the pieces of a program, in slots of the workspace.

A value is loaded where it is used. If it was loaded at the start of the piece, and if nothing used
it for long, its register would be spilled to the stack, only to be loaded again: for long programs,
a third of all instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from linkwork.engine.codegen.llvm.anchors import Anchors
from linkwork.engine.codegen.llvm.lanes import Lanes

# A value that was not used for this many steps is loaded from its slot again.
NEARBY_STEPS = 40


class Slots:
    """The slots of values during a piece, and how long ago each value was in a register."""

    def __init__(
        self,
        fetched: Mapping[int, int],
        lanes: Lanes,
        new: Callable[[], str],
        uses: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Prepare a piece.

        Args:
            fetched: the slots of values that earlier pieces have stored, by step.
            lanes: type of the values.
            new: gives a new name.
            uses: steps and the slots that they use, in order.
        """
        self._slots = dict(fetched)  # by step
        self._lanes, self._new = lanes, new
        self._last_use: dict[int, int] = {}  # by step
        self._anchors = Anchors(lanes, new, uses)

    def loads(self, used: Sequence[int], here: int, names: list[str]) -> Iterator[str]:
        """Load those of some values that are not in a register at a step, and name them anew."""
        for step in used:
            if step in self._slots:
                if here - self._last_use.get(step, here - NEARBY_STEPS) >= NEARBY_STEPS:
                    at, names[step] = self._new(), self._new()
                    yield from self._anchors.pointer(at, self._slots[step], here)
                    yield f"  {names[step]} = load {self._lanes.vector}, ptr {at}"
                self._last_use[step] = here

    def store(self, step: int, slot: int, name: str) -> Iterator[str]:
        """Store the value of a step that a later piece uses."""
        at = self._new()
        yield from self._anchors.pointer(at, slot, step)
        yield f"  store {self._lanes.vector} {name}, ptr {at}"
        self._slots[step], self._last_use[step] = slot, step
