"""The one walk over the links of a robot: from a base outwards, every link once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from linkwork.model.model import Model
from linkwork.model.parts import Joint


class Visit(NamedTuple):
    """A link, and how a walk reaches it; the base has no parent and no joint."""

    link: str
    parent: str | None
    joint: Joint | None


Arrange: TypeAlias = Callable[[Sequence[Visit]], Sequence[Visit]]


def walk(model: Model, base: str, arranged: Arrange | None = None) -> Iterator[Visit]:
    """Visit every link depth first, each parent before its children; iterative, so of any depth.

    Args:
        model: the robot.
        base: the link to start from.
        arranged: puts the visits that lead on from one link in order; if not given, they come in
            the order of the joints.

    Raises:
        NameNotFoundError: the model has no such link.
    """
    waiting = [Visit(base, None, None)]
    while waiting:
        here = waiting.pop()
        yield here
        onward: Sequence[Visit] = [
            Visit(other, here.link, model.joint(joint))
            for other, joint in model.neighbors(here.link)
            if other != here.parent
        ]
        waiting.extend(reversed(arranged(onward) if arranged else onward))
