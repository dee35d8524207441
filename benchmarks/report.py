"""Tables and verdicts: what a section of the benchmark hands back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Table:
    """Rows of texts under a title."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """One more row."""
        self.rows.append([str(cell) for cell in cells])


@dataclass
class Check:
    """A measured figure and what was wanted of it."""

    what: str
    value: float
    wanted: float
    at_most: bool = False  # whether less is better

    @property
    def passed(self) -> bool:
        """Whether the figure is good enough."""
        return self.value <= self.wanted if self.at_most else self.value >= self.wanted


@dataclass
class Section:
    """What one section of the benchmark found."""

    title: str
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    data: list[dict[str, Any]] = field(default_factory=list)  # plain figures, for the plots

    def table(self, title: str, *columns: str) -> Table:
        """Begin a table."""
        self.tables.append(Table(title, list(columns)))
        return self.tables[-1]

    def check(self, what: str, value: float, wanted: float, *, at_most: bool = False) -> str:
        """Compare a figure with what is wanted; gives "yes" or "NO" for a table."""
        self.checks.append(Check(what, value, wanted, at_most))
        return "yes" if self.checks[-1].passed else "NO"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {
            "checks": [asdict(check) | {"passed": check.passed} for check in self.checks]
        }


def markdown(section: dict[str, Any], level: int = 2) -> str:
    """A section, as `Section.as_dict` gives it, in Markdown that can also be read as it is."""
    lines = [f"{'#' * level} {section['title']}", ""]
    for table in section["tables"]:
        lines += [*([f"{table['title']}:", ""] if table["title"] else [])]
        lines += [*_aligned([table["columns"], *table["rows"]]), ""]
    lines += [f"- {note}" for note in section["notes"]]
    if section["checks"]:
        lines.append(f"- {verdict(section['checks'])}")
    return "\n".join([*lines, ""])


def verdict(checks: Sequence[dict[str, Any]]) -> str:
    """How many figures are as wanted, and which are not."""
    missed = [check for check in checks if not check["passed"]]
    text = f"{len(checks) - len(missed)} of {len(checks)} figures are as wanted"
    listed = "; ".join(
        f"{check['what']} {check['value']:.3g} "
        f"(wanted at {'most' if check['at_most'] else 'least'} {check['wanted']:g})"
        for check in missed
    )
    return f"{text}. Not yet: {listed}." if missed else f"{text}."


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table whose columns line up: the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| "
        + " | ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in rows
    ]
    rule = "|".join(
        ("-" * (width + 2)) if column == 0 else ("-" * (width + 1) + ":")
        for column, width in enumerate(widths)
    )
    return [lines[0], f"|{rule}|", *lines[1:]]
