"""A page of `linkwork.view` for the visualizers of adam and iDynTree, which add robots one by one.

The page is created when it is first needed. A robot that is added later creates it again at the
same address, with the robots, shapes and arrows that were on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ValueRangeError, name_not_found
from linkwork.kindyn import KinDyn
from linkwork.model.geometry import Material, Shape
from linkwork.model.model import Model
from linkwork.model.pose import as_pose
from linkwork.spatial.source import quat
from linkwork.viewer.drawing import drawing_of_shapes, rgb_of
from linkwork.viewer.scene import add_surface, node
from linkwork.viewer.viewer import Viewer, view


@dataclass(frozen=True)
class Arrow:
    """An arrow in the world, such as a force; of length 0 until it is placed."""

    rgba: Any
    radius: float  # [m]
    start: ArrayLike = (0.0, 0.0, 0.0)
    vector: ArrayLike = (0.0, 0.0, 0.0)


class Page:
    """Robots with floating bases, shapes and arrows, by name."""

    def __init__(self, **address: Any) -> None:
        self._address = address  # `host` and `port` of `linkwork.view`
        self.robots: dict[str, KinDyn] = {}
        self._configurations: dict[str, Array] = {}
        self._items: dict[str, Shape | Arrow] = {}
        self._nodes: dict[str, list[Any]] = {}  # of the items in the scene
        self._camera: dict[str, Array] = {}
        self._viewer: Viewer | None = None
        self._opens_browser = self.closed = False

    @property
    def viewer(self) -> Viewer:
        """The viewer, created if necessary."""
        if self._viewer is None:
            self._viewer = view(self.robots, **self._address)
            self._address["port"] = self._viewer.server.get_port()
            self._viewer.show(self._configurations)
            for name, item in self._items.items():
                self.draw(name, item)
            self.set_camera()
            if self._opens_browser:
                self._viewer.open()
                self._opens_browser = False
        return self._viewer

    def open(self) -> None:
        """Open the page in a browser, as soon as there is a robot."""
        if self.robots:
            self.viewer.open()
        self._opens_browser = not self.robots

    def close(self) -> None:
        """Close the page."""
        self._discard()
        self.closed = True

    def add(self, name: str, robot: KinDyn) -> None:
        """Add a robot under a new name."""
        self.check_new(name)
        self._configurations[name] = robot.neutral()
        self._set_robot(name, robot)

    def robot(self, name: str) -> KinDyn:
        """Return a robot by name."""
        return _named("model", name, self.robots)

    def paint(self, name: str, rgba: Any, link: str | None = None) -> None:
        """Color a robot, or one of its links."""
        kd = self.robot(name)
        if link is not None:
            kd.model.link_index(link)  # raises if there is no such link
        self._set_robot(name, KinDyn(_painted(kd.model, rgba, link), kd.base, floating=True))

    def show(self, name: str, base: Array, joints: Array) -> None:
        """Move a robot: the pose of its base (4, 4) and the positions of its joints."""
        kd, pose = self.robot(name), as_pose(base, "base pose").matrix()
        q = np.concatenate([pose[:3, 3], quat.from_rotation(pose[:3, :3]), joints])
        self._configurations[name] = kd.normalize(q)
        self.viewer.show(self._configurations[name], robot=name)

    def draw(self, name: str, item: Shape | Arrow) -> None:
        """Draw a shape, posed in the world, or an arrow; replace the one with this name."""
        self._items[name] = item
        if self._viewer is None:
            return
        if isinstance(item, Arrow):
            color, _ = rgb_of(Material(rgba=item.rgba))
            ends = item.start, item.vector
            arrow = self._viewer.arrow(name, *ends, color=color, radius=item.radius)
            self._nodes[name] = [arrow]
        else:
            parts = enumerate(drawing_of_shapes({name: (item,)}).parts[name])
            scene = self._viewer.server
            nodes = [add_surface(scene, node("shapes", name, str(k)), part) for k, part in parts]
            self._nodes[name] = nodes

    def place(self, name: str, kind: type[Shape | Arrow], **changes: Any) -> None:
        """Change a shape or an arrow, such as its pose."""
        items = {key: item for key, item in self._items.items() if isinstance(item, kind)}
        self.draw(name, replace(_named(kind.__name__.lower(), name, items), **changes))

    def remove(self, name: str) -> None:
        """Remove a robot, a shape or an arrow."""
        _named("object", name, {**self.robots, **self._items})
        self._items.pop(name, None)
        for handle in self._nodes.pop(name, ()):
            handle.remove()
        if self.robots.pop(name, None) is not None:
            del self._configurations[name]
            self._discard()

    def check_new(self, name: str) -> None:
        """Raise if a name is in use."""
        if name in self.robots or name in self._items:
            raise ValueRangeError(f"there is already an object named {name!r}; delete it first")

    def set_camera(self, **points: Array) -> None:
        """Set the `position` (3,) of the camera and the point (3,) to `look_at`."""
        self._camera |= points
        if self._viewer is None:
            return
        server = self._viewer.server
        clients = [client.camera for client in server.get_clients().values()]
        for camera in (server.initial_camera, *clients):
            for name, point in self._camera.items():
                setattr(camera, name, point)

    def _set_robot(self, name: str, robot: KinDyn) -> None:
        self.robots[name] = robot
        self._discard()

    def _discard(self) -> None:
        if self._viewer is not None:
            self._viewer.close()
            self._viewer = None
            self._nodes.clear()


def _named(kind: str, name: str, things: dict[str, Any]) -> Any:
    if name not in things:
        raise name_not_found(kind, name, things)
    return things[name]


def _painted(model: Model, rgba: Any, only: str | None) -> Model:
    """Return a robot whose links, or one of them, have a color."""
    material = Material(rgba=rgba)
    links = [
        replace(link, visuals=tuple(replace(shape, material=material) for shape in link.visuals))
        if only in (None, link.name)
        else link
        for link in model.links
    ]
    return replace(model, links=tuple(links))
