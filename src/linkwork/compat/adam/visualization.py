"""Robots on a web page, with the interface of `adam.visualization`.

    visualizer = Visualizer(ground=True)
    robot = visualizer.add_model(kindyn, show_frames=True)
    robot.update(base_transform, joint_positions)
    robot.add_joint_sliders()

The page is served by viser (`Visualizer.server`) and needs the extra `viewer`. `linkwork.view`
shows more of a robot: forces, velocities, trajectories, limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from io import StringIO
from threading import RLock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.adam.model import AdamModel
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, LinkworkError, ShapeError, ValueRangeError, shown, warn
from linkwork.model.geometry import Material, Shape
from linkwork.viewer.colors import Rgb
from linkwork.viewer.drawing import drawing_of_shapes
from linkwork.viewer.scene import add_surface, node, place
from linkwork.viewer.server import FIRST_PORT, LOCAL, open_server
from linkwork.viewer.sliders import UNLIMITED_ANGLE, UNLIMITED_LENGTH

GRAY: Rgb = (160, 160, 160)  # color of visuals without a color
GROUND_LINES: Rgb = (214, 217, 223)
GROUND: Rgb = (248, 249, 251)
STEPS = 200  # number of steps of a slider
SMALLEST_STEP = 1e-3  # of a slider [rad] or [m]
Point: TypeAlias = tuple[float, float, float]


class NoModelError(LinkworkError, RuntimeError):
    """There is no robot on the page."""


class ModelHandle:
    """A robot on the page of a `Visualizer`; `Visualizer.add_model` returns one."""

    def __init__(
        self,
        visualizer: Visualizer,
        kindyn: Any,
        *,
        root_name: str,
        base_transform: ArrayLike | None,
        joint_positions: ArrayLike | None,
        default_color: Rgb,
        axes: Mapping[str, Any],  # options of viser's frames
    ) -> None:
        self.visualizer, self.kindyn, self.model = visualizer, kindyn, _model_of(kindyn)
        self.root_name = _normalized(root_name)
        self.show_frames: bool = axes["show_axes"]
        self._lock = RLock()  # sliders move the robot from another thread
        self._sliders: dict[str, Any] = {}
        self._base, self._joints = np.eye(4), np.zeros(self.model.NDoF)
        shapes = {link.name: link.link.visuals for link in self.model.tree}
        material = Material(rgba=(*(c / 255 for c in default_color), 1.0))  # pyright: ignore
        drawing = drawing_of_shapes(
            {name: tuple(_painted(s, material) for s in part) for name, part in shapes.items()}
        )
        for note in drawing.notes:
            warn(note)
        self._frames: dict[str, Any] = {}
        for name, parts in drawing.parts.items():
            if not parts and not self.show_frames:
                continue
            path = self.root_name + node(name)
            self._frames[name] = visualizer.scene.add_frame(path, **axes)
            labels = _labels(shapes[name], len(parts))
            for label, part in zip(labels, parts, strict=True):
                add_surface(visualizer.server, path + node(label), part)
        self.update(
            self._base if base_transform is None else base_transform,
            self._joints if joint_positions is None else joint_positions,
        )

    def scene_path(self, name: str) -> str:
        """Return the path of a node below this robot; a name with a leading slash is a path."""
        return self.visualizer.scene_path(name, root_name=self.root_name)

    def update(self, base_transform: ArrayLike, joint_positions: ArrayLike) -> None:
        """Move the robot.

        Args:
            base_transform: (4, 4) pose of the base in the world.
            joint_positions: (n,).

        Raises:
            ValueError: one of them has another shape.
        """
        base = _array("base_transform", base_transform, (4, 4))
        joints = _array("joint_positions", joint_positions, (self.model.NDoF,))
        with self._lock:
            self._base, self._joints = base, joints
            poses = self.kindyn.link_poses(self._base, self._joints)
            for name, handle in self._frames.items():
                place(handle, _array(name, poses[name], (4, 4)))

    def add_joint_sliders(
        self,
        *,
        folder_name: str = "Joints",
        expand_by_default: bool = False,
        step: float | None = None,
        initial_joint_positions: ArrayLike | None = None,
    ) -> dict[str, Any]:
        """Add a slider for each joint, and a button that resets them.

        Args:
            folder_name: heading above the sliders.
            expand_by_default: whether they are expanded at first.
            step: smallest change [rad] or [m]; chosen by the limits if not given.
            initial_joint_positions: (n,) positions to which the robot is moved first.

        Returns:
            viser's handles by the names of the joints; those of the first call in later calls.
        """
        if self._sliders or not self.model.NDoF:
            return self._sliders
        if initial_joint_positions is not None:
            self.update(self._base, initial_joint_positions)
        gui, initial = self.visualizer.gui, self._joints.copy()
        with gui.add_folder(folder_name, expand_by_default=expand_by_default):
            button = gui.add_button("Reset Joints")
            for index, name in enumerate(self.model.actuated_joints):
                lower, upper = self._ends(name)
                initial[index] = np.clip(initial[index], lower, upper)
                self._sliders[name] = gui.add_slider(
                    name,
                    min=lower,
                    max=upper,
                    step=step if step else max((upper - lower) / STEPS, SMALLEST_STEP),
                    initial_value=float(initial[index]),
                )
                self._sliders[name].on_update(partial(self._moved, index))
        button.on_click(partial(self._reset, initial))
        return self._sliders

    def _ends(self, joint: str) -> tuple[float, float]:
        """Return the limits of a joint, or those of its slider if it has none."""
        limit, kind = self.model.joints[joint].limit, self.model.joints[joint].type
        if np.isfinite([limit.lower, limit.upper]).all() and limit.lower < limit.upper:
            return limit.lower, limit.upper
        reach = UNLIMITED_LENGTH if kind == "prismatic" else UNLIMITED_ANGLE
        return -reach, reach

    def _moved(self, index: int, event: Any) -> None:
        with self._lock:
            joints = self._joints.copy()
            joints[index] = event.target.value
            self.update(self._base, joints)

    def _reset(self, joints: Array, event: Any) -> None:
        del event
        for slider, value in zip(self._sliders.values(), joints.tolist(), strict=True):
            slider.value = value
        self.update(self._base, joints)


class Visualizer:
    """A web page with robots.

    Args:
        kindyn: a `KinDynComputations` of any framework to show; more with `add_model`.
        server: a `viser.ViserServer` to use; one is started if not given.
        host, port: the address of the page; if port 8080 is in use, the next free one is used.
        up_direction: up direction of the page.
        world_axes, ground: whether they are shown.
        ground_name, ground_plane: name and plane of the grid.
        ground_width, ground_height: size of the grid [m].
        ground_cell_size, ground_section_size: distances between its lines [m].
        default_lights, default_lights_cast_shadow: lights of the page.
        camera_position, camera_look_at: initial position and target of the camera [m].
        root_name, show_frames, axes_length, axes_radius, origin_radius, default_color: see
            `add_model`.

    Every method `add_...` of viser's scene is also a method of this class. It takes a name and
    `root_name=`, as in `scene_path`.
    """

    def __init__(
        self,
        kindyn: Any = None,
        *,
        server: Any = None,
        host: str = LOCAL,
        port: int = FIRST_PORT,
        up_direction: str = "+z",
        world_axes: bool = False,
        ground: bool = False,
        ground_name: str = "/ground",
        ground_width: float = 160.0,
        ground_height: float = 160.0,
        ground_plane: str = "xy",
        ground_cell_size: float = 0.25,
        ground_section_size: float = 0.5,
        default_lights: bool | None = None,
        default_lights_cast_shadow: bool = True,
        camera_position: Point | None = None,
        camera_look_at: Point | None = None,
        root_name: str = "/adam",
        show_frames: bool = False,
        axes_length: float = 0.1,
        axes_radius: float = 0.01,
        origin_radius: float | None = None,
        default_color: Rgb = GRAY,
    ) -> None:
        if kindyn is not None:
            _model_of(kindyn)  # before a page is opened
        self._owns_server = server is None
        first = None if port == FIRST_PORT else port
        self.server = open_server(host, first, "adam") if server is None else server
        self._models: dict[str, ModelHandle] = {}
        self.scene.set_up_direction(up_direction)
        if default_lights is not None:
            self.scene.configure_default_lights(
                enabled=default_lights, cast_shadow=default_lights_cast_shadow
            )
        if world_axes:
            self.scene.world_axes.visible = True
        if ground:
            self.scene.add_grid(
                ground_name,
                width=ground_width,
                height=ground_height,
                plane=ground_plane,
                cell_size=ground_cell_size,
                section_size=ground_section_size,
                cell_color=GROUND_LINES,
                section_color=GROUND_LINES,
                plane_color=GROUND,
                plane_opacity=1.0,
            )
        if camera_position is not None:
            self.server.initial_camera.position = camera_position
        if camera_look_at is not None:
            self.server.initial_camera.look_at = camera_look_at
        if kindyn is not None:
            self.add_model(
                kindyn,
                root_name=root_name,
                show_frames=show_frames,
                axes_length=axes_length,
                axes_radius=axes_radius,
                origin_radius=origin_radius,
                default_color=default_color,
            )

    @property
    def scene(self) -> Any:
        """viser's scene."""
        return self.server.scene

    @property
    def gui(self) -> Any:
        """viser's panel with sliders and buttons."""
        return self.server.gui

    @property
    def models(self) -> Mapping[str, ModelHandle]:
        """The robots by their paths."""
        return dict(self._models)

    def scene_path(self, name: str, *, root_name: str | None = None) -> str:
        """Return the path of a node: the name below `root_name`, unless it starts with a slash."""
        if root_name is None or name.startswith("/"):
            return _normalized(name)
        return f"{_normalized(root_name)}/{name}"

    def add_scene_node(
        self, method_name: str, name: str, *, root_name: str | None = None, **kwargs: Any
    ) -> Any:
        """Call a method of viser's scene, such as "add_box", with the path of a node."""
        return getattr(self.scene, method_name)(
            self.scene_path(name, root_name=root_name), **kwargs
        )

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("add_") and hasattr(self.scene, name):
            return partial(self.add_scene_node, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def add_model(
        self,
        kindyn: Any,
        *,
        name: str | None = None,
        root_name: str | None = None,
        show_frames: bool = False,
        axes_length: float = 0.1,
        axes_radius: float = 0.01,
        origin_radius: float | None = None,
        default_color: Rgb = GRAY,
        base_transform: ArrayLike | None = None,
        joint_positions: ArrayLike | None = None,
    ) -> ModelHandle:
        """Show a robot.

        Args:
            kindyn: a `KinDynComputations` of any framework.
            name: name of the robot on the page; that of the file if not given.
            root_name: path of its node; "/" and the name if not given.
            show_frames: whether links have axes.
            axes_length, axes_radius, origin_radius: size of the axes [m].
            default_color: color of visuals without one, each component 0 to 255.
            base_transform, joint_positions: initial pose and positions; the origin if not given.

        Raises:
            ValueError: there is already a robot at this path.
        """
        root = _normalized(root_name or name or _model_of(kindyn).name)
        if root in self._models:
            raise ValueRangeError(f"there is already a model at {root!r}; choose another root_name")
        self._models[root] = ModelHandle(
            self,
            kindyn,
            root_name=root,
            base_transform=base_transform,
            joint_positions=joint_positions,
            default_color=default_color,
            axes={
                "show_axes": show_frames,
                "axes_length": axes_length,
                "axes_radius": axes_radius,
                "origin_radius": origin_radius,
            },
        )
        return self._models[root]

    def update(self, base_transform: ArrayLike, joint_positions: ArrayLike) -> None:
        """Move the first robot: base (4, 4) and joints (n,)."""
        self._first().update(base_transform, joint_positions)

    def add_joint_sliders(self, **options: Any) -> dict[str, Any]:
        """Add sliders for the first robot; see `ModelHandle.add_joint_sliders`."""
        return self._first().add_joint_sliders(**options)

    def close(self) -> None:
        """Close the page, unless its server was passed to the class."""
        if self._owns_server:
            with redirect_stdout(StringIO()):  # viser prints that it has stopped
                self.server.stop()

    def _first(self) -> ModelHandle:
        if not self._models:
            raise NoModelError("there is no robot on the page; add one with add_model()")
        return next(iter(self._models.values()))


def _model_of(kindyn: Any) -> AdamModel:
    model = getattr(kindyn, "model", None)
    if not isinstance(model, AdamModel):
        message = "expected a KinDynComputations of linkwork.compat.adam"
        raise ArgumentError(f"kindyn: {message}, got {shown(kindyn)}")
    return model


def _normalized(name: str) -> str:
    return "/" + name.strip("/")


def _painted(shape: Shape, material: Material) -> Shape:
    has_color = shape.material is not None and shape.material.rgba is not None
    return shape if has_color else replace(shape, material=material)


def _labels(shapes: tuple[Shape, ...], count: int) -> list[str]:
    """Return the names of the nodes of a link's surfaces: those of its visuals if unique."""
    names = [shape.name for shape in shapes]
    if len(names) == count and all(names) and len(set(names)) == count:
        return names
    return [f"visual_{k}" for k in range(count)]


def _array(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Copy an array of NumPy, JAX, PyTorch or CasADi, and check its shape."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    array = np.asarray(value.full() if hasattr(value, "full") else value, dtype=float).copy()
    if array.shape != shape:
        raise ShapeError(f"{name}: expected {shape}, got {array.shape}")
    return array
