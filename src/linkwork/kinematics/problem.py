"""A batch of problems of inverse kinematics, and the compiled functions that work on them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from linkwork.arrays import Array
from linkwork.kernel.arguments import thread_number
from linkwork.kernel.kernel import Kernel
from linkwork.kernel.rollout import Rollout
from linkwork.kernel.rollout_inputs import Inputs
from linkwork.kindyn import KinDyn
from linkwork.kinematics.bounds import Bounds
from linkwork.kinematics.step import FIRST_DAMPING

STRICTER = 1.001  # than the tolerance is the search, so that rounding does not decide at its end


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
class Problems:
    """Rows of problems of one kind. What they share stands once."""

    functions: Functions
    near: Array  # (n, nq) of several solutions, the one nearest to this is wanted
    target: Array  # (n, numbers)
    weights: Array  # (rows of the residual,)
    scales: Array  # (tasks, 2) the same for distances and angles
    per_tolerance: Array  # (tasks, 2) what errors are multiplied by to be compared with 1
    free: Array  # (nv,) 0 for what is held, else 1
    posture: Array | None  # (n, nq)
    pull: float  # towards it

    def taken(self, rows: Array) -> Problems:
        """Some of the rows, also several times."""
        posture = None if self.posture is None else self.posture[rows]
        return replace(self, near=self.near[rows], target=self.target[rows], posture=posture)

    def errors(self, q: Array) -> Array:
        """(n, tasks, 2) distances and angles."""
        return self.functions.errors(q, self.target)

    def costs_of_each(self, rows: Array, q: Array) -> Array:
        """(rows, m) costs of configurations (m, nq) or (rows, m, nq) for some of the rows."""
        return self.cost(self.functions.errors(q, self.target[rows, None]))

    def excess(self, errors: Array) -> Array:
        """(n,) the largest error in units of its tolerance: at most 1 where all is reached."""
        return (errors * self.per_tolerance).max(axis=(-2, -1))

    def cost(self, errors: Array) -> Array:
        """(n,) the weighted sum of squares of errors."""
        weighted = errors * self.scales
        return np.einsum("...ij,...ij->...", weighted, weighted)


class Descent:
    """Steps of Levenberg-Marquardt from one start for each problem, all rows at once.

    `q`, `cost` and `excess` are those after the steps made so far.
    """

    def __init__(self, problems: Problems, q: Array, pull: float = 0.0) -> None:
        errors = problems.errors(q)
        self.q, self.damping = q, np.full(len(q), FIRST_DAMPING)
        self.cost, self.excess = problems.cost(errors), STRICTER * problems.excess(errors)
        per_tolerance = STRICTER * problems.per_tolerance.reshape(-1)
        self._given = [problems.target, problems.weights, problems.free, per_tolerance]
        if problems.posture is not None:
            self._given += [problems.posture, np.array([pull])]
        if problems.posture is not None and pull:
            away = problems.functions.kd.difference(q, problems.posture)
            self.cost = self.cost + pull * ((problems.free * away) ** 2).sum(axis=-1)
        self._roll = problems.functions.steps.run

    def keep(self, rows: Array) -> None:
        """Go on with some of the rows."""
        self.q, self.damping = self.q[rows], self.damping[rows]
        self.cost, self.excess = self.cost[rows], self.excess[rows]
        self._given = [array[rows] if array.ndim == 2 else array for array in self._given]

    def step(self, steps: int) -> None:
        """Make some steps."""
        n = len(self.q)
        states = [self.q, self.damping[:, None], self.cost[:, None], self.excess[:, None]]
        starts = tuple(state[:, None] for state in states)
        others = [_repeated(array, n, steps) for array in self._given]
        results = tuple(np.empty((n, 1, state.shape[-1])) for state in states)
        self._roll(Inputs((n,), steps, starts, tuple(others), ()), results, thread_number(None))
        self.q = results[0][:, 0]
        self.damping, self.cost, self.excess = (array[:, 0, 0] for array in results[1:])


def _repeated(array: Array, n: int, steps: int) -> Array:
    """(n, steps, size) numbers of each row, or of all rows, the same in each step; no copy."""
    strides = (array.strides[0] if array.ndim == 2 else 0), 0, array.strides[-1]
    return np.ndarray((n, steps, array.shape[-1]), array.dtype, array, strides=strides)
