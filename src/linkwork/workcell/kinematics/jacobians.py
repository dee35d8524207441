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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import warn_once
from linkwork.spatial.blocks import scalars
from linkwork.spatial.source import motion, se3
from linkwork.workcell.cell.frames import Motion
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

TwistFunction: TypeAlias = Callable[[Array], Array]
"""The twist (..., 6) of a coordinate as a function of state values (..., n_values)."""


@dataclass(frozen=True)
class Twist:
    """The contribution of one coordinate to the velocity of the frames that it carries."""

    column: int  # of the Jacobian
    on_parent: bool  # whether it is in the axes of the frame's parent
    at_parent: bool  # whether it is at the origin of the parent
    vector: Array  # (6,) [linear; angular]
    function: TwistFunction | None = None  # replaces the vector if it depends on the state


@dataclass(frozen=True)
class DeviceColumns:
    """The contributions to the Jacobians of some frames, for given attachments."""

    indices: Array  # (m, 4) target, frame of the axes, frame of the origin, column
    twists: Array  # (m, 6)
    functions: dict[int, TwistFunction]  # by row: twists that depend on the state


def twists_of(device: DeviceJoints) -> dict[int, tuple[Twist, ...]]:
    """Return the twists of all frames that a device moves relative to their parents, by index."""
    cell = device.cell
    first_columns: dict[int, int] = {}
    column = 0
    for name in device.joint_names:
        k = cell.layout.frame(name)
        first_columns[k] = column
        column += cell.frames[k].velocity_size
    twists: dict[int, tuple[Twist, ...]] = {}
    for k, frame in enumerate(cell.frames):
        if frame.movable and k in first_columns:
            axes = enumerate(np.eye(6))
            first = first_columns[k]
            twists[k] = tuple(Twist(first + i, True, False, vector) for i, vector in axes)
        elif frame.motion:
            leader, factor, _ = leader_of(cell, frame)
            if leader in first_columns:
                twists[k] = tuple(_joint_twists(device, k, first_columns[leader], factor))
    return twists


def _joint_twists(device: DeviceJoints, index: int, column: int, factor: float) -> Iterator[Twist]:
    """Return the twists of a joint frame, from the formulas of its kind."""
    frame = device.cell.frames[index]
    motion_ = frame.motion
    assert motion_
    kind = motion_.motion_kind
    parent_X_joint = motion.motion_transform(frame.parent_H_frame.matrix())
    frame_X_joint = motion.motion_transform(se3.inverse(motion_.joint_H_frame.matrix()))
    sides = kind.subspace_sides()
    if sides is None:
        _warn_slow(frame.name, kind.name)
    S = _subspace(motion_, np.array(kind.neutral))
    for k, side in enumerate(sides or ("moving",) * kind.nv):
        on_parent = (side == "fixed") != motion_.backwards
        X = parent_X_joint if on_parent else frame_X_joint
        signed = (-factor if motion_.backwards else factor) * X
        function = None if sides else _twist_function(device, index, k, signed)
        yield Twist(column + k, on_parent, on_parent, signed @ S[k], function)


def _twist_function(device: DeviceJoints, index: int, k: int, X: Array) -> TwistFunction:
    """Return the k-th twist of a joint frame as a function of state values."""
    cell, motion_ = device.cell, device.cell.frames[index].motion
    assert motion_
    leader, factor, offset = leader_of(cell, cell.frames[index])
    span = cell.layout.span(leader)

    def twist(values: Array) -> Array:
        S = _subspace(motion_, factor * values[..., span] + offset)
        return (X @ S[..., k, :, None])[..., 0]

    return twist


def _subspace(motion_: Motion, theta: Array) -> Array:
    """Compute the columns of S at positions (..., nq), (..., nv, 6)."""
    columns = motion_.motion_kind.subspace(motion_.constants, scalars(theta))
    S = np.empty((*theta.shape[:-1], len(columns), 6))
    for k, (v, w) in enumerate(columns):
        for i, entry in enumerate((*v, *w)):
            S[..., k, i] = entry
    return S


def _warn_slow(frame: str, kind: str) -> None:
    text = f"the subspace of joint kind {kind!r}, of frame {frame!r}, is constant on neither side"
    warn_once(f"subspace of {kind}", f"{text}, so NumPy computes Jacobians, which is slower")


def columns_of(device: DeviceJoints, targets: tuple[int, ...], row: Array) -> DeviceColumns:
    """Return the contributions to the Jacobians of some frames.

    Args:
        device: the device whose coordinates are the columns.
        targets: indices of the frames.
        row: the attachments, one row of a state's parents.
    """
    layout = device.cell.layout
    base = layout.frame(device.base)
    twists = device.cell.cache.get("twists", device, twists_of, device)
    indices: list[tuple[int, int, int, int]] = []
    vectors: list[Array] = []
    functions: dict[int, TwistFunction] = {}
    for n, target in enumerate(targets):
        up, _, down = path_between(layout, base, target, row)
        for sign, path in ((-1.0, up), (1.0, down)):
            for frame in path:
                for twist in twists.get(frame, ()):
                    parent = parent_index(layout, frame, row)
                    axes = parent if twist.on_parent else frame
                    if twist.function is not None:
                        functions[len(indices)] = _times(sign, twist.function)
                    origin = parent if twist.at_parent else frame
                    indices.append((n, axes, origin, twist.column))
                    vectors.append(sign * twist.vector)
    return DeviceColumns(
        np.array(indices, dtype=np.int32).reshape(-1, 4),
        np.array(vectors, dtype=np.float64).reshape(-1, 6),
        functions,
    )


def _times(sign: float, twist: TwistFunction) -> TwistFunction:
    return lambda values: sign * twist(values)


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
    columns = cell.cache.get("columns", key, columns_of, device, targets, row)
    steps = fk.steps_of(cell)
    if steps is not None and not columns.functions:
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
    twists = [
        columns.functions[k](values) if k in columns.functions else vector
        for k, vector in enumerate(columns.twists)
    ]
    return _by_numpy(table, base, targets, columns.indices, twists, device.nv)


def _by_numpy(  # noqa: PLR0917 - as the C extension
    table: Array,
    base: int,
    targets: tuple[int, ...],
    indices: Array,
    twists: Sequence[Array],
    nv: int,
) -> Array:
    """Compute the same Jacobians (..., n, 6, nv) as the C extension, with NumPy."""
    J = np.zeros((*table.shape[:-3], len(targets), 6, nv))
    R_t = table[..., base, :3, :3].swapaxes(-1, -2)
    for (target, axes, origin, column), twist in zip(indices.tolist(), twists, strict=True):
        R = R_t @ table[..., axes, :3, :3]
        arm = table[..., targets[target], :3, 3] - table[..., origin, :3, 3]
        arm = (R_t @ arm[..., None])[..., 0]
        v, w = ((R @ part[..., None])[..., 0] for part in (twist[..., :3], twist[..., 3:]))
        J[..., target, :3, column] += v + np.cross(w, arm)
        J[..., target, 3:, column] += w
    return J
