"""Coverage of the cells and points of a link by few spheres.

Candidates are points inside the solid with the radius depth + tolerance. A greedy set cover chooses
some, groups of neighbors are replaced by smaller groups where possible, and each ball shrinks to
the cells it is needed for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwork.collision.spheres.cells import Target
from linkwork.engine.symbolic.arrays import Array

PART_CELLS = 6000  # cells and points that are searched at once
MOST_CANDIDATES = 1000
PASSES = 4  # with more candidates each
ROUNDS = 30  # of the search for fewer balls, at most in each pass
ROUNDS_PER_BALL = 8
NEIGHBORS = 6  # at most: balls that are replaced at once
NEAR_CANDIDATES = 250  # that may replace them
SLACK = 1e-9  # relative: radii are enlarged by this, so that rounding does not uncover a cell


@dataclass(frozen=True, eq=False)
class Balls:
    """Balls that cover a target, sorted by radius."""

    centers: Array  # (k, 3)
    radii: Array  # (k,)
    protrusion: float  # at most: how far they reach out of the solid [m]


@dataclass(eq=False)
class Candidates:
    """Balls as large as the tolerance allows, and what they cover."""

    target: Target
    tolerance: float
    centers: Array  # (k, 3)
    radii: Array  # (k,) depth + tolerance, or what a cell larger than that needs
    covers: Array  # (k, m + n) bool

    @classmethod
    def about(cls, target: Target, tolerance: float, centers: Array) -> Candidates:
        """Balls about centers; those that cover nothing are left out."""
        radii = target.depth(centers) + tolerance
        useful = radii > 0
        centers, radii = centers[useful], radii[useful]
        return cls(target, tolerance, centers, radii, target.farthest(centers) <= radii[:, None])

    def extended(self, centers: Array) -> Candidates:
        """With balls about further centers."""
        more = Candidates.about(self.target, self.tolerance, centers)
        return self._joined(more.centers, more.radii, more.covers)

    def with_large_cells(self) -> Candidates:
        """With a ball for each cell that no ball covers, which protrudes more than allowed."""
        missing = np.flatnonzero(~self.covers.any(axis=0))
        if not len(missing):
            return self
        middles = np.concatenate([self.target.corners.mean(axis=1), self.target.points])[missing]
        far = self.target.farthest(middles)
        radii = far[np.arange(len(missing)), missing]
        return self._joined(middles, radii, far <= radii[:, None])

    def _joined(self, centers: Array, radii: Array, covers: Array) -> Candidates:
        return Candidates(
            self.target,
            self.tolerance,
            np.concatenate([self.centers, centers]),
            np.concatenate([self.radii, radii]),
            np.concatenate([self.covers, covers]),
        )


def cover_by_balls(target: Target, tolerance: float) -> Balls:
    """Cover a target by few balls that protrude by no more than the tolerance."""
    fits = [fit for part in _parts(target) for fit in _cover_part(part, tolerance)]
    centers = np.array([center for center, _, _ in fits])
    smallest = np.array([radius for _, radius, _ in fits])
    depths = np.array([depth for _, _, depth in fits])
    radii = shared_radii(smallest, np.maximum(depths + tolerance, smallest))
    order = np.lexsort((*centers.T[::-1], radii))
    return Balls(centers[order], radii[order], max(float((radii - depths).max()), 0.0))


def _parts(target: Target) -> list[Target]:
    """Halves of halves of a large target, each small enough to search."""
    middles = np.concatenate([target.corners.mean(axis=1), target.points])
    if len(middles) <= PART_CELLS:
        return [target]
    along = middles[:, int(np.ptp(middles, axis=0).argmax())]
    m, low = len(target.corners), along < np.median(along)
    if not low.any():
        return [target]
    halves = [
        replace(
            target,
            corners=target.corners[side[:m]],
            radii=target.radii[side[:m]],
            areas=target.areas[side[:m]],
            points=target.points[side[m:]],
        )
        for side in (low, ~low)
    ]
    return [part for half in halves for part in _parts(half)]


def _cover_part(target: Target, tolerance: float) -> list[tuple[Array, float, float]]:
    """Center, smallest radius and depth of balls that cover a part."""
    rng = np.random.default_rng(0)
    candidates = Candidates.about(target, tolerance, _first_centers(target)).with_large_cells()
    chosen = _greedy(candidates.covers, target.weights)
    for step in range(PASSES):
        chosen = _improved(candidates, chosen, rng)
        if len(chosen) > 1 and step + 1 < PASSES:  # more candidates about those chosen
            count = MOST_CANDIDATES // (2 * len(chosen)) + 1
            spread = target.spacing / 2**step
            offsets = rng.uniform(-spread, spread, (count, len(chosen), 3))
            around = (candidates.centers[chosen] + offsets).reshape(-1, 3)
            candidates = candidates.extended(around)
    return _fitted(candidates, chosen)


def _first_centers(target: Target) -> Array:
    """Points inside, centers of cells, and the middle."""
    cells = target.corners.mean(axis=1)
    every = np.concatenate([cells, target.points])
    low, high = every.min(axis=0), every.max(axis=0)
    room = MOST_CANDIDATES - 1
    surface = _thinned(cells, max(room - len(target.points), room // 4))
    inside = _thinned(target.points, room - len(surface))
    return np.concatenate([inside, surface, ((low + high) / 2)[None]])


def _thinned(points: Array, most: int) -> Array:
    step = -(-len(points) // most) if len(points) else 1
    return points[::step]


def _greedy(covers: Array, weights: Array) -> list[int]:
    """A set cover: again and again the candidate that covers the most of what is left.

    Cells that few candidates cover, such as those at edges, weigh more.
    """
    chosen: list[int] = []
    covers = covers.astype(np.float32)
    left = (weights / np.einsum("ij->j", covers)).astype(np.float32)  # zero for what is covered
    while left.any():
        best = int(np.einsum("ij,j->i", covers, left).argmax())
        chosen.append(best)
        left *= 1 - covers[best]
    return chosen


def _improved(candidates: Candidates, chosen: list[int], rng: np.random.Generator) -> list[int]:
    """Fewer candidates: neighbors are replaced by a new cover of what only they cover."""
    covers, centers, weights = candidates.covers, candidates.centers, candidates.target.weights
    times = covers[chosen].sum(axis=0, dtype=np.int32)  # how many of the chosen cover each cell
    chosen, times = _without_redundant(covers, times, chosen, chosen)
    for _ in range(min(ROUNDS, ROUNDS_PER_BALL * (len(chosen) - 1))):
        middle = centers[chosen[rng.integers(len(chosen))]]
        distances = np.linalg.norm(centers[chosen] - middle, axis=1)
        near = [chosen[k] for k in np.argsort(distances, kind="stable")[: 3 * NEIGHBORS]]
        removed = near[: rng.integers(2, NEIGHBORS + 1)]
        rest = times - covers[removed].sum(axis=0, dtype=np.int32)
        uncovered = np.flatnonzero(rest == 0)
        useful = _nearest_rows(centers, centers[removed].mean(axis=0), removed)
        noise = weights[uncovered] * rng.uniform(0.5, 1.5, len(uncovered))
        new = [int(useful[k]) for k in _greedy(covers[useful][:, uncovered], noise)]
        attempt = [*(index for index in chosen if index not in set(removed)), *new]
        near = [*(index for index in near if index not in set(removed)), *new]
        rest += covers[new].sum(axis=0, dtype=np.int32)
        attempt, rest = _without_redundant(covers, rest, attempt, near)
        if len(attempt) <= len(chosen):
            chosen, times = attempt, rest
    return chosen


def _nearest_rows(centers: Array, middle: Array, always: Sequence[int]) -> Array:
    """Indices of the centers nearest to a point, and of some that are always included."""
    squares = ((centers - middle) ** 2).sum(axis=1)
    if len(centers) <= NEAR_CANDIDATES:
        return np.arange(len(centers))
    return np.union1d(np.argpartition(squares, NEAR_CANDIDATES)[:NEAR_CANDIDATES], always)


def _without_redundant(
    covers: Array, times: Array, chosen: Sequence[int], tested: Sequence[int]
) -> tuple[list[int], Array]:
    """Return the chosen candidates without the redundant ones among `tested`, small ones first.

    `times` is how many of the chosen cover each cell; it is returned for the result.
    """
    rows = covers[tested]
    dropped: set[int] = set()
    for k in np.argsort(rows.sum(axis=1), kind="stable"):
        rest = times - rows[k]
        if rest.min() > 0:
            times = rest
            dropped.add(tested[k])
    return [index for index in chosen if index not in dropped], times


def _fitted(candidates: Candidates, chosen: Sequence[int]) -> list[tuple[Array, float, float]]:
    """The chosen balls, each as small as the cells that it alone has to cover allow."""
    target, middle = candidates.target, candidates.centers[chosen]
    owner = (target.farthest(middle) - candidates.radii[chosen][:, None]).argmin(axis=0)
    return [_fit(target, middle[k], np.flatnonzero(owner == k)) for k in np.unique(owner)]


def _fit(target: Target, center: Array, indices: Array) -> tuple[Array, float, float]:
    """A ball around cells and points: about a center, or about one where it protrudes less.

    Returns:
        center, radius, depth of the center.
    """
    points, around = target.members(indices)
    trials = [center]
    x = center
    for step in range(1, 40):  # toward the center of the smallest ball
        far = (np.linalg.norm(points - x, axis=-1) + around).argmax()
        x = x + (points[far] - x) / (step + 1)
        if step in (4, 12, 39):
            trials.append(x)
    radii = [float((np.linalg.norm(points - x, axis=-1) + around).max()) for x in trials]
    depths = target.depth(np.array(trials))
    best = int((np.array(radii) - depths).argmin())
    return trials[best], radii[best] * (1 + SLACK), float(depths[best])


def shared_radii(smallest: Array, largest: Array) -> Array:
    """As few distinct radii as possible, each within the bounds of its ball, and small."""
    radii = np.empty(len(smallest))
    left = list(np.argsort(largest, kind="stable"))
    while left:
        limit = largest[left[0]]
        group = [index for index in left if smallest[index] <= limit]
        radii[group] = smallest[group].max()
        left = [index for index in left if smallest[index] > limit]
    return radii
