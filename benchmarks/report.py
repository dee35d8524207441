"""Tables and checks: the results of a section of the benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Table:
    """Rows of strings under a title."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """One more row."""
        self.rows.append([str(cell) for cell in cells])


@dataclass
class Check:
    """A measured figure and its target."""

    what: str
    value: float
    target: float
    at_most: bool = False  # whether less is better

    @property
    def passed(self) -> bool:
        """Whether the figure is good enough."""
        return self.value <= self.target if self.at_most else self.value >= self.target


@dataclass
class Section:
    """The results of one section of the benchmark."""

    title: str
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    data: list[dict[str, Any]] = field(default_factory=list)  # plain figures, for the plots

    def table(self, title: str, *columns: str) -> Table:
        """Begin a table."""
        self.tables.append(Table(title, list(columns)))
        return self.tables[-1]

    def check(self, what: str, value: float, target: float, *, at_most: bool = False) -> str:
        """Compare a figure with its target; returns "yes" or "NO" for a table."""
        self.checks.append(Check(what, float(value), target, at_most))
        return "yes" if self.checks[-1].passed else "NO"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {
            "checks": [asdict(check) | {"passed": check.passed} for check in self.checks]
        }


def markdown(section: dict[str, Any], level: int = 2) -> str:
    """A section, as of `Section.as_dict`, in Markdown with aligned columns."""
    lines = [f"{'#' * level} {section['title']}", ""]
    for table in section["tables"]:
        lines += [*([f"{table['title']}:", ""] if table["title"] else [])]
        lines += [*_aligned([table["columns"], *table["rows"]]), ""]
    lines += [f"- {note}" for note in section["notes"]]
    if section["checks"]:
        lines.append(f"- {verdict(section['checks'])}")
    return "\n".join([*lines, ""])


def verdict(checks: Sequence[dict[str, Any]]) -> str:
    """How many figures meet their targets, and which do not."""
    missed = [check for check in checks if not check["passed"]]
    text = f"{len(checks) - len(missed)} of {len(checks)} figures meet their targets"
    listed = "; ".join(
        f"{check['what']} {check['value']:.3g} "
        f"(target: at {'most' if check['at_most'] else 'least'} {check['target']:g})"
        for check in missed
    )
    return f"{text}. Not met: {listed}." if missed else f"{text}."


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
