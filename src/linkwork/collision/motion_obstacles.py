"""Obstacles for the C extension, which tests motions: in single precision.

They are enlarged by the rounding errors of single precision.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from linkwork.collision.obstacles import ROUNDINGS, WIDTHS, Obstacles, check_one_world
from linkwork.engine.symbolic.arrays import Array
from linkwork.spatial.source import quat

ALIGNED = 1e-12  # boxes whose axes differ less from those of the world are aligned with it
_worlds: WeakKeyDictionary[Obstacles, Any] = WeakKeyDictionary()


def motions_extension() -> Any:
    """Return the C extension; None if it was not built."""
    try:
        return import_module("linkwork.collision._motions")
    except ImportError:
        return None


def world_of(obstacles: Obstacles) -> Any:
    """Return the obstacles for the C extension, prepared once."""
    world = _worlds.get(obstacles)
    if world is None:
        world = _worlds[obstacles] = _prepared(obstacles)
    return world


def _prepared(obstacles: Obstacles) -> Any:
    check_one_world(obstacles)
    radius = np.full((len(obstacles.points), 1), obstacles.point_radius)
    by_name = {
        "spheres": _spheres(obstacles.spheres),
        "points": _spheres(np.concatenate([obstacles.points, radius], axis=-1)),
        "capsules": _capsules(obstacles.capsules),
        "boxes": _boxes(obstacles.boxes),
        "half_spaces": _half_spaces(obstacles.half_spaces),
    }
    parts = [by_name[name] for name in WIDTHS]  # in the order of `Obstacles.name_of`
    kinds, rows, lower, upper = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    with np.errstate(over="ignore"):  # infinitely far away
        single = [np.ascontiguousarray(array, np.float32) for array in (rows, lower, upper)]
    return motions_extension().World(np.ascontiguousarray(kinds, np.int32), *single)


Parts = tuple[Array, Array, Array, Array]  # kinds, rows as in `motions.h`, corners of the bounds


def _rounding(x: Array) -> Array:
    """(n, 1) a bound of the rounding errors of obstacles."""
    eps = float(np.finfo(np.float32).eps)
    return ROUNDINGS * eps * np.abs(x).max(axis=-1, keepdims=True, initial=0.0)


def _parts(kind: int | Array, rows: Array, lower: Array, upper: Array) -> Parts:
    padded = np.zeros((len(rows), 15))
    padded[:, : rows.shape[-1]] = rows
    return np.broadcast_to(kind, len(rows)), padded, lower, upper


def _spheres(x: Array) -> Parts:
    center, radius = x[:, :3], x[:, 3:] + _rounding(x)
    rows = np.concatenate([center, radius], axis=-1)
    radius = radius + _rounding(x)
    return _parts(motions_extension().SPHERE, rows, center - radius, center + radius)


def _capsules(x: Array) -> Parts:
    a, b, radius = x[:, :3], x[:, 3:6], x[:, 6:] + _rounding(x)
    square = ((b - a) ** 2).sum(axis=-1, keepdims=True)
    inverse = np.divide(1.0, square, out=np.zeros_like(square), where=square > np.finfo(float).tiny)
    inverse = np.minimum(inverse, np.finfo(np.float32).max)
    rows = np.concatenate([a, b - a, inverse, radius], axis=-1)
    radius = radius + _rounding(x)
    return _parts(
        motions_extension().CAPSULE, rows, np.minimum(a, b) - radius, np.maximum(a, b) + radius
    )


def _boxes(x: Array) -> Parts:
    center, half = x[:, :3], 0.5 * x[:, 7:]
    rounding = _rounding(np.concatenate([x[:, :3], x[:, 7:]], axis=-1))
    R = np.array([quat.to_rotation(q) for q in x[:, 3:7]]).reshape(-1, 3, 3)
    extent = (np.abs(R) @ half[..., None])[..., 0]  # along the axes of the world
    distance = np.abs(np.abs(R) - np.round(np.abs(R))).max(axis=(1, 2), initial=0.0)
    is_aligned = distance < ALIGNED
    axes = np.swapaxes(R, 1, 2)
    local = (axes @ center[..., None])[..., 0]
    rows = np.concatenate([axes.reshape(-1, 9), local, half + rounding], axis=-1)
    corners = [center - extent - rounding, center + extent + rounding]
    rows[is_aligned, :6] = np.concatenate(corners, axis=-1)[is_aligned]
    rows[is_aligned, 6:] = 0.0
    kinds = np.where(is_aligned, motions_extension().ALIGNED_BOX, motions_extension().BOX)
    return _parts(kinds, rows, corners[0] - rounding, corners[1] + rounding)


def _half_spaces(x: Array) -> Parts:
    rows = x.copy()
    rows[:, 3:] += _rounding(x)
    lower, upper = np.full((len(x), 3), -np.inf), np.full((len(x), 3), np.inf)
    bound = rows[:, 3] + _rounding(x)[:, 0]
    for axis in range(3):  # the normal is an axis of the world: the half-space ends there
        upper[x[:, axis] == 1.0, axis] = bound[x[:, axis] == 1.0]
        lower[x[:, axis] == -1.0, axis] = -bound[x[:, axis] == -1.0]
    return _parts(motions_extension().HALF_SPACE, rows, lower, upper)
