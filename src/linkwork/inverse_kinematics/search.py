"""The search of inverse kinematics: from the given start first, then from random starts.

Each row of a batch is solved independently of the others: the random configurations are the same
for all rows, and a row starts from those nearest to its target first, a few at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.engine.kernel.rollout_inputs import Inputs
from linkwork.engine.symbolic.arrays import Array
from linkwork.inverse_kinematics.settings import Settings
from linkwork.inverse_kinematics.step import INITIAL_DAMPING
from linkwork.model.layout import BASE_NQ, BASE_NV

STEPS_PER_CHECK = 8  # after which converged and stalled rows are removed
GROUP_SIZES = (2, 6, 8, 16)  # random starts per row in the first round, the second, and so on
MAX_PAIRS = 1 << 15  # pairs of a row and a configuration whose costs are computed at once
# A start is abandoned if STEPS_PER_CHECK steps lower its cost by less than the first fraction: it
# is in a local minimum, or moves slowly along a limit. The best solution is improved further at the
# end, until its cost decreases by less than the second.
MIN_PROGRESS, MIN_FINAL_PROGRESS = 0.05, 1e-9


class Effort(NamedTuple):
    """Limits of the search."""

    max_iterations: int  # from one start
    restarts: int
    seed: int


@dataclass
class Solutions:
    """The best configuration so far, for each row."""

    q: Array  # (n, nq)
    cost: Array  # (n,)
    excess: Array  # (n,) at most 1 if the target is reached
    iterations: Array  # (n,) steps from all starts together

    @property
    def open_rows(self) -> Array:
        """Indices of the rows whose targets are not reached."""
        return (~(self.excess <= 1.0)).nonzero()[0]

    def improve(self, rows: Array, other: Solutions, indices: Array) -> None:
        """Replace `rows` by results of another search at `indices`, where those are better."""
        better = (other.excess[indices] <= 1.0) | (other.cost[indices] < self.cost[rows])
        rows, indices = rows[better], indices[better]
        self.q[rows], self.cost[rows] = other.q[indices], other.cost[indices]
        self.excess[rows] = other.excess[indices]


def solve(problems: Problems, q0: Array, effort: Effort) -> Solutions:
    """Search from starts (n, nq) within the limits, then from random starts."""
    max_steps = effort.max_iterations
    solutions = _descend_with_posture(
        problems,
        q0,
        problems.pull,
        max_steps,
        MIN_PROGRESS if effort.restarts else MIN_FINAL_PROGRESS,
    )
    if effort.restarts and solutions.open_rows.size:
        _restart(solutions, problems, q0, effort)
        rows = solutions.open_rows
        if rows.size:
            other = _descend_with_posture(
                problems.select(rows), solutions.q[rows], 0.0, max_steps, MIN_FINAL_PROGRESS
            )
            solutions.iterations[rows] += other.iterations
            solutions.improve(rows, other, np.arange(rows.size))
    if not problems.settings.all_free:
        for span in _held_spans(problems):  # undo the rounding by normalization
            solutions.q[:, span] = q0[:, span]
    return solutions


def _restart(solutions: Solutions, problems: Problems, q0: Array, effort: Effort) -> None:
    """Search from random starts where the targets are not reached."""
    starts = _Starts(problems, q0, solutions.open_rows, effort)
    tried = group = 0
    while tried < effort.restarts and (rows := solutions.open_rows).size:
        count = min(GROUP_SIZES[min(group, len(GROUP_SIZES) - 1)], effort.restarts - tried)
        q = starts.of(rows, tried, count)
        tried, group = tried + count, group + 1
        # the second half ignores the posture, which may prevent convergence
        pull = problems.pull if 2 * tried <= effort.restarts else 0.0
        again = problems.select(np.repeat(rows, count))
        other = _descend_with_posture(again, q, pull, effort.max_iterations, MIN_PROGRESS, count)
        solutions.iterations[rows] += other.iterations.reshape(rows.size, count).sum(axis=1)
        solutions.improve(rows, other, _best(again, other, count))


def _descend_with_posture(  # noqa: PLR0917
    problems: Problems,
    q: Array,
    pull: float,
    max_steps: int,
    min_progress: float,
    group_size: int = 1,
) -> Solutions:
    """Search from one start per row; if there is a posture, first with its pull, then without."""
    if problems.posture is None or not pull:
        return _descend(problems, q, 0.0, max_steps, min_progress, group_size)
    first = _descend(problems, q, pull, max_steps, MIN_FINAL_PROGRESS)
    solutions = _descend(problems, first.q, 0.0, max_steps, min_progress, group_size)
    solutions.iterations += first.iterations
    return solutions


def _descend(  # noqa: PLR0917
    problems: Problems,
    q: Array,
    pull: float,
    max_steps: int,
    min_progress: float,
    group_size: int = 1,
) -> Solutions:
    """Step from one start per row, until the row converges, stalls or reaches `max_steps`.

    Rows of one group all end when one of them converges. A posture pulls away from the targets:
    with it, reaching the targets does not end a row.
    """
    n, done = len(q), 0
    descent = Descent(problems, q, pull)
    solutions = Solutions(descent.q, descent.cost, descent.excess, np.zeros(n, dtype=np.int64))
    rows, active = np.arange(n), np.ones(n, dtype=bool)
    while True:
        if not pull:
            active &= ~_converged(descent.excess <= 1.0, rows, n, group_size)
        n_active = np.count_nonzero(active)
        if done >= max_steps or n_active < rows.size:
            _write(solutions, rows, descent, done)
            if done >= max_steps or not n_active:
                return solutions
            rows = rows[active]
            descent.keep(active)
        steps, before = min(STEPS_PER_CHECK, max_steps - done), descent.cost.copy()
        descent.step(steps)
        done += steps
        active = descent.cost < (1.0 - min_progress) * before


def _write(solutions: Solutions, rows: Array, descent: Descent, done: int) -> None:
    """Store the results of rows after `done` steps."""
    solutions.iterations[rows] = done
    if descent.q is not solutions.q:  # while all rows are active, they share the same arrays
        solutions.q[rows], solutions.cost[rows] = descent.q, descent.cost
        solutions.excess[rows] = descent.excess


def _converged(converged: Array, rows: Array, n: int, group_size: int) -> Array:
    """Whether a row, or another row of its group, has converged."""
    if group_size == 1 or not converged.any():
        return converged
    groups = np.zeros(n // group_size, dtype=bool)
    groups[rows[converged] // group_size] = True
    return groups[rows // group_size]


def _best(problems: Problems, solutions: Solutions, count: int) -> Array:
    """Index of the best of each `count` rows.

    Of rows that reach the targets, the one nearest to `preferred`; otherwise that of least cost.
    """
    reached = solutions.excess <= 1.0
    distances = solutions.cost.copy()
    if reached.any():
        kd, preferred = problems.settings.functions.kd, problems.preferred
        distances[reached] = np.linalg.norm(
            kd.difference(preferred[reached], solutions.q[reached]), axis=-1
        )
    distances, reached = distances.reshape(-1, count), reached.reshape(-1, count)
    eligible = reached | ~reached.any(axis=1, keepdims=True)
    return np.arange(len(distances)) * count + np.where(eligible, distances, np.inf).argmin(axis=1)


class _Starts:
    """Random starts of some rows, in the order of their cost.

    Only the positions of free joints are random; a floating base keeps its pose.
    """

    def __init__(self, problems: Problems, q0: Array, rows: Array, effort: Effort) -> None:
        size, settings = effort.restarts, problems.settings
        self.q0, self.pool = q0, settings.functions.pool(size, effort.seed)
        self.is_random, self.all_random = settings.is_random, settings.all_random
        self.order = np.empty((len(q0), size), dtype=np.intp)
        chunk = max(1, MAX_PAIRS // size)
        for first in range(0, rows.size, chunk):
            some = rows[first : first + chunk]
            costs = problems.costs(some, self._combine(some, self.pool))
            self.order[some] = np.argsort(costs, axis=1, kind="stable")

    def of(self, rows: Array, first: int, count: int) -> Array:
        """(rows * count, nq) the next starts of each row."""
        random = self.pool[self.order[rows, first : first + count]]
        return np.ascontiguousarray(self._combine(rows, random)).reshape(rows.size * count, -1)

    def _combine(self, rows: Array, random: Array) -> Array:
        """Random values for free joints, and those of each row's start for all others."""
        return random if self.all_random else np.where(self.is_random, random, self.q0[rows, None])


def _held_spans(problems: Problems) -> list[slice]:
    """The slices of q that are held."""
    layout, free = problems.settings.functions.kd.layout, problems.settings.free
    spans = [layout.q[name] for name, span in layout.nu.items() if not free[span].any()]
    if layout.floating and not free[:BASE_NV].any():
        spans.append(slice(0, BASE_NQ))
    return spans


# The search aims at tolerance / SEARCH_MARGIN, so that rounding cannot change the final check.
SEARCH_MARGIN = 1.001


@dataclass(frozen=True)
class Problems:
    """A batch of problems with the same tasks and settings."""

    settings: Settings
    preferred: Array  # (n, nq) of several solutions, the one nearest to this is chosen
    target: Array  # (n, total size of the targets)
    posture: Array | None  # (n, nq)
    pull: float  # weight of the posture in the cost

    def select(self, rows: Array) -> Problems:
        """The problems of some rows, which may be repeated."""
        posture = None if self.posture is None else self.posture[rows]
        return Problems(self.settings, self.preferred[rows], self.target[rows], posture, self.pull)

    def evaluate(self, q: Array) -> tuple[Array, Array, Array]:
        """Errors (n, tasks, 2), costs (n,) and excess (n,) of configurations.

        The excess is the largest error divided by its tolerance: at most 1 if all targets are
        reached.
        """
        settings = self.settings
        return settings.functions.errors(
            q, self.target, settings.scales, settings.inverse_tolerances
        )

    def costs(self, rows: Array, q: Array) -> Array:
        """(rows, m) costs of configurations (m, nq) or (rows, m, nq) for some of the rows."""
        settings = self.settings
        target = self.target[rows, None] if rows.size > 1 else self.target[rows[0]]
        costs = settings.functions.errors(q, target, settings.scales, settings.inverse_tolerances)[
            1
        ]
        return costs.reshape(rows.size, q.shape[-2])


class Descent:
    """Levenberg-Marquardt iterations from one start per problem, for all rows at once.

    `q`, `cost` and `excess` are the current values; a step writes to them.
    """

    def __init__(self, problems: Problems, q: Array, pull: float = 0.0) -> None:
        settings, n = problems.settings, len(q)
        _, cost, excess = problems.evaluate(q)
        inverse_tolerances = SEARCH_MARGIN * settings.inverse_tolerances.reshape(-1)
        self._constant_inputs = [
            problems.target,
            settings.weights,
            settings.free,
            inverse_tolerances,
        ]
        if problems.posture is not None:
            self._constant_inputs += [problems.posture, np.array([pull])]
            if pull:
                distances = settings.functions.kd.difference(q, problems.posture)
                cost += pull * ((settings.free * distances) ** 2).sum(axis=-1)
        excess *= SEARCH_MARGIN
        self._steps = settings.functions.steps
        self._set(q.copy(), np.full(n, INITIAL_DAMPING), cost, excess)

    def _set(self, q: Array, damping: Array, cost: Array, excess: Array) -> None:
        self.q, self.damping, self.cost, self.excess = q, damping, cost, excess
        n = len(q)
        columns = (array.reshape(n, 1, 1) for array in (damping, cost, excess))
        self._states = q.reshape(n, 1, q.shape[1]), *columns
        self._inputs: Inputs | None = None

    def keep(self, rows: Array) -> None:
        """Continue with a subset of the rows."""
        self._constant_inputs = [
            array[rows] if array.ndim == 2 else array for array in self._constant_inputs
        ]
        self._set(self.q[rows], self.damping[rows], self.cost[rows], self.excess[rows])

    def step(self, steps: int) -> None:
        """Run some steps."""
        if self._inputs is None or self._inputs.steps != steps:
            n = len(self.q)
            others = tuple(_repeated(array, n, steps) for array in self._constant_inputs)
            self._inputs = Inputs((n,), steps, self._states, others, ())
        self._steps.run(self._inputs, self._states, None)  # the last states replace the first


def _repeated(array: Array, n: int, steps: int) -> Array:
    """(n, steps, size) view of an input that is the same in each step: (n, size), or (size,)."""
    strides = (array.strides[0] if array.ndim == 2 else 0), 0, array.strides[-1]
    return np.ndarray((n, steps, array.shape[-1]), array.dtype, array, strides=strides)
