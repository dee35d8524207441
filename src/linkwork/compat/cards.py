"""Convention cards: how each library represents the quantities that all of them compute.

    print(card("pinocchio").quaternion)

The facts are in convention_cards.md beside this file, which is also a page of the documentation.
A card has only known facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from linkwork.errors import name_not_found


@dataclass(frozen=True, slots=True)
class Card:
    """The conventions of one library, one sentence each; "none" where it has no such quantity.

    The fields are in the order of the rows of its table.
    """

    name: str
    version: str  # of the library, and the source of the facts
    q: str
    quaternion: str
    base_velocity: str
    six_vectors: str
    jacobian: str
    acceleration: str
    joint_order: str
    continuous: str
    mimic: str
    fixed_joints: str
    gravity: str
    inertia: str
    wrench: str
    regressor: str
    to_linkwork: str


def card(name: str) -> Card:
    """Return the card of a library.

    Raises:
        NameNotFoundError: there is no card with that name.
    """
    cards = {one.name: one for one in all_cards()}
    if name.lower() not in cards:
        raise name_not_found("convention card", name, cards)
    return cards[name.lower()]


@cache
def all_cards() -> tuple[Card, ...]:
    """Return every card, linkwork's first."""
    return tuple(Card(name, *(text for _, text in facts)) for name, facts in _tables().items())


def rows(one: Card) -> tuple[tuple[str, str], ...]:
    """Return (label, text) of each fact of a card."""
    return _tables()[one.name]


def page() -> str:
    """Return all cards as Markdown."""
    return files("linkwork.compat").joinpath("convention_cards.md").read_text("utf-8")


@cache
def _tables() -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the rows of each table of the page, by the name of the library."""
    tables: dict[str, tuple[tuple[str, str], ...]] = {}
    for section in page().split("\n## ")[1:]:
        name, *lines = section.splitlines()
        _, _, *facts = [line.strip("| ") for line in lines if line.startswith("|")]
        pairs = (fact.split(" | ") for fact in facts)
        tables[name] = tuple((label, text) for label, text in pairs)
    return tables
