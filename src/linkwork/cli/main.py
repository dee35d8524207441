"""The `linkwork` command: thin commands over the library.

Exit codes   0 fine, 1 doubtful (`check --strict`), 2 wrong
"""

from __future__ import annotations

import sys
import warnings

import typer
from rich.console import Console

from linkwork.cli.commands import check, info, robots, tree
from linkwork.cli.conventions import conventions
from linkwork.errors import LinkworkError

app = typer.Typer(
    help="Kinematics and dynamics of robots.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (info, tree, check, robots, conventions):
    app.command()(command)


def main() -> None:
    """Run the command; an error becomes one message and exit code 2."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the commands print findings themselves
            app()
    except LinkworkError as error:
        console = Console(stderr=True, soft_wrap=True, highlight=False)
        console.print("[bold red]linkwork: error:[/]", end=" ")
        console.print(str(error), markup=False)
        sys.exit(2)


if __name__ == "__main__":
    main()
