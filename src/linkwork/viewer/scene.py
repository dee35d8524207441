"""What stands in the scene: surfaces that move with frames, and triads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.spatial.source import quat
from linkwork.viewer.parts import Part


def node(*names: str) -> str:
    """The name of a node of the scene; slashes in names of links are escaped."""
    return "/" + "/".join(quote(name, safe=" ") for name in names)


def place(handle: Any, pose: Array) -> None:
    """Put a node at a pose (4, 4)."""
    handle.position = pose[:3, 3]
    handle.wxyz = quat.from_rotation(pose[:3, :3])


class Placed:
    """Nodes by name, put where they are now; those that have not moved are left alone."""

    def __init__(self) -> None:
        self.handles: dict[str, Any] = {}
        self._poses: dict[str, Array] = {}  # where each node is

    def place(self, names: Iterable[str], poses: Callable[[str], Array]) -> None:
        """Put some of the nodes at the poses of their names."""
        moved = {
            name: pose
            for name, pose in ((name, poses(name)) for name in names)
            if name not in self._poses or not np.array_equal(pose, self._poses[name])
        }
        if not moved:
            return
        self._poses |= {name: pose.copy() for name, pose in moved.items()}
        wxyz = quat.from_rotation(np.array([pose[:3, :3] for pose in moved.values()]))
        for (name, pose), own in zip(moved.items(), wxyz, strict=True):
            self.handles[name].position, self.handles[name].wxyz = pose[:3, 3], own


class Bodies:
    """Surfaces by the name of the frame that they move with."""

    def __init__(
        self,
        server: Any,
        root: str,
        parts: Mapping[str, Iterable[Part]],
        on_click: Callable[[str], None],
    ) -> None:
        self._frames = Placed()
        self._surfaces: list[tuple[Any, float]] = []
        for name, own in parts.items():
            listed = list(own)
            if not listed:
                continue
            self._frames.handles[name] = server.scene.add_frame(
                node(root, "links", name), show_axes=False
            )
            for k, part in enumerate(listed):
                handle = add_surface(server, node(root, "links", name, str(k)), part)
                handle.on_click(_clicked(on_click, name))
                self._surfaces.append((handle, part.opacity))

    @property
    def names(self) -> tuple[str, ...]:
        """The frames that have a surface."""
        return tuple(self._frames.handles)

    def place(self, poses: Callable[[str], Array]) -> None:
        """Put every frame where it is now."""
        self._frames.place(self._frames.handles, poses)

    def fade(self, opacity: float) -> None:
        """Make all surfaces see-through: 1 as they are, 0 invisible."""
        for handle, own in self._surfaces:
            handle.visible = opacity > 0
            handle.opacity = None if own * opacity >= 1 else max(own * opacity, 0.01)


def add_surface(server: Any, name: str, part: Part) -> Any:
    """Add the surface of a part as a node of the scene."""
    pose = part.link_H_part
    return server.scene.add_mesh_simple(
        name,
        np.asarray(part.surface.vertices, dtype=np.float32),
        np.asarray(part.surface.faces, dtype=np.uint32),
        color=part.color,
        opacity=None if part.opacity >= 1 else max(part.opacity, 0.01),
        side="double",
        position=pose[:3, 3],
        wxyz=quat.from_rotation(pose[:3, :3]),
    )


def _clicked(on_click: Callable[[str], None], name: str) -> Callable[[Any], None]:
    def clicked(event: Any) -> None:
        del event
        on_click(name)

    return clicked


class Triads:
    """Axes and names of frames, made when first shown."""

    def __init__(self, server: Any, root: str, length: float) -> None:
        self._server, self._root, self._length = server, root, length
        self._frames = Placed()
        self.shown: set[str] = set()

    def show(self, name: str, visible: bool) -> None:
        """Show or hide one."""
        if visible:
            self.shown.add(name)
        else:
            self.shown.discard(name)
        handles = self._frames.handles
        if visible and name not in handles:
            own = node(self._root, "frames", name)
            handles[name] = self._server.scene.add_frame(
                own, axes_length=self._length, axes_radius=self._length / 18
            )
            self._server.scene.add_label(f"{own}/name", name, anchor="bottom-center")
        if name in handles:
            handles[name].visible = visible

    def place(self, poses: Callable[[str], Array]) -> None:
        """Put the ones that are shown where they are now."""
        self._frames.place(self.shown, poses)
