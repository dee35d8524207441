"""How velocities are written: adam's names, and linkwork's."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from linkwork.errors import ValueRangeError, shown
from linkwork.mechanics.base import Representation


class Representations(IntEnum):
    """How velocities of the base and of frames are written."""

    BODY_FIXED_REPRESENTATION = 1
    MIXED_REPRESENTATION = 2
    INERTIAL_FIXED_REPRESENTATION = 3


NAMES: dict[Representations, Representation] = {
    Representations.BODY_FIXED_REPRESENTATION: "body",
    Representations.MIXED_REPRESENTATION: "mixed",
    Representations.INERTIAL_FIXED_REPRESENTATION: "inertial",
}


def name_of(representation: Any) -> Representation:
    """Linkwork's name of a representation.

    Raises:
        ValueRangeError: there is no such representation.
    """
    try:
        return NAMES[Representations(int(representation))]
    except (TypeError, ValueError):
        known = ", ".join(Representations.__members__)
        text = f"unknown representation {shown(representation)}; known: {known}"
        raise ValueRangeError(text) from None
