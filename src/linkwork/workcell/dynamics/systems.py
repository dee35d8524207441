"""The robot that the devices of a cell form under constraints, for the attachments of a state.

Which link carries the frame of a contact depends on the attachments. A `System` is the robot for
some of them; everything else that a state defines is a parameter of its functions: the loads of the
links, the poses of locked frames, and the targets of contacts. Rows of a batch that need different
systems are evaluated in groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, shown
from linkwork.kindyn import ConstrainedKinDyn
from linkwork.kindyn.constrained.contacts import Contact
from linkwork.kindyn.constrained.methods import (
    independent_coordinates,
    n_actuated,
    n_independent,
    n_unactuated,
)
from linkwork.kindyn.core import options_of_call
from linkwork.kindyn.quantities import Dimension, Shape
from linkwork.mechanics.problem import Problem
from linkwork.model.parts import Joint, Link
from linkwork.model.pose import IDENTITY
from linkwork.parameters import JointPose
from linkwork.workcell.cell.data import Cache
from linkwork.workcell.cell.frames import WORLD
from linkwork.workcell.cell.structure import attachments_of
from linkwork.workcell.dynamics.loaded_robot import LoadedRobot, check_state_options
from linkwork.workcell.kinematics.attach import poses_to_xyz_wxyz
from linkwork.workcell.kinematics.device_joints import DeviceJoints
from linkwork.workcell.kinematics.device_model import frames_model
from linkwork.workcell.state.state import State, distinct_rows, flat_rows

# Coordinates of nu that a dimension of a quantity counts.
_COORDINATES: dict[Dimension, Callable[[Problem], Sequence[int]]] = {
    "nv": lambda problem: range(problem.layout.nv),
    n_actuated: lambda problem: problem.actuated_indices,
    n_unactuated: lambda problem: problem.unactuated_indices,
    n_independent: lambda problem: problem.independent_indices,
}

System: TypeAlias = LoadedRobot[ConstrainedKinDyn]
"""The robot for some attachments."""


class Systems:
    """The systems of the devices of a cell, and their functions of a state."""

    def __init__(
        self,
        device: DeviceJoints,
        contacts: Sequence[Contact],
        carriers: Sequence[str],
        options: Mapping[str, Any],
    ) -> None:
        """Prepare the systems.

        Args:
            device: its joints are those of all devices, its base is WORLD.
            contacts: between frames of the cell.
            carriers: frames whose bodies have payloads that do not compile anything.
            options: of `ConstrainedKinDyn`.
        """
        self._device, self._cell, self._carriers = device, device.cell, carriers
        targets = [(f"target of {one.frame}", one) for one in contacts if one.target is not None]
        self._target_joints = tuple(
            Joint(name=name, kind="fixed", first=one.reference or WORLD, second=name)
            for name, one in targets
        )
        self._target_poses = {
            f"joint_pose.{name}": poses_to_xyz_wxyz(one.target.matrix())
            for name, one in targets
            if one.target is not None
        }
        names = {one.frame: name for name, one in targets}
        equations = [
            replace(one, reference=names[one.frame], target=IDENTITY) if one.frame in names else one
            for one in contacts
        ]
        self._options: dict[str, Any] = {**options, "contacts": tuple(equations)}
        self._rolling = {one.frame for one in contacts if one.kind == "rolling"}
        frames = [name for one in contacts for name in (one.frame, one.reference) if name]
        self._frames = tuple(dict.fromkeys([*frames, *carriers]))  # part of every system
        layout = self._cell.layout
        indices = map(layout.frame, (*device.joint_names, *self._frames))
        # attachable frames that carry frames of the systems
        self._roots = sorted({int(layout.part_roots[k]) for k in indices} - {0})
        self._cache = Cache()
        self._last: tuple[State, System, tuple[ConstrainedKinDyn, Array, Array]] | None = None
        self._q_signs, self._nu_signs = _signs(device)
        self._has_signs = bool((self._nu_signs < 0).any())
        self.default = self._system(self._cell.default_state.parents, ())

    def one(self, state: State) -> tuple[ConstrainedKinDyn, Array, Array]:
        """Return the robot for a state, its q, and its parameters.

        Raises:
            ArgumentError: the rows of a batch need different robots.
        """
        return self._at(self._system_of(state, ()), state)

    def evaluate(
        self,
        name: str,
        state: State,
        *arguments: ArrayLike,
        wrenches: Mapping[str, ArrayLike] | None = None,
        **options: Any,
    ) -> Any:
        """Return the result of a function of `ConstrainedKinDyn` in a state.

        Args:
            name: of the function.
            state: a state or a batch of states.
            arguments: the arguments of the function after q.
            wrenches: by frame of the cell.
            options: other options of the function.
        """
        if wrenches is not None and not isinstance(wrenches, Mapping):
            raise ArgumentError(f"wrenches: expected a mapping from frames, got {shown(wrenches)}")
        check_state_options(options)
        for frame in wrenches or ():
            self._cell.frame_index(frame)
        system = self._system_of(state, tuple(wrenches or ()))
        kd, q, parameters = self._at(system, state)
        quantity = ConstrainedKinDyn.quantities.get(name)
        if quantity is not None and quantity.needs == "independent":
            kd = self._with_independent(kd, system, state)
        if wrenches:
            options["wrenches"] = wrenches
        options = options_of_call(**options)
        result = getattr(kd, name)(
            q, *self._signed(name, arguments), parameters=parameters, **options
        )
        if self._has_signs:
            shapes = quantity.shapes if quantity else (("nq",),)  # of `project_configuration`
            arrays = [result] if len(shapes) == 1 else result
            for array, shape in zip(arrays, shapes, strict=True):
                self._change_signs(array, shape, kd.problem)
        return result

    def _with_independent(
        self, kd: ConstrainedKinDyn, system: System, state: State
    ) -> ConstrainedKinDyn:
        """Return the robot with independent coordinates, which are chosen in the first state."""

        def choose() -> tuple[int, ...]:
            q, parameters = self._first_row(system, state)
            J = np.asarray(kd.jacobian(q, parameters=parameters))
            return independent_coordinates(J, kd.problem.actuated or ())

        indices = self._cache.get("independent coordinates", system, choose)
        return self._cache.get(
            "independent robots", (system, kd), lambda: kd.replace(independent=indices)
        )

    def _at(self, system: System, state: State) -> tuple[ConstrainedKinDyn, Array, Array]:
        """Return the robot with payloads, its q, and its parameters; cached for the last state."""
        last = self._last
        if last is not None and last[0] is state and last[1] is system:
            return last[2]
        q = self._device.get_q(state)
        if self._has_signs:
            q = q * self._q_signs
        kd, parameters = system.at(state, self._target_poses)
        result = kd, np.ascontiguousarray(q), parameters
        self._last = state, system, result
        return result

    def _first_row(self, system: System, state: State) -> tuple[Array, Array]:
        """Return q and the parameters of the first row; of the default state for an empty batch."""
        if 0 in state.batch_shape:
            state = self._cell.default_state
        elif state.batch_shape:
            state = state[(0,) * len(state.batch_shape)]
        return self._at(system, state)[1:]

    # Systems.

    def _system_of(self, state: State, more: tuple[str, ...]) -> System:
        """Return the system of a state with wrenches on more frames; all rows must have the same.

        Raises:
            ArgumentError: the rows of a batch need different robots.
        """
        parents = self._cell.check_state(state).parents
        if not state.batch_shape:
            return self._system(parents, more)
        rows = distinct_rows(flat_rows(parents))[0]
        rows = rows if len(rows) else [self._cell.default_state.parents]
        first, *others = (self._system(row, more) for row in rows)
        if any(other is not first for other in others):
            text = "in the rows of this batch, frames of contacts are attached to different links"
            raise ArgumentError(f"state: {text}; pass rows with equal attachments")
        return first

    def _system(self, parents: Array, more: tuple[str, ...]) -> System:
        """Return the system for one row of attachments."""
        layout = self._cell.layout
        ends = (*self._frames, *sorted(set(more).difference(self._frames)))
        roots = self._roots
        if more:
            roots = [*roots, *(int(layout.part_roots[layout.frame(name)]) for name in more)]
        key = ends, tuple(attachments_of(layout, root, parents) for root in roots)
        return self._cache.get("systems", key, lambda: self._build(parents, ends))

    def _build(self, parents: Array, ends: Sequence[str]) -> System:
        cell = self._cell
        values = cell.default_state.values  # poses of locked frames are parameters
        robot = frames_model(self._device, State.trusted(cell.layout, values, parents), ends)
        links = [
            replace(link, collisions=cell.frame(link.name).collisions)  # which have the radius
            if link.name in self._rolling
            else link
            for link in robot.model.links
        ]
        model = replace(
            robot.model,
            links=(*links, *(Link(name=joint.name) for joint in self._target_joints)),
            joints=(*robot.model.joints, *self._target_joints),
        )
        robot = replace(robot, model=model)
        plain = ConstrainedKinDyn(model, WORLD, floating=False, cut=robot.cut, **self._options)
        more = [JointPose(joint.name) for joint in self._target_joints]
        return LoadedRobot(cell, robot, plain, self._carriers, more)

    # Signs: a movable frame has conjugate coordinates in the model.

    def _signed(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Change the signs of arguments as nu to those of the model."""
        if not self._has_signs:
            return list(arguments)
        quantity, problem = ConstrainedKinDyn.quantities.get(name), self.default.kd.problem
        shapes = [one.shape(problem) for one in quantity.inputs[1:]] if quantity else []
        return [
            argument * self._nu_signs
            if shape == self._nu_signs.shape == (argument := as_array(one, "nu")).shape[-1:]
            else one  # which the kernel reports if it has another shape
            for one, shape in zip(arguments, shapes, strict=True)
        ]

    def _change_signs(self, array: Array, shape: Shape, problem: Problem) -> None:
        """Change the signs of a result of the model to those of the device."""
        for k, dimension in enumerate(shape):
            if dimension == "nq":
                signs = self._q_signs
            elif dimension in _COORDINATES:
                signs = self._nu_signs[list(_COORDINATES[dimension](problem))]
            else:
                continue
            array *= signs.reshape([-1 if j == k else 1 for j in range(len(shape))])


def _signs(device: DeviceJoints) -> tuple[Array, Array]:
    """Return factors (nq,) and (nv,) from q and nu of a device to those of its `frames_model`."""
    q, nu = [np.ones(0)], [np.ones(0)]
    for name in device.joint_names:
        frame = device.cell.frame(name)
        q.append(np.array([1.0] * 4 + [-1.0] * 3) if frame.movable else np.ones(frame.size))
        nu.append(
            np.array([1.0] * 3 + [-1.0] * 3) if frame.movable else np.ones(frame.velocity_size)
        )
    return np.concatenate(q), np.concatenate(nu)
