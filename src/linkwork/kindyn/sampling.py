"""Configurations drawn at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.arrays import Array
from linkwork.model.kinds import KINDS, JointKind
from linkwork.model.layout import BASE_NQ, Layout
from linkwork.model.parts import NO_LIMITS, Limits


def random_configurations(layout: Layout, batch: Sequence[int], rng: np.random.Generator) -> Array:
    """Random configurations: joints within their limits, or within [-pi, pi] and [-1, 1].

    Returns:
        (*batch, nq); the base within one metre of the world's origin, with a random rotation.
    """
    q = np.empty((*batch, layout.nq))
    if layout.floating:
        q[..., :BASE_NQ] = _random_positions(KINDS["floating"], NO_LIMITS, batch, rng)
    for name, span in layout.q.items():
        joint = layout.model.joint(name)
        q[..., span] = _random_positions(joint.motion_kind, joint.limits, batch, rng)
    return q


def _random_positions(
    kind: JointKind, limits: Limits, batch: Sequence[int], rng: np.random.Generator
) -> Array:
    """(*batch, nq) positions within limits or the kind's reach; unit-norm parts evenly spread."""
    reach = np.array(kind.reach)
    lower = limits.lower if np.isfinite(limits.lower) else -reach
    upper = limits.upper if np.isfinite(limits.upper) else np.maximum(reach, lower)
    theta = rng.uniform(np.minimum(lower, upper), upper, (*batch, kind.nq))
    for part in kind.unit_norm:
        direction = rng.normal(size=(*batch, part.count))
        norm = np.linalg.norm(direction, axis=-1, keepdims=True)
        theta[..., part.start : part.start + part.count] = direction / norm
    return theta
