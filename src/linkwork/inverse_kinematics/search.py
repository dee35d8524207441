"""The search of inverse kinematics: from the given start first, then from random ones.

A row of a batch is solved as if it were alone: the random configurations are the same for all rows,
and a row starts from those that are nearest to its target first, a few at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.engine.kernel.rollout_inputs import Inputs
from linkwork.engine.symbolic.arrays import Array
from linkwork.inverse_kinematics.settings import Settings
from linkwork.inverse_kinematics.step import FIRST_DAMPING
from linkwork.model.layout import BASE_NQ, BASE_NV

BLOCK = 8  # steps between two looks at which rows have arrived
STARTS = (2, 6, 8, 16)  # of a row that are tried together: first, second, and so on
PAIRS = 1 << 15  # of rows and configurations that are compared at once
# A start is given up if a block lowers its cost by less than this fraction: it is in a minimum that
# is not the target, or creeps along a limit. The best of all is improved further in the end.
STALLED, CREEPS = 0.05, 1e-9


class Effort(NamedTuple):
    """How long to search."""

    max_iterations: int  # from one start
    restarts: int
    seed: int


@dataclass
class Found:
    """What was found so far, for each row."""

    q: Array  # (n, nq)
    cost: Array  # (n,)
    excess: Array  # (n,) below 1 if the target is reached
    iterations: Array  # (n,) steps that were made, from all starts

    @property
    def open_rows(self) -> Array:
        """Indices of the rows whose targets are not reached."""
        return (~(self.excess <= 1.0)).nonzero()[0]

    def improve(self, rows: Array, other: Found, at: Array) -> None:
        """Take results of another search, where they are better than what is here."""
        better = (other.excess[at] <= 1.0) | (other.cost[at] < self.cost[rows])
        rows, at = rows[better], at[better]
        self.q[rows], self.cost[rows] = other.q[at], other.cost[at]
        self.excess[rows] = other.excess[at]


def solve(problems: Problems, q0: Array, effort: Effort) -> Found:
    """The best configurations that are found from starts (n, nq) within the limits."""
    most = effort.max_iterations
    found = _descended(problems, q0, problems.pull, most, STALLED if effort.restarts else CREEPS)
    if effort.restarts and found.open_rows.size:
        _restarted(found, problems, q0, effort)
        rows = found.open_rows
        if rows.size:
            other = _descended(problems.taken(rows), found.q[rows], 0.0, most, CREEPS)
            found.iterations[rows] += other.iterations
            found.improve(rows, other, np.arange(rows.size))
    if not problems.settings.all_free:
        for span in _held_spans(problems):  # free of what normalising quaternions rounds
            found.q[:, span] = q0[:, span]
    return found


def _restarted(found: Found, problems: Problems, q0: Array, effort: Effort) -> None:
    """Search from random starts where the targets are not reached."""
    starts = _Starts(problems, q0, found.open_rows, effort)
    tried = group = 0
    while tried < effort.restarts and (rows := found.open_rows).size:
        count = min(STARTS[min(group, len(STARTS) - 1)], effort.restarts - tried)
        q = starts.of(rows, tried, count)
        tried, group = tried + count, group + 1
        # the later ones without the pull of a posture, which may keep them from the target
        pull = problems.pull if 2 * tried <= effort.restarts else 0.0
        again = problems.taken(np.repeat(rows, count))
        other = _descended(again, q, pull, effort.max_iterations, STALLED, count)
        found.iterations[rows] += other.iterations.reshape(rows.size, count).sum(axis=1)
        found.improve(rows, other, _best(again, other, count))


def _descended(  # noqa: PLR0917
    problems: Problems, q: Array, pull: float, most: int, stalled: float, together: int = 1
) -> Found:
    """Search from one start for each row, with the posture first if there is one."""
    if problems.posture is None or not pull:
        return _descend(problems, q, 0.0, most, stalled, together)
    first = _descend(problems, q, pull, most, CREEPS)
    found = _descend(problems, first.q, 0.0, most, stalled, together)
    found.iterations += first.iterations
    return found


def _descend(  # noqa: PLR0917
    problems: Problems, q: Array, pull: float, most: int, stalled: float, together: int = 1
) -> Found:
    """Steps from one start for each row, until it arrives, stalls or has made the most steps.

    Of rows that are tried together, all end when one arrives. A posture pulls away from the
    targets: with it, rows do not end by arriving.
    """
    n, done = len(q), 0
    descent = Descent(problems, q, pull)
    found = Found(descent.q, descent.cost, descent.excess, np.zeros(n, dtype=np.int64))
    rows, goes_on = np.arange(n), np.ones(n, dtype=bool)
    while True:
        if not pull:
            goes_on &= ~_arrived(descent.excess <= 1.0, rows, n, together)
        left = np.count_nonzero(goes_on)
        if done >= most or left < rows.size:
            _write(found, rows, descent, done)
            if done >= most or not left:
                return found
            rows = rows[goes_on]
            descent.keep(goes_on)
        steps, before = min(BLOCK, most - done), descent.cost.copy()
        descent.step(steps)
        done += steps
        goes_on = descent.cost < (1.0 - stalled) * before


def _write(found: Found, rows: Array, descent: Descent, done: int) -> None:
    """Write the results of rows to all of which the same number of steps was made."""
    found.iterations[rows] = done
    if descent.q is not found.q:  # as long as all rows go on, the steps themselves write them
        found.q[rows], found.cost[rows] = descent.q, descent.cost
        found.excess[rows] = descent.excess


def _arrived(arrived: Array, rows: Array, n: int, together: int) -> Array:
    """Whether a row has arrived, or one that is tried together with it."""
    if together == 1 or not arrived.any():
        return arrived
    groups = np.zeros(n // together, dtype=bool)
    groups[rows[arrived] // together] = True
    return groups[rows // together]


def _best(problems: Problems, found: Found, count: int) -> Array:
    """The best of each `count` rows: it reaches the targets, and is near to what is wanted."""
    reached = found.excess <= 1.0
    away = found.cost.copy()
    if reached.any():
        kd, near = problems.settings.functions.kd, problems.near
        away[reached] = np.linalg.norm(kd.difference(near[reached], found.q[reached]), axis=-1)
    away, reached = away.reshape(-1, count), reached.reshape(-1, count)
    is_asked = reached | ~reached.any(axis=1, keepdims=True)
    return np.arange(len(away)) * count + np.where(is_asked, away, np.inf).argmin(axis=1)


class _Starts:
    """For some rows the random configurations that are nearest to their targets, best first.

    Joints are random as far as they are free; a floating base stays where it is.
    """

    def __init__(self, problems: Problems, q0: Array, rows: Array, effort: Effort) -> None:
        size, own = effort.restarts, problems.settings
        self.q0, self.pool = q0, own.functions.pool(size, effort.seed)
        self.drawn, self.all_drawn = own.drawn, own.all_drawn
        self.order = np.empty((len(q0), size), dtype=np.intp)
        chunk = max(1, PAIRS // size)
        for first in range(0, rows.size, chunk):
            some = rows[first : first + chunk]
            costs = problems.costs_of_each(some, self._mixed(some, self.pool))
            self.order[some] = np.argsort(costs, axis=1, kind="stable")

    def of(self, rows: Array, first: int, count: int) -> Array:
        """(rows * count, nq) the next starts of each row."""
        random = self.pool[self.order[rows, first : first + count]]
        return np.ascontiguousarray(self._mixed(rows, random)).reshape(rows.size * count, -1)

    def _mixed(self, rows: Array, random: Array) -> Array:
        """Random numbers for what moves, those of each row's start for the rest."""
        return random if self.all_drawn else np.where(self.drawn, random, self.q0[rows, None])


def _held_spans(problems: Problems) -> list[slice]:
    """The numbers of q that do not move."""
    layout, free = problems.settings.functions.kd.layout, problems.settings.free
    spans = [layout.q[name] for name, at in layout.nu.items() if not free[at].any()]
    if layout.floating and not free[:BASE_NV].any():
        spans.append(slice(0, BASE_NQ))
    return spans


STRICTER = 1.001  # than the tolerance is the search, so that rounding does not decide at its end


@dataclass(frozen=True)
class Problems:
    """Rows of problems of one kind. What they share stands once."""

    settings: Settings
    near: Array  # (n, nq) of several solutions, the one nearest to this is wanted
    target: Array  # (n, numbers)
    posture: Array | None  # (n, nq)
    pull: float  # towards it

    def taken(self, rows: Array) -> Problems:
        """Some of the rows, also several times."""
        posture = None if self.posture is None else self.posture[rows]
        return Problems(self.settings, self.near[rows], self.target[rows], posture, self.pull)

    def measured(self, q: Array) -> tuple[Array, Array, Array]:
        """Errors (n, tasks, 2), their costs (n,), and the largest in units of its tolerance (n,).

        The last, the excess, is at most 1 where all targets are reached.
        """
        own = self.settings
        return own.functions.errors(q, self.target, own.scales, own.per_tolerance)

    def costs_of_each(self, rows: Array, q: Array) -> Array:
        """(rows, m) costs of configurations (m, nq) or (rows, m, nq) for some of the rows."""
        own = self.settings
        target = self.target[rows, None] if rows.size > 1 else self.target[rows[0]]
        costs = own.functions.errors(q, target, own.scales, own.per_tolerance)[1]
        return costs.reshape(rows.size, q.shape[-2])


class Descent:
    """Steps of Levenberg-Marquardt from one start for each problem, all rows at once.

    `q`, `cost` and `excess` are those after the steps made so far; a step writes to them.
    """

    def __init__(self, problems: Problems, q: Array, pull: float = 0.0) -> None:
        own, n = problems.settings, len(q)
        _, cost, excess = problems.measured(q)
        per_tolerance = STRICTER * own.per_tolerance.reshape(-1)
        self._given = [problems.target, own.weights, own.free, per_tolerance]
        if problems.posture is not None:
            self._given += [problems.posture, np.array([pull])]
            if pull:
                away = own.functions.kd.difference(q, problems.posture)
                cost += pull * ((own.free * away) ** 2).sum(axis=-1)
        excess *= STRICTER
        self._steps = own.functions.steps
        self._set(q.copy(), np.full(n, FIRST_DAMPING), cost, excess)

    def _set(self, q: Array, damping: Array, cost: Array, excess: Array) -> None:
        self.q, self.damping, self.cost, self.excess = q, damping, cost, excess
        n = len(q)
        columns = (array.reshape(n, 1, 1) for array in (damping, cost, excess))
        self._states = q.reshape(n, 1, q.shape[1]), *columns
        self._inputs: Inputs | None = None

    def keep(self, rows: Array) -> None:
        """Go on with some of the rows."""
        self._given = [array[rows] if array.ndim == 2 else array for array in self._given]
        self._set(self.q[rows], self.damping[rows], self.cost[rows], self.excess[rows])

    def step(self, steps: int) -> None:
        """Make some steps."""
        if self._inputs is None or self._inputs.steps != steps:
            n = len(self.q)
            others = tuple(_repeated(array, n, steps) for array in self._given)
            self._inputs = Inputs((n,), steps, self._states, others, ())
        self._steps.run(self._inputs, self._states, None)  # the last states replace the first


def _repeated(array: Array, n: int, steps: int) -> Array:
    """(n, steps, size) numbers of each row, or of all rows, the same in each step; no copy."""
    strides = (array.strides[0] if array.ndim == 2 else 0), 0, array.strides[-1]
    return np.ndarray((n, steps, array.shape[-1]), array.dtype, array, strides=strides)
