"""Convex hulls of points in any position.

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
from linkwork.model.geometry import CHUNK

FLAT = 1e-10  # extents below this fraction of the largest are taken for zero
ROUNDING = 1e-12  # points of the cube that are nearer to each other are one


@dataclass(frozen=True, eq=False)
class Hull:
    """The convex hull of points."""

    points: Array  # (n, 3) its vertices
    triangles: Array  # (m, 3) indices of vertices; both sides of a flat hull
    rank: int  # 3 of a solid, 2 of a polygon, 1 of a segment, 0 of a point

    @property
    def size(self) -> float:
        """The diagonal of the box around it [m]."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))

    @property
    def area(self) -> float:
        """The area of its surface, of both sides if it is flat."""
        return float(areas(self.points[self.triangles]).sum())

    def planes(self) -> tuple[Array, Array]:
        """Outer unit normals n (m, 3) and n . x (m,) of the triangles with an area."""
        corners = self.points[self.triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        lengths = np.linalg.norm(normals, axis=-1)
        has_area = lengths > FLAT * lengths.max()
        normals, a = normals[has_area] / lengths[has_area, None], corners[has_area, 0]
        middle = self.points.mean(axis=0)
        normals *= np.where(((a - middle) * normals).sum(axis=-1) < 0.0, -1.0, 1.0)[:, None]
        return normals, (a * normals).sum(axis=-1)

    def contains_deeper(self, points: Array, depth: float) -> bool:
        """Whether a point is farther than a depth inside the surface of a solid hull.

        If many points are, some of them are among the first in any random order.
        """
        normals, offsets = self.planes()
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
    return Hull(points[first[corners]], np.asarray(triangles, dtype=np.intp), rank)


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
