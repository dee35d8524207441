"""Convert tables in docstrings to Markdown tables, and list call options, for mkdocs.

Docstrings of modules contain small aligned tables:

    Order    w, x, y, z; every argument that is a quaternion
             has `wxyz` in its name
    Batch    any leading axes

Markdown would render them as a paragraph. This extension of griffe converts them to Markdown
tables. In signatures, it replaces `**options: Unpack[CallOptions]` by the options.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

from linkwork.kindyn.options import options_of

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

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Called for each function."""
        for last in list(func.parameters)[-1:]:
            options = options_of(last.annotation)
            if options is not None:
                del func.parameters[last.name]
                for name, text in options.items():
                    kind = griffe.ParameterKind.keyword_only
                    option = griffe.Parameter(name, annotation=text, kind=kind, default="None")
                    func.parameters.add(option)
