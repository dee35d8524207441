"""Values that replace constants of a robot: inertias, poses, gravity, friction.

A `Variation` collects them as scalars: floats, traced expressions, or columns with one entry for
each row of a batch. `parameters.skeleton` builds the skeleton of a robot from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from linkwork.engine.symbolic.arrays import Array
from linkwork.mechanics.inertia import RigidInertia
from linkwork.model.pose import Pose
from linkwork.spatial.blocks import Mat, Scalar, Sym, Vec, as_mat, quaternion_rotation

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
