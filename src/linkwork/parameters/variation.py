"""Values in place of constants of a robot that are inputs: inertias, poses, gravity, friction.

A `Variation` collects them as scalars: floats, expressions that are being traced, or columns with
one entry per robot of a batch. `skeleton` puts them in place of the constants of a robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from linkwork.engine.symbolic.arrays import Array
from linkwork.mechanics.inertia import RigidInertia
from linkwork.model.pose import Pose
from linkwork.spatial.blocks import (
    Mat,
    Scalar,
    Vec,
    add,
    apply,
    apply_t,
    matmul,
    neg,
    quaternion_rotation,
    transpose,
)

Placement: TypeAlias = tuple[Mat, Vec]
"""Pose of a frame b in a frame a: rotation, and position of its origin."""


@dataclass(frozen=True)
class Variation:
    """The values that take the place of constants of a robot."""

    inertias: dict[str, RigidInertia] = field(default_factory=dict[str, RigidInertia])
    """By link: about its origin, in its axes."""
    payloads: list[tuple[str, RigidInertia]] = field(default_factory=list[tuple[str, RigidInertia]])
    """By frame, in the axes of the frame: what is added to the link that carries it."""
    joint_poses: dict[str, Placement] = field(default_factory=dict[str, Placement])
    """By joint: first_H_joint."""
    frame_poses: dict[str, Placement] = field(default_factory=dict[str, Placement])
    """By additional frame: link_H_frame."""
    joint_numbers: dict[tuple[str, str], Scalar] = field(
        default_factory=dict[tuple[str, str], Scalar]
    )
    """By joint and name, such as ("knee", "damping")."""
    lengths: dict[str, Scalar] = field(default_factory=dict[str, Scalar])
    """By link: multiplier of the length of its shape."""
    densities: dict[str, Scalar] = field(default_factory=dict[str, Scalar])
    """By link: density of its shape [kg/m^3]."""
    gravity: list[Vec] = field(default_factory=list[Vec])
    """One, if gravity is an input."""


def inertia_of(numbers: Sequence[Scalar]) -> RigidInertia:
    """The inertia of ten numbers: m, m c, and the tensor's xx, xy, xz, yy, yz, zz."""
    mass, x, y, z, xx, xy, xz, yy, yz, zz = numbers
    return RigidInertia(mass, (x, y, z), (xx, xy, xz, yy, yz, zz))


def placement_of(numbers: Sequence[Scalar]) -> Placement:
    """The pose of seven numbers: position (3), unit quaternion wxyz (4)."""
    return quaternion_rotation(numbers[3:7]), (numbers[0], numbers[1], numbers[2])


def constant_placement(pose: Pose) -> Placement:
    """A pose of the model."""
    return matrix_placement(pose.matrix())


def matrix_placement(matrix: Array) -> Placement:
    """A pose (4, 4) of constants."""
    rows = matrix[:3].tolist()
    x, y, z = ((row[0], row[1], row[2]) for row in rows)
    return (x, y, z), (rows[0][3], rows[1][3], rows[2][3])


def composed(a_H_b: Placement, b_H_c: Placement) -> Placement:
    """a_H_c."""
    return matmul(a_H_b[0], b_H_c[0]), add(a_H_b[1], apply(a_H_b[0], b_H_c[1]))


def inverted(a_H_b: Placement) -> Placement:
    """b_H_a."""
    R, p = a_H_b
    return transpose(R), neg(apply_t(R, p))


def moved(inertia: RigidInertia, a_H_b: Placement) -> RigidInertia:
    """An inertia of frame b, about the origin and in the axes of a."""
    R, p = a_H_b
    return inertia.rotated(R).shifted(p)
