"""Collision shapes of a robot, and the pairs of links that are checked, as algorithms use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from linkwork.collision.closest import Ball, Block, Drum, HalfSpace, Rod, has_closed_form
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.mechanics.problem import Problem
from linkwork.model.geometry import Box, Capsule, Cylinder, Geometry, Shape, Sphere, row_of
from linkwork.model.model import Model
from linkwork.model.pose import rotation_and_position
from linkwork.spatial.blocks import Mat, Vec, as_vec

Solid: TypeAlias = Ball | Rod | Block | Drum
LinkPairs: TypeAlias = tuple[tuple[str, str], ...]

# The kinds of obstacles, and the shape of one.
OBSTACLES = {"spheres": Ball, "capsules": Rod, "boxes": Block, "half_spaces": HalfSpace}

# What messages suggest where a distance has no closed form.
CLOSED_FORMS = "cover the robot with spheres: lw.CollisionModel(model, shapes='spheres')"


@dataclass(frozen=True, eq=False)
class CollisionProblem(Problem):
    """A robot, and the pairs of links whose distances are computed."""

    pairs: tuple[tuple[str, str], ...] = ()

    @cached_property
    def compiled_links(self) -> dict[str, tuple[str, ...]]:
        """By kind of obstacles, the links whose distances to it have closed forms."""
        return {
            kind: tuple(
                link
                for link in self.links
                if all(has_closed_form_with(shape.geometry, solid) for shape in self.shapes(link))
            )
            for kind, solid in OBSTACLES.items()
        }

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Links with collision shapes."""
        return links_with_shapes(self.layout.model)

    def shapes(self, link: str) -> tuple[Shape, ...]:
        """The collision shapes of a link."""
        return self.layout.model.link(link).collisions


def links_with_shapes(model: Model) -> tuple[str, ...]:
    """The names of the links that have collision shapes."""
    return tuple(link.name for link in model.links if link.collisions)


def has_closed_form_with(geometry: Geometry, other: type[Any]) -> bool:
    """Whether the distance of a shape to another kind of solid has a closed form."""
    row = _SOLIDS.get(type(geometry))
    return row is not None and has_closed_form(row[0], other)


def is_compiled(first: Geometry, second: Geometry) -> bool:
    """Whether the distance of two shapes has a closed form."""
    row = _SOLIDS.get(type(second))
    return row is not None and has_closed_form_with(first, row[0])


def uncompiled(model: Model, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs of links with shapes whose distance has no closed form."""
    return [
        pair
        for pair in pairs
        if not all(
            is_compiled(a.geometry, b.geometry)
            for a in model.link(pair[0]).collisions
            for b in model.link(pair[1]).collisions
        )
    ]


def placed(shape: Shape, R: Mat, o: Vec) -> Solid:
    """Place a shape of a link that has a rotation and a position."""
    center = o + R @ as_vec(shape.link_H_shape.xyz)
    kind, build = row_of(_SOLIDS, shape.geometry, "a closed form")
    R = R if kind is Ball else R @ rotation_and_position(shape.link_H_shape)[0]
    return build(shape.geometry, R, center)


def _ball(sphere: Sphere, R: Mat, center: Vec) -> Ball:
    del R
    return Ball(center, sphere.radius)


def _rod(capsule: Capsule, R: Mat, center: Vec) -> Rod:
    half = 0.5 * capsule.length * R.T[2]
    return Rod(center - half, center + half, capsule.radius)


def _block(box: Box, R: Mat, center: Vec) -> Block:
    return Block(R, center, 0.5 * as_vec(box.size))


def _drum(cylinder: Cylinder, R: Mat, center: Vec) -> Drum:
    return Drum(R, center, cylinder.radius, 0.5 * cylinder.length)


# The solid of a shape, and what builds it from the shape, its rotation and its center.
_SOLIDS: dict[type[Geometry], tuple[type[Solid], Callable[[Any, Mat, Vec], Solid]]] = {
    Sphere: (Ball, _ball),
    Capsule: (Rod, _rod),
    Box: (Block, _block),
    Cylinder: (Drum, _drum),
}


def axes_along(axis: Array) -> Array:
    """(3, 3) a rotation whose z axis is a unit vector."""
    x = np.cross(np.eye(3)[np.abs(axis).argmin()], axis)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=-1)
