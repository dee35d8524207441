"""Common parts of adam's modules: velocity representations, array type, `SpatialMath`."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ValueRangeError, shown
from linkwork.mechanics.base import Representation
from linkwork.spatial import motion, so3


class Representations(IntEnum):
    """Representations of the velocities of the base and of frames."""

    BODY_FIXED_REPRESENTATION = 1
    MIXED_REPRESENTATION = 2
    INERTIAL_FIXED_REPRESENTATION = 3


NAMES: dict[Representations, Representation] = {
    Representations.BODY_FIXED_REPRESENTATION: "body",
    Representations.MIXED_REPRESENTATION: "mixed",
    Representations.INERTIAL_FIXED_REPRESENTATION: "inertial",
}


def name_of(representation: Any) -> Representation:
    """Return linkwork's name of a representation.

    Raises:
        ValueRangeError: there is no such representation.
    """
    try:
        return NAMES[Representations(int(representation))]
    except (TypeError, ValueError):
        names = ", ".join(Representations.__members__)
        message = f"unknown representation {shown(representation)}; expected one of {names}"
        raise ValueRangeError(message) from None


class NumpyLike(np.ndarray[Any, Any]):
    """A NumPy array with the attribute `array` of adam's arrays."""

    def __new__(cls, array: ArrayLike) -> NumpyLike:
        """View an array, or convert numbers to float64."""
        dtype = None if isinstance(array, np.ndarray) else float
        return np.asarray(array, dtype=dtype).view(cls)

    @property
    def array(self) -> Array:
        """The array as NumPy's type."""
        return self.view(np.ndarray)

    @property
    def T(self) -> Any:
        """The transpose of the last two axes."""
        return np.swapaxes(self, -1, -2) if self.ndim > 1 else self


class SpatialMath:
    """Rotations, poses and adjoints; angles are [rad], 6-vectors have the linear part first.

    Args:
        spec: adam's description of an array type. It is stored and not used: arrays are NumPy's.
    """

    def __init__(self, spec: Any = None) -> None:
        self.spec = spec

    def Rx(self, q: ArrayLike) -> NumpyLike:
        """(..., 3, 3) rotation about x."""
        return NumpyLike(so3.rot_x(_floats(q)))

    def Ry(self, q: ArrayLike) -> NumpyLike:
        """(..., 3, 3) rotation about y."""
        return NumpyLike(so3.rot_y(_floats(q)))

    def Rz(self, q: ArrayLike) -> NumpyLike:
        """(..., 3, 3) rotation about z."""
        return NumpyLike(so3.rot_z(_floats(q)))

    def R_from_RPY(self, rpy: ArrayLike) -> NumpyLike:
        """(..., 3, 3) rotation from roll, pitch, yaw (..., 3): Rz Ry Rx."""
        return NumpyLike(so3.from_rpy(_floats(rpy)))

    def R_from_axis_angle(self, axis: ArrayLike, q: ArrayLike) -> NumpyLike:
        """(..., 3, 3) rotation about a unit axis (3,)."""
        return NumpyLike(so3.exp(_floats(q)[..., None] * _floats(axis)))

    def homogeneous(self, R: ArrayLike, p: ArrayLike) -> NumpyLike:
        """(..., 4, 4) pose from rotation and position."""
        rotation = _floats(R)
        H = np.zeros((*rotation.shape[:-2], 4, 4))
        H[..., :3, :3], H[..., 3, 3] = rotation, 1.0
        H[..., :3, 3] = _floats(p).reshape(*rotation.shape[:-2], 3)
        return NumpyLike(H)

    def H_from_Pos_RPY(self, xyz: ArrayLike, rpy: ArrayLike) -> NumpyLike:
        """(..., 4, 4) pose from a position and roll, pitch, yaw."""
        return self.homogeneous(self.R_from_RPY(rpy), xyz)

    def skew(self, x: ArrayLike) -> NumpyLike:
        """(..., 3, 3) matrix of the cross product with a vector."""
        return NumpyLike(so3.wedge(_floats(x)))

    def adjoint(self, H: ArrayLike) -> NumpyLike:
        """(..., 6, 6) transform of motion vectors by a pose."""
        return NumpyLike(motion.motion_transform(_floats(H)))

    def adjoint_inverse(self, H: ArrayLike) -> NumpyLike:
        """(..., 6, 6) inverse of `adjoint`."""
        return NumpyLike(np.linalg.inv(motion.motion_transform(_floats(H))))


def _floats(value: ArrayLike) -> Array:
    return np.asarray(value, dtype=float)
