"""Inverse kinematics in a workcell: states in which frames reach their targets.

A target belongs to the device whose joints carry the frame in the state: the frame is a link of the
device, fixed to a link, or gripped. `linkwork.ik` solves for the link that carries the frame;
everything else in the state is unchanged.

Rows of a batch with different attachments or different poses of locked frames are solved in
separate groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.collision.exact.queries import Meshes
from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, listed, name_not_found, shown
from linkwork.inverse_kinematics.ik import IkResult, ik, summary
from linkwork.inverse_kinematics.tasks import checked_positions
from linkwork.kindyn import KinDyn
from linkwork.model.pose import Pose
from linkwork.spatial.source import se3, so3
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.devices import RobotDevice
from linkwork.workcell.cell.structure import carriers, leader_of, local_pose
from linkwork.workcell.kinematics import fk
from linkwork.workcell.kinematics.collisions import CellCollisions, collisions_of
from linkwork.workcell.kinematics.device import device_of
from linkwork.workcell.kinematics.device_joints import DeviceJoints
from linkwork.workcell.kinematics.device_model import DeviceModel, device_model, loop_name
from linkwork.workcell.kinematics.state_changes import as_matrix, joint_batch
from linkwork.workcell.state.state import State, distinct_rows, equal_rows, flat_rows


@dataclass(frozen=True)
class CellIkResult:
    """States of a workcell in which frames reach their targets, and their errors.

    Attributes:
        state: a state or a batch of states; only the joints of `devices` differ from the start. If
            a target is not reached, the best state.
        converged: (...,) whether every target is reached within the tolerances, with closed loops,
            and, with `avoid`, without collisions.
        position_errors: by frame: (...,) distance to the target [m].
        rotation_errors: by frame with a pose as target: (...,) angle to the target [rad].
        devices: names of the devices that were moved.
        loop_errors: by closed loop or constraint of these devices, whose names begin with the name
            of the robot: (...,) largest error of its equations [m] or [rad].
        in_collision: with `avoid`: (...,) whether frames of the cell overlap; else None.
    """

    state: State
    converged: Array
    position_errors: Mapping[str, Array]
    rotation_errors: Mapping[str, Array]
    devices: tuple[str, ...]
    loop_errors: Mapping[str, Array]
    in_collision: Array | None

    def __repr__(self) -> str:
        return f"<CellIkResult: {summary(self.converged, self.position_errors, self.loop_errors)}>"


class Goal(NamedTuple):
    """The target of a frame: a pose (..., 4, 4), of which only the position may count."""

    pose: Array
    is_position: bool

    def at(self, rows: Array) -> Goal:
        """Return the targets of some rows of a batch."""
        return Goal(self.pose[rows], self.is_position)


def cell_ik(
    cell: CellData,
    state: State,
    targets: Mapping[str, Pose | ArrayLike],
    *,
    reference: str,
    device: str | None,
    hold: Sequence[str],
    avoid: bool,
    meshes: Meshes,
    **options: Any,
) -> CellIkResult:
    """Solve inverse kinematics; `WorkCell.ik` documents the arguments, `options` are of `ik`."""
    cell.check_state(state)
    cell.frame_index(reference)
    goals = _goals(cell, targets)
    batch = state.batch_shape
    for name, goal in goals.items():
        batch = joint_batch(batch, goal.pose.shape[:-2], name)
    start = state.broadcast(*batch) if batch != state.batch_shape else state
    flat = State.trusted(cell.layout, flat_rows(start.values), flat_rows(start.parents))
    world_H_reference = fk.world_H_frames(cell, (reference,), flat)[:, 0]
    in_world = {
        name: Goal(
            world_H_reference @ np.broadcast_to(goal.pose, (*batch, 4, 4)).reshape(-1, 4, 4),
            goal.is_position,
        )
        for name, goal in goals.items()
    }
    owners = _owners(cell, flat, tuple(goals), device)
    _reject_moving_reference(cell, flat, reference, owners)
    search = _Search(cell, flat, in_world, owners, hold, options)
    search.reach_targets()
    colliding = search.avoid_collisions(collisions_of(cell, meshes)) if avoid else None
    position, rotation = search.errors_of_targets()
    solved, converged = search.states, search.converged
    if colliding is not None:
        converged &= ~colliding
    values, parents = (a.reshape(*batch, a.shape[-1]) for a in (solved.values, solved.parents))
    return CellIkResult(
        State.trusted(cell.layout, values, parents),
        converged.reshape(batch),
        {name: error.reshape(batch) for name, error in position.items()},
        {name: error.reshape(batch) for name, error in rotation.items()},
        tuple(owners),
        {name: error.reshape(batch) for name, error in search.loop_errors.items()},
        None if colliding is None else colliding.reshape(batch),
    )


class _Search:
    """States (n,) that come closer to their targets: one device after the other moves."""

    def __init__(  # noqa: PLR0917
        self,
        cell: CellData,
        states: State,
        goals: Mapping[str, Goal],
        owners: Mapping[str, Sequence[str]],
        hold: Sequence[str],
        options: Mapping[str, Any],
    ) -> None:
        """Prepare the devices.

        Args:
            cell: the workcell.
            states: the states (n,) to start from.
            goals: targets in the world, by frame.
            owners: by device, the frames that it moves.
            hold: joint frames that keep their position.
            options: of `ik`.
        """
        self.cell, self.states, self.goals, self.options = cell, states, goals, options
        self.converged = np.ones(len(states.values), dtype=bool)
        self.loop_errors: dict[str, Array] = {}
        devices = [device_of(cell, name) for name in owners]
        _reject_unknown_joints(hold, devices)
        self._solvers = [
            (_Solver(device, hold, options), {name: goals[name] for name in owners[device.name]})
            for device in devices
        ]

    def reach_targets(self) -> None:
        """Move each device."""
        for solver, goals in self._solvers:
            self.states, reached, errors = solver.solve(self.states, goals)
            self.converged &= reached
            self.loop_errors |= errors

    def avoid_collisions(self, collisions: CellCollisions) -> Array:
        """Move devices in states that collide to other solutions; return which still collide."""
        colliding = collisions.any_colliding(self.states)
        for solver, goals in self._solvers:
            rows = (self.converged & colliding).nonzero()[0]
            if not rows.size:
                break
            some = {name: goal.at(rows) for name, goal in goals.items()}
            states, free, errors = solver.solve(self.states[rows], some, collisions)
            self.states = _with_rows(self.states, rows[free], states[free])
            colliding[rows[free]] = False
            for loop, error in errors.items():
                self.loop_errors[loop][rows[free]] = error[free]
        return colliding

    def errors_of_targets(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return distances and angles to the targets; states that miss one have not converged.

        Joints that depend on joints of a device may move its base, which its solver does not know.
        """
        position, rotation = _errors(self.cell, self.states, self.goals)
        tolerance = np.broadcast_to(as_array(self.options["tolerance"], "tolerance"), (2,))
        for errors, limit in zip((position, rotation), 1.01 * tolerance + 1e-12, strict=True):
            for error in errors.values():
                self.converged &= error <= limit
        return position, rotation


def _with_rows(states: State, rows: Array, others: State) -> State:
    """Return a batch of states with other values in some rows."""
    values = states.values.copy()
    values[rows] = others.values
    return State.trusted(states.layout, values, states.parents)


def _robot_of(device: DeviceJoints, state: State) -> tuple[DeviceModel, KinDyn]:
    """Return the robot of a device with locked frames at their poses in a state."""
    robot = device_model(device, state)
    return robot, robot.kindyn()


class _Solver:
    """Solves inverse kinematics for one device."""

    def __init__(
        self, device: DeviceJoints, hold: Sequence[str], options: Mapping[str, Any]
    ) -> None:
        self.cell, self.device = device.cell, device
        self.hold, self.options = _joints_to_hold(device, hold), options
        model = device_model(device)
        self.links = {frame: link for link, frame in model.names.items()}  # by frame of the cell
        self.outside = model.joints_outside(device)
        self.locked = [self._columns(self.cell.frame_index(name)) for name in model.locked]

    def solve(
        self, states: State, goals: Mapping[str, Goal], collisions: CellCollisions | None = None
    ) -> tuple[State, Array, dict[str, Array]]:
        """Solve for targets in the world, without collisions if these are passed.

        Returns:
            The states, whether they reach the targets (n,), and by loop its largest errors (n,).
        """
        q = self.device.get_q(states).copy()
        reached = np.zeros(len(q), dtype=bool)
        loop_errors: dict[str, Array] = {}
        for rows in self._groups(states, goals):
            selected = {name: goal.at(rows) for name, goal in goals.items()}
            solution = self._solve_group(states[rows], selected, collisions)
            q[rows], reached[rows] = solution.q, solution.converged
            for name, error in solution.loop_errors.items():
                in_cell = loop_name(self.cell, self.device.spec, name)
                loop_errors.setdefault(in_cell, np.zeros(len(q)))[rows] = error
        return self.device.set_q(states, q), reached, loop_errors

    def _groups(self, states: State, goals: Mapping[str, Goal]) -> Iterator[Array]:
        """Group rows by attachments, locked frames, and positions of frames in their links."""
        positions = [name for name, goal in goals.items() if goal.is_position]
        for rows in equal_rows(states.parents):
            parents = states.parents[rows[0]]
            columns = list(self.locked)
            for name in positions:
                columns += [self._columns(k) for k in self._path(name, parents)[1]]
            values = [states.values[rows, span] for span in columns]
            for part in equal_rows(np.concatenate([np.zeros((len(rows), 0)), *values], axis=-1)):
                yield rows[part]

    def _solve_group(
        self, states: State, goals: Mapping[str, Goal], collisions: CellCollisions | None
    ) -> IkResult:
        kd = self._kindyn(states)
        base_H_world = se3.inverse(self.device.world_H_model(states))
        targets: dict[str, Array] = {}
        max_distance = 0.0  # between a frame and the origin of its link [m]
        for name, goal in goals.items():
            carrier, path = self._path(name, states.parents[0])
            link = self.links[carrier]
            carrier_H_frame = np.tile(np.eye(4), (len(states), 1, 1))
            for k in path:
                carrier_H_frame = carrier_H_frame @ local_pose(self.cell, k, states.values)
            target = base_H_world @ goal.pose
            if not goal.is_position:
                target = target @ se3.inverse(carrier_H_frame)
                arms = np.linalg.norm(carrier_H_frame[:, :3, 3], axis=-1)
                max_distance = max(max_distance, float(arms.max()))
            else:
                target = target[:, :3, 3]
                if carrier_H_frame[0, :3, 3].any():
                    unused = name
                    while unused in kd.model.frame_names:
                        unused += "'"
                    model = kd.model.with_frame(unused, link, carrier_H_frame[0])
                    kd, link = kd.replace(model=model), unused
            if link in targets:
                message = f"targets: {listed(list(goals))}: two of these frames are fixed to"
                raise ArgumentError(f"{message} {carrier!r}; pass only one of them")
            targets[link] = target
        options = {
            **self.options,
            "tolerance": _link_tolerance(self.options["tolerance"], max_distance),
        }

        def is_free(q: Array, rows: Array) -> Array:
            assert collisions is not None
            return ~collisions.any_colliding(self.device.set_q(states[rows], q))

        accept = None if collisions is None else is_free
        hold = self.hold if kd.problem.equations else self._held_for(goals, states.parents[0])
        return ik(kd, targets, self.device.get_q(states), hold=hold, accept=accept, **options)

    def _held_for(self, goals: Mapping[str, Goal], parents: Array) -> list[str]:
        """Return the joints in `hold`, and joints that move no target, such as fingers."""
        layout, held = self.cell.layout, list(self.hold)
        path = {k for name in goals for k in carriers(layout, layout.frame(name), parents)}
        path |= {layout.frame(name) for name in goals}
        moving = {leader_of(self.cell, self.cell.frames[k])[0] for k in path}
        for joint in self.device.joint_names:
            if layout.frame(joint) not in moving:
                held.append(_model_joint(self.device, joint))
        return list(dict.fromkeys(held))

    def _kindyn(self, state: State) -> KinDyn:
        """Return the robot with locked frames at their poses in the first row of a state."""
        key = self.device, *(state.values[0, span].tobytes() for span in self.locked)
        robot, kd = self.cell.cache.get("robots", key, _robot_of, self.device, state[0])
        robot.check_attachments(self.cell, state)
        return kd

    def _columns(self, frame: int) -> slice:
        """Return the columns of a state that define the pose of a frame in its parent."""
        return self.cell.layout.span(leader_of(self.cell, self.cell.frames[frame])[0])

    def _path(self, frame: str, parents: Array) -> tuple[str, list[int]]:
        """Return the frame of the robot that carries a frame, and the frames between them.

        If the frame is part of the robot, it is the carrier, and there are no other frames.
        """
        layout, path = self.cell.layout, list[int]()
        for k in (layout.frame(frame), *carriers(layout, layout.frame(frame), parents)):
            if self.cell.frame_names[k] in self.links:
                return self.cell.frame_names[k], path[::-1]
            if self.cell.frame_names[k] in self.outside:
                message = f"joint {self.cell.frame_names[k]!r} depends on a joint of device"
                hint = "use an lw.JointDevice with its joints"
                raise ArgumentError(
                    f"{frame}: {message} {self.device.name!r}, but is not part of its robot; {hint}"
                )
            path.append(k)
        raise AssertionError(frame)  # unreachable: the device moves it


def _link_tolerance(tolerance: Any, max_distance: float) -> Any:
    """Return tolerances of a link that suffice for a frame at some distance [m] from its origin."""
    if not max_distance:
        return tolerance
    position, rotation = np.broadcast_to(as_array(tolerance, "tolerance"), (2,)).tolist()
    return 0.5 * position, min(rotation, 0.5 * position / max_distance)


def _goals(cell: CellData, targets: object) -> dict[str, Goal]:
    """Check targets, and convert positions to poses whose rotation has no meaning."""
    if not isinstance(targets, Mapping) or not targets:
        expected = "poses or positions by frame, as in {'arm.tool': pose}"
        raise ArgumentError(f"targets: expected {expected}, got {shown(targets)}")
    goals: dict[str, Goal] = {}
    for name, target in targets.items():
        cell.frame_index(name)
        array = target.matrix() if isinstance(target, Pose) else as_array(target, name)
        is_position = array.shape[-2:] != (4, 4)
        if is_position:
            positions = checked_positions(name, array)
            array = se3.pose(np.broadcast_to(np.eye(3), (*positions.shape, 3)), positions)
        goals[name] = Goal(as_matrix(array, name), is_position)
    return goals


def _moving_devices(cell: CellData, states: State, frame: str) -> dict[str, set[int]]:
    """Return devices with joints that move a frame in all rows, and all their joints."""
    layout, index = cell.layout, cell.layout.frame(frame)
    devices: dict[str, set[int]] = {}
    trees, _ = distinct_rows(states.parents)
    paths = [{index, *carriers(layout, index, row)} for row in trees]
    leaders = [{leader_of(cell, cell.frames[k])[0] for k in path} for path in paths]
    for name in cell.device_names:
        joints = {layout.frame(joint) for joint in device_of(cell, name).joint_names}
        if leaders and all(joints & path for path in leaders):
            devices[name] = joints
    return devices


def _owners(
    cell: CellData, states: State, frames: tuple[str, ...], device: str | None
) -> dict[str, list[str]]:
    """Return the frames that each device moves to their targets, by device."""
    owners: dict[str, list[str]] = {}
    if not len(states.values):
        return owners
    for frame in frames:
        candidates = _moving_devices(cell, states, frame)
        if device is not None:
            if device_of(cell, device).name not in candidates:
                raise ArgumentError(
                    f"device {device!r} does not move {frame!r} in this state;"
                    f" {_device_hint(candidates, states)}"
                )
            owners.setdefault(device, []).append(frame)
            continue
        least = [
            name
            for name in candidates
            if all(candidates[name] <= other for other in candidates.values())
        ]
        if not least:
            hint = _device_hint(candidates, states)
            message = f"several devices move {frame!r}: {listed(list(candidates))}; pass device="
            raise ArgumentError(message if candidates else f"{frame!r}: {hint} in this state")
        owners.setdefault(least[0], []).append(frame)
    return owners


def _device_hint(candidates: Mapping[str, object], states: State) -> str:
    if candidates:
        return f"these devices move it: {listed(list(candidates))}"
    rows = " in all rows of the batch" if len(states.values) > 1 else ""
    return f"no device moves it{rows}"


def _reject_moving_reference(
    cell: CellData, states: State, reference: str, devices: Iterable[str]
) -> None:
    moving = _moving_devices(cell, states, reference)
    for name in devices:
        if name in moving:
            message = f"reference: device {name!r} moves {reference!r}"
            raise ArgumentError(f"{message}; use a reference that it does not move")


def _joints_to_hold(device: DeviceJoints, hold: Sequence[str]) -> list[str]:
    """Convert names of held joint frames to names of joints of the robot of a device."""
    if isinstance(hold, str) or not isinstance(hold, Sequence):
        raise ArgumentError(f"hold: expected a list of joint frames, got {shown(hold)}")
    return [_model_joint(device, name) for name in hold if name in device.joint_names]


def _model_joint(device: DeviceJoints, frame: str) -> str:
    """Name of a joint frame in the robot of a device; "base" for a floating base."""
    motion = device.cell.frame(frame).motion
    if not isinstance(device.spec, RobotDevice):
        return frame
    return motion.joint if motion else "base"


def _reject_unknown_joints(hold: Sequence[str], devices: Sequence[DeviceJoints]) -> None:
    joint_names = [name for device in devices for name in device.joint_names]
    for name in hold:
        if devices and name not in joint_names:
            raise name_not_found("joint frame", name, joint_names)


def _errors(
    cell: CellData, states: State, goals: Mapping[str, Goal]
) -> tuple[dict[str, Array], dict[str, Array]]:
    position: dict[str, Array] = {}
    rotation: dict[str, Array] = {}
    poses = fk.world_H_frames(cell, tuple(goals), states)
    for k, (name, goal) in enumerate(goals.items()):
        H = poses[:, k]
        position[name] = np.linalg.norm(H[:, :3, 3] - goal.pose[:, :3, 3], axis=-1)
        if not goal.is_position:
            R = H[:, :3, :3].swapaxes(-1, -2) @ goal.pose[:, :3, :3]
            rotation[name] = np.linalg.norm(so3.log(R), axis=-1)
    return position, rotation
