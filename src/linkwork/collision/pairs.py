"""Which links of a robot can collide with each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import ArgumentError, name_not_found, shown
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.collision.model import CollisionModel

SAMPLES = 500  # random configurations in which links that always overlap are found


def link_pairs(model: Model, links: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of links that are neither one rigid body nor connected by a joint."""
    group = _rigid_groups(model)
    joined = {frozenset((group[joint.first], group[joint.second])) for joint in model.joints}
    return tuple(
        (a, b)
        for a, b in combinations(links, 2)
        if group[a] != group[b] and frozenset((group[a], group[b])) not in joined
    )


def _rigid_groups(model: Model) -> dict[str, str]:
    """A representative of the links that are fixed to each other, by link."""
    group = {link.name: link.name for link in model.links}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    for joint in model.joints:
        if joint.is_fixed:
            group[root(joint.first)] = root(joint.second)
    return {name: root(name) for name in group}


def named_pairs(pairs: Any, model: Model) -> tuple[tuple[str, str], ...]:
    """Pairs of names, checked: links with collision shapes, each pair once."""
    if not isinstance(pairs, Iterable):
        raise ArgumentError(f"pairs: expected pairs of links, got {shown(pairs)}")
    group = _rigid_groups(model)
    names = [link.name for link in model.links]
    checked: list[tuple[str, str]] = []
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ArgumentError(f"pairs: expected pairs of links, got {shown(pair)}")
        for name in pair:
            if name not in group:
                raise name_not_found("link", name, names)
            if not model.link(name).collisions:
                raise ArgumentError(f"pairs: link {name!r} has no collision shapes")
        a, b = pair
        if group[a] == group[b]:
            raise ArgumentError(f"pairs: {a!r} and {b!r} do not move relative to each other")
        if (a, b) in checked or (b, a) in checked:
            raise ArgumentError(f"pairs: {a!r} and {b!r} are listed twice")
        checked.append((a, b))
    return tuple(checked)


def without_constant_overlap(
    robot: CollisionModel, pairs: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """The pairs that do not overlap in all of many random configurations."""
    if not pairs:
        return ()
    q = robot.kindyn.random(SAMPLES, seed=0)
    overlapping = np.asarray(robot.replace(pairs=pairs).distances(q)) < 0.0
    sometimes_free = np.flatnonzero(~overlapping.all(axis=0))
    return tuple(pairs[k] for k in sometimes_free)
