"""Robots and shapes on a page of `linkwork.view`, with the names of iDynTree's two visualizers.

    from linkwork.compat.idyntree.visualize import MeshcatVisualizer  # was: idyntree.visualize

Errors   a name that is unknown or in use raises; iDynTree warns or returns False
Colors   red, green, blue and opacity, each 0 to 1; a single float is the opacity
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import Vector4
from linkwork.compat.idyntree.files import ModelLoader
from linkwork.compat.idyntree.geometry import Position, Rotation, Transform
from linkwork.compat.idyntree.model import Model
from linkwork.compat.idyntree.records import name_at
from linkwork.compat.page import Arrow, Page
from linkwork.errors import ShapeError, shown
from linkwork.kindyn import KinDyn
from linkwork.model.geometry import Box, Cylinder, Geometry, Material, Shape, Sphere
from linkwork.model.numbers import argument
from linkwork.model.pose import as_floats, as_pose
from linkwork.viewer.viewer import Viewer

PERIOD = 0.02  # between two returns of `Visualizer.draw` [s]
GREY = (0.6, 0.6, 0.6, 1.0)


class OnPage:
    """A class of iDynTree that is partially supported."""

    def __init__(self) -> None:
        self._page = Page()

    def __getattr__(self, name: str) -> NoReturn:
        message = f"{type(self).__name__}.{name}: not supported by linkwork's pages"
        raise AttributeError(f"{message}; use linkwork.view")

    @property
    def viewer(self) -> Viewer:
        """The viewer; `viewer.url` is the address of the page. There must be a robot."""
        return self._page.viewer

    def close(self) -> None:
        """Close the page."""
        self._page.close()

    def _add(self, name: str, model: Model, base: str | None = None) -> bool:
        robot = argument(model, Model, "model").robot
        index = model.getDefaultBaseLink() if base is None else model.link_index(base)
        self._page.add(name, KinDyn(robot, model.link_name(index), floating=True))
        return True


class MeshcatVisualizer(OnPage):
    """Robots and shapes on a page; `open()` shows it."""

    def open(self) -> None:
        """Open the page in a browser."""
        self._page.open()

    def jupyter_cell(self) -> Viewer:
        """Return the page, to be the last value of a notebook cell."""
        return self.viewer

    def load_model_from_file(
        self,
        model_path: str | PathLike[str],
        considered_joints: Sequence[str] | None = None,
        model_name: str = "iDynTree",
        color: Any = None,
    ) -> bool:
        """Show the robot of a file; if joints are listed, with only these."""
        loader = ModelLoader()
        if considered_joints is None:
            loaded = loader.loadModelFromFile(model_path)
        else:
            loaded = loader.loadReducedModelFromFile(model_path, considered_joints)
        return loaded and self.load_model(loader.model(), model_name=model_name, color=color)

    def load_model(
        self,
        model: Model,
        base_link: str | None = None,
        model_name: str = "iDynTree",
        color: Any = None,
    ) -> bool:
        """Show a robot; `set_multibody_system_state` sets the pose of `base_link`."""
        self._add(model_name, model, base_link)
        if color is not None:
            self.set_model_color(model_name, color)
        return True

    def set_multibody_system_state(
        self,
        base_position: ArrayLike,
        base_rotation: ArrayLike,
        joint_value: ArrayLike,
        model_name: str = "iDynTree",
    ) -> None:
        """Move a robot: its base, and its joints in the order of the model."""
        pose = Transform(Rotation(base_rotation), Position(base_position))
        _move(self._page, model_name, pose, joint_value)

    def set_link_color(self, model_name: str, link_name: str, color: Any) -> None:
        """Color a link."""
        self._page.paint(model_name, _rgba(color), link_name)

    def set_model_color(self, model_name: str, color: Any) -> None:
        """Color a robot."""
        self._page.paint(model_name, _rgba(color))

    def load_sphere(self, radius: float, shape_name: str = "iDynTree", color: Any = None) -> None:
        """Show a sphere."""
        self._add_shape(shape_name, Sphere(radius), color)

    def load_cylinder(
        self, radius: float, length: float, shape_name: str = "iDynTree", color: Any = None
    ) -> None:
        """Show a cylinder along z."""
        self._add_shape(shape_name, Cylinder(radius, length), color)

    def load_box(
        self, x: float, y: float, z: float, shape_name: str = "iDynTree", color: Any = None
    ) -> None:
        """Show a box with edges along the axes."""
        self._add_shape(shape_name, Box((x, y, z)), color)

    def set_primitive_geometry_transform(
        self, position: ArrayLike, rotation: ArrayLike, shape_name: str = "iDynTree"
    ) -> None:
        """Move a shape."""
        pose = Transform(Rotation(rotation), Position(position)).toNumPy()
        self._page.place(shape_name, Shape, link_H_shape=as_pose(pose))

    def load_arrow(self, radius: float, shape_name: str = "iDynTree", color: Any = None) -> None:
        """Add an arrow; `set_arrow_transform` places it."""
        self._page.check_new(shape_name)
        self._page.draw(shape_name, Arrow(_rgba(color), radius))

    def set_arrow_transform(
        self, origin: ArrayLike, vector: ArrayLike, shape_name: str = "iDynTree"
    ) -> None:
        """Set the start of an arrow, and the vector to its end."""
        start, end = Position(origin).toNumPy(), Position(vector).toNumPy()
        self._page.place(shape_name, Arrow, start=start, vector=end)

    def delete(self, shape_name: str = "iDynTree") -> None:
        """Remove a robot or a shape."""
        self._page.remove(shape_name)

    def _add_shape(self, name: str, geometry: Geometry, color: Any) -> None:
        self._page.check_new(name)
        self._page.draw(name, Shape(geometry, material=Material(rgba=_rgba(color))))


class VisualizerOptions:
    """Options of a `Visualizer`. They have no effect: a page has the size of its window."""


class ColorViz:
    """A color: four components or a vector of four, by default white."""

    def __init__(self, *values: ArrayLike) -> None:
        self.r, self.g, self.b, self.a = Vector4(*values).tolist() if values else [1.0] * 4


class Visualizer(OnPage):
    """Robots on a page, which opens in a browser with the first robot."""

    def init(self, *_: Any) -> bool:
        """Open the page in a browser, as soon as there is a robot."""
        self._page.open()
        return True

    def addModel(self, model: Model, instanceName: str) -> bool:
        """Show a robot."""
        return self._add(instanceName, model)

    def modelViz(self, instance: int | str) -> ModelVisualization:
        """Return a robot on the page, by name or by index."""
        names = list(self._page.robots)
        name = instance if isinstance(instance, str) else name_at("model", names, instance)
        return ModelVisualization(self._page, name)

    def camera(self) -> Camera:
        """Return the camera."""
        return Camera(self._page)

    def environment(self) -> Visualizer:
        """Return the object with `setElementVisibility`."""
        return self

    enviroment = environment  # iDynTree's spelling

    def setElementVisibility(self, *_: Any) -> bool:
        """Do nothing: pages always have a grid and a world frame."""
        return True

    def setColorPalette(self, *_: Any) -> bool:
        """Do nothing: pages have one set of colors."""
        return True

    def run(self) -> bool:
        """Return whether the page is open."""
        return not self._page.closed

    def draw(self) -> None:
        """Send changes, at most 50 times per second."""
        self.viewer.flush()
        time.sleep(PERIOD)


@dataclass(frozen=True)
class ModelVisualization:
    """A robot on the page of a `Visualizer`."""

    _page: Page
    _name: str

    def setPositions(self, world_H_base: ArrayLike, jointPos: ArrayLike) -> bool:
        """Move the robot."""
        _move(self._page, self._name, world_H_base, jointPos)
        return True

    def setModelColor(self, modelColor: ColorViz) -> None:
        """Color the robot."""
        self._page.paint(self._name, (modelColor.r, modelColor.g, modelColor.b, modelColor.a))


@dataclass(frozen=True)
class Camera:
    """The camera of a `Visualizer`."""

    _page: Page

    def setPosition(self, cameraPos: ArrayLike) -> None:
        """Move the camera."""
        self._page.set_camera(position=Position(cameraPos).toNumPy())

    def setTarget(self, cameraTarget: ArrayLike) -> None:
        """Set the point that the camera looks at."""
        self._page.set_camera(look_at=Position(cameraTarget).toNumPy())

    def animator(self) -> Camera:
        """Return the object that enables mouse control, which pages always have."""
        return self

    def enableMouseControl(self, enabled: bool = True) -> None:
        """Do nothing: the mouse always moves the camera of a page."""


def _move(page: Page, name: str, base: ArrayLike, joints: ArrayLike) -> None:
    s = np.ravel(as_floats(joints, "joint positions"))
    model = page.robot(name).model
    n = sum(joint.nq for joint in model.joints)
    if len(s) not in (n, len(model.joints)):  # with zeros for fixed joints at the end
        raise ShapeError(f"joint positions: expected {n}, got {len(s)}")
    page.show(name, Transform(base).toNumPy(), s[:n])


def _rgba(color: Any) -> Any:
    """Return red, green, blue and opacity; a single float is the opacity of grey."""
    components = as_floats(GREY if color is None else color, "color")
    if components.shape == ():
        return (*GREY[:3], float(components))
    if components.shape in ((3,), (4,)):
        return (*components.tolist(), 1.0)[:4]
    raise ShapeError(f"color: expected 3 or 4 components or an opacity, got {shown(color)}")
