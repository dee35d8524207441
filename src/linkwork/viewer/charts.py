"""Charts as HTML and SVG: matrices as images, forces as bars, small tables.

Names come from files, so every string is escaped before it becomes part of a page.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from math import floor, isfinite, log10
from struct import pack
from zlib import compress, crc32

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.viewer.colors import hexadecimal, load_colors, signed_colors

WIDTH = 300  # of a chart [pixels]
ROW = 16  # height of a bar with its label [pixels]
MOST_LETTERS = 20  # of the label of a bar
MOST_COLUMNS = 10  # of a matrix that is drawn with its values
STRONG = 150  # opacity of a color on which white letters are read best, 0 to 255
LEAST = 1e-300  # smaller values are written as 0
KEPT = "white-space:pre"  # in one line
PIXELS = "image-rendering:pixelated;outline:1px solid #8886"


def heat_map(
    matrix: ArrayLike, rows: Sequence[str] = (), columns: Sequence[str] = (), *, width: int = WIDTH
) -> str:
    """A matrix as a picture on a page: blue negative, clear zero, red positive.

    Up to ten columns, the values are written into it; else it is an image with a pixel per entry.

    Args:
        matrix: (rows, columns).
        rows: names of the rows, or none.
        columns: names of the columns, or none.
        width: of the picture [pixels].
    """
    numbers = np.atleast_2d(np.asarray(matrix, float))
    if not numbers.size:
        return ""
    if numbers.shape[1] <= MOST_COLUMNS:
        return _written_map(numbers, rows, columns, width)
    high, wide = numbers.shape
    data = b64encode(png(signed_colors(numbers))).decode()
    style = f"width:calc(100% - 1.2em);margin:0.3em 0.6em;aspect-ratio:{wide}/{high};{PIXELS}"
    return f"<img src='data:image/png;base64,{data}' style='{style}' alt='{high} x {wide} matrix'/>"


def _written_map(numbers: Array, rows: Sequence[str], columns: Sequence[str], width: int) -> str:
    """A small matrix as SVG, with its values and names, and a tooltip with both."""
    high, wide = numbers.shape
    left, top = _room_for(rows), _room_for(columns)
    cell = (width - left) / max(wide, 6)
    across, down = cell, min(cell, 24.0)
    exponent, digits = _decimals(numbers)
    drawn = [
        f"<text x='{left - 4:.1f}' y='{top + (i + 0.5) * down + 3:.1f}' text-anchor='end'>"
        f"{escape(_short(name, 14))}</text>"
        for i, name in enumerate(rows)
    ]
    drawn += [
        f"<text transform='translate({left + (j + 0.5) * across + 3:.1f},{top - 4:.1f})"
        " rotate(-90)'>"
        f"{escape(_short(name, 14))}</text>"
        for j, name in enumerate(columns)
    ]
    colors = signed_colors(numbers)
    for i, j in np.ndindex(high, wide):
        x, y, value = left + j * across, top + i * down, float(numbers[i, j])
        *rgb, alpha = colors[i, j].tolist()
        names = [*rows[i : i + 1], *(columns or rows)[j : j + 1]]
        ink = "#fff" if alpha > STRONG else "currentColor"
        drawn.append(
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{across:.1f}' height='{down:.1f}'"
            f" fill='{hexadecimal(rgb)}' fill-opacity='{alpha / 255:.3f}'>"
            f"<title>{escape(', '.join(names))}: {value:.6g}</title></rect>"
            f"<text x='{x + across / 2:.1f}' y='{y + down / 2 + 3:.1f}' text-anchor='middle'"
            f" fill='{ink}' pointer-events='none'>{_entry(value, exponent, digits)}</text>"
        )
    height = top + high * down + (12 if exponent else 1)
    if exponent:
        drawn.append(
            f"<text x='{width}' y='{height - 2:.1f}' text-anchor='end'>x 1e{exponent}</text>"
        )
    frame = (
        f"<rect x='{left:.1f}' y='{top:.1f}' width='{wide * across:.1f}' height='{high * down:.1f}'"
        " fill='none' stroke='currentColor' stroke-opacity='0.25'/>"
    )
    return _svg(width, height, 8, "".join([*drawn, frame]))


def _room_for(names: Sequence[str]) -> float:
    """Space for the names of rows or columns [pixels]."""
    return 4.5 * max((len(_short(name, 14)) for name in names), default=-2) + 9


def _decimals(numbers: Array) -> tuple[int, int]:
    """A common exponent, 0 for usual sizes, and digits after the point: three in the largest."""
    largest = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))
    size = floor(log10(largest)) if largest > LEAST else 0
    exponent = 0 if -2 <= size <= 3 else size
    return exponent, max(0, 2 - (size - exponent))


def _entry(value: float, exponent: int, digits: int) -> str:
    """An entry of a matrix, short: 0 if it rounds to zero."""
    if not isfinite(value):
        return str(value)
    rounded = round(value / 10.0**exponent, digits)
    return f"{rounded:.{digits}f}" if rounded else "0"


def png(image: Array) -> bytes:
    """An image (height, width, 4) of uint8, red, green, blue, opacity, as a PNG file."""
    height, width, _ = image.shape
    lines = np.zeros((height, 1 + 4 * width), dtype=np.uint8)  # each begins with its filter, none
    lines[:, 1:] = image.reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))

    header = pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)  # 8 bits, RGBA
    body = chunk(b"IHDR", header) + chunk(b"IDAT", compress(lines.tobytes(), 1))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


def shares_of(forces: Array, limits: Array) -> Array:
    """Each force divided by its limit; where there is no limit, by the largest force of those."""
    bounded = np.isfinite(limits) & (limits > 0)
    largest = float(np.abs(forces[~bounded]).max(initial=0.0))
    return forces / np.where(bounded, limits, max(largest, 1e-12))


def bar_chart(names: Sequence[str], forces: Array, limits: Array) -> str:
    """Forces against their limits, as SVG.

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
    """A drawing as wide as the controls, in the color of their text."""
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' width='100%'"
        f" font-size='{size}' font-family='sans-serif' fill='currentColor'"
        f" style='padding:0 0.6em'>{content}</svg>"
    )


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Two columns as HTML; strings are escaped."""
    cells = "".join(
        f"<tr><td style='padding-right:0.8em;{KEPT if right else ''}'>{escape(left)}</td>"
        f"<td style='font-family:monospace;{KEPT}'>{escape(right)}</td></tr>"
        for left, right in rows
    )
    return f"<table style='font-size:0.75em;border-spacing:0;margin:0.3em 0.7em'>{cells}</table>"


def listed_numbers(numbers: ArrayLike, digits: int = 4) -> str:
    """Values of equal width, without signed zeros."""
    rounded = np.round(np.asarray(numbers, float), digits) + 0.0
    return " ".join(f"{number:{digits + 3}.{digits}f}" for number in rounded.ravel().tolist())


def _short(name: str, most: int = MOST_LETTERS) -> str:
    """A name that fits; names of joints differ mostly at their ends."""
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most - most // 2) :]}"
