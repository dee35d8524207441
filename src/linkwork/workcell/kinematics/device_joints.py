"""The joints of a device: their coordinates in a state of the cell, and their limits.

q      (..., nq) positions of its joints, in its order
nu     (..., nv) their velocities, as defined by the joint kinds; for a movable frame the [linear;
       angular] velocity of its origin, in the axes of its parent
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, ShapeError, name_not_found
from linkwork.model.layout import read_only
from linkwork.spatial.source import se3
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.devices import DeviceSpec, RobotDevice
from linkwork.workcell.cell.frames import Motion
from linkwork.workcell.kinematics import fk
from linkwork.workcell.kinematics.state_changes import replaced
from linkwork.workcell.state.state import State


class DeviceJoints:
    """The joints of a device, as columns of the states of a cell."""

    def __init__(self, cell: CellData, spec: DeviceSpec) -> None:
        self.cell, self.spec = cell, spec
        self.name, self.base, self.end, self.ends = spec.name, spec.base, spec.end, spec.all_ends()
        frames = {frame.name: frame for frame in cell.frames}
        self.joint_names = spec.driven(frames, cell.device_specs)  # frames whose values are q
        self._frames = [cell.layout.frame(name) for name in self.joint_names]
        sizes = [cell.layout.slots[k].size for k in self._frames]
        starts = [cell.layout.offsets[k] for k in self._frames]
        spans = [np.arange(start, start + n) for start, n in zip(starts, sizes, strict=True)]
        self.columns = np.concatenate([np.zeros(0, dtype=np.intp), *spans])  # of q in state values
        self._norms = cell.layout.norms_in(self.columns)
        self.nq = sum(sizes)
        self.nv = sum(cell.frames[k].velocity_size for k in self._frames)

    def __repr__(self) -> str:
        kind, cell = type(self.spec).__name__, self.cell.name
        return f"<{kind} {self.name!r} of {cell!r}: {self.base!r} to {self.end!r}, nq {self.nq}>"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.cell, self.spec)

    # Coordinates in a state.

    def get_q(self, state: State) -> Array:
        """Return the positions of its joints, (..., nq)."""
        return self.cell.check_state(state).values[..., self.columns]

    def set_q(self, state: State, q: ArrayLike) -> State:
        """Return the state with other positions of its joints; batch axes are broadcast."""
        self.cell.check_state(state)
        return replaced(state, self.columns, self._norms, q, f"q of {self.name!r}")

    def path(self, state: State, q: ArrayLike) -> State:
        """Return a batch of states, one for each row of a path (N, nq)."""
        array = as_array(q, f"path of {self.name!r}")
        if array.ndim < 2:
            message = f"path of {self.name!r}: expected (N, {self.nq})"
            raise ShapeError(f"{message}, got {array.shape}")
        return self.set_q(state, array)

    # Bounds.

    @cached_property
    def lower(self) -> Array:
        """(nq,) lower bounds of q; -inf for unbounded entries."""
        return self._bounds("lower", -inf)

    @cached_property
    def upper(self) -> Array:
        """(nq,) upper bounds of q; inf for unbounded entries."""
        return self._bounds("upper", inf)

    @cached_property
    def velocity_limits(self) -> Array:
        """(nv,) limits of the magnitude of velocities; inf if there is none."""
        return self._magnitude_limits(lambda motion: motion.limits.velocity)

    @cached_property
    def acceleration_limits(self) -> Array:
        """(nv,) limits of the magnitude of accelerations; inf if there is none."""
        return self._magnitude_limits(lambda motion: motion.acceleration)

    @cached_property
    def effort_limits(self) -> Array:
        """(nv,) limits of the magnitude of torques or forces; inf if there is none."""
        return self._magnitude_limits(lambda motion: motion.limits.effort)

    def in_bounds(self, q: ArrayLike | State, tolerance: float = 0.0) -> Array:
        """Return whether q, or the device's q in a state, is within the bounds, (...)."""
        if isinstance(q, State):
            positions = self.get_q(q)
        else:
            positions = as_array(q, f"q of {self.name!r}", (self.nq,))
        if not tolerance >= 0:
            raise ArgumentError(f"tolerance: expected a number >= 0, got {tolerance!r}")
        inside = (positions >= self.lower - tolerance) & (positions <= self.upper + tolerance)
        return np.asarray(inside.all(axis=-1))

    def _bounds(self, name: str, default: float) -> Array:
        bounds: list[float] = []
        for k in self._frames:
            frame = self.cell.frames[k]
            if frame.motion and frame.size == 1:
                bounds.append(getattr(frame.motion.limits, name))
            else:
                bounds += [default] * frame.size
        return read_only(bounds)

    def _magnitude_limits(self, limit: Callable[[Motion], float]) -> Array:
        limits: list[float] = []
        for k in self._frames:
            frame = self.cell.frames[k]
            limits += [limit(frame.motion) if frame.motion else inf] * frame.velocity_size
        return read_only(limits)

    # The robot model of the device.

    def world_H_model(self, state: State) -> Array:
        """Compute the pose of the frame in which its robot model has its coordinates, (..., 4, 4).

        This is its base; for an attachable floating base, the parent of that in the state.
        """
        if not self.has_attachable_root:
            return fk.world_H_frames(self.cell, (self.base,), state)[..., 0, :, :]
        root = self.joint_names[0]
        parent_H_root = fk.parent_H_frame(self.cell, root, state)
        world_H_root = fk.world_H_frames(self.cell, (root,), state)[..., 0, :, :]
        return world_H_root @ se3.inverse(parent_H_root)

    @property
    def has_attachable_root(self) -> bool:
        """Whether it is a robot with a floating base that can be attached to other frames."""
        spec = self.spec
        is_floating = isinstance(spec, RobotDevice) and spec.floating
        return is_floating and self.cell.frame(self.joint_names[0]).attachable


def spec_of(cell: CellData, name: str) -> DeviceSpec:
    """Return the description of the device with a name."""
    spec = cell.device_specs.get(name) if isinstance(name, str) else None
    if spec is None:
        raise name_not_found("device", name, cell.device_names)
    return spec
