"""Settings and compiled functions of a search, cached between calls."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.kernel.rollout import Rollout
from linkwork.engine.symbolic.arrays import Array
from linkwork.inverse_kinematics.avoidance import Avoidance
from linkwork.inverse_kinematics.step import ClosedTargets, Targets
from linkwork.inverse_kinematics.tasks import Task, pair_of, scales_of
from linkwork.kindyn import ConstrainedKinDyn, KinDyn
from linkwork.kindyn.constrained.assembly import Assembler, assembler_of, draw_closed
from linkwork.kindyn.core import cached
from linkwork.kindyn.gauss_newton import Bounds, bounds_of, step_kernel
from linkwork.kindyn.loops import free_coordinates


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
        """Return random configurations (size, nq) within the limits; the last pool is cached.

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


class Request(NamedTuple):
    """The arguments of `ik` that are the same for all rows of a batch."""

    loops: ConstrainedKinDyn | None  # the robot with its equality constraints, if any
    tasks: tuple[Task, ...]
    limits: bool
    has_posture: bool
    avoidance: Avoidance | None  # the distances to keep, if any
    hold: tuple[str, ...]
    weights: tuple[tuple[str, Any], ...]
    tolerance: Any


def settings_of(kd: KinDyn, request: Request) -> Settings:
    """Return the settings of a request; they are cached if it can be hashed."""
    try:
        return cached(kd, _settings, request)
    except TypeError:  # an argument cannot be hashed
        return _settings(kd, request)


def _settings(kd: KinDyn, request: Request) -> Settings:
    tasks = request.tasks
    scales = scales_of(tasks, dict(request.weights))
    largest_weight = float(scales.max())
    tolerances = pair_of(request.tolerance, "tolerance", "distances [m] and angles [rad]")
    tolerances = np.maximum(tolerances, np.finfo(float).tiny)
    counts = [count for task in tasks for count in (3, task.residual_size - 3)]
    free = free_coordinates(kd.problem, request.hold)
    is_random = np.zeros(kd.nq, dtype=bool)
    for name, span in kd.layout.q.items():
        is_random[span] = free[kd.layout.nu[name]].all()
    return Settings(
        cached(kd, _functions, *request[:5]),
        np.repeat(scales.reshape(-1), counts) / largest_weight,
        scales / largest_weight,
        largest_weight,
        np.where(scales > 0, 1.0 / tolerances, 0.0),
        free,
        is_random,
        bool(free.all()),
        bool(is_random.all()),
    )


def _functions(  # noqa: PLR0917
    kd: KinDyn,
    loops: ConstrainedKinDyn | None,
    tasks: tuple[Task, ...],
    limits: bool,
    posture: bool,
    avoidance: Avoidance | None,
) -> Functions:
    """Return the functions for some tasks."""
    bounds = bounds_of(kd.layout, limits)
    problem: Targets = Targets(kd, tasks, bounds, posture)
    assembler = None
    if loops is not None:
        assembler = assembler_of(loops, limits)
        problem = ClosedTargets(
            kd, tasks, bounds, posture, loops=loops, tolerance=assembler.tolerance
        )
    if avoidance is None:
        steps = Rollout(step_kernel(problem))
        return Functions(kd, loops, assembler, bounds, problem.error_kernel(), steps)
    functions = cached(kd, _functions, loops, tasks, limits, posture, None)
    avoiding = replace(problem, has_posture=False, avoidance=avoidance)
    return replace(functions, avoiding_steps=Rollout(step_kernel(avoiding)))
