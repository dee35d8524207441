"""Structure of a cell in a state: leaders of dependent joints, parents, children and paths."""

from __future__ import annotations

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError
from linkwork.model.joints.motion import pose_of
from linkwork.spatial.source import quat, se3
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.frames import WORLD, CellFrame, Motion
from linkwork.workcell.state.layout import StateLayout
from linkwork.workcell.state.state import State, flat_rows


def parent_index(layout: StateLayout, frame: int, parents: Array) -> int:
    """Return the index of the parent of a frame, -1 for WORLD; `parents` is one row of a state."""
    if layout.slots[frame].attachable:
        return int(parents[layout.columns[frame]])
    return layout.slots[frame].parent


def carriers(layout: StateLayout, frame: int, parents: Array) -> list[int]:
    """Return the frames that carry a frame, from its parent to WORLD."""
    result: list[int] = []
    while (frame := parent_index(layout, frame, parents)) >= 0:
        result.append(frame)
    return result


def attachments_above(layout: StateLayout, frame: int, trees: Array) -> Array:
    """Return parents (rows, depth) of the attachable frames from a frame upward, inclusive.

    Args:
        layout: layout of the states.
        frame: index of the frame.
        trees: (rows, n_attachable) parents in states. Shorter rows of the result end with WORLD.
    """
    roots, columns, rows = layout.part_roots, layout.columns, np.arange(len(trees))
    current = np.full(len(trees), roots[frame])
    result: list[Array] = []
    while current.any():
        parents = np.where(current > 0, trees[rows, columns[current]], 0)
        result.append(parents)
        current = roots[parents]
    return np.stack(result, axis=-1) if result else np.zeros((len(trees), 0), dtype=np.int32)


def attachments_of(layout: StateLayout, frame: int, row: Array) -> tuple[int, ...]:
    """Return the same as `attachments_above`, for one row."""
    roots, columns = layout.part_roots, layout.columns
    current, result = roots[frame], []
    while current:
        parents = row[columns[current]]
        result.append(int(parents))
        current = roots[parents]
    return tuple(result)


def path_between(
    layout: StateLayout, a: int, b: int, parents: Array
) -> tuple[list[int], int, list[int]]:
    """Return the frames from a up to the nearest common frame, that frame, and those down to b."""
    up, down = [a, *carriers(layout, a, parents)], [b, *carriers(layout, b, parents)]
    common = 0
    while up and down and up[-1] == down[-1]:
        common = up.pop()
        down.pop()
    return up, common, down[::-1]


def one_row(cell: CellData, state: State, columns: tuple[int, ...] = ()) -> Array:
    """Return the attachments of a state; a batch must have one value in `columns`, default all."""
    parents = cell.check_state(state).parents
    if not state.batch_shape:
        return parents
    flat = flat_rows(parents)
    if not len(flat):
        return cell.default_state.parents
    chosen = flat[:, list(columns)] if columns else flat
    if (chosen != chosen[0]).any():
        message = "the states of this batch have different attachments"
        raise ArgumentError(f"{message}; pass a single state, such as state[0]")
    return flat[0]


def parent_of(cell: CellData, frame: str, state: State) -> str | None:
    """Return the parent of a frame."""
    index = cell.layout.frame(frame)
    if not cell.layout.slots[index].attachable:
        cell.check_state(state)
        return cell.frames[index].parent
    row = one_row(cell, state, (cell.layout.columns[index],))
    return parent_name(cell, index, row)


def children_of(cell: CellData, frame: str, state: State) -> tuple[str, ...]:
    """Return the children of a frame: first the static ones, then attached frames."""
    index = cell.layout.frame(frame)
    row = one_row(cell, state)
    return tuple(cell.frame_names[k] for k in _children(cell.layout, row)[index])


def _children(layout: StateLayout, parents: Array) -> list[list[int]]:
    result: list[list[int]] = [[] for _ in layout.slots]
    for k, slot in enumerate(layout.slots):
        if slot.parent >= 0:
            result[slot.parent].append(k)
    for k in layout.attachable:
        result[int(parents[layout.columns[k]])].append(k)
    return result


def chain(cell: CellData, a: str, b: str, state: State) -> tuple[str, ...]:
    """Return the frames on the path from one frame to another, inclusive."""
    layout = cell.layout
    ends = layout.frame(a), layout.frame(b)
    up, common, down = path_between(layout, *ends, one_row(cell, state))
    return tuple(cell.frame_names[k] for k in (*up, common, *down))


def frames_below(cell: CellData, frame: str, state: State) -> tuple[str, ...]:
    """Return a frame and all frames that it carries, depth first."""
    root = cell.layout.frame(frame)
    return tuple(cell.frame_names[k] for k, _ in walk(cell, state, root))


def walk(cell: CellData, state: State, root: int) -> list[tuple[int, int]]:
    """Return (frame, depth) of a frame and all frames that it carries, depth first."""
    return frames_from(cell.layout, one_row(cell, state), root)


def frames_from(layout: StateLayout, row: Array, root: int) -> list[tuple[int, int]]:
    """Return the same as `walk`, for one row of attachments."""
    below = _children(layout, row)
    pending, result = [(root, 0)], []
    while pending:
        current, depth = pending.pop()
        result.append((current, depth))
        pending += [(child, depth + 1) for child in reversed(below[current])]
    return result


def static_groups(cell: CellData, state: State, root: str) -> tuple[tuple[str, ...], ...]:
    """Return groups of frames that are fixed to each other in every state."""
    layout, start = cell.layout, cell.layout.frame(root)
    group_of: dict[int, list[int]] = {}
    groups: list[list[int]] = []
    for k, depth in walk(cell, state, start):
        slot = layout.slots[k]
        if depth and slot.kind == "fixed" and not slot.attachable:
            group = group_of[slot.parent]
        else:
            group = []
            groups.append(group)
        group.append(k)
        group_of[k] = group
    return tuple(tuple(cell.frame_names[k] for k in group) for group in groups)


def parent_name(cell: CellData, frame: int, row: Array) -> str:
    """Name of the parent of a frame; WORLD for WORLD."""
    return cell.frame_names[parent_index(cell.layout, frame, row)] if frame else WORLD


def leader_of(cell: CellData, frame: CellFrame) -> tuple[int, float, float]:
    """Return the leader of a frame, with theta = factor * theta_leader + offset.

    Returns:
        The index of the independent joint frame that moves the frame, the factor and the offset;
        the index of the frame itself, 1 and 0 if it is independent.
    """
    factor, offset = 1.0, 0.0
    while frame.motion and frame.motion.depends:
        depends = frame.motion.depends
        offset += factor * depends.offset
        factor *= depends.multiplier
        frame = cell.frame(depends.joint)
    return cell.layout.frame(frame.name), factor, offset


def local_pose(cell: CellData, index: int, values: Array) -> Array:
    """Compute the pose of a frame in its parent, (..., 4, 4).

    Args:
        cell: the workcell.
        index: index of the frame.
        values: (..., n_values) state values.
    """
    frame = cell.frames[index]
    batch = values.shape[:-1]
    if frame.movable:
        xyz_wxyz = values[..., cell.layout.span(index)]
        return se3.pose(quat.to_rotation(xyz_wxyz[..., 3:]), xyz_wxyz[..., :3])
    fixed = frame.parent_H_frame.matrix()
    if not frame.motion:
        return np.array(np.broadcast_to(fixed, (*batch, 4, 4)))
    leader, factor, offset = leader_of(cell, frame)
    theta = factor * values[..., cell.layout.span(leader)] + offset
    return fixed @ moved_pose(frame.motion, theta)


def moved_pose(motion: Motion, theta: Array) -> Array:
    """Compute the motion (..., 4, 4) of a joint frame at positions (..., nq), after its mount."""
    moved = pose_of(motion.motion_kind, motion.constants, theta)
    if motion.backwards:
        moved = se3.inverse(moved)
    return moved @ motion.joint_H_frame.matrix()
