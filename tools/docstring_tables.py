"""Convert tables in docstrings to Markdown tables, for mkdocs.

Docstrings of modules contain small aligned tables:

    Order    w, x, y, z; every argument that is a quaternion
             has `wxyz` in its name
    Batch    any leading axes

Markdown would render them as a paragraph. This extension of griffe converts them to Markdown
tables.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

ROW = re.compile(r"(\S+(?: \S+)*) {2,}(\S.*)")


def with_tables(text: str) -> str:
    """Convert aligned paragraphs of a docstring to Markdown tables."""
    return "\n\n".join(_table(part) or part for part in text.split("\n\n"))


def _table(paragraph: str) -> str | None:
    """Convert a paragraph to a table, if each line is a row or continues one."""
    rows: list[list[str]] = []
    for line in paragraph.strip("\n").split("\n"):
        match = ROW.fullmatch(line)
        if match:
            rows.append([match[1], match[2]])
        elif rows and line.startswith("    "):
            rows[-1][1] += " " + line.strip()
        else:
            return None
    lines = [f"| {_cell(name)} | {_cell(meaning)} |" for name, meaning in rows]
    return "\n".join(["| | |", "|---|---|", *lines])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


class DocstringTables(griffe.Extension):
    """Changes docstrings as they are collected."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = with_tables(obj.docstring.value)
