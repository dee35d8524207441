"""Distances of the links of a robot to obstacles that are inputs, in blocks of a fixed size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.algorithms.kinematics.frames import Scalars, path_to
from linkwork.collision.closest import Ball, Block, HalfSpace, Rod, Solid, selected
from linkwork.collision.distances import Robot, add_rates, closest_to, distance_of, is_finite
from linkwork.collision.obstacles import BLOCK, WIDTHS
from linkwork.collision.shapes import CollisionProblem
from linkwork.kindyn.inputs import INPUTS
from linkwork.kindyn.quantities import COLLISION, TABLES, Quantity, Shape, with_context
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.spatial.blocks import (
    Scalar,
    as_vector,
    cross,
    dot,
    neg,
    plus,
    scale,
    sub,
    twist_rotate,
)
from linkwork.spatial.source import quat


def _sphere(x: Scalars) -> Ball:
    return Ball((x[0], x[1], x[2]), x[3])


def _capsule(x: Scalars) -> Rod:
    return Rod((x[0], x[1], x[2]), (x[3], x[4], x[5]), x[6])


def _box(x: Scalars) -> Block:
    R: Any = tuple(tuple(row) for row in quat.to_rotation(as_vector(x[3:7])))
    return Block(R, (x[0], x[1], x[2]), scale(0.5, (x[7], x[8], x[9])))


def _half_space(x: Scalars) -> HalfSpace:
    return HalfSpace((x[0], x[1], x[2]), x[3])


_BUILDERS: dict[str, Callable[[Scalars], Solid]] = {
    "spheres": _sphere,
    "capsules": _capsule,
    "boxes": _box,
    "half_spaces": _half_space,
}
"""How an obstacle of each kind is built from its row."""


def _block(kind: str, entries: Scalars) -> list[Solid]:
    width, build = WIDTHS[kind], _BUILDERS[kind]
    return [build(entries[k * width : (k + 1) * width]) for k in range(BLOCK)]


def _in_world(
    problem: CollisionProblem, q: Scalars, velocity: Representation
) -> tuple[Robot, Base]:
    base = base_of(problem.layout, q, velocity)
    return Robot(problem, q, base.R, base.o), base


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


def _row(robot: Robot, base: Base, link: str, obstacle: Solid) -> list[Scalar]:
    points = closest_to(robot, link, obstacle)
    row: list[Scalar] = [0.0] * robot.problem.layout.nv
    n, p = neg(points.normal), points.first
    moment = cross(sub(p, base.o), n)
    for k, (v, w) in enumerate(twist_rotate(base.R, column) for column in base.columns):
        row[k] = plus(dot(n, v), dot(moment, w))
    add_rates(row, robot, path_to(robot.skeleton, robot.body_of(link)), (n, p))
    return row


def _count(kind: str) -> Callable[[Any], int]:
    return lambda problem: len(problem.compiled_links[kind])


DISTANCES_TO = {kind: f"{COLLISION}distances_to_{kind}" for kind in _BUILDERS}
"""By kind of obstacles, the name of the quantity; that of its derivatives ends with _jacobian."""

for _kind, _name in DISTANCES_TO.items():
    _shape: Shape = (BLOCK, _count(_kind))
    _inputs = (INPUTS["q"], INPUTS[_kind])
    TABLES[COLLISION][_name] = Quantity(
        _inputs, (_shape,), with_context(_distances(_kind)), derivatives=f"{_name}_jacobian"
    )
    TABLES[COLLISION][f"{_name}_jacobian"] = Quantity(
        _inputs, ((*_shape, "nv"),), with_context(_jacobian(_kind))
    )
