"""Settings and compiled functions of a search, cached between calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.kernel.rollout import Rollout
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ValueRangeError, shown
from linkwork.inverse_kinematics.avoidance import Avoidance
from linkwork.inverse_kinematics.loops import closed_error_kernel, closed_step_kernel
from linkwork.inverse_kinematics.step import error_kernel, step_kernel
from linkwork.inverse_kinematics.tasks import Task, as_floats, scales_of
from linkwork.kindyn import KinDyn
from linkwork.kindyn.assembly import Assembler, assembler_of, draw_closed
from linkwork.kindyn.bounds import Bounds, bounds_of, free_coordinates
from linkwork.kindyn.constrained import ConstrainedKinDyn

# Functions and settings of this many kinds of problems are cached, with their robots.
CACHE_SIZE = 64


@dataclass(frozen=True)
class Functions:
    """The compiled functions for one robot and one set of tasks."""

    kd: KinDyn
    loops: ConstrainedKinDyn | None  # the same robot with its equality constraints, if any
    assembler: Assembler | None  # closes the loops
    bounds: Bounds
    errors: Kernel
    steps: Rollout
    avoiding_steps: Rollout | None = None  # with distances to keep, without a posture
    pools: dict[tuple[int, int], Array] = field(default_factory=dict)

    def pool(self, size: int, seed: int) -> Array:
        """(size, nq) random configurations within the limits; the last pool is cached.

        Loops are closed. There are fewer configurations if not enough were found.
        """
        pool = self.pools.get((size, seed))
        if pool is None:
            if self.loops is None:
                pool = self.bounds.clamped(self.kd.random(size, seed=seed))
            else:
                pool = draw_closed(self.loops, size, np.random.default_rng(seed)).closed
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
    loops: ConstrainedKinDyn | None,
    tasks: tuple[Task, ...],
    limits: bool,
    posture: bool,
    avoidance: Avoidance | None,
    hold: Sequence[str],
    weights: Mapping[str, Any],
    tolerance: Any,
) -> Settings:
    """The settings for arguments of `ik`; `posture` states whether there is one.

    `loops` is the robot with its equality constraints, `avoidance` the distances to keep; None if
    there are none.

    They are cached if all arguments can be hashed.
    """
    if not isinstance(weights, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"weights: expected a dict of weights by frame, got {shown(weights)}")
    arguments = (
        *(kd, loops, tasks, limits, posture, avoidance),
        *(tuple(hold), tuple(weights.items()), tolerance),
    )
    try:
        return _cached_settings(*arguments)
    except TypeError:  # an argument cannot be hashed
        return _build_settings(*arguments)


def _build_settings(  # noqa: PLR0917
    kd: KinDyn,
    loops: ConstrainedKinDyn | None,
    tasks: tuple[Task, ...],
    limits: bool,
    posture: bool,
    avoidance: Avoidance | None,
    hold: tuple[str, ...],
    weights: tuple[tuple[str, Any], ...],
    tolerance: Any,
) -> Settings:
    scales = scales_of(tasks, dict(weights))
    largest_weight = float(scales.max())
    counts = [count for task in tasks for count in (3, task.residual_size - 3)]
    free = free_coordinates(kd.problem, hold)
    is_random = np.zeros(kd.nq, dtype=bool)
    for name, span in kd.layout.q.items():
        is_random[span] = free[kd.layout.nu[name]].all()
    return Settings(
        _functions_of(kd, loops, tasks, limits, posture, avoidance),
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
def _functions_of(  # noqa: PLR0917
    kd: KinDyn,
    loops: ConstrainedKinDyn | None,
    tasks: tuple[Task, ...],
    limits: bool,
    posture: bool,
    avoidance: Avoidance | None,
) -> Functions:
    """The functions for some tasks, shared by equal robots."""
    if avoidance is not None:
        functions = _functions_of(kd, loops, tasks, limits, posture, None)
        step = _step_of(kd, loops, tasks, functions.bounds, False, avoidance, functions.assembler)
        return replace(functions, avoiding_steps=Rollout(step))
    bounds = bounds_of(kd.layout, limits)
    assembler = None if loops is None else assembler_of(loops, limits)
    steps = Rollout(_step_of(kd, loops, tasks, bounds, posture, None, assembler))
    if loops is None or assembler is None:
        return Functions(kd, None, None, bounds, error_kernel(kd, tasks), steps)
    errors = closed_error_kernel(kd, loops, tasks, assembler.tolerance)
    return Functions(kd, loops, assembler, bounds, errors, steps)


def _step_of(  # noqa: PLR0917
    kd: KinDyn,
    loops: ConstrainedKinDyn | None,
    tasks: tuple[Task, ...],
    bounds: Bounds,
    posture: bool,
    avoidance: Avoidance | None,
    assembler: Assembler | None,
) -> Kernel:
    if loops is None or assembler is None:
        return step_kernel(kd, tasks, bounds, posture, avoidance)
    tolerance = assembler.tolerance
    return closed_step_kernel(kd, loops, tasks, bounds, posture, avoidance, tolerance)


def _tolerances(tolerance: Any) -> Array:
    """(2,) the tolerances of distances [m] and angles [rad]."""
    pair = as_floats(tolerance, "tolerance")
    if pair.shape not in {(), (2,)} or not (pair >= 0).all() or not np.isfinite(pair).all():
        expected = "one number >= 0, or two, for distances [m] and angles [rad]"
        raise ValueRangeError(f"tolerance: expected {expected}, got {shown(tolerance)}")
    return np.broadcast_to(np.maximum(pair, np.finfo(float).tiny), (2,))
