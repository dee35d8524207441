"""The scene: its extent, nodes that move with frames, triads, the ground, and the camera."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import quote

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.geometry import Surface
from linkwork.spatial.source import quat, se3
from linkwork.viewer.drawing import Drawing, Part, Rgb, linear
from linkwork.viewer.robot import ViewedRobot
from linkwork.viewer.server import ViewerContext, action

LEAST_REACH = 1e-4  # of a scene in which everything is at one point [m]
DIRECTION = np.array([1.0, -0.75, 0.42])  # from the scene to the camera
FIELD_OF_VIEW = 0.7  # from the lower edge of the page to the upper one [rad]
MARGIN = 1.05  # the camera moves back for a scene larger than its view by this factor
ASPECT = 1.5  # width of a page divided by its height, if unknown
NARROW = 1.0  # pages of a smaller aspect are narrow
WIDTH = 1280  # of a page, if unknown [pixels]
PANEL = 410  # pixels that the controls cover at the right of a wide page
# Where the scene may be, as fractions of the way from the center of the page to its left, right,
# lower and upper edge. The controls cover the right side of a wide page, or the lower half of a
# narrow one.
WIDE_MARGINS = (0.72, 0.0, 0.66, 0.66)
NARROW_MARGINS = (0.8, 0.8, -0.1, 0.75)


@dataclass(frozen=True, eq=False)
class Extent:
    """A scene as it is when the page opens."""

    points: Array  # (n, 3) of all that is drawn, in the world [m]; at least one
    ground: float  # height of the ground [m]

    @property
    def reach(self) -> float:
        """Diagonal of the box around it [m]; never zero."""
        edges = self.points.max(axis=0) - self.points.min(axis=0)
        return max(float(np.linalg.norm(edges)), LEAST_REACH)

    def including(self, points: Array) -> Extent:
        """Return the extent of this scene and of further points (n, 3)."""
        both = np.concatenate([self.points, points])
        return Extent(both, min(self.ground, float(both[:, 2].min())))

    @property
    def cell(self) -> float:
        """Distance between lines on the ground [m]: a power of ten, at most a quarter of reach."""
        return float(10.0 ** np.floor(np.log10(self.reach / 4)))


def extent_of(robots: Sequence[ViewedRobot], drawings: Sequence[Drawing]) -> Extent:
    """Return the extent of robots where they are now."""
    both = zip(robots, drawings, strict=True)
    return around(
        [drawn_points(drawing, robot.frame_names, robot.poses()) for robot, drawing in both]
    )


def around(clouds: Sequence[Array]) -> Extent:
    """Return the extent of points; the ground is at 0, or lower if points are below."""
    points = np.concatenate([*clouds, np.zeros((0, 3))])
    points = points if len(points) else np.zeros((1, 3))
    return Extent(points, min(0.0, float(points[:, 2].min())))


def drawn_points(drawing: Drawing, names: Sequence[str], poses: Array) -> Array:
    """Return (n, 3) points of surfaces, or origins of frames if there is no surface [m].

    Args:
        drawing: surfaces by the names of frames.
        names: of the frames.
        poses: (frames, 4, 4) of these frames in the world.
    """
    clouds = [np.zeros((0, 3))]
    for name, pose in zip(names, poses, strict=True):
        for part in drawing.parts.get(name, []):
            H = pose @ part.link_H_part
            clouds.append(part.surface.vertices @ H[:3, :3].T + H[:3, 3])
    points = np.concatenate(clouds)
    return points if len(points) else poses[:, :3, 3]


class Camera:
    """Aims the cameras of all pages at the scene."""

    def __init__(self, server: Any, extent: Extent) -> None:
        self._server, self._extent = server, extent
        self._lock = Lock()  # a page may connect while a trajectory is loaded
        camera, reach = server.initial_camera, extent.reach
        camera.fov = FIELD_OF_VIEW
        camera.near, camera.far = min(0.01, 0.01 * reach), max(1000.0, 100 * reach)
        camera.position, camera.look_at = sight_of(extent)
        server.on_client_connect(lambda client: self._aim(client.camera))

    def include(self, points: Array) -> None:
        """Move the cameras back if some of these points (n, 3) are outside their view."""
        with self._lock:
            wider = self._extent.including(points)
            if wider.reach <= MARGIN * self._extent.reach:
                return
            self._extent = wider
        for client in self._server.get_clients().values():
            self._aim(client.camera)

    def _aim(self, camera: Any) -> None:
        width, height = max(camera.image_width, 1), max(camera.image_height, 1)
        with self._lock, suppress(ValueError):  # of a page that states no finite camera
            camera.position, camera.look_at = sight_of(self._extent, width / height, width)


def margins_of(aspect: float, width: float) -> tuple[float, float, float, float]:
    """Return the area of a page for the scene: left, right, down, up.

    Args:
        aspect: width by height.
        width: of the page [pixels].
    """
    if aspect < NARROW:
        return NARROW_MARGINS
    left, _, down, up = WIDE_MARGINS
    return left, max(1 - 2 * PANEL / width, -0.4), down, up


def sight_of(extent: Extent, aspect: float = ASPECT, width: float = WIDTH) -> tuple[Array, Array]:
    """Return the closest position of the camera that sees all points, and what it looks at.

    Seen from a camera at (x, y, z), where z points from the scene to the camera, a point (a, b, c)
    is left of the right margin if a - x <= k (z - c), where k is the tangent of the angle to it;
    so for the other margins. The least z that allows all of it follows from the extreme points.
    """
    away = DIRECTION / np.linalg.norm(DIRECTION)
    right = np.cross([0.0, 0.0, 1.0], away)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(away, right), away])
    below = [*extent.points.mean(axis=0)[:2], extent.ground]
    a, b, c = axes @ np.concatenate([extent.points, [below]]).T
    tangent = np.tan(FIELD_OF_VIEW / 2)
    left, right_, down, up = np.array([aspect, aspect, 1, 1]) * margins_of(aspect, width) * tangent
    aside, z_wide = _fitted(a, c, left, right_)
    above, z_high = _fitted(b, c, down, up)
    z = max(z_wide, z_high, float(c.max()) + 0.5 * extent.reach)
    x, y = (aside + (left - right_) * z) / 2, (above + (down - up) * z) / 2
    middle = (float(c.min()) + float(c.max())) / 2
    return axes.T @ np.array([x, y, z]), axes.T @ np.array([x, y, middle])


def _fitted(across: Array, toward: Array, low: float, high: float) -> tuple[float, float]:
    """Return twice the camera's coordinate across at z = 0, and the least z.

    It lies between upper - high z and low z - lower; the result is their mean.
    """
    upper = float((across + high * toward).max())
    lower = float((-across + low * toward).max())
    return upper - lower, (upper + lower) / (low + high)


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
    """Convert an opacity to the form of viser: None for an opaque surface."""
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


class Controller:
    """What robots and workcells on the page have: surfaces, triads, and handles at some poses."""

    def __init__(
        self,
        context: ViewerContext,
        root: str,
        parts: Mapping[str, Sequence[Part]],
        *,
        triad: float,
        handles: float,
    ) -> None:
        """Add the surfaces.

        Args:
            context: shared by the controllers.
            root: name of the robot or workcell, under which its nodes are.
            parts: surfaces by the name of the frame that they move with.
            triad: length of the axes of a triad [m].
            handles: size of handles [m].
        """
        self.context = context
        self.bodies = Bodies(context.server, root, parts, self._toggle)
        self.triads = Triads(context.server, root, triad)
        self.triad_boxes: Mapping[str, Any] = {}  # by frame: shows whether its triad is visible
        self._root, self._handle_size = root, handles
        self._handles: dict[str, DragHandles] = {}

    def _moved(self) -> None:
        self.context.moved(self)

    def place(
        self, poses: Callable[[str], Array], handles: Mapping[str, Callable[[], Array]]
    ) -> None:
        """Place surfaces, triads, and those handles that there are."""
        self.bodies.place(poses)
        self.triads.place(poses)
        for name, shown in self._handles.items():
            shown.place(handles[name]())

    def set_handles(self, name: str, dragged: Callable[[Array], None] | None) -> None:
        """Add handles, which call a function when they are dragged; or remove them."""
        old = self._handles.pop(name, None)
        if old is not None:
            old.remove()
        if dragged is not None:
            path, size = node(self._root, name), self._handle_size
            self._handles[name] = DragHandles(
                self.context, path, size, dragged=dragged, released=self._moved
            )
        self._moved()

    @action
    def triad(self, frame: str, visible: bool) -> None:
        """Show or hide a triad."""
        self.triads.show(frame, visible)
        self._moved()

    def _toggle(self, frame: str) -> None:
        """Show or hide the triad of a frame that was clicked."""
        box = self.triad_boxes.get(frame)
        if box is not None:
            box.value = not box.value


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
