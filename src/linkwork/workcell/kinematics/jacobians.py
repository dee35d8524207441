"""Jacobians of frames with respect to the coordinates of a device.

The velocity of a frame relative to the base is the sum of the contributions of the coordinates
between them: positive for those that carry the frame, negative for those that carry the base. The
contribution of a coordinate is a twist that is constant in the axes and at the origin of some frame
of the cell, so that only world poses are needed in addition:

    a joint             on the side that its kind declares in `subspace_sides`: in the frame that it
                        moves, or in its parent; reversed if the joint is backwards
    a movable frame     in the axes of its parent, at the origin of the frame
    a dependent joint   as a joint, times its factor, in the column of its leader

Twists are computed once per device, and columns once per frame and attachments; the C extension
computes the Jacobians. If the subspace of a joint kind is constant on neither side, its twists are
computed for each state, and NumPy computes the Jacobians.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import warn_once
from linkwork.model.joints.motion import subspace_of
from linkwork.spatial.source import motion, se3
from linkwork.workcell.cell.frames import CellFrame
from linkwork.workcell.cell.structure import (
    attachments_above,
    attachments_of,
    leader_of,
    parent_index,
    path_between,
)
from linkwork.workcell.kinematics import fk
from linkwork.workcell.kinematics.device_joints import DeviceJoints
from linkwork.workcell.state.state import State, equal_rows, flat_rows


@dataclass(frozen=True)
class Twist:
    """The contribution of one coordinate to the velocity of the frames that it carries."""

    column: int  # of the Jacobian
    on_parent: bool  # whether it is in the axes of the frame's parent
    at_parent: bool  # whether it is at the origin of the parent
    vector: Array  # (..., 6) [linear; angular]
    is_constant: bool = True  # whether it does not depend on the state


@dataclass(frozen=True)
class DeviceColumns:
    """The contributions to the Jacobians of some frames, for given attachments."""

    indices: Array  # (m, 4) target, frame of the axes, frame of the origin, column
    twists: Array  # (m, ..., 6)
    are_constant: bool  # whether no twist depends on the state


Twists: TypeAlias = dict[int, tuple[Twist, ...]]


def twists_of(device: DeviceJoints, values: Array) -> Twists:
    """Return the twists of all frames that a device moves relative to their parents, by index.

    Args:
        device: the device.
        values: (..., n_values) state values, for joint kinds whose twists depend on the state.
    """
    cell = device.cell
    first_columns: dict[int, int] = {}
    column = 0
    for name in device.joint_names:
        k = cell.layout.frame(name)
        first_columns[k] = column
        column += cell.frames[k].velocity_size
    twists: Twists = {}
    for k, frame in enumerate(cell.frames):
        if frame.movable and k in first_columns:
            axes = enumerate(
                np.broadcast_to(vector, (*values.shape[:-1], 6)) for vector in np.eye(6)
            )
            first = first_columns[k]
            twists[k] = tuple(Twist(first + i, True, False, vector) for i, vector in axes)
        elif frame.motion:
            leader, factor, offset = leader_of(cell, frame)
            if leader in first_columns:
                theta = factor * values[..., cell.layout.span(leader)] + offset
                twists[k] = tuple(_joint_twists(frame, theta, first_columns[leader], factor))
    return twists


def _joint_twists(frame: CellFrame, theta: Array, column: int, factor: float) -> Iterator[Twist]:
    """Return the twists of a joint frame at positions (..., nq), from the formulas of its kind."""
    motion_ = frame.motion
    assert motion_
    kind = motion_.motion_kind
    parent_X_joint = motion.motion_transform(frame.parent_H_frame.matrix())
    frame_X_joint = motion.motion_transform(se3.inverse(motion_.joint_H_frame.matrix()))
    sides = kind.subspace_sides()
    if sides is None:
        _warn_slow(frame.name, kind.name)
    else:  # constant on its side, where it is known at the neutral position
        theta = np.broadcast_to(kind.neutral, theta.shape)
    S = subspace_of(kind, motion_.constants, theta)
    for k, side in enumerate(sides or ("moving",) * kind.nv):
        on_parent = (side == "fixed") != motion_.backwards
        X = parent_X_joint if on_parent else frame_X_joint
        signed = (-factor if motion_.backwards else factor) * X
        vector = (signed @ S[..., :, k, None])[..., 0]
        yield Twist(column + k, on_parent, on_parent, vector, sides is not None)


def _warn_slow(frame: str, kind: str) -> None:
    text = f"the subspace of joint kind {kind!r}, of frame {frame!r}, is constant on neither side"
    warn_once(f"subspace of {kind}", f"{text}, so NumPy computes Jacobians, which is slower")


def columns_of(
    device: DeviceJoints, targets: tuple[int, ...], row: Array, twists: Twists
) -> DeviceColumns:
    """Return the contributions to the Jacobians of some frames.

    Args:
        device: the device whose coordinates are the columns.
        targets: indices of the frames.
        row: the attachments, one row of a state's parents.
        twists: the twists of the device.
    """
    layout = device.cell.layout
    base = layout.frame(device.base)
    indices: list[tuple[int, int, int, int]] = []
    vectors: list[Array] = []
    are_constant = True
    for n, target in enumerate(targets):
        up, _, down = path_between(layout, base, target, row)
        for sign, path in ((-1.0, up), (1.0, down)):
            for frame in path:
                for twist in twists.get(frame, ()):
                    parent = parent_index(layout, frame, row)
                    axes = parent if twist.on_parent else frame
                    origin = parent if twist.at_parent else frame
                    indices.append((n, axes, origin, twist.column))
                    vectors.append(sign * twist.vector)
                    are_constant &= twist.is_constant
    return DeviceColumns(
        np.array(indices, dtype=np.int32).reshape(-1, 4),
        np.array(vectors, dtype=np.float64) if vectors else np.zeros((0, 6)),
        are_constant,
    )


def base_J_frames(device: DeviceJoints, frames: tuple[str, ...], state: State) -> Array:
    """Compute the Jacobians of some frames, (..., n, 6, nv)."""
    cell = device.cell
    targets = tuple(cell.layout.frame(name) for name in frames)
    batch, parents = cell.check_state(state).batch_shape, state.parents
    if not any(parents.strides[:-1]) and prod(batch):
        return _jacobians_of_tree(device, targets, state.values, parents[(0,) * len(batch)])
    J = np.zeros((prod(batch), len(targets), 6, device.nv))
    values, trees = flat_rows(state.values), flat_rows(parents)
    ends = cell.layout.frame(device.base), *targets
    attachments = [attachments_above(cell.layout, frame, trees) for frame in ends]
    paths = np.concatenate(attachments, axis=-1)
    groups = equal_rows(paths)
    if len(groups) == 1:
        J = _jacobians_of_tree(device, targets, values, trees[0])
    else:
        for rows in groups:
            J[rows] = _jacobians_of_tree(device, targets, values[rows], trees[rows[0]])
    return fk.in_batch(J, batch)


def _jacobians_of_tree(
    device: DeviceJoints, targets: tuple[int, ...], values: Array, row: Array
) -> Array:
    """Compute Jacobians of states with equal attachments between the base and the frames."""
    cell = device.cell
    base = cell.layout.frame(device.base)
    row = np.ascontiguousarray(row)
    key = device, targets, *(attachments_of(cell.layout, frame, row) for frame in (base, *targets))
    columns = cell.cache.get("columns", key, _constant_columns, device, targets, row)
    steps = fk.steps_of(cell)
    if steps is not None and columns.are_constant:
        target_indices = np.array(targets, dtype=np.int32)
        values, batch = np.ascontiguousarray(values), values.shape[:-1]
        if len(batch) > steps.MOST_AXES:
            values = flat_rows(values)
        J = steps.jacobians(
            values, row, base, target_indices, columns.indices, columns.twists, device.nv, None
        )
        return J if len(batch) <= steps.MOST_AXES else fk.in_batch(J, batch)
    shared = np.broadcast_to(row, (*values.shape[:-1], len(row)))
    table = fk.poses_of(cell, State.trusted(cell.layout, values, shared), None)
    columns = columns_of(device, targets, row, twists_of(device, values))
    return _by_numpy(table, base, targets, columns, device.nv)


def _constant_columns(device: DeviceJoints, targets: tuple[int, ...], row: Array) -> DeviceColumns:
    """Return the contributions in the default state."""
    cell = device.cell
    twists = cell.cache.get("twists", device, twists_of, device, cell.default_state.values)
    return columns_of(device, targets, row, twists)


def _by_numpy(
    table: Array, base: int, targets: tuple[int, ...], columns: DeviceColumns, nv: int
) -> Array:
    """Compute the same Jacobians (..., n, 6, nv) as the C extension, with NumPy."""
    J = np.zeros((*table.shape[:-3], len(targets), 6, nv))
    R_t = table[..., base, :3, :3].swapaxes(-1, -2)
    for (target, axes, origin, column), twist in zip(columns.indices, columns.twists, strict=True):
        R = R_t @ table[..., axes, :3, :3]
        arm = table[..., targets[target], :3, 3] - table[..., origin, :3, 3]
        arm = (R_t @ arm[..., None])[..., 0]
        v, w = ((R @ part[..., None])[..., 0] for part in (twist[..., :3], twist[..., 3:]))
        J[..., target, :3, column] += v + np.cross(w, arm)
        J[..., target, 3:, column] += w
    return J
