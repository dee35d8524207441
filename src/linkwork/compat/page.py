"""A page of `linkwork.view` for the visualizers of adam and iDynTree, which add robots one by one.

The page is created when it is first needed. A robot that is added later creates it again at the
same address, with the robots and shapes that were on it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ValueRangeError, name_not_found
from linkwork.kindyn import KinDyn
from linkwork.model.geometry import Material, Shape
from linkwork.model.model import Model
from linkwork.model.pose import Pose, as_pose
from linkwork.spatial.source import quat
from linkwork.viewer.colors import rgb_of
from linkwork.viewer.drawing import drawing_of_shapes
from linkwork.viewer.scene import add_surface, node
from linkwork.viewer.server import LOCAL
from linkwork.viewer.viewer import Viewer, view


class Arrow(NamedTuple):
    """An arrow in the world, such as a force; of length 0 until it is placed."""

    rgba: Any
    radius: float = 0.01  # [m]
    start: ArrayLike = (0.0, 0.0, 0.0)
    vector: ArrayLike = (0.0, 0.0, 0.0)


class Page:
    """Robots with floating bases and shapes, by name."""

    def __init__(self, host: str = LOCAL, port: int | None = None) -> None:
        self._host, self._port = host, port
        self.robots: dict[str, KinDyn] = {}
        self.shapes: dict[str, Shape] = {}
        self.arrows: dict[str, Arrow] = {}
        self._configurations: dict[str, Array] = {}
        self._camera: dict[str, Array] = {}
        self._viewer: Viewer | None = None
        self._opens_browser = self.closed = False

    @property
    def viewer(self) -> Viewer:
        """The viewer, created if necessary."""
        if self._viewer is None:
            self._viewer = view(self.robots, host=self._host, port=self._port)
            self._port = self._viewer.server.get_port()
            for name, q in self._configurations.items():
                self._viewer.show(q, robot=name)
            for name in self.shapes:
                self._draw(name)
            for name, arrow in self.arrows.items():
                self.set_arrow(name, arrow)
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
        self.set_robot(name, robot)
        self._configurations[name] = robot.neutral()

    def set_robot(self, name: str, robot: KinDyn) -> None:
        """Add or replace a robot."""
        self.robots[name] = robot
        self._discard()

    def remove(self, name: str) -> None:
        """Remove a robot, a shape or an arrow."""
        if name in self.robots:
            del self.robots[name], self._configurations[name]
            self._discard()
            return
        if name not in self.shapes and name not in self.arrows:
            raise name_not_found("object", name, (*self.robots, *self.shapes, *self.arrows))
        folder, items = ("shapes", self.shapes) if name in self.shapes else ("arrows", self.arrows)
        del items[name]
        if self._viewer is not None:
            self._viewer.server.scene.remove_by_name(node(folder, name))

    def check_new(self, name: str) -> None:
        """Raise if a name is in use."""
        if name in {*self.robots, *self.shapes, *self.arrows}:
            raise ValueRangeError(f"there is already an object named {name!r}; delete it first")

    def robot(self, name: str) -> KinDyn:
        """Return a robot by name."""
        if name not in self.robots:
            raise name_not_found("model", name, self.robots)
        return self.robots[name]

    def show(self, name: str, base: Array, joints: Array) -> None:
        """Move a robot: the pose of its base (4, 4) and the positions of its joints."""
        kd, pose = self.robot(name), as_pose(base, "base pose").matrix()
        q = np.concatenate([pose[:3, 3], quat.from_rotation(pose[:3, :3]), joints])
        self._configurations[name] = kd.normalize(q)
        self.viewer.show(self._configurations[name], robot=name)

    def set_shape(self, name: str, shape: Shape) -> None:
        """Add or replace a shape in the world."""
        self.shapes[name] = shape
        if self._viewer is not None:
            self._draw(name)

    def place_shape(self, name: str, pose: Pose) -> None:
        """Move a shape."""
        if name not in self.shapes:
            raise name_not_found("shape", name, self.shapes)
        self.set_shape(name, replace(self.shapes[name], link_H_shape=pose))

    def set_arrow(self, name: str, arrow: Arrow) -> None:
        """Add or replace an arrow in the world."""
        self.arrows[name] = arrow
        if self._viewer is not None:
            color, *_ = rgb_of(Material(rgba=arrow.rgba))
            self._viewer.arrow(name, arrow.start, arrow.vector, color=color, radius=arrow.radius)

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

    def _draw(self, name: str) -> None:
        for k, part in enumerate(drawing_of_shapes({name: (self.shapes[name],)}).parts[name]):
            add_surface(self.viewer.server, node("shapes", name, str(k)), part)

    def _discard(self) -> None:
        if self._viewer is not None:
            self._viewer.close()
            self._viewer = None


def painted(model: Model, rgba: Any, link: str | None = None) -> Model:
    """Return a robot whose visuals, or those of one link, have a color."""
    material = Material(rgba=rgba)

    def of(part: Any) -> Any:
        if link not in (None, part.name):
            return part
        visuals = tuple(replace(shape, material=material) for shape in part.visuals)
        return replace(part, visuals=visuals)

    return replace(model, links=tuple(map(of, model.links)))
