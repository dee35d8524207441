"""Devices of a cell: their part of a state, bounds, poses and Jacobians.

    arm = cell.device("arm")
    state = arm.set_q(state, q)
    arm.base_H_end(state)       # (..., 4, 4)
    arm.base_J_end(state)       # (..., 6, nv)

q      (..., nq) the numbers of its joints, in its order
nu     (..., nv) their velocities, as of the joint kinds; of a movable frame the [linear; angular]
       velocity of its origin, along the axes of its parent
J      (..., 6, nv) velocity of a frame relative to the base: linear first, along the axes of the
       base, at the origin of the frame
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, ShapeError
from linkwork.spatial.source import se3
from linkwork.workcell import jacobians
from linkwork.workcell.attach import joint_batch, replaced
from linkwork.workcell.devices import DeviceSpec, MobileDevice
from linkwork.workcell.paths import carriers
from linkwork.workcell.state import State, flat_rows

if TYPE_CHECKING:
    from linkwork.kindyn import KinDyn
    from linkwork.model.pose import Pose
    from linkwork.workcell.cell import WorkCell
    from linkwork.workcell.device_model import DeviceModel
    from linkwork.workcell.ik import CellIkResult


class Device:
    """A device of a cell; `cell.device(name)` gives it."""

    def __init__(self, cell: WorkCell, spec: DeviceSpec) -> None:
        self.cell, self.spec = cell, spec
        self.name, self.base, self.end, self.ends = spec.name, spec.base, spec.end, spec.all_ends()
        frames = {frame.name: frame for frame in cell.frames}
        devices = {device.name: device for device in cell.devices}
        self.joint_names = spec.driven(frames, devices)  # frames whose numbers are q
        self._frames = [cell.layout.frame(name) for name in self.joint_names]
        sizes = [cell.layout.slots[k].size for k in self._frames]
        starts = [cell.layout.offsets[k] for k in self._frames]
        spans = [np.arange(start, start + n) for start, n in zip(starts, sizes, strict=True)]
        self._columns = np.concatenate([np.zeros(0, dtype=np.intp), *spans])
        self._norms = cell.layout.norms_in(self._columns)
        self.nq = sum(sizes)
        self.nv = sum(cell.frames[k].velocity_size for k in self._frames)

    def __repr__(self) -> str:
        kind, cell = type(self.spec).__name__, self.cell.name
        return f"<{kind} {self.name!r} of {cell!r}: {self.base!r} to {self.end!r}, nq {self.nq}>"

    def __reduce__(self) -> tuple[object, ...]:
        return bound, (self.cell, self.spec)

    # Its part of a state.

    def get_q(self, state: State) -> Array:
        """(..., nq) positions of its joints."""
        return self.cell.check_state(state).values[..., self._columns]

    def set_q(self, state: State, q: ArrayLike) -> State:
        """A state with other positions of its joints; batch axes of state and q are broadcast."""
        self.cell.check_state(state)
        return replaced(state, self._columns, self._norms, q, f"q of {self.name!r}")

    def path(self, state: State, q: ArrayLike) -> State:
        """A batch of states, one for each row of a path (N, nq)."""
        given = as_array(q, f"path of {self.name!r}")
        if given.ndim < 2:
            text = f"path of {self.name!r}: expected (N, {self.nq})"
            raise ShapeError(f"{text}, got {given.shape}")
        return self.set_q(state, given)

    # Bounds.

    @cached_property
    def lower(self) -> Array:
        """(nq,) lower bounds of q; -inf where there is none."""
        return self._bounds("lower", -inf)

    @cached_property
    def upper(self) -> Array:
        """(nq,) upper bounds of q; inf where there is none."""
        return self._bounds("upper", inf)

    @cached_property
    def velocity_limits(self) -> Array:
        """(nv,) largest speeds, either way; inf where there is none."""
        return self._largest(lambda motion: motion.limits.velocity)

    @cached_property
    def acceleration_limits(self) -> Array:
        """(nv,) largest accelerations, either way; inf where there is none."""
        return self._largest(lambda motion: motion.acceleration)

    @cached_property
    def effort_limits(self) -> Array:
        """(nv,) largest torques or forces, either way; inf where there is none."""
        return self._largest(lambda motion: motion.limits.effort)

    def in_bounds(self, q: ArrayLike | State, tolerance: float = 0.0) -> Array:
        """(...) whether q, or the device's q in a state, is within the bounds."""
        if isinstance(q, State):
            given = self.get_q(q)
        else:
            given = as_array(q, f"q of {self.name!r}", (self.nq,))
        if not tolerance >= 0:
            raise ArgumentError(f"tolerance: expected 0 or more, got {tolerance!r}")
        inside = (given >= self.lower - tolerance) & (given <= self.upper + tolerance)
        return np.asarray(inside.all(axis=-1))

    def _bounds(self, name: str, none: float) -> Array:
        found: list[float] = []
        for k in self._frames:
            frame = self.cell.frames[k]
            one = frame.motion is not None and frame.size == 1
            found += [
                getattr(frame.motion.limits, name) if one and frame.motion else none
            ] * frame.size
        return _frozen(found)

    def _largest(self, of: jacobians.OfMotion) -> Array:
        found: list[float] = []
        for k in self._frames:
            frame = self.cell.frames[k]
            found += [of(frame.motion) if frame.motion else inf] * frame.velocity_size
        return _frozen(found)

    # Kinematics.

    @cached_property
    def twists(self) -> dict[int, tuple[jacobians.Twist, ...]]:
        """What its coordinates add to velocities, by the index of the frame they move."""
        return jacobians.twists_of(self)

    @cached_property
    def kept_columns(self) -> dict[tuple[tuple[int, ...], ...], jacobians.DeviceColumns]:
        """What its Jacobians are made of, by frames and attachments."""
        return {}

    @cached_property
    def kept_robots(self) -> dict[bytes, tuple[DeviceModel, KinDyn]]:
        """Robots that inverse kinematics solves for, by where locked frames are."""
        return {}

    def ik(
        self,
        state: State,
        targets: Mapping[str, Pose | ArrayLike] | Pose | ArrayLike,
        **options: Any,
    ) -> CellIkResult:
        """States in which frames are at their targets, moved by this device.

        Args:
            state: one or a batch; where to start.
            targets: by frame, a pose or a position; or the target of its end.
            options: as of `WorkCell.ik`.
        """
        by_frame = targets if isinstance(targets, Mapping) else {self.end: targets}
        return self.cell.ik(state, by_frame, device=self.name, **options)

    def base_H_end(self, state: State) -> Array:
        """(..., 4, 4) pose of its end in its base."""
        return self.cell.frame_H_frame(self.base, self.end, state)

    def base_H_frame(self, frame: str, state: State) -> Array:
        """(..., 4, 4) pose of any frame in its base."""
        return self.cell.frame_H_frame(self.base, frame, state)

    def world_H_base(self, state: State) -> Array:
        """(..., 4, 4) pose of its base in the world."""
        return self.cell.world_H_frame(self.base, state)

    def base_J_end(self, state: State) -> Array:
        """(..., 6, nv) Jacobian of its end."""
        return self.base_J_frame(self.end, state)

    def base_J_ends(self, state: State) -> Array:
        """(..., 6 n, nv) Jacobians of all its ends, one below the other."""
        return self.base_J_frames(self.ends, state)

    def base_J_frame(self, frame: str, state: State) -> Array:
        """(..., 6, nv) Jacobian of any frame; of one that it does not move, zero."""
        return jacobians.base_J_frames(self, (frame,), state)[..., 0, :, :]

    def base_J_frames(self, frames: Sequence[str], state: State) -> Array:
        """(..., 6 n, nv) Jacobians of several frames, one below the other."""
        found = jacobians.base_J_frames(self, tuple(frames), state)
        return found.reshape(*found.shape[:-3], 6 * found.shape[-3], self.nv)


class Cart(Device):
    """A cart on two wheels that roll without slipping.

    Its Jacobians are those of motion over the ground, in the axes of the cart.
    """

    spec: MobileDevice

    def set_pose(self, state: State, pose: Pose | ArrayLike, reference: str | None = None) -> State:
        """A state in which the cart stands elsewhere; its wheels do not turn."""
        return self.cell.set_pose(state, self.base, pose, reference)

    def roll(self, state: State, turns: ArrayLike) -> State:
        """A state after the wheels have turned by (..., 2) angles [rad], both evenly.

        The cart moves along the arc of a circle in its own x-y plane.
        """
        turned = as_array(turns, "turns")
        if turned.ndim == 0 or turned.shape[-1] != 2:
            raise ShapeError(f"turns: expected (..., 2), got {turned.shape}")
        joint_batch(state.batch_shape, turned.shape[:-1], "turns")
        twist = (self._rolling() @ turned[..., None])[..., 0]
        parent_H_base = self.cell.parent_H_frame(self.base, state)
        after = self.set_q(state, self.get_q(state) + turned)
        return self.cell.set_pose(after, self.base, parent_H_base @ se3.exp(twist))

    def base_J_frame(self, frame: str, state: State) -> Array:
        """(..., 6, 2) velocity of a frame over the ground per speed of the wheels."""
        own = super().base_J_frame(frame, state)
        rolling = self._rolling()
        base_H_frame = self.base_H_frame(frame, state)
        carried = self._carries(frame, state)[..., None, None]
        arm = base_H_frame[..., :3, 3]
        spin = np.cross(rolling[3:].T, arm[..., None, :]).swapaxes(-1, -2)
        linear = rolling[:3] + spin
        ground = np.concatenate([linear, np.broadcast_to(rolling[3:], linear.shape)], axis=-2)
        return own + ground * carried

    def base_J_frames(self, frames: tuple[str, ...] | list[str], state: State) -> Array:  # type: ignore[override]
        """(..., 6 n, 2) Jacobians of several frames, one below the other."""
        return np.concatenate([self.base_J_frame(frame, state) for frame in frames], axis=-2)

    def _carries(self, frame: str, state: State) -> Array:
        """(...) whether the cart carries a frame."""
        layout = self.cell.layout
        cart, index = layout.frame(self.base), layout.frame(frame)
        trees, which = np.unique(flat_rows(state.parents), axis=0, return_inverse=True)
        carried = [cart == index or cart in carriers(layout, index, row) for row in trees]
        return np.array(carried, dtype=bool)[which].reshape(state.batch_shape)

    def _rolling(self) -> Array:
        """(6, 2) velocity of the cart per speed of the left and the right wheel."""
        r, track = self.spec.radius, self.spec.track
        return np.array([[r / 2, r / 2], *[[0.0, 0.0]] * 4, [-r / track, r / track]])


def bound(cell: WorkCell, spec: DeviceSpec) -> Device:
    """A device bound to its cell."""
    return Cart(cell, spec) if isinstance(spec, MobileDevice) else Device(cell, spec)


def _frozen(numbers: Sequence[float]) -> Array:
    array = np.array(numbers, dtype=np.float64)
    array.flags.writeable = False
    return array
