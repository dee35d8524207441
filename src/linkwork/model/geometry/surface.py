"""Two descriptions that every shape has: triangles of its surface, and its support function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.model.numbers import Triple

SEGMENTS = 32  # around a round shape
RINGS = 16  # from pole to pole of a ball
ROUNDING = 1e-12  # radii below this fraction of the largest are those of a pole
CHUNK = 500_000  # products of vectors and points that are computed at a time


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles, counterclockwise when seen from outside."""

    vertices: Array  # (n, 3) [m]
    faces: Array  # (m, 3) indices of vertices

    def scaled(self, scale: Triple) -> Surface:
        """Scale along the axes; a mirrored surface keeps its outside outside."""
        mirrored = scale[0] * scale[1] * scale[2] < 0
        faces = self.faces[:, ::-1] if mirrored else self.faces
        return Surface(self.vertices * np.array(scale), faces)

    def placed(self, pose: Array) -> Surface:
        """Move the surface to a pose (4, 4)."""
        return Surface(self.vertices @ pose[:3, :3].T + pose[:3, 3], self.faces)

    @property
    def triangles(self) -> Array:
        """(m, 3, 3) corners of the triangles."""
        return self.vertices[self.faces]

    @property
    def extents(self) -> Array:
        """(3,) edges of the box around it [m]."""
        if not len(self.vertices):
            return np.zeros(3)
        return self.vertices.max(axis=0) - self.vertices.min(axis=0)


def joined(surfaces: Sequence[Surface]) -> Surface:
    """Join several surfaces."""
    counts = np.cumsum([0, *(len(s.vertices) for s in surfaces)])
    faces = [s.faces + at for s, at in zip(surfaces, counts[:-1], strict=True)]
    return Surface(np.concatenate([s.vertices for s in surfaces]), np.concatenate(faces))


def revolved(radii: Sequence[float], heights: Sequence[float]) -> Surface:
    """Revolve a polyline about z, from its lower end to its upper one."""
    angle = np.arange(SEGMENTS) * (2 * np.pi / SEGMENTS)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    r, z = np.array(radii), np.array(heights)
    r[np.abs(r) <= ROUNDING * np.abs(r).max()] = 0.0
    rings = np.empty((len(r), SEGMENTS, 3))
    rings[..., :2] = r[:, None, None] * around
    rings[..., 2] = z[:, None]
    here = np.arange(SEGMENTS)
    following = (here + 1) % SEGMENTS
    faces: list[Array] = [np.zeros((0, 3), dtype=np.intp)]
    for ring in range(len(r) - 1):
        low, high = ring * SEGMENTS, (ring + 1) * SEGMENTS
        if r[ring] > 0:
            faces.append(np.stack([low + here, low + following, high + following], axis=-1))
        if r[ring + 1] > 0:
            faces.append(np.stack([low + here, high + following, high + here], axis=-1))
    return Surface(rings.reshape(-1, 3), np.concatenate(faces))


@dataclass(frozen=True, eq=False)
class Support:
    """A convex shape: the convex hull of points and discs across z, grown by a ball.

    Its support function h(n) is the largest n . x of its points x.
    """

    points: Array  # (n, 3) centers of the discs
    normals: Array  # (m, 3) of flat faces
    discs: Array  # (n,) radii of the discs; 0 for points
    ball: float = 0.0  # radius

    @cached_property
    def is_curved(self) -> bool:
        """Whether it has discs."""
        return bool(self.discs.any())

    @cached_property
    def radius(self) -> float:
        """The radius of the smallest ball about the origin that contains the shape."""
        across = np.linalg.norm(self.points[:, :2], axis=-1) + self.discs
        return float(np.hypot(across, self.points[:, 2]).max()) + self.ball

    def heights(self, n: Array) -> Array:
        """(k,) the support function for unit vectors n (k, 3)."""
        rows = max(1, CHUNK // len(self.points))
        parts = [self._along(n[k : k + rows]).max(axis=-1) for k in range(0, len(n), rows)]
        return (np.concatenate(parts) if parts else np.zeros(0)) + self.ball

    def farthest(self, n: Array) -> Array:
        """(k, 3) the points of the shape without its ball that are farthest along n (k, 3)."""
        index = self._along(n).argmax(axis=-1)
        points = self.points[index].copy()
        across = np.linalg.norm(n[:, :2], axis=-1)
        scale = self.discs[index] / np.maximum(across, 1e-300)
        points[:, :2] += scale[:, None] * n[:, :2]
        return points

    def _along(self, n: Array) -> Array:
        """(k, points) the largest n . x of each disc."""
        heights = n @ self.points.T
        if self.is_curved:
            heights += np.linalg.norm(n[:, :2], axis=-1)[:, None] * self.discs
        return heights
