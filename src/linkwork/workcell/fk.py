"""Forward kinematics of all frames, of one state or a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from linkwork.arrays import Array
from linkwork.model.parts import Mimic
from linkwork.spatial.blocks import scalars
from linkwork.spatial.source import quat, se3
from linkwork.workcell.parts import CellFrame
from linkwork.workcell.state import State, flat_rows

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell

Steps: TypeAlias = Any


class FKTable:
    """World poses of all frames in one state or a batch of them, computed once.

    table["box"]             (..., 4, 4) pose of a frame in the world
    table.world_H_frames     (..., frames, 4, 4) all of them, in the order of `cell.frame_names`
    """

    def __init__(
        self, cell: WorkCell, state: State, *, threads: int | None = None, out: Array | None = None
    ) -> None:
        self.cell, self.state = cell, cell.check_state(state)
        self.world_H_frames = all_poses(cell, state)

    def __getitem__(self, frame: str) -> Array:
        return self.world_H_frames[..., self.cell.layout.frame(frame), :, :]

    def __repr__(self) -> str:
        return f"<FKTable of {self.cell.name!r}: {self.world_H_frames.shape[:-2]} poses>"

    def frame_H_frame(self, a: str, b: str) -> Array:
        """(..., 4, 4) pose a_H_b of frame b in frame a."""
        return se3.inverse(self[a]) @ self[b]


def steps_of(cell: WorkCell) -> Steps:
    return None


def world_H_frames(cell: WorkCell, frames: tuple[str, ...], state: State) -> Array:
    """(..., n, 4, 4) poses of some frames in the world."""
    wanted = [cell.layout.frame(name) for name in frames]
    cell.check_state(state)
    return all_poses(cell, state)[..., wanted, :, :]


def frame_H_frame(cell: WorkCell, a: str, b: str, state: State) -> Array:
    """(..., 4, 4) pose a_H_b."""
    both = world_H_frames(cell, (a, b), state)
    return se3.inverse(both[..., 0, :, :]) @ both[..., 1, :, :]


def parent_H_frame(cell: WorkCell, frame: str, state: State) -> Array:
    """(..., 4, 4) pose of a frame on the frame that it sits on."""
    index = cell.layout.frame(frame)
    return local_pose(cell, index, cell.check_state(state).values)


def all_poses(cell: WorkCell, state: State) -> Array:
    """(..., frames, 4, 4) by NumPy."""
    layout = cell.layout
    batch, n = state.batch_shape, len(layout.slots)
    values = flat_rows(state.values)
    parents = flat_rows(state.parents)
    rows = len(values)
    local = np.empty((rows, n, 4, 4))
    for k in range(n):
        local[:, k] = local_pose(cell, k, values)
    above = np.tile(np.array([slot.parent for slot in layout.slots]), (rows, 1))
    if layout.attachable:
        above[:, list(layout.attachable)] = parents
    world = np.empty_like(local)
    done = np.zeros((rows, n), dtype=bool)
    world[:, 0], done[:, 0] = np.eye(4), True
    every = np.arange(rows)
    while not done.all():
        for k in range(1, n):
            ready = ~done[:, k] & done[every, above[:, k]]
            if ready.any():
                on = above[ready, k]
                world[ready, k] = world[every[ready], on] @ local[ready, k]
                done[ready, k] = True
    return world.reshape(*batch, n, 4, 4)


def leader_of(cell: WorkCell, frame: CellFrame) -> tuple[int, float, float]:
    """Index, factor and offset of the joint frame whose number moves a frame."""
    factor, offset = 1.0, 0.0
    while frame.motion and frame.motion.depends:
        depends: Mimic = frame.motion.depends
        offset += factor * depends.offset
        factor *= depends.multiplier
        frame = cell.frame(depends.joint)
    return cell.layout.frame(frame.name), factor, offset


def local_pose(cell: WorkCell, index: int, values: Array) -> Array:
    """(..., 4, 4) pose of a frame on its parent, by NumPy."""
    frame = cell.frames[index]
    batch = values.shape[:-1]
    if frame.movable:
        numbers = values[..., cell.layout.span(index)]
        return se3.pose(quat.to_rotation(numbers[..., 3:]), numbers[..., :3])
    fixed = frame.parent_H_frame.matrix()
    if not frame.motion:
        return np.broadcast_to(fixed, (*batch, 4, 4))
    leader, factor, offset = leader_of(cell, frame)
    theta = factor * values[..., cell.layout.span(leader)] + offset
    R, p = frame.motion.motion_kind.pose(frame.motion.constants, scalars(theta))
    moved = np.zeros((*batch, 4, 4))
    for i in range(3):
        moved[..., i, 3] = p[i]
        for j in range(3):
            moved[..., i, j] = R[i][j]
    moved[..., 3, 3] = 1.0
    if frame.motion.backwards:
        moved = se3.inverse(moved)
    return fixed @ moved @ frame.motion.joint_H_frame.matrix()
