"""A batch of problems of inverse kinematics, and steps towards their solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.engine.kernel.rollout_inputs import Inputs
from linkwork.engine.symbolic.arrays import Array
from linkwork.inverse_kinematics.settings import Settings
from linkwork.inverse_kinematics.step import FIRST_DAMPING

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
