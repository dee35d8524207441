"""Positions and velocities of single joints, here and in Pinocchio.

A joint of several coordinates that is read backwards, from its second link to its first, moves in
Pinocchio by the inverse: with M its motion here, the velocity there is -Ad(M) nu. The derivative of
this map along the motion is zero, as a velocity does not change under itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.compat.pinocchio.order import BASE, JointSlices
from linkwork.engine.symbolic.arrays import Array, cos, join, matrix, matvec, sin, stack, transpose
from linkwork.spatial import motion, quat, se3


@dataclass(frozen=True, slots=True)
class Blocks:
    """The parts of T that are not the identity, by the number of their joint; and of T^-1."""

    forward: Mapping[int, Array]  # (..., n, n)
    inverse: Mapping[int, Array]


def position_there(at: JointSlices, theta: Array) -> Array:
    """Position of a joint as Pinocchio writes it."""
    if at.backwards:
        theta = _reversed(at, theta)
    match at.form:
        case "same" | "two_angles":
            return theta
        case "angle_cos_sin":
            return join([cos(theta), sin(theta)])
        case "cos_sin_angle":
            return np.arctan2(theta[..., 1:], theta[..., :1])
        case "planar":
            return join([theta[..., :2], cos(theta[..., 2:]), sin(theta[..., 2:])])
        case "quaternion":
            return np.roll(theta, -1, axis=-1)
        case "free":
            return join([theta[..., :3], np.roll(theta[..., 3:], -1, axis=-1)])


def position_here(at: JointSlices, theta: Array) -> Array:
    """Position of a joint as linkwork writes it; undoes `position_there` up to full turns."""
    match at.form:
        case "same" | "two_angles":
            found = theta
        case "angle_cos_sin":
            found = np.arctan2(theta[..., 1:], theta[..., :1])
        case "cos_sin_angle":
            found = join([cos(theta), sin(theta)])
        case "planar":
            found = join([theta[..., :2], np.arctan2(theta[..., 3:], theta[..., 2:3])])
        case "quaternion":
            found = np.roll(theta, 1, axis=-1)
        case "free":
            found = join([theta[..., :3], np.roll(theta[..., 3:], 1, axis=-1)])
    return _reversed(at, found) if at.backwards else found


def blocks_here(slices: Sequence[JointSlices], q: Array, velocity: str) -> Blocks:
    """T at a configuration of linkwork's, without the permutation.

    Args:
        slices: of the joints.
        q: (..., nq) configuration.
        velocity: representation of the base's velocity.
    """
    forward: dict[int, Array] = {}
    inverse: dict[int, Array] = {}
    for number, at in enumerate(slices):
        theta = q[..., at.q]
        if at.joint == BASE:
            if velocity != "body":
                forward[number], inverse[number] = _base_blocks(theta, velocity)
        elif at.backwards:
            forward[number] = _backward_block(at, theta)
            inverse[number] = _backward_block(at, _reversed(at, theta))
    return Blocks(forward, inverse)


def _base_blocks(theta: Array, velocity: str) -> tuple[Array, Array]:
    """Base velocity in a representation to that in the base's own axes, and back."""
    rotation = quat.to_rotation(theta[..., 3:])
    position = theta[..., :3] if velocity == "inertial" else np.zeros(3)
    world_H_base = se3.pose(rotation, position)
    back = se3.inverse(world_H_base)
    return motion.motion_transform(back), motion.motion_transform(world_H_base)


def _reversed(at: JointSlices, theta: Array) -> Array:
    """Position of the inverse motion."""
    match at.form:
        case "two_angles":  # about the second axis first
            return -theta[..., ::-1]
        case "planar":
            angle = theta[..., 2]
            position = matvec(transpose(_turn(angle)), theta[..., :2])
            return join([-position, -angle[..., None]])
        case "free":
            wxyz = quat.conjugate(theta[..., 3:])
            return join([-matvec(quat.to_rotation(wxyz), theta[..., :3]), wxyz])
        case _:
            return quat.conjugate(theta)


def _backward_block(at: JointSlices, theta: Array) -> Array:
    """-Ad(M), in the velocity coordinates of the joint."""
    match at.form:
        case "two_angles":
            return np.array([[0.0, -1.0], [-1.0, 0.0]])
        case "planar":
            c, s = cos(theta[..., 2]), sin(theta[..., 2])
            x, y = theta[..., 0], theta[..., 1]
            return -matrix([[c, -s, y], [s, c, -x], [0 * c, 0 * c, 0 * c + 1]])
        case "free":
            pose = se3.pose(quat.to_rotation(theta[..., 3:]), theta[..., :3])
            return -motion.motion_transform(pose)
        case _:
            return -quat.to_rotation(theta)


def _turn(angle: Array) -> Array:
    c, s = cos(angle), sin(angle)
    return stack([stack([c, -s]), stack([s, c])], axis=-2)
