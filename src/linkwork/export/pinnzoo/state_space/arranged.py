"""A robot as a state vector needs it: joints in a fixed order, each with one coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkwork.errors import model_error
from linkwork.model.model import Model
from linkwork.model.tree import Visit, walk

KINDS = ("fixed", "prismatic", "revolute")


def arranged(model: Model, base: str | None = None) -> Model:
    """The same robot, its joints depth first from the base and siblings in alphabetical order.

    That is the order in which Pinocchio reads a URDF file, and so the order of PinnZoo's vectors.
    """
    start = model.default_base if base is None else model.frame(base).link
    visits = walk(model, start, _by_name)
    return replace(model, joints=tuple(visit.joint for visit in visits if visit.joint))


def check_joints(model: Model) -> None:
    """Refuse joints whose position is not one number that changes at the rate of the velocity.

    Raises:
        ModelError: it names the joint.
    """
    for joint in model.joints:
        if joint.kind not in KINDS:
            text = f"{joint.kind} joints have no place in a state vector x = [q; v] of PinnZoo"
            raise model_error(f"{text}; known: {', '.join(KINDS)}", f"joint {joint.name!r}")


def _by_name(onward: Sequence[Visit]) -> Sequence[Visit]:
    return sorted(onward, key=lambda visit: visit.joint.name if visit.joint else "")
