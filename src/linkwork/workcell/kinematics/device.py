"""Devices of a cell: their coordinates in a state, bounds, poses and Jacobians.

    arm = cell.device("arm")
    state = arm.set_q(state, q)
    arm.base_H_end(state)       # (..., 4, 4)
    arm.base_J_end(state)       # (..., 6, nv)

q      (..., nq) positions of its joints, in its order
nu     (..., nv) their velocities, as defined by the joint kinds; for a movable frame the [linear;
       angular] velocity of its origin, in the axes of its parent
J      (..., 6, nv) Jacobian of the [linear; angular] velocity of a frame relative to the base: at
       the origin of the frame, in the axes of the base
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
from linkwork.workcell.cell.devices import DeviceSpec, MobileDevice, RobotDevice
from linkwork.workcell.kinematics import jacobians
from linkwork.workcell.kinematics.attach import joint_batch, replaced
from linkwork.workcell.state.paths import carriers
from linkwork.workcell.state.state import State, flat_rows

if TYPE_CHECKING:
    from linkwork.kindyn import KinDyn
    from linkwork.model.pose import Pose
    from linkwork.workcell.kinematics.device_model import DeviceModel
    from linkwork.workcell.kinematics.ik import CellIkResult
    from linkwork.workcell.workcell import WorkCell


class Device:
    """A device of a cell; `cell.device(name)` returns it."""

    def __init__(self, cell: WorkCell, spec: DeviceSpec) -> None:
        self.cell, self.spec = cell, spec
        self.name, self.base, self.end, self.ends = spec.name, spec.base, spec.end, spec.all_ends()
        frames = {frame.name: frame for frame in cell.frames}
        devices = {device.name: device for device in cell.devices}
        self.joint_names = spec.driven(frames, devices)  # frames whose values are q
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
        return bind_device, (self.cell, self.spec)

    # Coordinates in a state.

    def get_q(self, state: State) -> Array:
        """(..., nq) positions of its joints."""
        return self.cell.check_state(state).values[..., self._columns]

    def set_q(self, state: State, q: ArrayLike) -> State:
        """The state with other positions of its joints; batch axes are broadcast."""
        self.cell.check_state(state)
        return replaced(state, self._columns, self._norms, q, f"q of {self.name!r}")

    def path(self, state: State, q: ArrayLike) -> State:
        """A batch of states, one for each row of a path (N, nq)."""
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
        """(...) whether q, or the device's q in a state, is within the bounds."""
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
        return _read_only(bounds)

    def _magnitude_limits(self, limit: jacobians.MotionLimit) -> Array:
        limits: list[float] = []
        for k in self._frames:
            frame = self.cell.frames[k]
            limits += [limit(frame.motion) if frame.motion else inf] * frame.velocity_size
        return _read_only(limits)

    # Kinematics.

    @cached_property
    def twists(self) -> dict[int, tuple[jacobians.Twist, ...]]:
        """The twists of its coordinates, by the index of the frame that they move."""
        return jacobians.twists_of(self)

    @cached_property
    def column_cache(self) -> dict[tuple[tuple[int, ...], ...], jacobians.DeviceColumns]:
        """Columns of its Jacobians, by frames and attachments."""
        return {}

    @cached_property
    def robot_cache(self) -> dict[bytes, tuple[DeviceModel, KinDyn]]:
        """Robots for inverse kinematics, by the poses of locked frames."""
        return {}

    def ik(
        self,
        state: State,
        targets: Mapping[str, Pose | ArrayLike] | Pose | ArrayLike,
        **options: Any,
    ) -> CellIkResult:
        """Compute states in which this device moves frames to their targets.

        Args:
            state: a state or a batch of states, the start of the search.
            targets: by frame, a pose or a position; or only the target of its end.
            options: as in `WorkCell.ik`.
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

    def world_H_model(self, state: State) -> Array:
        """(..., 4, 4) pose of the frame in which its robot model has its coordinates.

        This is its base; for an attachable floating base, the parent of that in the state.
        """
        if not self.has_attachable_root:
            return self.world_H_base(state)
        root = self.joint_names[0]
        parent_H_root = self.cell.parent_H_frame(root, state)
        return self.cell.world_H_frame(root, state) @ se3.inverse(parent_H_root)

    @property
    def has_attachable_root(self) -> bool:
        """Whether it is a robot with a floating base that can be attached to other frames."""
        spec = self.spec
        is_floating = isinstance(spec, RobotDevice) and spec.floating
        return is_floating and self.cell.frame(self.joint_names[0]).attachable

    def base_J_end(self, state: State) -> Array:
        """(..., 6, nv) Jacobian of its end."""
        return self.base_J_frame(self.end, state)

    def base_J_ends(self, state: State) -> Array:
        """(..., 6 n, nv) stacked Jacobians of all its ends."""
        return self.base_J_frames(self.ends, state)

    def base_J_frame(self, frame: str, state: State) -> Array:
        """(..., 6, nv) Jacobian of any frame; zero if the device does not move it."""
        return jacobians.base_J_frames(self, (frame,), state)[..., 0, :, :]

    def base_J_frames(self, frames: Sequence[str], state: State) -> Array:
        """(..., 6 n, nv) stacked Jacobians of several frames."""
        J = jacobians.base_J_frames(self, tuple(frames), state)
        return J.reshape(*J.shape[:-3], 6 * J.shape[-3], self.nv)


class Cart(Device):
    """A cart on two wheels that roll without slipping.

    Its Jacobians are those of the motion relative to the ground, in the axes of the cart.
    """

    spec: MobileDevice

    def set_pose(self, state: State, pose: Pose | ArrayLike, reference: str | None = None) -> State:
        """The state with another pose of the cart; the angles of its wheels do not change."""
        return self.cell.set_pose(state, self.base, pose, reference)

    def roll(self, state: State, angles: ArrayLike) -> State:
        """The state after the wheels have rotated by angles (..., 2) [rad] at constant speeds.

        The cart moves along a circular arc in its x-y plane.
        """
        wheel_angles = as_array(angles, "angles")
        if wheel_angles.ndim == 0 or wheel_angles.shape[-1] != 2:
            raise ShapeError(f"angles: expected (..., 2), got {wheel_angles.shape}")
        joint_batch(state.batch_shape, wheel_angles.shape[:-1], "angles")
        twist = (self._rolling() @ wheel_angles[..., None])[..., 0]
        parent_H_base = self.cell.parent_H_frame(self.base, state)
        after = self.set_q(state, self.get_q(state) + wheel_angles)
        return self.cell.set_pose(after, self.base, parent_H_base @ se3.exp(twist))

    def base_J_frame(self, frame: str, state: State) -> Array:
        """(..., 6, 2) Jacobian of the velocity of a frame relative to the ground."""
        relative = super().base_J_frame(frame, state)
        rolling = self._rolling()
        base_H_frame = self.base_H_frame(frame, state)
        carried = self._carries(frame, state)[..., None, None]
        arm = base_H_frame[..., :3, 3]
        spin = np.cross(rolling[3:].T, arm[..., None, :]).swapaxes(-1, -2)
        linear = rolling[:3] + spin
        ground = np.concatenate([linear, np.broadcast_to(rolling[3:], linear.shape)], axis=-2)
        return relative + ground * carried

    def base_J_frames(self, frames: tuple[str, ...] | list[str], state: State) -> Array:  # type: ignore[override]
        """(..., 6 n, 2) stacked Jacobians of several frames."""
        return np.concatenate([self.base_J_frame(frame, state) for frame in frames], axis=-2)

    def _carries(self, frame: str, state: State) -> Array:
        """(...) whether the cart carries a frame."""
        layout = self.cell.layout
        cart, index = layout.frame(self.base), layout.frame(frame)
        trees, which = np.unique(flat_rows(state.parents), axis=0, return_inverse=True)
        carried = [cart == index or cart in carriers(layout, index, row) for row in trees]
        return np.array(carried, dtype=bool)[which].reshape(state.batch_shape)

    def _rolling(self) -> Array:
        """(6, 2) Jacobian of the velocity of the cart with respect to the wheel speeds."""
        r, track = self.spec.radius, self.spec.track
        return np.array([[r / 2, r / 2], *[[0.0, 0.0]] * 4, [-r / track, r / track]])


def bind_device(cell: WorkCell, spec: DeviceSpec) -> Device:
    """The device of a cell for its description."""
    return Cart(cell, spec) if isinstance(spec, MobileDevice) else Device(cell, spec)


def _read_only(values: Sequence[float]) -> Array:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
