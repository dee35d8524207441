"""Inverse kinematics in a workcell: states in which frames are at their targets.

A target belongs to the device whose joints carry the frame in the state: a link of the device, a
frame fixed to it, or something that it has gripped. `linkwork.ik` solves for the link of the device
that carries the frame; all else in the state stays as it is, and counts as rigid.

Rows of a batch that differ in their attachments, or in where frames between the joints are locked,
are solved in groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, ShapeError, listed, name_not_found, shown
from linkwork.inverse_kinematics.ik import IkResult, ik
from linkwork.kindyn import KinDyn
from linkwork.model.pose import Pose
from linkwork.spatial.source import quat, se3
from linkwork.workcell import fk
from linkwork.workcell.attach import as_matrix, joint_batch
from linkwork.workcell.device_model import DeviceModel, device_model
from linkwork.workcell.devices import RobotDevice
from linkwork.workcell.parts import WORLD, leader_of
from linkwork.workcell.paths import carriers
from linkwork.workcell.state import State, flat_rows

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell
    from linkwork.workcell.device import Device

MOST_KEPT = 32  # robots of a device, for different places of its locked frames


@dataclass(frozen=True)
class CellIkResult:
    """States of a workcell in which frames are at their targets, and how good they are.

    Attributes:
        state: one state, or a batch; only the joints of the devices that move differ from the
            state that was given. The best that was found, where a target is not reached.
        converged: (...,) whether every target is reached within the tolerances.
        position_errors: by frame: (...,) distance to the target [m].
        rotation_errors: by frame with a pose as target: (...,) angle to the target [rad].
        devices: names of the devices that moved.
    """

    state: State
    converged: Array
    position_errors: Mapping[str, Array]
    rotation_errors: Mapping[str, Array]
    devices: tuple[str, ...]

    def __repr__(self) -> str:
        n, good = self.converged.size, int(np.count_nonzero(self.converged))
        errors = self.position_errors.values()
        worst = max((float(np.max(e, initial=0.0)) for e in errors), default=0.0)
        summary = f"{good} of {n} converged" if n != 1 else f"converged={bool(good)}"
        return f"<CellIkResult: {summary}, largest distance {worst:.2g} m>"


def cell_ik(
    cell: WorkCell,
    state: State,
    targets: Mapping[str, Pose | ArrayLike],
    *,
    reference: str,
    device: str | None,
    hold: Sequence[str],
    options: Mapping[str, Any],
) -> CellIkResult:
    """Solve; `WorkCell.ik` documents the arguments."""
    cell.check_state(state)
    cell.frame_index(reference)
    goals = _goals(cell, targets)
    batch = state.batch_shape
    for name, goal in goals.items():
        batch = joint_batch(batch, goal.shape[: -1 if _is_position(goal) else -2], name)
    start = state.broadcast(*batch) if batch != state.batch_shape else state
    shape = (prod(batch),)
    flat = State.trusted(cell.layout, flat_rows(start.values), flat_rows(start.parents))
    in_world = {name: _in_world(cell, flat, goal, reference, batch) for name, goal in goals.items()}
    owners = _owners(cell, flat, tuple(goals), device)
    _refuse_moving(cell, flat, reference, owners)
    solved, converged = flat, np.ones(shape, dtype=bool)
    for name, frames in owners.items():
        solver = _Solver(cell.device(name), hold, options)
        solved, reached = solver.solve(solved, {frame: in_world[frame] for frame in frames})
        converged &= reached
    _refuse_unknown(hold, [cell.device(name) for name in owners])
    position, rotation = _errors(cell, solved, in_world)
    values, parents = (a.reshape(*batch, a.shape[-1]) for a in (solved.values, solved.parents))
    return CellIkResult(
        State.trusted(cell.layout, values, parents),
        converged.reshape(batch),
        {name: error.reshape(batch) for name, error in position.items()},
        {name: error.reshape(batch) for name, error in rotation.items()},
        tuple(owners),
    )


class _Solver:
    """Solves for one device."""

    def __init__(self, device: Device, hold: Sequence[str], options: Mapping[str, Any]) -> None:
        self.cell, self.device = device.cell, device
        self.hold, self.options = _held(device, hold), options
        leaders = [leader_of(self.cell, self.cell.frame(n))[0] for n in device_model(device).locked]
        self.locked = [self.cell.layout.span(leader) for leader in leaders]  # columns of a state

    def solve(self, states: State, goals: Mapping[str, Array]) -> tuple[State, Array]:
        """States (rows) in which frames are at targets in the world, and whether they are."""
        q = self.device.get_q(states).copy()
        reached = np.zeros(len(q), dtype=bool)
        for rows in self._groups(states, goals):
            own = {name: goal[rows] for name, goal in goals.items()}
            solution = self._solve_group(states[rows], own)
            q[rows], reached[rows] = solution.q, solution.converged
        return self.device.set_q(states, q), reached

    def _groups(self, states: State, goals: Mapping[str, Array]) -> Iterator[Array]:
        """Rows with the same attachments, locked frames, and positions of frames on their links."""
        columns = [states.parents.astype(np.float64)]
        columns += [states.values[:, span] for span in self.locked]
        positions = [name for name, goal in goals.items() if _is_position(goal)]
        for rows in _equal_rows(np.concatenate(columns, axis=-1)):
            own = states[rows]
            robot = self._robot(own)[0]
            places = [np.zeros((len(rows), 0))]
            for name in positions:
                carrier_H_frame = self.cell.frame_H_frame(
                    self._carrier(robot, name, own), name, own
                )
                places.append(carrier_H_frame[:, :3, 3])
            for part in _equal_rows(np.concatenate(places, axis=-1)):
                yield rows[part]

    def _solve_group(self, states: State, goals: Mapping[str, Array]) -> IkResult:
        robot, kd = self._robot(states)
        to_model = {there: here for here, there in robot.names.items()}
        base_H_world = se3.inverse(self.cell.world_H_frame(self.device.base, states))
        targets: dict[str, Array] = {}
        lever = 0.0  # largest distance between a frame and the origin that is solved for [m]
        for name, goal in goals.items():
            carrier = self._carrier(robot, name, states)
            link = to_model[carrier]
            carrier_H_frame = self.cell.frame_H_frame(carrier, name, states)
            if not _is_position(goal):
                target = base_H_world @ goal @ se3.inverse(carrier_H_frame)
                arms = np.linalg.norm(carrier_H_frame[:, :3, 3], axis=-1)
                lever = max(lever, float(arms.max()))
            else:
                target = (base_H_world[:, :3] @ np.insert(goal, 3, 1.0, axis=-1)[..., None])[..., 0]
                if np.abs(carrier_H_frame[:, :3, 3]).max() > 0:
                    model = kd.model.with_frame(name, link, carrier_H_frame[0])
                    kd, link = KinDyn(model, robot.base, floating=robot.floating), name
            if link in targets:
                text = f"targets: {listed(list(goals))}: two of them sit on {carrier!r}"
                raise ArgumentError(f"{text} without a joint between; give one of them")
            targets[link] = target
        options = {**self.options, "tolerance": _tightened(self.options["tolerance"], lever)}
        return ik(kd, targets, self.device.get_q(states), hold=self.hold, **options)

    def _robot(self, state: State) -> tuple[DeviceModel, KinDyn]:
        """The robot with locked frames where they are in the first row of a state."""
        kept = self.device.kept_robots
        key = b"".join(state.values[0, span].tobytes() for span in self.locked)
        if key not in kept:
            if len(kept) >= MOST_KEPT:
                kept.clear()
            robot = device_model(self.device, state[0])
            kept[key] = robot, KinDyn(robot.model, robot.base, floating=robot.floating)
        kept[key][0].check_attachments(self.cell, state)
        return kept[key]

    def _carrier(self, robot: DeviceModel, frame: str, states: State) -> str:
        """The frame of the robot that a frame is, or sits on rigidly; the nearest."""
        layout, names = self.cell.layout, set(robot.names.values())
        index = layout.frame(frame)
        for k in (index, *carriers(layout, index, states.parents[0])):
            if self.cell.frame_names[k] in names:
                return self.cell.frame_names[k]
        raise AssertionError(frame)  # the device moves it


def _tightened(tolerance: Any, lever: float) -> Any:
    """Tolerances of a link's pose that keep those of a frame at a distance from it [m]."""
    if not lever:
        return tolerance
    position, rotation = np.broadcast_to(as_array(tolerance, "tolerance"), (2,)).tolist()
    return 0.5 * position, min(rotation, 0.5 * position / lever)


def _goals(cell: WorkCell, targets: object) -> dict[str, Array]:
    if not isinstance(targets, Mapping) or not targets:
        wanted = "poses or positions by frame, as in {'arm.tool': pose}"
        raise ArgumentError(f"targets: expected {wanted}, got {shown(targets)}")
    goals: dict[str, Array] = {}
    for name, target in targets.items():
        cell.frame_index(name)
        if isinstance(target, Pose):
            goals[name] = target.matrix()
            continue
        array = as_array(target, str(name))
        if array.shape[-2:] != (4, 4) and array.shape[-1:] != (3,):
            wanted = "a pose (..., 4, 4) or a position (..., 3)"
            raise ShapeError(f"{name}: expected {wanted}, got {array.shape}")
        goals[name] = array if array.shape[-2:] != (4, 4) else as_matrix(array, str(name))
    return goals


def _is_position(goal: Array) -> bool:
    return goal.shape[-2:] != (4, 4)


def _in_world(
    cell: WorkCell, states: State, goal: Array, reference: str, batch: tuple[int, ...]
) -> Array:
    """(rows, 4, 4) or (rows, 3) targets in the world."""
    own = goal.shape[-1:] if _is_position(goal) else (4, 4)
    rows = np.broadcast_to(goal, (*batch, *own)).reshape(-1, *own).astype(np.float64)
    if reference == WORLD:
        return rows
    H = cell.world_H_frame(reference, states)
    if _is_position(goal):
        return (H[:, :3, :3] @ rows[..., None])[..., 0] + H[:, :3, 3]
    return H @ rows


def _moving_devices(cell: WorkCell, states: State, frame: str) -> dict[str, set[int]]:
    """Devices with joints that carry a frame, or move it, in all rows; and all their joints."""
    layout, index = cell.layout, cell.layout.frame(frame)
    found: dict[str, set[int]] = {}
    trees = np.unique(states.parents, axis=0)
    paths = [{index, *carriers(layout, index, row)} for row in trees]
    leaders = [{leader_of(cell, cell.frames[k])[0] for k in path} for path in paths]
    for name in cell.device_names:
        joints = {layout.frame(joint) for joint in cell.device(name).joint_names}
        if leaders and all(joints & path for path in leaders):
            found[name] = joints
    return found


def _owners(
    cell: WorkCell, states: State, frames: tuple[str, ...], device: str | None
) -> dict[str, list[str]]:
    """The frames that each device moves to its targets."""
    owners: dict[str, list[str]] = {}
    if not len(states.values):
        return owners
    for frame in frames:
        able = _moving_devices(cell, states, frame)
        if device is not None:
            if cell.device(device).name not in able:
                raise ArgumentError(
                    f"device {device!r} does not move {frame!r} in this state;"
                    f" {_devices_text(able, states)}"
                )
            owners.setdefault(device, []).append(frame)
            continue
        least = [name for name in able if all(able[name] <= other for other in able.values())]
        if not least:
            text = f"which device shall move {frame!r}? {_devices_text(able, states)}"
            raise ArgumentError(f"{text}; name one with device=" if able else text)
        owners.setdefault(least[0], []).append(frame)
    return owners


def _devices_text(able: Mapping[str, object], states: State) -> str:
    if able:
        return f"these do: {listed(list(able))}"
    return "no device does" + (" in all rows of the batch" if len(states.values) > 1 else "")


def _refuse_moving(cell: WorkCell, states: State, reference: str, devices: Iterable[str]) -> None:
    moving = _moving_devices(cell, states, reference)
    for name in devices:
        if name in moving:
            text = f"reference: device {name!r} moves {reference!r} itself"
            raise ArgumentError(f"{text}; give targets in a frame that stays")


def _held(device: Device, hold: Sequence[str]) -> list[str]:
    """Joints of the robot behind a device, by frames of the cell."""
    if isinstance(hold, str) or not isinstance(hold, Sequence):
        raise ArgumentError(f"hold: expected a list of joint frames, got {shown(hold)}")
    return [_model_joint(device, name) for name in hold if name in device.joint_names]


def _model_joint(device: Device, frame: str) -> str:
    """The name that a joint frame has in the robot behind a device; "base" for a floating base."""
    motion = device.cell.frame(frame).motion
    if not isinstance(device.spec, RobotDevice):
        return frame
    return motion.joint if motion else "base"


def _refuse_unknown(hold: Sequence[str], devices: Sequence[Device]) -> None:
    known = [name for device in devices for name in device.joint_names]
    for name in hold:
        if devices and name not in known:
            raise name_not_found("joint frame", name, known)


def _errors(
    cell: WorkCell, states: State, goals: Mapping[str, Array]
) -> tuple[dict[str, Array], dict[str, Array]]:
    position: dict[str, Array] = {}
    rotation: dict[str, Array] = {}
    poses = fk.world_H_frames(cell, tuple(goals), states)
    for k, (name, goal) in enumerate(goals.items()):
        H = poses[:, k]
        target = goal if _is_position(goal) else goal[:, :3, 3]
        position[name] = np.linalg.norm(H[:, :3, 3] - target, axis=-1)
        if not _is_position(goal):
            R = H[:, :3, :3].swapaxes(-1, -2) @ goal[:, :3, :3]
            rotation[name] = np.linalg.norm(quat.log(quat.from_rotation(R)), axis=-1)
    return position, rotation


def _equal_rows(table: Array) -> Iterator[Array]:
    """Indices of equal rows, group by group."""
    _, which = np.unique(table, axis=0, return_inverse=True)
    which = which.reshape(-1)
    for group in range(which.max() + 1 if len(which) else 0):
        yield np.flatnonzero(which == group)
