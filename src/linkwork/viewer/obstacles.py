"""Obstacles in the world: boxes, spheres and points as one node of each kind, capsules one by one.

A half-space is drawn as a square plate whose upper side is its boundary.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from linkwork.collision.obstacles import WIDTHS, Obstacles, as_obstacles
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ShapeError
from linkwork.model.geometry import Box, Capsule, Shape, Sphere
from linkwork.model.geometry.surface import Surface
from linkwork.spatial.source import quat
from linkwork.viewer.camera import Extent
from linkwork.viewer.colors import Rgb, linear
from linkwork.viewer.drawing import pose_along
from linkwork.viewer.scene import node

LEAST_RADIUS = 0.004  # of points and spheres without a radius, in reaches of the scene
PLATE = (4.0, 4.0, 0.01)  # of a half-space, in reaches of the scene


def add_obstacles(
    server: Any, obstacles: Obstacles | Iterable[Shape], extent: Extent, color: Rgb
) -> list[Any]:
    """Draw obstacles; the nodes of each kind."""
    rows = as_obstacles(obstacles)
    for kind in WIDTHS:
        if getattr(rows, kind).ndim > 2:
            shape = getattr(rows, kind).shape
            raise ShapeError(f"obstacles: expected those of one state, got {kind} {shape}")
    spheres, boxes = rows.rows("spheres"), [*rows.boxes]
    boxes += [_plate(one, extent.reach) for one in rows.half_spaces]
    nodes: list[Any] = []
    if len(spheres):
        poses = np.concatenate(
            [spheres[:, :3], np.tile([1.0, 0.0, 0.0, 0.0], (len(spheres), 1))], 1
        )
        radii = np.maximum(spheres[:, 3:], LEAST_RADIUS * extent.reach)
        nodes.append(
            _batch(server, "spheres", Sphere(1.0).surface(), poses, np.tile(radii, 3), color)
        )
    if boxes:
        table = np.array(boxes)
        cube = Box((1.0, 1.0, 1.0)).surface()
        nodes.append(_batch(server, "boxes", cube, table[:, :7], table[:, 7:], color))
    for k, one in enumerate(rows.capsules):
        axis, middle, one_scale = one[3:6] - one[:3], (one[:3] + one[3:6]) / 2, np.ones((1, 3))
        length = float(np.linalg.norm(axis))
        rotation = pose_along(axis / length)[:3, :3] if length else np.eye(3)
        pose = np.concatenate([middle, quat.from_rotation(rotation)])[None]
        surface = Capsule(float(one[6]), length).surface()
        nodes.append(_batch(server, f"capsule {k}", surface, pose, one_scale, color))
    return nodes


def _plate(half_space: Array, reach: float) -> Array:
    """(10,) the box of a half-space, as a row of `Obstacles.boxes`."""
    normal, size = half_space[:3], reach * np.array(PLATE)
    center = normal * (half_space[3] - size[2] / 2)
    return np.concatenate([center, quat.from_rotation(pose_along(normal)[:3, :3]), size])


def _batch(  # noqa: PLR0917
    server: Any, name: str, surface: Surface, poses: Array, scales: Array, color: Rgb
) -> Any:
    return server.scene.add_batched_meshes_simple(
        node("obstacles", name),
        surface.vertices.astype(np.float32),
        surface.faces.astype(np.uint32),
        batched_positions=poses[:, :3].astype(np.float32),
        batched_wxyzs=poses[:, 3:].astype(np.float32),
        batched_scales=scales.astype(np.float32),
        batched_colors=linear(np.tile(color, (len(poses), 1))),
        opacity=0.8,
        lod="off",
    )
