"""The limits of a robot's coordinates, with those of joints that depend on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Array
from linkwork.model.layout import Layout


@dataclass(frozen=True)
class Bounds:
    """Which numbers of q and nu have limits, and which these are."""

    at_q: Array  # (n,) indices in q
    at_nu: Array  # (n,) indices in nu
    lower: Array  # (n,)
    upper: Array  # (n,)
    names: tuple[str, ...]  # of the joints

    def clamped(self, q: Array) -> Array:
        """(..., nq) the nearest configuration within the limits."""
        found = np.array(q)
        found[..., self.at_q] = np.clip(found[..., self.at_q], self.lower, self.upper)
        return found


NO_BOUNDS = Bounds(
    np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0), ()
)


def bounds_of(layout: Layout) -> Bounds:
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
    names = tuple(name for name, ends in limits.items() if np.isfinite(ends).any())
    return Bounds(
        np.array([layout.q[name].start for name in names], dtype=np.intp),
        np.array([layout.nu[name].start for name in names], dtype=np.intp),
        np.array([limits[name][0] for name in names]),
        np.array([limits[name][1] for name in names]),
        names,
    )
