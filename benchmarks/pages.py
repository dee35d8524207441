"""The figures that pages quote, taken from results.json.

python benchmarks/pages.py                         # write them into the pages

A page marks a place by `<!-- results: NAME -->` and `<!-- end of results -->`. What stands between
is written by the function of that name below, so that no page says what was not measured; a test
compares the pages with the results. Where the results lack a section, its figures stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
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
Results = dict[str, Any]


class NotMeasuredError(LookupError):
    """The results have no such section."""


def written(text: str, results: Results) -> str:
    """A page with its figures anew."""

    def anew(found: re.Match[str]) -> str:
        try:
            return found[1] + FIGURES[found[2]](results) + found[4]
        except NotMeasuredError:
            return found[0]

    return MARK.sub(anew, text)


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


def _rows(results: Results, section: str) -> list[dict[str, Any]]:
    if section not in results["sections"]:
        raise NotMeasuredError(section)
    return results["sections"][section]["data"]


def about(results: Results) -> str:
    """What was measured on what."""
    facts = results["about"]
    packages = ", ".join(f"{name} {found}" for name, found in facts["packages"].items())
    return (
        f"{facts['processor']}, {facts['processors']} processors, Python {facts['Python']}, "
        f"linkwork {facts['linkwork']}, {packages}."
    )


def ratios(results: Results) -> str:
    """How many times faster than Pinocchio from Python, over the five robots."""
    lines = []
    for label, section, key in (
        ("methods of `KinDyn`, one call at a time", "single", "method"),
        ("batch of 4,096, per row, fresh output", "batch", "fresh"),
    ):
        cells = [
            span(
                row["pin"] / row[key]
                for row in _rows(results, section)
                if row["function"] == function
            )
            for function in TITLES
        ]
        lines.append([label, *cells])
    return table(["times faster than Pinocchio", *TITLES.values()], lines)


def derivative_ratios(results: Results) -> str:
    """The same for derivatives of the dynamics, as a sentence."""
    parts = []
    for function, name in (("inverse", "inverse dynamics"), ("forward", "forward dynamics")):
        rows = [
            row
            for row in _rows(results, "derivatives")
            if row["function"] == f"{function}_dynamics_derivatives"
        ]
        one = span(row["pin"] / row["one"] for row in rows)
        many = span(row["pin"] / row["batch"] for row in rows)
        parts.append(f"of {name} {one} times (in batches {many})")
    return f"Derivatives {', '.join(parts)}."


def single(results: Results) -> str:
    """Microseconds of one call, of linkwork and of Pinocchio."""
    return _against(results, "single", "method", 2)


def batch(results: Results) -> str:
    """Microseconds per row of a batch with a reused output."""
    return _against(results, "batch", "out", 3)


def _against(results: Results, section: str, key: str, digits: int) -> str:
    rows = {(row["robot"], row["function"]): row for row in _rows(results, section)}
    robots = dict.fromkeys(robot for robot, _ in rows)
    lines = []
    for robot in robots:
        cells = [rows[robot, function] for function in TITLES]
        texts = [f"{c[key] * 1e6:.{digits}f} / {c['pin'] * 1e6:.{digits}f}" for c in cells]
        lines.append([robot, *texts])
    return table(["linkwork / Pinocchio", *TITLES.values()], lines)


def peers(results: Results) -> str:
    """Microseconds of one call on talos, all libraries."""
    rows = [row for row in _rows(results, "peers") if row["robot"] == "talos_reduced"]
    names = list(dict.fromkeys(row["library"] for row in rows))
    times = {(row["library"], row["function"]): row["seconds"] * 1e6 for row in rows}
    lines = [
        [name, *[_microseconds(times.get((name, function))) for function in TITLES]]
        for name in names
    ]
    return table(["library", *TITLES.values()], lines)


def _microseconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.2f}"


def tick(results: Results) -> str:
    """Microseconds of a controller's tick."""
    lines = [
        [
            row["robot"],
            *[f"{row[key] * 1e6:.2f}" for key in ("one", "batch", "pin")],
            f"{row['pin'] / row['one']:.1f}",
        ]
        for row in _rows(results, "tick")
    ]
    return table(["", "linkwork", "per row of a batch", "Pinocchio", "times faster"], lines)


def derivatives(results: Results) -> str:
    """Microseconds of derivatives of the dynamics."""
    lines = [
        [
            row["robot"],
            row["function"].replace("_", " "),
            *[f"{row[key] * 1e6:.2f}" for key in ("one", "batch", "pin")],
        ]
        for row in _rows(results, "derivatives")
    ]
    return table(["robot", "what", "linkwork", "per row of a batch", "Pinocchio"], lines)


def exported(results: Results) -> str:
    """Microseconds of exported C."""
    lines = [
        [
            row["function"].replace("rnea", "RNEA").replace("crba", "CRBA").replace("aba", "ABA"),
            *[f"{row[key] * 1e6:.2f}" for key in ("C", "pin C++", "pin")],
        ]
        for row in _rows(results, "exported")
    ]
    return table(["talos, free base", "exported C", "Pinocchio in C++", "from Python"], lines)


def rollout(results: Results) -> str:
    """Rollouts, against MuJoCo, as a sentence."""
    row = next(row for row in _rows(results, "rollout") if "mujoco" in row)
    return (
        f"{row['samples']:,} rollouts of anymal, {row['horizon']} steps each, without contacts, on "
        f"{row['threads']} threads: {row['linkwork'] * 1e3:.1f} ms; `mujoco.rollout` with contacts "
        f"switched off, {row['mujoco'] * 1e3:.0f} ms."
    )


def starts(results: Results) -> str:
    """Seconds until something is there."""
    rows = _rows(results, "startup")
    times = {row["what"]: row["seconds"] for row in rows if "seconds" in row}
    lines = [[text, f"{times[what]:.3f}"] for what, text in STARTS.items()]
    return table(["", "seconds"], lines)


FIGURES: dict[str, Callable[[Results], str]] = {
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


def write_pages(results: Results) -> None:
    """Put the figures into all pages that quote them."""
    for page in PAGES:
        page.write_text(written(page.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    write_pages(json.loads(RESULTS.read_text(encoding="utf-8")))
