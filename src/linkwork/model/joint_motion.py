"""A joint seen from either of its links. None of these functions knows which one is the parent.

With P and C the two links of a joint, C the one called `child`:

    child_H_parent(theta)      pose of P in C
    S(theta)                   velocity of C relative to P, in C's axes: C_v_PC = S nu
    J(theta)                   theta_dot = J nu

and they belong together by  parent_H_child @ wedge(S nu) = d/dt parent_H_child.

Positions are the joint's own (..., nq) coordinates; `Layout` says where they stand in q. A
dependent joint is asked with the coordinate its `Mimic` gives, as if it were free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array, as_array
from linkwork.errors import ShapeError, name_not_found
from linkwork.model.parts import Joint
from linkwork.spatial.source import motion, se3


def child_H_parent(joint: Joint, theta: ArrayLike, *, child: str) -> Array:
    """Pose of the other link in `child`.

    Args:
        joint: the joint between the two.
        theta: (..., nq) position of the joint.
        child: name of one of its links; the other one is the parent.

    Returns:
        (..., 4, 4) child_H_parent.
    """
    first_H_second = _first_H_second(joint, position(joint, theta))
    return first_H_second if _is_first(joint, child) else se3.inverse(first_H_second)


def rest_transform(joint: Joint, *, child: str) -> Array:
    """(4, 4) child_H_parent at the joint's rest position."""
    return child_H_parent(joint, joint.motion.rest, child=child)


def motion_subspace(joint: Joint, theta: ArrayLike, *, child: str) -> Array:
    """Motion subspace S: the velocity of `child` relative to its parent is `S @ nu`.

    Args:
        joint: the joint between the two.
        theta: (..., nq) position of the joint. Seen from `second`, S does not depend on it.
        child: name of one of its links; the other one is the parent.

    Returns:
        (..., 6, nv) in the child's axes at its origin, rows [linear; angular].
    """
    theta = position(joint, theta)
    subspace = joint.motion.subspace(np.array(joint.axis), joint.pitch)
    second_H_joint = se3.inverse(joint.joint_H_second.matrix())
    seen_from_second = motion.motion_transform(second_H_joint) @ subspace
    if not _is_first(joint, child):
        return np.broadcast_to(seen_from_second, (*theta.shape[:-1], *subspace.shape))
    return -motion.motion_transform(_first_H_second(joint, theta)) @ seen_from_second


def position_jacobian(joint: Joint, theta: ArrayLike) -> Array:
    """(..., nq, nv) J with theta_dot = J nu; the same from both sides."""
    theta = position(joint, theta)
    return joint.motion.position_jacobian(np.array(joint.axis), theta)


def position(joint: Joint, theta: ArrayLike) -> Array:
    """Take a position of a joint as an array, or say what shape is wanted."""
    array = as_array(theta)
    if array.ndim == 0 or array.shape[-1] != joint.motion.nq:
        wanted = f"(..., {joint.motion.nq})"
        raise ShapeError(f"joint {joint.name!r}: theta: expected {wanted}, got {array.shape}")
    return array


def _first_H_second(joint: Joint, theta: Array) -> Array:
    moved = se3.pose(*joint.motion.motion(np.array(joint.axis), joint.pitch, theta))
    return joint.first_H_joint.matrix() @ moved @ joint.joint_H_second.matrix()


def _is_first(joint: Joint, link: str) -> bool:
    if link not in (joint.first, joint.second):
        raise name_not_found(f"link of joint {joint.name!r}", link, (joint.first, joint.second))
    return link == joint.first
