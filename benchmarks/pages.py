"""The figures that pages quote, taken from history.csv.

python benchmarks/pages.py                         # write them into the pages

The text of a page between `<!-- results: NAME -->` and `<!-- end of results -->` is written by the
function of that name below, from the last measurement; a test compares the pages with the history.
Where the history lacks a section, its figures stay as they are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from history import Figures, latest, read

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "docs" / "performance.md")
MARK = re.compile(r"(<!-- results: (\w+) -->\n\n)(.*?)(\n\n<!-- end of results -->)", re.DOTALL)
TITLES = {
    "rnea": "RNEA",
    "crba": "CRBA",
    "aba": "ABA",
    "pose": "pose",
    "jacobian": "Jacobian",
    "cmm": "CMM",
}
STARTS = {
    "import numpy, median": "`import numpy`",
    "import linkwork, median, after importing numpy": "`import linkwork` after it",
    "first inverse_dynamics, empty cache": "first RNEA of talos, nothing in the cache",
    "first inverse_dynamics, from the cache": "first RNEA of talos, from the cache",
}


class NotMeasuredError(LookupError):
    """The history has no such section."""


def written(text: str, figures: Figures) -> str:
    """A page with the latest figures."""

    def replacement(match: re.Match[str]) -> str:
        try:
            return match[1] + FIGURES[match[2]](figures) + match[4]
        except NotMeasuredError:
            return match[0]

    return MARK.sub(replacement, text)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    header = list(header)
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def span(values: Iterable[float]) -> str:
    """The least and the greatest of some ratios, to two digits."""
    values = list(values)
    return f"{_two(min(values))} to {_two(max(values))}"


def _two(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def _rows(figures: Figures, section: str) -> dict[tuple[str, str], dict[str, Any]]:
    if section not in figures:
        raise NotMeasuredError(section)
    return figures[section]


def about(figures: Figures) -> str:
    """The processor and the versions of the packages."""
    facts = _rows(figures, "about")
    versions = ", ".join(f"{name} {version}" for name, version in facts["", "package"].items())
    machine = facts["", ""]
    return (
        f"{machine['processor']}, {machine['processors']} processors, Python {machine['Python']}, "
        f"linkwork {machine['linkwork']}, {versions}."
    )


def ratios(figures: Figures) -> str:
    """How many times faster than Pinocchio from Python, over the five robots."""
    lines = []
    for label, section, key in (
        ("methods of `KinDyn`, one call at a time", "single", "method"),
        ("batch of 4,096, per row, fresh output", "batch", "fresh"),
    ):
        rows = _rows(figures, section)
        cells = [_times_faster(rows, function, key) for function in TITLES]
        lines.append([label, *cells])
    return table(["times faster than Pinocchio", *TITLES.values()], lines)


def derivative_ratios(figures: Figures) -> str:
    """The same for derivatives of the dynamics, as a sentence."""
    rows = _rows(figures, "derivatives")
    parts = []
    for name in ("inverse", "forward"):
        function = f"{name}_dynamics_derivatives"
        one, many = (_times_faster(rows, function, key) for key in ("one", "batch"))
        parts.append(f"of {name} dynamics {one} times (in batches {many})")
    return f"Derivatives {', '.join(parts)}."


def _times_faster(rows: dict[tuple[str, str], dict[str, Any]], function: str, key: str) -> str:
    return span(row["pin"] / row[key] for (_, name), row in rows.items() if name == function)


def single(figures: Figures) -> str:
    """Microseconds of one call, of linkwork and of Pinocchio."""
    return _against(figures, "single", "method", 2)


def batch(figures: Figures) -> str:
    """Microseconds per row of a batch with a reused output."""
    return _against(figures, "batch", "out", 3)


def _against(figures: Figures, section: str, key: str, digits: int) -> str:
    rows = _rows(figures, section)
    lines = []
    for robot in dict.fromkeys(robot for robot, _ in rows):
        cells = [rows[robot, function] for function in TITLES]
        texts = [f"{c[key] * 1e6:.{digits}f} / {c['pin'] * 1e6:.{digits}f}" for c in cells]
        lines.append([robot, *texts])
    return table(["linkwork / Pinocchio", *TITLES.values()], lines)


def peers(figures: Figures) -> str:
    """Microseconds of one call on talos, all libraries."""
    rows = _rows(figures, "peers")
    libraries = dict.fromkeys(library for row in rows.values() for library in row)
    lines = [
        [library, *[_microseconds(rows["talos_reduced", name].get(library)) for name in TITLES]]
        for library in libraries
    ]
    return table(["library", *TITLES.values()], lines)


def _microseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    value = seconds * 1e6
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.2f}"


def tick(figures: Figures) -> str:
    """Microseconds of a controller's tick."""
    lines = [
        [
            robot,
            *[f"{row[key] * 1e6:.2f}" for key in ("one", "batch", "pin")],
            f"{row['pin'] / row['one']:.1f}",
        ]
        for (robot, _), row in _rows(figures, "tick").items()
    ]
    return table(["", "linkwork", "per row of a batch", "Pinocchio", "times faster"], lines)


def derivatives(figures: Figures) -> str:
    """Microseconds of derivatives of the dynamics."""
    lines = [
        [
            robot,
            function.replace("_", " "),
            *[f"{row[key] * 1e6:.2f}" for key in ("one", "batch", "pin")],
        ]
        for (robot, function), row in _rows(figures, "derivatives").items()
    ]
    return table(["robot", "what", "linkwork", "per row of a batch", "Pinocchio"], lines)


def exported(figures: Figures) -> str:
    """Microseconds of exported C."""
    lines = [
        [
            function.replace("rnea", "RNEA").replace("crba", "CRBA").replace("aba", "ABA"),
            *[f"{row[key] * 1e6:.2f}" for key in ("C", "pin C++", "pin")],
        ]
        for (_, function), row in _rows(figures, "exported").items()
    ]
    return table(["talos, free base", "exported C", "Pinocchio in C++", "from Python"], lines)


def rollout(figures: Figures) -> str:
    """Rollouts, against MuJoCo, as a sentence."""
    row = _rows(figures, "rollout")["", ""]
    return (
        f"{row['samples']:,.0f} rollouts of anymal, {row['horizon']:.0f} steps each, without "
        f"contacts, on {row['threads']:.0f} threads: {row['linkwork'] * 1e3:.1f} ms; "
        f"`mujoco.rollout` with contacts switched off, {row['mujoco'] * 1e3:.0f} ms."
    )


def starts(figures: Figures) -> str:
    """Seconds until a result is available."""
    rows = _rows(figures, "startup")
    lines = [[text, f"{rows['', name]['seconds']:.3f}"] for name, text in STARTS.items()]
    return table(["", "seconds"], lines)


FIGURES: dict[str, Callable[[Figures], str]] = {
    function.__name__: function
    for function in (
        about,
        ratios,
        derivative_ratios,
        single,
        batch,
        peers,
        tick,
        derivatives,
        exported,
        rollout,
        starts,
    )
}


def write_pages(figures: Figures) -> None:
    """Put the figures into all pages that quote them."""
    for page in PAGES:
        page.write_text(written(page.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    write_pages(latest(read()))
