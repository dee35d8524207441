"""Completion in a shell: robots and files, frames and joints of the robot on the command line.

Nothing here may raise or print: a shell would show it on the command line.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from linkwork.errors import LinkworkError
from linkwork.io.formats import endings
from linkwork.io.named_robots import bundled_cells, bundled_names, example_robots

if TYPE_CHECKING:
    from linkwork.model.model import Model


def robot_names(incomplete: str) -> list[str]:
    """Return names of robots, robot files and folders that begin with a string."""
    names = [*bundled_names(), *example_robots()]
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)] + _files(
        incomplete
    )


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


def frame_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return frames of the robot that the command line names."""
    return _of_robot(context, lambda model: model.frame_names, incomplete)


def link_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return links of the robot that the command line names."""
    return _of_robot(context, lambda model: model.link_names, incomplete)


def joint_settings(context: typer.Context, incomplete: str) -> list[str]:
    """Return the moving joints of the robot, each with the `=` that a value follows."""

    def settings(model: Model) -> list[str]:
        return [f"{joint.name}=" for joint in model.joints if joint.nq]

    return _of_robot(context, settings, incomplete)


def _of_robot(context: typer.Context, names: Callable[[Model], Any], start: str) -> list[str]:
    from linkwork.io.load import read

    file = context.params.get("file") or _first_argument()
    if not isinstance(file, str) or file in ("", "-"):
        return []
    try:
        model = read(file, expand=False).model  # a key press must not run code of a xacro file
    except (LinkworkError, OSError):
        return []
    return [] if model is None else [name for name in names(model) if name.startswith(start)]


def _first_argument() -> str:
    """The first word after the command, which click does not parse if an option lacks its value."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    words = [word for word in line.split()[2:] if not word.startswith("-")]
    return words[0] if words else ""


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
