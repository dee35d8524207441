"""Convex shapes: hulls of points, and distances that are checked by support functions.

The support function h_A(n) is the largest n . a of the points a of a shape. The signed distance of
two convex shapes is the largest separation over all unit vectors n,

    s(n) = -(h_A(n) + h_B(-n)),

which is negative where they overlap. So s(n) of any n is a lower bound of the distance.
The distance of two points, or the depth of a polytope inside the difference of the shapes, is an
upper bound.

The hull of points that are stretched along their principal axes has the same vertices and faces. So
points are stretched to a cube first, and the library that computes hulls never sees a set that is
flat, tiny or huge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.geometry import CHUNK, Cylinder, Support

ACCURACY = 1e-9  # by which both bounds of a distance may differ, relative to the size of the shapes
PARALLEL = 1e-12  # 1 less the cosine of an angle that is taken for zero
COARSE = 1e6  # times as much in the last round
ROUNDS = 10  # in which a polytope is refined
MOST_FACES = 100  # that are refined in a round
FLAT = 1e-10  # extents below this fraction of the largest are taken for zero
ROUNDING = 1e-12  # points of the cube that are nearer to each other are one


@dataclass(frozen=True, eq=False)
class Hull:
    """The convex hull of points."""

    points: Array  # (n, 3) its vertices
    triangles: Array  # (m, 3) indices of vertices; both sides of a flat hull
    indices: Array  # (n,) of the vertices among the points that it contains
    rank: int  # 3 of a solid, 2 of a polygon, 1 of a segment, 0 of a point

    @property
    def size(self) -> float:
        """The diagonal of the box around it [m]."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))

    @property
    def area(self) -> float:
        """The area of its surface, of both sides if it is flat."""
        return float(areas(self.points[self.triangles]).sum())

    def planes(self) -> tuple[Array, Array, Array]:
        """Triangles (m, 3) with an area, outer unit normals n (m, 3), and n . x (m,) of each."""
        corners = self.points[self.triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        lengths = np.linalg.norm(normals, axis=-1)
        has_area = lengths > FLAT * lengths.max()
        normals, a = normals[has_area] / lengths[has_area, None], corners[has_area, 0]
        middle = self.points.mean(axis=0)
        normals *= np.where(((a - middle) * normals).sum(axis=-1) < 0.0, -1.0, 1.0)[:, None]
        return self.triangles[has_area], normals, (a * normals).sum(axis=-1)

    def contains_deeper(self, points: Array, depth: float) -> bool:
        """Whether a point is farther than a depth inside the surface of a solid hull.

        If many points are, some of them are among the first in any random order.
        """
        _, normals, offsets = self.planes()
        points = np.random.default_rng(0).permutation(points)
        rows = max(1, CHUNK // len(normals))
        parts = (points[k : k + rows] for k in range(0, len(points), rows))
        return any(((offsets - part @ normals.T).min(axis=-1) > depth).any() for part in parts)


def areas(corners: Array) -> Array:
    """(n,) areas of triangles (n, 3, 3)."""
    edges = corners[:, 1:] - corners[:, :1]
    return 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=-1)


def hull_of(points: Array, coal: Any) -> Hull:
    """The convex hull of points (n, 3), which are finite and at least one.

    Args:
        points: in any position.
        coal: the package, which contains qhull.
    """
    away = points - points[0]
    unit = away / (float(np.abs(away).max()) or 1.0)
    unit = unit - unit.mean(axis=0)
    _, _, axes = np.linalg.svd(np.vstack([unit, np.zeros((3, 3))]), full_matrices=False)
    along = unit @ axes.T
    along -= along.min(axis=0)
    extents = along.max(axis=0)
    order = np.argsort(-extents)
    along, extents = along[:, order], extents[order]
    rank = int((extents > FLAT * extents[0]).sum()) if extents[0] > 0.0 else 0
    cube = np.round(along[:, :rank] / extents[:rank] / ROUNDING) * ROUNDING
    _, first = np.unique(cube, axis=0, return_index=True)
    cube = cube[first]
    if rank == 3:
        corners, triangles = _solid(cube, coal)
    elif rank == 2:
        corners = _polygon(cube)
        fan = [(0, k, k + 1) for k in range(1, len(corners) - 1)]
        triangles = np.array([*fan, *((c, b, a) for a, b, c in fan)])
    elif rank == 1:
        corners, triangles = [int(cube[:, 0].argmin()), int(cube[:, 0].argmax())], [(0, 1, 0)] * 2
    else:
        corners, triangles = [0], [(0, 0, 0)]
    indices = first[corners]
    return Hull(points[indices], np.asarray(triangles, dtype=np.intp), indices, rank)


def _solid(cube: Array, coal: Any) -> tuple[list[int], Array]:
    """Indices of the vertices of a hull, and its triangles."""
    hull = coal.Convex.convexHull(vectors(cube, coal), True, "Qt")
    index = {point.tobytes(): k for k, point in enumerate(cube)}
    corners = [index[point.tobytes()] for point in np.array(hull.points())]
    polygons = [hull.polygons(k) for k in range(hull.num_polygons)]
    return corners, np.array([[polygon[0], polygon[1], polygon[2]] for polygon in polygons])


def _polygon(points: Array) -> list[int]:
    """Indices of the corners of the convex hull of points (n, 2), sorted by x, then y."""

    def half(indices: Iterable[int]) -> list[int]:
        chain: list[int] = []
        for k in indices:
            while len(chain) > 1 and not _turns_left(points, chain[-2], chain[-1], k):
                chain.pop()
            chain.append(k)
        return chain[:-1]

    return half(range(len(points))) + half(range(len(points) - 1, -1, -1))


def _turns_left(points: Array, a: int, b: int, c: int) -> bool:
    (x, y), (u, v) = points[b] - points[a], points[c] - points[a]
    return x * v - y * u > 0.0


def vectors(points: Array, coal: Any) -> Any:
    """Points as `coal` takes them."""
    result = coal.StdVec_Vec3s()
    for point in np.asarray(points, dtype=np.float64):
        result.append(point)
    return result


def triangles_of(indices: Array, coal: Any) -> Any:
    """Triangles as `coal` takes them."""
    result = coal.StdVec_Triangle()
    for a, b, c in np.asarray(indices).tolist():
        result.append(coal.Triangle(a, b, c))
    return result


# Distances.


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


def is_beaten(a: Support, b: Support, H: Array, distances: Array) -> Array:
    """(k,) whether a separation along one of some directions is larger than a distance.

    Args:
        a, b: the shapes.
        H: (k, 4, 4) poses of b in the axes of a.
        distances: (k,) that are checked if they are negative.
    """
    beaten = np.zeros(len(H), dtype=bool)
    rows = (distances < 0.0).nonzero()[0]
    if rows.size and (a.is_curved or b.is_curved):
        allowed = ACCURACY * (a.radius + b.radius)
        for n in _DIRECTIONS[::4]:
            separation = separations(a, b, H[rows], np.tile(n, (len(rows), 1)))[1]
            beaten[rows] |= separation > distances[rows] + allowed
    return beaten


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
    return normals[aligned.argmax()] if aligned.max(initial=0.0) > 1.0 - PARALLEL else n


def deepest(a: Support, b: Support, H: Array, coal: Any) -> Array:
    """(10,) distance, two points and the normal of shapes that overlap; NaN if they do not.

    A polytope of points of a - b is refined at the faces that are nearest to the origin: their
    distance is a lower bound of the depth, the support function along their normals an upper one.

    Args:
        a, b: the shapes.
        H: (4, 4) pose of b in the axes of a.
        coal: the package.
    """
    R, p = H[:3, :3], H[:3, 3]
    allowed = ACCURACY * (a.radius + b.radius)
    directions = np.concatenate([_DIRECTIONS, np.eye(3), -np.eye(3), R.T, -R.T])
    of_a, of_b = np.zeros((0, 3)), np.zeros((0, 3))
    best, least = directions[0], np.inf
    for round_ in range(ROUNDS):
        new_a, new_b = a.farthest(directions), b.farthest(-directions @ R) @ R.T + p
        of_a, of_b = np.concatenate([of_a, new_a]), np.concatenate([of_b, new_b])
        heights = ((new_a - new_b) * directions).sum(axis=-1)
        if heights.min() < least:
            best, least = directions[heights.argmin()], float(heights.min())
        if least < -allowed:
            return np.full(10, np.nan)
        is_last = round_ == ROUNDS - 1
        try:
            hull = hull_of(of_a - of_b, coal)
        except RuntimeError:  # a vertex of a round face has more neighbors than coal can store
            of_a, of_b, is_last = of_a[: -len(new_a)], of_b[: -len(new_b)], True
            hull = hull_of(of_a - of_b, coal)
        of_a, of_b = of_a[hull.indices], of_b[hull.indices]
        if hull.rank < 3 or least <= allowed:
            return _result(a, b, best, -max(least, 0.0), of_a[0])
        triangles, normals, offsets = hull.planes()
        nearest = int(offsets.argmin())
        # around an axis of symmetry, the polytope stays coarse while the separation is exact
        if least - offsets[nearest] <= (COARSE * allowed if is_last else allowed):
            weights = _weights(hull.points[triangles[nearest]], offsets[nearest] * normals[nearest])
            return _result(a, b, best, -least, weights @ of_a[triangles[nearest]])
        if is_last:
            break
        order = np.argsort(offsets)[:MOST_FACES]
        directions = normals[order[offsets[order] < least - 0.5 * allowed]]
    return np.full(10, np.nan)


def of_parallel_cylinders(a: Cylinder, b: Cylinder, H: Array) -> Array:
    """(k, 10) distance, two points and the normal of cylinders; NaN where they are not parallel.

    In the plane of their axes, they are two rectangles along the same directions. Elsewhere coal
    and `deepest` are used, which converge slowly around a common axis.

    Args:
        a, b: the shapes.
        H: (k, 4, 4) poses of b in the axes of a.
    """
    results = np.full((len(H), 10), np.nan)
    rows = (np.linalg.norm(H[:, :2, 2], axis=-1) <= ACCURACY).nonzero()[0]
    x, z = H[rows, :2, 3], H[rows, 2, 3]
    apart = np.linalg.norm(x, axis=-1)
    u = np.where((apart > 0.0)[:, None], x / np.maximum(apart, 1e-300)[:, None], [1.0, 0.0])
    up = np.where(z < 0.0, -1.0, 1.0)
    gaps = np.stack([apart - a.radius - b.radius, np.abs(z) - 0.5 * (a.length + b.length)], axis=-1)
    beyond = np.linalg.norm(np.maximum(gaps, 0.0), axis=-1)
    distance = np.where(beyond > 0.0, beyond, gaps.max(axis=-1))
    is_radial = gaps[:, 0] >= gaps[:, 1]
    along = np.stack([is_radial, ~is_radial], axis=-1).astype(float)
    outside = (gaps > 0.0).all(axis=-1)
    along[outside] = gaps[outside] / distance[outside, None]
    # the closest point of a: at its end along the normal, else in the middle of the overlap
    on_axis = _middle(-a.length / 2, a.length / 2, z - b.length / 2, z + b.length / 2)
    across = _middle(-a.radius, a.radius, apart - b.radius, apart + b.radius)
    height = np.where(along[:, 1] > 0.0, up * a.length / 2, on_axis)
    reach = np.where(along[:, 0] > 0.0, a.radius, across)
    results[rows, 0], results[rows, 1:3], results[rows, 3] = distance, reach[:, None] * u, height
    results[rows, 7:9], results[rows, 9] = along[:, :1] * u, along[:, 1] * up
    results[:, 4:7] = results[:, 1:4] + results[:, :1] * results[:, 7:]
    return results


def _middle(low: float, high: float, other_low: Array, other_high: Array) -> Array:
    """The middle of the overlap of two intervals."""
    return 0.5 * (np.maximum(low, other_low) + np.minimum(high, other_high))


def _result(a: Support, b: Support, n: Array, core: float, on_core: Array) -> Array:
    distance = core - a.ball - b.ball
    first = on_core + a.ball * n
    return np.array([distance, *first, *(first + distance * n), *n])


def _weights(corners: Array, x: Array) -> Array:
    """(3,) barycentric coordinates of the point of a triangle (3, 3) that is nearest to x."""
    edges = (corners[1:] - corners[0]).T
    u, v = np.clip(np.linalg.lstsq(edges, x - corners[0], rcond=None)[0], 0.0, 1.0)
    return np.array([1.0 - u - v, u, v]) if u + v <= 1.0 else np.array([0.0, u, v]) / (u + v)


def _sphere_of_directions(n: int) -> Array:
    """(n, 3) unit vectors that are spread over the sphere, along a spiral."""
    k = np.arange(n) + 0.5
    z, angle = 1.0 - 2.0 * k / n, np.pi * (1.0 + 5.0**0.5) * k
    across = np.sqrt(1.0 - z * z)
    return np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=-1)


_DIRECTIONS = _sphere_of_directions(100)
