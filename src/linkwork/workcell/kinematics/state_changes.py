"""Modified copies of states: other values, poses or attachments. `WorkCell` documents them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, ShapeError, StateError, ValueRangeError, shown
from linkwork.model.pose import Pose, pose_problem
from linkwork.spatial.source import quat, se3
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.frames import pose_to_xyz_wxyz
from linkwork.workcell.cell.structure import carriers
from linkwork.workcell.kinematics import fk
from linkwork.workcell.state.layout import StateLayout
from linkwork.workcell.state.state import State, distinct_rows, flat_rows, normalize


def with_values(cell: CellData, state: State, frame: str, values: ArrayLike) -> State:
    """Return the state with other values of a frame."""
    layout = cell.check_state(state).layout
    index = layout.frame(frame)
    slot = layout.slots[index]
    if not slot.size:
        reason = "is fixed" if slot.kind == "fixed" else "depends on another joint"
        raise StateError(f"frame {frame!r} has no values in a state: it {reason}")
    array = as_array(values, frame)
    if array.ndim == 0 and slot.size == 1:
        array = array[None]
    columns = np.arange(slot.size) + layout.offsets[index]
    return replaced(state, columns, layout.norms_in(columns), array, frame)


def replaced(
    state: State,
    columns: Array,
    norms: Sequence[tuple[int, int, str]],
    new_values: ArrayLike,
    name: str,
) -> State:
    """Return the state with other values in some columns.

    Args:
        state: a state or a batch of states.
        columns: (n,) columns of its values.
        norms: the layout's unit norms in these columns.
        new_values: (..., n); batch axes are broadcast with the state.
        name: name of the values in messages.
    """
    array = as_array(new_values, name, (len(columns),))
    if not np.isfinite(array).all():
        raise ValueRangeError(f"{name}: a value is not finite")
    parents = state.parents
    if array.shape[:-1] == state.batch_shape:
        values = state.values.copy()
    else:
        batch = joint_batch(state.batch_shape, array.shape[:-1], name)
        values = np.empty((*batch, state.layout.n_values))
        values[...] = state.values
        parents = np.broadcast_to(parents, (*batch, parents.shape[-1]))
    values[..., columns] = array
    for offset, count, description in norms:
        normalize(values[..., offset : offset + count], description)
    return State.trusted(state.layout, values, parents)


def with_pose(
    cell: CellData, state: State, frame: str, pose: Pose | ArrayLike, reference: str | None
) -> State:
    """Return the state with another pose of a movable frame."""
    _check_movable(cell, state, frame)
    matrix = as_matrix(pose)
    if reference is not None:
        cell.frame_index(reference)
        batch = joint_batch(state.batch_shape, matrix.shape[:-2], "pose")
        states = state.broadcast(*batch)
        if reference == frame or frame in _carriers(cell, states, reference):
            message = f"the pose of {frame!r} cannot be relative to {reference!r}"
            raise StateError(f"{message}, because {frame!r} carries {reference!r}")
        matrix = _parent_H_frame(
            cell,
            states,
            frame,
            fk.world_H_frames(cell, (reference,), states)[..., 0, :, :] @ matrix,
        )
    return with_values(cell, state, frame, poses_to_xyz_wxyz(matrix))


def attached(cell: CellData, state: State, frame: str, parent: str | Sequence[str]) -> State:
    """Return the state with a frame attached to another one."""
    layout = cell.check_state(state).layout
    index = layout.frame(frame)
    if not layout.slots[index].attachable:
        reason = "the root of the cell" if index == 0 else "not attachable"
        raise StateError(f"frame {frame!r} cannot be attached: it is {reason}")
    targets = _targets(cell, state, parent)
    parents = np.broadcast_to(state.parents, (*state.batch_shape, len(layout.attachable))).copy()
    parents[..., layout.columns[index]] = targets
    _reject_cycles(state, index, targets)
    return State.trusted(layout, state.values, parents)


def gripped(cell: CellData, state: State, frame: str, gripper: str | Sequence[str]) -> State:
    """Return the state with a frame attached to another one, with the same pose in the world."""
    _check_movable(cell, state, frame)
    after = attached(cell, state, frame, gripper)
    span = cell.layout.span(cell.layout.frame(frame))
    column = cell.layout.columns[cell.layout.frame(frame)]
    if isinstance(gripper, str):
        gripper_H_frame = fk.frame_H_frame(cell, gripper, frame, state)
    else:
        poses = fk.FKTable(cell, state).world_H_frames
        world_H_gripper = _chosen(poses, after.parents[..., column])
        gripper_H_frame = se3.inverse(world_H_gripper) @ poses[..., cell.layout.frame(frame), :, :]
    xyz_wxyz = poses_to_xyz_wxyz(gripper_H_frame)
    is_unchanged = after.parents[..., column] == state.parents[..., column]
    if is_unchanged.any():  # keep the exact values
        xyz_wxyz = np.where(is_unchanged[..., None], state.values[..., span], xyz_wxyz)
    values = after.values.copy()
    values[..., span] = xyz_wxyz
    return State.trusted(cell.layout, values, after.parents)


def _chosen(poses: Array, frames: Array) -> Array:
    """Select one pose (..., 4, 4) per row from poses (..., frames, 4, 4)."""
    return np.take_along_axis(poses, frames[..., None, None, None], axis=-3)[..., 0, :, :]


def joint_batch(batch: tuple[int, ...], other: tuple[int, ...], name: str) -> tuple[int, ...]:
    """Broadcast the batch axes of a state and of an argument."""
    try:
        return np.broadcast_shapes(batch, other)
    except ValueError:
        message = f"{name}: the batch {other} does not broadcast with the batch {batch}"
        raise ShapeError(f"{message} of the state") from None


def _targets(cell: CellData, state: State, parent: str | Sequence[str]) -> Array:
    """Return indices of the new parents: one, or one for each row."""
    if isinstance(parent, str):
        return np.array(cell.layout.frame(parent), dtype=np.int32)
    try:
        names = np.array(parent, dtype=object)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"parent: expected the name of a frame, or one per row, got {shown(parent)}"
        ) from None
    if names.ndim == 0:
        cell.layout.frame(parent)  # type: ignore[arg-type]  # raises
    if names.shape != state.batch_shape:
        message = f"parent: expected one frame, or an array {state.batch_shape} of them"
        raise ShapeError(f"{message}, got {names.shape}")
    indices = [cell.layout.frame(name) for name in names.reshape(-1).tolist()]
    return np.array(indices, dtype=np.int32).reshape(names.shape)


def _reject_cycles(state: State, frame: int, targets: Array) -> None:
    """Reject parents that the frame carries, in any row."""
    roots, columns = state.layout.part_roots, state.layout.columns
    if not state.batch_shape:  # a loop over integers is faster than NumPy
        root = int(roots[targets])
        while root:
            if root == frame:
                raise _cycle_error(state.layout, frame, int(targets))
            root = int(roots[state.parents[columns[root]]])
        return
    current = np.broadcast_to(roots[targets], state.batch_shape)
    while current.any():
        if (current == frame).any():
            target = np.broadcast_to(targets, current.shape)[current == frame].reshape(-1)[0]
            raise _cycle_error(state.layout, frame, int(target))
        parents = np.take_along_axis(state.parents, columns[current][..., None], axis=-1)[..., 0]
        current = np.where(current > 0, roots[parents], 0)


def _cycle_error(layout: StateLayout, frame: int, target: int) -> StateError:
    name, parent = layout.slots[frame].name, layout.slots[target].name
    if target == frame:
        return StateError(f"frame {name!r} cannot be attached to itself")
    message = f"frame {name!r} cannot be attached to {parent!r}"
    return StateError(f"{message}, because {name!r} carries {parent!r}")


def _carriers(cell: CellData, state: State, frame: str) -> set[str]:
    """Return all frames that carry a frame in any row."""
    rows, _ = distinct_rows(flat_rows(state.parents))
    index = cell.layout.frame(frame)
    names = cell.frame_names
    return {names[k] for row in rows for k in carriers(cell.layout, index, row)}


def _check_movable(cell: CellData, state: State, frame: str) -> None:
    slot = cell.check_state(state).layout.slots[cell.layout.frame(frame)]
    if slot.kind != "movable":
        raise StateError(f"frame {frame!r} is not movable: its pose is not part of a state")


def _parent_H_frame(cell: CellData, state: State, frame: str, world_H_frame: Array) -> Array:
    """Return parent_H_frame of a frame with this pose in the world."""
    layout, index = cell.layout, cell.layout.frame(frame)
    if not layout.slots[index].attachable:
        parent = cell.frames[layout.slots[index].parent].name
        world_H_parent = fk.world_H_frames(cell, (parent,), state)[..., 0, :, :]
    else:
        poses = fk.FKTable(cell, state).world_H_frames
        world_H_parent = _chosen(poses, state.parents[..., layout.columns[index]])
    return se3.inverse(world_H_parent) @ world_H_frame


def as_matrix(pose: Pose | ArrayLike, name: str = "pose") -> Array:
    """Convert a pose or an array of poses to (..., 4, 4), and check it."""
    if isinstance(pose, Pose):
        return pose.matrix()
    matrix = np.asarray(as_array(pose, name, (4, 4)), dtype=np.float64)
    if problem := pose_problem(matrix):
        raise ValueRangeError(f"{name}: the matrix {problem}")
    return matrix


def poses_to_xyz_wxyz(matrix: Array) -> Array:
    """Compute the position and quaternion wxyz of poses, (..., 7)."""
    if matrix.ndim == 2:  # faster than NumPy for a single pose
        return np.array(pose_to_xyz_wxyz(matrix))
    return np.concatenate([matrix[..., :3, 3], quat.from_rotation(matrix[..., :3, :3])], axis=-1)
