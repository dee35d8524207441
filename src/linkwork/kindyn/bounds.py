"""Which coordinates of a robot may move, and their limits, including those of dependent joints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, name_not_found
from linkwork.mechanics.problem import Problem
from linkwork.model.layout import BASE_NV, Layout


@dataclass(frozen=True)
class Bounds:
    """The coordinates that have limits, and their limits."""

    q_indices: Array  # (n,) indices in q
    nu_indices: Array  # (n,) indices in nu
    lower: Array  # (n,)
    upper: Array  # (n,)
    names: tuple[str, ...]  # (n,) of the joints
    lowest: Array  # (nq,) lower limits of all entries of q, -inf for those without
    highest: Array  # (nq,) upper limits of all entries of q, inf for those without

    def clamped(self, q: Array) -> Array:
        """(..., nq) the nearest configuration within the limits, as a new array."""
        return np.minimum(np.maximum(q, self.lowest), self.highest)

    def sides(self, q: Array) -> dict[str, Array]:
        """By joint: (...,) -1 at its lower limit, 1 at its upper limit, else 0; -1 at both."""
        position = q[..., self.q_indices]
        at_lower, at_upper = position <= self.lower, position >= self.upper
        sides = at_upper.astype(np.int8) * ~at_lower - at_lower.astype(np.int8)
        return {name: sides[..., k] for k, name in enumerate(self.names)}


def bounds_of(layout: Layout, limits: bool = True) -> Bounds:
    """The limits of a robot's joints, or none."""
    ends = _limits(layout) if limits else {}
    names = tuple(name for name, pair in ends.items() if np.isfinite(pair).any())
    q_indices = np.array([layout.q[name].start for name in names], dtype=np.intp)
    lower = np.array([ends[name][0] for name in names])
    upper = np.array([ends[name][1] for name in names])
    lowest, highest = np.full(layout.nq, -np.inf), np.full(layout.nq, np.inf)
    lowest[q_indices], highest[q_indices] = lower, upper
    nu_indices = np.array([layout.nu[name].start for name in names], dtype=np.intp)
    return Bounds(q_indices, nu_indices, lower, upper, names, lowest, highest)


def _limits(layout: Layout) -> dict[str, list[float]]:
    """Limits of joints with one coordinate; a dependent joint also limits its leader."""
    limits = {
        name: [layout.model.joint(name).limits.lower, layout.model.joint(name).limits.upper]
        for name in layout.joint_names
        if layout.model.joint(name).nq == layout.model.joint(name).nv == 1
    }
    for name, follower in layout.followers.items():
        if follower.multiplier == 0.0 or follower.leader not in limits:
            continue
        joint = layout.model.joint(name).limits
        ends = [(end - follower.offset) / follower.multiplier for end in (joint.lower, joint.upper)]
        leader = limits[follower.leader]
        limits[follower.leader] = [max(leader[0], min(ends)), min(leader[1], max(ends))]
    # if they contradict each other, only the limits of the joint itself apply
    for name, (lower, upper) in limits.items():
        if lower > upper:
            joint = layout.model.joint(name).limits
            limits[name] = [joint.lower, joint.upper]
    return limits


def free_coordinates(problem: Problem, fixed: Iterable[str]) -> Array:
    """(nv,) 0 for the coordinates of fixed joints, and of a floating base named "base", else 1."""
    layout = problem.layout
    spans = {**({"base": slice(0, BASE_NV)} if layout.floating else {}), **layout.nu}
    known, free = list(spans), np.ones(layout.nv)
    for name in fixed:
        if name in problem.rows and name not in known:
            raise no_coordinate(name)
        if name not in known:
            raise name_not_found("joint", name, known)
        free[spans[name]] = 0.0
    return free


def no_coordinate(name: str) -> ArgumentError:
    """The error for a loop or constraint in place of a joint with coordinates."""
    text = f"{name!r} closes a loop or is a constraint, so it has no coordinate in q"
    return ArgumentError(f"{text}; KinDyn(model, cut=[...]) cuts another joint of a loop")
