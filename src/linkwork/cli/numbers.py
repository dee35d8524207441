"""Numbers as people write them on a command line: `elbow=0.3`, `elbow=30deg`, `0.1,0.2,0.3`."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, radians

import typer

DEGREES = "deg"


def number(text: str, what: str) -> float:
    """A number [m] or [rad], or an angle with `deg` after it."""
    plain = text.strip()
    in_degrees = plain.endswith(DEGREES)
    try:
        value = float(plain.removesuffix(DEGREES))
    except ValueError:
        raise typer.BadParameter(f"{what}: {text!r} is no number") from None
    if not isfinite(value):
        raise typer.BadParameter(f"{what}: {text!r} is not finite")
    return radians(value) if in_degrees else value


def numbers(text: str, count: int, what: str) -> list[float]:
    """So many numbers with commas or spaces between them."""
    found = [number(part, what) for part in text.replace(",", " ").split()]
    if len(found) != count:
        raise typer.BadParameter(f"{what}: expected {count} numbers, got {len(found)}")
    return found


def by_joint(given: Sequence[str], option: str) -> dict[str, list[float]]:
    """Values by joint from `joint=value`; joints of several coordinates have commas."""
    found: dict[str, list[float]] = {}
    for text in given:
        name, is_split, value = text.rpartition("=")
        if not is_split or not name:
            raise typer.BadParameter(f"{option}: expected joint=value, got {text!r}")
        if name in found:
            raise typer.BadParameter(f"{option}: joint {name!r} is given twice")
        found[name] = [number(part, f"{option} {name}") for part in value.split(",")]
    return found
