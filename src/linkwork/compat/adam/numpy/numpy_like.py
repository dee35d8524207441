"""Poses and rotations as `adam.numpy.numpy_like.SpatialMath` makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.spatial import motion, so3


@dataclass
class NumpyLike:
    """An array in the wrapper that adam's functions return."""

    array: Array

    def __matmul__(self, other: Any) -> NumpyLike:
        return NumpyLike(self.array @ _plain(other))

    def __rmatmul__(self, other: Any) -> NumpyLike:
        return NumpyLike(_plain(other) @ self.array)

    def __add__(self, other: Any) -> NumpyLike:
        return NumpyLike(self.array + _plain(other))

    def __sub__(self, other: Any) -> NumpyLike:
        return NumpyLike(self.array - _plain(other))

    def __mul__(self, other: Any) -> NumpyLike:
        return NumpyLike(self.array * _plain(other))

    def __neg__(self) -> NumpyLike:
        return NumpyLike(-self.array)

    def __getitem__(self, item: Any) -> NumpyLike:
        return NumpyLike(self.array[item])

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = np.asarray(self.array, dtype=dtype)
        return found.copy() if copy else found

    @property
    def T(self) -> NumpyLike:
        """The transpose of the last two axes."""
        return NumpyLike(np.swapaxes(self.array, -1, -2))

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return self.array.shape


class SpatialMath:
    """Rotations, poses and adjoints; angles are [rad], 6-vectors have the linear part first.

    Args:
        spec: adam's description of an array type, which is kept; arrays are NumPy's, of float64.
    """

    def __init__(self, spec: Any = None) -> None:
        self.spec = spec

    def Rx(self, q: ArrayLike) -> NumpyLike:
        """(..., 3, 3) rotation about x."""
        return NumpyLike(so3.rot_x(_plain(q)))

    def Ry(self, q: ArrayLike) -> NumpyLike:
        """(..., 3, 3) rotation about y."""
        return NumpyLike(so3.rot_y(_plain(q)))

    def Rz(self, q: ArrayLike) -> NumpyLike:
        """(..., 3, 3) rotation about z."""
        return NumpyLike(so3.rot_z(_plain(q)))

    def R_from_RPY(self, rpy: ArrayLike) -> NumpyLike:
        """(..., 3, 3) rotation from roll, pitch, yaw (..., 3): Rz Ry Rx."""
        return NumpyLike(so3.from_rpy(_plain(rpy)))

    def R_from_axis_angle(self, axis: ArrayLike, q: ArrayLike) -> NumpyLike:
        """(..., 3, 3) rotation about a unit axis (3,)."""
        return NumpyLike(so3.exp(_plain(q)[..., None] * _plain(axis)))

    def homogeneous(self, R: Any, p: Any) -> NumpyLike:
        """(..., 4, 4) pose from rotation and position."""
        rotation, position = _plain(R), _plain(p).reshape(*np.shape(_plain(R))[:-2], 3)
        H = np.zeros((*rotation.shape[:-2], 4, 4))
        H[..., :3, :3], H[..., :3, 3], H[..., 3, 3] = rotation, position, 1.0
        return NumpyLike(H)

    def H_from_Pos_RPY(self, xyz: ArrayLike, rpy: ArrayLike) -> NumpyLike:
        """(..., 4, 4) pose from a position and roll, pitch, yaw."""
        return self.homogeneous(self.R_from_RPY(rpy), xyz)

    def skew(self, x: ArrayLike) -> NumpyLike:
        """(..., 3, 3) matrix of the cross product with a vector."""
        return NumpyLike(so3.wedge(_plain(x)))

    def adjoint(self, H: Any) -> NumpyLike:
        """(..., 6, 6) what maps motion vectors with a pose."""
        return NumpyLike(motion.motion_transform(_plain(H)))

    def adjoint_inverse(self, H: Any) -> NumpyLike:
        """(..., 6, 6) its inverse."""
        return NumpyLike(np.linalg.inv(motion.motion_transform(_plain(H))))


def _plain(value: Any) -> Array:
    return value.array if isinstance(value, NumpyLike) else np.asarray(value, dtype=float)
