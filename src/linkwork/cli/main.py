"""The `linkwork` command: thin commands over the library, and those about its cache.

Exit codes   0 success, 1 warnings (`check --strict`) or a closed pipe, 2 an error
"""

from __future__ import annotations

import io
import os
import re
import sys
import time
import warnings
from typing import Annotated, Any

import typer

from linkwork.cli.arguments import Json, split_xacro_arguments, xacro_arguments
from linkwork.cli.compute import dynamics, fk, ik
from linkwork.cli.convert import convert, spherize
from linkwork.cli.demo import demo
from linkwork.cli.describe import check, compare, conventions, envs, info, robots, tree, view
from linkwork.cli.export import export
from linkwork.cli.output import print_json, print_message, print_text, terminal
from linkwork.cli.simulate import simulate
from linkwork.engine.runtime.cache import MEGABYTE, cache_folder, cached_files, clear, size_limit
from linkwork.errors import FloatingBaseWarning, LinkworkError, LinkworkWarning, escaped
from linkwork.version import __version__

USAGE_ERROR: Any = typer.BadParameter.__bases__[0]  # click's, wherever typer keeps it
LOOSE_NUMBERS = re.compile(r"unexpected extra arg|o such option: '?-[.\d]")  # in click's message
INTERRUPTED = 130  # the exit code of a program that was stopped from the keyboard

cache = typer.Typer()


@cache.callback(invoke_without_command=True)
def about_cache(context: typer.Context) -> None:
    """Show or clear the cache of machine code.

    linkwork cache info
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@cache.command(name="info")
def cache_info(*, as_json: Json = False) -> None:
    """Print folder, size and limit of the cache.

    linkwork cache info
    """
    folder, limit = cache_folder(), size_limit()
    files = cached_files(folder) if folder else []
    facts: dict[str, Any] = {
        "folder": str(folder) if folder else None,
        "files": len(files),
        "megabytes": sum(file.size for file in files) / MEGABYTE,
        "most_megabytes": limit / MEGABYTE if limit else None,
        "oldest_use_days": (time.time() - files[0].used) / 86_400 if files else None,
    }
    if as_json:
        print_json(facts)
        return
    console = terminal()
    if folder is None:
        print_text(console, "there is no cache: it is off, or this user has no home")
        return
    most = f" of at most {facts['most_megabytes']:g} MB" if limit else ", without a limit"
    print_text(console, escaped(str(folder)), "bold")
    print_text(console, f"{len(files)} files, {facts['megabytes']:.1f} MB{most}")
    if files:
        print_text(console, f"the oldest was used {facts['oldest_use_days']:.0f} days ago")


@cache.command(name="clear")
def clear_cache(*, as_json: Json = False) -> None:
    """Remove all code from the cache.

    It is compiled again when it is needed.

    linkwork cache clear
    """
    folder = cache_folder()
    count = clear(folder) if folder else 0
    if as_json:
        print_json({"files_removed": count})
        return
    print_text(terminal(), f"{count} files removed")


app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
DESCRIBE = (info, tree, check, robots, compare, conventions, envs)
COMPUTE = (fk, dynamics, ik, simulate, demo)
SHOW_OR_WRITE = (view, convert, spherize, export)
COMMANDS = (*DESCRIBE, *COMPUTE, *SHOW_OR_WRITE)
for command in COMMANDS:
    app.command()(command)
app.add_typer(cache, name="cache")


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"linkwork {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, help="print the version"),
]


@app.callback(invoke_without_command=True)
def linkwork(context: typer.Context, *, version: Version = False) -> None:
    """Kinematics and dynamics of robots.

    A robot is a file or a name that `linkwork robots` lists. Values of the arguments of a xacro
    file follow its name, as in `linkwork info robot.urdf.xacro gripper:=true`.
    """
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command; an error becomes one message and exit code 2."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        print_message("standard output is closed")
        sys.exit(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for encodings that lack a character
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of other packages
            warnings.simplefilter("default", LinkworkWarning)
            warnings.showwarning = _print_warning
            words, arguments = split_xacro_arguments(sys.argv[1:])
            xacro_arguments.set(arguments)
            code = app(words, prog_name="linkwork", standalone_mode=False)
        sys.stdout.flush()
    except USAGE_ERROR as error:
        words = error.ctx.command_path if error.ctx else "linkwork"
        text = error.format_message().rstrip(".")
        if words == "linkwork ik" and LOOSE_NUMBERS.search(text):
            text += "; the target is an option, such as --position 0.5,0.2,0.6"
        print_message(f"{text}{'' if text.endswith('?') else ';'} see `{words} --help`")
        code = 2
    except LinkworkError as error:
        print_message(str(error))
        code = 2
    except typer.Abort:
        code = INTERRUPTED
    except OSError as error:
        _drop_output()
        if isinstance(error, BrokenPipeError):
            sys.exit(1)  # such as `linkwork tree arm | head -1`
        print_message(f"cannot write: {error.strerror}")
        code = 2
    sys.exit(code)


def _print_warning(message: Warning | str, *_args: Any, **_options: Any) -> None:
    """Print a warning of linkwork as the commands print errors, in place of Python's format."""
    text = str(message)
    if isinstance(message, FloatingBaseWarning):
        text = text.replace("floating=False", "--fixed").replace("floating=True", "--floating")
    text = re.sub(r"q is in radians: .*", "write degrees as 30deg", text)
    print_message(text, "warning")


def _drop_output() -> None:
    """Discard what is still to be written, or Python would report it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
