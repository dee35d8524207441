"""States with other numbers, poses or attachments; `WorkCell` documents what they do.

Everything is computed and checked before the new state is made, so what fails changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, ShapeError, StateError, ValueRangeError, shown
from linkwork.model.pose import NOT_A_ROTATION, Pose
from linkwork.spatial.source import quat, se3
from linkwork.workcell import fk
from linkwork.workcell.layout import StateLayout
from linkwork.workcell.parts import pose_to_xyz_wxyz
from linkwork.workcell.state import State, flat_rows, normalize

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell


def with_values(cell: WorkCell, state: State, frame: str, values: ArrayLike) -> State:
    """A state with other numbers of a frame."""
    layout = cell.check_state(state).layout
    index = layout.frame(frame)
    slot = layout.slots[index]
    if not slot.size:
        why = "is fixed" if slot.kind == "fixed" else "depends on another joint"
        raise StateError(f"frame {frame!r} has no numbers in a state: it {why}")
    given = as_array(values, frame)
    if given.ndim == 0 and slot.size == 1:
        given = given[None]
    columns = np.arange(slot.size) + layout.offsets[index]
    return replaced(state, columns, layout.norms_in(columns), given, frame)


def replaced(
    state: State,
    columns: Array,
    norms: Sequence[tuple[int, int, str]],
    given: ArrayLike,
    what: str,
) -> State:
    """A state with other numbers in some columns.

    Args:
        state: one or a batch.
        columns: (n,) of its numbers.
        norms: those of the layout's unit norms that are among the columns.
        given: (..., n) their numbers; batch axes are broadcast against those of the state.
        what: they are, for messages.
    """
    numbers = as_array(given, what)
    if numbers.ndim == 0 or numbers.shape[-1] != len(columns):
        raise ShapeError(f"{what}: expected (..., {len(columns)}), got {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueRangeError(f"{what}: a number is not finite")
    parents = state.parents
    if numbers.shape[:-1] == state.batch_shape:
        values = state.values.copy()
    else:
        batch = joint_batch(state.batch_shape, numbers.shape[:-1], what)
        values = np.empty((*batch, state.layout.n_values))
        values[...] = state.values
        parents = np.broadcast_to(parents, (*batch, parents.shape[-1]))
    values[..., columns] = numbers
    for offset, count, name in norms:
        normalize(values[..., offset : offset + count], name)
    return State.trusted(state.layout, values, parents)


def with_pose(
    cell: WorkCell, state: State, frame: str, pose: Pose | ArrayLike, reference: str | None
) -> State:
    """A state in which a movable frame has another pose."""
    _need_movable(cell, state, frame)
    matrix = as_matrix(pose)
    if reference is not None:
        cell.frame_index(reference)
        batch = joint_batch(state.batch_shape, matrix.shape[:-2], "pose")
        spread = state.broadcast(*batch)
        if reference == frame or frame in _carriers(cell, spread, reference):
            raise StateError(
                f"the pose of {frame!r} cannot be given in {reference!r}, which it carries"
            )
        matrix = _on_parent(
            cell,
            spread,
            frame,
            fk.world_H_frames(cell, (reference,), spread)[..., 0, :, :] @ matrix,
        )
    return with_values(cell, state, frame, poses_to_xyz_wxyz(matrix))


def attached(cell: WorkCell, state: State, frame: str, parent: str | Sequence[str]) -> State:
    """A state in which a frame sits on another one."""
    layout = cell.check_state(state).layout
    index = layout.frame(frame)
    if not layout.slots[index].attachable:
        what = "the root of the cell" if index == 0 else "not attachable"
        raise StateError(f"frame {frame!r} cannot be attached: it is {what}")
    targets = _targets(cell, state, parent)
    parents = np.broadcast_to(state.parents, (*state.batch_shape, len(layout.attachable))).copy()
    parents[..., layout.column[index]] = targets
    _refuse_cycles(state, index, targets)
    return State.trusted(layout, state.values, parents)


def gripped(cell: WorkCell, state: State, frame: str, gripper: str | Sequence[str]) -> State:
    """A state in which a frame sits on another one, without having moved in the world."""
    _need_movable(cell, state, frame)
    after = attached(cell, state, frame, gripper)
    span = cell.layout.span(cell.layout.frame(frame))
    column = cell.layout.column[cell.layout.frame(frame)]
    if isinstance(gripper, str):
        gripper_H_frame = fk.frame_H_frame(cell, gripper, frame, state)
    else:
        poses = fk.FKTable(cell, state).world_H_frames
        world_H_gripper = _chosen(poses, after.parents[..., column])
        gripper_H_frame = se3.inverse(world_H_gripper) @ poses[..., cell.layout.frame(frame), :, :]
    numbers = poses_to_xyz_wxyz(gripper_H_frame)
    stays = after.parents[..., column] == state.parents[..., column]
    if stays.any():  # there is nothing to compute, nor to round
        numbers = np.where(stays[..., None], state.values[..., span], numbers)
    values = after.values.copy()
    values[..., span] = numbers
    return State.trusted(cell.layout, values, after.parents)


def _chosen(poses: Array, frames: Array) -> Array:
    """(..., 4, 4) pose of one frame in each row, of (..., frames, 4, 4)."""
    return np.take_along_axis(poses, frames[..., None, None, None], axis=-3)[..., 0, :, :]


def joint_batch(one: tuple[int, ...], other: tuple[int, ...], what: str) -> tuple[int, ...]:
    """The batch axes of a state and of something given for it."""
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        text = f"{what}: a batch {other} does not fit the batch {one} of the state"
        raise ShapeError(text) from None


def _targets(cell: WorkCell, state: State, parent: str | Sequence[str]) -> Array:
    """Indices of the new parents: one, or one for each row."""
    if isinstance(parent, str):
        return np.array(cell.layout.frame(parent), dtype=np.int32)
    try:
        names = np.array(parent, dtype=object)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"parent: expected a frame or one for each row, got {shown(parent)}"
        ) from None
    if names.ndim == 0:
        cell.layout.frame(parent)  # type: ignore[arg-type]  # raises
    if names.shape != state.batch_shape:
        text = f"parent: expected one frame, or an array {state.batch_shape} of them"
        raise ShapeError(f"{text}, got {names.shape}")
    indices = [cell.layout.frame(name) for name in names.reshape(-1).tolist()]
    return np.array(indices, dtype=np.int32).reshape(names.shape)


def _refuse_cycles(state: State, frame: int, targets: Array) -> None:
    """Refuse parents that the frame itself carries, in any row."""
    roots, columns = state.layout.part_roots, state.layout.columns
    if not state.batch_shape:  # many times faster than by NumPy
        one = int(roots[targets])
        while one:
            if one == frame:
                raise _circle(state.layout, frame, int(targets))
            one = int(roots[state.parents[columns[one]]])
        return
    here = np.broadcast_to(roots[targets], state.batch_shape)
    while here.any():
        if (here == frame).any():
            target = np.broadcast_to(targets, here.shape)[here == frame].reshape(-1)[0]
            raise _circle(state.layout, frame, int(target))
        above = np.take_along_axis(state.parents, columns[here][..., None], axis=-1)[..., 0]
        here = np.where(here > 0, roots[above], 0)


def _circle(layout: StateLayout, frame: int, target: int) -> StateError:
    name, on = layout.slots[frame].name, layout.slots[target].name
    if target == frame:
        return StateError(f"frame {name!r} cannot be attached to itself")
    text = f"frame {name!r} cannot be attached to {on!r}"
    return StateError(f"{text}: {on!r} sits on it, directly or through other frames")


def _carriers(cell: WorkCell, state: State, frame: str) -> set[str]:
    """All frames that carry a frame, in any row."""
    from linkwork.workcell.paths import carriers

    rows = np.unique(flat_rows(state.parents), axis=0)
    index = cell.layout.frame(frame)
    names = cell.frame_names
    return {names[k] for row in rows for k in carriers(cell.layout, index, row)}


def _need_movable(cell: WorkCell, state: State, frame: str) -> None:
    slot = cell.check_state(state).layout.slots[cell.layout.frame(frame)]
    if slot.kind != "movable":
        raise StateError(f"frame {frame!r} is not movable: its pose is not part of a state")


def _on_parent(cell: WorkCell, state: State, frame: str, world_H_frame: Array) -> Array:
    """parent_H_frame of a frame that shall be somewhere in the world."""
    layout, index = cell.layout, cell.layout.frame(frame)
    if not layout.slots[index].attachable:
        parent = cell.frames[layout.slots[index].parent].name
        world_H_parent = fk.world_H_frames(cell, (parent,), state)[..., 0, :, :]
    else:
        poses = fk.FKTable(cell, state).world_H_frames
        world_H_parent = _chosen(poses, state.parents[..., layout.column[index]])
    return se3.inverse(world_H_parent) @ world_H_frame


def as_matrix(pose: Pose | ArrayLike, what: str = "pose") -> Array:
    """A pose, or an array of them, as (..., 4, 4); an error if it is none."""
    if isinstance(pose, Pose):
        return pose.matrix()
    matrix = np.asarray(as_array(pose, what, (4, 4)), dtype=np.float64)
    R = matrix[..., :3, :3]
    if not np.isfinite(matrix).all():
        raise ValueRangeError(f"{what}: an entry is not finite")
    if matrix.size and not (matrix[..., 3, :] == [0, 0, 0, 1]).all():
        raise ValueRangeError(f"{what}: the last row of a pose is [0, 0, 0, 1]")
    if matrix.size and np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max() > NOT_A_ROTATION:
        raise ValueRangeError(f"{what}: the axes are not orthonormal")
    if matrix.size and np.linalg.det(R).min() < 0:
        raise ValueRangeError(f"{what}: the axes are left-handed")
    return matrix


def poses_to_xyz_wxyz(matrix: Array) -> Array:
    """(..., 7) position and quaternion wxyz of poses."""
    if matrix.ndim == 2:  # many times faster than by NumPy
        return np.array(pose_to_xyz_wxyz(*matrix[:3].ravel().tolist()))
    return np.concatenate([matrix[..., :3, 3], quat.from_rotation(matrix[..., :3, :3])], axis=-1)
