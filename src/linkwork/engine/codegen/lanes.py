"""The number of rows that code computes at a time, and the type of their elements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lanes:
    """The number of lanes, W in comments, and the type of an element."""

    width: int = 1
    scalar: str = "double"  # or "float": the name in C and in LLVM IR
    # Whether instructions are shorter for memory close to an address in a register, as on x86.
    short_offsets: bool = False
    # Whether a block of W rows is stored element by element: element k of row l at k W + l.
    columns: bool = False

    @property
    def item(self) -> int:
        """Bytes of one element."""
        return 8 if self.scalar == "double" else 4

    @property
    def bytes(self) -> int:
        """Bytes of one value for all lanes."""
        return self.width * self.item
