"""What a search takes besides starts and targets: made once, and kept for the next call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.kernel.rollout import Rollout
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ValueRangeError, name_not_found, shown
from linkwork.inverse_kinematics.bounds import Bounds, bounds_of
from linkwork.inverse_kinematics.step import as_free, error_kernel, step_kernel
from linkwork.inverse_kinematics.tasks import Task, as_numbers, scales_of
from linkwork.kindyn import KinDyn

# Functions and settings are kept for the last so many kinds of problems, with their robots.
MOST_KEPT = 64


@dataclass(frozen=True)
class Functions:
    """What is compiled for a kind of problem."""

    kd: KinDyn
    bounds: Bounds
    errors: Kernel
    steps: Rollout
    pools: dict[tuple[int, int], Array] = field(default_factory=dict)

    def pool(self, size: int, seed: int) -> Array:
        """(size, nq) random configurations within the limits; the last ones are kept."""
        drawn = self.pools.get((size, seed))
        if drawn is None:
            drawn = self.bounds.clamped(self.kd.random(size, seed=seed))
            self.pools.clear()
            self.pools[size, seed] = drawn
        return drawn


@dataclass(frozen=True)
class Settings:
    """Functions, and the numbers that all rows of all batches share."""

    functions: Functions
    weights: Array  # (rows of the residual,) at most 1: only their ratios matter
    scales: Array  # (tasks, 2) the same for distances and angles
    largest: float  # of the weights that were given
    per_tolerance: Array  # (tasks, 2) what errors are multiplied by to be compared with 1
    free: Array  # (nv,) 0 for what is held, else 1
    drawn: Array  # (nq,) whether a number is random in random starts
    all_free: bool
    all_drawn: bool


def settings_of(  # noqa: PLR0917
    kd: KinDyn,
    tasks: tuple[Task, ...],
    limits: bool,
    posture: bool,
    hold: Sequence[str],
    weights: Mapping[str, Any],
    tolerance: Any,
) -> Settings:
    """The settings for arguments of `ik`, and whether there is a posture; kept if they are plain.

    Arguments with arrays or lists in them are read each time.
    """
    if not isinstance(weights, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"weights: expected numbers by frame, got {shown(weights)}")
    given = kd, tasks, limits, posture, tuple(hold), tuple(weights.items()), tolerance
    try:
        return _kept(*given)
    except TypeError:  # what cannot be hashed is not kept
        return _made(*given)


def _made(  # noqa: PLR0917
    kd: KinDyn,
    tasks: tuple[Task, ...],
    limits: bool,
    posture: bool,
    hold: tuple[str, ...],
    weights: tuple[tuple[str, Any], ...],
    tolerance: Any,
) -> Settings:
    scales = scales_of(tasks, dict(weights))
    largest = float(scales.max())
    counts = [count for task in tasks for count in (3, task.n_rows - 3)]
    free = as_free(kd, _held_joints(kd, hold))
    drawn = np.zeros(kd.nq, dtype=bool)
    for name, span in kd.layout.q.items():
        drawn[span] = free[kd.layout.nu[name]].all()
    return Settings(
        _functions_of(kd, tasks, limits, posture),
        np.repeat(scales.reshape(-1), counts) / largest,
        scales / largest,
        largest,
        np.where(scales > 0, 1.0 / _tolerances(tolerance), 0.0),
        free,
        drawn,
        bool(free.all()),
        bool(drawn.all()),
    )


_kept = lru_cache(maxsize=MOST_KEPT)(_made)


@lru_cache(maxsize=MOST_KEPT)
def _functions_of(kd: KinDyn, tasks: tuple[Task, ...], limits: bool, posture: bool) -> Functions:
    """The functions for some tasks, made once for equal robots."""
    bounds = bounds_of(kd.layout, limits)
    step = step_kernel(kd, tasks, bounds, posture)
    return Functions(kd, bounds, error_kernel(kd, tasks), Rollout(step))


def _tolerances(given: Any) -> Array:
    """(2,) the tolerances of distances [m] and angles [rad]."""
    pair = as_numbers(given, "tolerance")
    if pair.shape not in {(), (2,)} or not (pair >= 0).all() or not np.isfinite(pair).all():
        text = "expected a number, or two for metres and radians, none negative"
        raise ValueRangeError(f"tolerance: {text}, got {shown(given)}")
    return np.broadcast_to(np.maximum(pair, np.finfo(float).tiny), (2,))


def _held_joints(kd: KinDyn, names: Sequence[str]) -> Sequence[str]:
    known = [*["base"] * kd.floating, *kd.joint_names]
    for name in names:
        if name not in known:
            raise name_not_found("joint", name, known)
    return names
