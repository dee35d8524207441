"""The state of a workcell in the viewer, and its devices as robots. Independent of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError
from linkwork.model.layout import BASE_NQ, BASE_NV
from linkwork.viewer.robot import ViewedRobot
from linkwork.workcell.cell.frames import WORLD
from linkwork.workcell.kinematics.device_model import DeviceModel, device_model

if TYPE_CHECKING:
    from linkwork.workcell.dynamics.device_dynamics import CellDynamics
    from linkwork.workcell.kinematics.device import Device
    from linkwork.workcell.state.state import State
    from linkwork.workcell.workcell import WorkCell


class CellRobot(ViewedRobot):
    """A device of a cell as a robot: gripped objects are part of its masses and forces.

    Frames between its joints that it does not drive, such as a movable calibration frame, are fixed
    joints of its model, which is replaced when they move.
    """

    def __init__(self, owner: ViewedCell, device: Device, behind: DeviceModel) -> None:
        super().__init__(behind.kindyn(), device.name)
        self.device, self.behind, self._owner = device, behind, owner

    def follow(self, state: State) -> None:
        """Take base, joints and locked frames from a state of the cell."""
        if self.behind.locked:
            behind = device_model(self.device, state)
            if behind.model != self.behind.model:
                self.behind = behind
                self.replace_kindyn(behind.kindyn())
        q = self.device.get_q(state)
        joints = q if self.fixed else q[BASE_NQ:]
        base = self._owner.cell.world_H_frame(self.base_frame, state)
        self.q = np.concatenate([self.kd.q(base_pose=base)[:BASE_NQ], joints])

    @property
    def base_frame(self) -> str:
        """The frame of the cell that is its base."""
        return self.behind.names[self.behind.base]

    @cached_property
    def dynamics(self) -> CellDynamics:
        """Its dynamics in the cell."""
        return self._owner.cell.dynamics(self.name)

    def gravity_force(self) -> Array:
        """(joints,) gravity compensation of the joints, including carried objects [N m] or [N]."""
        force = self.dynamics.gravity_force(self._owner.state)
        return force if self.fixed else force[BASE_NV:]

    def mass_matrix(self) -> Array:
        """Mass matrix, including carried objects."""
        return self.dynamics.mass_matrix(self._owner.state)

    def total_mass(self) -> float:
        """Mass [kg], including carried objects."""
        return float(self.dynamics.total_mass(self._owner.state))

    def com(self) -> Array:
        """(3,) center of mass in the world, including carried objects."""
        return self.dynamics.com(self._owner.state)


class ViewedCell:
    """A workcell and its state."""

    def __init__(self, cell: WorkCell, state: State | None = None) -> None:
        self.cell = cell
        self.state = cell.state() if state is None else self._single(state)
        self.robots: dict[str, CellRobot] = {}
        for name in cell.device_names:
            device = cell.device(name)
            try:
                behind = device_model(device)
            except ArgumentError:  # a cart, or a movable frame: no robot with joints
                continue
            if behind.attachments:  # the order of its joints depends on the state
                continue
            self.robots[name] = CellRobot(self, device, behind)
        self.set_state(self.state)

    @property
    def movable(self) -> list[str]:
        """Frames whose pose is part of the state."""
        return [frame.name for frame in self.cell.frames if frame.movable]

    @property
    def objects(self) -> list[str]:
        """Frames that can be gripped: movable and attachable, and not the base of a device."""
        bases = {device.base for device in self.cell.devices}
        able = [f.name for f in self.cell.frames if f.movable and f.attachable]
        return [name for name in able if name not in bases]

    @property
    def grippers(self) -> list[str]:
        """Frames that may grip: the ends of devices first, then all others."""
        ends = [end for name in self.robots for end in self.cell.device(name).ends]
        others = [name for name in self.cell.frame_names if name not in self.objects]
        return list(dict.fromkeys([*ends, *others]))

    def poses(self) -> Array:
        """(frames, 4, 4) poses of all frames in the world."""
        return self.cell.fk(self.state).world_H_frames

    def set_state(self, state: State) -> None:
        """Show another state."""
        self.state = self._single(state)
        for robot in self.robots.values():
            robot.follow(self.state)

    def take(self, name: str) -> None:
        """Copy the configuration of one of the robots to the state."""
        robot = self.robots[name]
        state = robot.device.set_q(self.state, robot.q[BASE_NQ:] if robot.fixed else robot.q)
        if not robot.fixed:
            state = self.cell.set_pose(state, robot.base_frame, robot.base_pose, WORLD)
        self.set_state(state)

    def move(self, frame: str, pose: Array) -> None:
        """Place a movable frame in the world."""
        self.set_state(self.cell.set_pose(self.state, frame, pose, WORLD))

    def distance(self, frame: str, other: str) -> float:
        """Distance between the origins of two frames [m]."""
        table = self.cell.fk(self.state)
        return float(np.linalg.norm(table[frame][:3, 3] - table[other][:3, 3]))

    def grip(self, frame: str, gripper: str) -> None:
        """Attach a frame to another one, without moving it."""
        self.set_state(self.cell.grip(self.state, frame, gripper))

    def release(self, frame: str) -> None:
        """Detach a frame, where it is in the world."""
        self.set_state(self.cell.release(self.state, frame))

    def _single(self, state: State) -> State:
        self.cell.check_state(state)
        if state.batch_shape:
            raise ShapeError(f"state: expected a single state, got a batch {state.batch_shape}")
        return state
