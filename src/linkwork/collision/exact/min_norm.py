"""The closest points of two convex shapes without their balls, at many poses at once.

The distance of shapes A and B is the smallest norm of the points w = b - a of their difference. By
Gilbert, Johnson and Keerthi, the point v of smallest norm of a simplex is improved by the point w
that is farthest against v. All edges and triangles of the simplex are compared, and each result is
a combination of points of the shapes, with weights that are not negative. So rounding errors can
stop the progress early, but do not lead to points outside of the shapes.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.geometry import Support

ITERATIONS = 100
STALLED = 3  # iterations without progress after which a row ends
PROGRESS = 1e-3  # decrease of the difference between both bounds
ROUNDING = 1e-15  # of points, relative to the largest
SMALLEST = 1e-300
EDGES = np.array(list(combinations(range(4), 2)))
TRIANGLES = np.array(list(combinations(range(4), 3)))


def closest_points(a: Support, b: Support, H: Array, towards: Array) -> tuple[Array, Array, Array]:
    """Return points (k, 3) of a and b, and directions (k, 3) from a to b, in the axes of a.

    Args:
        a, b: the shapes, whose balls are ignored.
        H: (k, 4, 4) poses of b in the axes of a.
        towards: (k, 3) directions to start with.
    """
    R, p = H[:, :3, :3], H[:, :3, 3]

    def extreme(v: Array, rows: Array) -> Array:
        """(rows, 2, 3) points of both shapes that are nearest along v."""
        on_a = a.farthest(v)
        on_b = b.farthest(-(v[:, None, :] @ R[rows])[:, 0])
        return np.stack([on_a, p[rows] + (R[rows] @ on_b[..., None])[..., 0]], axis=1)

    def bound(n: Array, rows: Array) -> tuple[Array, Array]:
        """(rows,) separations along n, and (rows, 2, 3) the points that are extreme."""
        points = extreme(n, rows)
        unit = np.maximum(np.linalg.norm(n, axis=-1), SMALLEST)
        return (n * (points[:, 1] - points[:, 0])).sum(axis=-1) / unit, points

    count = len(H)
    start = extreme(towards, np.arange(count))
    corners = np.repeat(start[:, None], 4, axis=1)  # (k, 4, 2, 3)
    points, v = start.copy(), start[:, 1] - start[:, 0]
    least, highest = np.linalg.norm(v, axis=-1), np.full(count, -1.0 / SMALLEST)
    best, n = v.copy(), v.copy()
    rows, stalled = np.arange(count), np.zeros(count, dtype=int)
    for _ in range(ITERATIONS):
        lower, added = bound(n[rows], rows)
        other, others = bound(v[rows], rows)
        is_other = other > lower
        lower = np.where(is_other, other, lower)
        added[is_other] = others[is_other]
        gap = PROGRESS * (least[rows] - highest[rows])
        is_faster = lower > highest[rows] + gap
        is_higher = lower > highest[rows]
        at = rows[is_higher]
        best[at] = np.where(is_other[:, None], v[rows], n[rows])[is_higher]
        highest[at] = lower[is_higher]
        size = np.abs(added).max(axis=(1, 2), initial=0.0)
        is_open = least[rows] - highest[rows] > ROUNDING * (size + least[rows])
        rows, added = rows[is_open], added[is_open]
        gap, is_faster = gap[is_open], is_faster[is_open]
        if not rows.size:
            break
        corners[rows, 3] = added
        weights, n[rows] = _smallest(corners[rows, :, 1] - corners[rows, :, 0])
        combined = (weights[:, :, None, None] * corners[rows]).sum(axis=1)
        v[rows] = combined[:, 1] - combined[:, 0]
        norm = np.linalg.norm(v[rows], axis=-1)
        is_faster |= norm < least[rows] - gap
        is_better = norm < least[rows]
        at = rows[is_better]
        points[at], least[at] = combined[is_better], norm[is_better]
        stalled[rows] = np.where(is_faster, 0, stalled[rows] + 1)
        order = np.argsort(-weights, axis=1)  # corners without weight are replaced
        corners[rows] = np.take_along_axis(corners[rows], order[..., None, None], axis=1)
        weights = np.take_along_axis(weights, order, axis=1)
        for k in (1, 2):
            unused = rows[weights[:, k] == 0.0]
            corners[unused, k] = corners[unused, 0]
        rows = rows[(stalled[rows] < STALLED) & (weights[:, 3] == 0.0) & (norm > 0.0)]
    return points[:, 0], points[:, 1], best


def _smallest(w: Array) -> tuple[Array, Array]:
    """Return weights (k, 4) of the corners (k, 4, 3) of simplices, and directions (k, 3).

    The combination of the corners has the smallest norm. In the direction, it is nearest to the
    origin: of a triangle, it is the normal, which rounding errors change less than the point. If
    the origin is inside, no weight is zero.
    """
    count = len(w)
    weights = np.zeros((count, 10, 4))  # of the edges, and of the triangles
    with np.errstate(all="ignore"):
        start, end = w[:, EDGES[:, 0]], w[:, EDGES[:, 1]]
        e = end - start
        t = np.clip(np.nan_to_num(-_dot(start, e) / _dot(e, e)), 0.0, 1.0)
        weights[:, np.arange(6), EDGES[:, 0]] = 1.0 - t
        weights[:, np.arange(6), EDGES[:, 1]] = t
        x, y, z = (w[:, TRIANGLES[:, k]] for k in range(3))
        n = _cross(y - x, z - x)
        height, nn = _dot(n, x), _dot(n, n)
        foot = (height / nn)[..., None] * n
        x, y, z = x - foot, y - foot, z - foot
        areas = [_dot(_cross(c, d), n) for c, d in ((y, z), (z, x), (x, y))]
        least_area = np.minimum(np.minimum(areas[0], areas[1]), areas[2])
        total = areas[0] + areas[1] + areas[2]
        for k in range(3):
            weights[:, np.arange(6, 10), TRIANGLES[:, k]] = areas[k] / total
        v = weights @ w
        norms = _dot(v, v)
        norms[:, 6:][~(least_area >= 0.0) | ~(total > 0.0)] = np.inf
        v[:, 6:] = np.where(height < 0.0, -1.0, 1.0)[..., None] * n
        # of the four corners, the origin is on the same side of each triangle as the other corner
        others = _dot(n, w[:, ::-1])  # the corner that each triangle lacks
        is_inside = (height * (height - others) > 0.0).all(axis=-1)
    index = np.nanargmin(norms, axis=-1)
    at = np.arange(count)
    weights, direction = weights[at, index], v[at, index]
    weights[is_inside] = 0.25
    return weights, direction


def _cross(a: Array, b: Array) -> Array:
    (x, y, z), (u, v, w) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i", a, b)
