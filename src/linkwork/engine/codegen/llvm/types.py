"""Vectors of all lanes in LLVM IR: their type, constants, and transposition."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from linkwork.engine.codegen.lanes import Lanes


@dataclass(frozen=True, slots=True)
class VectorType(Lanes):
    """The type of one value for all lanes; a scalar if there is one lane."""

    @property
    def vector(self) -> str:
        """The LLVM type of one value for all lanes."""
        return self.scalar if self.width == 1 else f"<{self.width} x {self.scalar}>"

    @property
    def suffix(self) -> str:
        """The suffix of the names of LLVM intrinsics for this type."""
        bits = "f64" if self.scalar == "double" else "f32"
        return bits if self.width == 1 else f"v{self.width}{bits}"

    @property
    def frame(self) -> str:
        """The attribute that aligns the stack frame of a function with vectors to a cache line.

        Without it, LLVM decides too late to align the frame, and spills vectors to addresses that
        depend on the caller. Many of them then cross cache lines in some processes, since the stack
        starts at a random address.
        """
        return "" if self.width == 1 else " alignstack(64)"

    def constant(self, value: float) -> str:
        """Print a constant, with the same value in all lanes."""
        text = number(value, self.scalar)
        if self.width == 1:
            return text
        return "<" + ", ".join([f"{self.scalar} {text}"] * self.width) + ">"

    def is_any(self, value: str, name: str) -> Iterator[str]:
        """Print whether a value is not 0 in some lane."""
        zero = self.constant(0.0)
        if self.width == 1:
            yield f"  {name} = fcmp une {self.vector} {value}, {zero}"
            return
        yield f"  {name}.of = fcmp une {self.vector} {value}, {zero}"
        yield f"  {name}.bits = bitcast <{self.width} x i1> {name}.of to i{self.width}"
        yield f"  {name} = icmp ne i{self.width} {name}.bits, 0"

    def transposed(self, rows: list[str], new: Callable[[], str]) -> tuple[list[str], list[str]]:
        """Transpose a W x W block of registers, or W / N adjacent N x N blocks.

        Args:
            rows: names of W vectors, or of N vectors, each of which has a row of W / N blocks.
            new: returns a new name.

        Returns:
            The names of the column vectors, and the lines that compute them.
        """
        lines: list[str] = []
        block = 1
        while block < len(rows):
            each = range(self.width)
            low = [k if not k & block else self.width + k - block for k in each]
            high = [k + block if not k & block else self.width + k for k in each]
            columns = list(rows)
            for k in range(len(rows)):
                if not k & block:
                    for target, mask in ((k, low), (k + block, high)):
                        columns[target] = new()
                        picks = ", ".join(f"i32 {lane}" for lane in mask)
                        lines.append(
                            f"  {columns[target]} = shufflevector {self.vector} {rows[k]}, "
                            f"{self.vector} {rows[k + block]}, <{self.width} x i32> <{picks}>"
                        )
            rows = columns
            block *= 2
        return rows, lines

    def joined(self, parts: list[str], new: Callable[[], str]) -> tuple[str, list[str]]:
        """Concatenate vectors of less than W elements to one of W: its name, and the lines."""
        lines: list[str] = []
        while len(parts) > 1:
            size = self.width // len(parts)
            kind = f"<{size} x {self.scalar}>"
            picks = ", ".join(f"i32 {k}" for k in range(2 * size))
            wider: list[str] = []
            for first, second in zip(parts[::2], parts[1::2], strict=True):
                wider.append(new())
                mask = f"<{2 * size} x i32> <{picks}>"
                lines.append(
                    f"  {wider[-1]} = shufflevector {kind} {first}, {kind} {second}, {mask}"
                )
            parts = wider
        return parts[0], lines


def number(value: float, scalar: str) -> str:
    """Print an LLVM literal: the bits of a double, rounded to the type."""
    if scalar == "float":
        try:
            value = struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:  # too large for the type
            value = math.copysign(math.inf, value)
    return "0x" + struct.pack(">d", value).hex().upper()
