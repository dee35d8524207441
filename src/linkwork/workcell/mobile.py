"""A cart on two wheels that roll without slipping."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ShapeError
from linkwork.spatial.source import se3
from linkwork.workcell.attach import joint_batch
from linkwork.workcell.device import Device
from linkwork.workcell.devices import MobileDevice
from linkwork.workcell.paths import carriers
from linkwork.workcell.state import State, flat_rows

if TYPE_CHECKING:
    from linkwork.model.pose import Pose


class Cart(Device):
    """A mobile base. Its Jacobians are those of motion over the ground, in the axes of the cart."""

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
