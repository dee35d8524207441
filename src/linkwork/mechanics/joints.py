"""How each joint moves its body: pose, velocity and force, in the terms of `blocks`.

For every body but the base, with E and p the rotation and position of parent_H_body(theta):

    v_J, w_J    velocity of the body relative to its parent, S nu, in the body's axes
    S^T f       what a wrench (force, moment) on the body does along the joint's coordinates
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.arrays import cos, sin
from linkwork.mechanics.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Scalar,
    Sym,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    dot,
    full,
    is_permutation,
    matmul,
    minus,
    neg,
    plus,
    spin_mat,
    sub,
    times,
    transpose,
    turn_sym,
    upper,
)
from linkwork.mechanics.skeleton import Mount

UNIT: tuple[Vec, Vec, Vec] = IDENTITY
SPINNING = ("revolute", "revolute_cos_sin", "helical")  # kinds that turn about one axis


@dataclass(frozen=True, slots=True)
class JointPose:
    """Pose of a body in its parent, and the motion subspace of its joint."""

    E: Mat  # parent_R_body
    p: Vec  # of the body's origin, in the parent
    columns: tuple[tuple[Vec, Vec], ...]  # (linear, angular) of S, in the body's axes
    near: Mat = IDENTITY  # E is `near` times a rotation about one axis, if there is a spin
    spin: tuple[int, Scalar, Scalar] | None = None  # axis, cosine and sine

    @property
    def arm(self) -> Vec:
        """From the parent's origin to the body's, in the body's axes: E^T p."""
        if self.spin is None:
            return apply_t(self.E, self.p)
        return apply_t(about(*self.spin), apply_t(self.near, self.p))

    def inward(self, force: Vec, moment: Vec) -> tuple[Vec, Vec]:
        """A wrench on the body, about its origin in its axes, as one on its parent."""
        force = apply(self.E, force)
        return force, add(apply(self.E, moment), cross(self.p, force))

    def turned(self, m: Mat) -> Mat:
        """E m E^T: a matrix of the body in the parent's axes."""
        if self.spin is None or not is_permutation(self.near):
            return matmul(matmul(self.E, m), transpose(self.E))
        m = spin_mat(*self.spin, m)
        return m if self.near == IDENTITY else matmul(matmul(self.near, m), transpose(self.near))

    def turned_sym(self, a: Sym) -> Sym:
        """E a E^T for a symmetric matrix."""
        if self.spin is None or not is_permutation(self.near):
            return turn_sym(self.E, a)
        return upper(self.turned(full(a)))


def joint_pose(mount: Mount, q: Sequence[Scalar]) -> JointPose:
    """Pose and motion subspace of the joint that holds a body."""
    theta = [plus(times(mount.multiplier, q[k]), mount.offset) for k in mount.q]
    rotation, position, columns = _MOTIONS[mount.joint.kind](mount, theta)
    spin = None
    if mount.joint.kind in SPINNING:
        y, z = (mount.axis + 1) % 3, (mount.axis + 2) % 3
        spin = (mount.axis, rotation[y][y], rotation[z][y])
    if mount.backwards:
        rotation, position, columns = _reversed(rotation, position, columns)
    columns = tuple(
        (_scaled(mount.multiplier, linear), _scaled(mount.multiplier, angular))
        for linear, angular in columns
    )
    E = matmul(mount.rotation, rotation)
    p = add(mount.position, apply(mount.rotation, position))
    return JointPose(E, p, columns, mount.rotation, spin)


def joint_velocity(
    pose: JointPose, places: Sequence[int], nu: Sequence[Scalar] | None
) -> tuple[Vec, Vec]:
    """(v_J, w_J) = S nu; for accelerations, S nu_dot. None stands for zero."""
    linear, angular = ZERO, ZERO
    if nu is None:
        return linear, angular
    for (lin, ang), k in zip(pose.columns, places, strict=True):
        linear = add(linear, _scaled(nu[k], lin))
        angular = add(angular, _scaled(nu[k], ang))
    return linear, angular


def joint_force(pose: JointPose, force: Vec, moment: Vec) -> list[Scalar]:
    """S^T (force, moment)."""
    return [plus(dot(lin, force), dot(ang, moment)) for lin, ang in pose.columns]


def _scaled(s: Scalar, v: Vec) -> Vec:
    return (times(s, v[0]), times(s, v[1]), times(s, v[2]))


def about(axis: int, c: Scalar, s: Scalar) -> Mat:
    """Rotation about a coordinate axis, from cosine and sine."""
    y, z = (axis + 1) % 3, (axis + 2) % 3
    m = [[0.0, 0.0, 0.0] for _ in range(3)]
    m[axis][axis] = 1.0
    m[y][y] = m[z][z] = c
    m[z][y], m[y][z] = s, minus(0.0, s)
    x, y_row, z_row = ((row[0], row[1], row[2]) for row in m)
    return (x, y_row, z_row)


def quaternion_rotation(wxyz: Sequence[Scalar]) -> Mat:
    """Rotation of a unit quaternion: 1 + 2 w [v] + 2 [v]^2."""
    w, x, y, z = wxyz
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


_Parts = tuple[Mat, Vec, tuple[tuple[Vec, Vec], ...]]


def _signed(mount: Mount) -> Vec:
    x, y, z = UNIT[mount.axis]
    return (mount.sign * x, mount.sign * y, mount.sign * z)


def _revolute(mount: Mount, theta: Sequence[Scalar]) -> _Parts:
    angle = plus(theta[0], mount.angle_offset)
    rotation = about(mount.axis, cos(angle), times(mount.sign, sin(angle)))
    return rotation, ZERO, ((ZERO, _signed(mount)),)


def _revolute_cos_sin(mount: Mount, theta: Sequence[Scalar]) -> _Parts:
    rotation = about(mount.axis, theta[0], times(mount.sign, theta[1]))
    return rotation, ZERO, ((ZERO, _signed(mount)),)


def _prismatic(mount: Mount, theta: Sequence[Scalar]) -> _Parts:
    direction = _signed(mount)
    return IDENTITY, _scaled(theta[0], direction), ((direction, ZERO),)


def _helical(mount: Mount, theta: Sequence[Scalar]) -> _Parts:
    rotation, _, ((_, direction),) = _revolute(mount, theta)
    advance = _scaled(mount.joint.pitch, direction)
    return rotation, _scaled(theta[0], advance), ((advance, direction),)


def _planar(mount: Mount, theta: Sequence[Scalar]) -> _Parts:
    x, y, angle = theta
    columns = ((UNIT[0], ZERO), (UNIT[1], ZERO), (ZERO, UNIT[2]))
    del mount
    return about(2, cos(angle), sin(angle)), (x, y, 0.0), columns


def _spherical(mount: Mount, theta: Sequence[Scalar]) -> _Parts:
    del mount
    return quaternion_rotation(theta), ZERO, tuple((ZERO, axis) for axis in UNIT)


def _floating(mount: Mount, theta: Sequence[Scalar]) -> _Parts:
    del mount
    linear = tuple((axis, ZERO) for axis in UNIT)
    angular = tuple((ZERO, axis) for axis in UNIT)
    position = (theta[0], theta[1], theta[2])
    return quaternion_rotation(theta[3:]), position, linear + angular


_MOTIONS = {
    "revolute": _revolute,
    "revolute_cos_sin": _revolute_cos_sin,
    "prismatic": _prismatic,
    "helical": _helical,
    "planar": _planar,
    "spherical": _spherical,
    "floating": _floating,
}


def _reversed(R: Mat, p: Vec, columns: tuple[tuple[Vec, Vec], ...]) -> _Parts:
    """The joint read from its moving side: M^-1, and S becomes -Ad(M) S."""
    turned = [(apply(R, lin), apply(R, ang)) for lin, ang in columns]
    moved = tuple((neg(add(lin, cross(p, ang))), neg(ang)) for lin, ang in turned)
    return transpose(R), neg(apply_t(R, p)), moved


__all__ = ["JointPose", "about", "joint_force", "joint_pose", "joint_velocity", "sub"]
