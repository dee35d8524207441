"""Colours of the pictures on light and on dark pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "images"


@dataclass(frozen=True)
class Theme:
    """A set of colours that can be told apart, also by those who see few."""

    ending: str  # of the names of files
    text: str
    faint: str
    fill: str  # of boxes
    blue: str
    orange: str
    green: str
    red: str


LIGHT = Theme("", "#20242c", "#9aa0ac", "#eef1f6", "#3656c9", "#cf6a0c", "#0b7a55", "#c0392b")
DARK = Theme("_dark", "#dfe2e9", "#737a88", "#2a2f3b", "#8ea6ff", "#ffa94d", "#4fd1a1", "#ff8a75")


def draw_both(name: str, draw: Callable[[Theme], Any], **options: Any) -> None:
    """Draw a figure for light and dark pages, with nothing behind it."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    suffix = options.pop("suffix", "svg")
    for theme in (LIGHT, DARK):
        style = {
            "svg.hashsalt": name,  # the same ids, whenever it is drawn
            "svg.fonttype": "path",
            "font.size": 10,
            "text.color": theme.text,
            "axes.edgecolor": theme.faint,
            "axes.labelcolor": theme.text,
            "xtick.color": theme.text,
            "ytick.color": theme.text,
            "axes.facecolor": "none",
        }
        with mpl.rc_context(style):
            figure = draw(theme)
            path = FOLDER / f"{name}{theme.ending}.{suffix}"
            metadata = {"Date": None} if suffix == "svg" else None
            figure.savefig(
                path, transparent=True, bbox_inches="tight", metadata=metadata, **options
            )
            plt.close(figure)
            print(f"{path.name}: {path.stat().st_size // 1024} KB")
