"""One robot on the page: its nodes in the scene, its controls, and their actions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any

from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import LinkworkError, counted
from linkwork.model.graph import walk
from linkwork.model.layout import BASE_NQ
from linkwork.model.model import Model
from linkwork.spatial.source import quat
from linkwork.viewer.drawing import Drawing
from linkwork.viewer.live import LiveSimulation
from linkwork.viewer.overlays import Overlays
from linkwork.viewer.panel import NONE, RobotPanel
from linkwork.viewer.robot import Moment, ViewedRobot
from linkwork.viewer.scene import Controller, Extent
from linkwork.viewer.server import ViewerContext, action, finite
from linkwork.viewer.trajectories import Player, Trajectory, read_trajectory


class RobotController(Controller):
    """Connects a robot with its nodes in the scene and its controls."""

    def __init__(
        self,
        context: ViewerContext,
        robot: ViewedRobot,
        drawing: Drawing,
        extent: Extent,
        *,
        in_cell: bool = False,
    ) -> None:
        """Add a robot and its controls to the page.

        Args:
            context: shared by the controllers.
            robot: its state.
            drawing: the surfaces of its links.
            extent: of the entire scene.
            in_cell: whether it is a device of a workcell, which draws all links itself and decides
                where the base is.
        """
        self.robot = robot
        self.size = min(max(drawing.size, 0.08 * extent.reach), 0.4 * extent.reach)
        server, parts = context.server, {} if in_cell else drawing.parts
        sizes = {"triad": 0.35 * self.size, "handles": 0.9 * self.size}
        super().__init__(context, robot.name, parts, **sizes)
        self.overlays = Overlays(server, robot, self.size, extent)
        frames = frame_tree(robot.kd.model, robot.kd.base)
        notes = [] if in_cell else drawing.notes
        self.panel = RobotPanel(server, robot, self, frames, notes, movable_base=not in_cell)
        self.triad_boxes = self.panel.triads
        self.player: Player | None = None
        sim = robot.simulation
        self.live = LiveSimulation(sim) if sim is not None else None
        self.loop_note = ""  # why a slider has stopped
        self._dragged_frame = ""

    # Drawing.

    def draw(self) -> None:
        """Draw the robot in its current state."""
        poses = self.robot.poses()
        index = self.robot.kd.model.frame_index
        with self.context.callbacks_suppressed(), self.context.server.atomic():
            dragged = {"drag": lambda: poses[index(self._dragged_frame)]}
            base = {"base": lambda: self.robot.base_pose}
            self.place(lambda name: poses[index(name)], {**dragged, **base})
            self.overlays.update(poses)
            self.panel.show_joints()
            self.panel.show_loops(self.loop_note)

    def draw_charts(self) -> None:
        """Draw the charts."""
        with self.context.callbacks_suppressed():
            self.panel.show_charts()

    def show(self, q: ArrayLike, nu: ArrayLike | None = None, moment: Moment | None = None) -> None:
        """Show a configuration, the velocity that belongs to it, and what acts in it."""
        robot = self.robot
        robot.q, robot.nu = robot.configuration(q), robot.velocity(nu)
        robot.moment, self.loop_note = moment, ""
        self._moved()

    # Actions of the controls.

    @action
    def slide(self, index: int, value: float) -> None:
        """Move the joint of a slider."""
        self._take_over()
        slider = self.robot.sliders[index]
        value = slider.shown(finite(value))
        if value != slider.shown(float(self.robot.slider_values()[index])):
            reached = self.robot.move_slider(slider, value)
            self.loop_note = "" if reached else _stopped(slider.label, self.robot.open_loops())
            self._moved()

    @action
    def posture(self, kind: str) -> None:
        """Move all joints to their `neutral` or to a `random` position."""
        self._stop()
        kd = self.robot.kd
        q = kd.neutral() if kind == "neutral" else kd.random()
        self.show(self.robot.assembled(self.robot.configuration(q[BASE_NQ:])))

    @action
    def look(self, name: str, value: Any) -> None:
        """Show or hide an overlay, or set the opacity of the links."""
        if name == "opacity":
            self.bodies.fade(float(value))
            return
        if name == "collisions" and value:
            self.robot.near_links(0.0)  # compiles, and reports shapes that cannot be used
        setattr(self.overlays.shown, name, value)
        self._moved()

    @action
    def fix_link(self, link: str) -> None:
        """Show the forces of a robot that this link supports."""
        self.robot.kd.model.link_index(link)
        self.robot.support = link
        self._moved()

    @action
    def move_base(self, enabled: bool) -> None:
        """Add handles to the base, or remove them."""
        self.set_handles("base", self._base_dragged if enabled else None)

    @action
    def drag_frame(self, frame: str | None) -> None:
        """Add handles to a frame, or remove them."""
        if frame is not None:
            self.robot.kd.model.frame_index(frame)
            self._dragged_frame = frame
        with self.context.callbacks_suppressed():
            self.panel.drag.value = NONE if frame is None else frame
            self.panel.show_drag(None if frame is None else "")
        self.set_handles("drag", None if frame is None else self._frame_dragged)

    def _base_dragged(self, pose: Array) -> None:
        self._take_over()
        self.robot.move_base(pose[:3, 3], quat.from_rotation(pose[:3, :3]))
        self._moved()

    def _frame_dragged(self, pose: Array) -> None:
        self._take_over()
        result = self.robot.drag(
            self._dragged_frame,
            pose,
            position_only=self.panel.position_only.value,
            with_base=self.panel.with_base.value,
        )
        self.loop_note = ""
        with self.context.callbacks_suppressed():
            self.panel.show_drag(str(result))
        self._moved()

    # Trajectories.

    def load(self, trajectory: Trajectory, file: str = "") -> None:
        """Load a trajectory, and show its start."""
        self._stop()
        self.player = Player(self.robot.kd, trajectory)
        summary = f"{counted(len(trajectory.times), 'sample')}, {trajectory.duration:.4g} s"
        with self.context.callbacks_suppressed():
            note = f"{file}: {summary}" if file else summary
            self.panel.show_trajectory(trajectory.duration, note)
        self.context.include(self.robot.origins_during(trajectory.q))
        self._show_player()

    @action
    def upload(self, name: str, content: bytes) -> None:
        """Load a trajectory that was sent from the page."""
        with tempfile.TemporaryDirectory() as folder:
            ending = PurePath(name).suffix[:8].replace("\0", "")
            file = Path(folder) / f"trajectory{ending}"
            file.write_bytes(content)
            self.load(read_trajectory(self.robot.kd, file), name)

    @action
    def play(self, enabled: bool) -> None:
        """Play the trajectory, or stop."""
        if self.player is not None:
            self._stop()
            (self.player.start if enabled else self.player.stop)()
            self._moved()

    @action
    def seek(self, time: float) -> None:
        """Show the trajectory at a time."""
        if self.player is not None:
            self.player.seek(finite(time))
            self._show_player()

    @action
    def speed(self, factor: float) -> None:
        """Set the speed of the trajectory."""
        if self.player is not None:
            self.player.speed = finite(factor)

    def advance(self) -> bool:
        """Advance what is playing or simulated; returns whether it still does."""
        if self.live is not None and self.live.running:
            self._simulate(self.live.advance)
            return self.live.running
        if self.player is None or not self.player.playing:
            return False
        self.player.advance()
        self._show_player()
        return self.player.playing

    def _show_player(self) -> None:
        assert self.player is not None
        with self.context.callbacks_suppressed():
            self.panel.time.value = self.player.time
            self.panel.play.value = self.player.playing
        self.show(*self.player.state(), self.player.moment())

    # The simulation that runs.

    def load_live(self, live: LiveSimulation) -> None:
        """Replace the simulation, and show its start."""
        self._stop()
        self.live = live
        self._show_live()

    @action
    def run(self, enabled: bool) -> None:
        """Run the simulation from what is shown, or stop it."""
        assert self.live is not None
        if not enabled:
            self._stop()
        elif not self.live.running:
            self._stop()
            self._take_shown(self.live)
            self.live.start()
            self._show_live()

    @action
    def step(self) -> None:
        """Stop, and take one step of the simulation."""
        assert self.live is not None
        self._stop()
        self._take_shown(self.live)
        self._simulate(self.live.step)

    @action
    def reset(self) -> None:
        """Return to the start of the simulation."""
        assert self.live is not None
        self.live.reset()
        self._show_live()

    @action
    def push(self, frame: str, impulse: Array) -> None:
        """Hit a frame."""
        assert self.live is not None
        self._take_shown(self.live)
        self.live.push(frame, impulse)
        self._show_live()

    def _take_shown(self, live: LiveSimulation) -> None:
        """Go on from the configuration that is shown, if something else has moved the robot."""
        moment, robot = self.robot.moment, self.robot
        if moment is None:
            live.x = live.sim.state(q=robot.q[BASE_NQ:] if robot.fixed else robot.q)
        else:
            live.x = moment.x

    def _simulate(self, act: Callable[[], None]) -> None:
        """Run a part of the simulation; where it diverges, stop."""
        assert self.live is not None
        try:
            act()
        except LinkworkError as error:
            self._stop()
            self.context.notify(str(error))
        self._show_live()

    def _show_live(self) -> None:
        live = self.live
        assert live is not None
        moment = Moment(live.x, live.control())
        with self.context.callbacks_suppressed():
            self.panel.show_live(live.time, live.running)
        self.show(moment.x.q, moment.x.nu, moment)

    def _take_over(self) -> None:
        """Stop what moves the robot, because the user does."""
        self._stop()
        self.robot.moment = None

    def _stop(self) -> None:
        if self.live is not None and self.live.running:
            self.live.stop()
            with self.context.callbacks_suppressed():
                self.panel.show_live(self.live.time, False)
        if self.player is not None and self.player.playing:
            self.player.stop()
            with self.context.callbacks_suppressed():
                self.panel.play.value = False


def _stopped(label: str, open_loops: Mapping[str, float]) -> str:
    if open_loops:
        return f"the loops cannot be closed: {', '.join(open_loops)}"
    return f"{label} stopped: the loops cannot be closed beyond"


def frame_tree(model: Model, base: str) -> list[tuple[int, str]]:
    """List depth and name of all frames: each link, its further frames, then its child links."""
    on_link: dict[str, list[str]] = {}
    for frame in model.frames:
        on_link.setdefault(frame.link, []).append(frame.name)
    depth: dict[str | None, int] = {None: -1}
    frames: list[tuple[int, str]] = []
    for link, parent, _ in walk(model, model.frame(base).link):
        depth[link] = depth[parent] + 1
        frames.append((depth[link], link))
        frames += [(depth[link] + 1, name) for name in on_link.get(link, [])]
    return frames
