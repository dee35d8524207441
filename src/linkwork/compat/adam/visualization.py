"""Robots on a page of `linkwork.view`, with the interface of `adam.visualization`.

    visualizer = Visualizer()
    robot = visualizer.add_model(kindyn)
    robot.update(base_transform, joint_positions)

The page has sliders for all joints. It is created with the first robot, and created again at the
same address when another one is added; nodes that a program has added to its scene are then lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.adam.model import AdamModel
from linkwork.compat.page import Page
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, LinkworkError, ShapeError, shown
from linkwork.kindyn import KinDyn
from linkwork.viewer.server import FIRST_PORT, LOCAL

# How the options of adam begin for parts that every page has, or that a user sets on the page.
WITHOUT_EFFECT = ("up_direction", "world_axes", "axes_", "origin_radius", "ground", "default_")


class NoModelError(LinkworkError, RuntimeError):
    """There is no robot on the page."""


class ModelHandle:
    """A robot on the page of a `Visualizer`; `Visualizer.add_model` returns one."""

    def __init__(self, visualizer: Visualizer, kindyn: Any, name: str) -> None:
        self.visualizer, self.kindyn, self.root_name = visualizer, kindyn, name
        self.model = _model_of(kindyn)
        self._moving = [self.model.is_moving(joint) for joint in self.model.actuated_joints]

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
        self.visualizer.page.show(self.root_name[1:], base, joints[self._moving])

    def add_joint_sliders(self, **options: Any) -> None:
        """Do nothing, except moving to `initial_joint_positions`: the page has sliders."""
        if (joints := options.get("initial_joint_positions")) is not None:
            self.update(np.eye(4), joints)


class Visualizer:
    """A web page with robots.

    Args:
        kindyn: a `KinDynComputations` of any framework to show; more with `add_model`.
        host, port: the address of the page; if port 8080 is in use, the next free one is used.
        camera_position, camera_look_at: initial position and target of the camera [m].
        root_name: name of the robot on the page.
        show_frames: whether links have axes.
        options: other options of adam, for the ground, axes, lights and colors, have no effect.

    Raises:
        ArgumentError: there is no such option, or `server` was passed.
    """

    def __init__(
        self,
        kindyn: Any = None,
        *,
        host: str = LOCAL,
        port: int = FIRST_PORT,
        camera_position: ArrayLike | None = None,
        camera_look_at: ArrayLike | None = None,
        root_name: str = "/adam",
        show_frames: bool = False,
        **options: Any,
    ) -> None:
        _check_options(options)
        self.page = Page(host=host, port=None if port == FIRST_PORT else port)
        self.models: dict[str, ModelHandle] = {}
        for name, point in {"position": camera_position, "look_at": camera_look_at}.items():
            if point is not None:
                self.page.set_camera(**{name: _array(name, point, (3,))})
        if kindyn is not None:
            self.add_model(kindyn, root_name=root_name, show_frames=show_frames)

    @property
    def server(self) -> Any:
        """The `viser.ViserServer` of the page."""
        self._first()
        return self.page.viewer.server

    @property
    def scene(self) -> Any:
        """viser's scene."""
        return self.server.scene

    @property
    def gui(self) -> Any:
        """viser's panel with sliders and buttons."""
        return self.server.gui

    def add_model(
        self,
        kindyn: Any,
        *,
        name: str | None = None,
        root_name: str | None = None,
        show_frames: bool = False,
        base_transform: ArrayLike | None = None,
        joint_positions: ArrayLike | None = None,
        **options: Any,
    ) -> ModelHandle:
        """Show a robot.

        Args:
            kindyn: a `KinDynComputations` of any framework.
            name, root_name: name of the robot on the page; that of the file if not given.
            show_frames: whether links have axes.
            base_transform, joint_positions: initial pose and positions; the origin if not given.
            options: other options of adam have no effect.

        Raises:
            ValueError: there is already a robot of this name.
        """
        _check_options(options)
        model = _model_of(kindyn)
        root = "/" + (root_name or name or model.name).strip("/")
        self.page.add(root[1:], KinDyn(model.moving, model.root, floating=True))
        handle = self.models[root] = ModelHandle(self, kindyn, root)
        handle.update(
            np.eye(4) if base_transform is None else base_transform,
            np.zeros(model.NDoF) if joint_positions is None else joint_positions,
        )
        if show_frames:
            self.page.viewer.frames(*model.tree.ordered_nodes_list, robot=root[1:])
        return handle

    def update(self, base_transform: ArrayLike, joint_positions: ArrayLike) -> None:
        """Move the first robot: base (4, 4) and joints (n,)."""
        self._first().update(base_transform, joint_positions)

    def add_joint_sliders(self, **options: Any) -> None:
        """Do nothing, except moving the first robot to `initial_joint_positions`."""
        self._first().add_joint_sliders(**options)

    def close(self) -> None:
        """Close the page."""
        self.page.close()

    def _first(self) -> ModelHandle:
        if not self.models:
            raise NoModelError("there is no robot on the page; add one with add_model()")
        return next(iter(self.models.values()))


def _check_options(options: Mapping[str, Any]) -> None:
    if unknown := [name for name in options if not name.startswith(WITHOUT_EFFECT)]:
        raise ArgumentError(f"{unknown[0]}: not supported by linkwork's pages; use linkwork.view")


def _model_of(kindyn: Any) -> AdamModel:
    model = getattr(kindyn, "model", None)
    if not isinstance(model, AdamModel):
        message = "expected a KinDynComputations of linkwork.compat.adam"
        raise ArgumentError(f"kindyn: {message}, got {shown(kindyn)}")
    return model


def _array(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Copy an array of NumPy, JAX, PyTorch or CasADi, and check its shape."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    array = np.asarray(value.full() if hasattr(value, "full") else value, dtype=float).copy()
    if array.shape != shape:
        raise ShapeError(f"{name}: expected {shape}, got {array.shape}")
    return array
