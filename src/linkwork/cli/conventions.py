"""The command that prints convention cards."""

from __future__ import annotations

from typing import Annotated

import typer

from linkwork.cli.show import print_table, terminal
from linkwork.compat.cards import all_cards, card, rows
from linkwork.model.describe import Table

Name = Annotated[str | None, typer.Argument(help="a system, such as pinocchio; all if not given")]


def conventions(name: Name = None) -> None:
    """Print how a system writes configurations, velocities, forces; without NAME list them."""
    if name is None:
        listed = tuple((one.name, one.q) for one in all_cards())
        print_table(terminal(), Table("Convention cards", ("system", "configuration"), listed))
        return
    one = card(name)
    print_table(terminal(), Table(f"Conventions of {one.name}", ("what", "how"), rows(one)))
