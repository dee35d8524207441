"""The limits of a robot's coordinates, with those of joints that depend on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.layout import Layout


@dataclass(frozen=True)
class Bounds:
    """Which numbers of q and nu have limits, and which these are."""

    at_q: Array  # (n,) indices in q
    at_nu: Array  # (n,) indices in nu
    lower: Array  # (n,)
    upper: Array  # (n,)
    names: tuple[str, ...]  # of the joints
    lowest: Array  # (nq,) the lower limits of all numbers of q, -inf for those without
    highest: Array  # (nq,)

    def clamped(self, q: Array) -> Array:
        """(..., nq) the nearest configuration within the limits, a new array."""
        return np.minimum(np.maximum(q, self.lowest), self.highest)

    def sides(self, q: Array) -> dict[str, Array]:
        """By joint: (...,) -1 at its lower limit, 1 at its upper one, else 0; -1 at both."""
        at = q[..., self.at_q]
        at_lower, at_upper = at <= self.lower, at >= self.upper
        sides = at_upper.astype(np.int8) * ~at_lower - at_lower.astype(np.int8)
        return {name: sides[..., k] for k, name in enumerate(self.names)}


def bounds_of(layout: Layout, limits: bool = True) -> Bounds:
    """The limits of a robot's joints, or none."""
    ends = _limits(layout) if limits else {}
    names = tuple(name for name, pair in ends.items() if np.isfinite(pair).any())
    at_q = np.array([layout.q[name].start for name in names], dtype=np.intp)
    lower = np.array([ends[name][0] for name in names])
    upper = np.array([ends[name][1] for name in names])
    lowest, highest = np.full(layout.nq, -np.inf), np.full(layout.nq, np.inf)
    lowest[at_q], highest[at_q] = lower, upper
    at_nu = np.array([layout.nu[name].start for name in names], dtype=np.intp)
    return Bounds(at_q, at_nu, lower, upper, names, lowest, highest)


def _limits(layout: Layout) -> dict[str, list[float]]:
    """The limits of joints with one coordinate; a dependent joint limits the one it depends on."""
    limits = {
        name: [layout.model.joint(name).limits.lower, layout.model.joint(name).limits.upper]
        for name in layout.joint_names
        if layout.model.joint(name).nq == layout.model.joint(name).nv == 1
    }
    for name, follower in layout.followers.items():
        own = layout.model.joint(name).limits
        if follower.multiplier == 0.0 or follower.leader not in limits:
            continue
        ends = [(end - follower.offset) / follower.multiplier for end in (own.lower, own.upper)]
        leader = limits[follower.leader]
        limits[follower.leader] = [max(leader[0], min(ends)), min(leader[1], max(ends))]
    # limits that exclude each other leave the joint's own in force
    for name, (lower, upper) in limits.items():
        if lower > upper:
            own = layout.model.joint(name).limits
            limits[name] = [own.lower, own.upper]
    return limits
