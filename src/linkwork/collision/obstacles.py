"""Obstacles in the world, as arrays that are inputs of compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.kindyn.inputs import array_input
from linkwork.model.geometry import Box, Capsule, Geometry, Shape, Sphere
from linkwork.model.pose import NORM_TOLERANCE, Pose
from linkwork.spatial.source import quat

BLOCK = 4  # obstacles of one kind that a compiled function takes at once
WIDTHS = {"spheres": 4, "points": 3, "capsules": 7, "boxes": 10, "half_spaces": 4}
ROUNDINGS = 8.0  # of single precision, relative to the largest coordinate of an obstacle
_POSITIVE = {"spheres": slice(3, 4), "capsules": slice(6, 7), "boxes": slice(7, 10)}

# What a row of each kind is, in messages about inputs of compiled functions.
_ENTRIES = {
    "spheres": "center (3), radius",
    "capsules": "both ends of the axis (3 + 3), radius",
    "boxes": "center (3), quaternion wxyz (4), edges (3)",
    "half_spaces": "unit normal (3), offset",
}
OBSTACLE_INPUTS = {
    kind: array_input(kind, (BLOCK, WIDTHS[kind]), f"has rows of {entries}")
    for kind, entries in _ENTRIES.items()
}


def _sphere_row(sphere: Sphere, pose: Pose) -> list[float]:
    return [*pose.xyz, sphere.radius]


def _capsule_row(capsule: Capsule, pose: Pose) -> list[float]:
    center, half = np.array(pose.xyz), 0.5 * capsule.length * pose.matrix()[:3, 2]
    return [*(center - half), *(center + half), capsule.radius]


def _box_row(box: Box, pose: Pose) -> list[float]:
    return [*pose.xyz, *quat.from_rotation(pose.matrix()[:3, :3]), *box.size]


# The field of a shape, and its row there.
_ROWS: dict[type[Geometry], tuple[str, Callable[[Any, Pose], list[float]]]] = {
    Sphere: ("spheres", _sphere_row),
    Capsule: ("capsules", _capsule_row),
    Box: ("boxes", _box_row),
}


@dataclass(frozen=True, eq=False)
class Obstacles:
    """Obstacles in the world. Moving, adding or removing them compiles nothing.

    Rows of the arrays; leading axes, if any, are batch axes.

        spheres      (..., n, 4)   center (3), radius
        points       (..., n, 3)   a point cloud, each point with the radius `point_radius`
        capsules     (..., n, 7)   both ends of the axis (3 + 3), radius
        boxes        (..., n, 10)  center (3), quaternion wxyz (4), edges (3)
        half_spaces  (..., n, 4)   unit normal (3), offset: the points x with normal . x <= offset
    """

    spheres: Array
    points: Array
    capsules: Array
    boxes: Array
    half_spaces: Array
    point_radius: float

    def __init__(
        self,
        spheres: ArrayLike = (),
        *,
        points: ArrayLike = (),
        capsules: ArrayLike = (),
        boxes: ArrayLike = (),
        half_spaces: ArrayLike = (),
        point_radius: float = 0.0,
    ) -> None:
        arrays = dict(zip(WIDTHS, (spheres, points, capsules, boxes, half_spaces), strict=True))
        for name, value in arrays.items():
            object.__setattr__(self, name, _rows(name, value))
        if not (np.isfinite(point_radius) and point_radius >= 0):
            raise ValueRangeError(f"point_radius: expected at least 0, got {shown(point_radius)}")
        object.__setattr__(self, "point_radius", float(point_radius))
        batch_with(self, ())

    @classmethod
    def of(cls, shapes: Iterable[Shape]) -> Obstacles:
        """Obstacles from shapes, whose poses are those in the world.

        Args:
            shapes: spheres, capsules and boxes, such as `lw.Shape(lw.Box(size), pose)`.
        """
        rows: dict[str, list[list[float]]] = {name: [] for name in WIDTHS}
        for shape in shapes:
            if not isinstance(shape, Shape):
                raise ArgumentError(f"obstacles: expected a Shape, got {shown(shape)}")
            if type(shape.geometry) not in _ROWS:
                text = "an obstacle is a Sphere, a Capsule or a Box"
                hint = "replace it by one of these that contains it"
                raise ArgumentError(f"obstacles: {text}, got {shown(shape.geometry)}; {hint}")
            kind, row_of_shape = _ROWS[type(shape.geometry)]
            rows[kind].append(row_of_shape(shape.geometry, shape.link_H_shape))
        return cls(**rows)  # pyright: ignore[reportArgumentType]

    def __repr__(self) -> str:
        kinds = ((name, getattr(self, name).shape[:-1]) for name in WIDTHS)
        counts = [f"{name} {shape}" for name, shape in kinds if shape[-1]]
        return f"<Obstacles: {', '.join(counts) or 'none'}>"

    @property
    def n(self) -> int:
        """The number of obstacles: rows of `distances_to`, in the order of the fields."""
        return sum(getattr(self, name).shape[-2] for name in WIDTHS)

    @property
    def rounding(self) -> float:
        """A bound of the rounding errors of single precision [m]."""
        arrays = [getattr(self, name) for name in WIDTHS]
        largest = max(float(np.abs(array).max(initial=0.0)) for array in arrays)
        return 4.0 * ROUNDINGS * float(np.finfo(np.float32).eps) * (largest + self.point_radius)

    def name_of(self, row: int) -> str:
        """What the obstacle of a row of `distances_to` is called, such as `boxes[3]`."""
        for name in WIDTHS:
            n = getattr(self, name).shape[-2]
            if 0 <= row < n:
                return f"{name}[{row}]"
            row -= n
        raise ArgumentError(f"row: expected a number from 0 to {self.n - 1}, got {shown(row)}")

    def rows(self, kind: str) -> Array:
        """(..., n, width) all obstacles of a kind. Points are spheres, after the others."""
        rows = getattr(self, kind)
        if kind != "spheres" or not self.points.shape[-2]:
            return rows
        radius = np.full((*self.points.shape[:-1], 1), self.point_radius)
        cloud = np.concatenate([self.points, radius], axis=-1)
        if not rows.shape[-2]:
            return cloud
        batch = np.broadcast_shapes(rows.shape[:-2], cloud.shape[:-2])
        parts = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (rows, cloud)]
        return np.concatenate(parts, axis=-2)


def in_blocks(rows: Array) -> Array:
    """(..., m, 4, width) obstacles (..., n, width) in blocks; the last one repeats its last row."""
    missing = -rows.shape[-2] % BLOCK
    if missing:
        last = np.repeat(rows[..., -1:, :], missing, axis=-2)
        rows = np.concatenate([rows, last], axis=-2)
    return rows.reshape(*rows.shape[:-2], -1, BLOCK, rows.shape[-1])


def as_obstacles(value: Any) -> Obstacles:
    """Obstacles, from the same or from shapes."""
    if isinstance(value, Obstacles):
        return value
    if isinstance(value, Iterable) and not isinstance(value, (str, np.ndarray)):
        return Obstacles.of(value)
    raise ArgumentError(f"obstacles: expected Obstacles or a list of Shapes, got {shown(value)}")


def _rows(name: str, value: ArrayLike) -> Array:
    """An array of obstacles of one kind, checked."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: expected an array of numbers ({error})") from None
    width = WIDTHS[name]
    if array.size == 0:
        array = np.empty((0, width))
    if array.ndim < 2 or array.shape[-1] != width:
        raise ShapeError(f"{name}: expected shape (..., n, {width}), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueRangeError(f"{name}: expected finite numbers, got NaN or infinity")
    sizes = array[..., _POSITIVE.get(name, slice(0, 0))]
    if (sizes < 0.0).any():
        raise ValueRangeError(f"{name}: radii and edges are at least 0, got {sizes.min():g}")
    units = {"boxes": slice(3, 7), "half_spaces": slice(0, 3)}.get(name)
    if units is not None:
        norms = np.linalg.norm(array[..., units], axis=-1, keepdims=True)
        if not (np.abs(norms - 1.0) <= NORM_TOLERANCE).all():
            what = "quaternions" if name == "boxes" else "normals"
            raise ValueRangeError(f"{name}: expected {what} of norm 1, got {norms.flat[0]:g}")
        array[..., units] /= norms
        if name == "half_spaces":
            array[..., 3:] /= norms
    array.flags.writeable = False
    return array


def batch_with(obstacles: Obstacles, batch: tuple[int, ...]) -> tuple[int, ...]:
    """Broadcast the batch axes of all arrays with others, those of configurations."""
    axes = [getattr(obstacles, name).shape[:-2] for name in WIDTHS]
    try:
        return np.broadcast_shapes(batch, *axes)
    except ValueError:
        listed = ", ".join(str(one) for one in dict.fromkeys([batch, *axes]) if one)
        text = f"batch axes of arrays and of q do not broadcast: {listed}"
        raise ShapeError(f"obstacles: {text}") from None


def check_one_world(obstacles: Obstacles) -> None:
    """Reject batch axes, which tests of motions do not have."""
    for name in WIDTHS:
        rows = getattr(obstacles, name)
        if rows.ndim != 2:
            text = "motions are tested against one set of obstacles"
            raise ShapeError(f"obstacles.{name}: {text}, expected (n, ...), got {rows.shape}")
