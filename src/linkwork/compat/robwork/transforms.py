"""Poses under RobWork's names: `aTb` is the pose of frame b in frame a."""

from __future__ import annotations

from typing import Any, TypeVar, overload

import numpy as np

from linkwork.compat.robwork.numbers import Numbers, Vector3D, VelocityScrew6D, as_numbers
from linkwork.compat.robwork.rotations import EAA, RPY, Quaternion, Rotation3D, as_rotation
from linkwork.errors import ArgumentError, shown
from linkwork.io.workcell_joints import craig_dh, hgp_dh, schilling_dh
from linkwork.spatial.source import motion, se3

T = TypeVar("T", bound=Numbers)


class Transform3D(Numbers):
    """A pose: position P and rotation R, together a (4, 4) matrix."""

    __slots__ = ()

    def __init__(self, *parts: Any) -> None:
        """Take a position and a rotation, one of the two, or a (4, 4) matrix; else the identity."""
        matrix = np.eye(4)
        if len(parts) > 2:
            raise ArgumentError(f"Transform3D: expected position and rotation, got {len(parts)}")
        for part in parts:
            given = as_numbers(part, "Transform3D")
            if isinstance(part, (RPY, EAA, Quaternion)) or given.shape == (3, 3):
                matrix[:3, :3] = as_rotation(part)
            elif given.shape == (3,):
                matrix[:3, 3] = given
            elif given.shape in ((4, 4), (3, 4)) and len(parts) == 1:
                matrix[:3] = given[:3]
            else:
                raise ArgumentError(
                    f"Transform3D: expected a position or rotation, got {shown(part)}"
                )
        super().__init__(matrix)

    @staticmethod
    def identity() -> Transform3D:
        """The pose of a frame in itself."""
        return Transform3D()

    @staticmethod
    def DH(alpha: float, a: float, d: float, theta: float) -> Transform3D:
        """Pose Rz(theta) Tz(d) Tx(a) Rx(alpha), the original convention."""
        return Transform3D(schilling_dh(alpha, a, d, theta))

    @staticmethod
    def craigDH(alpha: float, a: float, d: float, theta: float) -> Transform3D:
        """Pose Rx(alpha) Tx(a) Rz(theta) Tz(d), the convention of Craig's book."""
        return Transform3D(craig_dh(alpha, a, d, theta))

    @staticmethod
    def DHHGP(alpha: float, a: float, beta: float, b: float) -> Transform3D:
        """Pose Ty(b) Ry(beta) Tx(a) Rx(alpha), for axes that are nearly parallel."""
        return Transform3D(hgp_dh(alpha, a, beta, b))

    def P(self) -> Vector3D:
        """Position; writing into it changes this pose."""
        return Vector3D.around(self._a[:3, 3])

    def R(self) -> Rotation3D:
        """Rotation; writing into it changes this pose."""
        return Rotation3D.around(self._a[:3, :3])

    def inverse(self) -> Transform3D:
        """The pose of frame a in frame b."""
        return Transform3D.around(se3.inverse(self._a))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Transform3D):
            return Transform3D.around(self._a @ other.e())
        if isinstance(other, VelocityScrew6D):  # to the axes and the origin of frame a
            return VelocityScrew6D(motion.transform_motion(self._a, other.e()))
        point = as_numbers(other, "product with a transform", (3,))
        return Vector3D(self._a[:3, :3] @ point + self._a[:3, 3])

    def __repr__(self) -> str:
        return f"Transform3D({self.P()!r}, {self.R()!r})"


@overload
def inverse(value: Transform3D) -> Transform3D: ...
@overload
def inverse(value: Rotation3D) -> Rotation3D: ...
@overload
def inverse(value: Quaternion) -> Quaternion: ...
def inverse(value: Any) -> Any:
    """The inverse of a pose or rotation."""
    if isinstance(value, Quaternion):
        return Quaternion(value.e() * [-1, -1, -1, 1] / value.getLength() ** 2)
    if isinstance(value, (Transform3D, Rotation3D)):
        return value.inverse()
    raise ArgumentError(f"inverse: expected a Transform3D or a Rotation3D, got {shown(value)}")
