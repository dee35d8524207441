"""How robots and findings look: dressed up on a terminal, plain text in a file or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from linkwork.errors import Finding
from linkwork.model.describe import Table, as_text, tree_lines
from linkwork.model.model import Model

COLORS = {"error": "bold red", "warning": "yellow", "note": "cyan"}
LINE_COLOR = "dim"


def terminal() -> Console:
    """Where to print; colours and line breaks appear on a terminal only."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def print_table(console: Console, table: Table) -> None:
    """Print a table: dressed up on a terminal, aligned plain text elsewhere."""
    if not console.is_terminal:
        console.print(as_text(table), markup=False, highlight=False)
        return
    dressed = RichTable(title=table.heading, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in table.columns:
        number = name in table.numeric
        dressed.add_column(name, justify="right" if number else "left", no_wrap=number)
    for row in table.rows:
        dressed.add_row(*map(Text, row))
    console.print(dressed)


def print_tree(console: Console, model: Model, base: str) -> None:
    """Print the tree of a robot from a base, the lines dim and the joints coloured."""
    for line in tree_lines(model, base):
        console.print(_dressed_branch(line), soft_wrap=True)


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print findings one to a line, each with its severity."""
    for finding in findings:
        text = Text.assemble((f"{finding.severity}: ", COLORS[finding.severity]), str(finding))
        console.print(text, soft_wrap=True)


def _dressed_branch(line: str) -> Text:
    drawing = len(line) - len(line.lstrip("│├└─ "))
    joint, arrow, link = line[drawing:].partition(" ─ ")
    if not arrow:  # the base, which hangs on no joint
        return Text.assemble((joint, "bold"))
    pieces: Iterator[tuple[str, str]] = iter(
        [(line[:drawing], LINE_COLOR), (joint, "green"), (arrow, LINE_COLOR), (link, "bold")]
    )
    return Text.assemble(*pieces)
