"""Tables for people, as lines of text that fit the width there is, and as HTML.

No cell is ever cut. A table that is too wide comes in blocks of columns, each with the columns that
name the row; a cell that is too wide even so goes over several lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest
from textwrap import wrap
from unicodedata import combining, east_asian_width

GAP = "  "  # between columns
NARROWEST = 8  # characters; cells of a narrower column would break in every word


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people: a heading, the names of its columns, and rows of text."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()  # columns to be aligned to the right
    n_naming: int = (
        1  # number of leading columns that name the row; they are repeated in every block
    )


def as_text(table: Table, width: int | None = None) -> str:
    """Return a table as lines of text, columns aligned.

    Args:
        table: what to write.
        width: how many characters fit on a line; any number if not given.
    """
    blocks = ["\n".join(_lines(table, *block)) for block in _blocks(table, width)]
    return "\n".join([table.heading, "\n\n".join(blocks)])


def as_html(heading: str, tables: Iterable[Table]) -> str:
    """Return a heading, and tables without rows left out, each to be opened by a click."""
    parts = [f"<b>{escape(heading)}</b>"]
    for table in tables:
        if table.rows:
            rows = "".join(_html_row("td", row) for row in table.rows)
            body = f"<table>{_html_row('th', table.columns)}{rows}</table>"
            parts.append(f"<details><summary>{escape(table.heading)}</summary>{body}</details>")
    return "\n".join(parts)


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    )


def _blocks(table: Table, width: int | None) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the columns of each block, and their widths."""
    grid = [table.columns, *table.rows]
    widths = [max(map(width_of, column)) for column in zip(*grid, strict=True)]
    if width is None or sum(widths) + len(GAP) * (len(widths) - 1) <= width:
        yield list(range(len(widths))), widths
        return
    naming = list(range(table.n_naming))
    name = naming[-1]  # the others are numbers
    widths[name] = min(widths[name], max(NARROWEST, width // 2))
    room = width - sum(widths[column] + len(GAP) for column in naming)
    block: list[int] = []
    for column in range(table.n_naming, len(widths)):
        widths[column] = min(widths[column], max(NARROWEST, room))
        used_width = sum(widths[other] + len(GAP) for other in block)
        if block and used_width + widths[column] > room:
            yield [*naming, *block], widths
            block = []
        block.append(column)
    yield [*naming, *block], widths


def _lines(table: Table, columns: Sequence[int], widths: Sequence[int]) -> Iterator[str]:
    """Yield a block of columns: names, a rule, rows."""
    names = [table.columns[column] for column in columns]
    chosen = [widths[column] for column in columns]
    for row in (names, None, *([row[column] for column in columns] for row in table.rows)):
        if row is None:
            yield GAP.join("─" * width for width in chosen)
            continue
        folded = [wrap(cell, max(width, 1)) for cell, width in zip(row, chosen, strict=True)]
        for pieces in zip_longest(*folded, fillvalue=""):
            cells = [
                _padded(piece, width, right=name in table.numeric)
                for piece, width, name in zip(pieces, chosen, names, strict=True)
            ]
            yield GAP.join(cells).rstrip()


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - width_of(text))
    return space + text if right else text + space
