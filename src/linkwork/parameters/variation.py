"""Values that replace constants of a robot: inertias, poses, gravity, friction.

A `Variation` collects them as scalars: floats, traced expressions, or columns with one entry for
each row of a batch. `parameters.skeleton` builds the skeleton of a robot from them.

A link can also be a homogeneous solid whose length and density are inputs, as in adam.parametric:
the first visual of the link, a box, cylinder or sphere. A multiplier scales its size along z (of a
sphere, the radius). The end of the solid near the link's origin stays where it is, and joints that
the link carries move along z with the other end:

    joint beyond the far end, z >= 0     z + (length - original length)
    joint at z < 0                       z - (length - original length)

The mass is volume times density, the inertia that of the solid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError
from linkwork.mechanics.inertia import RigidInertia
from linkwork.model.geometry import Box, Cylinder, Sphere
from linkwork.model.model import Model
from linkwork.model.parts import Link
from linkwork.model.pose import Pose
from linkwork.spatial.blocks import ZERO, Mat, Scalar, Sym, Vec, as_mat, quaternion_rotation

Placement: TypeAlias = tuple[Mat, Vec]
"""Pose of a frame b in a frame a: rotation, and position of its origin."""


@dataclass(frozen=True)
class Variation:
    """The values that replace constants of a robot."""

    inertias: dict[str, RigidInertia] = field(default_factory=dict[str, RigidInertia])
    """By link: its inertia about its origin, in its axes."""
    payloads: list[tuple[str, RigidInertia]] = field(default_factory=list[tuple[str, RigidInertia]])
    """Frame, and the inertia in the axes of that frame that is added to the link carrying it."""
    joint_poses: dict[str, Placement] = field(default_factory=dict[str, Placement])
    """By joint: first_H_joint."""
    frame_poses: dict[str, Placement] = field(default_factory=dict[str, Placement])
    """By additional frame: link_H_frame."""
    joint_dynamics: dict[tuple[str, str], Scalar] = field(
        default_factory=dict[tuple[str, str], Scalar]
    )
    """By joint and attribute, such as ("knee", "damping")."""
    lengths: dict[str, Scalar] = field(default_factory=dict[str, Scalar])
    """By link: factor of the length of its solid."""
    densities: dict[str, Scalar] = field(default_factory=dict[str, Scalar])
    """By link: density of its solid [kg/m^3]."""
    gravity: list[Vec] = field(default_factory=list[Vec])
    """The gravity vector if it is an input, else empty."""
    frictions: list[tuple[str | None, Scalar]] = field(
        default_factory=list[tuple[str | None, Scalar]]
    )
    """Contact of a simulation, None for all, and a factor of its sliding friction."""
    actuators: dict[str, Sequence[Scalar]] = field(default_factory=dict[str, Sequence[Scalar]])
    """By actuator of a simulation: its gain (3) and bias (3)."""
    ground: list[Scalar] = field(default_factory=list[Scalar])
    """Height of the ground, and rise per length along x and y, if they are inputs, else empty."""
    inverse_weights: list[Scalar] = field(default_factory=list[Scalar])
    """Those of a simulation if they are inputs, else empty."""


def inertia_from_values(values: Sequence[Scalar]) -> RigidInertia:
    """Build an inertia from its ten parameters: m, m c, and the tensor's xx, xy, xz, yy, yz, zz."""
    mass, x, y, z, *tensor = values
    return RigidInertia(mass, Vec(x, y, z), Sym(*tensor))


def placement_from_values(values: Sequence[Scalar]) -> Placement:
    """Build a pose from its position (3) and unit quaternion wxyz (4)."""
    return quaternion_rotation(values[3:7]), Vec(*values[:3])


def constant_placement(pose: Pose) -> Placement:
    """Convert a pose of the model."""
    return matrix_placement(pose.matrix())


def matrix_placement(matrix: Array) -> Placement:
    """Convert a pose (4, 4) of constants."""
    return as_mat(matrix[:3, :3].tolist()), Vec(*matrix[:3, 3].tolist())


def composed(a_H_b: Placement, b_H_c: Placement) -> Placement:
    """Compose two poses: a_H_c."""
    return a_H_b[0] @ b_H_c[0], a_H_b[1] + a_H_b[0] @ b_H_c[1]


def inverted(a_H_b: Placement) -> Placement:
    """Invert a pose: b_H_a."""
    R, p = a_H_b
    return R.T, -(R.T @ p)


def moved(inertia: RigidInertia, a_H_b: Placement) -> RigidInertia:
    """Express an inertia given in frame b about the origin and in the axes of frame a."""
    R, p = a_H_b
    return inertia.rotated(R).shifted(p)


@dataclass(frozen=True, slots=True)
class Solid:
    """The solid of a link, and its pose in the link."""

    geometry: Box | Cylinder | Sphere
    xyz: tuple[float, float, float]
    rpy: tuple[float, float, float]
    placement: Placement

    def volume(self, multiplier: Scalar) -> Scalar:
        """Return the volume at a multiple of the length [m^3]."""
        match self.geometry:
            case Box(size=(x, y, z)):
                return x * y * z * multiplier
            case Cylinder(radius=radius, length=length):
                return math.pi * radius * radius * length * multiplier
            case Sphere(radius=radius):
                r = radius * multiplier
                return (4.0 / 3.0 * math.pi) * r * r * r

    @property
    def principal_length(self) -> float:
        """The size along the z axis of the link; of a sphere the radius, as in adam."""
        match self.geometry:
            case Box(size=size):
                return size[2]
            case Cylinder(radius=radius, length=length):
                return 2.0 * radius if self._is_lying else length
            case Sphere(radius=radius):
                return radius

    @property
    def _is_lying(self) -> bool:
        """Whether a cylinder lies across the link's z axis, by the angles that adam checks."""
        return self.rpy[0] < 0.0 or self.rpy[1] > 0.0

    def growth(self, multiplier: Scalar) -> Scalar:
        """Return the change of the principal length at a multiple of the length [m]."""
        if isinstance(self.geometry, Cylinder) and self._is_lying:
            return 0.0
        return self.principal_length * (multiplier - 1.0)

    def moments(self, multiplier: Scalar, mass: Scalar) -> Sym:
        """Return the inertia tensor about the solid's center, in the axes of the solid."""
        match self.geometry:
            case Box(size=(x, y, height)):
                z = height * multiplier
                xx, yy = mass * (y * y + z * z) / 12.0, mass * (x * x + z * z) / 12.0
                zz = mass * ((x * x + y * y) / 12.0)
            case Cylinder(radius=r, length=length):
                h = length * multiplier
                xx = yy = mass * (3.0 * r * r + h * h) / 12.0
                zz = mass * (r * r / 2.0)
            case Sphere(radius=radius):
                r = radius * multiplier
                xx = yy = zz = mass * r * r * 0.4
        return Sym(xx, 0.0, 0.0, yy, 0.0, zz)

    def center(self, multiplier: Scalar) -> Vec:
        """Return the position of the solid's center in the link."""
        x, y, z = self.xyz
        if isinstance(self.geometry, Sphere):
            return Vec(x, y, z)
        half = 0.5 * self.growth(multiplier)
        return Vec(x, y, z - half if z < 0.0 else z + half)

    def joint_height(self, z: float, multiplier: Scalar) -> Scalar:
        """Return the position along z of a joint that the link carries at z in the model."""
        growth = self.growth(multiplier)
        if z < 0.0:
            return z - growth
        if isinstance(self.geometry, Sphere):
            growth = 0.5 * growth
        elif self.xyz[2] < 0.0:  # the solid grows the other way
            growth = 0.0
        return z + growth


def solid_of(link: Link, kind: type[Solid] = Solid) -> Solid:
    """Return the solid of a link: its first visual."""
    shape = link.visuals[0] if link.visuals else None
    if shape is None or not isinstance(shape.geometry, (Box, Cylinder, Sphere)):
        got = "no visual" if shape is None else f"a {type(shape.geometry).__name__}"
        message = f"link {link.name!r}: parameters of length and density need a Box, Cylinder or"
        raise ArgumentError(f"{message} Sphere as the first visual of the link, got {got}")
    pose = shape.link_H_shape
    return kind(shape.geometry, pose.xyz, pose.rpy, constant_placement(pose))


def original_density(link: Link) -> float:
    """Return the mass of a link divided by the volume of its solid [kg/m^3]."""
    volume = solid_of(link).volume(1.0)
    if not volume > 0.0:
        raise ArgumentError(f"link {link.name!r}: its first visual has no volume")
    return link.inertia.mass / volume


def vary(model: Model, name: str, into: Variation, kind: type[Solid] = Solid) -> None:
    """Set the inertia of a link and the poses of its joints from its length and density."""
    link = model.link(name)
    solid = solid_of(link, kind)
    multiplier: Scalar = into.lengths.get(name, 1.0)
    density: Scalar = into.densities.get(name, original_density(link))
    mass = density * solid.volume(multiplier)
    inertia = RigidInertia(mass, ZERO, solid.moments(multiplier, mass))
    into.inertias[name] = moved(inertia, (solid.placement[0], solid.center(multiplier)))
    if name not in into.lengths:
        return
    for joint in model.joints:
        if joint.first == name:
            R, p = constant_placement(joint.first_H_joint)
            into.joint_poses[joint.name] = R, Vec(p[0], p[1], solid.joint_height(p[2], multiplier))
