"""Robots and shapes on a web page, with the names of iDynTree's two visualizers.

    from linkwork.compat.idyntree.visualize import MeshcatVisualizer  # was: idyntree.visualize

`MeshcatVisualizer` and `Visualizer` show them on a page served by viser, which needs the extra
`viewer`. `linkwork.view` shows more of a robot: sliders, forces, velocities, trajectories.

Errors   a name that is unknown or in use raises; iDynTree warns or returns False
Colors   red, green, blue and opacity, each 0 to 1; a single float is the opacity
"""

from __future__ import annotations

import time
import webbrowser
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from html import escape
from io import StringIO
from os import PathLike
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import Vector4
from linkwork.compat.idyntree.geometry import Position, Rotation, Transform
from linkwork.compat.idyntree.model import Model, name_at
from linkwork.compat.idyntree.model_io import ModelLoader
from linkwork.compat.idyntree.shapes import SolidShape
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    ArgumentError,
    ShapeError,
    ValueRangeError,
    name_not_found,
    shown,
    warn,
)
from linkwork.kindyn import KinDyn
from linkwork.model import geometry
from linkwork.model.geometry import Shape
from linkwork.model.pose import as_floats
from linkwork.spatial import quat, so3
from linkwork.viewer.drawing import Part, drawing_of_shapes
from linkwork.viewer.scene import node, place
from linkwork.viewer.server import LOCAL, open_server

FRAME_AXES = 0.1  # length of the axes of an added frame [m]
PERIOD = 0.02  # between two returns of `Visualizer.draw` [s]
Surfaces: TypeAlias = dict[str, list[tuple[Any, Part]]]  # viser's nodes and parts, by link
WHITE = (1.0, 1.0, 1.0, 1.0)


class Item:
    """An object in a scene: a node, and the surfaces below it by the name of their link."""

    def __init__(self, root: Any, surfaces: Surfaces | None = None) -> None:
        self.root, self.surfaces = root, surfaces or {}

    def set_transform(self, transform: ArrayLike) -> None:
        """Set its pose (4, 4), whose axes may be scaled."""
        pose = np.array(as_floats(transform, "transform"), subok=False)
        scale = np.linalg.norm(pose[:3, :3], axis=0)
        pose[:3, :3] = so3.project(pose[:3, :3] / np.where(scale > 0, scale, 1.0))
        place(self.root, pose)
        for surfaces in self.surfaces.values():
            for handle, part in surfaces:
                handle.vertices = np.asarray(part.surface.vertices * scale, dtype=np.float32)

    def set_property(self, key: str, value: Any) -> None:
        """Set "visible", "color" or "opacity"."""
        if key == "visible":
            self.root.visible = bool(value)
        elif key == "color":
            self.paint(None, [*value])
        elif key == "opacity":
            self.paint(None, float(value))
        else:
            raise ArgumentError(f"key: expected 'visible', 'color' or 'opacity', got {shown(key)}")

    def delete(self) -> None:
        """Remove it from the scene."""
        self.root.remove()

    def paint(self, link: str | None, color: Sequence[float] | float | None) -> None:
        """Color the surfaces of a link, or of all links; None restores their original colors."""
        for name, surfaces in self.surfaces.items():
            if link not in (None, name):
                continue
            for handle, part in surfaces:
                rgb, opacity = _painted(part, color)
                handle.color, handle.opacity = rgb, None if opacity >= 1 else opacity


class Robot(Item):
    """A robot in a scene."""

    def __init__(self, server: Any, name: str, model: Model, base: str | None = None) -> None:
        self.model = model.copy()
        robot = self.model.robot
        base = base or robot.link_names[self.model.getDefaultBaseLink()]
        self._kd = KinDyn(robot, base, floating=True)
        drawing = drawing_of_shapes({link.name: link.visuals for link in robot.links})
        for note in drawing.notes:
            warn(note)
        super().__init__(server.scene.add_frame(node(name), show_axes=False))
        self._links: dict[str, Any] = {}
        for link, parts in drawing.parts.items():
            self._links[link] = server.scene.add_frame(node(name, link), show_axes=False)
            self.surfaces[link] = _surfaces(server, node(name, link), parts)
        self.move(np.eye(4), self._kd.neutral()[7:])

    def move(self, base: ArrayLike, joints: ArrayLike) -> None:
        """Set the pose of the base (4, 4) and the positions of the joints."""
        pose = Transform(base).toNumPy()
        s = np.ravel(as_floats(joints, "joint positions"))
        n = self.model.getNrOfPosCoords()
        if len(s) not in (n, self.model.getNrOfJoints()):  # with zeros for fixed joints at the end
            raise ShapeError(f"joint positions: expected {n}, got {len(s)}")
        q = np.concatenate([pose[:3, 3], quat.from_rotation(so3.project(pose[:3, :3])), s[:n]])
        names = [*self._links]
        poses = self._kd.transforms(self._kd.normalize(q), frames=names)
        for handle, pose in zip(self._links.values(), poses, strict=True):
            place(handle, pose)


class OnPage:
    """A class of iDynTree that is partially supported."""

    def __getattr__(self, name: str) -> NoReturn:
        message = f"{type(self).__name__}.{name}: not supported by linkwork's pages"
        raise AttributeError(f"{message}; use linkwork.view")


class Scene:
    """A page, and the objects on it by name."""

    def __init__(self, title: str) -> None:
        self.server = open_server(LOCAL, None, title)
        self.server.scene.set_up_direction("+z")
        self.items: dict[str, Item] = {}
        self.closed = False

    def __getitem__(self, name: str) -> Item:
        if name not in self.items:
            raise name_not_found("object", name, self.items)
        return self.items[name]

    def check_new(self, name: str) -> None:
        """Raise if a name is in use."""
        if name in self.items:
            raise ValueRangeError(f"there is already an object named {name!r}; delete it first")

    def add_robot(self, name: str, model: Model, base: str | None = None) -> Robot:
        """Add a robot under a new name."""
        if not isinstance(model, Model):
            raise ArgumentError(f"model: expected a Model, got {shown(model)}")
        self.check_new(name)
        if base is not None:
            model.link_index(base)  # raises if there is no such link
        robot = self.items[name] = Robot(self.server, name, model, base)
        return robot

    def robot(self, name: str) -> Robot:
        """Return a robot by name."""
        robots = [key for key, item in self.items.items() if isinstance(item, Robot)]
        item = self.items.get(name)
        if not isinstance(item, Robot):
            raise name_not_found("model", name, robots)
        return item

    def delete(self, name: str) -> None:
        """Remove an object."""
        self[name].delete()
        del self.items[name]

    def url(self) -> str:
        """The address of the page."""
        return f"http://{LOCAL}:{self.server.get_port()}"

    def open(self) -> Scene:
        """Open the page in a browser."""
        webbrowser.open(self.url())
        return self

    def close(self) -> None:
        """Close the page."""
        if not self.closed:
            self.closed = True
            with redirect_stdout(StringIO()):  # viser prints that it has stopped
                self.server.stop()

    def _repr_html_(self) -> str:
        return (
            f'<iframe src="{escape(self.url())}" width="100%" height="400"'
            ' style="border:0" title="linkwork viewer"></iframe>'
        )


class MeshcatVisualizer(OnPage):
    """Robots and shapes on a page; `open()` shows it, `viewer.url()` is its address.

    `viewer[name]` has `set_transform`, `set_property` and `delete`, like meshcat's nodes.
    """

    def __init__(self, zmq_url: str | None = None) -> None:
        if zmq_url is not None:
            message = "zmq_url: not supported, as the page is served by viser, not by meshcat"
            raise ArgumentError(f"{message}; omit it")
        self.viewer = Scene("linkwork")
        self._arrows: set[str] = set()

    @property
    def model(self) -> dict[str, Model]:
        """The robots by name."""
        items = self.viewer.items.items()
        return {name: item.model for name, item in items if isinstance(item, Robot)}

    def open(self) -> None:
        """Open the page in a browser."""
        self.viewer.open()

    def jupyter_cell(self) -> Scene:
        """Return the page, to be the last value of a notebook cell."""
        return self.viewer

    def close(self) -> None:
        """Close the page. Not in iDynTree."""
        self.viewer.close()

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
            loader.loadModelFromFile(model_path)
        else:
            loader.loadReducedModelFromFile(model_path, considered_joints)
        return self.load_model(loader.model(), model_name=model_name, color=color)

    def load_model(
        self,
        model: Model,
        base_link: str | None = None,
        model_name: str = "iDynTree",
        color: Any = None,
    ) -> bool:
        """Show a robot; `set_multibody_system_state` sets the pose of `base_link`."""
        self.viewer.add_robot(model_name, model, base_link).paint(None, color)
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
        self.viewer.robot(model_name).move(pose, joint_value)

    def set_link_color(self, model_name: str, link_name: str, color: Any) -> None:
        """Color a link."""
        robot = self.viewer.robot(model_name)
        robot.model.link_index(link_name)
        robot.paint(link_name, color)

    def set_model_color(self, model_name: str, color: Any) -> None:
        """Color a robot."""
        self.viewer.robot(model_name).paint(None, color)

    def load_primitive_geometry(
        self, solid_shape: SolidShape, shape_name: str = "iDynTree", color: Any = None
    ) -> None:
        """Show a shape."""
        if not isinstance(solid_shape, SolidShape):
            raise ArgumentError(f"solid_shape: expected a SolidShape, got {shown(solid_shape)}")
        self.viewer.check_new(shape_name)
        server, name = self.viewer.server, node(shape_name)
        parts = drawing_of_shapes({shape_name: (solid_shape.record,)}).parts[shape_name]
        root = server.scene.add_frame(name, show_axes=False)
        item = Item(root, {shape_name: _surfaces(server, name, parts)})
        item.paint(None, color)
        self.viewer.items[shape_name] = item

    def load_sphere(self, radius: float, shape_name: str = "iDynTree", color: Any = None) -> None:
        """Show a sphere."""
        sphere = SolidShape.of(Shape(geometry.Sphere(radius)))
        self.load_primitive_geometry(sphere, shape_name, color)

    def load_cylinder(
        self, radius: float, length: float, shape_name: str = "iDynTree", color: Any = None
    ) -> None:
        """Show a cylinder along z."""
        cylinder = SolidShape.of(Shape(geometry.Cylinder(radius, length)))
        self.load_primitive_geometry(cylinder, shape_name, color)

    def load_box(
        self, x: float, y: float, z: float, shape_name: str = "iDynTree", color: Any = None
    ) -> None:
        """Show a box with edges along the axes."""
        box = SolidShape.of(Shape(geometry.Box((x, y, z))))
        self.load_primitive_geometry(box, shape_name, color)

    def load_arrow(self, radius: float, shape_name: str = "iDynTree", color: Any = None) -> None:
        """Show an arrow: a cylinder with the pose and scale of `set_arrow_transform`."""
        self.load_cylinder(radius, 1.0, shape_name, color)
        self._arrows.add(shape_name)

    def load_line(
        self,
        vertices: ArrayLike,
        linewidth: float,
        shape_name: str = "iDynTree",
        color: Any = None,
    ) -> None:
        """Show a line through points (3, n); the width is in pixels."""
        points = np.array(as_floats(vertices, "vertices"), subok=False)
        if points.ndim != 2 or points.shape[0] != 3 or points.shape[1] < 2:
            raise ShapeError(f"vertices: expected (3, n) with 2 points or more, got {points.shape}")
        self.viewer.check_new(shape_name)
        segments = np.stack([points.T[:-1], points.T[1:]], axis=1).astype(np.float32)
        red, green, blue, _ = WHITE if color is None else _rgba(color, WHITE)
        line = self.viewer.server.scene.add_line_segments(
            node(shape_name),
            segments,
            (round(255 * red), round(255 * green), round(255 * blue)),
            thickness=float(linewidth),
            thickness_units="screen",
        )
        self.viewer.items[shape_name] = Item(line)

    def set_primitive_geometry_transform(
        self, position: ArrayLike, rotation: ArrayLike, shape_name: str = "iDynTree"
    ) -> None:
        """Move a shape."""
        transform = np.eye(4)
        transform[:3, :3], transform[:3, 3] = as_floats(rotation, "rotation"), Position(position)
        self.viewer[shape_name].set_transform(transform)

    def set_primitive_geometry_property(
        self, property_name: str, value: Any, shape_name: str = "iDynTree"
    ) -> None:
        """Set "visible", "color" or "opacity" of a shape."""
        self.viewer[shape_name].set_property(property_name, value)

    def set_arrow_transform(
        self, origin: ArrayLike, vector: ArrayLike, shape_name: str = "iDynTree"
    ) -> None:
        """Set the start of an arrow, and the vector to its end."""
        if shape_name not in self._arrows:
            raise name_not_found("arrow", shape_name, self._arrows)
        start, direction = Position(origin).toNumPy(), Position(vector).toNumPy()
        self.viewer[shape_name].set_transform(_along(start, direction))

    def delete(self, shape_name: str = "iDynTree") -> None:
        """Remove a robot or a shape."""
        self.viewer.delete(shape_name)
        self._arrows.discard(shape_name)


@dataclass
class VisualizerOptions:
    """Options of a `Visualizer`. They have no effect: a page has the size of its window."""

    verbose: bool = False
    winWidth: int = 800
    winHeight: int = 600
    rootFrameArrowsDimension: float = 1.0


class ColorViz:
    """A color: four components or a vector of four, by default white."""

    def __init__(self, *values: ArrayLike) -> None:
        rgba = Vector4(*values) if values else Vector4(WHITE)
        self.r, self.g, self.b, self.a = rgba.tolist()

    def rgba(self) -> list[float]:
        """Red, green, blue and opacity."""
        return [self.r, self.g, self.b, self.a]


class Visualizer(OnPage):
    """Robots on a page, with the names of iDynTree's visualizer.

    `init`, or the first robot, opens the page in a browser; iDynTree opens a window.
    """

    def __init__(self) -> None:
        self._scene: Scene | None = None
        self._drawn = 0.0
        self._frames: list[Any] = []

    def init(self, options: VisualizerOptions | None = None, *_: Any) -> bool:
        """Open the page."""
        del options
        if self._scene is None:
            self._scene = Scene("linkwork").open()
            self._grid = self._scene.server.scene.add_grid("/ground", infinite_grid=True)
        return True

    @property
    def viewer(self) -> Scene:
        """The page; `viewer.url()` is its address."""
        self.init()
        assert self._scene is not None
        return self._scene

    def addModel(self, model: Model, instanceName: str) -> bool:
        """Show a robot."""
        self.viewer.add_robot(instanceName, model)
        return True

    def getModelInstanceName(self, modelInstanceIndex: int) -> str:
        """Name of a robot."""
        return name_at("model", self._names(), modelInstanceIndex)

    def modelViz(self, instance: int | str) -> ModelVisualization:
        """Return a robot on the page, by name or by index."""
        name = instance if isinstance(instance, str) else self.getModelInstanceName(instance)
        return ModelVisualization(self.viewer.robot(name))

    def camera(self) -> Camera:
        """Return the camera."""
        return Camera(self.viewer.server)

    def environment(self) -> Environment:
        """Return the surroundings of the robots."""
        self.init()
        return Environment(self.viewer.server, self._grid)

    enviroment = environment  # iDynTree's spelling

    def frames(self) -> Frames:
        """Return the frames added to the scene."""
        return Frames(self.viewer.server, self._frames)

    def run(self) -> bool:
        """Whether the page is open."""
        return not self.viewer.closed

    def draw(self) -> None:
        """Send changes; returns at most 50 times per second."""
        self.viewer.server.flush()
        time.sleep(max(self._drawn + PERIOD - time.monotonic(), 0.0))
        self._drawn = time.monotonic()

    def close(self) -> None:
        """Close the page."""
        if self._scene is not None:
            self._scene.close()

    def setColorPalette(self, name: str) -> bool:
        """Choose "vanilla" or "meshcat"; pages look the same."""
        if name not in ("vanilla", "meshcat"):
            raise ArgumentError(f"name: expected 'vanilla' or 'meshcat', got {shown(name)}")
        return True

    def _names(self) -> list[str]:
        return list(self.viewer.items)


@dataclass(frozen=True)
class ModelVisualization(OnPage):
    """A robot on the page of a `Visualizer`."""

    _robot: Robot

    def setPositions(self, world_H_base: ArrayLike, jointPos: ArrayLike) -> bool:
        """Move the robot."""
        self._robot.move(world_H_base, jointPos)
        return True

    def model(self) -> Model:
        """The robot."""
        return self._robot.model

    def setModelVisibility(self, isVisible: bool) -> None:
        """Show or hide the robot."""
        self._robot.set_property("visible", isVisible)

    def setModelColor(self, modelColor: ColorViz) -> None:
        """Color the robot."""
        self._robot.paint(None, modelColor.rgba())

    def setLinkColor(self, linkIndex: int, linkColor: ColorViz) -> bool:
        """Color a link."""
        self._robot.paint(self._robot.model.link_name(linkIndex), linkColor.rgba())
        return True


@dataclass(frozen=True)
class Camera(OnPage):
    """The camera of a `Visualizer`."""

    _server: Any

    def setPosition(self, cameraPos: ArrayLike) -> None:
        """Move the camera."""
        for camera in self._cameras():
            camera.position = Position(cameraPos).toNumPy()

    def setTarget(self, cameraTarget: ArrayLike) -> None:
        """Set the point that the camera looks at."""
        for camera in self._cameras():
            camera.look_at = Position(cameraTarget).toNumPy()

    def animator(self) -> Camera:
        """Return the object that enables mouse control, which pages always have."""
        return self

    def enableMouseControl(self, enabled: bool = True) -> None:
        """Do nothing: the mouse always moves the camera of a page."""

    def _cameras(self) -> Iterable[Any]:
        clients = self._server.get_clients().values()
        return [self._server.initial_camera, *(client.camera for client in clients)]


@dataclass(frozen=True)
class Environment(OnPage):
    """The surroundings of the robots of a `Visualizer`."""

    _server: Any
    _grid: Any

    def setElementVisibility(self, elementKey: str, isVisible: bool) -> bool:
        """Show or hide the "floor_grid" or the "world_frame" ("root_frame" in older releases)."""
        nodes = {
            "floor_grid": self._grid,
            "world_frame": self._server.scene.world_axes,
            "root_frame": self._server.scene.world_axes,
        }
        if elementKey not in nodes:
            raise name_not_found("element", elementKey, nodes)
        nodes[elementKey].visible = bool(isVisible)
        return True


@dataclass(frozen=True)
class Frames(OnPage):
    """Frames in the scene of a `Visualizer`."""

    _server: Any
    _frames: list[Any]

    def addFrame(self, transformation: ArrayLike, arrowLength: float = FRAME_AXES) -> int:
        """Add a frame; return its index."""
        name = node("frames", str(len(self._frames)))
        handle = self._server.scene.add_frame(
            name, axes_length=arrowLength, axes_radius=arrowLength / 18
        )
        self._frames.append(handle)
        place(handle, Transform(transformation).toNumPy())
        return len(self._frames) - 1

    def updateFrame(self, frameIndex: int, transformation: ArrayLike) -> bool:
        """Move a frame."""
        place(self._handle(frameIndex), Transform(transformation).toNumPy())
        return True

    def setVisible(self, frameIndex: int, isVisible: bool) -> bool:
        """Show or hide a frame."""
        self._handle(frameIndex).visible = bool(isVisible)
        return True

    def _handle(self, index: int) -> Any:
        name_at("frame", [str(k) for k in range(len(self._frames))], index)
        return self._frames[index]


def _surfaces(server: Any, name: str, parts: Iterable[Part]) -> list[tuple[Any, Part]]:
    """Add parts as nodes below a node."""
    nodes: list[tuple[Any, Part]] = []
    for k, part in enumerate(parts):
        handle = server.scene.add_mesh_simple(
            f"{name}/{k}",
            np.asarray(part.surface.vertices, dtype=np.float32),
            np.asarray(part.surface.faces, dtype=np.uint32),
            color=part.color,
            opacity=None if part.opacity >= 1 else part.opacity,
            side="double",
        )
        place(handle, part.link_H_part)
        nodes.append((handle, part))
    return nodes


def _painted(part: Part, color: Any) -> tuple[tuple[int, int, int], float]:
    """Return the color of a part, each component 0 to 255, and its opacity."""
    if color is None:
        return part.color, part.opacity
    default = *(component / 255 for component in part.color), part.opacity
    red, green, blue, opacity = _rgba(color, default)
    return (round(255 * red), round(255 * green), round(255 * blue)), opacity


def _rgba(color: Any, default: Sequence[float]) -> tuple[float, ...]:
    """Return red, green, blue and opacity; a single float is the opacity of the default color."""
    components = as_floats(color, "color")
    if components.shape == ():
        rgba = (*default[:3], float(components))
    elif components.shape in ((3,), (4,)):
        rgba = (*components.tolist(), 1.0)[:4]
    else:
        raise ShapeError(f"color: expected 3 or 4 components or an opacity, got {shown(color)}")
    if not all(0 <= component <= 1 for component in rgba):
        raise ValueRangeError(f"color: expected components from 0 to 1, got {shown(color)}")
    return rgba


def _along(start: Array, direction: Array) -> Array:
    """(4, 4) pose and scale of a unit cylinder along z that starts at a point, with a direction."""
    length = float(np.linalg.norm(direction))
    transform = np.eye(4)
    transform[:3, 3] = start + direction / 2
    if length > 0:
        z = direction / length
        helper = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
        x = np.cross(helper, z)
        x /= np.linalg.norm(x)
        transform[:3, :3] = np.stack([x, np.cross(z, x), z], axis=1)
    transform[:3, 2] *= length
    return transform
