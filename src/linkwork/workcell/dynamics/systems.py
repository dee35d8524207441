"""The robot that the devices of a cell form under constraints, for the attachments of a state.

Which link carries the frame of a contact depends on the attachments. A `System` is the robot for
some of them; everything else that a state defines is a parameter of its functions: the loads of the
links, the poses of locked frames, and the targets of contacts. Rows of a batch that need different
systems are evaluated in groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, ShapeError, shown
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
from linkwork.workcell.kinematics.attach import joint_batch, poses_to_xyz_wxyz
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
        groups = self._groups(self._cell.check_state(state), ())
        if len(groups) > 1:
            raise ArgumentError(_different_robots("there is no single robot for them"))
        return self._at(groups[0][0], state)

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
        acting = wrenches or {}
        frames = tuple(acting)
        for frame in frames:
            self._cell.frame_index(frame)
        groups = self._groups(self._cell.check_state(state), frames)
        signed = self._signed(name, arguments)
        if len(groups) == 1:
            if frames:
                options["wrenches"] = acting
            return self._call(name, groups[0][0], state, signed, options)
        if self._needs_independent(name):
            raise ArgumentError(_different_robots("their independent velocities differ"))
        return self._by_rows(name, state, signed, acting, options)

    def _by_rows(
        self,
        name: str,
        state: State,
        signed: Sequence[Any],
        acting: Mapping[str, ArrayLike],
        options: dict[str, Any],
    ) -> Any:
        """Call a function for each group of rows with equal attachments, and merge the results."""
        frames, out = tuple(acting), options.pop("out", None)
        arrays = {f"argument {k + 2}": as_array(one, "nu") for k, one in enumerate(signed)}
        arrays |= {f"wrench of {frame}": as_array(one, frame) for frame, one in acting.items()}
        n_axes = [*map(len, self._row_shapes(name)), *(1 for _ in acting)]
        batch, flat, columns = _flattened(state, arrays, n_axes)
        parts: list[tuple[Array, Any]] = []
        for system, rows in self._groups(flat, frames):
            selected = [column[rows] for column in columns]
            if frames:
                of_rows = selected[len(signed) :]
                options["wrenches"] = dict(zip(frames, of_rows, strict=True))
            vectors = selected[: len(signed)]
            parts.append((rows, self._call(name, system, flat[rows], vectors, options)))
        return _gathered(parts, batch, out)

    def _call(
        self, name: str, system: System, state: State, arguments: Sequence[Any], options: Any
    ) -> Any:
        kd, q, parameters = self._at(system, state)
        if self._needs_independent(name):
            kd = self._with_independent(kd, system, state)
        options = options_of_call(**options)
        result = getattr(kd, name)(q, *arguments, parameters=parameters, **options)
        if self._has_signs:
            quantity = ConstrainedKinDyn.quantities.get(name)
            shapes = quantity.shapes if quantity else (("nq",),)  # of `project_configuration`
            arrays = [result] if len(shapes) == 1 else result
            for array, shape in zip(arrays, shapes, strict=True):
                self._change_signs(array, shape, kd.problem)
        return result

    def _needs_independent(self, name: str) -> bool:
        quantity = ConstrainedKinDyn.quantities.get(name)
        return quantity is not None and quantity.needs == "independent"

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

    def _groups(self, state: State, more: tuple[str, ...]) -> list[tuple[System, Array]]:
        """Return the systems of a state with wrenches on more frames, and the rows of each."""
        if not state.batch_shape:
            return [(self._system(state.parents, more), np.arange(1))]
        rows = flat_rows(state.parents)
        if not len(rows):
            return [(self._system(self._cell.default_state.parents, more), np.arange(0))]
        distinct, of_row = distinct_rows(rows)
        groups: dict[int, tuple[System, list[int]]] = {}
        for k, row in enumerate(distinct):
            system = self._system(row, more)
            groups.setdefault(id(system), (system, []))[1].append(k)
        return [
            (system, np.flatnonzero(np.isin(of_row, which))) for system, which in groups.values()
        ]

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
        is_like_nu = [shape == self._nu_signs.shape for shape in self._row_shapes(name)]
        return [
            argument * self._nu_signs
            if like_nu and (argument := as_array(one, "nu")).shape[-1:] == self._nu_signs.shape
            else one  # which the kernel reports if it has another shape
            for one, like_nu in zip(arguments, is_like_nu, strict=True)
        ]

    def _row_shapes(self, name: str) -> list[tuple[int, ...]]:
        """Return the shape of one row of each argument of a function after q."""
        quantity, problem = ConstrainedKinDyn.quantities.get(name), self.default.kd.problem
        return [one.shape(problem) for one in quantity.inputs[1:]] if quantity else []

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


def _flattened(
    state: State, arguments: Mapping[str, Array], n_axes: Sequence[int]
) -> tuple[tuple[int, ...], State, list[Array]]:
    """Broadcast all arguments, and flatten the batch to one row for every element.

    Args:
        state: a batch of states.
        arguments: arrays by name.
        n_axes: the number of axes of one row of each.

    Returns:
        The batch axes, and the states and the arrays with one row for every element.
    """
    batch = state.batch_shape
    row_shapes: list[tuple[int, ...]] = []
    for (name, array), n in zip(arguments.items(), n_axes, strict=True):
        if array.ndim < n:
            raise ShapeError(f"{name}: expected (..., n), got {array.shape}")
        batch = joint_batch(batch, array.shape[: array.ndim - n], name)
        row_shapes.append(array.shape[array.ndim - n :])
    wide = state.broadcast(*batch)
    rows = State.trusted(state.layout, flat_rows(wide.values), flat_rows(wide.parents))
    columns = [
        np.broadcast_to(array, (*batch, *shape)).reshape(prod(batch), *shape)
        for array, shape in zip(arguments.values(), row_shapes, strict=True)
    ]
    return batch, rows, columns


def _gathered(parts: Sequence[tuple[Array, Any]], batch: tuple[int, ...], out: Any) -> Any:
    """Merge the results of groups of rows, in the arrays `out` if there are any."""
    first = parts[0][1]
    is_tuple = isinstance(first, tuple)
    results: list[Array] = []
    for k, part in enumerate(first if is_tuple else [first]):
        gathered = np.empty((prod(batch), *part.shape[1:]), part.dtype)
        for rows, result in parts:
            gathered[rows] = result[k] if is_tuple else result
        results.append(gathered.reshape(*batch, *part.shape[1:]))
    if out is not None:
        targets = list(out) if is_tuple else [out]
        for target, array in zip(targets, results, strict=True):
            if target.shape != array.shape:
                raise ShapeError(f"out: expected {array.shape}, got {target.shape}")
            target[...] = array
        results = targets
    if not is_tuple:
        return results[0]
    return type(first)(*results)


def _different_robots(reason: str) -> str:
    text = "in the rows of this batch, frames of contacts are attached to different links"
    return f"state: {text}, and {reason}; pass rows with equal attachments"
