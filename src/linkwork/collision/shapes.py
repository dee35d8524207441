"""Collision shapes of a robot, and the pairs of links that are checked, as algorithms use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from linkwork.collision.closest import (
    HalfSpace,
    PlacedBox,
    PlacedCapsule,
    PlacedCylinder,
    PlacedShape,
    PlacedSphere,
    has_closed_form,
)
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.mechanics.problem import Problem
from linkwork.model.geometry import Box, Capsule, Cylinder, Geometry, Shape, Sphere, row_of
from linkwork.model.model import Model
from linkwork.model.pose import rotation_and_position
from linkwork.spatial.blocks import Mat, Vec, as_vec

LinkPairs: TypeAlias = tuple[tuple[str, str], ...]

# The kinds of obstacles, and the shape of one.
OBSTACLES = {
    "spheres": PlacedSphere,
    "capsules": PlacedCapsule,
    "boxes": PlacedBox,
    "half_spaces": HalfSpace,
}

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
                if all(
                    has_closed_form_with(shape.geometry, placed_shape)
                    for shape in self.shapes(link)
                )
            )
            for kind, placed_shape in OBSTACLES.items()
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
    """Whether the distance of a shape to another kind of placed shape has a closed form."""
    row = _PLACED.get(type(geometry))
    return row is not None and has_closed_form(row[0], other)


def is_compiled(first: Geometry, second: Geometry) -> bool:
    """Whether the distance of two shapes has a closed form."""
    row = _PLACED.get(type(second))
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


def placed(shape: Shape, R: Mat, o: Vec) -> PlacedShape:
    """Place a shape of a link that has a rotation and a position."""
    center = o + R @ as_vec(shape.link_H_shape.xyz)
    kind, build = row_of(_PLACED, shape.geometry, "a closed form")
    R = R if kind is PlacedSphere else R @ rotation_and_position(shape.link_H_shape)[0]
    return build(shape.geometry, R, center)


def _sphere(sphere: Sphere, R: Mat, center: Vec) -> PlacedSphere:
    del R
    return PlacedSphere(center, sphere.radius)


def _capsule(capsule: Capsule, R: Mat, center: Vec) -> PlacedCapsule:
    half = 0.5 * capsule.length * R.T[2]
    return PlacedCapsule(center - half, center + half, capsule.radius)


def _box(box: Box, R: Mat, center: Vec) -> PlacedBox:
    return PlacedBox(R, center, 0.5 * as_vec(box.size))


def _cylinder(cylinder: Cylinder, R: Mat, center: Vec) -> PlacedCylinder:
    return PlacedCylinder(R, center, cylinder.radius, 0.5 * cylinder.length)


# The placed shape, and what builds it from the shape, its rotation and its center.
_PLACED: dict[type[Geometry], tuple[type[PlacedShape], Callable[[Any, Mat, Vec], PlacedShape]]] = {
    Sphere: (PlacedSphere, _sphere),
    Capsule: (PlacedCapsule, _capsule),
    Box: (PlacedBox, _box),
    Cylinder: (PlacedCylinder, _cylinder),
}


def axes_along(axis: Array) -> Array:
    """(3, 3) a rotation whose z axis is a unit vector."""
    x = np.cross(np.eye(3)[np.abs(axis).argmin()], axis)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=-1)
