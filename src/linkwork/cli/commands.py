"""What each command does: one call into the library, then print."""

from __future__ import annotations

from os.path import exists, isdir
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from linkwork import robots as bundled
from linkwork.cli.data import branch_data, finding_data, model_data, summary_data
from linkwork.cli.json import print_json
from linkwork.cli.show import print_findings, print_table, print_text, print_tree, terminal
from linkwork.errors import ParseError, count_findings, escaped
from linkwork.io.load import read
from linkwork.io.reading import Reading
from linkwork.io.source import STANDARD_INPUT, standard_input
from linkwork.model.describe import summary, tables
from linkwork.model.model import Model

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="URDF or MJCF file, or the name of a bundled robot, or - for standard input",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]
Base = Annotated[
    str | None, typer.Option("--base", metavar="LINK", help="draw the tree from this link")
]
FreeMimic = Annotated[bool, typer.Option("--free-mimic", help="let joints that mimic move freely")]
Strict = Annotated[bool, typer.Option("--strict", help="exit with 1 on warnings")]


def info(file: File, *, as_json: Json = False, free_mimic: FreeMimic = False) -> None:
    """Print the links, joints and mass of a robot."""
    reading = _read(file, mimic=not free_mimic)
    model = _model(reading)
    if as_json:
        print_json(model_data(model))
        return
    console = terminal()
    print_text(console, summary(model), "bold")
    for table in tables(model):
        if table.rows:
            console.print()
            print_table(console, table)
    _hint_at_findings(console, file, reading)


def tree(file: File, *, base: Base = None, as_json: Json = False) -> None:
    """Draw the tree of a robot, from any link."""
    model = model_of_file(file)
    start = model.default_base if base is None else base
    model.link_index(start)
    if as_json:
        print_json(branch_data(model, start))
        return
    print_tree(terminal(), model, start)


def check(file: File, *, strict: Strict = False, as_json: Json = False) -> None:
    """List what is wrong or doubtful in a file.

    Exits with 2 on errors, and with --strict also with 1 on warnings.
    """
    findings = _read(file).findings
    if as_json:
        print_json([finding_data(finding) for finding in findings])
    else:
        console = terminal()
        name = STANDARD_INPUT if file == "-" else escaped(file)
        print_findings(console, findings)
        print_text(console, f"{name}: {count_findings(findings)}", "bold")
    severities = {finding.severity for finding in findings}
    code = 2 if "error" in severities else int(strict and "warning" in severities)
    raise typer.Exit(code)


def robots(*, as_json: Json = False) -> None:
    """List the bundled robots."""
    models = {name: bundled.load(name) for name in bundled.names()}
    if as_json:
        print_json(
            [
                {"name": name, "file": str(bundled.path(name)), **summary_data(model)}
                for name, model in models.items()
            ]
        )
        return
    for model in models.values():
        print_text(terminal(), summary(model))


def model_of_file(file: str, *, mimic: bool = True) -> Model:
    """The robot in a file, or an error with all that is wrong with it."""
    return _model(_read(file, mimic=mimic))


def _read(file: str, *, mimic: bool = True) -> Reading:
    """Read a file; where there is none of that name, or only a folder, a bundled robot."""
    if file == "-":
        try:
            return read(standard_input(), mimic=mimic)
        except ParseError as error:  # bytes that are no text
            return Reading(None, error.findings)
    is_file = exists(file) and not isdir(file)  # noqa: PTH110, PTH112 - take names of any length
    known = file in bundled.names() and not is_file
    return read(bundled.path(file) if known else Path(file), mimic=mimic)


def _model(reading: Reading) -> Model:
    if reading.model is None:
        raise ParseError([f for f in reading.findings if f.severity != "note"])
    return reading.model


def _hint_at_findings(console: Console, file: str, reading: Reading) -> None:
    warnings = [finding for finding in reading.findings if finding.severity == "warning"]
    if warnings:
        text = f"{count_findings(warnings)}; `linkwork check {escaped(file)}` lists them"
        console.print()
        print_text(console, text, "yellow")
