"""Values at known places of memory, and whether they are in a register too.

A value is loaded where it is used. If it was loaded at the start of the piece, and if nothing used
it for long, its register would be spilled to the stack, only to be loaded again: for long programs,
a third of all instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

# A value that was not used for this many steps is loaded again.
NEARBY_STEPS = 40


class Slots:
    """The slots of values during a piece, and how long ago each value was in a register."""

    def __init__(self, slots: Mapping[int, int]) -> None:
        """Begin a piece with the slots of values that were stored before it, by step."""
        self._slots = dict(slots)
        self._last_use: dict[int, int] = {}  # by step

    def to_load(self, used: Sequence[int], here: int) -> Iterator[tuple[int, int]]:
        """Those of the values used at a step that have to be loaded, with their slots."""
        for step in used:
            if step in self._slots:
                if here - self._last_use.get(step, here - NEARBY_STEPS) >= NEARBY_STEPS:
                    yield step, self._slots[step]
                self._last_use[step] = here

    def keep(self, step: int, slot: int) -> None:
        """Note that the value of a step, still in its register, is also in a slot."""
        self._slots[step], self._last_use[step] = slot, step
