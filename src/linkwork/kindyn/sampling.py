"""Configurations drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.joints import KINDS, JointKind
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
    theta = rng.uniform(*_bounds(kind, limits), (*batch, kind.nq))
    for part in kind.unit_norm:
        direction = rng.normal(size=(*batch, part.count))
        norm = np.linalg.norm(direction, axis=-1, keepdims=True)
        theta[..., part.start : part.start + part.count] = direction / norm
    return theta


def _bounds(kind: JointKind, limits: Limits) -> tuple[Array, Array]:
    """(nq,) the least and the largest positions: the limits, or the kind's reach."""
    reach = np.array(kind.reach)
    lower = limits.lower if np.isfinite(limits.lower) else -reach
    upper = limits.upper if np.isfinite(limits.upper) else np.maximum(reach, lower)
    return np.minimum(lower, upper), np.asarray(upper)


@dataclass(frozen=True)
class Ranges:
    """The ranges of all numbers of q, for drawing many configurations at once.

    The configurations are distributed as those of `random_configurations`, but are other ones for
    the same generator: here all numbers are drawn together, which is several times faster.
    """

    lower: Array  # (nq,)
    upper: Array  # (nq,)
    unit_norms: tuple[slice, ...]  # quaternions and (cos, sin)

    def draw(self, rows: int, rng: np.random.Generator) -> Array:
        """(rows, nq) configurations."""
        q = rng.random((rows, len(self.lower)))
        q *= self.upper - self.lower
        q += self.lower
        for span in self.unit_norms:
            direction = rng.standard_normal((rows, span.stop - span.start))
            q[:, span] = direction / np.linalg.norm(direction, axis=-1, keepdims=True)
        return q


def ranges_of(layout: Layout) -> Ranges:
    """The ranges of a robot's configurations."""
    lower, upper = np.zeros(layout.nq), np.zeros(layout.nq)
    parts = [(slice(0, BASE_NQ), KINDS["floating"], NO_LIMITS)] if layout.floating else []
    for name, span in layout.q.items():
        joint = layout.model.joint(name)
        parts.append((span, joint.motion_kind, joint.limits))
    for span, kind, limits in parts:
        lower[span], upper[span] = _bounds(kind, limits)
    unit_norms = tuple(
        slice(span.start + part.start, span.start + part.start + part.count)
        for span, kind, _ in parts
        for part in kind.unit_norm
    )
    return Ranges(lower, upper, unit_norms)
