"""The distance of two convex shapes at many poses: by `coal`, with every result checked.

The support function h_A(n) is the largest n . a of the points a of a shape. The signed distance of
two convex shapes is the largest separation over all unit vectors n,

    s(n) = -(h_A(n) + h_B(-n)),

which is negative where they overlap. So of two normals, the one with the larger separation is
better, and s(n) is never larger than the distance. The distance of two points is never smaller.

GJK is accurate where the distance is not much smaller than the shapes. EPA, which computes depths,
is not: it only provides a normal. If the second shape is moved along the normal until it is apart,
GJK returns the closest points and a better normal. Moved back, these are the deepest points of
shapes that overlap, and the closest points of shapes that touch. Whether another direction is
better still is tested for shapes that overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.geometry import Support

MARGINS = (1e-1, *5 * (1e-2,), 1e-4, 1e-6)  # between the shapes, by the smaller one
RESTARTS = 3  # with the best of some directions
EXTREMES = 3  # times that extreme points are used after a restart
FAR = 1.0  # the largest distance of GJK, by the larger shape
DEPTH_TOLERANCE = 3e-6  # of EPA, relative to the smaller shape
TOLERANCE, ROUNDING = 1e-14, 4e-16  # of GJK, relative to the smaller shape, and to coordinates
ITERATIONS = 255  # of GJK and EPA
UNEVEN = 1e3  # ratio of sizes above which overlaps are checked like depths
MOST_CORNERS = 64  # of a polygon in which points are looked for
HUGE = 1e100  # what coal returns instead of a result

# Errors of points, relative to the larger shape and the distance.
SLACK = 1e-12  # by which distances may differ that are equal
EXACT = 1e-9  # for which no further result is tried
ACCEPTED = 1e-4  # with which a result is used: errors of the distance are about their squares


class Search:
    """The distances of two convex shapes at poses.

    Attributes:
        best: (rows, 10) distances, points on both shapes and normals, in the axes of the first.
    """

    def __init__(
        self,
        coal: Any,
        shapes: Sequence[Any],
        supports: Sequence[Support],
        H: Array,
        threshold: float | None = None,
    ) -> None:
        """Search for the closest points; NaN where H is not finite, and where none are found.

        Args:
            coal: the package.
            shapes: both shapes as `coal` takes them.
            supports: their support functions.
            H: (rows, 4, 4) poses of the second in the axes of the first.
            threshold: if given, distances are only as accurate as a comparison with it requires.
        """
        self.coal, self.shapes, self.H = coal, shapes, H
        self.a, self.b = supports
        radii = [one.radius for one in supports]
        self.small, self.large = min(radii) or max(radii), max(radii)
        self.request = distance_request(coal, DEPTH_TOLERANCE * self.small)
        self.request.gjk_initial_guess = coal.GJKInitialGuess.CachedGuess
        self.best = np.full((len(H), 10), np.nan)
        self.errors = np.full(len(H), np.inf)  # of the points
        self.threshold = threshold
        rows = np.isfinite(H).all(axis=(1, 2)).nonzero()[0]
        self._ask(rows, np.zeros(len(rows)), np.tile(np.eye(3)[0], (len(rows), 1)))
        is_open = ~self._is_within(EXACT, rows)
        if threshold is None:  # what EPA returns may look right
            is_open |= self.best[rows, 0] < MARGINS[0] * self.small
        self._refine(rows[is_open])
        wanted = max(ACCEPTED * self.small / (self.large or 1.0), SLACK)
        is_uneven = self.large > UNEVEN * self.small
        for _ in range(RESTARTS):
            is_wrong = ~self._is_within(wanted, rows)
            is_deep = (self.best[rows, 0] < 0.0) & (threshold is None or is_uneven)
            rows = rows[is_wrong | is_deep]
            separation, n = best_direction(self.a, self.b, H[rows])
            is_left = ~self._is_within(wanted, rows)
            is_left |= separation > self.best[rows, 0] + SLACK * self.large
            rows, n = rows[is_left], n[is_left]
            first, second = (np.nan_to_num(self.best[rows, k : k + 3]) for k in (1, 4))
            before, self.best[rows, 0] = self.errors[rows], -np.inf
            self._keep(rows, first, second - first, n)  # they may be those of this direction
            self.errors[rows] += before
            for _ in range(EXTREMES):
                self._use_extremes(rows)
            self._refine(rows)
        self.best[~self._is_within(ACCEPTED, np.arange(len(H)))] = np.nan

    def _is_within(self, tolerance: float, rows: Array) -> Array:
        """(k,) whether results are as accurate as required."""
        d, errors = self.best[rows, 0], self.errors[rows]
        allowed = tolerance * (self.large + np.abs(d))
        if self.threshold is None:
            return errors <= allowed
        away = d - self.threshold
        return (away >= 0.0) | (errors <= np.maximum(allowed, -0.1 * away))

    def _refine(self, rows: Array) -> None:
        """Improve results by moving the second shape along their normals.

        The errors of normals decrease by a factor, near 1 for depths near the radius of a curve.
        So after each two rounds, the limit of the normals is estimated.
        """
        normals = [self.best[:, 7:].copy()]
        for margin in MARGINS:
            rows = rows[np.isfinite(self.best[rows, 0])]
            if not rows.size:
                return
            d = self.best[rows, 0]
            moved = np.clip(d, margin * self.small, FAR * self.large) - d
            self._ask(rows, moved, normals[-1][rows])
            normals.append(self.best[:, 7:].copy())
            if len(normals) == 3:
                normals = [_limit(*normals)]
            rows = rows[~self._is_within(EXACT, rows)]

    def _ask(self, rows: Array, moved: Array, towards: Array) -> None:
        """Move the second shape along unit vectors, and keep results that are better."""
        H, shift = self.H[rows], moved[:, None] * towards
        H[:, :3, 3] += shift
        answers = [self._nearest(one, n) for one, n in zip(H, towards, strict=True)]
        tried = np.array(answers).reshape(-1, 10)[:, 1:]
        with np.errstate(all="ignore"):
            tried[:, 6:] /= np.linalg.norm(tried[:, 6:], axis=-1, keepdims=True)
        is_number = (np.abs(tried) < HUGE).all(axis=-1)
        rows, tried, shift = rows[is_number], tried[is_number], shift[is_number]
        first, between = tried[:, :3], tried[:, 3:6] - shift - tried[:, :3]
        self._keep(rows, first, between, tried[:, 6:])

    def _use_extremes(self, rows: Array) -> None:
        """Use the points that are extreme along normals: the closest ones of shapes far apart."""
        n, R, p = self.best[rows, 7:], self.H[rows, :3, :3], self.H[rows, :3, 3]
        on_b = self.b.farthest(-(n[:, None, :] @ R)[:, 0])
        first = self.a.farthest(n) + self.a.ball * n
        second = p + (R @ on_b[..., None])[..., 0] - self.b.ball * n
        between = second - first
        lengths = np.linalg.norm(between, axis=-1, keepdims=True)
        self._keep(rows, first, between, between / np.maximum(lengths, 1.0 / HUGE))
        # a corner of one and its projection to a face of the other
        n, d = self.best[rows, 7:], self.best[rows, :1]
        for a, b in ((first, first + d * n), (second - d * n, second)):
            in_b = (R.swapaxes(1, 2) @ (b - p)[..., None])[..., 0]
            errors = np.maximum(outside(self.a, a), outside(self.b, in_b))
            is_better = errors < self.errors[rows]
            at = rows[is_better]
            self.best[at, 1:7] = np.concatenate([a, b], axis=1)[is_better]
            self.errors[at] = errors[is_better]

    def _keep(self, rows: Array, first: Array, between: Array, normals: Array) -> None:
        """Keep results that are better than the best.

        Args:
            rows: (k,) their rows.
            first: (k, 3) points on the first shape.
            between: (k, 3) from there to points on the second shape.
            normals: (k, 3) unit vectors.
        """
        pairs = zip(self.H[rows], normals, strict=True)
        faces = [along_face(self.a, self.b, one, n) for one, n in pairs]
        for n in (normals, np.array(faces).reshape(-1, 3), self.best[rows, 7:]):
            height, separation = separations(self.a, self.b, self.H[rows], n)
            off = height - (n * first).sum(axis=-1)  # coal enlarges some shapes slightly
            errors = np.abs(off) + np.linalg.norm(between - separation[:, None] * n, axis=-1)
            # larger, or as large and with better points
            gain, slack = separation - self.best[rows, 0], SLACK * self.large
            is_better = (gain > slack) | np.isnan(self.best[rows, 0])
            is_better |= (gain >= -slack) & (errors < self.errors[rows])
            at, on_a = rows[is_better], first + off[:, None] * n
            on_b = on_a + separation[:, None] * n
            self.best[at] = np.column_stack([separation, on_a, on_b, n])[is_better]
            self.errors[at] = errors[is_better]

    def _nearest(self, H: Array, towards: Array) -> Array:
        """(10,) as `distance`, with the second shape at a pose, in a direction."""
        rounding = ROUNDING * (self.large + float(np.abs(H[:3, 3]).max()))
        self.request.gjk_tolerance = TOLERANCE * self.small + rounding
        self.request.cached_gjk_guess = -towards
        return distance(self.coal, self.shapes, H, self.request)


def _limit(first: Array, second: Array, third: Array) -> Array:
    """(n, 3) the limit of unit vectors whose steps decrease by a factor."""
    step, last = second - first, third - second
    factor = (step * last).sum(axis=-1) / np.maximum((step * step).sum(axis=-1), 1e-300)
    factor = np.where((factor > 0.0) & (factor < 1.0), factor, 0.0)
    limit = third + (factor / (1.0 - factor))[:, None] * last
    return limit / np.linalg.norm(limit, axis=-1, keepdims=True)


def distance_request(coal: Any, tolerance: float) -> Any:
    """Options of `distance`, with a tolerance of GJK and EPA [m]."""
    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = tolerance
    request.gjk_max_iterations = request.epa_max_iterations = ITERATIONS
    request.enable_signed_distance = True
    return request


def distance(coal: Any, shapes: Sequence[Any], H: Array, request: Any) -> Array:
    """(10,) distance, points on both shapes and the normal, in the axes of the first.

    Args:
        coal: the package.
        shapes: both shapes as `coal` takes them.
        H: (4, 4) pose of the second in the axes of the first.
        request: see `distance_request`.
    """
    result, at_b = coal.DistanceResult(), coal.Transform3s(H[:3, :3], H[:3, 3])
    least = coal.distance(shapes[0], coal.Transform3s.Identity(), shapes[1], at_b, request, result)
    points = result.getNearestPoint1(), result.getNearestPoint2()
    return np.array([least, *points[0], *points[1], *result.normal])


def separations(a: Support, b: Support, H: Array, n: Array) -> tuple[Array, Array]:
    """(k,) support functions of a, and separations of a and b along unit vectors.

    Args:
        a, b: the shapes.
        H: (k, 4, 4) poses of b in the axes of a.
        n: (k, 3) unit vectors in the axes of a.
    """
    height = a.heights(n)
    along = -(n[:, None, :] @ H[:, :3, :3])[:, 0]
    return height, (n * H[:, :3, 3]).sum(axis=-1) - height - b.heights(along)


def best_direction(a: Support, b: Support, H: Array) -> tuple[Array, Array]:
    """(k,) the largest separations along some directions, and (k, 3) these directions.

    Args:
        a, b: the shapes.
        H: (k, 4, 4) poses of b in the axes of a.
    """
    R, p, n = H[:, :3, :3], H[:, :3, 3], _DIRECTIONS
    along = -(n @ R).reshape(-1, 3)
    separation = p @ n.T - a.heights(n) - b.heights(along).reshape(-1, len(n))
    index = separation.argmax(axis=-1)
    best, n = np.take_along_axis(separation, index[:, None], axis=-1)[:, 0], n[index]
    from_b = -(p[:, None, :] @ R)[:, 0]
    turned = (-(R @ one[..., None])[..., 0] for one in normals_towards(b, from_b))
    for one in (*normals_towards(a, p), *turned):
        separation = separations(a, b, H, one)[1]
        is_better = separation > best
        best, n[is_better] = np.where(is_better, separation, best), one[is_better]
    return best, n


def normals_towards(shape: Support, points: Array) -> list[Array]:
    """(k, 3) normals of the flat face, and of the curved side, that points (k, 3) are off most."""
    normals: list[Array] = []
    if len(shape.normals):
        off = points @ shape.normals.T - shape.heights(shape.normals)
        normals.append(shape.normals[off.argmax(axis=-1)])
    if shape.is_curved:
        across = points * (1.0, 1.0, 0.0)
        across[~across.any(axis=-1), 0] = 1.0
        normals.append(across / np.linalg.norm(across, axis=-1)[:, None])
    return normals


def outside(shape: Support, points: Array) -> Array:
    """(k,) how far points (k, 3) are outside of a polytope; infinite for other shapes."""
    n = shape.normals
    if shape.is_curved or shape.ball or not len(n):
        return np.full(len(points), np.inf)
    if np.linalg.matrix_rank(n) < 3:  # a polygon, whose edges are among the lines through corners
        if len(shape.points) > MOST_CORNERS:
            return np.full(len(points), np.inf)
        lines = (shape.points[:, None] - shape.points).reshape(-1, 3)
        across = np.cross(n[0], lines[lines.any(axis=-1)])
        n = np.concatenate([n, -n, across / np.linalg.norm(across, axis=-1, keepdims=True)])
    off = points @ n.T - shape.heights(n)
    return np.maximum(off.max(axis=-1), 0.0)


def along_face(a: Support, b: Support, H: Array, n: Array) -> Array:
    """(3,) the normal of a face of a or b that is nearly n, else n.

    Where a face is large, the separation along a normal that is off by rounding is off by much.

    Args:
        a, b: the shapes.
        H: (4, 4) pose of b in the axes of a.
        n: (3,) unit vector in the axes of a.
    """
    normals = np.concatenate([a.normals, -b.normals @ H[:3, :3].T])
    aligned = normals @ n
    return normals[aligned.argmax()] if len(normals) else n


def _sphere_of_directions(n: int) -> Array:
    """(n, 3) unit vectors that are spread over the sphere, along a spiral."""
    k = np.arange(n) + 0.5
    z, angle = 1.0 - 2.0 * k / n, np.pi * (1.0 + 5.0**0.5) * k
    across = np.sqrt(1.0 - z * z)
    return np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=-1)


_DIRECTIONS = _sphere_of_directions(100)
