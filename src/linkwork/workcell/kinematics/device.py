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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.model.pose import Pose
from linkwork.spatial.source import se3
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.devices import MobileDevice
from linkwork.workcell.cell.structure import carriers
from linkwork.workcell.kinematics import fk, jacobians, state_changes
from linkwork.workcell.kinematics.device_joints import DeviceJoints, spec_of
from linkwork.workcell.state.state import State, distinct_rows, flat_rows


class Device(DeviceJoints):
    """A device of a cell; `cell.device(name)` returns it."""

    def ik(
        self,
        state: State,
        targets: Mapping[str, Pose | ArrayLike] | Pose | ArrayLike,
        **options: Any,
    ) -> Any:
        """Compute states in which this device moves frames to their targets.

        Args:
            state: a state or a batch of states, the start of the search.
            targets: by frame, a pose or a position; or only the target of its end.
            options: as in `WorkCell.ik`, whose result this method returns.
        """
        by_frame = targets if isinstance(targets, Mapping) else {self.end: targets}
        cell: Any = self.cell  # a WorkCell, whose module imports this one
        return cell.ik(state, by_frame, device=self.name, **options)

    def base_H_end(self, state: State) -> Array:
        """Compute the pose of its end in its base, (..., 4, 4)."""
        return fk.frame_H_frame(self.cell, self.base, self.end, state)

    def base_H_frame(self, frame: str, state: State) -> Array:
        """Compute the pose of any frame in its base, (..., 4, 4)."""
        return fk.frame_H_frame(self.cell, self.base, frame, state)

    def world_H_base(self, state: State) -> Array:
        """Compute the pose of its base in the world, (..., 4, 4)."""
        return fk.world_H_frames(self.cell, (self.base,), state)[..., 0, :, :]

    def base_J_end(self, state: State) -> Array:
        """Compute the Jacobian of its end, (..., 6, nv)."""
        return self.base_J_frame(self.end, state)

    def base_J_ends(self, state: State) -> Array:
        """Compute stacked Jacobians of all its ends, (..., 6 n, nv)."""
        return self.base_J_frames(self.ends, state)

    def base_J_frame(self, frame: str, state: State) -> Array:
        """Compute the Jacobian of any frame, (..., 6, nv); zero if the device does not move it."""
        return jacobians.base_J_frames(self, (frame,), state)[..., 0, :, :]

    def base_J_frames(self, frames: Sequence[str], state: State) -> Array:
        """Compute stacked Jacobians of several frames, (..., 6 n, nv)."""
        J = jacobians.base_J_frames(self, tuple(frames), state)
        return J.reshape(*J.shape[:-3], 6 * J.shape[-3], self.nv)


class Cart(Device):
    """A cart on two wheels that roll without slipping.

    Its Jacobians describe the motion relative to the ground, in the axes of the cart.
    """

    spec: MobileDevice

    def set_pose(self, state: State, pose: Pose | ArrayLike, reference: str | None = None) -> State:
        """Return the state with another pose of the cart, and the same angles of its wheels."""
        return state_changes.with_pose(self.cell, state, self.base, pose, reference)

    def roll(self, state: State, angles: ArrayLike) -> State:
        """Return the state after the wheels have rotated by angles (..., 2) [rad].

        The cart moves along a circular arc in its x-y plane.
        """
        wheel_angles = as_array(angles, "angles", (2,))
        state_changes.joint_batch(state.batch_shape, wheel_angles.shape[:-1], "angles")
        twist = (self._rolling() @ wheel_angles[..., None])[..., 0]
        parent_H_base = fk.parent_H_frame(self.cell, self.base, state)
        after = self.set_q(state, self.get_q(state) + wheel_angles)
        return state_changes.with_pose(
            self.cell, after, self.base, parent_H_base @ se3.exp(twist), None
        )

    def base_J_frame(self, frame: str, state: State) -> Array:
        """Compute the Jacobian of the velocity of a frame relative to the ground, (..., 6, 2)."""
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
        """Compute stacked Jacobians of several frames, (..., 6 n, 2)."""
        return np.concatenate([self.base_J_frame(frame, state) for frame in frames], axis=-2)

    def _carries(self, frame: str, state: State) -> Array:
        """Return whether the cart carries a frame, (...)."""
        layout = self.cell.layout
        cart, index = layout.frame(self.base), layout.frame(frame)
        trees, tree_of_row = distinct_rows(flat_rows(state.parents))
        is_carried = [cart == index or cart in carriers(layout, index, row) for row in trees]
        return np.array(is_carried, dtype=bool)[tree_of_row].reshape(state.batch_shape)

    def _rolling(self) -> Array:
        """Return the Jacobian (6, 2) of the velocity of the cart to the wheel speeds."""
        r, track = self.spec.radius, self.spec.track
        return np.array([[r / 2, r / 2], *[[0.0, 0.0]] * 4, [-r / track, r / track]])


def device_of(cell: CellData, name: str) -> Device:
    """Return the device with a name, for computations in a cell."""
    spec = spec_of(cell, name)
    kind = Cart if isinstance(spec, MobileDevice) else Device
    return cell.cache.get("devices", name, kind, cell, spec)
