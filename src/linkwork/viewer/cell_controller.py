"""A workcell on the page: its nodes in the scene, and controls to move, grip and release frames."""

from __future__ import annotations

from linkwork.engine.symbolic.arrays import Array
from linkwork.viewer.camera import Extent, around, drawn_points
from linkwork.viewer.cell import ViewedCell
from linkwork.viewer.charts import table
from linkwork.viewer.colors import COLLIDING
from linkwork.viewer.context import ViewerContext, action
from linkwork.viewer.drawing import drawing_of_shapes
from linkwork.viewer.panel import NONE
from linkwork.viewer.scene import Bodies, DragHandles, Triads, node
from linkwork.workcell.cell.frames import WORLD

FAR = 0.1  # from a gripper to what it grips, in reaches of the scene


class CellController:
    """Connects a workcell with its nodes in the scene and its controls."""

    def __init__(self, context: ViewerContext, viewed: ViewedCell) -> None:
        self.context, self.viewed = context, viewed
        cell, root = viewed.cell, viewed.cell.name
        self.drawing = drawing_of_shapes({f.name: f.visuals or f.collisions for f in cell.frames})
        self.bodies = Bodies(context.server, root, self.drawing.parts, self._toggle)
        self._size = 0.08 * self.extent().reach  # of triads and handles [m]
        self.triads = Triads(context.server, root, self._size)
        self._handles: DragHandles | None = None
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
        self.collision = gui.add_checkbox(
            "Collision", False, hint="frames whose collision shapes overlap in red, and their names"
        )
        self.collision.on_update(lambda _: self.check(self.collision.value))
        self.colliding = gui.add_html("")
        movable = gui.add_dropdown("Move", (NONE, *viewed.movable))
        movable.on_update(lambda _: self.move(None if movable.value == NONE else movable.value))
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
        """The extent of all frames."""
        names = self.viewed.cell.frame_names
        return around([drawn_points(self.drawing, names, self.viewed.poses())])

    def draw(self) -> None:
        """Draw all frames in the current state."""
        poses = self.viewed.cell.fk(self.viewed.state)
        with self.context.callbacks_suppressed(), self.context.server.atomic():
            self.bodies.place(poses.__getitem__)
            self.triads.place(poses.__getitem__)
            if self._handles is not None:
                self._handles.place(poses[self._dragged_frame])
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

    def _toggle(self, frame: str) -> None:
        """Show or hide the triad of a frame that was clicked."""
        self.frames[frame].value = not self.frames[frame].value

    def _moved(self) -> None:
        self.context.moved(self)

    @action
    def triad(self, frame: str, visible: bool) -> None:
        """Show or hide a triad."""
        self.triads.show(frame, visible)
        self._moved()

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
        if self._handles is not None:
            self._handles.remove()
            self._handles = None
        if frame is not None:
            path, scale = node(self.viewed.cell.name, "move"), 2 * self._size
            self._handles = DragHandles(
                self.context, path, scale, dragged=self._dragged, released=self._moved
            )
            self._dragged_frame = frame
        self._moved()

    def _dragged(self, pose: Array) -> None:
        self.viewed.move(self._dragged_frame, pose)
        self._moved()
