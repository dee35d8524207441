"""Forward kinematics: world poses of all frames or some, of one state or a batch.

The C extension computes them by `steps`, without anything compiled for the cell: a structure or an
attachment that was never seen before costs nothing. Where there is no extension, NumPy computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from linkwork.engine.kernel.arguments import thread_number
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, warn_once
from linkwork.spatial.source import se3
from linkwork.workcell.parts import local_pose
from linkwork.workcell.state import State, flat_rows

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell

Steps: TypeAlias = Any  # `Poses` of the C extension; None where NumPy computes
_IN_WORLD = -1  # the reference frame of world poses

_WARNING = (
    "linkwork was installed without its C extension, or with an older one, so NumPy computes the"
    " poses of workcells, 100 times slower; install a C compiler and linkwork again, or a wheel"
)


class FKTable:
    """World poses of all frames in one state or a batch of them, computed once.

    table["box"]             (..., 4, 4) pose of a frame in the world
    table.world_H_frames     (..., frames, 4, 4) all of them, in the order of `cell.frame_names`

    The arrays are read-only, unless they were given as `out`.
    """

    __slots__ = ("_written", "cell", "state", "world_H_frames")

    def __init__(
        self,
        cell: WorkCell,
        state: State,
        *,
        threads: int | None = None,
        out: Array | FKTable | None = None,
    ) -> None:
        """Compute the poses.

        Args:
            cell: the workcell.
            state: one or a batch.
            threads: the most to use for a large batch; as many as there are cores if not given.
            out: (..., frames, 4, 4) to write to, or a table that is not needed any more, whose
                memory is used again; a new array if not given.
        """
        self.cell, self.state = cell, cell.check_state(state)
        given = out._written if isinstance(out, FKTable) else out
        if given is not None:
            _check_out(given, (*state.batch_shape, len(cell.frames), 4, 4))
        self._written = poses_of(cell, state, None, out=given, threads=threads)
        self.world_H_frames = self._written
        if given is None or isinstance(out, FKTable):
            self.world_H_frames = self._written.view()
            self.world_H_frames.flags.writeable = False

    def __getitem__(self, frame: str) -> Array:
        """(..., 4, 4) pose of a frame in the world."""
        return self.world_H_frames[..., self.cell.layout.frame(frame), :, :]

    def __repr__(self) -> str:
        return f"<FKTable of {self.cell.name!r}: {self.world_H_frames.shape[:-2]} poses>"

    def frame_H_frame(self, a: str, b: str) -> Array:
        """(..., 4, 4) pose a_H_b of frame b in frame a."""
        return se3.inverse(self[a]) @ self[b]


def world_H_frames(cell: WorkCell, frames: Sequence[str], state: State) -> Array:
    """(..., n, 4, 4) poses of some frames in the world."""
    return _some_poses(cell, frames, state, _IN_WORLD)


def frame_H_frame(cell: WorkCell, a: str, b: str, state: State) -> Array:
    """(..., 4, 4) pose a_H_b."""
    return _some_poses(cell, (b,), state, cell.layout.frame(a))[..., 0, :, :]


def parent_H_frame(cell: WorkCell, frame: str, state: State) -> Array:
    """(..., 4, 4) pose of a frame on the frame that it sits on."""
    index = cell.layout.frame(frame)
    return local_pose(cell, index, cell.check_state(state).values)


def _some_poses(cell: WorkCell, frames: Sequence[str], state: State, reference: int) -> Array:
    indices = [cell.layout.frame(name) for name in frames]
    cell.check_state(state)
    wanted = list(dict.fromkeys(indices))  # each once
    found = poses_of(cell, state, np.array(wanted, dtype=np.int32), reference)
    if len(wanted) == len(indices):
        return found
    return found[..., [wanted.index(k) for k in indices], :, :]


def poses_of(
    cell: WorkCell,
    state: State,
    wanted: Array | None,
    reference: int = _IN_WORLD,
    *,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """(..., n, 4, 4) poses of frames by index, each at most once; of all in the world if None."""
    steps = cell.steps
    if threads is not None:
        threads = thread_number(threads)
    if steps is None:
        return _by_numpy(cell, state, wanted, reference, out)
    values, parents = state.values, state.parents
    if not values.flags.c_contiguous and any(values.strides[:-1]):
        values = np.ascontiguousarray(values)
    if not parents.flags.c_contiguous and any(parents.strides[:-1]):
        parents = np.ascontiguousarray(parents)
    batch = values.shape[:-1]
    if len(batch) <= steps.MOST_AXES:
        return steps.run(values, parents, wanted, reference, out, threads)
    n = len(cell.frames) if wanted is None else len(wanted)
    given = None if out is None else out.reshape(-1, n, 4, 4)  # a view: it is in C order
    found = steps.run(flat_rows(values), flat_rows(parents), wanted, reference, given, threads)
    return in_batch(found, batch) if out is None else out


def in_batch(array: Array, batch: tuple[int, ...]) -> Array:
    """(rows, ...) as (*batch, ...)."""
    try:
        return array.reshape(*batch, *array.shape[1:])
    except ValueError:
        text = f"states with {len(batch)} batch axes: poses and Jacobians have 3 more"
        raise ShapeError(f"{text}, which are more than NumPy's arrays can have") from None


def steps_of(cell: WorkCell) -> Steps:
    """What the C extension computes the poses of a cell with; None if NumPy has to."""
    poses: Any = _extension()
    if poses is None:
        return None
    from linkwork.workcell.steps import NoFactorsError, StepBuilder

    try:
        return poses(*StepBuilder(cell).arrays())
    except NoFactorsError as error:
        frame, kind = error.args
        text = f"joint kind {kind!r}, of frame {frame!r}, declares no factors"
        warn_once(
            f"factors of {kind}",
            f"{text}, so NumPy computes the poses of this workcell, 100 times slower;"
            " write the method `factors` of the kind",
        )
        return None


def _extension() -> Any:
    try:
        return import_module("linkwork.workcell._poses").Poses
    except ImportError:
        warn_once("poses", _WARNING)
        return None


def _by_numpy(
    cell: WorkCell, state: State, wanted: Array | None, reference: int, out: Array | None
) -> Array:
    found = all_poses(cell, state)
    if wanted is not None:
        reference_H_world = se3.inverse(found[..., max(reference, 0), :, :])
        found = reference_H_world[..., None, :, :] @ found[..., wanted, :, :]
    if out is None:
        return found
    out[...] = found
    return out


def all_poses(cell: WorkCell, state: State) -> Array:
    """(..., frames, 4, 4) world poses by NumPy."""
    layout = cell.layout
    n, values = len(layout.slots), flat_rows(state.values)
    local = np.empty((len(values), n, 4, 4))
    for k in range(n):
        local[:, k] = local_pose(cell, k, values)
    above = np.tile(np.array([slot.parent for slot in layout.slots]), (len(values), 1))
    if layout.attachable:
        above[:, list(layout.attachable)] = flat_rows(state.parents)
    world = np.empty_like(local)
    done = np.zeros((len(values), n), dtype=bool)
    world[:, 0], done[:, 0] = np.eye(4), True
    rows = np.arange(len(values))
    while not done.all():
        for k in range(1, n):
            ready = ~done[:, k] & done[rows, above[:, k]]
            if ready.any():
                world[ready, k] = world[rows[ready], above[ready, k]] @ local[ready, k]
                done[ready, k] = True
    return in_batch(world, state.batch_shape)


def _check_out(out: Array, shape: tuple[int, ...]) -> None:
    if not isinstance(out, np.ndarray) or out.dtype != np.float64:
        kind = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
        raise ArgumentError(f"out: expected an array of float64, got {kind}")
    if out.shape != shape:
        raise ShapeError(f"out: expected {shape}, got {out.shape}")
    if not (out.flags.c_contiguous and out.flags.writeable and out.flags.aligned):
        raise ArgumentError("out: expected an array in C order that can be written to")
