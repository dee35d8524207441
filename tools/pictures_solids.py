"""Robots as pictures: faces of their shapes, placed by linkwork, painted from far to near."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import linkwork as lw
from linkwork.spatial import se3

LIGHT = np.array([0.35, -0.45, 0.82])
SIDES = 28  # of what is round


@dataclass(frozen=True)
class Face:
    """A flat polygon in the world."""

    corners: np.ndarray  # (n, 3)
    colour: np.ndarray  # (3,) 0 to 1, before shading


def faces_of(kd: lw.KinDyn, q: np.ndarray) -> list[Face]:
    """All faces of the visuals of a robot at q."""
    faces = []
    for link in kd.model.links:
        for shape in link.visuals:
            world_H_shape = kd.transform(link.name, q) @ shape.link_H_shape.matrix()
            rgba = shape.material.rgba if shape.material and shape.material.rgba else (0.6,) * 4
            for corners in _polygons(shape.geometry):
                faces.append(Face(se3.transform_point(world_H_shape, corners), np.array(rgba[:3])))
    return faces


def paint(axes, faces: list[Face], *, azimuth: float, elevation: float, edge: str) -> None:
    """Draw faces as an observer far away sees them, nearer ones over farther ones."""
    from matplotlib.collections import PolyCollection

    right, up, towards = _observer(azimuth, elevation)
    seen = []
    for face in faces:
        normal = np.cross(face.corners[1] - face.corners[0], face.corners[2] - face.corners[1])
        normal = normal / (np.linalg.norm(normal) + 1e-12)
        if normal @ towards <= 0:
            continue
        shade = 0.45 + 0.55 * max(0.0, normal @ (LIGHT / np.linalg.norm(LIGHT)))
        flat = np.stack([face.corners @ right, face.corners @ up], axis=-1)
        seen.append((face.corners.mean(axis=0) @ towards, flat, np.clip(face.colour * shade, 0, 1)))
    seen.sort(key=lambda one: one[0])
    colours = [one[2] for one in seen]
    axes.add_collection(
        PolyCollection([one[1] for one in seen], facecolors=colours, edgecolors=colours, lw=0.4)
    )
    axes.plot([], [], color=edge)
    axes.autoscale_view()
    axes.set_aspect("equal")
    axes.axis("off")


def projected(points: np.ndarray, *, azimuth: float, elevation: float) -> np.ndarray:
    """Points (..., 3) on the picture (..., 2)."""
    right, up, _ = _observer(azimuth, elevation)
    return np.stack([points @ right, points @ up], axis=-1)


def _observer(azimuth: float, elevation: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, e = np.radians([azimuth, elevation])
    towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return right, np.cross(towards, right), towards


def _polygons(geometry) -> list[np.ndarray]:
    """Faces with their corners counterclockwise, seen from outside."""
    if isinstance(geometry, lw.Box):
        return _box(np.array(geometry.size) / 2)
    if isinstance(geometry, lw.Cylinder):
        return _revolved([(0, -1), (1, -1), (1, 1), (0, 1)], geometry.radius, geometry.length / 2)
    angles = np.linspace(-np.pi / 2, np.pi / 2, 15)
    if isinstance(geometry, lw.Sphere):
        return _revolved([(np.cos(a), np.sin(a)) for a in angles], geometry.radius, geometry.radius)
    ends = [
        (np.cos(a), np.sin(a) + np.sign(a) * geometry.length / 2 / geometry.radius) for a in angles
    ]
    return _revolved(ends, geometry.radius, geometry.radius)


def _box(half: np.ndarray) -> list[np.ndarray]:
    faces = []
    for axis in range(3):
        for sign in (-1, 1):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            corners = np.zeros((4, 3))
            corners[:, axis] = sign
            corners[:, u], corners[:, v] = (-1, 1, 1, -1), (-1, -1, 1, 1)
            faces += _split((corners if sign > 0 else corners[::-1]) * half)
    return faces


def _split(corners: np.ndarray, parts: int = 4) -> list[np.ndarray]:
    """A rectangle as smaller ones, so that sorting by distance works for long boxes."""
    u, v = corners[1] - corners[0], corners[3] - corners[0]
    steps = np.linspace(0, 1, parts + 1)
    return [
        np.array([corners[0] + s * u + t * v for s, t in ((a, c), (b, c), (b, d), (a, d))])
        for a, b in pairwise(steps)
        for c, d in pairwise(steps)
    ]


def _revolved(profile: list[tuple[float, float]], radius: float, height: float) -> list[np.ndarray]:
    """Faces of a profile (distance from z, z), from bottom to top, turned about z."""
    angles = np.linspace(0, 2 * np.pi, SIDES + 1)
    faces = []
    for (r0, z0), (r1, z1) in pairwise(profile):
        pieces = np.linspace(0, 1, 5 if r0 == r1 and abs(z1 - z0) > 1 else 2)
        for s, t in pairwise(pieces):
            (ra, za), (rb, zb) = ((r0 + (r1 - r0) * x, z0 + (z1 - z0) * x) for x in (s, t))
            for a, b in pairwise(angles):
                ring = [(ra, za, a), (ra, za, b), (rb, zb, b), (rb, zb, a)]
                faces.append(
                    np.array(
                        [
                            (radius * r * np.cos(c), radius * r * np.sin(c), height * z)
                            for r, z, c in _without_doubles(ring)
                        ]
                    )
                )
    return faces


def _without_doubles(ring: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """A ring without the corner that the axis makes double."""
    if abs(ring[0][0]) < 1e-9:
        return ring[1:]
    return ring[:3] if abs(ring[2][0]) < 1e-9 else ring
