"""What each command does: one call into the library, then print."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from linkwork import robots as bundled
from linkwork.cli.facts import branch_facts, finding_facts, model_facts
from linkwork.cli.show import print_findings, print_table, print_tree, terminal
from linkwork.errors import ParseError, count_findings
from linkwork.io.load import read
from linkwork.io.urdf import Reading
from linkwork.model.describe import summary, tables
from linkwork.model.model import Model

File = Annotated[str, typer.Argument(help="URDF file, or the name of a bundled robot")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]
Base = Annotated[str | None, typer.Option(metavar="LINK", help="draw the tree from this link")]
FreeMimic = Annotated[bool, typer.Option("--free-mimic", help="let joints that mimic move freely")]


def info(file: File, *, as_json: Json = False, free_mimic: FreeMimic = False) -> None:
    """Print the links, joints and mass of a robot."""
    reading = _read(file, mimic=not free_mimic)
    model = _model(reading)
    if as_json:
        _print_json(model_facts(model))
        return
    console = terminal()
    console.print(Text(summary(model), "bold"), soft_wrap=True)
    for table in tables(model):
        if table.rows:
            console.print()
            print_table(console, table)
    _hint_at_findings(console, file, reading)


def tree(file: File, *, base: Base = None, as_json: Json = False) -> None:
    """Draw the tree of a robot, from any link."""
    model = _model(_read(file))
    start = model.default_base if base is None else base
    model.link_index(start)
    if as_json:
        _print_json(branch_facts(model, start))
        return
    print_tree(terminal(), model, start)


def check(
    file: File,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="exit with 1 on warnings")] = False,
    as_json: Json = False,
) -> None:
    """List all that is wrong or doubtful in a robot file; exit with 2 on errors."""
    findings = _read(file).findings
    if as_json:
        _print_json([finding_facts(finding) for finding in findings])
    else:
        console = terminal()
        print_findings(console, findings)
        console.print(Text(f"{file}: {count_findings(findings)}", "bold"), soft_wrap=True)
    severities = {finding.severity for finding in findings}
    code = 2 if "error" in severities else int(strict and "warning" in severities)
    raise typer.Exit(code)


def robots() -> None:
    """List the bundled robots."""
    for name in bundled.names():
        terminal().print(Text(summary(bundled.load(name))), soft_wrap=True)


def _read(file: str, *, mimic: bool = True) -> Reading:
    """Read a file; where there is none of that name, a bundled robot."""
    known = not Path(file).exists() and file in bundled.names()
    return read(bundled.path(file) if known else Path(file), mimic=mimic)


def _model(reading: Reading) -> Model:
    if reading.model is None:
        raise ParseError([f for f in reading.findings if f.severity == "error"])
    return reading.model


def _hint_at_findings(console: Console, file: str, reading: Reading) -> None:
    warnings = [finding for finding in reading.findings if finding.severity == "warning"]
    if warnings:
        text = f"{count_findings(warnings)}; `linkwork check {file}` lists them"
        console.print()
        console.print(Text(text, "yellow"), soft_wrap=True)


def _print_json(facts: Any) -> None:
    sys.stdout.write(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
