"""Homogeneous solids and the mass, center of mass and inertia that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

Vec = tuple[float, float, float]
Attributes = dict[str, float | str | Vec]

ZERO: Vec = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Box:
    """A box, centered at its frame, with its edges along the axes."""

    size: Vec

    @property
    def attributes(self) -> Attributes:
        """The attributes of the URDF geometry element."""
        return {"size": self.size}

    @property
    def moments(self) -> Vec:
        """Principal moments of inertia per unit of mass."""
        x2, y2, z2 = (edge * edge / 12 for edge in self.size)
        return (y2 + z2, x2 + z2, x2 + y2)


@dataclass(frozen=True)
class Cylinder:
    """A solid cylinder, centered at its frame, with its axis along z."""

    radius: float
    length: float

    @property
    def attributes(self) -> Attributes:
        """The attributes of the URDF geometry element."""
        return {"radius": self.radius, "length": self.length}

    @property
    def moments(self) -> Vec:
        """Principal moments of inertia per unit of mass."""
        across = self.radius**2 / 4 + self.length**2 / 12
        return (across, across, self.radius**2 / 2)


@dataclass(frozen=True)
class Sphere:
    """A solid ball, centered at its frame."""

    radius: float

    @property
    def attributes(self) -> Attributes:
        """The attributes of the URDF geometry element."""
        return {"radius": self.radius}

    @property
    def moments(self) -> Vec:
        """Principal moments of inertia per unit of mass."""
        moment = 0.4 * self.radius**2
        return (moment, moment, moment)


@dataclass(frozen=True)
class Solid:
    """A shape of uniform density, placed in a link.

    Args:
        shape: the geometry, drawn as a visual.
        mass: in kg.
        material: a name of the palette.
        xyz: position of the center in the link frame.
        rpy: roll, pitch and yaw of the shape in the link frame.
        collides: whether the solid is a collision shape as well.
    """

    shape: Box | Cylinder | Sphere
    mass: float
    material: str
    xyz: Vec = ZERO
    rpy: Vec = ZERO
    collides: bool = True

    @property
    def kind(self) -> str:
        """The name of the shape, as URDF spells it."""
        return type(self.shape).__name__.lower()

    def mirrored(self) -> Solid:
        """The image in the plane y = 0. All three shapes are their own mirror images."""
        return replace(self, xyz=mirrored_xyz(self.xyz), rpy=mirrored_rpy(self.rpy))


@dataclass(frozen=True)
class MassProperties:
    """What URDF writes in ``inertial``: the inertia is about the CoM, in axes turned by rpy."""

    mass: float
    com: Vec
    rpy: Vec
    inertia: np.ndarray


def mirrored_xyz(xyz: Vec) -> Vec:
    """The image of a point in the plane y = 0."""
    x, y, z = xyz
    return (x, -y, z)


def mirrored_rpy(rpy: Vec) -> Vec:
    """The angles of M R M, where M = diag(1, -1, 1) and R has the given angles."""
    roll, pitch, yaw = rpy
    return (-roll, pitch, -yaw)


def rotation(rpy: Vec) -> np.ndarray:
    """R = Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def mass_properties(solids: Sequence[Solid]) -> MassProperties:
    """Mass, center of mass and inertia of solids that move as one.

    The axes are those of the link. A single solid standing askew is the exception: it keeps its
    own axes, in which its inertia is diagonal.
    """
    mass = sum(solid.mass for solid in solids)
    com = np.sum([solid.mass * np.array(solid.xyz) for solid in solids], axis=0) / mass
    inertia = np.zeros((3, 3))
    for solid in solids:
        R = rotation(solid.rpy)
        r = np.array(solid.xyz) - com
        # I += m R diag(moments) R^T + m (r.r 1 - r r^T)
        inertia += solid.mass * R @ np.diag(solid.shape.moments) @ R.T
        inertia += solid.mass * (r @ r * np.eye(3) - np.outer(r, r))
    x, y, z = com.tolist()
    is_diagonal = np.allclose(inertia, np.diag(np.diag(inertia)), rtol=0, atol=1e-12)
    if len(solids) == 1 and not is_diagonal:
        (solid,) = solids
        own = np.diag(solid.mass * np.array(solid.shape.moments))
        return MassProperties(mass, (x, y, z), solid.rpy, own)
    return MassProperties(mass, (x, y, z), ZERO, inertia)
