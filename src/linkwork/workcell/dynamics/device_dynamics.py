"""Dynamics of a device in a state of its cell, including the objects that it carries.

    dyn = cell.dynamics("arm")
    dyn.mass_matrix(state)                  # includes everything that the arm carries in the state
    dyn.forward_dynamics(state, nu, tau)

The inertia of the load of each end of the device is an input of the compiled functions. So nothing
is compiled when an object is gripped or released, and the rows of a batch may have different loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError
from linkwork.kindyn import KinDyn
from linkwork.kindyn.core import STANDARD_GRAVITY, gravity_vector
from linkwork.kindyn.options import CoordinateOptions, list_options
from linkwork.parameters import Gravity
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.dynamics.loaded_robot import (
    LoadedRobot,
    carrier_names,
    check_state_options,
)
from linkwork.workcell.dynamics.loads import columns_of, warm_transforms
from linkwork.workcell.kinematics.device import device_of
from linkwork.workcell.kinematics.device_joints import DeviceJoints
from linkwork.workcell.kinematics.device_model import DeviceModel, device_model
from linkwork.workcell.state.state import State

if TYPE_CHECKING:
    from typing_extensions import Unpack


@list_options
class CellDynamics:
    """The dynamics of a device as functions of a state, including its loads.

    q and nu belong to the device: nu (..., nv) as in its Jacobians, tau (..., nv) joint torques and
    forces, after the wrench on a floating base. Batch axes of the state and of the other
    arguments are broadcast. The base of the device is assumed to be at rest.

    Frames with inertia that a link of the device carries, directly or through other frames, form
    one body with the link. Movable frames and joints that the device does not move are locked at
    their pose in the state.

    The q and nu, the mass matrix and the bias force of a robot with closed loops describe its
    spanning tree; forward dynamics respects the loops.
    """

    def __init__(
        self,
        cell: CellData,
        device: str,
        *,
        carriers: Sequence[str] | None = None,
        gravity: ArrayLike = STANDARD_GRAVITY,
        joint_dynamics: bool = False,
    ) -> None:
        """Prepare the dynamics of a device; `WorkCell.dynamics` documents the arguments."""
        self.cell, self.device = cell, device_of(cell, device)
        self._robot: DeviceModel = device_model(self.device)
        self._gravity = gravity_vector(gravity)
        self.gravity = tuple(self._gravity.tolist())
        self._rotation = _constant_rotation(self.device)
        self._options: dict[str, Any] = {"joint_dynamics": joint_dynamics}
        if self._rotation is not None:
            self._options["gravity"] = self._rotation.T @ self._gravity
        self.carriers = self.device.ends if carriers is None else carrier_names(carriers)
        self._loaded = LoadedRobot(
            cell,
            self._robot,
            self._robot.kindyn(**self._options),
            self.carriers,
            [] if self._rotation is not None else [Gravity()],
        )
        self.kd = self._loaded.kd
        self._has_loops = bool(self.kd.closing_joints or self.kd.model.constraints)
        self._loaded.warn_of_missing_inertia(f"device {device!r}")
        self._loaded.warn_of_joints_outside(f"device {device!r}", self.device)
        self._last: tuple[State, tuple[KinDyn, Array, Array]] | None = None
        self._q = columns_of(self.device.columns.tolist())

    def __repr__(self) -> str:
        return f"<CellDynamics of {self.device.name!r} in {self.cell.name!r}>"

    def __reduce__(self) -> tuple[object, ...]:
        options = {
            "carriers": self.carriers,
            "gravity": self.gravity,
            "joint_dynamics": self._options["joint_dynamics"],
        }
        return partial(CellDynamics, **options), (self.cell, self.device.name)

    # Loads as parameters.

    def parameters(self, state: State) -> Array:
        """Return the argument `parameters` (..., n) of the functions of `dyn.kd` in a state.

        They depend on the attachments and the poses of attached frames, not on the joint positions
        of the device, so a loop in which only q and nu change can reuse them.

        Raises:
            StateError: the state belongs to another cell.
            ArgumentError: in this state, links other than the carriers carry objects.
        """
        kd, _, parameters = self._at(state)
        if kd is not self.kd:
            message = f"in this state, links other than {', '.join(self.carriers)} carry objects"
            raise ArgumentError(f"{message}; pass cell.dynamics(device, carriers=[...])")
        return parameters

    def warmup(self, *requests: Any) -> None:
        """Compile functions and wait for the result, as `KinDyn.warmup`."""
        self.kd.warmup(*requests)
        warm_transforms()

    # Quantities.

    def mass_matrix(self, state: State, **options: Unpack[CoordinateOptions]) -> Array:
        """Compute the mass matrix (..., nv, nv)."""
        kd, q, p = self._at(state, options)
        return kd.mass_matrix(q, p, **options)

    def bias_force(
        self, state: State, nu: ArrayLike, **options: Unpack[CoordinateOptions]
    ) -> Array:
        """Compute Coriolis and gravity forces (..., nv): the forces at nu_dot = 0."""
        kd, q, p = self._at(state, options)
        return kd.bias_force(q, nu, p, **options)

    def gravity_force(self, state: State, **options: Unpack[CoordinateOptions]) -> Array:
        """Compute the gravity compensation, (..., nv): the forces that keep the device at rest."""
        kd, q, p = self._at(state, options)
        return kd.gravity_force(q, p, **options)

    def inverse_dynamics(
        self,
        state: State,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        **options: Unpack[CoordinateOptions],
    ) -> Array:
        """Compute the forces of a motion, M nu_dot + h, (..., nv).

        Raises:
            ArgumentError: the device has closed loops, so the forces depend on its actuators.
        """
        kd, q, p = self._at(state, options)
        if self._has_loops:
            text = f"inverse_dynamics: device {self.device.name!r} has closed loops or constraints"
            hint = "dynamics.kd.constrained(actuated=[...]).inverse_dynamics"
            raise ArgumentError(f"{text}; {hint} separates torques of actuators from their forces")
        return kd.inverse_dynamics(q, nu, nu_dot, p, **options)

    def forward_dynamics(
        self,
        state: State,
        nu: ArrayLike,
        tau: ArrayLike,
        **options: Unpack[CoordinateOptions],
    ) -> Array:
        """Compute the accelerations due to forces, M^-1 (tau - h), (..., nv)."""
        kd, q, p = self._at(state, options)
        return kd.forward_dynamics(q, nu, tau, p, **options)

    def kinetic_energy(self, state: State, nu: ArrayLike) -> Array:
        """Compute the kinetic energy of the device and its loads [J], (...)."""
        kd, q, p = self._at(state)
        return kd.kinetic_energy(q, nu, p)

    def potential_energy(self, state: State) -> Array:
        """Compute the potential energy of gravity [J], (...), relative to the world origin."""
        return -self.total_mass(state) * (self.com(state) @ self._gravity)

    def total_mass(self, state: State) -> Array:
        """Compute the mass of the device and the loads of its moving links [kg], (...)."""
        kd, _, p = self._at(state)
        names = [name for name in kd.parameters if name.startswith("payload.")]
        first = [kd.parameters[name].start for name in names]
        return self._robot.model.total_mass + p[..., first].sum(axis=-1)

    def com(self, state: State) -> Array:
        """Compute the center of mass (..., 3) of the device and its loads in the world."""
        kd, q, p = self._at(state)
        H = self.device.world_H_model(state)
        return (H[..., :3, :3] @ kd.com(q, p)[..., None])[..., 0] + H[..., :3, 3]

    def centroidal_momentum(self, state: State, nu: ArrayLike) -> Array:
        """Compute the momentum [linear; angular] about the center of mass, in the world's axes."""
        kd, q, p = self._at(state)
        momentum = kd.centroidal_momentum(q, nu, p)[..., None]
        return self._in_world(self.device.world_H_model, state, momentum)[..., 0]

    def jacobian(self, frame: str, state: State) -> Array:
        """Compute the Jacobian (..., 6, nv) of any frame of the cell, such as a gripped object.

        Its velocity is `J @ nu`: [linear velocity of its origin; angular velocity], in the axes of
        the world.
        """
        index = self.cell.frame_index(frame)
        names = self._robot.names.items()
        model_frames = {self.cell.frame_index(in_cell): in_model for in_model, in_cell in names}
        if index in model_frames:
            kd, q, p = self._at(state)
            J = kd.jacobian(model_frames[index], q, parameters=p)
            return self._in_world(self.device.world_H_model, state, J)
        J = self.device.base_J_frame(frame, state)
        return self._in_world(self.device.world_H_base, state, J)

    # Implementation.

    def _at(self, state: State, options: Iterable[str] = ()) -> tuple[Any, Array, Array]:
        """Return the robot with payloads, its q and its parameters in a state.

        The robot is a `KinDyn`; the parameters are the last argument of its functions.
        """
        if options:
            check_state_options(options)
        last = self._last
        if last is not None and last[0] is state:
            return last[1]
        values = self.cell.check_state(state).values
        self._robot.check_attachments(self.cell, state)
        q = np.ascontiguousarray(values[..., self._q])
        more: dict[str, Array] = {}
        if self._rotation is None:
            more["gravity"] = self._gravity @ self.device.world_H_model(state)[..., :3, :3]
        kd, parameters = self._loaded.at(state, more)
        parameters.flags.writeable = False  # the array is kept, and `parameters` returns it
        result = kd, q, parameters
        self._last = state, result
        return result

    def _in_world(
        self, world_H_axes: Callable[[State], Array], state: State, stacked: Array
    ) -> Array:
        """Rotate vectors (..., 6, n) from some axes to the axes of the world."""
        if self._rotation is not None and np.array_equal(self._rotation, np.eye(3)):
            return stacked
        R = world_H_axes(state)[..., :3, :3]
        return np.concatenate([R @ stacked[..., :3, :], R @ stacked[..., 3:, :]], axis=-2)


def _constant_rotation(device: DeviceJoints) -> Array | None:
    """Return the rotation of `world_H_model` if it is the same in all states, else None."""
    cell = device.cell
    rotation, current = np.eye(3), cell.frame(device.base)
    if device.has_attachable_root:
        return None
    while current.parent is not None:
        if current.movable or current.attachable or current.motion:
            return None
        rotation = current.parent_H_frame.matrix()[:3, :3] @ rotation
        current = cell.frame(current.parent)
    return rotation
