"""Jacobians of frames by the coordinates of a device, from world poses and joint axes.

The velocity of a frame relative to the base is the sum of what the joints between them add: those
that carry the frame count forwards, those that carry the base backwards. What a joint adds is its
motion subspace, seen at the origin of the frame and along the axes of the base. A joint that depends
on another adds to the columns of that one, times its factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from linkwork.arrays import Array
from linkwork.spatial.blocks import scalars
from linkwork.spatial.source import se3
from linkwork.workcell import fk
from linkwork.workcell.local import leader_of
from linkwork.workcell.parts import Motion
from linkwork.workcell.paths import path_between
from linkwork.workcell.state import State, flat_rows

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell
    from linkwork.workcell.device import Device

OfMotion: TypeAlias = Callable[[Motion], float]


@dataclass(frozen=True)
class Mover:
    """A frame that coordinates of a device move on its parent."""

    frame: int
    column: int  # first of its columns
    count: int  # how many it has
    leader: int  # frame whose numbers move it
    factor: float
    offset: float


def movers_of(device: Device) -> dict[int, Mover]:
    """Frames that a device moves on their parents, dependent joints too, by index."""
    cell = device.cell
    columns: dict[int, int] = {}
    at = 0
    for name in device.joint_names:
        k = cell.layout.frame(name)
        columns[k] = at
        at += cell.frames[k].velocity_size
    found: dict[int, Mover] = {}
    for k, frame in enumerate(cell.frames):
        if frame.movable and k in columns:
            found[k] = Mover(k, columns[k], 6, k, 1.0, 0.0)
        elif frame.motion:
            leader, factor, offset = leader_of(cell, frame)
            if leader in columns:
                count = frame.motion.motion_kind.nv
                found[k] = Mover(k, columns[leader], count, leader, factor, offset)
    return found


def base_J_frames(device: Device, frames: tuple[str, ...], state: State) -> Array:
    """(..., n, 6, nv) Jacobians of some frames."""
    cell = device.cell
    targets = [cell.layout.frame(name) for name in frames]
    cell.check_state(state)
    table = fk.FKTable(cell, state).world_H_frames
    J = np.zeros((*state.batch_shape, len(targets), 6, device.nv))
    flat_J = J.reshape(prod(state.batch_shape), len(targets), 6, device.nv)
    flat_table = table.reshape(prod(state.batch_shape), *table.shape[-3:])
    values = flat_rows(state.values)
    kinds, which = np.unique(flat_rows(state.parents), axis=0, return_inverse=True)
    movers = movers_of(device)
    for number, row in enumerate(kinds):
        rows = np.flatnonzero(which.reshape(-1) == number)
        for n, target in enumerate(targets):
            flat_J[rows, n] = _rows(device, movers, target, flat_table[rows], values[rows], row)
    return J


def _rows(
    device: Device, movers: dict[int, Mover], target: int, table: Array, values: Array, row: Array
) -> Array:
    """(rows, 6, nv) Jacobian of one frame in rows of one tree."""
    cell = device.cell
    base = cell.layout.frame(device.base)
    up, _, down = path_between(cell.layout, base, target, row)
    J = np.zeros((len(table), 6, device.nv))
    for sign, path in ((-1.0, up), (1.0, down)):
        for frame in path:
            mover = movers.get(frame)
            if mover:
                at = slice(mover.column, mover.column + mover.count)
                own = _columns(cell, mover, table, values, table[:, target, :3, 3], row)
                J[:, :, at] += sign * mover.factor * own
    R_t = table[:, base, :3, :3].swapaxes(-1, -2)
    return np.concatenate([R_t @ J[:, :3], R_t @ J[:, 3:]], axis=1)


def _columns(
    cell: WorkCell, mover: Mover, table: Array, values: Array, point: Array, row: Array
) -> Array:
    """(rows, 6, count) velocity that a mover gives what it carries, in world axes at a point."""
    frame = cell.frames[mover.frame]
    if frame.movable:
        slot = cell.layout.slots[mover.frame]
        parent = int(row[cell.layout.column[mover.frame]]) if slot.attachable else slot.parent
        R = table[:, parent, :3, :3]
        origin = table[:, mover.frame, :3, 3]
        S = np.broadcast_to(np.eye(6), (len(table), 6, 6))
    else:
        motion = frame.motion
        assert motion
        theta = mover.factor * values[:, cell.layout.span(mover.leader)] + mover.offset
        columns = motion.motion_kind.subspace(motion.constants, scalars(theta))
        S = np.zeros((len(table), 6, mover.count))
        for j, (v, w) in enumerate(columns):
            for i in range(3):
                S[:, i, j], S[:, 3 + i, j] = v[i], w[i]
        if motion.backwards:  # S is in the axes of what is before the joint, which moves away
            mount = table[:, _parent(cell, mover.frame, row)] @ frame.parent_H_frame.matrix()
            S = -S
        else:
            mount = table[:, mover.frame] @ se3.inverse(motion.joint_H_frame.matrix())
        R, origin = mount[:, :3, :3], mount[:, :3, 3]
    linear, angular = R @ S[:, :3], R @ S[:, 3:]
    arm = (point - origin)[:, :, None]
    return np.concatenate([linear + np.cross(angular, arm, axis=1), angular], axis=1)


def _parent(cell: WorkCell, frame: int, row: Array) -> int:
    slot = cell.layout.slots[frame]
    return int(row[cell.layout.column[frame]]) if slot.attachable else slot.parent
