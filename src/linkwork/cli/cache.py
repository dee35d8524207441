"""The commands about the cache of machine code."""

from __future__ import annotations

import time
from typing import Any

import typer

from linkwork.cli.output import print_json, print_text, terminal
from linkwork.cli.robot_files import Json
from linkwork.engine.runtime.cache import MEGABYTE, cache_folder, cached_files, clear, size_limit
from linkwork.errors import escaped

cache = typer.Typer()


@cache.callback(invoke_without_command=True)
def overview(context: typer.Context) -> None:
    """Show or clear the cache of machine code.

    linkwork cache info
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@cache.command()
def info(*, as_json: Json = False) -> None:
    """Print where the cache is, how large it is, and its limit.

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
def clear_all(*, as_json: Json = False) -> None:
    """Remove all code from the cache; it is compiled again when it is needed.

    linkwork cache clear
    """
    folder = cache_folder()
    count = clear(folder) if folder else 0
    if as_json:
        print_json({"files_removed": count})
        return
    print_text(terminal(), f"{count} files removed")
