"""Forward kinematics: world poses of all or some frames, for a state or a batch of states.

The C extension computes them from the arrays of `steps`. Nothing is compiled for a cell, so new
structures and attachments take no extra time. Without the extension, NumPy computes the poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.kernel.arguments import thread_number
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, StateError, warn_once
from linkwork.spatial.source import se3
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.structure import (
    frames_from,
    local_pose,
    one_row,
    parent_index,
    parent_name,
    path_between,
    walk,
)
from linkwork.workcell.state.state import State, equal_rows, flat_rows

Steps: TypeAlias = Any  # `Poses` of the C extension; None if NumPy computes the poses
_IN_WORLD = -1  # the reference frame of world poses

_WARNING = (
    "the C extension of linkwork is missing or outdated, so NumPy computes the poses of workcells,"
    " which is 100 times slower; install a wheel, or a C compiler and linkwork again"
)


class FKTable:
    """World poses of all frames in a state or a batch of states.

    table["box"]             (..., 4, 4) pose of a frame in the world
    table.world_H_frames     (..., frames, 4, 4) all poses, in the order of `cell.frame_names`

    The arrays are read-only, unless they were passed as `out`.
    """

    __slots__ = ("_written", "cell", "state", "world_H_frames")

    def __init__(
        self,
        cell: CellData,
        state: State,
        *,
        threads: int | None = None,
        out: Array | FKTable | None = None,
    ) -> None:
        """Compute the poses.

        Args:
            cell: the workcell.
            state: a state or a batch of states.
            threads: the maximum number of threads for a large batch; default the number of cores.
            out: array (..., frames, 4, 4) for the result, or a table that is no longer needed,
                whose memory is reused; default a new array.
        """
        self.cell, self.state = cell, cell.check_state(state)
        buffer = out._written if isinstance(out, FKTable) else out
        if buffer is not None:
            _check_out(buffer, (*state.batch_shape, len(cell.frames), 4, 4))
        self._written = poses_of(cell, state, None, out=buffer, threads=threads)
        self.world_H_frames = self._written
        if buffer is None or isinstance(out, FKTable):
            self.world_H_frames = self._written.view()
            self.world_H_frames.flags.writeable = False

    def __getitem__(self, frame: str) -> Array:
        """Compute the pose of a frame in the world, (..., 4, 4)."""
        return self.world_H_frames[..., self.cell.layout.frame(frame), :, :]

    def __repr__(self) -> str:
        return f"<FKTable of {self.cell.name!r}: {self.world_H_frames.shape[:-2]} poses>"

    def frame_H_frame(self, a: str, b: str) -> Array:
        """Compute the pose a_H_b of frame b in frame a, (..., 4, 4)."""
        return se3.inverse(self[a]) @ self[b]


def world_H_frames(cell: CellData, frames: Sequence[str], state: State) -> Array:
    """Compute poses of some frames in the world, (..., n, 4, 4)."""
    return _some_poses(cell, frames, state, _IN_WORLD)


def frame_H_frame(cell: CellData, a: str, b: str, state: State) -> Array:
    """Compute the pose a_H_b, (..., 4, 4)."""
    return _some_poses(cell, (b,), state, cell.layout.frame(a))[..., 0, :, :]


def parent_H_frame(cell: CellData, frame: str, state: State) -> Array:
    """Compute the pose of a frame in its parent, (..., 4, 4)."""
    index = cell.layout.frame(frame)
    return local_pose(cell, index, cell.check_state(state).values)


def _some_poses(cell: CellData, frames: Sequence[str], state: State, reference: int) -> Array:
    indices = [cell.layout.frame(name) for name in frames]
    cell.check_state(state)
    frame_indices = list(dict.fromkeys(indices))  # without duplicates
    poses = poses_of(cell, state, np.array(frame_indices, dtype=np.int32), reference)
    if len(frame_indices) == len(indices):
        return poses
    return poses[..., [frame_indices.index(k) for k in indices], :, :]


def poses_of(
    cell: CellData,
    state: State,
    frame_indices: Array | None,
    reference: int = _IN_WORLD,
    *,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """Compute poses (..., n, 4, 4) of frames by unique indices; None for all in the world."""
    steps = steps_of(cell)
    if threads is not None:
        threads = thread_number(threads)
    if steps is None:
        return _by_numpy(cell, state, frame_indices, reference, out)
    values, parents = state.values, state.parents
    if not values.flags.c_contiguous and any(values.strides[:-1]):
        values = np.ascontiguousarray(values)
    if not parents.flags.c_contiguous and any(parents.strides[:-1]):
        parents = np.ascontiguousarray(parents)
    batch = values.shape[:-1]
    if len(batch) <= steps.MOST_AXES:
        return steps.run(values, parents, frame_indices, reference, out, threads)
    buffer = None if out is None else out.reshape(-1, *out.shape[-3:])  # a view, because of C order
    rows = flat_rows(values), flat_rows(parents)
    poses = steps.run(*rows, frame_indices, reference, buffer, threads)
    return in_batch(poses, batch) if out is None else out


def in_batch(array: Array, batch: tuple[int, ...]) -> Array:
    """Reshape (rows, ...) to (*batch, ...)."""
    try:
        return array.reshape(*batch, *array.shape[1:])
    except ValueError:
        text = f"the state has {len(batch)} batch axes; poses and Jacobians have 3 more"
        raise ShapeError(f"{text}, which exceeds the limit of NumPy") from None


def steps_of(cell: CellData) -> Steps:
    """Return the steps of a cell for the C extension; None if NumPy must compute the poses."""
    return cell.cache.get("steps", None, _build_steps, cell)


def _build_steps(cell: CellData) -> Steps:
    poses: Any = _extension()
    if poses is None:
        return None
    from linkwork.workcell.kinematics.steps import NoFactorsError, StepBuilder

    try:
        return poses(*StepBuilder(cell).arrays())
    except NoFactorsError as error:
        frame, kind = error.args
        text = f"joint kind {kind!r}, of frame {frame!r}, declares no factors"
        warn_once(
            f"factors of {kind}",
            f"{text}, so NumPy computes the poses of this workcell, which is 100 times slower;"
            " implement the method `factors` of the kind",
        )
        return None


def _extension() -> Any:
    try:
        return import_module("linkwork.workcell._poses").Poses
    except ImportError:
        warn_once("poses", _WARNING)
        return None


def _by_numpy(
    cell: CellData, state: State, frame_indices: Array | None, reference: int, out: Array | None
) -> Array:
    poses = all_poses(cell, state)
    if frame_indices is not None:
        reference_H_world = se3.inverse(poses[..., max(reference, 0), :, :])
        poses = reference_H_world[..., None, :, :] @ poses[..., frame_indices, :, :]
    if out is None:
        return poses
    out[...] = poses
    return out


def all_poses(cell: CellData, state: State) -> Array:
    """Compute the world poses (..., frames, 4, 4) of all frames with NumPy."""
    layout, values, parents = cell.layout, flat_rows(state.values), flat_rows(state.parents)
    world = np.empty((len(values), len(layout.slots), 4, 4))
    world[:, 0] = np.eye(4)
    for rows in equal_rows(parents):
        row = parents[rows[0]]
        for k, _ in frames_from(layout, row, 0)[1:]:
            of_parent = world[rows, parent_index(layout, k, row)]
            world[rows, k] = of_parent @ local_pose(cell, k, values[rows])
    return in_batch(world, state.batch_shape)


class FKRange:
    """The path between two frames; calling it with a state returns a_H_b.

    States with other attachments on the path are rejected.
    """

    def __init__(self, cell: CellData, a: str, b: str, state: State) -> None:
        layout, row = cell.layout, one_row(cell, state)
        up, common, down = path_between(layout, layout.frame(a), layout.frame(b), row)
        frames = [k for k in (*up, *down) if layout.slots[k].attachable]
        self.cell, self.a, self.b = cell, a, b
        self.frames = tuple(cell.frame_names[k] for k in (*up, common, *down))
        self.attachments = {cell.frame_names[k]: parent_name(cell, k, row) for k in frames}
        self._columns = [layout.columns[k] for k in frames]
        self._parents = row[self._columns]

    def __repr__(self) -> str:
        return (
            f"<FKRange {self.a!r} to {self.b!r} of {self.cell.name!r}: {len(self.frames)} frames>"
        )

    def __call__(self, state: State) -> Array:
        """Compute the pose a_H_b (..., 4, 4) in a state with the same attachments on the path."""
        self.cell.check_state(state)
        parents = state.parents[..., self._columns]
        if self._columns and (parents != self._parents).any():
            flat = parents.reshape(-1, len(self._columns))
            k = int(np.argwhere((flat != self._parents).any(axis=0))[0][0])
            other = flat[flat[:, k] != self._parents[k], k][0]
            name = list(self.attachments)[k]
            message = (
                f"frame {name!r} is attached to {self.cell.frame_names[other]!r} in this state"
            )
            message += f", but to {self.attachments[name]!r} on this path"
            raise StateError(f"{message}; call cell.fk_range for this state")
        return frame_H_frame(self.cell, self.a, self.b, state)


def tree_text(cell: CellData, state: State, root: str) -> str:
    """Return one line per frame, indented by its depth, with its position in the world."""
    if cell.check_state(state).batch_shape:
        raise ArgumentError("state: expected a single state, such as state[0], got a batch")
    table = FKTable(cell, state).world_H_frames
    lines: list[str] = []
    for k, depth in walk(cell, state, cell.layout.frame(root)):
        position = ", ".join(f"{entry:.6g}" for entry in (table[k, :3, 3] + 0.0).tolist())
        lines.append(f"{' ' * depth}{cell.frame_names[k]} at ({position})")
    return "\n".join(lines)


def _check_out(out: Array, shape: tuple[int, ...]) -> None:
    if not isinstance(out, np.ndarray) or out.dtype != np.float64:
        kind = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
        raise ArgumentError(f"out: expected an array of float64, got {kind}")
    if out.shape != shape:
        raise ShapeError(f"out: expected {shape}, got {out.shape}")
    if not (out.flags.c_contiguous and out.flags.writeable and out.flags.aligned):
        raise ArgumentError("out: expected a writeable, aligned array in C order")
