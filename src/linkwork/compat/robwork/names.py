"""Names of RobWork's Python module: types by precision, lists, and static functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linkwork.compat.robwork.frames import State
from linkwork.compat.robwork.kinematics import Kinematics
from linkwork.compat.robwork.metrics import METRICS
from linkwork.compat.robwork.rotations import (
    EAA,
    RPY,
    InertiaMatrix,
    Quaternion,
    Rotation2D,
    Rotation3D,
)
from linkwork.compat.robwork.transforms import Pose6D, Transform3D, VelocityScrew6D, Wrench6D
from linkwork.compat.robwork.vectors import Vector2D, Vector3D
from linkwork.compat.robwork.workcell import Models, WorkCellLoaderFactory

Vector2Dd, Vector2Df = Vector2D, Vector2D.FLOAT
Vector3Dd, Vector3Df = Vector3D, Vector3D.FLOAT
VelocityScrew6Dd, VelocityScrew6Df = VelocityScrew6D, VelocityScrew6D.FLOAT
Wrench6Dd, Wrench6Df = Wrench6D, Wrench6D.FLOAT
Rotation2Dd, Rotation2Df = Rotation2D, Rotation2D.FLOAT
Rotation3Dd, Rotation3Df = Rotation3D, Rotation3D.FLOAT
RPYd, RPYf = RPY, RPY.FLOAT
EAAd, EAAf = EAA, EAA.FLOAT
Quaterniond, Quaternionf = Quaternion, Quaternion.FLOAT
InertiaMatrixd, InertiaMatrixf = InertiaMatrix, InertiaMatrix.FLOAT
Transform3Dd, Transform3Df = Transform3D, Transform3D.FLOAT
Pose6Dd, Pose6Df = Pose6D, Pose6D.FLOAT

FUNCTIONS: dict[str, Any] = METRICS | {
    f"{kind.__name__}_{name}": getattr(kind, name)
    for kind in (Kinematics, Models, WorkCellLoaderFactory)
    for name, member in vars(kind).items()
    if isinstance(member, staticmethod)
}
"""Metrics, and `Kinematics_frameTframe` and so on, as SWIG names static functions."""


def ownedPtr(value: Any) -> Any:
    """Return the value itself; RobWork returns a pointer that owns it."""
    return value


class StdVector(list[Any]):
    """A list with the methods of a C++ vector: `FrameVector(8)` has eight empty entries."""

    def __init__(self, values: int | Iterable[Any] = (), value: Any = None) -> None:
        super().__init__([value] * values if isinstance(values, int) else values)

    def push_back(self, value: Any) -> None:
        """Append a value."""
        self.append(value)

    def size(self) -> int:
        """Return the number of values."""
        return len(self)

    def empty(self) -> bool:
        """Return whether there are no values."""
        return not self

    def elem(self, idx: int) -> Any:
        """Return a value."""
        return self[idx]

    def front(self) -> Any:
        """Return the first value."""
        return self[0]

    def back(self) -> Any:
        """Return the last value."""
        return self[-1]


class Transform3DdVector(StdVector):
    """A list of poses."""


class QVector(StdVector):
    """A list of configurations."""


class StateVector(StdVector):
    """A list of states."""


class FrameVector(StdVector):
    """A list of frames."""


class FramePairVector(StdVector):
    """A list of pairs of frames, which `CollisionDetector.inCollision` fills."""


class ParallelLegs(StdVector):
    """A list of legs."""


class PathQ(QVector):
    """A path: a list of configurations."""


class PathState(StateVector):
    """A path: a list of states."""


class TimedState:
    """A state at a time."""

    def __init__(self, time: float, value: State) -> None:
        self._time, self._value = float(time), value

    def getTime(self) -> float:
        """Return the time [s]."""
        return self._time

    def setTime(self, time: float) -> None:
        """Set the time [s]."""
        self._time = float(time)

    def getValue(self) -> State:
        """Return the state."""
        return self._value


class TimedStateVector(StdVector):
    """A list of states at times."""


class PathTimedState(TimedStateVector):
    """A path: a list of states at times."""
