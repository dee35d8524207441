"""How robots and findings look: coloured and folded on a terminal, plain text in a file or a pipe.

Text that comes from files goes through `rich.text.Text` only, which takes every character as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwork.errors import Finding, Severity, escaped
from linkwork.model.table import Table, as_text, width_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from linkwork.model.describe import Branch
    from linkwork.model.model import Model

COLORS = {"error": "bold red", "warning": "yellow", "note": "cyan"}
LINE_COLOR = "dim"


def terminal(*, errors: bool = False) -> Console:
    """Where to print; colours appear on a terminal only."""
    from rich.console import Console

    return Console(stderr=errors, highlight=False, emoji=False, markup=False, soft_wrap=True)


def print_text(console: Console, text: str, style: str = "") -> None:
    """Print a text as it is; on a terminal, lines end between words."""
    from rich.text import Text

    console.print(Text(text, style), soft_wrap=not sys.stdout.isatty())


def print_message(text: str, severity: Severity = "error") -> None:
    """Print an error or a warning on standard error; every line of it is printable."""
    from rich.text import Text

    console = terminal(errors=True)
    lines = "\n".join(map(escaped, text.split("\n")))
    console.print(Text.assemble((f"linkwork: {severity}: ", COLORS[severity]), lines))


def print_table(console: Console, table: Table, width: int | None = None) -> None:
    """Print a table; on a terminal it is no wider than that."""
    heading, *lines = as_text(table, width or _width(console)).split("\n")
    print_text(console, heading, "bold")
    for line in lines:
        print_text(console, line, LINE_COLOR if line.startswith("─") else "")


def print_tree(console: Console, model: Model, base: str, width: int | None = None) -> None:
    """Print the tree of a robot from a base, the lines dim and the joints coloured."""
    from linkwork.model.describe import branches

    for branch in branches(model, base):
        console.print(_dressed_branch(branch, width or _width(console)))


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print findings one after the other, each with its severity and without its file's folder.

    On a terminal, lines end between words.
    """
    from rich.text import Text

    for finding in findings:
        severity = (f"{finding.severity}: ", COLORS[finding.severity])
        text = Text.assemble(severity, finding.line(short=True))
        console.print(text, soft_wrap=not sys.stdout.isatty())


def _width(console: Console) -> int | None:
    """How wide lines may be: as the terminal, or of any width in a file or a pipe."""
    return console.width if sys.stdout.isatty() else None


def _dressed_branch(branch: Branch, width: int | None) -> Text:
    """A branch on one line, or with its link on a second one if the first is too short for both."""
    from rich.text import Text

    if not branch.joint:  # the base, which hangs on no joint
        return Text(branch.link, "bold")
    between = " ─ "
    if width is not None and width_of(str(branch)) > width:
        passing = "│  " if branch.corner.startswith("├") else "   "
        between = f"\n{branch.lead}{passing}─ "
    return Text.assemble(
        (branch.lead + branch.corner, LINE_COLOR),
        (branch.joint, "green"),
        (between, LINE_COLOR),
        (branch.link, "bold"),
    )
