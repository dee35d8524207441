"""The robot files that come with linkwork."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "robots"
CELL_FOLDER = FOLDER / "cells"
REAL_ROBOTS = "files of real robots: pip install robot_descriptions, or example-robot-data"


def bundled_names() -> tuple[str, ...]:
    """Names of the bundled robots."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.urdf")))


def bundled_cells() -> tuple[str, ...]:
    """Names of the bundled workcells."""
    return tuple(sorted(path.stem for path in CELL_FOLDER.glob("*.xml")))
