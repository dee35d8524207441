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
    allowed: float | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All functions of an export, and how they were compiled."""

    folder: Path
    files: tuple[str, ...]
    rows: tuple[Row, ...]
    compiler: str | None  # its name, version and options; None where there is none
    note: str = ""  # what could not be done

    columns = ("function", "operations", "work [B]", "stack [B]", "object [B]", "difference")

    def cells(self) -> Iterator[tuple[str, ...]]:
        """The rows as texts."""
        for row in self.rows:
            numbers = (row.operations, row.work_bytes, row.stack_bytes, row.object_bytes)
            texts = ("-" if number is None else f"{number:,}" for number in numbers)
            worst = "-" if row.difference is None else f"{row.difference:.0e}"
            yield row.name, *texts, worst

    def told(self) -> str:
        """How it was checked, in a sentence."""
        if self.compiler is None:
            return f"Not compiled and not checked: {self.note}."
        return f"Compiled by {self.compiler}; compared with linkwork's own results."

    def markdown(self) -> str:
        """A table for the README."""
        lines = [self.told(), "", f"| {' | '.join(self.columns)} |"]
        lines.append("|---" + "|---:" * (len(self.columns) - 1) + "|")
        lines += [f"| `{cells[0]}` | {' | '.join(cells[1:])} |" for cells in self.cells()]
        return "\n".join(lines)
