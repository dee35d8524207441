"""The command `view`: robots or a workcell on a web page."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from linkwork.cli.complete import robot_and_cell_names
from linkwork.cli.output import print_text, terminal
from linkwork.cli.robot_files import Floating, is_cell, model_of_file
from linkwork.errors import ArgumentError, escaped
from linkwork.io.formats import titles

if TYPE_CHECKING:
    from linkwork.viewer import Viewer


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help=f"{titles('workcell')} file, or the name of a bundled robot or workcell",
        autocompletion=robot_and_cell_names,
    ),
]
Port = Annotated[
    int | None, typer.Option("--port", metavar="N", help="8080 or the next free one if not given")
]
NoOpen = Annotated[bool, typer.Option("--no-open", help="print the address, open no browser")]
TrajectoryFile = Annotated[
    str | None, typer.Option("--trajectory", metavar="FILE", help=".npy or .csv file to play")
]
Dark = Annotated[bool, typer.Option("--dark", help="a dark page")]
Address = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help="0.0.0.0 lets other machines see the page"),
]


def view(
    files: Files,
    *,
    port: Port = None,
    no_open: NoOpen = False,
    trajectory: TrajectoryFile = None,
    floating: Floating = None,
    dark: Dark = False,
    host: Address = "127.0.0.1",
) -> None:
    """Show robots or a workcell on a local web page.

    linkwork view arm --trajectory motion.csv
    """
    with _open_viewer(files, port, floating=floating, dark=dark, host=host) as viewer:
        if trajectory is not None:
            viewer.play(trajectory, robot=viewer.robots[0])
        with suppress(KeyboardInterrupt):
            print_text(terminal(), f"{', '.join(map(escaped, files))} at {viewer.url}; Ctrl-C ends")
            if not no_open:
                viewer.open()
            viewer.wait()


def _open_viewer(
    files: list[str], port: int | None, *, floating: bool | None, dark: bool, host: str
) -> Viewer:
    from linkwork.kindyn import KinDyn
    from linkwork.viewer import view as show

    if any(map(is_cell, files)):
        from linkwork.workcell.files.load import load_workcell

        if len(files) > 1:
            raise ArgumentError("a workcell is shown alone; name one file")
        return show(load_workcell(files[0]), port=port, dark=dark, host=host)
    robots = [KinDyn(model_of_file(file), floating=floating) for file in files]
    return show(*robots, port=port, dark=dark, host=host)
