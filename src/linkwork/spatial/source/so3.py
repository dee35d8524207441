"""Rotation matrices: the sources of `linkwork.spatial.so3`, which states the conventions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import (
    Array,
    as_array,
    atan2,
    cos,
    dot,
    matrix,
    sin,
    stack,
    transpose,
    where,
)
from linkwork.spatial.source import quat
from linkwork.spatial.source._helpers import c2, c3, expect, eye, inverse_c3, per_matrix, zero


def wedge(vector: ArrayLike) -> Array:
    """Cross product matrix of a vector: `wedge(vector) @ b` is vector x b.

    Args:
        vector: (..., 3).

    Returns:
        (..., 3, 3), skew-symmetric.
    """
    vector = expect("vector", vector, 3)
    x, y, z = vector[..., 0], vector[..., 1], vector[..., 2]
    o = zero(x)
    return matrix([[o, -z, y], [z, o, -x], [-y, x, o]])


def vee(skew: ArrayLike) -> Array:
    """Vector of a skew-symmetric matrix, the inverse of `wedge`.

    Args:
        skew: (..., 3, 3); a symmetric part is ignored.

    Returns:
        (..., 3).
    """
    m = expect("skew", skew, 3, 3)
    return 0.5 * stack([m[..., i, j] - m[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0))])


def exp(phi: ArrayLike) -> Array:
    """Rotation by a rotation vector.

    Args:
        phi: (..., 3) axis times angle [rad], of any length.

    Returns:
        (..., 3, 3).
    """
    return quat.to_rotation(quat.exp(phi))


def log(rotation: ArrayLike) -> Array:
    """Rotation vector of the shortest rotation, the inverse of `exp` up to an angle of pi.

    Args:
        rotation: (..., 3, 3).

    Returns:
        (..., 3) axis times angle [rad], angle from 0 to pi. At pi, both signs of the axis are
        valid; one of them is returned.
    """
    return quat.log(quat.from_rotation(rotation))


def rot_x(angle: ArrayLike) -> Array:
    """Rotation about x by `angle` (...) [rad], as (..., 3, 3)."""
    c, s, o, i = _cos_sin(angle)
    return matrix([[i, o, o], [o, c, -s], [o, s, c]])


def rot_y(angle: ArrayLike) -> Array:
    """Rotation about y by `angle` (...) [rad], as (..., 3, 3)."""
    c, s, o, i = _cos_sin(angle)
    return matrix([[c, o, s], [o, i, o], [-s, o, c]])


def rot_z(angle: ArrayLike) -> Array:
    """Rotation about z by `angle` (...) [rad], as (..., 3, 3)."""
    c, s, o, i = _cos_sin(angle)
    return matrix([[c, -s, o], [s, c, o], [o, o, i]])


def about(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Rotation about a unit axis; zeros and ones are exact if the axis is along x, y or z.

    Args:
        axis: (..., 3) unit vector.
        angle: (...) [rad].

    Returns:
        (..., 3, 3).
    """
    a = expect("axis", axis, 3)
    angle = as_array(angle, "angle")
    c, s = per_matrix(cos(angle)), per_matrix(sin(angle))
    along = a[..., :, None] * a[..., None, :]
    # a a^T + cos (1 - a a^T) + sin [a]x
    return along + c * (eye(3, a) - along) + s * wedge(a)


def from_rpy(rpy: ArrayLike) -> Array:
    """Rotation Rz(yaw) Ry(pitch) Rx(roll).

    Args:
        rpy: (..., 3) roll, pitch, yaw [rad].

    Returns:
        (..., 3, 3).
    """
    rpy = expect("rpy", rpy, 3)
    (cr, sr), (cp, sp), (cy, sy) = ((cos(rpy[..., i]), sin(rpy[..., i])) for i in range(3))
    return matrix(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def to_rpy(rotation: ArrayLike) -> Array:
    """Roll, pitch and yaw of a rotation, with `from_rpy(to_rpy(R))` equal to R everywhere.

    Args:
        rotation: (..., 3, 3).

    Returns:
        (..., 3) roll, pitch, yaw [rad]; pitch from -pi/2 to pi/2. At pitch +-pi/2 only the
        difference or sum of roll and yaw is determined, and `from_rpy` still reconstructs R.
    """
    R = expect("rotation", rotation, 3, 3)
    # -0.0 becomes 0.0: at pitch +-pi/2 both are zero, and the angle of (-0.0, 0.0) is pi
    yaw = atan2(*(where(R[..., i, 0] == 0.0, 0.0, R[..., i, 0]) for i in (1, 0)))
    c, s = cos(yaw), sin(yaw)
    # Rz(-yaw) R = Ry(pitch) Rx(roll): its middle row is [0, cos(roll), -sin(roll)].
    roll = atan2(s * R[..., 0, 2] - c * R[..., 1, 2], c * R[..., 1, 1] - s * R[..., 0, 1])
    pitch = atan2(-R[..., 2, 0], c * R[..., 0, 0] + s * R[..., 1, 0])
    return stack([roll, pitch, yaw])


def left_jacobian(phi: ArrayLike) -> Array:
    """Left Jacobian of `exp`: the angular velocity in the fixed frame is J @ phi_dot.

    Args:
        phi: (..., 3) rotation vector [rad].

    Returns:
        (..., 3, 3), singular where the angle is a multiple of 2 pi, except at zero.
    """
    phi = expect("phi", phi, 3)
    t, K = dot(phi, phi), wedge(phi)
    return eye(3, phi) + per_matrix(c2(t)) * K + per_matrix(c3(t)) * (K @ K)


def right_jacobian(phi: ArrayLike) -> Array:
    """Right Jacobian of `exp`: the angular velocity in the moving frame is J @ phi_dot.

    Args:
        phi: (..., 3) rotation vector [rad].

    Returns:
        (..., 3, 3), the transpose of `left_jacobian`.
    """
    return transpose(left_jacobian(phi))


def left_jacobian_inverse(phi: ArrayLike) -> Array:
    """Inverse of `left_jacobian`.

    Args:
        phi: (..., 3) rotation vector [rad], shorter than 2 pi.

    Returns:
        (..., 3, 3).
    """
    phi = expect("phi", phi, 3)
    t, K = dot(phi, phi), wedge(phi)
    return eye(3, phi) - 0.5 * K + per_matrix(inverse_c3(t)) * (K @ K)


def right_jacobian_inverse(phi: ArrayLike) -> Array:
    """Inverse of `right_jacobian`.

    Args:
        phi: (..., 3) rotation vector [rad], shorter than 2 pi.

    Returns:
        (..., 3, 3), the transpose of `left_jacobian_inverse`.
    """
    return transpose(left_jacobian_inverse(phi))


def project(near: ArrayLike) -> Array:
    """Rotation nearest to a matrix, by the sum of squared differences of the entries.

    Args:
        near: (..., 3, 3), such as a rotation with rounded entries.

    Returns:
        (..., 3, 3), with determinant +1.
    """
    near = expect("near", near, 3, 3)
    # In float64: some versions of OpenBLAS for ARM raise false warnings in products of float32.
    u, _, vt = np.linalg.svd(near.astype(np.float64))
    # A reflection is reversed along the direction of the smallest singular value.
    sign = np.sign(np.linalg.det(u @ vt))
    one = np.ones_like(sign)
    R = (u * stack([one, one, sign])[..., None, :]) @ vt
    return R.astype(near.dtype)


def _cos_sin(angle: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """Cosine, sine, 0 and 1, each with the shape of `angle`."""
    angle = as_array(angle, "angle")
    o = zero(angle)
    return cos(angle), sin(angle), o, o + 1.0
