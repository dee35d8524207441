"""Collision shapes of a robot, and the pairs of links that are checked, as algorithms use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from linkwork.collision.closest import Ball, Block, Drum, HalfSpace, Rod, has_closed_form
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.mechanics.problem import Problem
from linkwork.model.geometry import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere
from linkwork.model.model import Model
from linkwork.model.pose import rotation_and_position
from linkwork.spatial.blocks import Mat, Vec, add, apply, matmul, scale, transpose

Solid: TypeAlias = Ball | Rod | Block | Drum

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


_SOLIDS: dict[type[Geometry], type[Solid]] = {
    Sphere: Ball,
    Capsule: Rod,
    Box: Block,
    Cylinder: Drum,
}


def has_closed_form_with(geometry: Geometry, other: type[Any]) -> bool:
    """Whether the distance of a shape to another kind of solid has a closed form."""
    solid = _SOLIDS.get(type(geometry))
    return solid is not None and has_closed_form(solid, other)


def is_compiled(first: Geometry, second: Geometry) -> bool:
    """Whether the distance of two shapes has a closed form."""
    solid = _SOLIDS.get(type(second))
    return solid is not None and has_closed_form_with(first, solid)


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
    """A shape of a link that has a rotation and a position."""
    geometry = shape.geometry
    center = add(o, apply(R, shape.link_H_shape.xyz))
    if isinstance(geometry, Sphere):
        return Ball(center, geometry.radius)
    R = matmul(R, rotation_and_position(shape.link_H_shape)[0])
    if isinstance(geometry, Box):
        half_x, half_y, half_z = (0.5 * edge for edge in geometry.size)
        return Block(R, center, (half_x, half_y, half_z))
    assert not isinstance(geometry, Mesh)
    if isinstance(geometry, Cylinder):
        return Drum(R, center, geometry.radius, 0.5 * geometry.length)
    half = scale(0.5 * geometry.length, transpose(R)[2])
    return Rod(add(center, scale(-1.0, half)), add(center, half), geometry.radius)


def axes_along(axis: Array) -> Array:
    """(3, 3) a rotation whose z axis is a unit vector."""
    x = np.cross(np.eye(3)[np.abs(axis).argmin()], axis)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=-1)
