"""The search of inverse kinematics: from the given start first, then from random starts.

Each row of a batch is solved independently of the others: the random configurations are the same
for all rows, and a row starts from those nearest to its target first, a few at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from linkwork.engine.kernel.rollout_inputs import Inputs
from linkwork.engine.symbolic.arrays import Array
from linkwork.inverse_kinematics.avoidance import Surroundings, penalty_kernel
from linkwork.inverse_kinematics.settings import Settings
from linkwork.inverse_kinematics.step import Targets
from linkwork.model.layout import BASE_NQ, BASE_NV

STEPS_PER_CHECK = 8  # after which converged and stalled rows are removed
GROUP_SIZES = (2, 6, 8, 16)  # random starts per row in the first round, the second, and so on
MAX_PAIRS = 1 << 15  # pairs of a row and a configuration whose costs are computed at once
# A start is abandoned if STEPS_PER_CHECK steps lower its cost by less than the first fraction: it
# is in a local minimum, or moves slowly along a limit. The best solution is improved further at the
# end, until its cost decreases by less than the second.
MIN_PROGRESS, MIN_FINAL_PROGRESS = 0.05, 1e-9


# Returns whether configurations (n, nq) of some rows (n,) of the batch are acceptable, (n,).
Accept: TypeAlias = Callable[[Array, Array], Array]


class Effort(NamedTuple):
    """Limits of the search."""

    max_iterations: int  # from one start
    restarts: int
    seed: int
    accept: Accept | None = None  # what a solution must fulfil apart from its targets


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

    def accepted_by(self, accept: Accept | None, rows: Array) -> Solutions:
        """Open the entries, of some rows of the batch, that are not accepted; return self."""
        reached = (self.excess <= 1.0).nonzero()[0]
        if accept is not None and reached.size:
            self.excess[reached[~accept(self.q[reached], rows[reached])]] = 2.0
        return self

    def improve(self, rows: Array, other: Solutions, indices: Array) -> None:
        """Replace `rows` by results of another search at `indices`, where those are better."""
        better = (other.excess[indices] <= 1.0) | (other.cost[indices] < self.cost[rows])
        rows, indices = rows[better], indices[better]
        self.q[rows], self.cost[rows] = other.q[indices], other.cost[indices]
        self.excess[rows] = other.excess[indices]


def solve(problems: Problems, q0: Array, effort: Effort) -> Solutions:
    """Search from starts (n, nq) within the limits, then from random starts."""
    max_steps = effort.max_iterations
    solutions = _descend_in_stages(
        problems,
        q0,
        problems.pull,
        max_steps,
        MIN_PROGRESS if effort.restarts else MIN_FINAL_PROGRESS,
    ).accepted_by(effort.accept, np.arange(len(q0)))
    if effort.restarts and solutions.open_rows.size:
        _restart(solutions, problems, q0, effort)
        rows = solutions.open_rows
        if rows.size:
            other = _descend_in_stages(
                problems.select(rows), solutions.q[rows], 0.0, max_steps, MIN_FINAL_PROGRESS
            )
            solutions.iterations[rows] += other.iterations
            other.accepted_by(effort.accept, rows)
            solutions.improve(rows, other, np.arange(rows.size))
    _close_loops(solutions, problems)
    if not problems.settings.all_free:
        for span in _held_spans(problems):  # undo the rounding by normalization
            solutions.q[:, span] = q0[:, span]
    return solutions


def _close_loops(solutions: Solutions, problems: Problems) -> None:
    """Close loops that are open where the search ended, in rows that do not reach the targets."""
    settings, rows = problems.settings, solutions.open_rows
    assembler = settings.functions.assembler
    if assembler is not None and rows.size:
        q, errors = assembler.close(solutions.q[rows], settings.free)
        is_closed = np.abs(errors).max(axis=-1) <= assembler.tolerance
        solutions.q[rows[is_closed]] = q[is_closed]


def _restart(solutions: Solutions, problems: Problems, q0: Array, effort: Effort) -> None:
    """Search from random starts where the targets are not reached."""
    starts = _Starts(problems, q0, solutions.open_rows, effort)
    restarts = len(starts.pool)
    tried = group = 0
    while tried < restarts and (rows := solutions.open_rows).size:
        count = min(GROUP_SIZES[min(group, len(GROUP_SIZES) - 1)], restarts - tried)
        q = starts.of(rows, tried, count)
        tried, group = tried + count, group + 1
        # the second half ignores the posture, which may prevent convergence
        pull = problems.pull if 2 * tried <= restarts else 0.0
        again = problems.select(np.repeat(rows, count))
        other = _descend_in_stages(again, q, pull, effort.max_iterations, MIN_PROGRESS, count)
        solutions.iterations[rows] += other.iterations.reshape(rows.size, count).sum(axis=1)
        other.accepted_by(effort.accept, np.repeat(rows, count))
        solutions.improve(rows, other, _best(again, other, count))


def _descend_in_stages(  # noqa: PLR0917
    problems: Problems,
    q: Array,
    pull: float,
    max_steps: int,
    min_progress: float,
    group_size: int = 1,
) -> Solutions:
    """Search from one start per row, each stage from the result of the one before.

    The stages are: with the pull of a posture, if there is one; without it; and, from where that
    reaches the targets, with distances to keep, if there are any. The last one has many more
    operations than the others, and needs few steps from there.
    """
    iterations: Any = 0
    if problems.posture is not None and pull:
        first = _descend(problems, q, pull, max_steps, MIN_FINAL_PROGRESS)
        q, iterations = first.q, first.iterations
    if problems.surroundings is None:
        solutions = _descend(problems, q, 0.0, max_steps, min_progress, group_size)
    else:
        first = _descend(problems, q, 0.0, max_steps, min_progress)
        iterations += first.iterations
        reached = first.excess <= 1.0
        solutions = _descend(
            problems, first.q, 0.0, max_steps, min_progress, group_size, avoiding=reached
        )
    solutions.iterations += iterations
    return solutions


def _descend(  # noqa: PLR0917
    problems: Problems,
    q: Array,
    pull: float,
    max_steps: int,
    min_progress: float,
    group_size: int = 1,
    *,
    avoiding: Array | None = None,
) -> Solutions:
    """Step from one start per row, until the row converges, stalls or reaches `max_steps`.

    Rows of one group all end when one of them converges. A posture pulls away from the targets:
    with it, reaching the targets does not end a row.

    Args:
        problems: the problems, one for each row.
        q: (n, nq) starts.
        pull: weight of the posture.
        max_steps: largest number of steps.
        min_progress: the least decrease of the cost in some steps, as a fraction of it.
        group_size: number of rows in each group.
        avoiding: (n,) which rows step, all of them with distances to keep; None for all rows
            without distances.
    """
    n, done = len(q), 0
    descent = Descent(problems, q, pull, avoiding=avoiding is not None)
    solutions = Solutions(descent.q, descent.cost, descent.excess, np.zeros(n, dtype=np.int64))
    rows, active = np.arange(n), np.ones(n, dtype=bool) if avoiding is None else avoiding
    while True:
        if not pull:
            active = active & ~_converged(descent.excess <= 1.0, rows, n, group_size)
        n_active = np.count_nonzero(active)
        if done >= max_steps or n_active < rows.size:
            _write(solutions, rows, descent, done)
            if done >= max_steps or not n_active:
                return solutions
            rows = rows[active]
            descent.keep(active)
        steps = min(STEPS_PER_CHECK, max_steps - done)
        before = descent.step(steps)
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
    """Return the index of the best of each `count` rows.

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

    Only the positions of free joints are random; a floating base keeps its pose. Loops are closed,
    as far as the joints that are held allow it.
    """

    def __init__(self, problems: Problems, q0: Array, rows: Array, effort: Effort) -> None:
        settings = problems.settings
        self.q0, self.pool = q0, settings.functions.pool(effort.restarts, effort.seed)
        self.assembler, self.free = settings.functions.assembler, settings.free
        size = len(self.pool)
        self.is_random, self.all_random = settings.is_random, settings.all_random
        self.order = np.empty((len(q0), size), dtype=np.intp)
        chunk = max(1, MAX_PAIRS // max(1, size))
        for first in range(0, rows.size, chunk):
            some = rows[first : first + chunk]
            costs = problems.costs(some, self._combine(some, self.pool))
            self.order[some] = np.argsort(costs, axis=1, kind="stable")

    def of(self, rows: Array, first: int, count: int) -> Array:
        """Return the next starts (rows * count, nq) of each row."""
        random = self.pool[self.order[rows, first : first + count]]
        q = np.ascontiguousarray(self._combine(rows, random)).reshape(rows.size * count, -1)
        if self.assembler is None or self.all_random:
            return q
        return self.assembler.close(q, self.free)[0]

    def _combine(self, rows: Array, random: Array) -> Array:
        """Return random values for free joints, and those of each row's start for all others."""
        return random if self.all_random else np.where(self.is_random, random, self.q0[rows, None])


def _held_spans(problems: Problems) -> list[slice]:
    """Return the slices of q that are held."""
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
    surroundings: Surroundings | None  # what to keep away from

    def select(self, rows: Array) -> Problems:
        """Return the problems of some rows, which may be repeated."""
        posture = None if self.posture is None else self.posture[rows]
        surroundings = None if self.surroundings is None else self.surroundings.select(rows)
        arrays = self.preferred[rows], self.target[rows], posture
        return Problems(self.settings, *arrays, self.pull, surroundings)

    def evaluate(self, q: Array, values: Array | None = None) -> tuple[Array, Array, Array]:
        """Return errors (n, tasks, 2), costs (n,) and excess (n,) of configurations.

        The excess is the largest error divided by its tolerance: at most 1 if all targets are
        reached, and all distances that `values` contain are kept.
        """
        if values is None:
            return self._errors(q, self.target, 0.0)
        assert self.surroundings is not None
        penalty, least = penalty_kernel(self.surroundings.avoidance)(q, values)
        errors, cost, excess = self._errors(q, self.target, penalty)
        return errors, cost, self.surroundings.avoidance.excess(excess, least, values)

    def _errors(self, q: Array, target: Array, penalty: Any) -> tuple[Array, Array, Array]:
        settings = self.settings
        return settings.functions.errors(
            q, target, settings.scales, settings.inverse_tolerances, penalty
        )

    def costs(self, rows: Array, q: Array) -> Array:
        """Return costs (rows, m) of configurations (m, nq) or (rows, m, nq) of some rows."""
        target = self.target[rows, None] if rows.size > 1 else self.target[rows[0]]
        costs = self._errors(q, target, self._penalties(rows, q))[1]
        return costs.reshape(rows.size, q.shape[-2])

    def _penalties(self, rows: Array, q: Array) -> Any:
        """Return penalties that broadcast against (rows, m)."""
        return 0.0 if self.surroundings is None else self.surroundings.select(rows).penalties(q)


class Descent:
    """Levenberg-Marquardt iterations from one start per problem, for all rows at once.

    `q`, `cost` and `excess` are the current values; a step writes to them.
    """

    def __init__(self, problems: Problems, q: Array, pull: float, *, avoiding: bool) -> None:
        settings, functions = problems.settings, problems.settings.functions
        self._problems, self._pull, self._is_avoiding = problems, pull, avoiding
        steps = functions.avoiding_steps if avoiding else functions.steps
        assert steps is not None
        self._steps = steps
        self._free, self._has_loops = settings.free, settings.functions.loops is not None
        self._set(q.copy(), np.full(len(q), Targets.damping.initial), *self._evaluated(q))
        self._is_selected = True  # whether the obstacles and spheres are the nearest ones at q

    def _evaluated(self, q: Array) -> tuple[Array, Array]:
        """Return the cost and excess, with the obstacles that the next steps consider."""
        problems, settings = self._problems, self._problems.settings
        surroundings = problems.surroundings if self._is_avoiding else None
        self._values = None if surroundings is None else surroundings.values(q)
        _, cost, excess = problems.evaluate(q, self._values)
        if problems.posture is not None and self._pull:
            distances = settings.functions.kd.difference(q, problems.posture)
            cost += self._pull * ((settings.free * distances) ** 2).sum(axis=-1)
        excess *= SEARCH_MARGIN
        return cost, excess

    def _set(self, q: Array, damping: Array, cost: Array, excess: Array) -> None:
        self.q, self.damping, self.cost, self.excess = q, damping, cost, excess
        n = len(q)
        columns = (array.reshape(n, 1, 1) for array in (damping, cost, excess))
        self._states = q.reshape(n, 1, q.shape[1]), *columns
        if self._has_loops:
            self._states += (np.empty((n, 1, len(self._free))),)  # coordinates that may move
        self._inputs: Inputs | None = None

    def keep(self, rows: Array) -> None:
        """Continue with a subset of the rows."""
        self._problems = self._problems.select(rows.nonzero()[0])
        if self._values is not None and self._values.ndim == 2:
            self._values = self._values[rows]
        self._set(self.q[rows], self.damping[rows], self.cost[rows], self.excess[rows])

    def step(self, steps: int) -> Array:
        """Run some steps. Return the costs before them."""
        surroundings = self._problems.surroundings if self._is_avoiding else None
        if surroundings is not None and not surroundings.is_selected:
            surroundings = None
        if surroundings is not None and not self._is_selected:  # others may be nearer now
            self.cost[:], self.excess[:] = self._evaluated(self.q)
            self._inputs = None
        before = self.cost.copy()
        if self._inputs is None or self._inputs.steps != steps:
            n = len(self.q)
            others = tuple(_repeated(array, n, steps) for array in self._constant_inputs())
            self._inputs = Inputs((n,), steps, self._states, others, ())
        if self._has_loops:
            self._states[-1][:] = self._free
        self._steps.run(self._inputs, self._states, None)  # the last states replace the first
        self._is_selected = False
        if surroundings is not None:  # by obstacles that these steps did not consider
            reached = (self.excess <= 1.0).nonzero()[0]
            is_kept = surroundings.select(reached).keeps_margin(self.q[reached])
            self.excess[reached[~is_kept]] = 2.0
        return before

    def _constant_inputs(self) -> list[Array]:
        """Return the inputs that stay the same from step to step."""
        problems, settings = self._problems, self._problems.settings
        inverse_tolerances = SEARCH_MARGIN * settings.inverse_tolerances.reshape(-1)
        inputs = [problems.target, settings.weights, settings.free, inverse_tolerances]
        if self._values is not None:
            return [*inputs, self._values]
        if problems.posture is not None:
            inputs += [problems.posture, np.array([self._pull])]
        return inputs


def _repeated(array: Array, n: int, steps: int) -> Array:
    """View an input (n, size) or (size,), the same in each step, as (n, steps, size)."""
    strides = (array.strides[0] if array.ndim == 2 else 0), 0, array.strides[-1]
    return np.ndarray((n, steps, array.shape[-1]), array.dtype, array, strides=strides)
