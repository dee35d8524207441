"""Shapes of links: what a viewer draws and a collision checker tests. Dynamics needs none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from linkwork.model.pose import IDENTITY, Pose, Triple


@dataclass(frozen=True, slots=True)
class Box:
    """A box about the origin."""

    size: Triple  # edges along x, y, z [m]


@dataclass(frozen=True, slots=True)
class Cylinder:
    """A cylinder about the origin, along z."""

    radius: float  # [m]
    length: float  # [m]


@dataclass(frozen=True, slots=True)
class Capsule:
    """A cylinder along z with a half ball on each end."""

    radius: float  # [m]
    length: float  # of the cylinder alone [m]


@dataclass(frozen=True, slots=True)
class Sphere:
    """A ball about the origin."""

    radius: float  # [m]


@dataclass(frozen=True, slots=True)
class Mesh:
    """A surface in a file. `filename` is what the robot's file says.

    Where a mesh lies on this machine is no property of the robot, so it does not count in `==`.
    """

    filename: str
    scale: Triple = (1.0, 1.0, 1.0)
    path: str | None = field(default=None, compare=False)  # None: not found
    searched: tuple[str, ...] = field(default=(), compare=False, repr=False)  # the places tried


Geometry: TypeAlias = Box | Cylinder | Capsule | Sphere | Mesh


@dataclass(frozen=True, slots=True)
class Material:
    """Colour and texture of a visual."""

    name: str = ""
    rgba: tuple[float, float, float, float] | None = None  # each 0 to 1
    texture: str | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """A piece of a link's visual or collision geometry."""

    geometry: Geometry
    link_H_shape: Pose = IDENTITY
    name: str = ""
    material: Material | None = None
