"""One robot on the page: what is drawn of it, its controls, and what they do."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import counted
from linkwork.model.layout import BASE_NQ
from linkwork.model.model import Model
from linkwork.model.tree import walk
from linkwork.spatial.source import quat, se3
from linkwork.viewer.extent import Extent
from linkwork.viewer.host import Host, action
from linkwork.viewer.overlays import Overlays
from linkwork.viewer.panel import NONE, RobotPanel
from linkwork.viewer.parts import Drawing
from linkwork.viewer.player import Player
from linkwork.viewer.robot import ViewedRobot
from linkwork.viewer.scene import Bodies, Triads, node, place
from linkwork.viewer.trajectories import Trajectory, read_trajectory


class RobotStage:
    """One robot on the page."""

    def __init__(
        self, host: Host, robot: ViewedRobot, drawing: Drawing, extent: Extent, *, own: bool = True
    ) -> None:
        """Draw a robot and its controls.

        Args:
            host: what the stages share.
            robot: what is looked at.
            drawing: the surfaces of its links.
            extent: of all that is drawn.
            own: whether its base may be moved and its links are drawn here; not so in a workcell,
                which draws all frames itself.
        """
        self.host, self.robot = host, robot
        self.size = min(max(drawing.size, 0.08 * extent.reach), 0.4 * extent.reach)
        root = robot.name
        self.bodies = Bodies(host.server, root, drawing.parts if own else {}, self._toggle)
        self.triads = Triads(host.server, root, 0.35 * self.size)
        self.overlays = Overlays(host.server, robot, self.size, extent)
        frames = frame_tree(robot.kd.model, robot.kd.base)
        notes = drawing.notes if own else []
        self.panel = RobotPanel(host.server, robot, self, frames, notes, movable_base=own)
        self.player: Player | None = None
        self._base_control: Any = None
        self._drag_control: Any = None
        self._drag_frame: str | None = None
        self._held: set[str] = set()  # handles that someone has in hand

    # Drawing.

    def draw(self) -> None:
        """Draw the robot where it is now."""
        poses = self.robot.poses()
        index = self.robot.kd.model.frame_index
        with self.host.written(), self.host.server.atomic():
            self.bodies.place(lambda name: poses[index(name)])
            self.triads.place(lambda name: poses[index(name)])
            self.overlays.update(poses)
            if self._drag_control is not None and "drag" not in self._held:
                place(self._drag_control, poses[index(str(self._drag_frame))])
            if self._base_control is not None and "base" not in self._held:
                place(self._base_control, self.robot.base_pose)
            self.panel.show_joints()

    def draw_charts(self) -> None:
        """Draw the charts anew."""
        with self.host.written():
            self.panel.show_charts()

    def show(self, q: ArrayLike, nu: ArrayLike | None = None) -> None:
        """Show a configuration, and the velocity that belongs to it."""
        robot = self.robot
        robot.q, robot.nu = robot.configuration(q), robot.velocity(nu)
        self.host.moved(self)

    # What the controls do.

    @action
    def slide(self, index: int, value: float) -> None:
        """Move the joint of a slider."""
        self._stop()
        slider = self.robot.sliders[index]
        if value != slider.shown(float(self.robot.slider_values()[index])):
            self.robot.move_slider(slider, value)
            self.host.moved(self)

    @action
    def posture(self, kind: str) -> None:
        """Put all joints at their neutral position, or anywhere."""
        self._stop()
        kd = self.robot.kd
        q = kd.neutral() if kind == "neutral" else kd.random()
        self.show(q[BASE_NQ:])

    @action
    def look(self, name: str, value: Any) -> None:
        """Draw something, or not."""
        if name == "opacity":
            self.bodies.fade(float(value))
            return
        setattr(self.overlays.shown, name, value)
        self.host.moved(self)

    @action
    def fix_link(self, link: str) -> None:
        """Show the forces of a robot that this link holds."""
        self.robot.kd.model.link_index(link)
        self.robot.support = link
        self.host.moved(self)

    @action
    def triad(self, frame: str, visible: bool) -> None:
        """Show or hide a triad."""
        self.triads.show(frame, visible)
        self.host.moved(self)

    def _toggle(self, frame: str) -> None:
        """A link was clicked."""
        handle = self.panel.triads.get(frame)
        if handle is not None:
            handle.value = not handle.value

    @action
    def base_gizmo(self, wanted: bool) -> None:
        """Give the base handles, or take them away."""
        if self._base_control is not None:
            self._base_control.remove()
            self._base_control = None
        if wanted:
            self._base_control = self._control("base", self._base_moved)
        self.host.moved(self)

    @action
    def drag_frame(self, frame: str | None) -> None:
        """Give a frame handles, or none."""
        if self._drag_control is not None:
            self._drag_control.remove()
            self._drag_control = None
        self._drag_frame = frame
        if frame is not None:
            self.robot.kd.model.frame_index(frame)
            self._drag_control = self._control("drag", self._dragged)
        with self.host.written():
            self.panel.drag.value = NONE if frame is None else frame
            self.panel.show_drag(None if frame is None else "")
        self.host.moved(self)

    def _control(self, name: str, moved: Any) -> Any:
        control = self.host.server.scene.add_transform_controls(
            node(self.robot.name, name), scale=0.9 * self.size, depth_test=False
        )

        def updated(event: Any) -> None:
            if event.phase == "start":
                self._held.add(name)
            elif event.phase == "end":
                self._let_go(name)
            else:
                moved()

        control.on_update(updated)
        return control

    @action
    def _let_go(self, name: str) -> None:
        self._held.discard(name)
        self.host.moved(self)

    @action
    def _base_moved(self) -> None:
        if self._base_control is not None:
            self._stop()
            self.robot.move_base(self._base_control.position, self._base_control.wxyz)
            self.host.moved(self)

    @action
    def _dragged(self) -> None:
        control, frame = self._drag_control, self._drag_frame
        if control is None or frame is None:
            return
        self._stop()
        target = np.asarray(se3.pose(quat.to_rotation(_unit(control.wxyz)), control.position))
        done = self.robot.drag(
            frame,
            target,
            position_only=self.panel.position_only.value,
            with_base=self.panel.with_base.value,
        )
        with self.host.written():
            self.panel.show_drag(str(done))
        self.host.moved(self)

    # Trajectories.

    def load(self, trajectory: Trajectory, note: str = "") -> None:
        """Take a trajectory, and show its start."""
        self.player = Player(self.robot.kd, trajectory)
        told = f"{counted(len(trajectory.times), 'sample')}, {trajectory.duration:.4g} s"
        with self.host.written():
            self.panel.show_trajectory(trajectory.duration, f"{note}: {told}" if note else told)
        if self.host.camera is not None:
            self.host.camera.include(self.robot.origins_during(trajectory.q))
        self._show_moment()

    @action
    def upload(self, name: str, content: bytes) -> None:
        """Read a trajectory that was sent from the page."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / ("trajectory" + PurePath(name).suffix)
            file.write_bytes(content)
            self.load(read_trajectory(self.robot.kd, file), name)

    @action
    def play(self, wanted: bool) -> None:
        """Play the trajectory, or stop."""
        if self.player is not None:
            (self.player.start if wanted else self.player.stop)()
            self.host.moved(self)

    @action
    def seek(self, moment: float) -> None:
        """Show the trajectory at a time."""
        if self.player is not None:
            self.player.seek(moment)
            self._show_moment()

    @action
    def speed(self, factor: float) -> None:
        """Play faster or slower."""
        if self.player is not None:
            self.player.speed = float(factor)

    def tick(self) -> bool:
        """Let a trajectory that plays go on; whether it still does."""
        if self.player is None or not self.player.playing:
            return False
        self.player.advance()
        self._show_moment()
        return self.player.playing

    def _show_moment(self) -> None:
        assert self.player is not None
        with self.host.written():
            self.panel.time.value = self.player.time
            self.panel.play.value = self.player.playing
        self.show(*self.player.state())

    def _stop(self) -> None:
        if self.player is not None and self.player.playing:
            self.player.stop()
            with self.host.written():
                self.panel.play.value = False


def frame_tree(model: Model, base: str) -> list[tuple[int, str]]:
    """Depth and name of all frames: each link, the further frames on it, then what it carries."""
    depth: dict[str, int] = {}
    children: dict[str | None, list[str]] = {}
    start = model.frame(base).link
    for visit in walk(model, start):
        depth[visit.link] = 0 if visit.parent is None else depth[visit.parent] + 1
        children.setdefault(visit.parent, []).append(visit.link)
    on_link: dict[str, list[str]] = {}
    for frame in model.frames:
        on_link.setdefault(frame.link, []).append(frame.name)
    found: list[tuple[int, str]] = []
    waiting = [start]
    while waiting:
        link = waiting.pop()
        found.append((depth[link], link))
        found += [(depth[link] + 1, name) for name in on_link.get(link, [])]
        waiting += reversed(children.get(link, []))
    return found


def _unit(wxyz: Array) -> Array:
    return wxyz / np.linalg.norm(wxyz)
