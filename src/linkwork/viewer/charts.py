"""Pictures of numbers: matrices as images, forces as bars, small tables. HTML and SVG.

Names come from files, so every text is escaped before it becomes part of a page.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from struct import pack
from zlib import compress, crc32

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.viewer.colors import hexadecimal, load_colors, signed_colors

WIDTH = 300  # of a chart [pixels]
ROW = 16  # height of a bar with its label [pixels]
MOST_LETTERS = 20  # of a label beside a bar
MOST_COLUMNS = 8  # of a matrix that is written in numbers


def heat_map(matrix: ArrayLike) -> str:
    """A matrix as an image on a page: blue negative, white zero, red positive; entries are squares.

    Args:
        matrix: (rows, columns), or (n,) for one row.
    """
    numbers = np.atleast_2d(np.asarray(matrix, float))
    if not numbers.size:
        return ""
    rows, columns = numbers.shape
    data = b64encode(png(signed_colors(numbers))).decode()
    style = (
        f"width:100%;aspect-ratio:{columns}/{rows};image-rendering:pixelated;border:1px solid #8886"
    )
    return (
        f"<img src='data:image/png;base64,{data}' style='{style}' alt='{rows} x {columns} matrix'/>"
    )


def png(image: Array) -> bytes:
    """An image (height, width, 3) of uint8 as a PNG file."""
    height, width, _ = image.shape
    lines = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # each begins with its filter, none
    lines[:, 1:] = image.reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))

    header = pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
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
        limits: (n,) largest force either way; infinite where there is none, and then the bar has no
            colour of its own and is drawn against the largest force without a limit.
    """
    shares, bounded = shares_of(forces, limits), np.isfinite(limits) & (limits > 0)
    colors = load_colors(shares)
    noise = 1e-9 * float(np.abs(forces).max(initial=0.0))
    forces = np.where(np.abs(forces) <= noise, 0.0, forces)
    middle, reach = WIDTH * 0.62, WIDTH * 0.2
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
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='100%'"
        " font-size='10' font-family='sans-serif' fill='currentColor' style='padding:0 0.6em'>"
        f"{lines}{''.join(rows)}</svg>"
    )


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Two columns as HTML, texts escaped."""
    cells = "".join(
        f"<tr><td style='padding-right:0.8em'>{escape(left)}</td>"
        f"<td style='font-family:monospace;white-space:nowrap'>{escape(right)}</td></tr>"
        for left, right in rows
    )
    return f"<table style='font-size:0.75em;border-spacing:0;margin:0.3em 0.7em'>{cells}</table>"


def matrix_table(names: Sequence[str], matrix: Array) -> str:
    """A matrix in numbers, if it has few columns; else nothing."""
    if matrix.shape[1] > MOST_COLUMNS:
        return ""
    head = "".join(f"<th>{escape(_short(name, 6))}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{number:.2f}</td>" for number in row) + "</tr>"
        for row in (matrix + 0.0).tolist()
    )
    style = "font-size:0.62em;border-spacing:0.5em 0;text-align:right;font-family:monospace"
    return f"<table style='{style}'><tr>{head}</tr>{body}</table>"


def listed_numbers(numbers: ArrayLike, digits: int = 4) -> str:
    """Numbers with spaces between them, without signed zeros."""
    rounded = np.round(np.asarray(numbers, float), digits) + 0.0
    return "  ".join(f"{number:.{digits}g}" for number in rounded.ravel().tolist())


def _short(name: str, most: int = MOST_LETTERS) -> str:
    """A name that fits; names of joints differ mostly at their ends."""
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most - most // 2) :]}"
