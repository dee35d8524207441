"""Robots made of spheres, and their distances computed with NumPy alone."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.spatial import quat


def spheres(*rows):
    """Shapes from rows of (x, y, z, radius)."""
    return [lw.Shape(lw.Sphere(r), lw.Pose((x, y, z))) for x, y, z, r in rows]


def arm(kinds=("revolute", "revolute", "revolute", "revolute"), limits=(-2.5, 2.5), last=()):
    """An arm on a pedestal, with axes in different directions, and a mimicking finger."""
    b = lw.ModelBuilder("arm")
    inertia = lw.solid_box(1.0, (0.1, 0.1, 0.1))
    b.add_link("pedestal", inertia=inertia, collisions=spheres((0.0, 0.0, -0.1, 0.1)))
    parent, at = "pedestal", (0.0, 0.0, 0.05)
    axes = [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.3, 0.0, 0.9)]
    for k, (kind, axis) in enumerate(zip(kinds, axes, strict=True), start=1):
        rows = [(0.0, 0.0, z, 0.05) for z in (0.1, 0.2, 0.3)][: 1 if k == 1 else 3]
        b.add_link(
            f"link{k}", inertia=inertia, collisions=[*spheres(*rows), *(last if k == 4 else ())]
        )
        bounds = {"lower": limits[0], "upper": limits[1]} if limits else {}
        place = {"axis": axis, "first_H_joint": lw.Pose(at)}
        b.add_joint(f"joint{k}", kind, parent, f"link{k}", **place, **bounds)
        parent, at = f"link{k}", (0.0, 0.0, 0.35 if k > 1 else 0.1)
    b.add_link("finger", inertia=inertia, collisions=spheres((0.0, 0.05, 0.05, 0.03)))
    b.add_joint(
        "grip",
        "revolute",
        "link4",
        "finger",
        axis=(1.0, 0.0, 0.0),
        first_H_joint=lw.Pose(at),
        mimic=lw.Mimic(joint="joint4", multiplier=0.3, offset=0.1),
    )
    return b.build()


def to_obstacles(points, radius, obstacles):
    """(..., n) signed distances of spheres to obstacles."""
    columns = []
    cloud = [[*p, obstacles.point_radius] for p in obstacles.points]
    for x, y, z, r in [*obstacles.spheres, *cloud]:
        columns.append(np.linalg.norm(points - [x, y, z], axis=-1) - r)
    for row in obstacles.capsules:
        a, b = row[:3], row[3:6]
        square = (b - a) @ (b - a)
        t = (
            np.clip((points - a) @ (b - a) / square, 0.0, 1.0)
            if square
            else np.zeros(points.shape[:-1])
        )
        columns.append(np.linalg.norm(points - a - t[..., None] * (b - a), axis=-1) - row[6])
    for row in obstacles.boxes:
        local = np.abs((points - row[:3]) @ quat.to_rotation(row[3:7])) - row[7:] / 2.0
        outside = np.linalg.norm(np.maximum(local, 0.0), axis=-1)
        columns.append(outside + np.minimum(local.max(axis=-1), 0.0))
    for row in obstacles.half_spaces:
        columns.append(points @ row[:3] - row[3])
    return np.stack(columns, axis=-1) - radius


def clearance(robot, q, obstacles=None):
    """(...) the smallest distance of the links of all pairs, and of links to obstacles."""
    placed = {}
    for link in robot.links:
        H = robot.kindyn.transform(link, q)
        placed[link] = [
            (H[..., :3, :3] @ shape.link_H_shape.xyz + H[..., :3, 3], shape.geometry.radius)
            for shape in robot.model.link(link).collisions
        ]
    least = np.full(q.shape[:-1], np.inf)
    for first, second in robot.pairs:
        for p, r in placed[first]:
            for o, s in placed[second]:
                least = np.minimum(least, np.linalg.norm(p - o, axis=-1) - r - s)
    for points in placed.values() if obstacles is not None else ():
        for p, r in points:
            least = np.minimum(least, to_obstacles(p, r, obstacles).min(axis=-1))
    return least


def between(start, end, n):
    """(n, ..., nq) configurations on straight motions."""
    fractions = np.linspace(0.0, 1.0, n).reshape(-1, *[1] * np.ndim(start))
    return start + fractions * (end - start)
