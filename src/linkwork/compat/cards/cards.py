"""What a convention card holds, how one is found, and the page of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from linkwork.errors import name_not_found


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The conventions of one system, a sentence each; "none" where it has no such thing."""

    name: str
    version: str  # that the facts were found in, and how
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


LABELS: Mapping[str, str] = MappingProxyType(
    {
        "version": "facts from",
        "q": "configuration",
        "quaternion": "quaternion",
        "base_velocity": "base velocity",
        "six_vectors": "6-vectors",
        "jacobian": "frame Jacobian",
        "acceleration": "acceleration",
        "joint_order": "joint order",
        "continuous": "continuous joints",
        "mimic": "mimic joints",
        "fixed_joints": "fixed joints",
        "gravity": "gravity",
        "inertia": "inertia of a link",
        "wrench": "external wrench",
        "regressor": "parameters",
        "to_linkwork": "to linkwork",
    }
)

HEAD = """# Convention cards

How linkwork and other systems write what all of them compute. `linkwork conventions NAME` prints
one card; `linkwork.compat.cards.card(name)` is the same as data. Mixed, body and inertial are
explained in [Velocity representations](representations.md). Most of what the cards of Pinocchio,
iDynTree and MuJoCo say of orders, axes, signs and defaults is compared with the packages by tests;
the rest is from documents and sources.
"""


def card(name: str) -> Card:
    """The card of a system.

    Raises:
        NameNotFoundError: there is no card of that name.
    """
    cards = {one.name: one for one in all_cards()}
    if name.lower() not in cards:
        raise name_not_found("convention card", name, cards)
    return cards[name.lower()]


def all_cards() -> tuple[Card, ...]:
    """Every card, linkwork's first."""
    from linkwork.compat.cards.data import CARDS

    return CARDS


def rows(one: Card) -> tuple[tuple[str, str], ...]:
    """(label, text) of each fact of a card."""
    names = [field.name for field in fields(one) if field.name != "name"]
    return tuple((LABELS[name], getattr(one, name)) for name in names)


def page() -> str:
    """All cards as Markdown."""
    parts = [HEAD]
    for one in all_cards():
        lines = [f"| {label} | {text} |" for label, text in rows(one)]
        head = [f"## {one.name}", "", "| subject | convention |", "|---|---|"]
        parts.append("\n".join([*head, *lines, ""]))
    return "\n".join(parts)
