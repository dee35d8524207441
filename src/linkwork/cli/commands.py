"""What each command does: one call into the library, then print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from linkwork.cli import xacro_words
from linkwork.cli.complete import link_names, robot_names
from linkwork.cli.data import branch_data, finding_data, model_data
from linkwork.cli.json import print_json
from linkwork.cli.show import print_findings, print_table, print_text, print_tree, terminal
from linkwork.errors import MissingFileError, ParseError, count_findings, escaped, shown
from linkwork.io.xml.source import STANDARD_INPUT, Source, standard_input

if TYPE_CHECKING:
    from rich.console import Console

    from linkwork.io.xml.source import Reading
    from linkwork.model.model import Model

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="URDF, MJCF or xacro file, or a robot's name, or - for standard input",
        autocompletion=robot_names,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]
Base = Annotated[
    str | None,
    typer.Option(
        "--base", metavar="LINK", help="draw the tree from this link", autocompletion=link_names
    ),
]
FreeMimic = Annotated[bool, typer.Option("--free-mimic", help="treat mimic joints as independent")]
Strict = Annotated[bool, typer.Option("--strict", help="exit with 1 on warnings")]


def info(file: File, *, as_json: Json = False, free_mimic: FreeMimic = False) -> None:
    """Print the links, joints and mass of a robot.

    linkwork info arm
    """
    from linkwork.model.describe import summary, tables

    reading = read_file(file, mimic=not free_mimic)
    model = model_in(reading)
    if as_json:
        print_json(model_data(model))
        return
    console = terminal()
    print_text(console, summary(model), "bold")
    for table in tables(model):
        if table.rows:
            console.print()
            print_table(console, table)
    if any(finding.severity == "warning" for finding in reading.findings):
        console.print()
    hint_at_findings(console, file, reading)


def tree(file: File, *, base: Base = None, as_json: Json = False) -> None:
    """Draw the tree of a robot, from any link.

    linkwork tree arm --base wrist
    """
    model = model_of_file(file)
    start = model.default_base if base is None else base
    model.link_index(start)
    if as_json:
        print_json(branch_data(model, start))
        return
    print_tree(terminal(), model, start)


def check(file: File, *, strict: Strict = False, as_json: Json = False) -> None:
    """Report errors and warnings in a robot file.

    Exits with 2 on errors, and with --strict also with 1 on warnings.

    linkwork check robot.urdf --strict
    """
    findings = read_file(file).findings
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


def model_of_file(file: str, *, mimic: bool = True) -> Model:
    """The robot in a file; a hint at its warnings goes to standard error.

    Raises:
        ParseError: the file has errors; the message lists all of them.
    """
    reading = read_file(file, mimic=mimic)
    model = model_in(reading)
    hint_at_findings(terminal(errors=True), file, reading)
    return model


def read_file(file: str, *, mimic: bool = True, repair: bool = False) -> Reading:
    """Read a file, a robot by its name, or standard input, and say all about it."""
    from linkwork.io.load import read
    from linkwork.io.xml.source import Reading

    source: Source | str = file
    if file == "-":
        try:
            source = standard_input()
        except ParseError as error:  # bytes that are no text
            return Reading(None, error.findings)
    elif not file.strip() or any(letter in file for letter in "<\n\r"):  # a text for `read`
        raise MissingFileError(f"no file {shown(file)}")
    return read(source, mimic=mimic, repair=repair, xacro_args=xacro_words.given.get())


def model_in(reading: Reading) -> Model:
    """The robot that was read, or an error with all that is wrong with it."""
    if reading.model is None:
        raise ParseError([f for f in reading.findings if f.severity != "note"])
    return reading.model


def hint_at_findings(console: Console, file: str, reading: Reading) -> None:
    """Say how many warnings there are, and which command lists them."""
    warnings = [finding for finding in reading.findings if finding.severity == "warning"]
    if warnings:
        text = f"{count_findings(warnings)}; `linkwork check {escaped(file)}` lists them"
        print_text(console, text, "yellow")
