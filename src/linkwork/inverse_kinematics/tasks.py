"""Tasks of inverse kinematics: targets of frames and of the center of mass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from linkwork.engine.kernel.arguments import reject_foreign
from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic import linalg
from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, NameNotFoundError, ShapeError, ValueRangeError, shown
from linkwork.kindyn import KinDyn
from linkwork.model.pose import pose_problem

COM = "com"  # the name of the center of mass in lists of errors
Kind = Literal["pose", "position", "com"]
TARGET_SIZES: dict[Kind, int] = {"pose": 12, "position": 3, "com": 3}
RESIDUAL_SIZES: dict[Kind, int] = {"pose": 6, "position": 3, "com": 3}
IDENTITY, LAST_ROW = np.eye(3), np.array([0.0, 0.0, 0.0, 1.0])
LARGEST = np.finfo(np.float64).max
ROTATION_TOLERANCE = 1e-6  # largest difference of an entry of R^T R from the identity


class Task(NamedTuple):
    """The kind of a target: the pose or the position of a frame, or the center of mass."""

    kind: Kind
    frame: str = COM

    @property
    def target_size(self) -> int:
        """The number of entries of the target: position, then the rotation row by row."""
        return TARGET_SIZES[self.kind]

    @property
    def residual_size(self) -> int:
        """The number of entries of the residual."""
        return RESIDUAL_SIZES[self.kind]


class Goal(NamedTuple):
    """Tasks, and the values of their targets for each row of a batch."""

    tasks: tuple[Task, ...]
    values: Array  # (*batch, sum of target_size)


def as_floats(value: Any, name: str) -> Array:
    """Convert an argument to an array of float64."""
    if type(value) is float or (type(value) is np.ndarray and value.dtype == np.float64):
        return np.asarray(value)
    reject_foreign(value, name)
    array = as_array(value, name)
    if array.dtype == object:
        raise ArgumentError(f"{name}: expected numbers, got traced values")
    return array.astype(np.float64, copy=False)


def goal_of(kd: KinDyn, targets: Any, com: Any, held: Mapping[str, Array]) -> Goal:
    """Check the targets and collect them in one array.

    Args:
        kd: the robot.
        targets: by frame, (..., 4, 4) poses or (..., 3) positions in the world.
        com: (..., 3) position of the center of mass, or None.
        held: by frame, (..., 4, 4) pose in which it is held.
    """
    values: dict[Task, Array] = {}
    for frame, target in {**targets, **held}.items():
        _check_frame(kd, frame)
        if frame in held and frame in targets:
            raise ArgumentError(f"frame {frame!r} is in both targets and fixed; remove it from one")
        values.update([_frame_task(frame, target)])
    if com is not None:
        values[Task("com")] = _checked("com", as_floats(com, "com"), (3,))
    if not values:
        raise ArgumentError("there is no target: pass targets= or com=")
    tasks, listed = tuple(values), list(values.values())
    if len(listed) == 1:
        return Goal(tasks, listed[0])
    try:
        batch = np.broadcast_shapes(*[array.shape[:-1] for array in listed])
    except ValueError:
        shapes = ", ".join(f"{t.frame} {a.shape}" for t, a in values.items())
        raise ShapeError(f"targets: batch axes do not broadcast: {shapes}") from None
    rows = [np.broadcast_to(array, (*batch, array.shape[-1])) for array in listed]
    return Goal(tasks, np.concatenate(rows, axis=-1))


def check_mapping(argument: str, value: object, expected: str) -> None:
    """Reject an argument that is not a mapping from frames."""
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{argument}: expected {expected}, got {shown(value)}")


def _check_frame(kd: KinDyn, frame: object) -> None:
    if not isinstance(frame, str):
        raise ArgumentError(f"targets: expected names of frames, got {shown(frame)}")
    kd.model.frame_index(frame)


def _frame_task(frame: str, target: Any) -> tuple[Task, Array]:
    array = as_floats(target, frame)
    if array.shape[-2:] == (4, 4):
        return Task("pose", frame), _checked_pose(frame, array)
    return Task("position", frame), checked_positions(frame, array)


def checked_positions(frame: str, array: Array) -> Array:
    """Return the positions (..., 3); reject other shapes, and rotation matrices."""
    positions = _checked(frame, array, (3,))
    if array.shape[-2:] == (3, 3) and _is_rotation(array):
        text = (
            "expected a pose (..., 4, 4) or a position (..., 3), got a rotation matrix (..., 3, 3)"
        )
        hint = f"write it into a pose; weights={{{frame!r}: (0, 1)}} leaves the position free"
        raise ShapeError(f"{frame}: {text}; {hint}")
    return positions


def _is_rotation(array: Array) -> bool:
    """Whether all (..., 3, 3) matrices are orthogonal: hardly the positions of three targets."""
    if not 0.0 < abs(array).max(initial=0.0) <= 1.0 + ROTATION_TOLERANCE:
        return False
    return bool((abs(array @ array.mT - IDENTITY) <= ROTATION_TOLERANCE).all())


def _checked(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape[-1:] != shape:
        expected = "(..., 3)" if name == COM else "a pose (..., 4, 4) or a position (..., 3)"
        raise ShapeError(f"{name}: expected {expected}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueRangeError(f"{name}: the target is not finite")
    return array


def _checked_pose(frame: str, pose: Array) -> Array:
    """Return the position and rotation (..., 12) of a pose, which is checked."""
    values, defect = _pose_kernel()(pose)
    if not defect.max(initial=0.0) <= ROTATION_TOLERANCE**2 and (problem := pose_problem(pose)):
        raise ValueRangeError(f"{frame}: the target is not a pose: it {problem}")
    return values


@cache
def _pose_kernel() -> Kernel:
    """Compile a function from a pose to its position and rotation (12,) and its defect.

    The defect is 0 for an exact pose. It is the sum of squares of R^T R - 1, and at least 1 or NaN
    for every other defect.
    """

    @compile_function(pose=(4, 4))
    def pose_values(pose: Any) -> Any:
        R, p = pose[:3, :3], pose[:3, 3]
        error = (R.T @ R - IDENTITY).reshape(-1)
        defects = [np.where(abs(x) <= LARGEST, 0.0, 1.0) for x in p]
        defects += [
            np.where(x == expected, 0.0, 1.0) for x, expected in zip(pose[3], LAST_ROW, strict=True)
        ]
        defects.append(np.where(linalg.det(R) < 0.0, 1.0, 0.0))
        return np.concatenate([p, R.reshape(-1)]), error @ error + sum(defects)

    return pose_values


def pair_of(value: Any, name: str, meaning: str) -> Array:
    """Return one number >= 0, or two, as an array (2,)."""
    pair = as_floats(value, name)
    if pair.shape not in ((), (2,)) or not (pair >= 0).all() or not np.isfinite(pair).all():
        expected = f"one number >= 0, or two, for {meaning}"
        raise ValueRangeError(f"{name}: expected {expected}, got {shown(value)}")
    return np.broadcast_to(pair, (2,))


def scales_of(tasks: Sequence[Task], weights: Mapping[str, Any]) -> Array:
    """Return weights (tasks, 2) of positions and rotations, from one or two for each frame."""
    if not weights:
        return np.ones((len(tasks), 2))
    names = [task.frame for task in tasks]
    for name in weights:
        if name not in names:
            hint = f"these have: {', '.join(names)}"
            raise NameNotFoundError(f"weights: {name!r} has no target; {hint}")
    meaning = "position and rotation"
    scales = np.array(
        [pair_of(weights.get(name, 1.0), f"weights: {name}", meaning) for name in names]
    )
    if not scales.any():
        raise ValueRangeError("weights: all weights are zero")
    return scales
