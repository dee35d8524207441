"""Configurations drawn at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.arrays import Array
from linkwork.model.layout import Layout
from linkwork.model.parts import Joint
from linkwork.spatial.source import quat


def random_configurations(layout: Layout, batch: Sequence[int], rng: np.random.Generator) -> Array:
    """Random configurations: joints within their limits, or within [-pi, pi] and [-1, 1].

    Returns:
        (*batch, nq); the base within one metre of the world's origin, turned at random.
    """
    q = np.empty((*batch, layout.nq))
    if layout.floating:
        q[..., layout.base_position] = rng.uniform(-1, 1, (*batch, 3))
        q[..., layout.base_wxyz] = quat.normalize(rng.normal(size=(*batch, 4)))
    for name, at in layout.q.items():
        q[..., at] = _random_position(layout.model.joint(name), batch, rng)
    return q


def _random_position(joint: Joint, batch: Sequence[int], rng: np.random.Generator) -> Array:
    kind = joint.kind
    if kind in ("spherical", "floating"):
        turned = quat.normalize(rng.normal(size=(*batch, 4)))
        if kind == "spherical":
            return turned
        return np.concatenate([rng.uniform(-1, 1, (*batch, 3)), turned], axis=-1)
    if kind == "revolute_cos_sin":
        angle = rng.uniform(-np.pi, np.pi, batch)
        return np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    if kind == "planar":
        return rng.uniform([-1, -1, -np.pi], [1, 1, np.pi], (*batch, 3))
    reach = 1.0 if kind == "prismatic" else np.pi
    lower = joint.limits.lower if np.isfinite(joint.limits.lower) else -reach
    upper = joint.limits.upper if np.isfinite(joint.limits.upper) else max(reach, lower)
    return rng.uniform(min(lower, upper), upper, (*batch, 1))
