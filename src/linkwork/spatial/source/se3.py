"""Poses: the sources of `linkwork.spatial.se3`, which states the conventions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, dot, matvec, transpose
from linkwork.spatial.source import so3
from linkwork.spatial.source._helpers import (
    block,
    c2,
    c3,
    c4,
    c5,
    expect,
    eye,
    per_matrix,
    split_pose,
    zero,
)
from linkwork.spatial.source.motion import join, split


def identity(*batch: int) -> Array:
    """Identity poses (*batch, 4, 4)."""
    return np.zeros((*batch, 1, 1)) + np.eye(4)


def pose(rotation: ArrayLike, position: ArrayLike) -> Array:
    """Pose with a rotation and a position.

    Args:
        rotation: (..., 3, 3) a_R_b.
        position: (..., 3) origin of b in a [m].

    Returns:
        (..., 4, 4) a_H_b.
    """
    R = expect("rotation", rotation, 3, 3)
    p = expect("position", position, 3)
    return block([[R, p[..., None]], [eye(4, p)[3:]]])


def rotation_of(a_H_b: ArrayLike) -> Array:
    """Rotation a_R_b (..., 3, 3) of a pose (..., 4, 4)."""
    return split_pose(a_H_b)[0]


def position_of(a_H_b: ArrayLike) -> Array:
    """Position (..., 3) of a pose (..., 4, 4): the origin of b in a."""
    return split_pose(a_H_b)[1]


def from_xyz_rpy(xyz: ArrayLike, rpy: ArrayLike) -> Array:
    """Pose from the attributes of a URDF `<origin>`.

    Args:
        xyz: (..., 3) origin of b in a [m].
        rpy: (..., 3) roll, pitch, yaw of b in a [rad].

    Returns:
        (..., 4, 4) a_H_b.
    """
    return pose(so3.from_rpy(rpy), expect("xyz", xyz, 3))


def inverse(a_H_b: ArrayLike) -> Array:
    """Inverse pose b_H_a (..., 4, 4): the pose of a in b."""
    R, p = split_pose(a_H_b)
    Rt = transpose(R)
    return pose(Rt, -matvec(Rt, p))


def transform_point(a_H_b: ArrayLike, b_point: ArrayLike) -> Array:
    """Coordinates of a point in another frame.

    Args:
        a_H_b: (..., 4, 4) pose of b in a.
        b_point: (..., 3) the point in b.

    Returns:
        (..., 3) the point in a.
    """
    R, p = split_pose(a_H_b)
    return matvec(R, expect("b_point", b_point, 3)) + p


def wedge(xi: ArrayLike) -> Array:
    """Matrix W of a twist: the rate of a pose is a_H_b @ W, for the velocity expressed in b.

    Args:
        xi: (..., 6) [v; w].

    Returns:
        (..., 4, 4) [[w^, v], [0, 0]].
    """
    linear, angular = split(xi, "xi")
    return block([[so3.wedge(angular), linear[..., None]], [zero(eye(4, linear)[3:])]])


def vee(matrix: ArrayLike) -> Array:
    """Twist (..., 6) of a matrix (..., 4, 4), the inverse of `wedge`."""
    m = expect("matrix", matrix, 4, 4)
    return join(m[..., :3, 3], so3.vee(m[..., :3, :3]))


def exp(xi: ArrayLike) -> Array:
    """Pose reached in one second at a constant body velocity.

    Args:
        xi: (..., 6) [v; w], in m and rad.

    Returns:
        (..., 4, 4).
    """
    linear, angular = split(xi, "xi")
    return pose(so3.exp(angular), matvec(so3.left_jacobian(angular), linear))


def log(a_H_b: ArrayLike) -> Array:
    """Twist of a pose with the shortest rotation, the inverse of `exp` up to an angle of pi.

    Args:
        a_H_b: (..., 4, 4).

    Returns:
        (..., 6) [v; w], in m and rad.
    """
    R, p = split_pose(a_H_b)
    angular = so3.log(R)
    return join(matvec(so3.left_jacobian_inverse(angular), p), angular)


def left_jacobian(xi: ArrayLike) -> Array:
    """Left Jacobian of `exp`: the velocity in the fixed frame is J @ xi_dot.

    Args:
        xi: (..., 6) [v; w], in m and rad.

    Returns:
        (..., 6, 6) [[J, Q], [0, J]], where J is the left Jacobian of the rotation w.
    """
    linear, angular = split(xi, "xi")
    J, Q = so3.left_jacobian(angular), _left_jacobian_derivative(angular, linear)
    return block([[J, Q], [zero(J), J]])


def right_jacobian(xi: ArrayLike) -> Array:
    """Right Jacobian of `exp`: the velocity in the moving frame is J @ xi_dot.

    Args:
        xi: (..., 6) [v; w], in m and rad.

    Returns:
        (..., 6, 6).
    """
    return left_jacobian(-expect("xi", xi, 6))


def left_jacobian_inverse(xi: ArrayLike) -> Array:
    """Inverse of `left_jacobian`.

    Args:
        xi: (..., 6) [v; w], in m and rad, w shorter than 2 pi.

    Returns:
        (..., 6, 6).
    """
    linear, angular = split(xi, "xi")
    J_inv = so3.left_jacobian_inverse(angular)
    Q = _left_jacobian_derivative(angular, linear)
    return block([[J_inv, -J_inv @ Q @ J_inv], [zero(J_inv), J_inv]])


def right_jacobian_inverse(xi: ArrayLike) -> Array:
    """Inverse of `right_jacobian`.

    Args:
        xi: (..., 6) [v; w], in m and rad, w shorter than 2 pi.

    Returns:
        (..., 6, 6).
    """
    return left_jacobian_inverse(-expect("xi", xi, 6))


def _left_jacobian_derivative(phi: Array, rho: Array) -> Array:
    """Derivative of so3.left_jacobian at `phi` in the direction `rho`, (..., 3, 3).

    The twist [rho; phi] has the adjoint [[K, P], [0, K]] with K = phi^, P = rho^. The power series
    of the Jacobian at that matrix has this derivative as its upper right block.
    """
    t, K, P = dot(phi, phi), so3.wedge(phi), so3.wedge(rho)
    # J = 1 + c2 K + c3 K^2, with 2 dc2/dt = 2 c4 - c3, 2 dc3/dt = 3 c5 - c4, dt = 2 phi . rho
    along = dot(phi, rho)
    k1 = per_matrix(along * (2.0 * c4(t) - c3(t)))
    k2 = per_matrix(along * (3.0 * c5(t) - c4(t)))
    return per_matrix(c2(t)) * P + per_matrix(c3(t)) * (K @ P + P @ K) + k1 * K + k2 * (K @ K)
