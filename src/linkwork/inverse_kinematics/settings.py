"""Settings and compiled functions of a search, cached between calls."""

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
from linkwork.inverse_kinematics.step import error_kernel, free_coordinates, step_kernel
from linkwork.inverse_kinematics.tasks import Task, as_floats, scales_of
from linkwork.kindyn import KinDyn

# Functions and settings of this many kinds of problems are cached, with their robots.
CACHE_SIZE = 64


@dataclass(frozen=True)
class Functions:
    """The compiled functions for one robot and one set of tasks."""

    kd: KinDyn
    bounds: Bounds
    errors: Kernel
    steps: Rollout
    pools: dict[tuple[int, int], Array] = field(default_factory=dict)

    def pool(self, size: int, seed: int) -> Array:
        """(size, nq) random configurations within the limits; the last pool is cached."""
        pool = self.pools.get((size, seed))
        if pool is None:
            pool = self.bounds.clamped(self.kd.random(size, seed=seed))
            self.pools.clear()
            self.pools[size, seed] = pool
        return pool


@dataclass(frozen=True)
class Settings:
    """Functions, and the values that are the same for all rows."""

    functions: Functions
    weights: Array  # (rows of the residual,) divided by the largest: only their ratios matter
    scales: Array  # (tasks, 2) the same weights, for distances and angles
    largest_weight: float  # by which the weights were divided
    inverse_tolerances: Array  # (tasks, 2) an error times this is at most 1 if it is tolerated
    free: Array  # (nv,) 0 for coordinates that are held, else 1
    is_random: Array  # (nq,) whether an entry of q is random in random starts
    all_free: bool
    all_random: bool


def settings_of(  # noqa: PLR0917
    kd: KinDyn,
    tasks: tuple[Task, ...],
    limits: bool,
    posture: bool,
    hold: Sequence[str],
    weights: Mapping[str, Any],
    tolerance: Any,
) -> Settings:
    """The settings for arguments of `ik`; `posture` states whether there is one.

    They are cached if all arguments can be hashed.
    """
    if not isinstance(weights, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"weights: expected a dict of weights by frame, got {shown(weights)}")
    arguments = kd, tasks, limits, posture, tuple(hold), tuple(weights.items()), tolerance
    try:
        return _cached_settings(*arguments)
    except TypeError:  # an argument cannot be hashed
        return _build_settings(*arguments)


def _build_settings(  # noqa: PLR0917
    kd: KinDyn,
    tasks: tuple[Task, ...],
    limits: bool,
    posture: bool,
    hold: tuple[str, ...],
    weights: tuple[tuple[str, Any], ...],
    tolerance: Any,
) -> Settings:
    scales = scales_of(tasks, dict(weights))
    largest_weight = float(scales.max())
    counts = [count for task in tasks for count in (3, task.residual_size - 3)]
    free = free_coordinates(kd, _checked_joints(kd, hold))
    is_random = np.zeros(kd.nq, dtype=bool)
    for name, span in kd.layout.q.items():
        is_random[span] = free[kd.layout.nu[name]].all()
    return Settings(
        _functions_of(kd, tasks, limits, posture),
        np.repeat(scales.reshape(-1), counts) / largest_weight,
        scales / largest_weight,
        largest_weight,
        np.where(scales > 0, 1.0 / _tolerances(tolerance), 0.0),
        free,
        is_random,
        bool(free.all()),
        bool(is_random.all()),
    )


_cached_settings = lru_cache(maxsize=CACHE_SIZE)(_build_settings)


@lru_cache(maxsize=CACHE_SIZE)
def _functions_of(kd: KinDyn, tasks: tuple[Task, ...], limits: bool, posture: bool) -> Functions:
    """The functions for some tasks, shared by equal robots."""
    bounds = bounds_of(kd.layout, limits)
    step = step_kernel(kd, tasks, bounds, posture)
    return Functions(kd, bounds, error_kernel(kd, tasks), Rollout(step))


def _tolerances(tolerance: Any) -> Array:
    """(2,) the tolerances of distances [m] and angles [rad]."""
    pair = as_floats(tolerance, "tolerance")
    if pair.shape not in {(), (2,)} or not (pair >= 0).all() or not np.isfinite(pair).all():
        expected = "one number >= 0, or two, for distances [m] and angles [rad]"
        raise ValueRangeError(f"tolerance: expected {expected}, got {shown(tolerance)}")
    return np.broadcast_to(np.maximum(pair, np.finfo(float).tiny), (2,))


def _checked_joints(kd: KinDyn, names: Sequence[str]) -> Sequence[str]:
    known = [*["base"] * kd.floating, *kd.joint_names]
    for name in names:
        if name not in known:
            raise name_not_found("joint", name, known)
    return names
