"""The robot files that come with linkwork, and advice to those who look for others."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "robots"
CELL_FOLDER = FOLDER / "cells"
REAL_ROBOTS = "files of real robots: pip install robot_descriptions, or example-robot-data"


def bundled_names() -> tuple[str, ...]:
    """Names of the bundled robots."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.urdf")))


def bundled_cells() -> tuple[str, ...]:
    """Names of the bundled workcells."""
    return tuple(sorted(path.stem for path in CELL_FOLDER.glob("*.xml")))


def bundled_hint(missing: str) -> str:
    """What to say, with its separator, to someone who named a file that does not exist.

    Someone who writes a bare word looks for a robot rather than for a file.
    """
    names = bundled_names()
    stem = missing.removesuffix(".urdf")
    if stem in names:
        return f"; the bundled robot is lw.robots.load({stem!r})"
    near = get_close_matches(stem[:60].lower(), names, n=1, cutoff=0.7)
    if near:
        return f"; did you mean the bundled robot {near[0]!r}?"
    if stem == missing and Path(missing).name == missing:
        return f"; bundled robots: {', '.join(names)}; {REAL_ROBOTS}"
    return ""
