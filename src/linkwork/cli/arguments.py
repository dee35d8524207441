"""Arguments and options that several commands share: robots, files, completion in a shell.

A robot or workcell is a file, a name or standard input; values of xacro arguments follow it.
Functions for completion may neither raise nor print: a shell would show it on the command line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.output import print_message
from linkwork.errors import (
    LinkworkError,
    MissingFileError,
    ParseError,
    count_findings,
    escaped,
    shown,
)
from linkwork.io.formats import endings, titles
from linkwork.io.named_robots import bundled_cells, bundled_names, example_robots
from linkwork.io.xml.documents import Source, standard_input

if TYPE_CHECKING:
    from linkwork.io.formats import Reading
    from linkwork.model.model import Model


def option(
    names: str,
    metavar: str | None,
    text: str,
    default: Any = None,
    complete: Callable[..., list[str]] | None = None,
) -> Any:
    """Declare an option, as the default value of a parameter of a command.

    Args:
        names: such as "--output", or several with spaces between them.
        metavar: stands for its value in the help text; the type of the value if None.
        text: the help text.
        default: the value of a command line without it.
        complete: completes the value in a shell.
    """
    return typer.Option(
        default, *names.split(), metavar=metavar, help=text, autocompletion=complete
    )


def flag(name: str, text: str) -> Any:
    """Declare an option without a value, which is True if the command line has it."""
    return typer.Option(False, name, help=text)


def robot_names(incomplete: str) -> list[str]:
    """Return names of robots, robot files and folders that begin with a string."""
    names = [*bundled_names(), *example_robots()]
    matching = [name for name in dict.fromkeys(names) if name.startswith(incomplete)]
    return matching + _files(incomplete)


def robot_and_cell_names(incomplete: str) -> list[str]:
    """Return the same as `robot_names`, and names of bundled workcells."""
    cells = [name for name in bundled_cells() if name.startswith(incomplete)]
    return [*cells, *robot_names(incomplete)]


def function_names(incomplete: str) -> list[str]:
    """Return the quantities, in a list with commas: completes the last one of `mass_matrix,jac`."""
    from linkwork.kindyn import KinDyn

    before, comma, name = incomplete.rpartition(",")
    return [f"{before}{comma}{one}" for one in KinDyn.quantities if one.startswith(name)]


def card_names(incomplete: str) -> list[str]:
    """Return libraries that have a convention card."""
    from linkwork.compat.cards import all_cards

    return [card.name for card in all_cards() if card.name.startswith(incomplete)]


def one_of(*names: str) -> Callable[[str], list[str]]:
    """Return a completion with fixed choices."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def _files(start: str) -> list[str]:
    folder, beginning = os.path.split(start)
    try:
        paths = sorted(Path(folder or ".").iterdir())
    except OSError:
        return []
    return [
        os.path.join(folder, path.name) + ("/" if path.is_dir() else "")  # noqa: PTH118 - as typed
        for path in paths
        if path.name.startswith(beginning)
        and (beginning or not path.name.startswith("."))
        and (path.is_dir() or path.suffix in endings())
    ]


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
    ),
]
Functions = Annotated[
    str | None,
    typer.Option(
        "--functions",
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
