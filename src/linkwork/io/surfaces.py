"""Surfaces of shapes as triangles: boxes and round shapes, and meshes read from their files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import MissingPackageError, clipped
from linkwork.io.mesh_files import MESH_PACKAGES, Rgb, read_mesh_file
from linkwork.io.meshes import REJECTED
from linkwork.model.geometry import Box, Capsule, Cylinder, Mesh, Sphere

SEGMENTS = 32  # around a round shape
RINGS = 16  # from pole to pole of a ball
ROUNDING = 1e-12  # radii below this fraction of the largest are those of a pole


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles, counterclockwise when seen from outside."""

    vertices: Array  # (n, 3) [m]
    faces: Array  # (m, 3) indices of vertices

    def scaled(self, scale: tuple[float, float, float]) -> Surface:
        """Scaled along the axes; a mirrored surface keeps its outside outside."""
        mirrored = scale[0] * scale[1] * scale[2] < 0
        faces = self.faces[:, ::-1] if mirrored else self.faces
        return Surface(self.vertices * np.array(scale), faces)

    def placed(self, pose: Array) -> Surface:
        """The surface at a pose (4, 4)."""
        return Surface(self.vertices @ pose[:3, :3].T + pose[:3, 3], self.faces)

    @property
    def extents(self) -> Array:
        """(3,) edges of the box around it [m]."""
        if not len(self.vertices):
            return np.zeros(3)
        return self.vertices.max(axis=0) - self.vertices.min(axis=0)


def surface_of(geometry: Box | Cylinder | Capsule | Sphere) -> Surface:
    """The surface of a shape about its origin."""
    if isinstance(geometry, Box):
        return box(geometry.size)
    if isinstance(geometry, Cylinder):
        return cylinder(geometry.radius, geometry.length)
    if isinstance(geometry, Capsule):
        return capsule(geometry.radius, geometry.length)
    return sphere(geometry.radius)


def box(size: tuple[float, float, float]) -> Surface:
    """A box about the origin; sides share no vertices, so that edges look sharp."""
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            first, second = (axis + 1) % 3, (axis + 2) % 3
            at = len(vertices)
            for u, v in ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)):
                corner = [0.0, 0.0, 0.0]
                corner[axis], corner[first], corner[second] = side, u, v
                vertices.append(corner)
            order = (0, 1, 2, 3) if side > 0 else (3, 2, 1, 0)
            a, b, c, d = (at + k for k in order)
            faces += [[a, b, c], [a, c, d]]
    return Surface(np.array(vertices) * np.array(size) / 2, np.array(faces))


def cylinder(radius: float, length: float) -> Surface:
    """A cylinder about the origin, along z."""
    half = length / 2
    side = _revolved([radius, radius], [-half, half])
    caps = [_revolved([0.0, radius], [-half, -half]), _revolved([radius, 0.0], [half, half])]
    return joined([side, *caps])


def capsule(radius: float, length: float) -> Surface:
    """A cylinder along z with a half ball on each end."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, RINGS + 2)
    angles = np.insert(angles, len(angles) // 2, [0.0, 0.0])
    middle = np.arange(len(angles)) >= len(angles) // 2
    heights = radius * np.sin(angles) + np.where(middle, length / 2, -length / 2)
    return _revolved((radius * np.cos(angles)).tolist(), heights.tolist())


def sphere(radius: float) -> Surface:
    """A ball about the origin."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, RINGS + 1)
    return _revolved((radius * np.cos(angles)).tolist(), (radius * np.sin(angles)).tolist())


def joined(surfaces: list[Surface]) -> Surface:
    """Several surfaces as one."""
    counts = np.cumsum([0, *(len(s.vertices) for s in surfaces)])
    faces = [s.faces + at for s, at in zip(surfaces, counts[:-1], strict=True)]
    return Surface(np.concatenate([s.vertices for s in surfaces]), np.concatenate(faces))


def _revolved(radii: list[float], heights: list[float]) -> Surface:
    """The surface of revolution of a polyline about z, from its lower end to its upper one."""
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


# Mesh files.


def read_mesh(mesh: Mesh) -> tuple[list[tuple[Surface, Rgb | None]], str]:
    """The scaled surfaces of a mesh, each with its color in the file, if it has one.

    Returns:
        The surfaces, and the reason if there are none; one of the two is empty.
    """
    if mesh.path is None and mesh.searched and all(REJECTED in path for path in mesh.searched):
        text = f"mesh {mesh.filename!r} is outside of the allowed folders: {mesh.searched[0]}"
        return [], f"{text}; pass package_dirs"
    if mesh.path is None:
        where = f"; searched {len(mesh.searched)} locations" if mesh.searched else ""
        return [], f"mesh {mesh.filename!r} not found{where}"
    try:
        pieces = _pieces(mesh.path, Path(mesh.path).stat().st_mtime_ns)
    except MissingPackageError:
        raise
    except Exception as error:  # noqa: BLE001 - readers of mesh formats raise many types of exceptions
        return [], f"mesh {mesh.filename!r} cannot be read: {clipped(_reason(error), 200)}"
    if not pieces:
        return [], f"mesh {mesh.filename!r} has no triangles"
    return [(surface.scaled(mesh.scale), color) for surface, color in pieces], ""


@lru_cache(maxsize=512)
def _pieces(path: str, changed: int) -> list[tuple[Surface, Rgb | None]]:
    """The surfaces in a file; `changed` is its time, so that a new file is read again."""
    del changed
    pieces = read_mesh_file(path)
    return [(Surface(vertices, faces), color) for vertices, faces, color in pieces]


def _reason(error: Exception) -> str:
    if isinstance(error, ImportError):
        return f"{error}; pip install {' '.join(MESH_PACKAGES)}"
    return str(error) or type(error).__name__
