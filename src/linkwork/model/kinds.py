"""Kinds of joints. A kind says how one side of a joint moves relative to the other, and no more.

A joint has a fixed side and a moving side, which coincide at rest. A kind knows

    sizes       nq position coordinates, nv velocity coordinates
    rest        the position at which both sides coincide
    motion      pose of the moving side in the fixed side, M(theta)
    subspace    S (6, nv): the velocity of the moving side is S nu, in the moving side's own axes
    bias        the part of its acceleration that is not S nu_dot
    J           theta_dot = J(theta) nu

S is constant for every kind here. Then the bias is zero, also when the joint is read backwards.
To add a kind, write one class and put one object of it into `KINDS`.

    kind               theta                        nu
    fixed              -                            -
    revolute           angle [rad]                  angular speed
    revolute_cos_sin   cos, sin of the angle        angular speed
    prismatic          displacement [m]             speed
    helical            angle [rad]                  angular speed; advances by `pitch` per radian
    planar             x, y in the plane, angle     vx, vy, w in the moving axes
    spherical          unit quaternion wxyz         angular velocity in the moving axes
    floating           x, y, z, quaternion wxyz     [linear; angular] in the moving axes
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, final

import numpy as np

from linkwork.arrays import Array, cos, dot, join, matvec, sin, sqrt, stack
from linkwork.spatial.source import quat, so3


class JointKind(ABC):
    """How one side of a joint moves relative to the other."""

    name: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    rest: ClassVar[tuple[float, ...]]
    has_axis: ClassVar[bool] = True  # whether the axis of the joint means anything

    @abstractmethod
    def motion(self, axis: Array, pitch: float, theta: Array) -> tuple[Array, Array]:
        """Pose of the moving side in the fixed side.

        Args:
            axis: (3,) unit vector along the joint, the same in both sides.
            pitch: advance along the axis per radian [m/rad]; only a helical joint has one.
            theta: (..., nq) position.

        Returns:
            (..., 3, 3) rotation and (..., 3) position.
        """

    @abstractmethod
    def subspace(self, axis: Array, pitch: float) -> Array:
        """(6, nv) S, the velocity of the moving side per unit of nu, in the moving side's axes."""

    def bias(self, axis: Array, pitch: float, theta: Array, nu: Array) -> Array:
        """(..., 6) acceleration of the moving side at nu_dot = 0, in the moving side's axes."""
        del axis, pitch, theta
        return np.zeros((*nu.shape[:-1], 6))

    def position_jacobian(self, axis: Array, theta: Array) -> Array:
        """(..., nq, nv) J with theta_dot = J nu."""
        del axis
        return np.broadcast_to(np.eye(self.nv), (*theta.shape[:-1], self.nv, self.nv))

    def normalized(self, theta: Array) -> Array:
        """(..., nq) position, moved back onto the set of positions (unit circle, unit sphere)."""
        return theta


@final
class Fixed(JointKind):
    """Two links that are one body."""

    name, nq, nv, rest, has_axis = "fixed", 0, 0, (), False

    def motion(self, axis: Array, pitch: float, theta: Array) -> tuple[Array, Array]:
        del axis, pitch
        return np.eye(3), np.zeros((*theta.shape[:-1], 3))

    def subspace(self, axis: Array, pitch: float) -> Array:
        del axis, pitch
        return np.zeros((6, 0))


@final
class Revolute(JointKind):
    """Rotation about the axis by an angle, limited or not."""

    name, nq, nv, rest = "revolute", 1, 1, (0.0,)

    def motion(self, axis: Array, pitch: float, theta: Array) -> tuple[Array, Array]:
        del pitch
        return so3.about(axis, theta[..., 0]), np.zeros((*theta.shape[:-1], 3))

    def subspace(self, axis: Array, pitch: float) -> Array:
        del pitch
        return join([np.zeros(3), axis])[:, None]


@final
class RevoluteCosSin(JointKind):
    """Rotation about the axis, its position kept as the cosine and sine of the angle."""

    name, nq, nv, rest = "revolute_cos_sin", 2, 1, (1.0, 0.0)

    def motion(self, axis: Array, pitch: float, theta: Array) -> tuple[Array, Array]:
        del pitch
        c, s = theta[..., 0, None, None], theta[..., 1, None, None]
        along = axis[:, None] * axis
        return along + c * (np.eye(3) - along) + s * so3.wedge(axis), 0 * axis

    def subspace(self, axis: Array, pitch: float) -> Array:
        del pitch
        return join([np.zeros(3), axis])[:, None]

    def position_jacobian(self, axis: Array, theta: Array) -> Array:
        del axis
        return stack([-theta[..., 1], theta[..., 0]])[..., None]

    def normalized(self, theta: Array) -> Array:
        return theta / sqrt(dot(theta, theta))[..., None]


@final
class Prismatic(JointKind):
    """Translation along the axis."""

    name, nq, nv, rest = "prismatic", 1, 1, (0.0,)

    def motion(self, axis: Array, pitch: float, theta: Array) -> tuple[Array, Array]:
        del pitch
        return np.eye(3), axis * theta

    def subspace(self, axis: Array, pitch: float) -> Array:
        del pitch
        return join([axis, np.zeros(3)])[:, None]


@final
class Helical(JointKind):
    """A screw: rotation about the axis with a proportional translation along it."""

    name, nq, nv, rest = "helical", 1, 1, (0.0,)

    def motion(self, axis: Array, pitch: float, theta: Array) -> tuple[Array, Array]:
        return so3.about(axis, theta[..., 0]), (pitch * axis) * theta

    def subspace(self, axis: Array, pitch: float) -> Array:
        return join([pitch * axis, axis])[:, None]


@final
class Planar(JointKind):
    """Sliding in the plane across the axis, and rotation about it."""

    name, nq, nv, rest = "planar", 3, 3, (0.0, 0.0, 0.0)

    def motion(self, axis: Array, pitch: float, theta: Array) -> tuple[Array, Array]:
        del pitch
        return so3.about(axis, theta[..., 2]), matvec(plane_basis(axis), theta[..., :2])

    def subspace(self, axis: Array, pitch: float) -> Array:
        del pitch
        top = np.concatenate([plane_basis(axis), np.zeros((3, 1))], axis=1)
        return np.concatenate([top, np.stack([0 * axis, 0 * axis, axis], axis=1)], axis=0)

    def position_jacobian(self, axis: Array, theta: Array) -> Array:
        del axis
        c, s = cos(theta[..., 2]), sin(theta[..., 2])
        zero, one = 0 * c, 0 * c + 1
        rows = [[c, -s, zero], [s, c, zero], [zero, zero, one]]
        return stack([stack(row) for row in rows], axis=-2)


@final
class Spherical(JointKind):
    """A ball in a socket."""

    name, nq, nv, rest, has_axis = "spherical", 4, 3, (1.0, 0.0, 0.0, 0.0), False

    def motion(self, axis: Array, pitch: float, theta: Array) -> tuple[Array, Array]:
        del axis, pitch
        return quat.to_rotation(theta), 0 * theta[..., :3]

    def subspace(self, axis: Array, pitch: float) -> Array:
        del axis, pitch
        return np.concatenate([np.zeros((3, 3)), np.eye(3)], axis=0)

    def position_jacobian(self, axis: Array, theta: Array) -> Array:
        del axis
        return quat.rate_matrix(theta)

    def normalized(self, theta: Array) -> Array:
        return quat.normalize(theta)


@final
class Floating(JointKind):
    """No connection at all: six degrees of freedom."""

    name, nq, nv, rest = "floating", 7, 6, (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    has_axis = False

    def motion(self, axis: Array, pitch: float, theta: Array) -> tuple[Array, Array]:
        del axis, pitch
        return quat.to_rotation(theta[..., 3:]), theta[..., :3]

    def subspace(self, axis: Array, pitch: float) -> Array:
        del axis, pitch
        return np.eye(6)

    def position_jacobian(self, axis: Array, theta: Array) -> Array:
        del axis
        rotation, rates = quat.to_rotation(theta[..., 3:]), quat.rate_matrix(theta[..., 3:])
        top = join([rotation, np.zeros((3, 3))])
        return np.concatenate([top, join([np.zeros((4, 3)), rates])], axis=-2)

    def normalized(self, theta: Array) -> Array:
        return join([theta[..., :3], quat.normalize(theta[..., 3:])])


def plane_basis(axis: Array) -> Array:
    """(3, 2) two unit vectors across an axis: y, z for x; z, x for y; x, y for z.

    For a tilted axis, the first is the coordinate direction that follows the axis' largest
    component, made perpendicular to the axis; the second completes the right-handed frame.
    """
    direction = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    first = direction - axis * (axis @ direction)
    first = first / np.sqrt(first @ first)
    return np.stack([first, np.cross(axis, first)], axis=1)


KINDS: Mapping[str, JointKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Fixed(),
            Revolute(),
            RevoluteCosSin(),
            Prismatic(),
            Helical(),
            Planar(),
            Spherical(),
            Floating(),
        )
    }
)
