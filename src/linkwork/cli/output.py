"""Output of commands: text and tables for people, JSON for programs.

On a terminal, text is colored and wrapped; in a file or a pipe it is plain. Text that comes from
files is passed as `rich.text.Text`, which interprets no markup. In JSON, infinite values are null.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from linkwork.errors import Finding, Severity, SourceLocation, escaped
from linkwork.model.table import Table, as_text, width_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from linkwork.model.describe import Branch
    from linkwork.model.model import Model

COLORS = {"error": "bold red", "warning": "yellow", "note": "cyan"}
LINE_COLOR = "dim"
INDENT = "  "  # of JSON


# Text.


def terminal(*, errors: bool = False) -> Console:
    """Return a console on standard output or standard error.

    Colors and other styles appear on a terminal only, and not if NO_COLOR is set.
    """
    from rich.console import Console

    colors = None if os.environ.get("NO_COLOR") else "auto"
    return Console(
        stderr=errors,
        color_system=colors,
        highlight=False,
        emoji=False,
        markup=False,
        soft_wrap=True,
    )


def print_text(console: Console, text: str, style: str = "") -> None:
    """Print a string without interpreting markup; on a terminal, lines end between words."""
    _print(console, (text, style))


def print_message(text: str, severity: Severity = "error") -> None:
    """Print an error or a warning on standard error, without control characters."""
    lines = "\n".join(map(escaped, text.split("\n")))
    _print(terminal(errors=True), (f"linkwork: {severity}: ", COLORS[severity]), lines)


def _print(console: Console, *parts: str | tuple[str, str]) -> None:
    """Print strings, or strings with styles; on a terminal, lines end between words."""
    from rich.text import Text

    console.print(Text.assemble(*parts), soft_wrap=not console.file.isatty())


def print_table(console: Console, table: Table) -> None:
    """Print a table; on a terminal, it fits the width."""
    heading, *lines = as_text(table, _width(console)).split("\n")
    print_text(console, heading, "bold")
    for line in lines:
        print_text(console, line, LINE_COLOR if line.startswith("─") else "")


def print_tree(console: Console, model: Model, base: str) -> None:
    """Print the tree of a robot from a base, with dim lines and colored joints."""
    from linkwork.model.describe import branches

    for branch in branches(model, base):
        console.print(_branch_text(branch, _width(console)))


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print findings, each with its severity and the name of its file without the folder."""
    for finding in findings:
        severity = (f"{finding.severity}: ", COLORS[finding.severity])
        _print(console, severity, finding.line(short=True))


def _width(console: Console) -> int | None:
    """Width of the terminal; None, which is any width, in a file or a pipe."""
    return console.width if sys.stdout.isatty() else None


def _branch_text(branch: Branch, width: int | None) -> Text:
    """Format a branch on one line, or with its link on a second line if one is too short."""
    from rich.text import Text

    if not branch.joint:  # the base
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


# JSON.


def print_json(value: Any) -> None:
    """Print dicts, lists, strings and numbers as JSON; characters beyond ASCII are escaped."""
    sys.stdout.writelines(json_pieces(value))
    sys.stdout.write("\n")


def json_pieces(value: Any) -> Iterator[str]:
    """Yield a value as JSON, in pieces; not recursive, unlike the standard library's encoder."""
    waiting: list[tuple[Iterator[tuple[str, Any]], str]] = [(iter([("", value)]), "")]
    while waiting:
        items, closing = waiting[-1]
        for start, item in items:
            yield start
            if isinstance(item, (dict, list)) and item:
                waiting.append(_opened(item, len(waiting)))  # pyright: ignore[reportUnknownArgumentType]
                break
            yield json.dumps(item)
        else:
            waiting.pop()
            yield closing


def _opened(value: dict[str, Any] | list[Any], depth: int) -> tuple[Iterator[Any], str]:
    """Return the items of a dict or list, each with the text before it, and the text at the end."""
    lead, end = f"\n{INDENT * depth}", f"\n{INDENT * (depth - 1)}"
    if isinstance(value, dict):
        names, values, brackets = [f"{json.dumps(name)}: " for name in value], value.values(), "{}"
    else:
        names, values, brackets = [""] * len(value), value, "[]"
    starts = [f"{',' if k else brackets[0]}{lead}{name}" for k, name in enumerate(names)]
    return zip(starts, values, strict=True), end + brackets[1]


def model_data(model: Model) -> dict[str, Any]:
    """Return a model and its summary."""
    return {
        "name": model.name,
        **summary_data(model),
        "links": json_data(model.links),
        "joints": json_data(model.joints),
        "frames": json_data(model.frames),
    }


def summary_data(model: Model) -> dict[str, Any]:
    """Return the mass, base and degrees of freedom of a model."""
    from linkwork.model.layout import Layout

    layout = Layout(model, floating=False)
    return {
        "total_mass": model.total_mass,
        "default_base": model.default_base,
        "degrees_of_freedom": layout.nv,
        "position_coordinates": layout.nq,
        "moving_joints": list(layout.joint_names),
    }


def branch_data(model: Model, base: str) -> dict[str, Any]:
    """Return the tree from a base: each link with its joints, and the links that these lead to."""
    from linkwork.model.graph import walk

    nodes: dict[str, dict[str, Any]] = {}
    for link, parent, joint in walk(model, base):
        nodes[link] = {"link": link, "joints": []}
        if joint:
            branch = {"joint": joint.name, "kind": joint.kind, "to": nodes[link]}
            nodes[str(parent)]["joints"].append(branch)
    return nodes[base]


def finding_data(finding: Finding) -> dict[str, Any]:
    """Return a finding; file and line are separate."""
    location = finding.location
    return {
        "severity": finding.severity,
        "file": location.file if location else None,
        "line": location.line if location else None,
        "element": finding.element or None,
        "text": finding.text,
    }


def json_data(value: Any) -> Any:
    """Return a dataclass or tuple as dicts, lists and numbers."""
    if isinstance(value, SourceLocation):
        return str(value)
    if is_dataclass(value):
        names = [field.name for field in fields(value)]
        return {name: json_data(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [json_data(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value
