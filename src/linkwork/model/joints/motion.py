"""The motion of a joint seen from either of its links: the caller chooses which one is the child.

With P and C the two links of a joint, C the one called `child`:

    child_H_parent(theta)      pose of P in C
    S(theta)                   velocity of C relative to P, in C's axes: C_v_PC = S nu
    J(theta)                   theta_dot = J nu

and they belong together by  parent_H_child @ wedge(S nu) = d/dt parent_H_child.

Positions are the joint's own (..., nq) coordinates; `Layout` has their indices in q. For
a dependent joint, pass the position that its `Mimic` determines, as if it were independent. The
formulas are those of `joints`, evaluated on columns of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ShapeError, name_not_found
from linkwork.model.joints import Axis, JointKind
from linkwork.model.parts import Joint
from linkwork.spatial.blocks import as_vec, as_vector, scalars
from linkwork.spatial.source import motion, se3


def child_H_parent(joint: Joint, theta: ArrayLike, *, child: str) -> Array:
    """Return the pose of the other link in `child`.

    Args:
        joint: the joint between the two.
        theta: (..., nq) position of the joint.
        child: name of one of its links; the other one is the parent.

    Returns:
        (..., 4, 4) child_H_parent.
    """
    mounts = joint.first_H_joint.matrix(), joint.joint_H_second.matrix()
    first_H_second = mounts[0] @ motion_pose(joint, theta) @ mounts[1]
    return first_H_second if _is_first(joint, child) else se3.inverse(first_H_second)


def neutral_transform(joint: Joint, *, child: str) -> Array:
    """Compute child_H_parent (4, 4) at the joint's neutral position."""
    return child_H_parent(joint, joint.motion_kind.neutral, child=child)


def motion_pose(joint: Joint, theta: ArrayLike) -> Array:
    """Return the pose M (..., 4, 4) of the moving side of the joint in its fixed side."""
    return pose_of(joint.motion_kind, _axis(joint), position(joint, theta))


def pose_of(kind: JointKind, axis: Axis, theta: Array) -> Array:
    """Return the pose M (..., 4, 4) of a kind of joints with an axis, at positions (..., nq)."""
    R, p = kind.pose(axis, scalars(theta))
    return se3.pose(_array(R, theta), _array([p], theta)[..., 0, :])


def subspace_of(kind: JointKind, axis: Axis, theta: Array) -> Array:
    """Return S (..., 6, nv) of a kind of joints with an axis, on the moving side of the joint."""
    columns = kind.subspace(axis, scalars(theta))
    rows = [[column[half][row] for column in columns] for half in (0, 1) for row in range(3)]
    return _array(rows, theta)


def motion_subspace(joint: Joint, theta: ArrayLike, *, child: str) -> Array:
    """Compute the motion subspace S: the velocity of `child` relative to its parent is `S @ nu`.

    Args:
        joint: the joint between the two.
        theta: (..., nq) position of the joint. Seen from `second`, S depends on it only for a
            universal joint.
        child: name of one of its links; the other one is the parent.

    Returns:
        (..., 6, nv) in the child's axes at its origin, rows [linear; angular].
    """
    theta = position(joint, theta)
    S = subspace_of(joint.motion_kind, _axis(joint), theta)
    second_H_joint = se3.inverse(joint.joint_H_second.matrix())
    seen_from_second = motion.motion_transform(second_H_joint) @ S
    if not _is_first(joint, child):
        return seen_from_second
    first_H_second = child_H_parent(joint, theta, child=child)
    return -motion.motion_transform(first_H_second) @ seen_from_second


def position_jacobian(joint: Joint, theta: ArrayLike) -> Array:
    """Compute J (..., nq, nv) with theta_dot = J nu; the same from both sides."""
    theta = position(joint, theta)
    return _array(joint.motion_kind.position_jacobian(scalars(theta)), theta)


def normalized(joint: Joint, theta: ArrayLike) -> Array:
    """Return the position (..., nq) with its quaternion or (cos, sin) scaled to norm 1."""
    theta = position(joint, theta)
    return as_vector(joint.motion_kind.normalized(scalars(theta)))


def position(joint: Joint, theta: ArrayLike) -> Array:
    """Convert the position of a joint to an array; raise if its shape is wrong."""
    array = as_array(theta)
    if array.ndim == 0 or array.shape[-1] != joint.motion_kind.nq:
        expected = f"(..., {joint.motion_kind.nq})"
        raise ShapeError(f"joint {joint.name!r}: theta: expected {expected}, got {array.shape}")
    return array


def _axis(joint: Joint) -> Axis:
    return Axis(as_vec(joint.axis), joint.pitch)


def _array(rows: Sequence[Sequence[Any]], theta: Array) -> Array:
    """Convert scalars, numbers or batches, to (..., rows, columns) with the batch of theta."""
    width = len(rows[0]) if rows else 0
    array = np.empty((*theta.shape[:-1], len(rows), width), theta.dtype)
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            array[..., i, j] = entry
    return as_array(array)


def _is_first(joint: Joint, link: str) -> bool:
    if link not in (joint.first, joint.second):
        raise name_not_found(f"link of joint {joint.name!r}", link, (joint.first, joint.second))
    return link == joint.first
