"""The command that lists the robots that have names."""

from __future__ import annotations

import textwrap
from typing import Any

from linkwork.cli.commands import Json
from linkwork.cli.data import summary_data
from linkwork.cli.json import print_json
from linkwork.cli.show import print_text, terminal
from linkwork.io.named_robots import (
    DESCRIPTIONS,
    EXAMPLES,
    OWN,
    described_robots,
    downloaded_robots,
    example_robots,
)

WIDTH = 79  # of lists of names


def robots(*, as_json: Json = False) -> None:
    """List the robots that every command takes by name.

    linkwork robots
    """
    from linkwork import robots as bundled
    from linkwork.model.describe import summary

    models = {name: bundled.load(name) for name in bundled.names()}
    if as_json:
        own = [
            {"name": name, "package": OWN, "file": str(bundled.path(name)), **summary_data(model)}
            for name, model in models.items()
        ]
        print_json([*own, *_others()])
        return
    console = terminal()
    print_text(console, f"bundled with {OWN}", "bold")
    for model in models.values():
        print_text(console, summary(model))
    ready = downloaded_robots()
    told = f"{len(described_robots())} robots, of which {len(ready)} are downloaded"
    for package, names, how_many in (
        (EXAMPLES, tuple(example_robots()), f"{len(example_robots())} names"),
        (DESCRIPTIONS, ready, told),
    ):
        print_text(console, "")
        installed = bool(names) or (package == DESCRIPTIONS and bool(described_robots()))
        heading = how_many if installed else f"not installed: pip install {package}"
        print_text(console, f"{package}: {heading}", "bold")
        for line in textwrap.wrap(", ".join(names), WIDTH, break_on_hyphens=False):
            print_text(console, line)


def _others() -> list[dict[str, Any]]:
    """The robots of other packages, each with the file that it has here, if any."""
    examples = [
        {"name": name, "package": EXAMPLES, "file": str(path)}
        for name, path in example_robots().items()
    ]
    described = [
        {"name": name, "package": DESCRIPTIONS, "file": None} for name in described_robots()
    ]
    return [*examples, *described]
