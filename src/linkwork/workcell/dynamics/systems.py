"""The robot that the devices of a cell form under constraints, for the attachments of a state.

Which link carries the frame of a contact depends on the attachments. A `System` is the robot for
some of them; everything else that a state defines is a parameter of its functions: the loads of the
links, the poses of locked frames, and the targets of contacts. Rows of a batch that need different
systems are evaluated in groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, ShapeError, shown
from linkwork.kindyn import ConstrainedKinDyn
from linkwork.kindyn.constrained.contacts import Contact
from linkwork.kindyn.constrained.methods import independent_coordinates
from linkwork.kindyn.core import options_of_call
from linkwork.model.parts import Joint, Link
from linkwork.model.pose import IDENTITY
from linkwork.parameters import JointPose
from linkwork.workcell.cell.frames import WORLD
from linkwork.workcell.cell.structure import attachments_of
from linkwork.workcell.dynamics.loaded_robot import LoadedRobot
from linkwork.workcell.kinematics.attach import joint_batch, poses_to_xyz_wxyz
from linkwork.workcell.kinematics.device_joints import DeviceJoints
from linkwork.workcell.kinematics.device_model import frames_model
from linkwork.workcell.state.state import State, distinct_rows, flat_rows

CACHE_SIZE = 64  # cached systems, for different attachments

# Axes of the results: v as nu, q as q, a and u the actuated and other coordinates of nu, i the
# independent ones, m the equations.
RESULTS: dict[str, tuple[str, ...]] = {
    "error": ("m",),
    "jacobian": ("mv",),
    "bias": ("m",),
    "forward_dynamics": ("v", "m", "m"),
    "forward_dynamics_derivatives": ("vv", "vv", "vv", "mv", "mv", "mv"),
    "inverse_dynamics": ("a", "m", "u"),
    "inverse_dynamics_derivatives": ("av", "av", "av", "mv", "mv", "mv"),
    "impact": ("v", "m"),
    "impact_derivatives": ("vv", "vv", "mv", "mv"),
    "project_velocity": ("v",),
    "project_configuration": ("q",),
    "delassus": ("mm",),
    "independent_velocities": ("vi",),
    "mass_matrix": ("ii",),
    "kinetic_energy": ("",),
    "step": ("q", "v"),
}


@dataclass(eq=False)
class System:
    """The robot for some attachments."""

    loaded: LoadedRobot[ConstrainedKinDyn]
    # by robot: the same with independent coordinates, which are chosen once
    independent: dict[ConstrainedKinDyn, ConstrainedKinDyn] = field(
        default_factory=dict[ConstrainedKinDyn, ConstrainedKinDyn]
    )

    def with_independent(self, kd: ConstrainedKinDyn, q: Array, p: Array) -> ConstrainedKinDyn:
        """Return the robot with independent coordinates, which are chosen at the first q."""
        earlier = next(iter(self.independent.values()), None)
        if earlier is None:
            J = np.asarray(kd.jacobian(q, parameters=p))
            chosen = independent_coordinates(J, kd.problem.actuated or ())
        else:
            chosen = earlier.independent
        return self.independent.setdefault(kd, kd.replace(independent=chosen))


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
        self._cache: dict[Any, System] = {}
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
        *vectors: ArrayLike,
        number: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
        out: Any = None,
        **options: Any,
    ) -> Any:
        """Return the result of a function of `ConstrainedKinDyn` in a state.

        Args:
            name: of the function.
            state: a state or a batch of states.
            vectors: (..., nv) velocities and forces.
            number: (...) the last argument of some functions, such as a time.
            wrenches: by frame of the cell.
            out: arrays for the results.
            options: other options of the function that are not None.
        """
        if wrenches is not None and not isinstance(wrenches, Mapping):
            raise ArgumentError(f"wrenches: expected a mapping from frames, got {shown(wrenches)}")
        frames = tuple(wrenches or ())
        for frame in frames:
            self._cell.frame_index(frame)
        groups = self._groups(self._cell.check_state(state), frames)
        signed = [self._signed(vector) for vector in vectors]
        if len(groups) == 1:
            arguments = signed if number is None else [*signed, number]
            options |= {"wrenches": wrenches or None, "out": out}
            return self._call(name, groups[0][0], state, arguments, options)
        if "i" in "".join(RESULTS[name]):
            raise ArgumentError(_different_robots("their independent velocities differ"))
        batch, flat, arguments, acting = _flattened(state, signed, number, wrenches or {})
        parts: list[tuple[Array, Any]] = []
        for system, rows in self._groups(flat, frames):
            part = {**options, "wrenches": {key: one[rows] for key, one in acting.items()} or None}
            selected = [argument[rows] for argument in arguments]
            parts.append((rows, self._call(name, system, flat[rows], selected, part)))
        return _gathered(parts, batch, out)

    def _call(
        self, name: str, system: System, state: State, arguments: Sequence[Any], options: Any
    ) -> Any:
        kd, q, parameters = self._at(system, state)
        if "i" in "".join(RESULTS[name]):
            chosen = system.independent.get(kd)
            kd = chosen or system.with_independent(kd, *self._first_row(system, state))
        options = options_of_call(**options)
        result = getattr(kd, name)(q, *arguments, parameters=parameters, **options)
        if self._has_signs:
            arrays = [result] if len(RESULTS[name]) == 1 else result
            for array, axes in zip(arrays, RESULTS[name], strict=True):
                self._change_signs(array, axes, kd)
        return result

    def _at(self, system: System, state: State) -> tuple[ConstrainedKinDyn, Array, Array]:
        """Return the robot with payloads, its q, and its parameters; cached for the last state."""
        last = self._last
        if last is not None and last[0] is state and last[1] is system:
            return last[2]
        q = self._device.get_q(state)
        if self._has_signs:
            q = q * self._q_signs
        kd, parameters = system.loaded.at(state, self._target_poses)
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
        system = self._cache.get(key)
        if system is None:
            if len(self._cache) >= CACHE_SIZE:
                self._cache = {}
            system = self._cache[key] = self._build(parents, ends)
        return system

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
        return System(LoadedRobot(cell, robot, plain, self._carriers, more))

    # Signs: a movable frame has conjugate coordinates in the model.

    def _signed(self, vector: ArrayLike) -> Any:
        """Change the signs of a vector as nu to those of the model."""
        if not self._has_signs:
            return vector
        array = as_array(vector, "nu")
        is_valid = array.shape[-1:] == self._nu_signs.shape
        return array * self._nu_signs if is_valid else vector  # which the kernel reports

    def _change_signs(self, array: Array, axes: str, kd: ConstrainedKinDyn) -> None:
        """Change the signs of a result of the model to those of the device."""
        actuated = list(kd.problem.actuated or ())
        others = [k for k in range(kd.nv) if k not in actuated]
        signs = {
            "q": self._q_signs,
            "v": self._nu_signs,
            "a": self._nu_signs[actuated],
            "u": self._nu_signs[others],
            "i": self._nu_signs[list(kd.independent or ())],
        }
        for k, axis in enumerate(axes):
            if axis in signs:
                shape = [-1 if j == k else 1 for j in range(len(axes))]
                array *= signs[axis].reshape(shape)


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
    state: State, vectors: Sequence[Any], number: Any, wrenches: Mapping[str, Any]
) -> tuple[tuple[int, ...], State, list[Array], dict[str, Array]]:
    """Broadcast all arguments, and flatten the batch to one row for every element."""
    arrays = {f"argument {k + 2}": as_array(one, "nu") for k, one in enumerate(vectors)}
    arrays |= {f"wrench of {name}": as_array(one, name) for name, one in wrenches.items()}
    batch = state.batch_shape
    for name, array in arrays.items():
        if array.ndim == 0:
            raise ShapeError(f"{name}: expected (..., n), got {array.shape}")
        batch = joint_batch(batch, array.shape[:-1], name)
    numbers = [] if number is None else [as_array(number, "number")]
    for array in numbers:
        batch = joint_batch(batch, array.shape, "number")
    wide = state.broadcast(*batch)
    rows = State.trusted(state.layout, flat_rows(wide.values), flat_rows(wide.parents))
    flat = [flat_rows(np.broadcast_to(one, (*batch, one.shape[-1]))) for one in arrays.values()]
    of_wrenches = dict(zip(wrenches, flat[len(vectors) :], strict=True))
    arguments = [*flat[: len(vectors)], *(np.broadcast_to(one, batch).ravel() for one in numbers)]
    return batch, rows, arguments, of_wrenches


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
