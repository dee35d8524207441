"""Dynamics of a device in a state of its cell: what it has gripped counts.

    dyn = cell.dynamics("arm")
    dyn.mass_matrix(state)                  # with all that the arm carries in that state
    dyn.forward_dynamics(state, nu, tau)

The inertia of what each end of the device carries is an input of the compiled functions. So nothing
is compiled when something is gripped, gripped again elsewhere or released, and the rows of a batch
may carry different things, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, listed, name_not_found, shown, warn
from linkwork.kindyn import KinDyn
from linkwork.kindyn.core import STANDARD_GRAVITY
from linkwork.model.pose import as_floats
from linkwork.parameters import Gravity, JointPose, Parameter
from linkwork.workcell.attach import poses_to_xyz_wxyz
from linkwork.workcell.device_model import DeviceModel, device_model, locked_pose
from linkwork.workcell.loads import Loads, Payloads, Plan, columns_of, warmup
from linkwork.workcell.state import State

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell


class CellDynamics:
    """Functions of a state of a cell: the dynamics of a device, with all that it carries.

    q and nu are those of the device: nu (..., nv) as its Jacobians have it, tau (..., nv) joint
    torques and forces, after the wrench on a floating base. Batch axes of the state and of the
    other arguments broadcast. The frame that the device sits on is taken to be at rest.

    Frames with inertia that are fixed to a link of the device, attached to it, or sit on others
    that are, count as one body with the link; joints among them that the device does not drive
    count as locked. So do movable frames and such joints between the joints of the device: they
    are where they are in the state.
    """

    def __init__(
        self,
        cell: WorkCell,
        device: str,
        *,
        carriers: Sequence[str] | None = None,
        gravity: ArrayLike = STANDARD_GRAVITY,
        joint_dynamics: bool = False,
    ) -> None:
        """Prepare the dynamics of a device; `WorkCell.dynamics` documents the arguments."""
        self.cell, self.device = cell, cell.device(device)
        self._robot: DeviceModel = device_model(self.device)
        fall = as_floats(gravity, "gravity")
        if fall.shape != (3,) or not np.isfinite(fall).all():
            raise ArgumentError(f"gravity: expected three finite numbers, got {gravity!r}")
        self.gravity = tuple(fall.tolist())
        self._fall = fall
        self._rotation = _constant_rotation(cell, self.device.base)
        self._options: dict[str, Any] = {
            "base": self._robot.base,
            "floating": self._robot.floating,
            "joint_dynamics": joint_dynamics,
        }
        if self._rotation is not None:
            self._options["gravity"] = self._rotation.T @ fall
        self._plain = KinDyn(self._robot.model, **self._options)
        self._frames = self._robot.bodies(cell, self._plain)
        self.carriers = self.device.ends if carriers is None else _names(carriers)
        more: list[Parameter] = [JointPose(name) for name in self._robot.locked]
        loads = self._loads()
        self._payloads = Payloads(
            loads,
            self._plain,
            self._bodies_of(self.carriers),
            more=more if self._rotation is not None else [*more, Gravity()],
        )
        self.kd = self._payloads.kd
        self._warn_of_no_inertia(loads.plan(cell.state().parents))
        self._last: tuple[State, tuple[KinDyn, Array, Array]] | None = None
        layout = cell.layout
        spans = [layout.span(layout.frame(name)) for name in self.device.joint_names]
        self._q = columns_of([k for span in spans for k in range(span.start, span.stop)])

    def __repr__(self) -> str:
        return f"<CellDynamics of {self.device.name!r} in {self.cell.name!r}>"

    def __reduce__(self) -> tuple[object, ...]:
        options = self._options["joint_dynamics"]
        return _made, (self.cell, self.device.name, self.carriers, self.gravity, options)

    # What is carried, as numbers.

    def parameters(self, state: State) -> Array:
        """(..., n) what `dyn.kd` takes as `parameters` in a state: what each end carries.

        For loops in which only q and nu change: the numbers depend on what is attached and how, and
        not on the positions of the device's joints.

        Raises:
            StateError: the state is of another cell.
            ArgumentError: in this state, links other than the carriers carry something.
        """
        kd, _, numbers = self._at(state)
        if kd is not self.kd:
            text = f"in this state, other links than {', '.join(self.carriers)} carry something"
            raise ArgumentError(f"{text}; name them: cell.dynamics(device, carriers=[...])")
        return numbers

    def warmup(self, *requests: Any) -> None:
        """Compile functions now, and wait for it; as `KinDyn.warmup`."""
        self.kd.warmup(*requests)
        warmup()

    # Quantities.

    def mass_matrix(
        self, state: State, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """(..., nv, nv) mass matrix, symmetric."""
        kd, q, p = self._at(state)
        if out is None and threads is None:
            return kd.mass_matrix(q, p)
        return kd.mass_matrix(q, p, out=out, threads=threads)

    def bias_force(
        self, state: State, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """(..., nv) forces at nu_dot = 0: Coriolis and gravity forces."""
        kd, q, p = self._at(state)
        if out is None and threads is None:
            return kd.bias_force(q, nu, p)
        return kd.bias_force(q, nu, p, out=out, threads=threads)

    def gravity_force(
        self, state: State, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """(..., nv) the forces of gravity compensation, which hold the device still."""
        kd, q, p = self._at(state)
        if out is None and threads is None:
            return kd.gravity_force(q, p)
        return kd.gravity_force(q, p, out=out, threads=threads)

    def inverse_dynamics(
        self,
        state: State,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(..., nv) forces behind a motion: M nu_dot + h."""
        kd, q, p = self._at(state)
        if out is None and threads is None:
            return kd.inverse_dynamics(q, nu, nu_dot, p)
        return kd.inverse_dynamics(q, nu, nu_dot, p, out=out, threads=threads)

    def forward_dynamics(
        self,
        state: State,
        nu: ArrayLike,
        tau: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(..., nv) accelerations that forces cause: M^-1 (tau - h)."""
        kd, q, p = self._at(state)
        if out is None and threads is None:
            return kd.forward_dynamics(q, nu, tau, p)
        return kd.forward_dynamics(q, nu, tau, p, out=out, threads=threads)

    def kinetic_energy(self, state: State, nu: ArrayLike) -> Array:
        """(...) kinetic energy of the device and what it carries [J]."""
        kd, q, p = self._at(state)
        return kd.kinetic_energy(q, nu, p)

    def potential_energy(self, state: State) -> Array:
        """(...) potential energy of gravity [J]; zero with the CoM at the world's origin."""
        return -self.total_mass(state) * (self.com(state) @ self._fall)

    def total_mass(self, state: State) -> Array:
        """(...) mass of the device and what its moving links carry [kg]."""
        kd, _, p = self._at(state)
        names = [name for name in kd.parameters if name.startswith("payload.")]
        first = [kd.parameters[name].start for name in names]
        return self._robot.model.total_mass + p[..., first].sum(axis=-1)

    def com(self, state: State) -> Array:
        """(..., 3) centre of mass of the device and what its moving links carry, in the world."""
        kd, q, p = self._at(state)
        H = self.device.world_H_base(state)
        return (H[..., :3, :3] @ kd.com(q, p)[..., None])[..., 0] + H[..., :3, 3]

    def centroidal_momentum(self, state: State, nu: ArrayLike) -> Array:
        """(..., 6) momentum about the centre of mass, [linear; angular], in the world's axes."""
        kd, q, p = self._at(state)
        return self._in_world(state, kd.centroidal_momentum(q, nu, p)[..., None])[..., 0]

    def jacobian(self, frame: str, state: State) -> Array:
        """(..., 6, nv) Jacobian of a frame of the cell, of a gripped object too.

        Its velocity is `J @ nu`: [linear velocity of its origin; angular velocity], in the axes of
        the world.
        """
        index = self.cell.frame_index(frame)
        own = {self.cell.frame_index(there): here for here, there in self._robot.names.items()}
        if index in own:
            kd, q, p = self._at(state)
            return self._in_world(state, kd.jacobian(own[index], q, parameters=p))
        return self._in_world(state, self.device.base_J_frame(frame, state))

    # Inside.

    def _at(self, state: State) -> tuple[Any, Array, Array]:
        """The robot with payloads, its q, and its parameters in a state; kept for the next call.

        The robot is a `KinDyn`, whose functions take the parameters as their last argument.
        """
        last = self._last
        if last is not None and last[0] is state:
            return last[1]
        values, parents = self.cell.check_state(state).values, state.parents
        self._robot.check_attachments(self.cell, state)
        q = np.ascontiguousarray(values[..., self._q])
        kd, numbers = self._payloads.of(parents, values)
        if self._rotation is None or self._robot.locked:
            numbers = self._with_state(kd, numbers, state)
        found = kd, q, numbers
        self._last = state, found
        return found

    def _with_state(self, kd: KinDyn, numbers: Array, state: State) -> Array:
        """(..., n) parameters with locked frames where they are, and gravity in a turned base."""
        numbers = np.broadcast_to(numbers, (*state.batch_shape, kd.parameters.size)).copy()
        for name in self._robot.locked:
            pose = locked_pose(self.cell, name, state.values)
            numbers[..., kd.parameters[f"joint_pose.{name}"]] = poses_to_xyz_wxyz(pose)
        if self._rotation is None:
            R = self.device.world_H_base(state)[..., :3, :3]
            numbers[..., kd.parameters["gravity"]] = self._fall @ R
        return numbers

    def _loads(self) -> Loads:
        """What finds the loads of the bodies: locked frames are no fixed part of theirs."""
        beyond = {self.cell.frame_index(name) for name in self._robot.beyond_locked()}
        fixed = {k: place for k, place in self._frames.items() if k not in beyond}
        return Loads(self.cell, fixed, beyond)

    def _warn_of_no_inertia(self, plan: Plan) -> None:
        """Warn of joints that move nothing with inertia in the default state."""
        tree = self._plain.tree
        has_inertia = [bool(inertia.any()) for inertia in tree.inertias]
        for carried in plan.carried:
            has_inertia[carried.body] = True
        for body, parent, _ in tree.inward():
            has_inertia[parent] |= has_inertia[body]
        idle = [body for body, _, _ in tree.outward() if not has_inertia[body]]
        if idle:
            frames = listed([self._robot.names[tree.links[body][0]] for body in idle])
            text = f"device {self.device.name!r}: nothing that these joints move has inertia, so"
            text += f" their forces and their part of the mass matrix are zero: {frames};"
            text += " set it, as in cell.with_changed(frame, inertia=...), or load a .dwc.xml file"
            warn(text)

    def _in_world(self, state: State, stacked: Array) -> Array:
        """(..., 6, n) vectors in the axes of the device's base, in those of the world."""
        if self._rotation is not None and np.array_equal(self._rotation, np.eye(3)):
            return stacked
        R = self.device.world_H_base(state)[..., :3, :3]
        return np.concatenate([R @ stacked[..., :3, :], R @ stacked[..., 3:, :]], axis=-2)

    def _bodies_of(self, carriers: Iterable[str]) -> dict[int, str]:
        """By body: the link whose payload is what the body carries."""
        slots: dict[int, str] = {}
        for name in carriers:
            index = self.cell.frame_index(name)
            if index not in self._frames:
                known = [self.cell.frame_names[k] for k in self._frames]
                raise name_not_found(f"frame of device {self.device.name!r}", name, known)
            body = self._frames[index][0]
            if body or self._robot.floating:
                slots[body] = self._plain.tree.links[body][0]
        last = len(self._plain.tree.links) - 1  # a device whose end is its fixed base
        return slots or {last: self._plain.tree.links[last][0]}


def _constant_rotation(cell: WorkCell, frame: str) -> Array | None:
    """world_R_frame of a frame that nothing moves; None for one that something may move."""
    rotation, here = np.eye(3), cell.frame(frame)
    while here.parent is not None:
        if here.movable or here.attachable or here.motion:
            return None
        rotation = here.parent_H_frame.matrix()[:3, :3] @ rotation
        here = cell.frame(here.parent)
    return rotation


def _names(given: Any) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)):
        raise ArgumentError(f"carriers: expected a list of frames, got {shown(given)}")
    return tuple(given)


def _made(
    cell: WorkCell, device: str, carriers: Sequence[str], gravity: ArrayLike, joint_dynamics: bool
) -> CellDynamics:
    return cell.dynamics(
        device, carriers=list(carriers), gravity=gravity, joint_dynamics=joint_dynamics
    )
