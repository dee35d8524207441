"""A workcell on the page: its state, its devices as robots, its nodes and its controls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError
from linkwork.model.layout import BASE_NQ, BASE_NV
from linkwork.viewer.charts import table
from linkwork.viewer.drawing import COLLIDING, drawing_of_shapes
from linkwork.viewer.panel import NONE, acting
from linkwork.viewer.robot import ViewedRobot
from linkwork.viewer.scene import Controller, Extent, around, drawn_points
from linkwork.viewer.server import ViewerContext, action
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
        """Return the forces of the joints that compensate gravity, (joints,) [N m] or [N].

        Carried objects are included.
        """
        force = self.dynamics.gravity_force(self._owner.state)
        return force if self.fixed else force[BASE_NV:]

    def total_mass(self) -> float:
        """Return the mass [kg], including carried objects."""
        return float(self.dynamics.total_mass(self._owner.state))

    def com(self) -> Array:
        """Return the center of mass in the world, (3,), including carried objects."""
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
        """Return the poses of all frames in the world, (frames, 4, 4)."""
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
        """Return the distance between the origins of two frames [m]."""
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


FAR = 0.1  # from a gripper to what it grips, in reaches of the scene


class CellController(Controller):
    """Connects a workcell with its nodes in the scene and its controls."""

    def __init__(self, context: ViewerContext, viewed: ViewedCell) -> None:
        self.viewed = viewed
        cell, root = viewed.cell, viewed.cell.name
        self.drawing = drawing_of_shapes({f.name: f.visuals or f.collisions for f in cell.frames})
        size = 0.08 * self.extent().reach
        super().__init__(context, root, self.drawing.parts, triad=size, handles=2 * size)
        self._dragged_frame = ""
        self._is_checking = False
        with context.server.gui.add_folder(f"Workcell {root}"):
            self._build()

    def _build(self) -> None:
        gui, viewed = self.context.server.gui, self.viewed
        self.object = gui.add_dropdown("Object", viewed.objects or [NONE])
        self.gripper = gui.add_dropdown("Gripper", viewed.grippers or [NONE])
        for choice in (self.object, self.gripper):
            choice.on_update(lambda _: self.choose())
        grip = gui.add_button_group("", ("grip", "release"))
        grip.on_click(lambda event: getattr(self, event.target.value)())
        self.carried = gui.add_html("")
        hint = "frames whose collision shapes overlap in red, and their names"
        self.collision = acting(gui.add_checkbox("Collision", False, hint=hint), self.check)
        self.colliding = gui.add_html("")
        movable = gui.add_dropdown("Move", (NONE, *viewed.movable))
        acting(movable, lambda name: self.move(None if name == NONE else name))
        with gui.add_folder("Frames", expand_by_default=False):
            self.triad_boxes = {
                name: acting(gui.add_checkbox(name, False), partial(self.triad, name))
                for name in viewed.cell.frame_names
            }
        if self.drawing.notes:
            with gui.add_folder("Notes", expand_by_default=False):
                gui.add_html(table([(note, "") for note in self.drawing.notes]))

    def extent(self) -> Extent:
        """Return the extent of all frames."""
        names = self.viewed.cell.frame_names
        return around([drawn_points(self.drawing, names, self.viewed.poses())])

    def draw(self) -> None:
        """Draw all frames in the current state."""
        poses = self.viewed.cell.fk(self.viewed.state)
        with self.context.callbacks_suppressed(), self.context.server.atomic():
            self.place(poses.__getitem__, {"move": lambda: poses[self._dragged_frame]})
            self._show_attachments()
            if self._is_checking:
                self._show_collisions()

    def _show_collisions(self) -> None:
        pairs = self.viewed.cell.collisions(self.viewed.state)
        self.bodies.mark({name for pair in pairs for name in pair}, COLLIDING)
        self.colliding.content = table(pairs or [("no collision", "")])

    def _show_attachments(self) -> None:
        cell, state = self.viewed.cell, self.viewed.state
        rows = [(name, f"on {cell.parent(name, state)}") for name in self.viewed.objects]
        if NONE not in (self.object.value, self.gripper.value):
            distance = self.viewed.distance(self.object.value, self.gripper.value)
            rows.append(
                (f"{self.object.value} to {self.gripper.value}", f"{round(distance, 6):.3g} m")
            )
        self.carried.content = table(rows)

    @action
    def choose(self) -> None:
        """Show the distance between the chosen object and gripper."""
        self._moved()

    @action
    def check(self, checking: bool) -> None:
        """Show collisions, or no longer."""
        if checking:
            self.viewed.cell.collisions(self.viewed.state)  # reports shapes that cannot be used
        else:
            self.bodies.mark((), COLLIDING)
            self.colliding.content = ""
        self._is_checking = checking
        self._moved()

    @action
    def grip(self) -> None:
        """Attach the chosen object to the chosen gripper."""
        if self.object.value != NONE:
            self.viewed.grip(self.object.value, self.gripper.value)
            self._moved()
            name, gripper = self.object.value, self.gripper.value
            distance = self.viewed.distance(name, gripper)
            if distance > FAR * self.extent().reach:
                hint = "gripping does not move it; release it and come closer"
                self.context.notify(f"{name} is attached {distance:.2g} m from {gripper}: {hint}")

    @action
    def release(self) -> None:
        """Detach the chosen object, where it is."""
        name = self.object.value
        if name != NONE and self.viewed.cell.parent(name, self.viewed.state) != WORLD:
            self.viewed.release(name)
            self._moved()

    @action
    def move(self, frame: str | None) -> None:
        """Add handles to a movable frame, or remove them."""
        self._dragged_frame = frame or ""
        self.set_handles("move", self._dragged if frame else None)

    def _dragged(self, pose: Array) -> None:
        self.viewed.move(self._dragged_frame, pose)
        self._moved()
