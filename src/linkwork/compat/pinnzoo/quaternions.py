"""Functions of quaternions w x y z (Hamilton), the rotation of the body in the world.

All functions accept leading batch axes. Quaternions are not normalized.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.export.pinnzoo.manifold import axis_angle
from linkwork.spatial import quat, so3


def quat_to_axis_angle(q: ArrayLike) -> Array:
    """(..., 3) axis times angle [rad], the angle in [0, 2 pi): different for q and -q."""
    return axis_angle(as_array(q, "q", (4,)))


def axis_angle_to_quat(omega: ArrayLike) -> Array:
    """(..., 4) quaternion of an axis times an angle [rad], smooth at zero."""
    return quat.exp(as_array(omega, "omega", (3,)))


def quat_conjugate(q: ArrayLike) -> Array:
    """(..., 4) quaternion with the vector part negated."""
    return quat.conjugate(as_array(q, "q", (4,)))


def skew(v: ArrayLike) -> Array:
    """(..., 3, 3) matrix S with S u = v x u."""
    return so3.wedge(as_array(v, "v", (3,)))


def L_mult(q: ArrayLike) -> Array:
    """(..., 4, 4) matrix L of multiplication from the left: q1 q2 = L(q1) q2."""
    return quat.left_matrix(as_array(q, "q", (4,)))


def R_mult(q: ArrayLike) -> Array:
    """(..., 4, 4) matrix R of multiplication from the right: q1 q2 = R(q2) q1."""
    return quat.right_matrix(as_array(q, "q", (4,)))


def attitude_jacobian(q: ArrayLike) -> Array:
    """(..., 4, 3) G = [-u^T; w 1 + [u]x] with q_dot = G omega / 2, omega in the body."""
    return 2.0 * quat.rate_matrix(as_array(q, "q", (4,)))


def quat_to_rot(q: ArrayLike) -> Array:
    """(..., 3, 3) R = 1 + 2 w [u]x + 2 [u]x^2, the rotation of the body in the world."""
    return quat.to_rotation(as_array(q, "q", (4,)))


def rot_to_quat(R: ArrayLike) -> Array:
    """(..., 4) unit quaternion of a rotation matrix, with w >= 0."""
    return quat.from_rotation(as_array(R, "R", (3, 3)))
