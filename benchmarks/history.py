"""The figures that pages quote, of this measurement and of earlier ones.

A run writes everything that it measures to a file of its own in benchmarks/results, which is not
part of the repository. Of these, history.csv keeps the figures that pages and plots show: one line
for each figure, with the date and the commit of the measurement.

python benchmarks/history.py RESULTS.json          # add the figures of a run
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

HISTORY = Path(__file__).parent / "history.csv"
# Figures that are kept of each section, as the rows of its data name them.
KEPT = {
    "single": ("method", "pin"),
    "batch": ("out", "fresh", "pin"),
    "derivatives": ("one", "batch", "pin"),
    "tick": ("one", "batch", "pin"),
    "exported": ("C", "pin C++", "pin"),
    "rollout": ("samples", "horizon", "threads", "linkwork", "mujoco"),
    "startup": ("seconds",),
    "peers": ("seconds",),
    "grid": ("one core", "all cores"),
}
# Rows that are kept, where a section has more than pages show.
FUNCTIONS = ("rnea", "crba", "aba", "pose", "jacobian", "cmm")
STARTS = (
    "import numpy, median",
    "import linkwork, median, after importing numpy",
    "first inverse_dynamics, empty cache",
    "first inverse_dynamics, from the cache",
)
Figures = dict[str, dict[tuple[str, str], dict[str, Any]]]
"""Sections, then (robot, function), then the names of figures."""


@dataclass(frozen=True)
class Line:
    """One figure of one measurement; times are in seconds."""

    date: str
    commit: str
    section: str
    robot: str
    function: str
    figure: str
    value: str


def lines_of(results: dict[str, Any]) -> Iterator[Line]:
    """The lines to keep of the results of a run."""
    about = results["about"]
    when = about["date"], about["commit"]
    for name in ("processor", "processors", "Python", "linkwork"):
        yield Line(*when, "about", "", "", name, str(about[name]))
    for name, version in about["packages"].items():
        yield Line(*when, "about", "", "package", name, version)
    for section, figures in KEPT.items():
        for row in results["sections"].get(section, {}).get("data", ()):
            robot, function = row.get("robot", ""), row.get("function", row.get("what", ""))
            if not _is_kept(section, robot, function):
                continue
            for figure in figures:
                if figure in row:
                    name = row.get("library", figure)
                    yield Line(*when, section, robot, function, name, f"{row[figure]:.7g}")


def _is_kept(section: str, robot: str, function: str) -> bool:
    if section == "startup":
        return function in STARTS
    if section == "peers" and robot != "talos_reduced":
        return False
    return section not in ("single", "batch", "peers") or function in FUNCTIONS


def read(path: Path = HISTORY) -> list[Line]:
    """All lines, in the order in which they were measured."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Line(**row) for row in csv.DictReader(file)]


def add(results: dict[str, Any], path: Path = HISTORY) -> list[Line]:
    """Add the figures of a run; those of the same commit, date and section are replaced."""
    new = list(lines_of(results))
    replaced = {(line.date, line.commit, line.section) for line in new}
    old = read(path) if path.exists() else []
    lines = [line for line in old if (line.date, line.commit, line.section) not in replaced] + new
    lines.sort(key=lambda line: line.date)  # stable
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Line))
        writer.writerows(map(astuple, lines))
    return lines


def latest(lines: Iterable[Line]) -> Figures:
    """The figures of the last measurement of each section."""
    sections: dict[str, list[Line]] = {}
    for line in lines:
        kept = sections.setdefault(line.section, [])
        if kept and (kept[-1].date, kept[-1].commit) != (line.date, line.commit):
            kept.clear()
        kept.append(line)
    return {section: grouped(kept) for section, kept in sections.items()}


def grouped(lines: Iterable[Line]) -> dict[tuple[str, str], dict[str, Any]]:
    """Figures by robot and function."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines:
        value = line.value if line.section == "about" else float(line.value)
        rows.setdefault((line.robot, line.function), {})[line.figure] = value
    return rows


if __name__ == "__main__":
    add(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
