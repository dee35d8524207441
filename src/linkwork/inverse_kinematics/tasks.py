"""What inverse kinematics is to reach: targets of frames and of the centre of mass."""

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

COM = "com"  # names the centre of mass where errors are listed
Kind = Literal["pose", "position", "com"]
NUMBERS: dict[Kind, int] = {"pose": 12, "position": 3, "com": 3}  # of a target
ROWS: dict[Kind, int] = {"pose": 6, "position": 3, "com": 3}  # of a residual
IDENTITY, LAST_ROW = np.eye(3), np.array([0.0, 0.0, 0.0, 1.0])
LARGEST = np.finfo(np.float64).max
NOT_A_ROTATION = 1e-6  # entries of R^T R further than this from the identity are a mistake


class Task(NamedTuple):
    """One target: of the pose or the position of a frame, or of the centre of mass."""

    kind: Kind
    frame: str = COM

    @property
    def n_numbers(self) -> int:
        """How many numbers describe the target: position, then the rotation row by row."""
        return NUMBERS[self.kind]

    @property
    def n_rows(self) -> int:
        """How many numbers the residual has."""
        return ROWS[self.kind]


class Goal(NamedTuple):
    """Tasks, and the numbers of their targets for each row of a batch."""

    tasks: tuple[Task, ...]
    numbers: Array  # (*batch, sum of n_numbers)


def as_numbers(value: Any, name: str) -> Array:
    """Numbers that were given, as float64."""
    if type(value) is float or (type(value) is np.ndarray and value.dtype == np.float64):
        return np.asarray(value)
    reject_foreign(value, name)
    array = as_array(value, name)
    if array.dtype == object:
        raise ArgumentError(f"{name}: expected numbers, got values that are being traced")
    return array.astype(np.float64, copy=False)


def goal_of(kd: KinDyn, targets: Any, com: Any, held: Mapping[str, Array]) -> Goal:
    """Read targets, and say what is wrong with them.

    Args:
        kd: the robot.
        targets: by frame, (..., 4, 4) poses or (..., 3) positions in the world.
        com: (..., 3) position of the centre of mass, or None.
        held: (..., 4, 4) poses in which frames are held.
    """
    given: dict[Task, Array] = {}
    for frame, target in {**targets, **held}.items():
        _check_frame(kd, frame)
        if frame in held and frame in targets:
            raise ArgumentError(f"frame {frame!r} has a target, and is to be held")
        given.update([_of_frame(frame, target)])
    if com is not None:
        given[Task("com")] = _checked("com", as_numbers(com, "com"), (3,))
    if not given:
        raise ArgumentError("there is nothing to reach: give a target of a frame or com=")
    tasks, listed = tuple(given), list(given.values())
    if len(listed) == 1:
        return Goal(tasks, listed[0])
    try:
        batch = np.broadcast_shapes(*[array.shape[:-1] for array in listed])
    except ValueError:
        shapes = ", ".join(f"{t.frame} {a.shape}" for t, a in given.items())
        raise ShapeError(f"targets: batch axes do not fit each other: {shapes}") from None
    rows = [np.broadcast_to(array, (*batch, array.shape[-1])) for array in listed]
    return Goal(tasks, np.concatenate(rows, axis=-1))


def need_mapping(targets: object) -> None:
    """Refuse targets that are not given by frame."""
    if not isinstance(targets, Mapping):
        wanted = "poses or positions by frame, as in {'tool': [0.5, 0.2, 0.6]}"
        raise ArgumentError(f"targets: expected {wanted}, got {shown(targets)}")


def _check_frame(kd: KinDyn, frame: object) -> None:
    if not isinstance(frame, str):
        raise ArgumentError(f"targets: expected names of frames, got {shown(frame)}")
    kd.model.frame_index(frame)


def _of_frame(frame: str, target: Any) -> tuple[Task, Array]:
    array = as_numbers(target, frame)
    if array.shape[-2:] == (4, 4):
        return Task("pose", frame), _checked_pose(frame, array)
    return Task("position", frame), _checked(frame, array, (3,))


def _checked(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape[-1:] != shape:
        wanted = "(..., 3)" if name == COM else "a pose (..., 4, 4) or a position (..., 3)"
        raise ShapeError(f"{name}: expected {wanted}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueRangeError(f"{name}: the target is not finite")
    return array


def _checked_pose(frame: str, pose: Array) -> Array:
    """(..., 12) position and rotation of a pose."""
    numbers, flaw = _pose_kernel()(pose)
    if not flaw.max(initial=0.0) <= NOT_A_ROTATION**2:
        _refuse_pose(frame, pose)
    return numbers


@cache
def _pose_kernel() -> Kernel:
    """From a pose to its position and rotation (12,), and to a number that is 0 for a pose.

    The number is the sum of squares of R^T R - 1, and 1 or more, or NaN, for all other flaws.
    """

    @compile_function(pose=(4, 4))
    def pose_numbers(pose: Any) -> Any:
        R, p = pose[:3, :3], pose[:3, 3]
        off = (R.T @ R - IDENTITY).reshape(-1)
        wrong = [np.where(abs(x) <= LARGEST, 0.0, 1.0) for x in p]
        wrong += [
            np.where(x == wanted, 0.0, 1.0) for x, wanted in zip(pose[3], LAST_ROW, strict=True)
        ]
        wrong.append(np.where(linalg.det(R) < 0.0, 1.0, 0.0))
        return np.concatenate([p, R.reshape(-1)]), off @ off + sum(wrong)

    return pose_numbers


def _refuse_pose(frame: str, pose: Array) -> None:
    """Raise the error for what is wrong with a pose, if it is more than rounding."""
    if not np.isfinite(pose).all():
        raise ValueRangeError(f"{frame}: the target is not finite")
    if (pose[..., 3, :] != LAST_ROW).any():
        raise ValueRangeError(f"{frame}: the target is no pose, its last row is not 0, 0, 0, 1")
    R = pose[..., :3, :3]
    off = abs(R.swapaxes(-1, -2) @ R - IDENTITY).max()
    if off > NOT_A_ROTATION:
        raise ValueRangeError(f"{frame}: the target is no pose, its rotation is off by {off:.3g}")
    if (np.linalg.det(R) < 0).any():
        text = "the axes of its rotation are left-handed (determinant -1): it is mirrored"
        raise ValueRangeError(f"{frame}: the target is no pose, {text}")


def scales_of(tasks: Sequence[Task], given: Mapping[str, Any]) -> Array:
    """(tasks, 2) weights of positions and rotations, by frame or "com": a number, or two."""
    if not given:
        return np.ones((len(tasks), 2))
    names = [task.frame for task in tasks]
    for name in given:
        if name not in names:
            raise NameNotFoundError(f"weights: {name!r} has no target; known: {', '.join(names)}")
    found: list[Array] = []
    for task in tasks:
        pair = as_numbers(given.get(task.frame, 1.0), f"weights: {task.frame}")
        if pair.shape not in ((), (2,)) or not (pair >= 0).all() or not np.isfinite(pair).all():
            text = "expected a number, or two for position and rotation, none negative"
            raise ValueRangeError(f"weights: {task.frame}: {text}, got {shown(given[task.frame])}")
        found.append(np.broadcast_to(pair, (2,)))
    scales = np.array(found)
    if not scales.any():
        raise ValueRangeError("weights: all are zero, so there is nothing to reach")
    return scales
