"""Results of compiling and checking an export."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One C function. Values that need a compiler are None if there is none."""

    name: str
    operations: int
    work_bytes: int  # size of the workspace that the caller passes
    stack_bytes: int | None = None  # of the function and its deepest part, without libm
    object_bytes: int | None = None  # of the object file
    difference: float | None = None  # largest difference from the kernel, relative to the result
    allowed: float | None = None  # 1e-13 or 1e-5, more where the result is sensitive to rounding
    corrected: int = 0  # steps in single precision whose rounding errors are corrected


@dataclass(frozen=True, slots=True)
class Report:
    """All functions of an export, and how they were compiled."""

    folder: Path
    files: tuple[str, ...]
    rows: tuple[Row, ...]
    compiler: str | None  # its name, version and options; None if there is none
    note: str = ""  # why the code was not checked

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings of the table; "corrected" only if a function has corrections."""
        corrected = ("corrected",) if self._is_corrected else ()
        sizes = ("work [B]", "stack [B]", "object [B]")
        return ("function", "operations", *corrected, *sizes, "difference", "allowed")

    @property
    def _is_corrected(self) -> bool:
        return any(row.corrected for row in self.rows)

    def cells(self) -> Iterator[tuple[str, ...]]:
        """Format the rows of the table."""
        for row in self.rows:
            corrected = (row.corrected,) if self._is_corrected else ()
            sizes = (row.work_bytes, row.stack_bytes, row.object_bytes)
            counts = (row.operations, *corrected, *sizes)
            formatted = ("-" if count is None else f"{count:,}" for count in counts)
            errors = (row.difference, row.allowed)
            yield row.name, *formatted, *("-" if e is None else f"{e:.0e}" for e in errors)

    def summary(self) -> str:
        """Return a sentence that states how the code was checked."""
        """How it was checked, in a sentence."""
        if self.compiler is None:
            return f"Not compiled and not checked: {self.note}."
        meaning = "differences from linkwork's results are relative to the largest element of each"
        return f"Compiled by {self.compiler}; {meaning}."

    def markdown(self) -> str:
        """Return a table for the README."""
        lines = [self.summary(), "", f"| {' | '.join(self.columns)} |"]
        lines.append("|---" + "|---:" * (len(self.columns) - 1) + "|")
        lines += [f"| `{cells[0]}` | {' | '.join(cells[1:])} |" for cells in self.cells()]
        return "\n".join(lines)
