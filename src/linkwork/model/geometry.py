"""Shapes of links: what a viewer draws and a collision checker tests. Dynamics needs none.

Sizes are at least 0: a capsule of length 0 is a ball, a box with an edge of length 0 a rectangle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, get_args

from linkwork.errors import model_error, shown
from linkwork.model.numbers import Triple, finite_numbers, instance, settle, size, text, triple
from linkwork.model.pose import IDENTITY, Pose


@dataclass(frozen=True, slots=True)
class Box:
    """A box about the origin."""

    size: Triple  # edges along x, y, z [m]

    def __post_init__(self) -> None:
        edges = triple(self.size, "box size")
        settle(self, size=tuple(size(edge, "box size") for edge in edges))


@dataclass(frozen=True, slots=True)
class Cylinder:
    """A cylinder about the origin, along z."""

    radius: float  # [m]
    length: float  # [m]

    def __post_init__(self) -> None:
        _settle_round(self, "cylinder")


@dataclass(frozen=True, slots=True)
class Capsule:
    """A cylinder along z with a half ball on each end."""

    radius: float  # [m]
    length: float  # of the cylinder alone [m]

    def __post_init__(self) -> None:
        _settle_round(self, "capsule")


@dataclass(frozen=True, slots=True)
class Sphere:
    """A ball about the origin."""

    radius: float  # [m]

    def __post_init__(self) -> None:
        settle(self, radius=size(self.radius, "sphere radius"))


@dataclass(frozen=True, slots=True)
class Mesh:
    """A surface in a file. `filename` is as the file of the robot has it.

    Where a mesh lies on this machine is no property of the robot, so it does not count in `==`.
    """

    filename: str
    scale: Triple = (1.0, 1.0, 1.0)
    path: str | None = field(default=None, compare=False)  # None: not found
    searched: tuple[str, ...] = field(default=(), compare=False, repr=False)  # the paths tried

    def __post_init__(self) -> None:
        settle(
            self,
            filename=text(self.filename, "mesh filename"),
            scale=triple(self.scale, "mesh scale"),
            path=None if self.path is None else text(self.path, "mesh path"),
            searched=tuple(text(path, "searched path") for path in self.searched),
        )


def _settle_round(shape: Cylinder | Capsule, what: str) -> None:
    settle(
        shape,
        radius=size(shape.radius, f"{what} radius"),
        length=size(shape.length, f"{what} length"),
    )


Geometry: TypeAlias = Box | Cylinder | Capsule | Sphere | Mesh


@dataclass(frozen=True, slots=True)
class Material:
    """Color and texture of a visual."""

    name: str = ""
    rgba: tuple[float, float, float, float] | None = None  # each 0 to 1
    texture: str | None = None

    def __post_init__(self) -> None:
        settle(self, name=text(self.name, "material name"))
        if self.rgba is not None:
            settle(self, rgba=finite_numbers(self.rgba, 4, "rgba"))
        if self.texture is not None:
            settle(self, texture=text(self.texture, "texture"))


@dataclass(frozen=True, slots=True)
class Shape:
    """A piece of a link's visual or collision geometry."""

    geometry: Geometry
    link_H_shape: Pose = IDENTITY
    name: str = ""
    material: Material | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.geometry, get_args(Geometry)):
            expected = "a Box, Cylinder, Capsule, Sphere or Mesh"
            raise model_error(f"geometry: expected {expected}, got {shown(self.geometry)}")
        instance(self.link_H_shape, Pose, "link_H_shape")
        settle(self, name=text(self.name, "shape name"))
        if self.material is not None:
            instance(self.material, Material, "material")
