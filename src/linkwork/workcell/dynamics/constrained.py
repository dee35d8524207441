"""Constrained dynamics of a cell: its robots, what they carry, contacts and closed loops.

    state = cell.grip(state, "box", "left.tool")
    pose = cell.frame_H_frame("box", "right.tool", state)
    dyn = cell.constrained([lw.Contact("right.tool", reference="box", target=pose)])
    nu_dot, forces, residual = dyn.forward_dynamics(state, nu, tau)

All devices form one robot on WORLD. Objects are fixed to the link that carries them in the state,
and the poses in which they are held are parameters, as are the targets of contacts. So functions
are compiled again only if the frame of a contact is attached to another link, not for every grasp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, listed, name_not_found
from linkwork.kindyn import ConstrainedKinDyn
from linkwork.kindyn.constrained.contacts import Contact, ContactKind, contacts_of
from linkwork.kindyn.core import STANDARD_GRAVITY, joint_names
from linkwork.kindyn.options import CoordinateOptions, WrenchOptions, list_options
from linkwork.kindyn.results import (
    ConstrainedForwardDynamics,
    ConstrainedForwardDynamicsDerivatives,
    ConstrainedInverseDynamics,
    ConstrainedInverseDynamicsDerivatives,
    Impact,
    ImpactDerivatives,
)
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.devices import FreeDevice, JointDevice, MobileDevice
from linkwork.workcell.cell.frames import WORLD
from linkwork.workcell.dynamics.loaded_robot import carrier_names
from linkwork.workcell.dynamics.systems import Systems
from linkwork.workcell.kinematics.device import Device
from linkwork.workcell.kinematics.device_joints import joints_of
from linkwork.workcell.kinematics.device_model import model_joints
from linkwork.workcell.state.state import State

if TYPE_CHECKING:
    from typing_extensions import Unpack


class CellStep(NamedTuple):
    """State and velocity after a step."""

    state: State
    nu: Array  # (..., nv)


@list_options
class ConstrainedCellDynamics:
    """Robots of a cell with contacts and closed loops; `WorkCell.constrained` creates it.

    nu (..., nv) has the velocities of the joints of all devices, in the order of `joint_names`, as
    in their Jacobians; tau (..., nv) the forces. Batch axes of states and of other arguments are
    broadcast; frames of contacts must be attached to the same links in all rows. The m equations
    come from the loops of the robots, then from the contacts; `rows` has their slices by name.

    Joints that no device drives, and movable frames, are locked at their values in the state; a
    movable frame with a `FreeDevice` that is named in `devices` moves freely.
    """

    def __init__(
        self,
        cell: CellData,
        contacts: Iterable[str | Contact] | Mapping[str, ContactKind | Contact] = (),
        *,
        devices: Iterable[str] | None = None,
        actuated: Iterable[str] | None = None,
        stabilization: float | tuple[float, float] = 0.0,
        carriers: Sequence[str] | None = None,
        gravity: ArrayLike = STANDARD_GRAVITY,
        joint_dynamics: bool = False,
    ) -> None:
        """Prepare the dynamics; `WorkCell.constrained` documents the arguments."""
        self.cell = cell
        self.devices = _devices(cell, devices)
        self.contacts = contacts_of(contacts)
        for contact in self.contacts:
            for name in (contact.frame, contact.reference):
                if name is not None:
                    cell.frame_index(name)
        joints = dict.fromkeys(
            joint for name in self.devices for joint in joints_of(cell, name).joint_names
        )
        self.device = Device(cell, JointDevice(cell.name, WORLD, WORLD, tuple(joints)))
        ends = [end for name in self.devices for end in joints_of(cell, name).ends]
        self.carriers = tuple(dict.fromkeys(ends)) if carriers is None else carrier_names(carriers)
        driven = None if actuated is None else self._actuated(actuated)
        options = {
            "actuated": None if driven is None else self._model_joints(driven),
            "stabilization": stabilization,
            "gravity": gravity,
            "joint_dynamics": joint_dynamics,
        }
        self._systems = Systems(self.device, self.contacts, self.carriers, options)
        self._default = self._systems.default.kd
        # without the option, the actuated joints of the models; movable frames are not among them
        self.actuated = self._default.actuated if driven is None else driven
        self._systems.default.warn_of_missing_inertia(f"workcell {cell.name!r}")
        self._systems.default.warn_of_joints_outside(f"workcell {cell.name!r}", self.device)
        self.stabilization, self.gravity = self._default.stabilization, self._default.gravity
        self.joint_dynamics = self._default.joint_dynamics

    def __repr__(self) -> str:
        devices, contacts = listed(self.devices), listed([one.frame for one in self.contacts])
        text = f"<ConstrainedCellDynamics of {devices} in {self.cell.name!r}"
        return f"{text}: contacts {contacts}>" if self.contacts else f"{text}>"

    def __reduce__(self) -> tuple[object, ...]:
        options = {
            "devices": self.devices,
            "actuated": self.actuated,
            "stabilization": self.stabilization,
            "carriers": self.carriers,
            "gravity": self.gravity,
            "joint_dynamics": self.joint_dynamics,
        }
        return partial(ConstrainedCellDynamics, **options), (self.cell, self.contacts)

    # Coordinates.

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Frames whose values are q, in order."""
        return self.device.joint_names

    @property
    def nq(self) -> int:
        """Length of q."""
        return self.device.nq

    @property
    def nv(self) -> int:
        """Length of nu."""
        return self.device.nv

    @property
    def m(self) -> int:
        """The number of constraint equations."""
        return self._default.m

    @property
    def rows(self) -> Mapping[str, slice]:
        """The rows of the constraint equations, by the name of the loop or the contact."""
        return self._default.rows

    def get_q(self, state: State) -> Array:
        """Return the positions of the joints, (..., nq)."""
        return self.device.get_q(state)

    def set_q(self, state: State, q: ArrayLike) -> State:
        """Return the state with other positions of the joints; batch axes are broadcast."""
        return self.device.set_q(state, q)

    def kindyn(self, state: State) -> ConstrainedKinDyn:
        """Return the robot that all devices form; its functions take `parameters(state)`.

        It has the q and nu of the joints, except for movable frames: their quaternion is conjugate,
        and their angular velocity negative.

        Raises:
            ArgumentError: frames of contacts are attached to different links in the rows.
        """
        return self._systems.one(state)[0]

    def parameters(self, state: State) -> Array:
        """Return the argument `parameters` (..., n) of the functions of `kindyn(state)`.

        They depend on attachments and poses of attached frames, not on the positions of the joints.
        """
        return self._systems.one(state)[2]

    def warmup(self, *requests: Any, state: State | None = None) -> None:
        """Compile functions and wait for the result, as `KinDyn.warmup`.

        Args:
            requests: names of functions; default the forward dynamics.
            state: whose attachments matter; default the default state.
        """
        kd = self.kindyn(self.cell.default_state if state is None else state)
        kd.warmup(*(requests or ("forward_dynamics",)))

    # Constraints.

    def error(self, state: State, **options: Unpack[CoordinateOptions]) -> Array:
        """Compute the errors of the constraints (..., m), as `ConstrainedKinDyn.error`."""
        return self._systems.evaluate("error", state, **options)

    def jacobian(self, state: State, **options: Unpack[CoordinateOptions]) -> Array:
        """Compute the constraint Jacobian J, (..., m, nv): J nu = 0 for allowed velocities."""
        return self._systems.evaluate("jacobian", state, **options)

    def bias(self, state: State, nu: ArrayLike, **options: Unpack[CoordinateOptions]) -> Array:
        """Compute Jdot nu, (..., m): J nu_dot = -Jdot nu for allowed accelerations."""
        return self._systems.evaluate("bias", state, nu, **options)

    def delassus(self, state: State, **options: Unpack[CoordinateOptions]) -> Array:
        """Compute the Delassus matrix J M^-1 J^T, (..., m, m): accelerations per unit of force."""
        return self._systems.evaluate("delassus", state, **options)

    def independent_velocities(self, state: State, **options: Unpack[CoordinateOptions]) -> Array:
        """Compute a basis G, (..., nv, n), of the allowed velocities: nu = G nu_i.

        nu_i are n coordinates of nu that determine the others, n the degrees of freedom. They are
        chosen in the first state for which this function or `mass_matrix` is called.
        """
        return self._systems.evaluate("independent_velocities", state, **options)

    def mass_matrix(self, state: State, **options: Unpack[CoordinateOptions]) -> Array:
        """Compute the mass matrix of the independent velocities, G^T M G, (..., n, n)."""
        return self._systems.evaluate("mass_matrix", state, **options)

    def project_velocity(
        self, state: State, nu: ArrayLike, **options: Unpack[CoordinateOptions]
    ) -> Array:
        """Compute the nearest velocity (..., nv) with J nu = 0, by kinetic energy."""
        return self._systems.evaluate("project_velocity", state, nu, **options)

    def project_configuration(
        self, state: State, *, fixed: Iterable[str] = (), tolerance: float | None = None
    ) -> State:
        """Return a state nearby that satisfies the constraints; only joints of the devices move.

        Args:
            state: a state or a batch of states to start from.
            fixed: joint frames, or devices, that stay where they are.
            tolerance: largest error at which a constraint counts as satisfied [m] or [rad]; default
                the tolerance of `lw.assemble`.

        Raises:
            ValueRangeError: some state cannot be closed.
        """
        joints = self._model_joints(self._joint_frames(fixed, "fixed"))
        q = self._systems.evaluate(
            "project_configuration", state, fixed=joints, tolerance=tolerance
        )
        return self.set_q(state, q)

    # Dynamics.

    def kinetic_energy(self, state: State, nu: ArrayLike) -> Array:
        """Compute the kinetic energy of the devices and what they carry [J], (...)."""
        return self._systems.evaluate("kinetic_energy", state, nu)

    def forward_dynamics(
        self, state: State, nu: ArrayLike, tau: ArrayLike, **options: Unpack[WrenchOptions]
    ) -> ConstrainedForwardDynamics:
        """Solve M nu_dot + h = tau + J^T forces + sum J_f^T f for accelerations and forces.

        Args:
            state: a state or a batch of states.
            nu, tau: (..., nv) velocities and forces.
            options: `wrenches` by frame of the cell, (..., 6) [force; torque] at its origin in the
                axes of the world; `out` and `threads` as in `KinDyn`.

        Returns:
            nu_dot (..., nv); forces (..., m), of least norm where constraints are redundant;
            residual (..., m), by how much the constraint accelerations miss their target.
        """
        return self._systems.evaluate("forward_dynamics", state, nu, tau, **options)

    def forward_dynamics_derivatives(
        self, state: State, nu: ArrayLike, tau: ArrayLike, **options: Unpack[WrenchOptions]
    ) -> ConstrainedForwardDynamicsDerivatives:
        """Differentiate `forward_dynamics` with respect to q (tangent), nu and tau."""
        return self._systems.evaluate("forward_dynamics_derivatives", state, nu, tau, **options)

    def inverse_dynamics(
        self, state: State, nu: ArrayLike, nu_dot: ArrayLike, **options: Unpack[WrenchOptions]
    ) -> ConstrainedInverseDynamics:
        """Compute torques of the actuated joints and constraint forces that cause a motion.

        Returns:
            torques (..., n) of the frames `actuated`; forces (..., m), of least norm where several
            satisfy the equations of the other joints; residual (..., nv - n), the generalized
            forces that are missing.

        Raises:
            ArgumentError: the actuated joints are not known.
        """
        self._check_actuated("inverse_dynamics")
        return self._systems.evaluate("inverse_dynamics", state, nu, nu_dot, **options)

    def inverse_dynamics_derivatives(
        self, state: State, nu: ArrayLike, nu_dot: ArrayLike, **options: Unpack[WrenchOptions]
    ) -> ConstrainedInverseDynamicsDerivatives:
        """Differentiate `inverse_dynamics` with respect to q (tangent), nu and nu_dot.

        Raises:
            ArgumentError: the actuated joints are not known.
        """
        self._check_actuated("inverse_dynamics_derivatives")
        return self._systems.evaluate("inverse_dynamics_derivatives", state, nu, nu_dot, **options)

    def impact(
        self,
        state: State,
        nu: ArrayLike,
        restitution: ArrayLike = 0.0,
        **options: Unpack[CoordinateOptions],
    ) -> Impact:
        """Compute the velocity after the constraints have come into effect, and the impulses."""
        return self._systems.evaluate("impact", state, nu, restitution, **options)

    def impact_derivatives(
        self,
        state: State,
        nu: ArrayLike,
        restitution: ArrayLike = 0.0,
        **options: Unpack[CoordinateOptions],
    ) -> ImpactDerivatives:
        """Differentiate `impact` with respect to q (tangent) and nu."""
        return self._systems.evaluate("impact_derivatives", state, nu, restitution, **options)

    def step(
        self,
        state: State,
        nu: ArrayLike,
        tau: ArrayLike,
        dt: ArrayLike,
        *,
        threads: int | None = None,
    ) -> CellStep:
        """Compute the state and velocity after a semi-implicit step of a time dt (...) [s].

        Velocities after the step satisfy the constraints, J nu = 0, or approach them at the rate
        of the stabilization.
        """
        after = self._systems.evaluate("step", state, nu, tau, dt, threads=threads)
        return CellStep(self.set_q(state, after.q), after.nu)

    def forces_of(self, name: str, state: State, forces: ArrayLike) -> Array:
        """Compute the wrench (..., 6) of one loop or contact on its frame.

        It is written as `wrenches={frame: ...}` takes it: [force; torque] at the origin of the
        frame, in the axes of the world. The opposite wrench acts on the reference of the contact.
        `ConstrainedKinDyn.forces_of` describes the frames of loops.

        Args:
            name: of the loop or contact, as in `rows`.
            state: a state or a batch of states.
            forces: (..., m) forces of `forward_dynamics` or `inverse_dynamics`, or impulses of
                `impact`.

        Raises:
            ArgumentError: frames of contacts are attached to different links in the rows.
        """
        kd, q, parameters = self._systems.one(state)
        return kd.forces_of(name, q, forces, parameters=parameters)

    def _check_actuated(self, name: str) -> None:
        if self.actuated is None:
            text = f"{name}: name the joints with actuators"
            raise ArgumentError(f"{text}: cell.constrained(actuated=[...]), or their devices")

    # Names.

    def _joint_frames(self, names: Iterable[str], what: str) -> tuple[str, ...]:
        """Convert names of joint frames and devices to joint frames, in the order of nu."""
        frames: set[str] = set()
        for name in joint_names(names, what, "joint frames or devices"):
            if name in self.joint_names:
                frames.add(name)
            elif name in self.devices:
                frames.update(joints_of(self.cell, name).joint_names)
            else:
                valid = (*self.joint_names, *self.devices)
                raise name_not_found("joint frame or device", name, valid)
        return tuple(name for name in self.joint_names if name in frames)

    def _actuated(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the frames with actuators, without the floating bases of devices."""
        listed_names = joint_names(names, "actuated", "joint frames or devices")
        return tuple(
            frame
            for frame in self._joint_frames(listed_names, "actuated")
            if frame in listed_names or not self.cell.frame(frame).movable
        )

    def _model_joints(self, frames: Iterable[str]) -> tuple[str, ...]:
        return tuple(joint for frame in frames for joint in model_joints(self.cell, frame))


def _devices(cell: CellData, names: Iterable[str] | None) -> tuple[str, ...]:
    """Return the devices that move: by default all but carts and movable frames."""
    carts = [device for device in cell.devices if isinstance(device, MobileDevice)]
    wheels = {wheel for cart in carts for wheel in (cart.left, cart.right)}

    def has_wheels(name: str) -> bool:
        return not wheels.isdisjoint(joints_of(cell, name).joint_names)

    if names is None:
        robots = [device.name for device in cell.devices if not isinstance(device, FreeDevice)]
        devices = tuple(name for name in robots if not has_wheels(name))
    else:
        devices = tuple(dict.fromkeys(joint_names(names, "devices", "devices")))
        for name in devices:
            if has_wheels(name):
                message = f"device {name!r} is a cart or contains one"
                raise ArgumentError(f"{message}, whose wheels have no dynamics in a workcell")
    if not devices:
        raise ArgumentError(f"devices: expected at least one robot of the workcell {cell.name!r}")
    return devices
