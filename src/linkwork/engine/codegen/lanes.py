"""How many rows code computes at a time, and in which type: what schedules and printers share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lanes:
    """The number of lanes, which is W in comments, and the type of a number."""

    width: int = 1
    scalar: str = "double"  # or "float": the name in C and in LLVM IR
    # Whether instructions take fewer bytes for memory close to an address in a register, as on x86.
    short_offsets: bool = False

    @property
    def item(self) -> int:
        """Bytes of one number."""
        return 8 if self.scalar == "double" else 4

    @property
    def bytes(self) -> int:
        """Bytes of one value for all lanes."""
        return self.width * self.item
