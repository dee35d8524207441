"""States to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array

if TYPE_CHECKING:
    from linkwork.compat.pinnzoo.robot import Robot


def is_floating(model: Robot) -> bool:
    """Whether the base moves freely."""
    return model.space.floating


def zero_state(model: Robot) -> Array:
    """(nx,) neutral state: zeros, and the quaternion of no rotation."""
    x = np.zeros(model.nx)
    if is_floating(model):
        x[3] = 1.0
    return x


def randn_state(
    model: Robot, seed: int | np.random.Generator | None = None, *, batch: tuple[int, ...] = ()
) -> Array:
    """(*batch, nx) normally distributed numbers, with a quaternion of norm 1.

    Args:
        model: the robot.
        seed: for the same state again; or a generator to draw from.
        batch: shape of a batch of them.
    """
    x = np.random.default_rng(seed).normal(size=(*batch, model.nx))
    if is_floating(model):
        x[..., 3:7] /= np.linalg.norm(x[..., 3:7], axis=-1, keepdims=True)
    return x


def init_state(model: Robot) -> Array:
    """(nx,) the pose that PinnZoo starts a robot of the zoo in; others in `zero_state`."""
    x = zero_state(model)
    start = model.starting_pose
    if start is not None and is_floating(model) and len(start) == model.nq:
        x[: model.nq] = start
    return x
