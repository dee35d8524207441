"""The distance of two convex shapes at many poses: by `coal`, with every result checked.

The support function h_A(n) is the largest n . a of the points a of a shape. The signed distance of
two convex shapes is the largest separation over all unit vectors n,

    s(n) = -(h_A(n) + h_B(-n)),

which is negative where they overlap. So of two normals, the one with the larger separation is
better, and s(n) is never larger than the distance. The distance of two points is never smaller.

The results of `coal`, whose GJK and EPA are fast, are used where both agree, and else results of
`min_norm`. Of shapes that overlap or touch, the second is moved along the normal until it is apart.
There, the normal of the closest points is better. Moved back, they are the deepest points. Whether
another direction is better still is tested for shapes that overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from linkwork.collision.exact.min_norm import closest_points
from linkwork.engine.symbolic.arrays import Array
from linkwork.model.geometry import CHUNK, Support
from linkwork.spatial.source import so3

COAL_MARGINS = 1e-1, *5 * (1e-2,), 1e-4, 1e-6  # between moved shapes, relative to the smaller one
MARGINS = 1e-4, 1e-6, 1e-2, 1e-4
RESTARTS = 3  # with the best of some directions,
MOST_FACES = 8  # among them normals of this many faces of a shape
NEAR = 0.05  # by which the directions may be worse, relative to the smaller shape
DEPTH_TOLERANCE = 3e-6  # of EPA, relative to the smaller shape
TOLERANCE, ROUNDING = 1e-14, 4e-16  # of GJK, relative to the smaller shape, and to coordinates
ITERATIONS = 255  # of GJK and EPA
UNEVEN = 1e3  # ratio of sizes above which overlaps are checked like depths,
SEVERAL = 30.0  # and above which several directions are refined
MOST_CORNERS = 64  # of a polygon in which points are looked for
HUGE = 1e100  # squares of larger positions overflow; coal returns such instead of a result
FIRST_TURN, TURNS = 0.5, 40  # of normals of curved shapes that overlap [rad]

# Errors of points, relative to the larger shape and the distance.
SLACK = 1e-12  # by which distances may differ that are equal
EXACT = 1e-9  # for which no further result is tried,
SMOOTH, SHALLOW = 1e-7, 1e-2  # of curved shapes with depths above this part of the smaller
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
        """Search for the closest points; NaN where H is not below `HUGE`, and where none are found.

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
        self.best = np.full((len(H), 10), np.nan)
        self.errors = np.full(len(H), np.inf)  # of the points
        self.threshold = threshold
        self._is_curved = self.a.is_curved or self.b.is_curved
        rows = (np.abs(H) < HUGE).all(axis=(1, 2)).nonzero()[0]
        self.request = distance_request(coal, DEPTH_TOLERANCE * self.small)
        self.request.gjk_initial_guess = coal.GJKInitialGuess.CachedGuess
        self._use_coal(rows, np.zeros(len(rows)))
        is_open = ~self._is_exact(rows)
        self._refine(rows[is_open])
        if threshold is None or self.large > UNEVEN * self.small:
            is_open |= self.best[rows, 0] < 0.0
        rows = rows[is_open & (~(self.best[rows, 0] >= 0.0) | ~self._is_exact(rows))]
        if rows.size:
            self._try_directions(rows)
        self.best[~self._is_within(ACCEPTED, np.arange(len(H)))] = np.nan

    def _is_within(self, tolerance: Any, rows: Array) -> Array:
        """(k,) whether results are as accurate as required."""
        d, errors = self.best[rows, 0], self.errors[rows]
        allowed = tolerance * (self.large + np.abs(d))
        if self.threshold is None:
            return errors <= allowed
        away = d - self.threshold
        return (away >= 0.0) | (errors <= np.maximum(allowed, -0.1 * away))

    def _is_exact(self, rows: Array) -> Array:
        """(k,) whether results need no improvement."""
        is_deep = self._is_curved & (self.best[rows, 0] < -SHALLOW * self.small)
        smooth = max(EXACT, SMOOTH * self.small / (self.large or 1.0))
        return self._is_within(np.where(is_deep, smooth, EXACT), rows)

    def _use_coal(self, rows: Array, moved: Array) -> None:
        """Use results of `coal`, with the second shape moved by (k,) along the normals."""
        H, shift = self._moved(rows, moved)
        answers = np.empty((len(rows), 10))
        for k, one in enumerate(H):
            rounding = ROUNDING * (self.large + float(np.abs(one[:3, 3]).max()))
            self.request.gjk_tolerance = TOLERANCE * self.small + rounding
            self.request.cached_gjk_guess = -self._normals(rows[k])
            answers[k] = distance(self.coal, self.shapes, one, self.request)
        with np.errstate(all="ignore"):
            answers[:, 7:] /= np.linalg.norm(answers[:, 7:], axis=-1, keepdims=True)
        is_number = (np.abs(answers[:, 1:]) < HUGE).all(axis=-1)
        rows, H, shift, answers = (x[is_number] for x in (rows, H, shift, answers))
        first, second, n = answers[:, 1:4], answers[:, 4:7], answers[:, 7:]
        off = np.zeros(len(rows))
        if self.threshold is None:
            in_b = second - H[:, :3, 3] + self.b.ball * n
            in_b = (in_b[:, None, :] @ H[:, :3, :3])[:, 0]
            off = np.maximum(outside(self.a, first - self.a.ball * n), outside(self.b, in_b))
        self._keep_better(rows, first, second - shift - first, n, off)

    def _use_min_norm(self, rows: Array, moved: Array) -> None:
        """Use results of `min_norm`, with the second shape moved by (k,) along the normals.

        Without their balls, the shapes are farther apart, and may need no move.
        """
        H, shift = self._moved(rows, np.maximum(moved - self.a.ball - self.b.ball, 0.0))
        first, second, n = closest_points(self.a, self.b, H, self._normals(rows))
        with np.errstate(all="ignore"):
            n /= np.linalg.norm(n, axis=-1, keepdims=True)
        is_number = np.isfinite(n).all(axis=-1)
        first = first + self.a.ball * n
        between = second - self.b.ball * n - shift - first
        self._keep_better(rows[is_number], first[is_number], between[is_number], n[is_number])

    def _normals(self, rows: Array) -> Array:
        """(k, 3) the best normals, and x where there are none."""
        n = self.best[rows, 7:]
        return np.where(np.isnan(n), np.eye(3)[0], n)

    def _moved(self, rows: Array, moved: Array) -> tuple[Array, Array]:
        """(k, 4, 4) poses of the second shape, moved along the normals, and (k, 3) by what."""
        H, shift = self.H[rows], moved[:, None] * self._normals(rows)
        H[:, :3, 3] += shift
        return H, shift

    def _refine(self, rows: Array) -> None:
        """Improve results that are not exact, first by `coal`.

        The errors of normals decrease by a factor, near 1 for depths near the radius of a curve.
        So after each two rounds, the limit of the normals is estimated.
        """
        normals = [self.best[:, 7:].copy()]
        first = [(self._use_coal, margin) for margin in COAL_MARGINS if self._is_curved]
        for use, margin in [*first, *((self._use_min_norm, margin) for margin in MARGINS)]:
            rows = rows[~self._is_exact(rows)]
            if not rows.size:
                return
            d = np.nan_to_num(self.best[rows, 0])
            use(rows, np.maximum(margin * self.small - d, 0.0))
            normals.append(self.best[:, 7:].copy())
            if len(normals) == 3:
                normals = [_limit(*normals)]
                self._use_normals(rows, normals[0][rows])
        if self._is_curved:
            rows = rows[~self._is_exact(rows) & (self.best[rows, 0] < 0.0)]
            if rows.size:
                self._rotate_normals(rows)

    def _try_directions(self, rows: Array) -> None:
        """Refine the best of some directions."""
        separation, n = best_directions(self.a, self.b, self.H[rows])
        # a small shape in a large one has several directions that are almost as good
        is_uneven = self.large > SEVERAL * self.small
        slack = NEAR * self.small if is_uneven else -SLACK * self.large
        for k in range(RESTARTS):
            is_better = ~(separation[:, k] + slack <= self.best[rows, 0])
            if k == 0:
                is_better |= ~self._is_exact(rows)
            if is_better.any():
                self._restart(rows[is_better], n[is_better, k])
        rows = rows[self.best[rows, 0] < 0.0]
        if is_uneven and self._is_curved and rows.size:
            self._rotate_normals(rows)

    def _restart(self, rows: Array, n: Array) -> None:
        """Refine other normals, and keep the results that are better than before."""
        before, errors = self.best[rows], self.errors[rows]
        self.best[rows], self.errors[rows] = np.nan, np.inf
        self._use_normals(rows, n)
        self._refine(rows)
        gain, slack = self.best[rows, 0] - before[:, 0], SLACK * self.large
        is_worse = (gain < -slack) | ((gain <= slack) & (self.errors[rows] >= errors))
        self.best[rows[is_worse]] = before[is_worse]
        self.errors[rows[is_worse]] = errors[is_worse]

    def _rotate_normals(self, rows: Array) -> None:
        """Turn normals about the axes of curved shapes, and across, to larger separations.

        The normals that are extreme along the axis of a cylinder, or across, stay so.
        """
        n, H, d = self.best[rows, 7:], self.H[rows], self.best[rows, 0].copy()
        axes = np.stack([np.tile(np.eye(3)[2], (len(rows), 1)), H[:, :3, 2]], axis=1)
        turn = np.full(len(rows), FIRST_TURN)
        wide = np.repeat(H, 8, axis=0)
        for _ in range(TURNS):
            about = np.concatenate([axes, _unit(np.cross(axes, n[:, None]))], axis=1)
            about = np.concatenate([about, -about], axis=1) * turn[:, None, None]
            tried = _unit((so3.exp(about) @ n[:, None, :, None])[..., 0])
            separation = separations(self.a, self.b, wide, tried.reshape(-1, 3))[1].reshape(-1, 8)
            index = separation.argmax(axis=-1)[:, None]
            largest = np.take_along_axis(separation, index, axis=-1)[:, 0]
            is_better = largest > d
            turned = np.take_along_axis(tried, index[..., None], axis=1)[:, 0]
            n[is_better], d[is_better] = turned[is_better], largest[is_better]
            turn *= np.where(is_better, 1.2, 0.5)
        is_better = d > self.best[rows, 0]
        rows, n = rows[is_better], n[is_better]
        self.best[rows], self.errors[rows] = np.nan, np.inf
        self._use_normals(rows, n)
        for margin in MARGINS[:2]:
            self._use_min_norm(rows, margin * self.small - self.best[rows, 0])

    def _use_normals(self, rows: Array, n: Array) -> None:
        """Use points that are extreme along normals."""
        R, p = self.H[rows, :3, :3], self.H[rows, :3, 3]
        on_b = self.b.farthest(-(n[:, None, :] @ R)[:, 0])
        first = self.a.farthest(n) + self.a.ball * n
        self._keep_better(
            rows, first, p + (R @ on_b[..., None])[..., 0] - self.b.ball * n - first, n
        )

    def _keep_better(
        self, rows: Array, first: Array, between: Array, normals: Array, outside: Any = 0.0
    ) -> None:
        """Keep results that are better than the best.

        Args:
            rows: (k,) their rows.
            first: (k, 3) points on the first shape.
            between: (k, 3) from there to points on the second shape.
            normals: (k, 3) unit vectors.
            outside: (k,) how far the points are outside of the shapes.
        """
        similar = similar_normals(self.a, self.b, self.H[rows], normals)
        for n in (normals, self.best[rows, 7:], *similar):
            height, separation = separations(self.a, self.b, self.H[rows], n)
            off = height - (n * first).sum(axis=-1)  # coal enlarges some shapes slightly
            errors = np.linalg.norm(between - separation[:, None] * n, axis=-1)
            errors += np.abs(off) + outside
            # larger, or as large and with better points
            gain, slack = separation - self.best[rows, 0], SLACK * self.large
            is_better = (gain > slack) | np.isnan(self.best[rows, 0])
            is_better |= (gain >= -slack) & (errors < self.errors[rows])
            at, on_a = rows[is_better], first + off[:, None] * n
            on_b = on_a + separation[:, None] * n
            self.best[at] = np.column_stack([separation, on_a, on_b, n])[is_better]
            self.errors[at] = errors[is_better]


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


def best_directions(a: Support, b: Support, H: Array) -> tuple[Array, Array]:
    """(k, RESTARTS) the largest separations along some directions, and (k, RESTARTS, 3) these.

    Of directions around a curved side, only those that are better than their neighbors count.

    Args:
        a, b: the shapes.
        H: (k, 4, 4) poses of b in the axes of a.
    """
    R, p = H[:, :3, :3], H[:, :3, 3]
    towards_a = -(p[:, None, :] @ R)[:, 0]
    groups = [_DIRECTIONS, *([_AROUND] if a.has_axis else []), normals_towards(a, p)]
    in_b = [*([_AROUND] if b.has_axis else []), normals_towards(b, towards_a)]
    groups += [-(n @ R.swapaxes(1, 2)) for n in in_b]
    directions = [np.broadcast_to(n, (len(H), *n.shape[-2:])) for n in groups]
    separation: list[Array] = []
    for n in directions:
        count = n.shape[1]
        one = separations(a, b, np.repeat(H, count, axis=0), n.reshape(-1, 3))[1]
        one = one.reshape(len(H), count)
        if count == len(_AROUND):
            is_peak = (one >= np.roll(one, 1, axis=1)) & (one >= np.roll(one, -1, axis=1))
            one = np.where(is_peak, one, -np.inf)
        separation.append(one)
    every = np.concatenate(separation, axis=1)
    index = np.argsort(-every, axis=1)[:, :RESTARTS]
    n = np.take_along_axis(np.concatenate(directions, axis=1), index[..., None], axis=1)
    return np.take_along_axis(every, index, axis=1), n


def normals_towards(shape: Support, points: Array) -> Array:
    """(k, n, 3) normals of flat faces, and of the curved side, that points (k, 3) are off most."""
    normals = np.zeros((len(points), 0, 3))
    if len(shape.normals):
        off = points @ shape.normals.T - shape.heights(shape.normals)
        normals = shape.normals[np.argsort(-off, axis=-1)[:, :MOST_FACES]]
    if shape.has_axis:
        across = points * (1.0, 1.0, 0.0)
        across[~across.any(axis=-1), 0] = 1.0
        across /= np.linalg.norm(across, axis=-1)[:, None]
        normals = np.concatenate([normals, across[:, None]], axis=1)
    return normals


def outside(shape: Support, points: Array) -> Array:
    """(k,) how far points (k, 3) are outside of a shape without its ball, at least."""
    n = shape.normals
    if shape.is_curved:  # discs around z: how far outside of the lines through their rims
        rims = np.column_stack([shape.discs, shape.points[:, 2]])
        lines = (rims[:, None] - rims).reshape(-1, 2)
        across = np.column_stack([lines[:, 1], -lines[:, 0]])[lines.any(axis=-1)]
        across = across[across[:, 0] > 0.0]
        across /= np.linalg.norm(across, axis=-1, keepdims=True)
        n = np.concatenate([across, [[0.0, 1.0], [0.0, -1.0], [1.0, 0.0]]])
        rho = np.hypot(points[:, 0], points[:, 1])
        heights = (n @ rims.T).max(axis=-1)
        return np.maximum((np.column_stack([rho, points[:, 2]]) @ n.T - heights).max(axis=-1), 0.0)
    if len(n) and np.linalg.matrix_rank(n) < 3:  # a polygon, whose edges are among these lines
        lines = (shape.points[:, None] - shape.points).reshape(-1, 3)
        across = np.cross(n[0], lines)
        across = across[across.any(axis=-1)]  # a line along n is a cylinder without radius
        n = np.concatenate([n, -n, across / np.linalg.norm(across, axis=-1, keepdims=True)])
    if not len(n):
        return np.zeros(len(points))
    heights, rows = shape.heights(n) - shape.ball, max(1, CHUNK // len(n))
    parts = [points[k : k + rows] @ n.T - heights for k in range(0, len(points), rows)]
    return np.maximum(np.concatenate([part.max(axis=-1) for part in parts] or [np.zeros(0)]), 0.0)


def similar_normals(a: Support, b: Support, H: Array, n: Array) -> Iterator[Array]:
    """Yield (k, 3) normals of faces of a and b, and across their curved sides, nearest to n.

    Where a face is large, the separation along a normal that is off by rounding is off by much.

    Args:
        a, b: the shapes.
        H: (k, 4, 4) poses of b in the axes of a.
        n: (k, 3) unit vectors in the axes of a.
    """
    R = H[:, :3, :3]
    from_b = -(n[:, None, :] @ R)[:, 0]
    for shape, along in ((a, n), (b, from_b)):
        if len(shape.normals):
            rows = max(1, CHUNK // len(shape.normals))
            parts = [along[k : k + rows] @ shape.normals.T for k in range(0, len(n), rows)]
            index = np.concatenate([part.argmax(axis=-1) for part in parts] or [np.zeros(0, int)])
            face = shape.normals[index]
            yield face if shape is a else -(R @ face[..., None])[..., 0]
    axes = [R[:, :, 2]] * b.has_axis + [np.tile(np.eye(3)[2], (len(n), 1))] * a.has_axis
    for axis in axes:
        yield _unit(n - (n * axis).sum(axis=-1, keepdims=True) * axis)
    if len(axes) == 2:
        both = np.cross(axes[0], axes[1])
        yield _unit((n * both).sum(axis=-1, keepdims=True) * both)


def _unit(v: Array) -> Array:
    """(k, 3) unit vectors; x where v is zero."""
    lengths = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.where(lengths > 0.0, v / np.maximum(lengths, 1e-300), np.eye(3)[0])


def _sphere_of_directions(n: int) -> Array:
    """(n, 3) unit vectors that are spread over the sphere, along a spiral."""
    k = np.arange(n) + 0.5
    z, angle = 1.0 - 2.0 * k / n, np.pi * (1.0 + 5.0**0.5) * k
    across = np.sqrt(1.0 - z * z)
    return np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=-1)


_ANGLES = np.arange(64) * (2.0 * np.pi / 64)
_DIRECTIONS = _sphere_of_directions(100)
_AROUND = np.stack([np.cos(_ANGLES), np.sin(_ANGLES), 0.0 * _ANGLES], axis=-1)
