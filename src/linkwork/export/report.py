"""What was found about an export when it was compiled and checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One C function. What needs a compiler is None where there is none."""

    name: str
    operations: int
    work_bytes: int  # in the workspace of the caller
    stack_bytes: int | None = None  # of the function and its deepest part, without libm
    object_bytes: int | None = None  # of the object file
    difference: float | None = None  # largest one from the kernel, relative to the largest number
    allowed: float | None = None  # 1e-13 or 1e-5, more where the result is sensitive to rounding
    corrected: int = 0  # steps of single precision whose roundings are corrected


@dataclass(frozen=True, slots=True)
class Report:
    """All functions of an export, and how they were compiled."""

    folder: Path
    files: tuple[str, ...]
    rows: tuple[Row, ...]
    compiler: str | None  # its name, version and options; None where there is none
    note: str = ""  # what could not be done

    @property
    def columns(self) -> tuple[str, ...]:
        """Heads of the table; that of corrections only if there are some."""
        corrected = ("corrected",) if self._is_corrected else ()
        sizes = ("work [B]", "stack [B]", "object [B]")
        return ("function", "operations", *corrected, *sizes, "difference", "allowed")

    @property
    def _is_corrected(self) -> bool:
        return any(row.corrected for row in self.rows)

    def cells(self) -> Iterator[tuple[str, ...]]:
        """The rows as texts."""
        for row in self.rows:
            corrected = (row.corrected,) if self._is_corrected else ()
            sizes = (row.work_bytes, row.stack_bytes, row.object_bytes)
            numbers = (row.operations, *corrected, *sizes)
            texts = ("-" if number is None else f"{number:,}" for number in numbers)
            apart = (row.difference, row.allowed)
            yield row.name, *texts, *("-" if one is None else f"{one:.0e}" for one in apart)

    def told(self) -> str:
        """How it was checked, in a sentence."""
        if self.compiler is None:
            return f"Not compiled and not checked: {self.note}."
        text = "differences from linkwork's own results are relative to the largest number of each"
        return f"Compiled by {self.compiler}; {text}."

    def markdown(self) -> str:
        """A table for the README."""
        lines = [self.told(), "", f"| {' | '.join(self.columns)} |"]
        lines.append("|---" + "|---:" * (len(self.columns) - 1) + "|")
        lines += [f"| `{cells[0]}` | {' | '.join(cells[1:])} |" for cells in self.cells()]
        return "\n".join(lines)
