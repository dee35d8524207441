"""Names of RobWork's Python module for types of doubles, and for lists of them."""

from __future__ import annotations

from typing import Any

from linkwork.compat.robwork.numbers import Vector3D, VelocityScrew6D
from linkwork.compat.robwork.rotations import EAA, RPY, Quaternion, Rotation3D
from linkwork.compat.robwork.transforms import Transform3D

Vector3Dd = Vector3D
Rotation3Dd = Rotation3D
Transform3Dd = Transform3D
RPYd = RPY
EAAd = EAA
Quaterniond = Quaternion
VelocityScrew6Dd = VelocityScrew6D


class StdVector(list[Any]):
    """A list with the methods of a C++ vector."""

    def push_back(self, value: Any) -> None:
        """Add a value at the end."""
        self.append(value)

    def size(self) -> int:
        """How many values there are."""
        return len(self)

    def empty(self) -> bool:
        """Whether there are none."""
        return not self


class Transform3DdVector(StdVector):
    """A list of poses."""


class QVector(StdVector):
    """A list of configurations."""


class StateVector(StdVector):
    """A list of states."""


class FrameVector(StdVector):
    """A list of frames."""
