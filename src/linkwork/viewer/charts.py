"""Charts as HTML and SVG: matrices as images, forces as bars, small tables.

Names come from files, so every string is escaped before it becomes part of a page.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from math import floor, log10
from struct import pack
from zlib import compress, crc32

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.viewer.drawing import hexadecimal, load_colors, signed_colors

WIDTH = 300  # of a chart [pixels]
ROW = 16  # height of a bar with its label [pixels]
MOST_LETTERS = 20  # of the label of a bar
MOST_COLUMNS = 10  # of a matrix that is drawn with its values
STRONG = 150  # opacity of a color on which white letters are read best, 0 to 255
LEAST = 1e-300  # smaller values are written as 0
KEPT = "white-space:pre"  # in one line
UPRIGHT = "writing-mode:vertical-rl;transform:rotate(180deg);text-align:left"  # names of columns
PIXELS = "image-rendering:pixelated;outline:1px solid #8886"


def heat_map(matrix: ArrayLike, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> str:
    """Draw a matrix on a page: blue negative, clear zero, red positive.

    Up to ten columns it is a table of its values; else it is an image with a pixel per entry.

    Args:
        matrix: (rows, columns).
        rows: names of the rows, or none.
        columns: names of the columns, or none.
    """
    numbers = np.atleast_2d(np.asarray(matrix, float))
    if not numbers.size:
        return ""
    if numbers.shape[1] <= MOST_COLUMNS:
        return _table_map(numbers, rows, columns)
    high, wide = numbers.shape
    data = b64encode(png(signed_colors(numbers))).decode()
    style = f"width:calc(100% - 1.2em);margin:0.3em 0.6em;aspect-ratio:{wide}/{high};{PIXELS}"
    return f"<img src='data:image/png;base64,{data}' style='{style}' alt='{high} x {wide} matrix'/>"


def _table_map(numbers: Array, rows: Sequence[str], columns: Sequence[str]) -> str:
    """Draw a small matrix as a table, whose cells have names and exact values as tooltips."""
    largest = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))
    colors, body = signed_colors(numbers), ""
    for i, row in enumerate(numbers.tolist()):
        body += f"<tr><th>{escape(_short(rows[i], 14)) if rows else ''}</th>"
        for j, value in enumerate(row):
            r, g, b, opacity = colors[i, j].tolist()
            names = ", ".join([*rows[i : i + 1], *(columns or rows)[j : j + 1]])
            style = f"min-width:2.8em;background:rgb({r} {g} {b} / {opacity / 255:.3f})"
            ink = ";color:#fff" if opacity > STRONG else ""
            title = f"{escape(names)}: {value:.6g}"
            body += f"<td style='{style}{ink}' title='{title}'>{_entry(value, largest)}</td>"
        body += "</tr>"
    heads = "".join(f"<th style='{UPRIGHT}'>{escape(_short(name, 14))}</th>" for name in columns)
    head = f"<tr><th></th>{heads}</tr>" if columns else ""
    style = "font-size:0.65em;text-align:right;border-spacing:1px;margin:0.3em 0.7em"
    return f"<table style='{style}'>{head}{body}</table>"


def _entry(value: float, largest: float) -> str:
    """Return an entry of a matrix whose largest entry has three digits; 0 if it rounds to zero."""
    if not 1e-2 <= largest < 1e5:
        return f"{value:.1e}" if abs(value) > max(LEAST, 5e-4 * largest) else "0"
    digits = max(0, 2 - floor(log10(largest)))
    rounded = round(value, digits)
    return f"{rounded:.{digits}f}" if rounded else "0"


def png(image: Array) -> bytes:
    """Return an image (height, width, 4) of uint8, red, green, blue, opacity, as a PNG file."""
    height, width, _ = image.shape
    lines = np.zeros((height, 1 + 4 * width), dtype=np.uint8)  # each begins with its filter, none
    lines[:, 1:] = image.reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))

    header = pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)  # 8 bits, RGBA
    body = chunk(b"IHDR", header) + chunk(b"IDAT", compress(lines.tobytes(), 1))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


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
