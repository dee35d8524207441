"""Robots and workcells as arguments of commands: files, names, standard input, xacro arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwork.cli.complete import frame_names, function_names, robot_names
from linkwork.cli.output import print_message
from linkwork.errors import (
    LinkworkError,
    MissingFileError,
    ParseError,
    count_findings,
    escaped,
    shown,
)
from linkwork.io.formats import titles
from linkwork.io.named_robots import bundled_cells
from linkwork.io.xml.documents import Source, standard_input

if TYPE_CHECKING:
    from linkwork.io.formats import Reading
    from linkwork.model.model import Model

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help=f"{titles('xacro')} file, or a robot's name, or - for stdin",
        autocompletion=robot_names,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]
Floating = Annotated[
    bool | None,
    typer.Option("--floating/--fixed", help="base: floating (the default) or fixed"),
]
"""Of every command that computes; None leaves the choice to `KinDyn`, which floats the base."""

Base = Annotated[
    str | None,
    typer.Option(
        "--base",
        metavar="LINK",
        help="link or frame that is the base",
        autocompletion=frame_names,
    ),
]
Functions = Annotated[
    str | None,
    typer.Option(
        "--functions",
        "--function",
        metavar="NAMES",
        help="quantities with commas between them, such as mass_matrix,jacobian:l_sole",
        autocompletion=function_names,
    ),
]

CELL_ROOTS = (b"WorkCell", b"DynamicWorkCell", b"DynamicWorkcell")
HEAD_BYTES = 65_536  # of a file, within which its root element begins
XACRO_ARGUMENT = re.compile(r"([A-Za-z_][\w.-]*):=(.*)", re.DOTALL)  # as ROS writes them

xacro_arguments: ContextVar[dict[str, str] | None] = ContextVar("xacro arguments", default=None)
"""The xacro arguments of the running command."""


def model_of_file(file: str, *, mimic: bool = True) -> Model:
    """Return the robot in a file; its warnings are counted on standard error.

    Raises:
        ParseError: the file has errors; the message lists all of them.
    """
    reading = read_file(file, mimic=mimic)
    model = model_in(reading)
    count_warnings(file, reading)
    return model


def read_file(
    file: str,
    *,
    mimic: bool = True,
    repair: bool = False,
    inertia_from_meshes: float | None = None,
) -> Reading:
    """Read a file, a robot by its name, or standard input; findings are part of the result."""
    from linkwork.io.formats import Reading
    from linkwork.io.load import read

    source: Source | str = file
    if file == "-":
        try:
            source = standard_input()
        except ParseError as error:  # bytes in another encoding
            return Reading(None, error.findings)
    elif not file.strip() or any(
        letter in file for letter in "<\n\r"
    ):  # `read` would parse it as XML
        raise MissingFileError(f"no file {shown(file)}")
    return read(
        source,
        mimic=mimic,
        repair=repair,
        xacro_args=xacro_arguments.get(),
        inertia_from_meshes=inertia_from_meshes,
    )


def model_in(reading: Reading) -> Model:
    """Return the robot of a file; raises an error that lists all findings if there is none."""
    if reading.model is None:
        raise ParseError([f for f in reading.findings if f.severity != "note"])
    return reading.model


def count_warnings(file: str, reading: Reading) -> None:
    """Print on standard error how many warnings a file has, and which command lists them."""
    warnings = [finding for finding in reading.findings if finding.severity == "warning"]
    if warnings:
        counts = f"{escaped(file)} has {count_findings(warnings)}"
        print_message(f"{counts}; `linkwork check {escaped(file)}` prints the details", "warning")


def split_xacro_arguments(words: Sequence[str]) -> tuple[list[str], dict[str, str] | None]:
    """Split `name:=value` from the other words of a command line; None if there are none."""
    matches = [XACRO_ARGUMENT.fullmatch(word) for word in words]
    arguments = {match[1]: match[2] for match in matches if match}
    others = [word for word, match in zip(words, matches, strict=True) if not match]
    return others, arguments or None


def is_cell(file: str) -> bool:
    """Return whether a file or a name is a workcell."""
    path = Path(file)
    try:
        if not path.is_file():
            return file in bundled_cells()
        with path.open("rb") as opened_file:
            head = opened_file.read(HEAD_BYTES)
    except (OSError, ValueError):  # loading it raises with the reason
        return False
    first = re.search(rb"<\s*([A-Za-z]\w*)", re.sub(rb"<!--.*?-->", b"", head, flags=re.DOTALL))
    root = first[1] if first else b""
    return root in CELL_ROOTS or (root == b"sdf" and _has_several_robots(path))


def _has_several_robots(path: Path) -> bool:
    """Return whether an SDF file has several models, so that it is a workcell."""
    from linkwork.io.sdf.reader import read_world
    from linkwork.io.xml.documents import read_source

    try:
        return len(read_world(read_source(path)).robots) > 1
    except LinkworkError:  # loading it raises with the reason
        return False
