"""The accelerations of a robot in contact: Newton's method on MuJoCo's convex problem.

    minimize over a    1/2 (a - a_0)^T M (a - a_0) + sum of s(J a - a_ref) over all rows

with a_0 = M^-1 tau the acceleration without constraints. Equations are quadratic in every state, so
they are part of M and tau. The Hessian M + J^T H J has the sparsity of M, because contacts are with
the world. A Newton step alone may diverge where rows change their zone. The minimum along the step
is found by Newton's method on one number, in a bracket.

Both loops end when their result is accurate. What a row of a batch computes does not depend on the
other rows: it stops where it has converged, while code for several rows runs until all have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.algorithms.dynamics.factor import outward_order
from linkwork.engine.symbolic.arrays import Array, ObjectArray
from linkwork.engine.symbolic.elimination import solved_positive_definite
from linkwork.engine.symbolic.entries import FUNCTIONS, is_zero, select
from linkwork.engine.symbolic.implicit import implicit_entry
from linkwork.engine.symbolic.repeat import repeat
from linkwork.mechanics.inertia import ArticulatedInertia
from linkwork.simulation.constraints.rows import ContactRow, JointRow, Search
from linkwork.simulation.world import Entries, World
from linkwork.spatial.blocks import Force, Scalar, inner, total

Matrix = list[list[Scalar]]
LARGEST_STEP = 1e10  # along the direction of Newton's method
LARGEST_RESIDUAL = 1e30
ROUNDING = 16.0  # times the precision of the forces: a smaller gradient is rounding


@dataclass(frozen=True, slots=True)
class Settings:
    """How accurate the solution is, and how much work it may take."""

    iterations: int = 100
    line_search: int = 20
    # of the gradient times 1 / trace M: MuJoCo's measure, and its default is 1e-8
    tolerance: float = 1e-10
    slope: float = 0.3  # of the slope along a step, that may remain
    touchdown_gradient: float = 0.0  # [m] distances that act in derivatives before they touch


@dataclass(frozen=True)
class ContactProblem:
    """The problem at one state."""

    world: World
    M: Matrix  # with the curvature of equations
    tau: list[Scalar]  # forces without constraints, with the offsets of equations
    contacts: tuple[ContactRow, ...]
    joints: tuple[JointRow, ...]
    settings: Settings = Settings()
    precision: float = 2.0**-52  # of numbers

    def residuals(self, a: Sequence[Scalar]) -> Residuals:
        """Return the residuals of all rows."""
        motions = self.world.motions(a) if self.contacts else {}
        of_contacts = [row.residual(motions[row.body]) for row in self.contacts]
        return Residuals(of_contacts, [row.residual(a) for row in self.joints])

    def rates(self, p: Sequence[Scalar]) -> Residuals:
        """Return J p of all rows."""
        motions = self.world.motions(p) if self.contacts else {}
        of_contacts = [row.rate(motions[row.body]) for row in self.contacts]
        return Residuals(of_contacts, [row.rate(p) for row in self.joints])

    def forces(self, y: Residuals) -> list[Scalar]:
        """Return J^T f of all rows."""
        wrenches: dict[int, Force] = {}
        for row, own in zip(self.contacts, y.contacts, strict=True):
            wrench = row.wrench(row.force(own))
            wrenches[row.body] = wrenches[row.body] + wrench if row.body in wrenches else wrench
        along = self.world.forces(wrenches)
        forces = [along.get(k, 0.0) for k in range(len(self.tau))]
        for row, own in zip(self.joints, y.joints, strict=True):
            force = row.force(own)
            for k, coefficient in row.J.items():
                forces[k] = forces[k] + coefficient * force
        return forces

    def hessian(self, y: Residuals) -> Matrix:
        """Return the lower triangle of M + J^T H J, rows and columns as nu."""
        K: dict[int, ArticulatedInertia] = {}
        for row, own in zip(self.contacts, y.contacts, strict=True):
            stiffness = row.stiffness(own)
            K[row.body] = K[row.body] + stiffness if row.body in K else stiffness
        added: Entries = self.world.stiffness(K)
        for row, own in zip(self.joints, y.joints, strict=True):
            curvature = row.curvature(own)
            for i, c in row.J.items():
                for j, d in row.J.items():
                    if j <= i:
                        value = added.get((i, j), 0.0)
                        added[i, j] = value + (c * d) * curvature
        H = [list(row) for row in self.M]
        for (i, j), value in added.items():
            H[i][j] = H[i][j] + value
            H[j][i] = H[i][j]
        return H

    def solve(self, H: Matrix, right: Sequence[Scalar]) -> list[Scalar]:
        """Return H^-1 right."""
        order = outward_order(self.world.skeleton)
        ordered = [[H[i][j] for j in order] for i in order]
        solution = solved_positive_definite(ordered, [[right[i]] for i in order])
        x: list[Scalar] = [0.0] * len(order)
        for i, (value,) in zip(order, solution, strict=True):
            x[i] = value
        return x

    def momentum_rate(self, a: Sequence[Scalar]) -> list[Scalar]:
        """Return M a."""
        return [inner_sparse(row, a) for row in self.M]

    def search(self, y: Residuals, dy: Residuals) -> list[Search]:
        """Return the costs of all rows along a line."""
        of_contacts = zip(self.contacts, y.contacts, dy.contacts, strict=True)
        of_joints = zip(self.joints, y.joints, dy.joints, strict=True)
        contacts = [row.along(own, rate) for row, own, rate in of_contacts]
        return [*contacts, *(row.along(own, rate) for row, own, rate in of_joints)]


@dataclass(frozen=True, slots=True)
class Residuals:
    """Residuals of the rows of contacts and of joints."""

    contacts: list[list[Scalar]]
    joints: list[Scalar]

    @property
    def flat(self) -> list[Scalar]:
        """All residuals."""
        return [*(x for row in self.contacts for x in row), *self.joints]

    def like(self, flat: Sequence[Scalar]) -> Residuals:
        """Return others, in the same order."""
        values = iter(flat)
        contacts = [[next(values) for _ in row] for row in self.contacts]
        return Residuals(contacts, list(values))

    def moved(self, alpha: Scalar, dy: Residuals) -> Residuals:
        """Return y + alpha dy."""
        pairs = zip(self.flat, dy.flat, strict=True)
        return self.like([y + alpha * d for y, d in pairs])


@dataclass(frozen=True, slots=True)
class Solution:
    """Accelerations, and how far they are from the minimum."""

    a: list[Scalar]
    residual: Scalar  # norm of the gradient over the trace of M


def solved(problem: ContactProblem, start: Sequence[Scalar]) -> Solution:
    """Minimize, from a first guess.

    Args:
        problem: at one state.
        start: the accelerations of the step before, for example.
    """
    settings = problem.settings
    n = len(problem.tau)
    scale = 1.0 / total(*(problem.M[k][k] for k in range(n)))
    first = problem.residuals(start)

    def gradient(pull: Sequence[Scalar], y: Residuals) -> list[Scalar]:
        return [a - b for a, b in zip(pull, problem.forces(y), strict=True)]

    def norm(g: Sequence[Scalar]) -> Scalar:
        return scale * FUNCTIONS["sqrt"](inner(g, g))

    weight = norm(problem.tau)

    def errors(g: Sequence[Scalar], pull: Sequence[Scalar]) -> Array:
        """Return the residual, and that of rounding."""
        return _array([norm(g), ROUNDING * problem.precision * (weight + norm(pull))])

    def goes_on(state: Any) -> Any:
        residual, rounding = state[4].tolist()
        return residual > select(rounding > settings.tolerance, rounding, settings.tolerance)

    def iterate(state: Any) -> Any:
        a, pull, flat, g = (part.tolist() for part in state[:4])  # pull = M a - tau
        y = first.like(flat)
        p = problem.solve(problem.hessian(y), [-x for x in g])
        dy, Mp = problem.rates(p), problem.momentum_rate(p)
        line = _Line(inner(p, pull), inner(p, Mp), inner(p, g), problem.search(y, dy))
        alpha = line.minimum(settings)
        a = [x + alpha * d for x, d in zip(a, p, strict=True)]
        pull = [x + alpha * d for x, d in zip(pull, Mp, strict=True)]
        y = y.moved(alpha, dy)
        g = gradient(pull, y)
        return _array(a), _array(pull), _array(y.flat), _array(g), errors(g, pull)

    pull = [x - t for x, t in zip(problem.momentum_rate(start), problem.tau, strict=True)]
    g = gradient(pull, first)
    state = (_array(start), _array(pull), _array(first.flat), _array(g), errors(g, pull))
    a, _, _, _, residual = repeat(settings.iterations, iterate, state, condition=goes_on)
    error, _ = residual.tolist()
    is_number = error < LARGEST_RESIDUAL  # else the row is NaN, and no guess
    return Solution([select(is_number, x, error) for x in a.tolist()], error)


def differentiable(
    problem: ContactProblem, a: Sequence[Scalar], gradient: Sequence[Scalar]
) -> list[Scalar]:
    """Return the solution with the derivatives of the implicit function theorem.

    Args:
        problem: at one state.
        a: the solution.
        gradient: of the cost at the solution, as a function of all but the solution.
    """
    constant = [implicit_entry(x, 0.0) for x in a]
    H = problem.hessian(problem.residuals(constant))
    fixed = [[x if is_zero(x) else implicit_entry(x, 0.0) for x in row] for row in H]
    step = problem.solve(fixed, gradient)
    return [implicit_entry(x, c - d) for x, c, d in zip(a, constant, step, strict=True)]


@dataclass(frozen=True, slots=True)
class _Line:
    """The cost along a Newton step."""

    slope: Scalar  # of the quadratic part at 0
    curvature: Scalar  # of the quadratic part
    descent: Scalar  # slope of the whole cost at 0
    rows: Sequence[Search]

    def slopes(self, alpha: Scalar) -> tuple[Scalar, Scalar]:
        """Return the first and second derivative."""
        parts = [row.slopes(alpha) for row in self.rows]
        first = total(self.slope + alpha * self.curvature, *(part[0] for part in parts))
        return first, total(self.curvature, *(part[1] for part in parts))

    def minimum(self, settings: Settings) -> Scalar:
        """Return the length of the step.

        The bracket (low, high) has the minimum; where Newton's method leaves it, it is bisected, or
        the length is doubled if there is no upper bound yet.
        """
        if not self.rows:
            return 1.0
        small = settings.slope * abs(self.descent)

        def iterate(state: Array) -> Any:
            alpha, low, high, _ = state.tolist()
            first, second = self.slopes(alpha)
            is_low = first < 0.0
            low, high = select(is_low, alpha, low), select(is_low, high, alpha)
            following = alpha - first / second
            is_inside = select(low < following, following < high, False)
            middle = select(high < LARGEST_STEP, 0.5 * (low + high), 2.0 * alpha)
            following = select(is_inside, following, middle)
            is_small = abs(first) <= small
            following = select(is_small, alpha, following)
            return _array([following, low, high, select(is_small, 0.0, 1.0)])

        state = _array([1.0, 0.0, LARGEST_STEP, 1.0])
        found = repeat(settings.line_search, iterate, state, condition=lambda x: x[3] > 0.0)
        return found[0].item()


def inner_sparse(row: Sequence[Scalar], a: Sequence[Scalar]) -> Scalar:
    """Return the product of a row with structural zeros and a vector."""
    return total(*(x * y for x, y in zip(row, a, strict=True) if not is_zero(x)))


def _array(values: Sequence[Any]) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.view(ObjectArray)
