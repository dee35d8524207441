"""A robot of a cell with everything that it carries: gripped objects, and what is on them.

A frame with inertia that is not part of the device is carried by the first frame of the device on
its path to WORLD, if there is one. Joints on that path that the device does not move are locked at
their position in the state. The ten inertial parameters of such a frame are transformed to the body
from frame to frame. Rows of a batch whose attachments lead to equal paths are computed together.

The inertia of the load of some bodies, and the poses of locked frames, are parameters of the
compiled functions. So nothing is compiled when an object is gripped or released, and the rows of a
batch may have different loads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, listed, name_not_found, nearest, shown, warn
from linkwork.kindyn import KinDyn
from linkwork.parameters import JointPose, Parameter, Payload
from linkwork.spatial import inertia
from linkwork.spatial.source import inertia as inertia_source
from linkwork.spatial.source import quat, se3
from linkwork.workcell.cell.data import CellData, Results
from linkwork.workcell.cell.structure import leader_of, local_pose, parent_index
from linkwork.workcell.kinematics.attach import poses_to_xyz_wxyz
from linkwork.workcell.kinematics.device_joints import DeviceJoints
from linkwork.workcell.kinematics.device_model import DeviceModel
from linkwork.workcell.state.state import State, equal_rows, flat_rows

Totals = dict[int, Array]
"""By body: (rows, 10) inertial parameters of its total load, in the axes of the body."""


@dataclass(frozen=True)
class Step:
    """The transform from a frame to a frame that carries it."""

    frame: int  # the frame whose pose in its parent depends on the state; -1 for none
    pose: Array  # (4, 4) of that parent in the carrying frame


@dataclass(frozen=True)
class CarriedFrame:
    """A frame with inertia that a body carries."""

    body: int
    parameters: Array  # (10,) inertial parameters in the axes of the frame
    steps: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """All frames that the bodies carry, for some attachments."""

    carried: tuple[CarriedFrame, ...]
    columns: Any  # state values that affect the loads: a slice or an array of indices


class Loads:
    """Finds and sums the loads of the bodies of a device."""

    def __init__(
        self, cell: CellData, frames: Mapping[int, tuple[int, Array]], more: Collection[int] = ()
    ) -> None:
        """Determine which frames can be carried.

        Args:
            cell: the workcell.
            frames: by index of each frame of the device: its body, and its pose (4, 4) there.
            more: frames of the device whose poses in their bodies depend on the state; their loads
                are transformed to the nearest of `frames` that carries them.
        """
        self._cell, self._frames = cell, frames
        self._plans = Results(self._build_plan)  # by the bytes of attachments
        layout = cell.layout
        n = len(layout.slots)
        self._is_carried = np.zeros(n, dtype=bool)  # whether a body carries it in every state
        # column of the attachable frame that carries it; -1 if WORLD does
        self._column = np.full(n, -1, dtype=np.int32)
        for k in range(n):
            current, root = k, int(layout.part_roots[k])
            while current not in frames and current not in (root, 0):
                current = layout.slots[current].parent
            self._is_carried[k] = current in frames
            self._column[k] = layout.columns[root] if root else -1
        self._sources = [
            (k, frame.inertia.parameters())
            for k, frame in enumerate(cell.frames)
            if k not in frames
            and k not in more
            and (frame.inertia.mass or any(frame.inertia.tensor))
        ]

    def plan(self, parents: Array) -> Plan:
        """Return the plan for the attachments (n_attachable,) of one state."""
        return self._plans[parents.tobytes()]

    def groups(self, parents: Array) -> list[tuple[Plan, Any]]:
        """Return the plans of rows of attachments (rows, n_attachable), and the rows of each."""
        if not parents.strides[0]:  # all rows are the same memory
            return [(self.plan(parents[0]), slice(None))]
        # attachments of frames that no body carries do not split groups
        parents = np.where(self._are_carried(parents), parents, np.int32(-1))
        return [(self.plan(parents[rows[0]]), rows) for rows in equal_rows(parents)]

    def _are_carried(self, parents: Array) -> Array:
        """Return whether a body carries each attachable frame, (rows, n_attachable)."""
        is_carried, parent_columns = self._is_carried[parents], self._column[parents]
        rows = np.arange(len(parents))[:, None]
        pending = ~is_carried & (parent_columns >= 0)
        while pending.any():  # frames attached to other attachable frames
            targets = np.where(pending, parent_columns, 0)
            target_carried, next_columns = is_carried[rows, targets], parent_columns[rows, targets]
            is_carried = is_carried | (pending & target_carried)
            parent_columns = np.where(pending, next_columns, parent_columns)
            pending = ~is_carried & (parent_columns >= 0)
        return is_carried

    def totals(self, plan: Plan, values: Array) -> Totals:
        """Sum the loads of each body, for state values (rows, n_values) with the same plan."""
        totals: Totals = {}
        for carried in plan.carried:
            parameters = carried.parameters
            for step in carried.steps:
                parameters = self._transform(step, parameters, values)
            totals[carried.body] = totals.get(carried.body, 0.0) + parameters
        return totals

    def _transform(self, step: Step, parameters: Array, values: Array) -> Array:
        """Compute inertial parameters after one step, (..., 10)."""
        if step.frame < 0:
            return inertia.transform(step.pose, parameters)
        if self._cell.frames[step.frame].movable:
            xyz_wxyz = values[:, self._cell.layout.span(step.frame)]
            return _movable_transform()(parameters, xyz_wxyz, np.ascontiguousarray(step.pose[:3]))
        pose = step.pose @ local_pose(self._cell, step.frame, values)
        return inertia.transform(pose, parameters)

    def _build_plan(self, attachments: bytes) -> Plan:
        parents = np.frombuffer(attachments, dtype=np.int32)
        carried: list[CarriedFrame] = []
        columns: set[int] = set()
        for source, parameters in self._sources:
            path = self._path_to_body(source, parents)
            if path is not None:
                body, steps = path
                carried.append(CarriedFrame(body, parameters, tuple(steps)))
                for step in steps:
                    columns.update(self._columns_of_step(step))
        return Plan(tuple(carried), columns_of(sorted(columns)))

    def _path_to_body(self, frame: int, parents: Array) -> tuple[int, list[Step]] | None:
        """Return the body that carries a frame, and the steps to it; None without such a body."""
        layout = self._cell.layout
        steps: list[Step] = []
        pose, moving = np.eye(4), -1  # product of constant poses since the last moving frame
        while frame not in self._frames:
            cell_frame = self._cell.frames[frame]
            if cell_frame.movable or cell_frame.motion:
                steps.append(Step(moving, pose))
                pose, moving = np.eye(4), frame
            else:
                pose = cell_frame.parent_H_frame.matrix() @ pose
            frame = parent_index(layout, frame, parents)
            if frame < 0:
                return None
        body, body_H_frame = self._frames[frame]
        steps.append(Step(moving, body_H_frame @ pose))
        identity = np.eye(4)
        is_trivial = [one.frame < 0 and np.array_equal(one.pose, identity) for one in steps]
        return body, [one for one, trivial in zip(steps, is_trivial, strict=True) if not trivial]

    def _columns_of_step(self, step: Step) -> range:
        """Return the columns of the state values that a step depends on."""
        if step.frame < 0:
            return range(0)
        leader, _, _ = leader_of(self._cell, self._cell.frames[step.frame])
        span = self._cell.layout.span(leader)
        return range(span.start, span.stop)


def columns_of(columns: list[int]) -> Any:
    """Return an index of columns: a slice, which needs no copy, if they are contiguous."""
    if columns == list(range(columns[0], columns[0] + len(columns)) if columns else []):
        return slice(columns[0], columns[-1] + 1) if columns else slice(0, 0)
    return np.array(columns, dtype=np.intp)


@cache
def _movable_transform() -> Any:
    """Return the compiled step of a movable frame: transform parameters by mount @ pose."""

    @compile_function(parameters=(10,), xyz_wxyz=(7,), mount=(3, 4))
    def movable_transform(parameters: Array, xyz_wxyz: Array, mount: Array) -> Array:
        pose = se3.pose(quat.to_rotation(xyz_wxyz[3:]), xyz_wxyz[:3])
        last_row = np.array([[0.0, 0.0, 0.0, 1.0]])
        return inertia_source.transform(np.concatenate([mount, last_row]) @ pose, parameters)

    return movable_transform


def prepare() -> None:
    """Compile the step of a movable frame, so that gripping compiles nothing."""
    pose = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    _movable_transform()(np.zeros(10), pose, np.eye(3, 4))


def warm_movable_transform() -> None:
    """Wait for the optimized code of that step."""
    _movable_transform().warmup()


class LoadedRobot:
    """A robot with payloads on the bodies of its carriers, and its parameters in a state.

    If other bodies carry objects in a state, a robot with payloads on all bodies is used.
    """

    def __init__(
        self,
        cell: CellData,
        robot: DeviceModel,
        plain: KinDyn,
        carriers: Sequence[str],
        more: Sequence[Parameter] = (),
    ) -> None:
        """Create the robot with payloads.

        Args:
            cell: the workcell.
            robot: the model of the robot and its frames in the cell.
            plain: its functions without payloads.
            carriers: frames of the robot whose bodies may carry objects.
            more: additional parameters after the payloads; their default is zero.

        Raises:
            NameNotFoundError: a carrier is not a frame of the robot.
        """
        self._cell, self.robot, self._plain = cell, robot, plain
        self._payloads = Results(self._compute_payloads)  # by plan and the bytes of its values
        self._frames = robot.bodies(cell, plain)
        beyond = {cell.frame_index(name) for name in robot.beyond_locked()}
        # frames beyond locked ones are not rigidly fixed to their bodies
        fixed = {k: body_pose for k, body_pose in self._frames.items() if k not in beyond}
        self._loads = Loads(cell, fixed, beyond)
        self._more = [*(JointPose(name) for name in robot.locked), *more]
        self._slots = self._slots_of(carriers)
        self.kd = self._with_payloads(self._slots)
        prepare()

    def at(self, state: State, more: Mapping[str, Array]) -> tuple[KinDyn, Array]:
        """Return the robot for the loads of a state, and its parameters, (n,) or (..., n).

        Args:
            state: a state of the cell.
            more: (..., size) values of additional parameters by name.
        """
        if state.values.ndim == 1:
            plan = self._loads.plan(state.parents)
            kd, parameters = self._payloads[plan, state.values[plan.columns].tobytes()]
        else:
            kd, parameters = self._of_batch(state)
        if not more and not self.robot.locked:
            return kd, parameters
        values = dict(more)
        for name in self.robot.locked:
            values[f"joint_pose.{name}"] = self._locked_pose(name, state.values)
        batch = np.broadcast_shapes(*(one.shape[:-1] for one in (parameters, *values.values())))
        parameters = np.broadcast_to(parameters, (*batch, parameters.shape[-1])).copy()
        for name, array in values.items():
            parameters[..., kd.parameters[name]] = array
        return kd, parameters

    def _of_batch(self, state: State) -> tuple[KinDyn, Array]:
        """Return the robot and the parameters of its payloads; (n,) if all rows have the same."""
        values = flat_rows(state.values)
        if not len(values):
            return self.kd, self.kd.parameter_values()
        groups = self._loads.groups(flat_rows(state.parents))
        if len(groups) == 1:
            plan = groups[0][0]
            of_loads = values[:, plan.columns]
            if (of_loads == of_loads[0]).all():
                return self._payloads[plan, of_loads[0].tobytes()]
        kd, parameters = self._of_rows(groups, values)
        return kd, parameters.reshape(*state.batch_shape, -1)

    def _compute_payloads(self, key: tuple[Plan, bytes]) -> tuple[KinDyn, Array]:
        """Return the robot and its parameters (n,) for a plan and the values that it depends on."""
        plan, of_loads = key
        values = np.zeros((1, self._cell.layout.n_values))
        values[0, plan.columns] = np.frombuffer(of_loads)
        kd, (parameters,) = self._of_rows([(plan, slice(None))], values)
        parameters.flags.writeable = False
        return kd, parameters

    def _of_rows(self, groups: Sequence[tuple[Plan, Any]], values: Array) -> tuple[KinDyn, Array]:
        """Return the robot and its parameters (rows, n) for groups of rows with equal plans."""
        parts = [(self._loads.totals(plan, values[rows]), rows) for plan, rows in groups]
        if not self._plain.floating:
            for totals, _ in parts:
                totals.pop(0, None)  # loads of a fixed base do not move
        bodies = {body for totals, _ in parts for body in totals}
        kd, slots = (self.kd, self._slots) if bodies <= self._slots.keys() else self._general
        parameters = np.zeros((len(values), kd.parameters.size))
        for totals, rows in parts:
            for body, total in totals.items():
                parameters[rows, kd.parameters[f"payload.{slots[body]}"]] = total
        return kd, parameters

    @cached_property
    def _general(self) -> tuple[KinDyn, dict[int, str]]:
        """The robot with a payload on every body, and the links of its payloads."""
        bodies = range(0 if self._plain.floating else 1, len(self._plain.tree.links))
        slots = {body: self._plain.tree.links[body][0] for body in bodies}
        return self._with_payloads(slots), slots

    def _with_payloads(self, slots: Mapping[int, str]) -> KinDyn:
        payloads = [Payload(link) for link in slots.values()]
        return _shared(self._plain.replace(parameters=[*payloads, *self._more]))

    def _slots_of(self, carriers: Iterable[str]) -> dict[int, str]:
        """Return the link of the payload by body."""
        links = self._plain.tree.links
        slots: dict[int, str] = {}
        for name in carriers:
            index = self._cell.frame_index(name)
            if index not in self._frames:
                names = [self._cell.frame_names[k] for k in self._frames]
                raise name_not_found(f"frame of device {self.robot.model.name!r}", name, names)
            body = self._frames[index][0]
            if body or self.robot.floating:
                slots[body] = links[body][0]
        last = len(links) - 1  # if the only end is the fixed base
        return slots or {last: links[last][0]}

    def _locked_pose(self, name: str, values: Array) -> Array:
        """Compute position and quaternion (..., 7) of a locked frame from state values."""
        index = self._cell.frame_index(name)
        if self._cell.frames[index].movable:
            return values[..., self._cell.layout.span(index)]
        return poses_to_xyz_wxyz(local_pose(self._cell, index, values))

    def warn_of_missing_inertia(self, owner: str) -> None:
        """Warn about joints that move no inertia in the default state."""
        tree = self._plain.tree
        has_inertia = [bool(inertia.any()) for inertia in tree.inertias]
        for carried in self._loads.plan(self._cell.default_state.parents).carried:
            has_inertia[carried.body] = True
        for body, parent, _ in tree.inward():
            has_inertia[parent] |= has_inertia[body]
        massless = [tree.links[body][0] for body, _, _ in tree.outward() if not has_inertia[body]]
        if massless:
            names = self.robot.names
            frames = listed([names[link] for link in massless if link in names])
            message = f"{owner}: the frames that these joints move have no inertia, so their forces"
            message += f" and entries of the mass matrix are zero: {frames};"
            message += " set cell.with_changed(frame, inertia=...), or load a .dwc.xml file"
            warn(message)

    def warn_of_joints_outside(self, owner: str, device: DeviceJoints) -> None:
        """Warn about joints that depend on joints of a device, but are not part of the model."""
        outside = self.robot.joints_outside(device)
        if outside:
            message = f"{owner}: these joints depend on its joints, but are not part of its robot,"
            hint = (
                "an lw.JointDevice moves joints that its base carries and that are not attachable"
            )
            warn(f"{message} so they are locked: {listed(outside)}; {hint}")


def carrier_names(carriers: Any) -> tuple[str, ...]:
    """Convert the option `carriers` to a tuple."""
    if not isinstance(carriers, (list, tuple)):
        raise ArgumentError(f"carriers: expected a list of frames, got {shown(carriers)}")
    return tuple(carriers)


def check_state_options(options: Iterable[str]) -> None:
    """Reject options of `KinDyn` that a function of a state does not have."""
    for name in options:
        if name in ("parameters", "gravity"):
            raise ArgumentError(
                f"argument {name!r} is unknown; {nearest(name, ['out', 'threads'])}"
            )


@lru_cache(maxsize=32)
def _shared(kd: KinDyn) -> KinDyn:
    """Return one object for equal robots, so that other cells with the same arm compile nothing."""
    return kd
