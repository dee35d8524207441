"""A workcell on the page: its frames, what can be moved, gripped and released."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.spatial.source import quat, se3
from linkwork.viewer.cell import ViewedCell
from linkwork.viewer.charts import table
from linkwork.viewer.extent import Extent, around, drawn_points
from linkwork.viewer.host import Host, action
from linkwork.viewer.panel import NONE
from linkwork.viewer.parts import drawing_of_shapes
from linkwork.viewer.scene import Bodies, Triads, node, place
from linkwork.workcell.parts import WORLD


class CellStage:
    """A workcell on the page, besides the controls of its robots."""

    def __init__(self, host: Host, viewed: ViewedCell) -> None:
        self.host, self.viewed = host, viewed
        cell, root = viewed.cell, viewed.cell.name
        drawing = drawing_of_shapes({f.name: f.visuals or f.collisions for f in cell.frames})
        self.drawing = drawing
        self.bodies = Bodies(host.server, root, drawing.parts, self._toggle)
        self._size = 0.08 * self.extent().reach  # of triads and handles [m]
        self.triads = Triads(host.server, root, self._size)
        self._control: Any = None
        self._moved: str | None = None
        self._held = False
        self.folder = host.server.gui.add_folder(f"Workcell {root}")
        with self.folder:
            self._build()

    def _build(self) -> None:
        gui, viewed = self.host.server.gui, self.viewed
        objects, grippers = viewed.objects, viewed.grippers
        self.object = gui.add_dropdown("Object", objects or [NONE])
        self.gripper = gui.add_dropdown("Gripper", grippers or [NONE])
        for choice in (self.object, self.gripper):
            choice.on_update(lambda _: self.choose())
        grip = gui.add_button_group("", ("grip", "release"))
        grip.on_click(lambda event: getattr(self, event.target.value)())
        self.carried = gui.add_html("")
        movable = gui.add_dropdown("Move", (NONE, *viewed.movable))
        movable.on_update(lambda _: self.move(None if movable.value == NONE else movable.value))
        self.movable = movable
        self.frames = {}
        with gui.add_folder("Frames", expand_by_default=False):
            for name in viewed.cell.frame_names:
                handle = gui.add_checkbox(name, False)
                handle.on_update(lambda _, name=name, handle=handle: self.triad(name, handle.value))
                self.frames[name] = handle
        if self.drawing.notes:
            with gui.add_folder("Notes", expand_by_default=False):
                gui.add_html(table([(note, "") for note in self.drawing.notes]))

    def extent(self) -> Extent:
        """How far all reaches that is drawn."""
        names = self.viewed.cell.frame_names
        return around([drawn_points(self.drawing, names, self.viewed.poses())])

    def draw(self) -> None:
        """Draw all frames where they are now."""
        table_ = self.viewed.cell.fk(self.viewed.state)
        with self.host.written(), self.host.server.atomic():
            self.bodies.place(table_.__getitem__)
            self.triads.place(table_.__getitem__)
            if self._control is not None and not self._held:
                place(self._control, table_[str(self._moved)])
            self._tell_carried()

    def _tell_carried(self) -> None:
        cell, state = self.viewed.cell, self.viewed.state
        rows = [(name, f"on {cell.parent(name, state)}") for name in self.viewed.objects]
        if NONE not in (self.object.value, self.gripper.value):
            distance = self.viewed.distance(self.object.value, self.gripper.value)
            rows.append((f"{self.object.value} to {self.gripper.value}", f"{distance:.3g} m"))
        self.carried.content = table(rows)

    def _toggle(self, frame: str) -> None:
        self.frames[frame].value = not self.frames[frame].value

    @action
    def triad(self, frame: str, visible: bool) -> None:
        """Show or hide a triad."""
        self.triads.show(frame, visible)
        self.host.moved(self)

    @action
    def choose(self) -> None:
        """Show the distance between the chosen object and gripper."""
        self.host.moved(self)

    @action
    def grip(self) -> None:
        """Let the chosen gripper carry the chosen object."""
        if self.object.value != NONE:
            self.viewed.grip(self.object.value, self.gripper.value)
            self.host.moved(self)

    @action
    def release(self) -> None:
        """Let the chosen object stay where it is."""
        if self.object.value != NONE and self._parent(self.object.value) != WORLD:
            self.viewed.release(self.object.value)
            self.host.moved(self)

    def _parent(self, frame: str) -> str | None:
        return self.viewed.cell.parent(frame, self.viewed.state)

    @action
    def move(self, frame: str | None) -> None:
        """Give a movable frame handles, or none."""
        if self._control is not None:
            self._control.remove()
            self._control = None
        self._moved = frame
        if frame is not None:
            control = self.host.server.scene.add_transform_controls(
                node(self.viewed.cell.name, "move"), scale=2 * self._size, depth_test=False
            )
            control.on_update(self._handle)
            self._control = control
        self.host.moved(self)

    def _handle(self, event: Any) -> None:
        if event.phase == "start":
            self._held = True
        elif event.phase == "end":
            self._let_go()
        else:
            self._handle_moved()

    @action
    def _let_go(self) -> None:
        self._held = False
        self.host.moved(self)

    @action
    def _handle_moved(self) -> None:
        if self._control is None or self._moved is None:
            return
        wxyz = self._control.wxyz / np.linalg.norm(self._control.wxyz)
        pose = se3.pose(quat.to_rotation(wxyz), self._control.position)
        self.viewed.move(self._moved, np.asarray(pose))
        self.host.moved(self)
