"""The pose of a frame on the one that it sits on, by NumPy, from the formulas of joint kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.spatial.blocks import scalars
from linkwork.spatial.source import quat, se3
from linkwork.workcell.parts import CellFrame

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell


def leader_of(cell: WorkCell, frame: CellFrame) -> tuple[int, float, float]:
    """The joint frame whose number moves a frame: its index, and theta = factor number + offset."""
    factor, offset = 1.0, 0.0
    while frame.motion and frame.motion.depends:
        depends = frame.motion.depends
        offset += factor * depends.offset
        factor *= depends.multiplier
        frame = cell.frame(depends.joint)
    return cell.layout.frame(frame.name), factor, offset


def local_pose(cell: WorkCell, index: int, values: Array) -> Array:
    """(..., 4, 4) pose of a frame on its parent.

    Args:
        cell: the workcell.
        index: of the frame.
        values: (..., n_values) the numbers of states.
    """
    frame = cell.frames[index]
    batch = values.shape[:-1]
    if frame.movable:
        numbers = values[..., cell.layout.span(index)]
        return se3.pose(quat.to_rotation(numbers[..., 3:]), numbers[..., :3])
    fixed = frame.parent_H_frame.matrix()
    if not frame.motion:
        return np.array(np.broadcast_to(fixed, (*batch, 4, 4)))
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
