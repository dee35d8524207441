"""Nodes of the scene: surfaces that move with frames, triads, and the ground."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.geometry import Surface
from linkwork.spatial.source import quat, se3
from linkwork.viewer.colors import Rgb, linear
from linkwork.viewer.drawing import Part

if TYPE_CHECKING:
    from linkwork.viewer.camera import Extent
    from linkwork.viewer.context import ViewerContext

BRAND: Rgb = (70, 110, 200)  # of buttons and sliders
FADE_DISTANCE = 10.0  # at which the lines on the ground are gone, in reaches of the scene
# Lines of the ground: every cell, and every tenth.
LIGHT_LINES: tuple[Rgb, Rgb] = ((215, 218, 224), (160, 165, 175))
DARK_LINES: tuple[Rgb, Rgb] = ((60, 64, 72), (95, 100, 110))


def node(*names: str) -> str:
    """Return the name of a node of the scene; slashes in names of links are escaped."""
    return "/" + "/".join(quote(name, safe=" ") for name in names)


def place(handle: Any, pose: Array) -> None:
    """Place a node at a pose (4, 4)."""
    handle.position = pose[:3, 3]
    handle.wxyz = quat.from_rotation(pose[:3, :3])


class PlacedNodes:
    """Nodes by name; only nodes that have moved are sent to the page."""

    def __init__(self) -> None:
        self.handles: dict[str, Any] = {}
        self._poses: dict[str, Array] = {}  # of each node, as it was sent

    def place(self, names: Iterable[str], poses: Callable[[str], Array]) -> None:
        """Place some of the nodes at the poses of their names."""
        moved = {
            name: pose
            for name, pose in ((name, poses(name)) for name in names)
            if name not in self._poses or not np.array_equal(pose, self._poses[name])
        }
        if not moved:
            return
        self._poses |= {name: pose.copy() for name, pose in moved.items()}
        wxyz = quat.from_rotation(np.array([pose[:3, :3] for pose in moved.values()]))
        for (name, pose), quaternion in zip(moved.items(), wxyz, strict=True):
            self.handles[name].position, self.handles[name].wxyz = pose[:3, 3], quaternion


class Bodies:
    """Surfaces by the name of the frame that they move with."""

    def __init__(
        self,
        server: Any,
        root: str,
        parts: Mapping[str, Sequence[Part]],
        on_click: Callable[[str], None],
    ) -> None:
        self._frames = PlacedNodes()
        self._surfaces: list[tuple[Any, Part, str]] = []
        for name, surfaces in parts.items():
            if not surfaces:
                continue
            self._frames.handles[name] = server.scene.add_frame(
                node(root, "links", name), show_axes=False
            )
            for k, part in enumerate(surfaces):
                handle = add_surface(server, node(root, "links", name, str(k)), part)
                handle.on_click(lambda _, name=name: on_click(name))
                self._surfaces.append((handle, part, name))

    def place(self, poses: Callable[[str], Array]) -> None:
        """Place every frame."""
        self._frames.place(self._frames.handles, poses)

    def fade(self, opacity: float) -> None:
        """Make all surfaces transparent: 1 as they are, 0 invisible."""
        for handle, part, _ in self._surfaces:
            handle.visible = opacity > 0
            handle.opacity = _opacity(part.opacity * opacity)

    def mark(self, names: Collection[str], color: Rgb) -> None:
        """Draw the surfaces of some frames in a color, and all others in their own."""
        for handle, part, name in self._surfaces:
            handle.color = color if name in names else part.color


def add_surface(server: Any, name: str, part: Part) -> Any:
    """Add the surface of a part as a node of the scene."""
    pose = part.link_H_part
    return server.scene.add_mesh_simple(
        name,
        *arrays_of(part.surface),
        color=part.color,
        opacity=_opacity(part.opacity),
        side="double",
        position=pose[:3, 3],
        wxyz=quat.from_rotation(pose[:3, :3]),
    )


def arrays_of(surface: Surface) -> tuple[Array, Array]:
    """Return vertices and faces of a surface, as viser takes them."""
    return surface.vertices.astype(np.float32), surface.faces.astype(np.uint32)


def add_batch(  # noqa: PLR0917
    scene: Any,
    name: str,
    surface: Surface,
    poses: Array,
    scales: Array,
    colors: Array,
    opacity: float | None,
) -> Any:
    """Add copies of a surface at poses (n, 4, 4), with scales (n, 3) and colors (n, 3)."""
    return scene.add_batched_meshes_simple(
        name,
        *arrays_of(surface),
        batched_wxyzs=quat.from_rotation(poses[:, :3, :3]).astype(np.float32),
        batched_positions=poses[:, :3, 3].astype(np.float32),
        batched_scales=scales.astype(np.float32),
        batched_colors=linear(colors),
        opacity=opacity,
        lod="off",
        cast_shadow=False,
        receive_shadow=False,
    )


def arrow_sizes(radius: float, length: float = np.inf) -> dict[str, float]:
    """Return the sizes of an arrow as viser takes them, from its shaft and its length."""
    head = min(5 * radius, 0.6 * length)
    return {"shaft_radius": radius, "head_radius": 2.5 * radius, "head_length": head}


def _opacity(value: float) -> float | None:
    """As viser takes it: None for an opaque surface."""
    return None if value >= 1 else max(value, 0.01)


class Triads:
    """Axes and names of frames, added when first shown."""

    def __init__(self, server: Any, root: str, length: float) -> None:
        self._server, self._root, self._length = server, root, length
        self._frames = PlacedNodes()
        self.shown: set[str] = set()

    def show(self, name: str, visible: bool) -> None:
        """Show or hide one."""
        if visible:
            self.shown.add(name)
        else:
            self.shown.discard(name)
        handles = self._frames.handles
        if visible and name not in handles:
            path = node(self._root, "frames", name)
            handles[name] = self._server.scene.add_frame(
                path, axes_length=self._length, axes_radius=self._length / 18
            )
            self._server.scene.add_label(f"{path}/name", name, anchor="bottom-center")
        if name in handles:
            handles[name].visible = visible

    def place(self, poses: Callable[[str], Array]) -> None:
        """Update the poses of the visible triads."""
        self._frames.place(self.shown, poses)


class DragHandles:
    """Handles by which a user drags a pose; they follow `place` unless a user drags them."""

    def __init__(
        self,
        context: ViewerContext,
        name: str,
        scale: float,
        *,
        dragged: Callable[[Array], None],
        released: Callable[[], None],
    ) -> None:
        """Add the handles.

        Args:
            context: of the viewer.
            name: of their node.
            scale: their size [m].
            dragged: called with the pose (4, 4) in the world to which they were dragged.
            released: called when the user releases them, to move them back to the pose.
        """
        self._context, self._held = context, False
        self._dragged, self._released = dragged, released
        self._handle: Any = context.server.scene.add_transform_controls(
            name, scale=scale, depth_test=False
        )
        self._handle.on_update(self._updated)

    def place(self, pose: Array) -> None:
        """Place the handles at a pose (4, 4), unless they are held."""
        if not self._held:
            place(self._handle, pose)

    def remove(self) -> None:
        """Remove the handles from the scene."""
        self._handle.remove()
        self._handle = None

    def _updated(self, event: Any) -> None:
        if event.phase == "start":
            self._held = True
        elif event.phase == "end":
            self._held = False
            self._context.run(self._released)
        else:
            self._context.run(self._report)

    def _report(self) -> None:
        if self._handle is not None:
            wxyz = self._handle.wxyz / np.linalg.norm(self._handle.wxyz)
            self._dragged(np.asarray(se3.pose(quat.to_rotation(wxyz), self._handle.position)))


def apply_theme(server: Any, *, dark: bool, extent: Extent) -> Any:
    """Make the page light or dark, and draw the ground below the scene; returns its node."""
    server.gui.configure_theme(
        dark_mode=dark,
        control_width="large",
        show_logo=False,
        show_share_button=False,
        brand_color=BRAND,
    )
    cells, sections = DARK_LINES if dark else LIGHT_LINES
    return server.scene.add_grid(
        "/ground",
        infinite_grid=True,
        cell_size=extent.cell,
        section_size=10 * extent.cell,
        cell_color=cells,
        section_color=sections,
        fade_distance=FADE_DISTANCE * extent.reach,
        position=(0.0, 0.0, extent.ground),
    )
