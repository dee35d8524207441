"""Robots as pictures: faces of their shapes, placed by linkwork, drawn with a depth buffer."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import linkwork as lw
from linkwork.spatial import se3

LIGHT = np.array([0.35, -0.45, 0.82])
SIDES = 56  # of what is round
PIXELS = 900  # of the longer side of a robot
SAMPLES = 3  # along each side of a pixel


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


def paint(axes, faces: list[Face], *, azimuth: float, elevation: float) -> None:
    """Draw faces as an observer far away sees them; a depth buffer decides what is in front."""
    right, up, towards = _observer(azimuth, elevation)
    corners = np.concatenate([face.corners for face in faces])
    low = np.array([(corners @ axis).min() for axis in (right, up)])
    high = np.array([(corners @ axis).max() for axis in (right, up)])
    scale = PIXELS * SAMPLES / (high - low).max()  # samples per meter
    width, height = np.ceil((high - low) * scale).astype(int) + 1
    image, depth = np.zeros((height, width, 4)), np.full((height, width), -np.inf)
    for face in faces:
        normal = np.cross(face.corners[1] - face.corners[0], face.corners[2] - face.corners[1])
        normal = normal / (np.linalg.norm(normal) + 1e-12)
        if normal @ towards <= 1e-9:
            continue
        shade = 0.45 + 0.55 * max(0.0, normal @ (LIGHT / np.linalg.norm(LIGHT)))
        color = np.append(np.clip(face.colour * shade, 0, 1), 1.0)
        flat = (np.stack([face.corners @ right, face.corners @ up], axis=-1) - low) * scale
        _fill(image, depth, flat, face.corners @ towards, color)
    rows, columns = (SAMPLES * (size // SAMPLES) for size in (height, width))
    blocks = image[:rows, :columns].reshape(
        rows // SAMPLES, SAMPLES, columns // SAMPLES, SAMPLES, 4
    )
    smooth = blocks.mean(axis=(1, 3))
    smooth[..., :3] /= np.maximum(smooth[..., 3:], 1e-9)  # colors of the covered part
    extent = (low[0], low[0] + columns / scale, low[1], low[1] + rows / scale)
    axes.set_autoscale_on(False)  # an image would set the limits to its own
    axes.imshow(smooth, origin="lower", extent=extent, interpolation="antialiased", zorder=3)
    axes.update_datalim([extent[::2], extent[1::2]])
    axes.set_autoscale_on(True)
    axes.autoscale_view()
    axes.set_aspect("equal")
    axes.axis("off")


def _fill(image, depth, flat: np.ndarray, distances: np.ndarray, color: np.ndarray) -> None:
    """Fill a convex polygon where it is nearer than what was drawn before."""
    first = np.maximum(np.floor(flat.min(axis=0)).astype(int), 0)
    last = np.ceil(flat.max(axis=0)).astype(int) + 1
    area = (slice(first[1], last[1]), slice(first[0], last[0]))
    y, x = np.mgrid[area] + 0.5
    y, x = (
        y[: depth[area].shape[0], : depth[area].shape[1]],
        x[: depth[area].shape[0], : depth[area].shape[1]],
    )
    inside = np.ones(x.shape, dtype=bool)
    for p, q in pairwise([*flat, flat[0]]):
        inside &= (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]) >= 0
    plane = np.linalg.lstsq(np.column_stack([flat, np.ones(len(flat))]), distances, rcond=None)[0]
    z = plane[0] * x + plane[1] * y + plane[2]
    inside &= z > depth[area]
    depth[area][inside] = z[inside]
    image[area][inside] = color


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
            faces.append((corners if sign > 0 else corners[::-1]) * half)
    return faces


def _revolved(profile: list[tuple[float, float]], radius: float, height: float) -> list[np.ndarray]:
    """Faces of a profile (distance from z, z), from bottom to top, turned about z."""
    angles = np.linspace(0, 2 * np.pi, SIDES + 1)
    faces = []
    for (r0, z0), (r1, z1) in pairwise(profile):
        for a, b in pairwise(angles):
            ring = [(r0, z0, a), (r0, z0, b), (r1, z1, b), (r1, z1, a)]
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
