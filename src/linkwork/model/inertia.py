"""Inertia of a link as data: ten numbers that print, compare and hash.

Frame     the link's own: `com` and `tensor` are along the link's axes
Point     `tensor` is about the center of mass; the arrays of `linkwork.spatial.inertia` are about
          the link's origin
Units     kg, m, kg m^2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import model_error
from linkwork.model.numbers import Triple, finite, finite_numbers, number, settle, triple
from linkwork.model.pose import Pose
from linkwork.spatial.source import inertia as spatial_inertia

Six: TypeAlias = tuple[float, float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Inertia:
    """Mass, center of mass and rotational inertia of a link."""

    mass: float = 0.0
    com: Triple = (0.0, 0.0, 0.0)
    tensor: Six = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # ixx, ixy, ixz, iyy, iyz, izz about the CoM

    def __post_init__(self) -> None:
        mass = finite(self.mass, "mass")
        if mass < 0:
            raise model_error(f"mass {mass:g} is negative")
        tensor = finite_numbers(self.tensor, 6, "tensor")
        settle(self, mass=mass, com=triple(self.com, "com"), tensor=tensor)

    def matrix(self) -> Array:
        """Return the tensor about the center of mass as a (3, 3) matrix."""
        xx, xy, xz, yy, yz, zz = self.tensor
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def parameters(self) -> Array:
        """Return (10,) m, m c, and ixx, ixy, ixz, iyy, iyz, izz about the link's origin."""
        return spatial_inertia.from_com(self.mass, self.com, self.matrix())


NO_INERTIA = Inertia()


def from_parameters(parameters: Array) -> Inertia:
    """Return the inertia from its ten parameters about the origin; undoes `Inertia.parameters`."""
    mass, com, tensor = spatial_inertia.to_com(parameters)
    return Inertia(float(mass), tuple(com.tolist()), six(tensor))


def six(tensor: Array) -> Six:
    """Return the six entries of a symmetric (3, 3) matrix, in the order xx, xy, xz, yy, yz, zz."""
    xx, xy, xz, _, yy, yz, _, _, zz = tensor.ravel().tolist()
    return (xx, xy, xz, yy, yz, zz)


def moved(inertia: Inertia, a_H_b: Pose) -> Inertia:
    """Return the inertia given in frame b, expressed in frame a."""
    pose = a_H_b.matrix()
    rotation = pose[:3, :3]
    com = rotation @ np.array(inertia.com) + pose[:3, 3]
    tensor = rotation @ inertia.matrix() @ rotation.T
    return Inertia(inertia.mass, tuple(com.tolist()), six((tensor + tensor.T) / 2))


def combined(first: Inertia, second: Inertia) -> Inertia:
    """Return the inertia of two bodies that move as one, both given in one frame.

    Added about the common center of mass, so that no digits are lost far from the origin.
    """
    mass = first.mass + second.mass
    tensor = first.matrix() + second.matrix()
    if first.mass == 0 or second.mass == 0:
        heavy = first if first.mass else second
        return Inertia(mass, heavy.com, six(tensor))
    a, b = np.array(first.com), np.array(second.com)
    com = (first.mass * a + second.mass * b) / mass
    apart = b - a
    shift = first.mass * second.mass / mass
    tensor = tensor + shift * (apart @ apart * np.eye(3) - np.outer(apart, apart))
    return Inertia(mass, tuple(com.tolist()), six(tensor))


def solid_box(mass: float, size: Triple, com: Triple = (0.0, 0.0, 0.0)) -> Inertia:
    """Return the inertia of a homogeneous box with edges `size` along the axes [m]."""
    mass = number(mass, "mass")
    x, y, z = (_square(length, "size") for length in triple(size, "size"))
    return Inertia(
        mass, com, (mass * (y + z) / 12, 0.0, 0.0, mass * (x + z) / 12, 0.0, mass * (x + y) / 12)
    )


def solid_cylinder(
    mass: float, radius: float, length: float, com: Triple = (0.0, 0.0, 0.0)
) -> Inertia:
    """Return the inertia of a homogeneous cylinder along z [m]."""
    mass = number(mass, "mass")
    r, h = _square(radius, "radius"), _square(length, "length")
    across = mass * (3 * r + h) / 12
    return Inertia(mass, com, (across, 0.0, 0.0, across, 0.0, mass * r / 2))


def solid_sphere(mass: float, radius: float, com: Triple = (0.0, 0.0, 0.0)) -> Inertia:
    """Return the inertia of a homogeneous ball [m]."""
    mass = number(mass, "mass")
    moment = 0.4 * mass * _square(radius, "radius")
    return Inertia(mass, com, (moment, 0.0, 0.0, moment, 0.0, moment))


def point_mass(mass: float, com: Triple = (0.0, 0.0, 0.0)) -> Inertia:
    """Return the inertia of a mass concentrated in one point."""
    return Inertia(mass, com)


def _square(length: float, what: str) -> float:
    length = number(length, what)
    if length < 0:
        raise model_error(f"{what}: {length:g} is negative")
    return length * length
