"""The controls of one robot: a folder of tabs. Their actions are methods of its controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from linkwork.viewer.charts import bar_chart, listed_numbers, table
from linkwork.viewer.overlays import manipulability
from linkwork.viewer.robot import ViewedRobot

NONE = "(none)"
DIRECTIONS = {"+x": (1, 0, 0), "-x": (-1, 0, 0), "+y": (0, 1, 0), "-y": (0, -1, 0), "up": (0, 0, 1)}


class RobotPanel:
    """The controls of one robot."""

    def __init__(
        self,
        server: Any,
        robot: ViewedRobot,
        actions: Any,
        frames: Sequence[tuple[int, str]],
        notes: Sequence[str],
        *,
        movable_base: bool,
    ) -> None:
        """Build the controls.

        Args:
            server: of the page.
            robot: whose controls they are.
            actions: the `RobotController`, whose methods are their actions.
            frames: depth and name of each frame, in the order of the tree.
            notes: shapes that could not be drawn.
            movable_base: whether the base may be moved by hand.
        """
        self._gui, self._robot, self._actions = server.gui, robot, actions
        self.folder = server.gui.add_folder(robot.name)
        names = [name for _, name in frames]
        with self.folder:
            tabs = server.gui.add_tab_group()
            with tabs.add_tab("Joints"):
                self._joints(names, movable_base)
            with tabs.add_tab("Look"):
                self._look()
            with tabs.add_tab("Forces"):
                self._forces()
            with tabs.add_tab("Frame"):
                self._frame(names)
            with tabs.add_tab("Tree"):
                self._tree(frames)
            with tabs.add_tab("Play"):
                self._play()
            if robot.simulation is not None:
                with tabs.add_tab("Simulate"):
                    self._simulate()
            if robot.loops is not None:
                with tabs.add_tab("Loops"):
                    self.loops = server.gui.add_html("")
            if notes:
                with tabs.add_tab("Notes"):
                    server.gui.add_html(table([(note, "") for note in notes]))

    # Building.

    def _joints(self, names: Sequence[str], movable_base: bool) -> None:
        gui, actions = self._gui, self._actions
        both = gui.add_button_group("All joints", ("neutral", "random"))
        both.on_click(lambda event: actions.posture(event.target.value))
        drag = gui.add_dropdown("Drag frame", (NONE, *names), initial_value=NONE)
        self.drag = acting(drag, lambda frame: actions.drag_frame(_named(frame)))
        self.position_only = gui.add_checkbox(
            "Position only", False, hint="the rotation does not matter"
        )
        self.with_base = gui.add_checkbox(
            "Let IK move the base", False, hint="the base follows, too"
        )
        self._movable_base = movable_base
        self.drag_note = gui.add_html("", visible=False)
        self.show_drag(None)
        hint = "handles at the base of the robot"
        base = gui.add_checkbox("Move base", False, visible=movable_base, hint=hint)
        self.base = acting(base, actions.move_base)
        self.loop_note = gui.add_html("", visible=False)
        self.sliders = []
        values = self._robot.slider_values()
        for k, slider in enumerate(self._robot.sliders):
            handle = gui.add_slider(
                slider.label,
                *slider.ends,
                slider.step,
                slider.shown(float(values[k])),
                disabled=slider.upper <= slider.lower,
            )
            self.sliders.append(acting(handle, partial(actions.slide, k)))

    def _look(self) -> None:
        labels = {
            "com": ("Center of mass", "a ball, and its projection on the ground"),
            "inertias": (
                "Inertias",
                "the ellipsoids of the same mass and inertia; red: unphysical",
            ),
            "torques": (
                "Gravity load",
                "joints colored by the share of their limit: green to red",
            ),
        }
        if self._robot.loops is not None:
            labels["loops"] = "Closed loops", "where the joints are that close loops; red: open"
        if any(link.collisions for link in self._robot.kd.model.links):
            hint = "collision shapes, red where links overlap; lines between links that are near"
            labels["collisions"] = "Collision", hint
        if self._robot.simulation is not None:
            hint = "points that touch the ground, and the forces on the robot there"
            labels["contacts"] = "Contact forces", hint
        looks = {
            name: self._gui.add_checkbox(text, name in ("loops", "contacts"), hint=hint)
            for name, (text, hint) in labels.items()
        }
        looks["opacity"] = self._gui.add_slider("Opacity", 0.0, 1.0, 0.05, 1.0)
        look = self._actions.look
        self.looks = {name: acting(one, partial(look, name)) for name, one in looks.items()}

    def _forces(self) -> None:
        if self._movable_base:
            links, first = self._robot.kd.model.link_names, self._robot.support
            hint = "the link that holds the robot; choose a foot of a robot that stands"
            support = self._gui.add_dropdown("Fixed link", links, initial_value=first, hint=hint)
            self.support = acting(support, self._actions.fix_link)
        self._gui.add_html(_heading("Gravity compensation; % of effort limit [N m], [N]"))
        if self._robot.loops is not None:
            text = "Closed loops: by all joints with sliders; no load on joints that close loops"
            self._gui.add_html(_heading(text))
        self.bars = self._gui.add_html("")
        self.summary = self._gui.add_html("")

    def _frame(self, names: Sequence[str]) -> None:
        gui, look = self._gui, self._actions.look
        frame = gui.add_dropdown("Frame", (NONE, *names), initial_value=NONE)
        self.frame = acting(frame, lambda name: look("frame", _named(name)))
        hint = "manipulability: velocities for joint velocities of norm 1"
        ellipsoid = gui.add_checkbox("Ellipsoid", False, hint=hint)
        self.ellipsoid = acting(ellipsoid, partial(look, "manipulability"))
        self.frame_numbers = gui.add_html("")

    def _tree(self, frames: Sequence[tuple[int, str]]) -> None:
        self.triads, triad = {}, self._actions.triad
        for depth, name in frames:
            label = "\N{NO-BREAK SPACE}" * min(depth, 12) + name
            self.triads[name] = acting(self._gui.add_checkbox(label, False), partial(triad, name))

    def _play(self) -> None:
        gui, actions = self._gui, self._actions
        upload = gui.add_upload_button("Open a trajectory (.npy, .csv)", mime_type=".npy,.csv")
        upload.on_upload(lambda _: actions.upload(upload.value.name, upload.value.content))
        self.play_note = gui.add_html("")
        self.play = acting(gui.add_checkbox("Play", False, disabled=True), actions.play)
        time = gui.add_slider("Time [s]", 0.0, 1.0, 0.01, 0.0, disabled=True)
        self.time = acting(time, actions.seek)
        self.speed = acting(gui.add_slider("Speed", 0.1, 4.0, 0.1, 1.0), actions.speed)

    def _simulate(self) -> None:
        gui, actions, robot = self._gui, self._actions, self._robot
        hint = "from what is shown, at the clock's speed"
        self.run = acting(gui.add_checkbox("Run", False, hint=hint), actions.run)
        acts = {"step": actions.step, "reset": actions.reset}
        once = gui.add_button_group("Simulation", tuple(acts))
        once.on_click(lambda event: acts[event.target.value]())
        self.live_time = gui.add_html("")
        frame = gui.add_dropdown("Push at", robot.frame_names, initial_value=robot.kd.base)
        most = max(2.0 * robot.total_mass(), 1e-3)  # a change of speed by 2 m/s
        size = gui.add_slider("Impulse [N s]", 0.0, most, most / 100, most / 4)
        toward = gui.add_button_group("Push", tuple(DIRECTIONS))

        def push(event: Any) -> None:
            actions.push(frame.value, size.value * np.array(DIRECTIONS[event.target.value]))

        toward.on_click(push)

    # Showing.

    def show_live(self, time: float, running: bool) -> None:
        """Show the time of the simulation, and whether it runs."""
        self.run.value = running
        self.live_time.content = table([("time", f"{time:.2f} s")])

    def show_joints(self) -> None:
        """Set the sliders to the positions of the joints."""
        values = self._robot.slider_values().tolist()
        for handle, slider, value in zip(self.sliders, self._robot.sliders, values, strict=True):
            handle.value = slider.shown(value)

    def show_loops(self, note: str) -> None:
        """List the loops; a note, or which of them are open, is also shown above the sliders."""
        loops, is_open = self._robot.loops, self._robot.open_loops()
        if loops is None:
            return
        note = note or (f"open: {', '.join(is_open)}" if is_open else "")
        self.loop_note.visible = bool(note)
        self.loop_note.content = table([("loops", note)]) if note else ""
        rows: list[tuple[str, str]] = []
        for name, text in loops.descriptions.items():
            state = f"open, error {is_open[name]:.2g}" if name in is_open else "closed"
            rows += [(name, state), ("", text)]
        self.loops.content = table(rows)

    def show_charts(self) -> None:
        """Draw the charts and tables."""
        robot = self._robot
        labels = [slider.label for slider in robot.sliders]
        self.bars.content = bar_chart(labels, robot.gravity_force(), robot.efforts())
        mass = robot.total_mass()
        rows = [("mass", f"{mass:.5g} kg")]
        if mass > 0:
            rows.append(("center of mass", listed_numbers(robot.com())))
        self.summary.content = table(rows)
        self._show_frame(_named(self.frame.value))

    def _show_frame(self, frame: str | None) -> None:
        if frame is None:
            self.frame_numbers.content = ""
            return
        robot = self._robot
        pose, J, v = robot.pose(frame), robot.jacobian(frame), robot.frame_velocity(frame)
        singular = np.linalg.svd(J, compute_uv=False)
        self.frame_numbers.content = table(
            [
                ("position [m]", listed_numbers(pose[:3, 3])),
                *(("" if k else "rotation", listed_numbers(pose[k, :3])) for k in range(3)),
                ("velocity [m/s]", listed_numbers(v[:3])),
                ("angular [rad/s]", listed_numbers(v[3:])),
                ("manipulability", f"{manipulability(J):.4g}"),
                ("singular values", listed_numbers(singular[:6], 2)),
            ]
        )

    def show_drag(self, text: str | None) -> None:
        """Show how well the dragged frame reaches its target; None if no frame is dragged."""
        self.position_only.visible = text is not None
        self.with_base.visible = text is not None and self._movable_base
        self.drag_note.visible = bool(text)
        self.drag_note.content = table([("drag", text)]) if text else ""

    def show_trajectory(self, duration: float, note: str) -> None:
        """Set the time slider to a trajectory."""
        self.time.max = max(duration, 1e-3)
        self.time.value = 0.0
        self.time.disabled = self.play.disabled = duration <= 0
        self.play_note.content = table([(note, "")])


def choose_robot(server: Any, folders: Mapping[str, Any]) -> None:
    """With several robots, a list selects the one whose controls are shown."""
    if len(folders) < 2:
        return
    chosen = server.gui.add_dropdown("Robot", tuple(folders), order=0.5)

    def show(_: object = None) -> None:
        for name, folder in folders.items():
            folder.visible = name == chosen.value

    chosen.on_update(show)
    show()


def acting(handle: Any, act: Callable[[Any], object]) -> Any:
    """Call an action with each new value of a control, and return the control."""
    handle.on_update(lambda _: act(handle.value))
    return handle


def _named(value: str) -> str | None:
    return None if value == NONE else value


def _heading(text: str) -> str:
    return f"<div style='font-size:0.8em;opacity:0.75;margin:0.4em 0.6em 0'>{text}</div>"
