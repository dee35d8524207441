"""Convex shapes by their support functions, and distances that are checked with them.

The support function h_A(n) is the largest n . a of the points a of a shape. The signed distance of
two convex shapes is the largest separation over all unit vectors n,

    s(n) = -(h_A(n) + h_B(-n)),

which is negative where they overlap. So s(n) of any n is a lower bound of the distance.
The distance of two points, or the depth of a polytope inside the difference of the shapes, is an
upper bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.collision.hulls import hull_of
from linkwork.engine.symbolic.arrays import Array
from linkwork.model.geometry.surface import Support

ACCURACY = 1e-9  # by which both bounds of a distance may differ, relative to the size of the shapes
PARALLEL = 1e-12  # 1 less the cosine of an angle that is taken for zero
COARSE = 1e6  # times as much in the last round
ROUNDS = 10  # in which a polytope is refined
MOST_FACES = 100  # that are refined in a round


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
        hull = hull_of(of_a - of_b, coal)
        of_a, of_b = of_a[hull.indices], of_b[hull.indices]
        if hull.rank < 3 or least <= allowed:
            return _result(a, b, best, -max(least, 0.0), of_a[0])
        triangles, normals, offsets = hull.planes()
        nearest = int(offsets.argmin())
        # around an axis of symmetry, the polytope stays coarse while the separation is exact
        if least - offsets[nearest] <= (allowed if round_ < ROUNDS - 1 else COARSE * allowed):
            weights = _weights(hull.points[triangles[nearest]], offsets[nearest] * normals[nearest])
            return _result(a, b, best, -least, weights @ of_a[triangles[nearest]])
        order = np.argsort(offsets)[:MOST_FACES]
        directions = normals[order[offsets[order] < least - 0.5 * allowed]]
    return np.full(10, np.nan)


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
