"""Poses as data: six numbers that print, compare and hash.

`a_H_b` is the pose of frame b in frame a. A `Pose` keeps the roll, pitch and yaw that files speak
in, so that writing a model and reading it back loses no digit; `matrix` gives the (4, 4) that
mathematics speaks in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.kernel.norms import TOLERANCE as NORM_TOLERANCE
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import model_error
from linkwork.model.numbers import Triple, as_floats, settle, triple
from linkwork.spatial.blocks import Mat, Vec, as_mat, as_vec
from linkwork.spatial.source import quat, se3, so3

# Entries of a rotation within this of -1, 0 or 1 are set to that number: sines and cosines of
# written angles such as 1.5707963267948966 differ from it by rounding only.
ROUNDING_NOISE = 1e-15
# A matrix R with an entry of R R^T - 1 beyond this is rejected: it is not a rotation.
NOT_A_ROTATION = 1e-6


@dataclass(frozen=True, slots=True)
class Pose:
    """Pose of a frame b in a frame a: position of its origin, and rotation of its axes."""

    xyz: Triple = (0.0, 0.0, 0.0)  # position of b's origin, in a [m]
    rpy: Triple = (0.0, 0.0, 0.0)  # roll, pitch, yaw: rotation Rz(yaw) Ry(pitch) Rx(roll) [rad]

    def __post_init__(self) -> None:
        settle(self, xyz=triple(self.xyz, "xyz"), rpy=triple(self.rpy, "rpy"))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Pose:
        """Return the pose of a (4, 4) matrix a_H_b."""
        return as_pose(np.asarray(matrix), "matrix")

    @classmethod
    def from_wxyz(cls, wxyz: ArrayLike, xyz: ArrayLike = (0.0, 0.0, 0.0)) -> Pose:
        """Return the pose of a unit quaternion and a position.

        Args:
            wxyz: (4,) the quaternion, its real part first; its norm may differ from 1 as much as
                that of a quaternion in q.
            xyz: (3,) position of b's origin, in a [m].
        """
        numbers = as_floats(wxyz, "wxyz")
        if numbers.shape != (4,):
            raise model_error(f"wxyz: expected four numbers, got shape {numbers.shape}")
        norm = float(np.linalg.norm(numbers))
        if not abs(norm - 1.0) <= NORM_TOLERANCE:
            raise model_error(f"wxyz: expected a quaternion of norm 1, got norm {norm:g}")
        rotation = snapped(quat.to_rotation(numbers / norm))
        return cls(xyz=triple(xyz, "xyz"), rpy=tuple(so3.to_rpy(rotation).tolist()))

    def matrix(self) -> Array:
        """Return the pose a_H_b as a (4, 4) matrix."""
        return pose_matrices([self])[0]


IDENTITY = Pose()


def pose_matrices(poses: Iterable[Pose]) -> Array:
    """Return poses as an array (n, 4, 4)."""
    numbers = np.array([(*pose.xyz, *pose.rpy) for pose in poses]).reshape(-1, 6)
    return se3.pose(snapped(so3.from_rpy(numbers[:, 3:])), numbers[:, :3])


def snapped(rotation: Array) -> Array:
    """Replace entries within rounding noise of -1, 0 and 1 by those numbers."""
    rounded = np.round(rotation)
    return np.where(np.abs(rotation - rounded) <= ROUNDING_NOISE, rounded + 0.0, rotation)


def rotation_and_position(pose: Pose) -> tuple[Mat, Vec]:
    """Return rotation and position of a pose, without negative zeros."""
    return as_mat((snapped(pose.matrix()[:3, :3]) + 0.0).tolist()), as_vec(pose.xyz)


def as_pose(value: Pose | ArrayLike, what: str = "pose") -> Pose:
    """Convert a (4, 4) matrix to a `Pose`; a `Pose` is returned unchanged."""
    if isinstance(value, Pose):
        return value
    matrix = as_floats(value, what)
    if matrix.shape != (4, 4):
        raise model_error(f"{what}: expected a Pose or a (4, 4) matrix, got shape {matrix.shape}")
    if problem := pose_problem(matrix):
        raise model_error(f"{what}: the matrix {problem}")
    return Pose(
        xyz=tuple(se3.position_of(matrix).tolist()),
        rpy=tuple(so3.to_rpy(snapped(se3.rotation_of(matrix))).tolist()),
    )


def pose_problem(matrix: Array) -> str:
    """Return why an array (..., 4, 4) does not consist of poses; empty if it does."""
    rotation = matrix[..., :3, :3]
    if not np.isfinite(matrix).all():
        return "has an entry that is not finite"
    last = matrix[..., 3, :].reshape(-1, 4)
    is_wrong = (last != [0, 0, 0, 1]).any(axis=-1)
    if is_wrong.any():
        return f"has the last row {last[is_wrong][0].tolist()}, not [0, 0, 0, 1]"
    error = np.abs(rotation @ rotation.swapaxes(-1, -2) - np.eye(3)).max(initial=0.0)
    if error > NOT_A_ROTATION:
        return f"has axes that are not orthonormal: R R^T of the rotation differs by {error:.3g}"
    return "has left-handed axes" if (np.linalg.det(rotation) < 0).any() else ""


def composed(a_H_b: Pose, b_H_c: Pose) -> Pose:
    """Return the pose a_H_c; exact where one of the two is the identity."""
    if b_H_c == IDENTITY:
        return a_H_b
    if a_H_b == IDENTITY:
        return b_H_c
    return as_pose(a_H_b.matrix() @ b_H_c.matrix())


def inverted(a_H_b: Pose) -> Pose:
    """Return the pose b_H_a; exact for the identity."""
    return a_H_b if a_H_b == IDENTITY else as_pose(se3.inverse(a_H_b.matrix()))
