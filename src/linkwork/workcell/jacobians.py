"""Jacobians of frames by the coordinates of a device.

The velocity of a frame relative to the base is the sum of what the coordinates between them add:
those that carry the frame count forwards, those that carry the base backwards. Each adds a twist
that is constant in the axes of a frame of the cell, at the origin of one, so world poses are all
that is needed besides:

    a joint           on the side that its kind declares in `subspace_sides`: in the frame that it
                      moves, or in the frame before it; the other way round if read backwards
    a movable frame   along the axes of its parent, at its own origin
    a dependent joint as a joint, times its factor, in the column of the joint it depends on

Twists are found once for a device, columns once for a frame and a tree; the C extension does the
rest. The twists of a kind whose subspace is constant on neither side are computed for each state,
and NumPy does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import warn_once
from linkwork.spatial.blocks import scalars
from linkwork.spatial.source import motion, se3
from linkwork.workcell import fk
from linkwork.workcell.parts import Motion, leader_of
from linkwork.workcell.paths import (
    attachments_above,
    attachments_of,
    parent_index,
    path_between,
)
from linkwork.workcell.state import State, flat_rows

if TYPE_CHECKING:
    from linkwork.workcell.device import Device

OfMotion: TypeAlias = Callable[[Motion], float]
MOST_KEPT = 256  # frames and trees of which the columns of a device are kept


TwistAt: TypeAlias = Callable[[Array], Array]
"""The twist (..., 6) of a coordinate in states with the numbers (..., n_values)."""


@dataclass(frozen=True)
class Twist:
    """What one coordinate adds to the velocity of what it carries."""

    column: int  # of the Jacobian
    on_parent: bool  # whether its axes are those of the frame's parent
    at_parent: bool  # whether it is at the origin of the parent
    numbers: Array  # (6,) linear and angular
    at: TwistAt | None = None  # instead of the numbers, if they depend on the state


@dataclass(frozen=True)
class DeviceColumns:
    """What the Jacobians of some frames are made of, for one tree."""

    places: Array  # (m, 4) target, axes, origin and column
    twists: Array  # (m, 6)
    at: dict[int, TwistAt]  # by row: twists that depend on the state


def twists_of(device: Device) -> dict[int, tuple[Twist, ...]]:
    """The twists of all frames that a device moves on their parents, by index."""
    cell = device.cell
    columns: dict[int, int] = {}
    at = 0
    for name in device.joint_names:
        k = cell.layout.frame(name)
        columns[k] = at
        at += cell.frames[k].velocity_size
    found: dict[int, tuple[Twist, ...]] = {}
    for k, frame in enumerate(cell.frames):
        if frame.movable and k in columns:
            axes = enumerate(np.eye(6))
            found[k] = tuple(Twist(columns[k] + i, True, False, numbers) for i, numbers in axes)
        elif frame.motion:
            leader, factor, _ = leader_of(cell, frame)
            if leader in columns:
                found[k] = tuple(_joint_twists(device, k, columns[leader], factor))
    return found


def _joint_twists(device: Device, index: int, column: int, factor: float) -> Iterator[Twist]:
    """The twists of a joint frame, from the formulas of its kind."""
    frame = device.cell.frames[index]
    motion_ = frame.motion
    assert motion_
    kind = motion_.motion_kind
    parent_X_joint = motion.motion_transform(frame.parent_H_frame.matrix())
    frame_X_joint = motion.motion_transform(se3.inverse(motion_.joint_H_frame.matrix()))
    sides = kind.subspace_sides()
    if sides is None:
        _warn_of_numpy(frame.name, kind.name)
    S = _subspace(motion_, np.array(kind.neutral))
    for k, side in enumerate(sides or ("moving",) * kind.nv):
        on_parent = (side == "fixed") != motion_.backwards
        X = parent_X_joint if on_parent else frame_X_joint
        signed = (-factor if motion_.backwards else factor) * X
        at = None if sides else _twist_at(device, index, k, signed)
        yield Twist(column + k, on_parent, on_parent, signed @ S[k], at)


def _twist_at(device: Device, index: int, k: int, X: Array) -> TwistAt:
    """The k-th twist of a joint frame as a function of the numbers of states."""
    cell, motion_ = device.cell, device.cell.frames[index].motion
    assert motion_
    leader, factor, offset = leader_of(cell, cell.frames[index])
    span = cell.layout.span(leader)

    def twist(values: Array) -> Array:
        S = _subspace(motion_, factor * values[..., span] + offset)
        return (X @ S[..., k, :, None])[..., 0]

    return twist


def _subspace(motion_: Motion, theta: Array) -> Array:
    """(..., nv, 6) the columns of S at positions (..., nq)."""
    columns = motion_.motion_kind.subspace(motion_.constants, scalars(theta))
    S = np.empty((*theta.shape[:-1], len(columns), 6))
    for k, (v, w) in enumerate(columns):
        for i, number in enumerate((*v, *w)):
            S[..., k, i] = number
    return S


def _warn_of_numpy(frame: str, kind: str) -> None:
    text = f"the subspace of joint kind {kind!r}, of frame {frame!r}, is constant on neither side"
    warn_once(f"subspace of {kind}", f"{text}, so NumPy computes Jacobians, which is slower")


def columns_of(device: Device, targets: tuple[int, ...], row: Array) -> DeviceColumns:
    """What the Jacobians of some frames are made of.

    Args:
        device: whose coordinates they are.
        targets: indices of the frames.
        row: the attachments, one row of a state's parents.
    """
    layout = device.cell.layout
    base = layout.frame(device.base)
    places: list[tuple[int, int, int, int]] = []
    numbers: list[Array] = []
    at: dict[int, TwistAt] = {}
    for n, target in enumerate(targets):
        up, _, down = path_between(layout, base, target, row)
        for sign, path in ((-1.0, up), (1.0, down)):
            for frame in path:
                for twist in device.twists.get(frame, ()):
                    parent = parent_index(layout, frame, row)
                    axes = parent if twist.on_parent else frame
                    if twist.at is not None:
                        at[len(places)] = _times(sign, twist.at)
                    places.append((n, axes, parent if twist.at_parent else frame, twist.column))
                    numbers.append(sign * twist.numbers)
    return DeviceColumns(
        np.array(places, dtype=np.int32).reshape(-1, 4),
        np.array(numbers, dtype=np.float64).reshape(-1, 6),
        at,
    )


def _times(sign: float, twist: TwistAt) -> TwistAt:
    return lambda values: sign * twist(values)


def base_J_frames(device: Device, frames: tuple[str, ...], state: State) -> Array:
    """(..., n, 6, nv) Jacobians of some frames."""
    cell = device.cell
    targets = tuple(cell.layout.frame(name) for name in frames)
    batch, parents = cell.check_state(state).batch_shape, state.parents
    if not any(parents.strides[:-1]) and prod(batch):
        return _of_one_tree(device, targets, state.values, parents[(0,) * len(batch)])
    J = np.zeros((prod(batch), len(targets), 6, device.nv))
    values, trees = flat_rows(state.values), flat_rows(parents)
    ends = cell.layout.frame(device.base), *targets
    above = [attachments_above(cell.layout, frame, trees) for frame in ends]
    paths = np.concatenate(above, axis=-1)
    if not paths.shape[-1] or (paths == paths[:1]).all():
        if len(trees):
            J = _of_one_tree(device, targets, values, trees[0])
    else:
        _, first, which = np.unique(paths, axis=0, return_index=True, return_inverse=True)
        for number, row in enumerate(trees[first]):
            rows = np.flatnonzero(which.reshape(-1) == number)
            J[rows] = _of_one_tree(device, targets, values[rows], row)
    return fk.in_batch(J, batch)


def _of_one_tree(device: Device, targets: tuple[int, ...], values: Array, row: Array) -> Array:
    """(..., n, 6, nv) of states with the same attachments between the base and the frames."""
    cell = device.cell
    base = cell.layout.frame(device.base)
    row = np.ascontiguousarray(row)
    key = targets, *(attachments_of(cell.layout, frame, row) for frame in (base, *targets))
    kept = device.kept_columns
    found = kept.get(key)
    if found is None:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        found = kept[key] = columns_of(device, targets, row)
    steps = cell.steps
    if steps is not None and not found.at:
        wanted = np.array(targets, dtype=np.int32)
        values, batch = np.ascontiguousarray(values), values.shape[:-1]
        if len(batch) > steps.MOST_AXES:
            values = flat_rows(values)
        J = steps.jacobians(values, row, base, wanted, found.places, found.twists, device.nv, None)
        return J if len(batch) <= steps.MOST_AXES else fk.in_batch(J, batch)
    shared = np.broadcast_to(row, (*values.shape[:-1], len(row)))
    table = fk.poses_of(cell, State.trusted(cell.layout, values, shared), None)
    twists = [found.at[k](values) if k in found.at else x for k, x in enumerate(found.twists)]
    return _by_numpy(table, base, targets, found.places, twists, device.nv)


def _by_numpy(  # noqa: PLR0917 - as the C extension
    table: Array,
    base: int,
    targets: tuple[int, ...],
    places: Array,
    twists: Sequence[Array],
    nv: int,
) -> Array:
    """(..., n, 6, nv) as the C extension computes it."""
    J = np.zeros((*table.shape[:-3], len(targets), 6, nv))
    R_t = table[..., base, :3, :3].swapaxes(-1, -2)
    for (target, axes, origin, column), twist in zip(places.tolist(), twists, strict=True):
        R = R_t @ table[..., axes, :3, :3]
        arm = table[..., targets[target], :3, 3] - table[..., origin, :3, 3]
        arm = (R_t @ arm[..., None])[..., 0]
        v, w = ((R @ part[..., None])[..., 0] for part in (twist[..., :3], twist[..., 3:]))
        J[..., target, :3, column] += v + np.cross(w, arm)
        J[..., target, 3:, column] += w
    return J
