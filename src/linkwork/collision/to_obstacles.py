"""Distances of the links of a robot to obstacles.

Obstacles are inputs of compiled functions, in blocks of a fixed size. Links whose distances have no
closed form are compared by queries of their shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.algorithms.kinematics.frames import Scalars, path_to
from linkwork.collision.closest import (
    HalfSpace,
    PlacedBox,
    PlacedCapsule,
    PlacedShape,
    PlacedSphere,
    selected,
)
from linkwork.collision.core import CollisionCore, kernel_of, rates
from linkwork.collision.distances import PosedRobot, add_rates, closest_to, distance_of, is_finite
from linkwork.collision.exact.queries import Placed, ShapeQueries, smallest
from linkwork.collision.obstacles import (
    BLOCK,
    OBSTACLE_INPUTS,
    WIDTHS,
    Obstacles,
    as_obstacles,
    batch_with,
    in_blocks,
)
from linkwork.collision.shapes import CLOSED_FORMS, CollisionProblem, axes_along
from linkwork.engine.symbolic.arrays import Array, ObjectArray, as_array
from linkwork.errors import ArgumentError, ShapeError
from linkwork.kindyn.inputs import Q
from linkwork.kindyn.quantities import Quantity, Shape, with_context
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.model.geometry import Box, Capsule, Sphere
from linkwork.model.geometry import Shape as LinkShape
from linkwork.model.pose import as_pose
from linkwork.spatial.blocks import Force, Scalar, Vec, as_mat, as_vector
from linkwork.spatial.source import quat


def _sphere(x: Scalars) -> PlacedSphere:
    return PlacedSphere(Vec(*x[:3]), x[3])


def _capsule(x: Scalars) -> PlacedCapsule:
    return PlacedCapsule(Vec(*x[:3]), Vec(*x[3:6]), x[6])


def _box(x: Scalars) -> PlacedBox:
    R = as_mat(quat.to_rotation(as_vector(x[3:7])))
    return PlacedBox(R, Vec(*x[:3]), 0.5 * Vec(*x[7:]))


def _half_space(x: Scalars) -> HalfSpace:
    return HalfSpace(Vec(*x[:3]), x[3])


_BUILDERS: dict[str, Callable[[Scalars], PlacedShape]] = {
    "spheres": _sphere,
    "capsules": _capsule,
    "boxes": _box,
    "half_spaces": _half_space,
}
"""How an obstacle of each kind is built from its row."""


def _block(kind: str, entries: Scalars) -> list[PlacedShape]:
    width, build = WIDTHS[kind], _BUILDERS[kind]
    return [build(entries[k * width : (k + 1) * width]) for k in range(BLOCK)]


def _in_world(
    problem: CollisionProblem, q: Scalars, velocity: Representation
) -> tuple[PosedRobot, Base]:
    base = base_of(problem.layout, q, velocity)
    return PosedRobot(problem, q, base.R, base.o), base


def _distances(kind: str) -> Callable[..., Any]:
    def distances(problem: CollisionProblem, q: Scalars, obstacles: Scalars) -> list[list[Scalar]]:
        """(4, links) distances of the links to obstacles."""
        robot, _ = _in_world(problem, q, "mixed")
        links, defined = robot.problem.compiled_links[kind], is_finite(q)
        return [
            [
                selected(defined, distance_of(robot.solids(link), [obstacle]), np.nan)
                for link in links
            ]
            for obstacle in _block(kind, obstacles)
        ]

    return distances


def _jacobian(kind: str) -> Callable[..., Any]:
    def jacobian(
        problem: CollisionProblem, q: Scalars, obstacles: Scalars, *, velocity: Representation
    ) -> list[list[list[Scalar]]]:
        """(4, links, nv) derivatives of the distances in the tangent space."""
        robot, base = _in_world(problem, q, velocity)
        links = robot.problem.compiled_links[kind]
        return [
            [_row(robot, base, link, obstacle) for link in links]
            for obstacle in _block(kind, obstacles)
        ]

    return jacobian


def _row(robot: PosedRobot, base: Base, link: str, obstacle: PlacedShape) -> list[Scalar]:
    points = closest_to(robot, link, obstacle)
    row: list[Scalar] = [0.0] * robot.problem.layout.nv
    n, p = -points.normal, points.first
    wrench = Force(n, (p - base.o).cross(n))
    for k, column in enumerate(base.columns):
        row[k] = wrench.dot(base.R @ column)
    add_rates(row, robot, path_to(robot.skeleton, robot.body_of(link)), (n, p))
    return row


def _count(kind: str) -> Callable[[Any], int]:
    return lambda problem: len(problem.compiled_links[kind])


DISTANCES_TO = {kind: f"distances_to_{kind}" for kind in _BUILDERS}
"""By kind of obstacles, the name of the quantity."""
JACOBIANS_TO = {kind: f"{name}_jacobian" for kind, name in DISTANCES_TO.items()}
"""The same of its derivatives."""


def _quantities(kind: str) -> tuple[Quantity, Quantity]:
    """Return the distances of the links to obstacles of a kind, and their derivatives."""
    shape: Shape = (BLOCK, _count(kind))
    inputs = (Q, OBSTACLE_INPUTS[kind])
    name, jacobian = DISTANCES_TO[kind], JACOBIANS_TO[kind]
    return (
        Quantity(name, inputs, (shape,), with_context(_distances(kind)), derivatives=jacobian),
        Quantity(jacobian, inputs, ((*shape, "nv"),), with_context(_jacobian(kind))),
    )


TO_OBSTACLES = tuple(one for kind in _BUILDERS for one in _quantities(kind))
"""The quantities of all kinds of obstacles."""


# Calls.


def distances_to(
    robot: CollisionCore,
    q: Any,
    obstacles: Any,
    threads: int | None = None,
    *,
    jacobian: bool = False,
) -> Array:
    """(..., obstacles, links) distances, or (..., obstacles, links, nv) their derivatives."""
    obstacles = as_obstacles(obstacles)
    if isinstance(q, ObjectArray):
        return _traced(robot, q, obstacles, jacobian=jacobian)
    q = q if isinstance(q, np.ndarray) else as_array(q, "q", (robot.nq,))
    batch = batch_with(obstacles, q.shape[:-1])
    width = robot.nv if jacobian else 1  # derivatives of a distance, or the distance itself
    parts = [np.empty((*q.shape[:-1], 0, len(robot.links), width), robot.dtype)]
    for kind in DISTANCES_TO:
        rows = obstacles.rows(kind)
        if rows.shape[-2]:
            parts.append(_to_kind(robot, kind, q, rows, threads, jacobian=jacobian))
    parts = [np.broadcast_to(part, (*batch, *part.shape[-3:])) for part in parts]
    values = parts[1] if len(parts) == 2 else np.concatenate(parts, axis=-3)
    return values if jacobian else values[..., 0]


def _to_kind(
    robot: CollisionCore, kind: str, q: Array, rows: Array, threads: int | None, *, jacobian: bool
) -> Array:
    """(..., n, n_links, width) distances to all obstacles of a kind, or their derivatives."""
    n, links = rows.shape[-2], robot.links
    batch = np.broadcast_shapes(q.shape[:-1], rows.shape[:-2])
    width = robot.nv if jacobian else 1
    compiled = robot.problem.compiled_links[kind]
    values = np.empty((*batch, n, len(links), width), robot.dtype)
    if compiled:
        blocks = in_blocks(rows)
        kernel = kernel_of(robot, (JACOBIANS_TO if jacobian else DISTANCES_TO)[kind])
        results = kernel(q[..., None, :], blocks.astype(robot.dtype), threads=threads)
        n_filled = blocks.shape[-3] * blocks.shape[-2]
        results = np.asarray(results).reshape(*batch, n_filled, len(compiled), width)
        if len(compiled) == len(links):
            return results[..., :n, :, :]
        columns = [links.index(link) for link in compiled]
        values[..., columns, :] = results[..., :n, :, :]
    for column, link in enumerate(links):
        if link not in compiled:
            exact = _by_queries(robot, link, q, kind, rows, jacobian=jacobian)
            values[..., column, :] = exact.reshape(*batch, n, width)
    return values


def _traced(robot: CollisionCore, q: Any, obstacles: Obstacles, *, jacobian: bool) -> Any:
    """Return the same inside a function that is being compiled; the obstacles are constants."""
    parts: list[Any] = []
    for kind, name in (JACOBIANS_TO if jacobian else DISTANCES_TO).items():
        rows = obstacles.rows(kind)
        n = rows.shape[-2]
        if not n:
            continue
        if rows.ndim > 2:
            text = f"expected (n, {rows.shape[-1]}) inside a compiled function"
            raise ShapeError(f"{kind}: {text}, got batch axes {rows.shape[:-2]}")
        if robot.problem.compiled_links[kind] != robot.links:
            text = f"distances of these links to {kind.replace('_', '-')} have no closed form"
            raise ArgumentError(f"{text}, and cannot be compiled; {CLOSED_FORMS}")
        kernel: Any = kernel_of(robot, name)
        parts.append(np.concatenate([kernel(q, block) for block in in_blocks(rows)])[:n])
    if not parts:
        return np.empty((0, len(robot.links), *((robot.nv,) if jacobian else ())))
    return np.concatenate(parts)


def _by_queries(
    robot: CollisionCore, link: str, q: Array, kind: str, rows: Array, *, jacobian: bool
) -> Array:
    """(..., n) distances of a link to obstacles, or (..., n, nv) their derivatives.

    Args:
        robot: the robot.
        link: a link for which there is no closed form.
        q: (..., nq) configurations.
        kind: of the obstacles.
        rows: (..., n, width) the obstacles, whose batch axes are broadcast with q.
        jacobian: whether derivatives are computed.
    """
    kd, shapes = robot.kindyn_for_queries, robot.shape_queries
    batch, n = np.broadcast_shapes(q.shape[:-1], rows.shape[:-2]), rows.shape[-2]
    flat = np.broadcast_to(q, (*batch, q.shape[-1])).reshape(-1, q.shape[-1])
    rows = np.broadcast_to(rows, (*batch, *rows.shape[-2:])).reshape(-1, *rows.shape[-2:])
    poses = np.asarray(kd.transform(link, flat), np.float64)
    poses[~np.isfinite(flat).all(axis=-1)] = np.nan
    parts = robot.model.link(link).collisions
    placed = [Placed(shape, poses, f"link {link!r}") for shape in parts]
    to_each = [
        smallest(_to_obstacle(shapes, one, kind, rows[:, k]) for one in placed) for k in range(n)
    ]
    results = np.stack(to_each, axis=1)
    if not jacobian:
        return results[..., 0].reshape(*batch, n)
    p, normal = results[..., 1:4], results[..., 7:]
    J = [-rates(kd, link, flat, (p[:, k], normal[:, k]), {}) for k in range(n)]
    return np.stack(J, axis=-2).reshape(*batch, n, kd.nv)


def _to_obstacle(shapes: ShapeQueries, placed: Placed, kind: str, rows: Array) -> Array:
    """(rows, 10) distances of a shape to an obstacle of each row, and closest points."""
    if kind == "half_spaces":
        return shapes.to_half_spaces(placed, rows)
    results = np.empty((len(rows), 10))
    distinct, index = np.unique(rows, axis=0, return_inverse=True)
    for k, row in enumerate(distinct):
        at = (index.reshape(-1) == k).nonzero()[0]
        world = np.tile(np.eye(4), (len(at), 1, 1))
        obstacle = Placed(_obstacle_shape(kind, row), world, "an obstacle")
        results[at] = shapes.nearest(placed._replace(poses=placed.poses[at]), obstacle)
    return results


def _obstacle_shape(kind: str, row: Array) -> LinkShape:
    """A row of spheres, capsules or boxes as a shape in the world."""
    H = np.eye(4)
    if kind == "spheres":
        geometry, H[:3, 3] = Sphere(row[3]), row[:3]
    elif kind == "capsules":
        axis = row[3:6] - row[:3]
        length = float(np.linalg.norm(axis))
        H[:3, :3] = axes_along(axis / length) if length > 0.0 else np.eye(3)
        geometry, H[:3, 3] = Capsule(row[6], length), 0.5 * (row[:3] + row[3:6])
    else:
        geometry = Box(tuple(row[7:10].tolist()))
        H[:3, :3], H[:3, 3] = quat.to_rotation(row[3:7]), row[:3]
    return LinkShape(geometry, as_pose(H))
