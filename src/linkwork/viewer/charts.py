"""Charts as HTML and SVG: forces as bars, small tables.

Names come from files, so every string is escaped before it becomes part of a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.viewer.drawing import hexadecimal, load_colors

WIDTH = 300  # of a chart [pixels]
ROW = 16  # height of a bar with its label [pixels]
MOST_LETTERS = 20  # of the label of a bar
KEPT = "white-space:pre"  # in one line


def shares_of(forces: Array, limits: Array) -> Array:
    """Divide each force by its limit, or by the largest force without a limit."""
    bounded = np.isfinite(limits) & (limits > 0)
    largest = float(np.abs(forces[~bounded]).max(initial=0.0))
    return forces / np.where(bounded, limits, max(largest, 1e-12))


def bar_chart(names: Sequence[str], forces: Array, limits: Array) -> str:
    """Return forces against their limits, as SVG.

    Args:
        names: of the joints' coordinates.
        forces: (n,) [N m] or [N].
        limits: (n,) largest force either way; infinite where there is none; the bar is then gray
            and drawn relative to the largest force without a limit.
    """
    shares, bounded = shares_of(forces, limits), np.isfinite(limits) & (limits > 0)
    colors = load_colors(shares)
    noise = 1e-9 * float(np.abs(forces).max(initial=0.0))
    forces = np.where(np.abs(forces) <= noise, 0.0, forces)
    middle, reach = WIDTH * 0.56, WIDTH * 0.17
    rows: list[str] = []
    for k, (name, force) in enumerate(zip(names, forces.tolist(), strict=True)):
        y = k * ROW + 2
        length = reach * min(abs(float(shares[k])), 1.0)
        x = middle if force >= 0 else middle - length
        color = hexadecimal(colors[k]) if bounded[k] else "#8a93a3"
        limit = f" / {limits[k]:.3g}" if bounded[k] else ""
        weight = ' font-weight="bold"' if bounded[k] and abs(shares[k]) > 1 else ""
        rows.append(
            f"<text x='0' y='{y + 10}'>{escape(_short(name))}<title>{escape(name)}</title></text>"
            f"<rect x='{x:.1f}' y='{y}' width='{length:.1f}' height='{ROW - 5}' fill='{color}'/>"
            f"<text x='{WIDTH}' y='{y + 10}' text-anchor='end'{weight}>{force:.3g}{limit}</text>"
        )
    height = max(len(rows), 1) * ROW + 4
    lines = "".join(
        f"<line x1='{x:.1f}' y1='0' x2='{x:.1f}' y2='{height}' stroke='currentColor'"
        f" stroke-opacity='{opacity}'/>"
        for x, opacity in ((middle, 0.5), (middle - reach, 0.2), (middle + reach, 0.2))
    )
    return _svg(WIDTH, height, 10, lines + "".join(rows))


def _svg(width: float, height: float, size: int, content: str) -> str:
    """Return a drawing as wide as the controls, in the color of their text."""
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' width='100%'"
        f" font-size='{size}' font-family='sans-serif' fill='currentColor'"
        f" style='padding:0 0.6em'>{content}</svg>"
    )


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Return two columns as HTML; strings are escaped."""
    cells = "".join(
        f"<tr><td style='padding-right:0.8em;{KEPT if right else ''}'>{escape(left)}</td>"
        f"<td style='font-family:monospace;{KEPT}'>{escape(right)}</td></tr>"
        for left, right in rows
    )
    return f"<table style='font-size:0.75em;border-spacing:0;margin:0.3em 0.7em'>{cells}</table>"


def listed_numbers(numbers: ArrayLike, digits: int = 4) -> str:
    """Return values of equal width, without signed zeros."""
    rounded = np.round(np.asarray(numbers, float), digits) + 0.0
    return " ".join(f"{number:{digits + 3}.{digits}f}" for number in rounded.ravel().tolist())


def _short(name: str, most: int = MOST_LETTERS) -> str:
    """Return a name that fits; names of joints differ mostly at their ends."""
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most - most // 2) :]}"
