"""Addresses of slots that take few bytes in an instruction of x86.

A processor decodes 16 bytes a cycle. An instruction that reads memory at a distance of up to 127
bytes from an address in a register takes six bytes, at any other distance nine, and two of those
are more than a cycle's worth. So where several slots close to each other are used soon, an address
between them, the anchor, is put into a register first. An empty piece of assembly hides from LLVM
how it was made, which would else add up the distances.
"""

from __future__ import annotations

import platform
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator

from linkwork.engine.codegen.llvm.lanes import Lanes

REACH = 128  # bytes before and after an anchor
SOON = 30  # steps after which an anchor is made anew: registers for addresses are few
FEWEST_USES = 3  # an anchor is made for this many uses within so many steps


class Anchors:
    """The anchors of a piece; each serves the slots of one window of 2 REACH bytes."""

    def __init__(
        self,
        lanes: Lanes,
        new: Callable[[], str],
        uses: Iterable[tuple[int, int]],
        base: str = "%scratch",
    ) -> None:
        """Prepare a piece.

        Args:
            lanes: type of the values in slots.
            new: gives a new name.
            uses: steps and the slots that they use, in order.
            base: the pointer to slot 0.
        """
        self._lanes, self._new, self._base = lanes, new, base
        self._slots = 2 * REACH // lanes.bytes  # of a window
        self._uses: dict[int, list[int]] = {}  # by window: the steps that use it
        # vectors of 64 bytes have short distances that are multiples of their size
        if platform.machine().lower() in ("x86_64", "amd64") and lanes.bytes <= REACH // 4:
            for step, slot in uses:
                self._uses.setdefault(slot // self._slots, []).append(step)
        self._made: dict[int, tuple[int, str]] = {}  # by window: until when it is of use, its name

    def pointer(self, name: str, slot: int, here: int) -> Iterator[str]:
        """A pointer to a slot, by way of an anchor if that is worth it."""
        vector, window = self._lanes.vector, slot // self._slots
        until, anchor = self._made.get(window, (-1, ""))
        middle = window * self._slots + self._slots // 2
        if here > until and self._is_worth_it(window, here):
            at, anchor = self._new(), self._new()
            self._made[window] = until, _ = here + SOON, anchor
            yield f"  {at} = getelementptr {vector}, ptr {self._base}, i64 {middle}"
            yield f'  {anchor} = call ptr asm "", "=r,0"(ptr {at})'
        if here <= until:
            yield f"  {name} = getelementptr {vector}, ptr {anchor}, i64 {slot - middle}"
        else:
            yield f"  {name} = getelementptr {vector}, ptr {self._base}, i64 {slot}"

    def _is_worth_it(self, window: int, here: int) -> bool:
        uses = self._uses.get(window, [])
        return bisect_left(uses, here + SOON) - bisect_left(uses, here) >= FEWEST_USES
