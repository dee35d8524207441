"""The command that prints convention cards."""

from __future__ import annotations

from typing import Annotated

import typer

from linkwork.cli.commands import Json
from linkwork.cli.complete import card_names
from linkwork.cli.data import json_data
from linkwork.cli.json import print_json
from linkwork.cli.show import print_table, terminal
from linkwork.model.table import Table

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="a system, such as pinocchio; all if not given",
        autocompletion=card_names,
    ),
]


def conventions(name: Name = None, *, as_json: Json = False) -> None:
    """Show a library's conventions.

    Configurations, velocities, forces and more; without NAME the systems are listed.

    linkwork conventions pinocchio
    """
    from linkwork.compat.cards import all_cards, card, rows

    cards = all_cards() if name is None else (card(name),)
    if as_json:
        print_json(json_data(cards if name is None else cards[0]))
    elif name is None:
        listed = tuple((one.name, one.q) for one in cards)
        print_table(terminal(), Table("Convention cards", ("system", "configuration"), listed))
    else:
        heading = f"Conventions of {cards[0].name}"
        print_table(terminal(), Table(heading, ("what", "how"), rows(cards[0])))
