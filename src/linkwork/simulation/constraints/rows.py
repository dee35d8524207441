"""Rows of the contact problem: their forces and curvature as functions of their residual.

A row has the residual y = J a - a_ref, and the cost s(y) whose negative gradient is its force:

    limit, frictionless contact    1/2 D min(y, 0)^2
    dry friction                   1/2 D y^2, and linear beyond the force that slips
    pyramidal contact              that of 2 (condim - 1) frictionless edges y_0 +- mu_k y_k
    elliptic contact               with N = mu y_0, U_k = mu_k y_k and T = |U|, by zones:
                                       N >= mu T         0                 no contact
                                       mu N + T <= 0     1/2 D/mu^2 (N^2 + T^2)        it sticks
                                       between           1/2 D/(mu^2 (1 + mu^2)) (N - mu T)^2

Selections choose the zone, so a program serves all states. An inactive row has D = 0.

MuJoCo's documentation, chapter Computation; Todorov (2014).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from linkwork.engine.symbolic.entries import FUNCTIONS, select
from linkwork.mechanics.inertia import ArticulatedInertia
from linkwork.simulation.world import weighted
from linkwork.spatial.blocks import Force, Mat, Motion, Scalar, Vec, as_mat, inner, total

TINY = 1e-30  # squares below it count as zero
Symmetric = list[list[Scalar]]


class Search(Protocol):
    """The cost of rows along a line y + alpha dy."""

    def slopes(self, alpha: Scalar) -> tuple[Scalar, Scalar]:
        """Return the first and second derivative with respect to alpha."""
        ...


@dataclass(frozen=True)
class JointRow:
    """A limit or dry friction of a joint, whose J has few entries."""

    J: Mapping[int, Scalar]  # by index in nu
    reference: Scalar
    D: Scalar
    slip: Scalar | None = None  # the largest force of dry friction; None for limits

    def residual(self, a: Sequence[Scalar]) -> Scalar:
        """Return y."""
        return total(*(c * a[k] for k, c in self.J.items())) - self.reference

    def rate(self, p: Sequence[Scalar]) -> Scalar:
        """Return J p."""
        return total(*(c * p[k] for k, c in self.J.items()))

    def force(self, y: Scalar) -> Scalar:
        """Return the force."""
        if self.slip is None:
            return -(self.curvature(y) * y)
        pull = -(self.D * y)
        low = select(pull < -self.slip, -self.slip, pull)
        return select(self.slip < pull, self.slip, low)

    def curvature(self, y: Scalar) -> Scalar:
        """Return the second derivative of the cost."""
        if self.slip is None:
            return select(y < 0.0, self.D, 0.0)
        return select(abs(self.D * y) < self.slip, self.D, 0.0)

    def along(self, y: Scalar, dy: Scalar) -> Search:
        """Return the cost along a line."""
        return _JointSearch(self, y, dy)


@dataclass(frozen=True)
class _JointSearch:
    row: JointRow
    y: Scalar
    dy: Scalar

    def slopes(self, alpha: Scalar) -> tuple[Scalar, Scalar]:
        y = self.y + alpha * self.dy
        h = self.row.curvature(y) * self.dy
        if self.row.slip is None:
            return h * y, h * self.dy
        return -(self.row.force(y) * self.dy), h * self.dy


@dataclass(frozen=True)
class ContactRow:
    """A contact: its `condim` rows are forces on a body along three lines, then moments.

    All is computed at the point: v + w x p is one vector for all rows, and wrenches about the
    origin would be many constants of the solver's loop.
    """

    body: int
    point: Vec  # from the base's origin
    lines: tuple[Vec, ...]  # of forces
    axes: tuple[Vec, ...]  # of moments
    reference: tuple[Scalar, ...]
    D: Scalar
    friction: tuple[Scalar, ...]  # of the rows but the first

    def rate(self, motion: Motion) -> list[Scalar]:
        """Return J p for the motion p of the body."""
        v, w = motion.at(self.point)
        return [*(v.dot(line) for line in self.lines), *(w.dot(axis) for axis in self.axes)]

    def residual(self, motion: Motion) -> list[Scalar]:
        """Return y for the acceleration of the body."""
        return [x - a for x, a in zip(self.rate(motion), self.reference, strict=True)]

    def wrench(self, forces: Sequence[Scalar]) -> Force:
        """Return the wrench of forces along the rows, about the base's origin."""
        n = len(self.lines)
        force, moment = weighted(self.lines, forces[:n]), weighted(self.axes, forces[n:])
        return Force(force, moment + self.point.cross(force))

    def stiffness(self, y: Sequence[Scalar]) -> ArticulatedInertia:
        """Return J^T H J of the body, with H the second derivative of the cost."""
        H, n = self.curvature(y), len(self.lines)
        along = [weighted(self.lines, row[:n]) for row in H]  # H J at the point
        about = [weighted(self.axes, row[n:]) for row in H]
        A, B = _sum_of_outer(self.lines, along[:n]), _sum_of_outer(self.lines, about[:n])
        D = _sum_of_outer(self.axes, about[n:])
        return ArticulatedInertia(A.upper, B, D.upper).shifted(self.point)

    def force(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return the forces along the rows."""
        raise NotImplementedError

    def curvature(self, y: Sequence[Scalar]) -> Symmetric:
        """Return the second derivative of the cost."""
        raise NotImplementedError

    def along(self, y: Sequence[Scalar], dy: Sequence[Scalar]) -> Search:
        """Return the cost along a line."""
        raise NotImplementedError


class PyramidRow(ContactRow):
    """A contact without friction, or with a pyramidal cone."""

    def _edges(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return y_0, or y_0 + mu_k y_k and y_0 - mu_k y_k for each k."""
        slides = [mu * x for mu, x in zip(self.friction, y[1:], strict=True)]
        return [x for s in slides for x in (y[0] + s, y[0] - s)] if slides else [y[0]]

    def _active(self, edges: Sequence[Scalar]) -> list[Scalar]:
        """Return D of the edges that push, else 0."""
        return [select(x < 0.0, self.D, 0.0) for x in edges]

    def force(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return the forces along the rows."""
        edges = self._edges(y)
        pushes = [-(d * x) for d, x in zip(self._active(edges), edges, strict=True)]
        sides = zip(self.friction, pushes[::2], pushes[1::2], strict=False)
        return [total(*pushes), *(mu * (a - b) for mu, a, b in sides)]

    def curvature(self, y: Sequence[Scalar]) -> Symmetric:
        """Return the second derivative of the cost: an arrow."""
        active = self._active(self._edges(y))
        n = len(y)
        H: Symmetric = [[0.0] * n for _ in range(n)]
        H[0][0] = total(*active)
        for k, mu in enumerate(self.friction, 1):
            plus, minus = active[2 * k - 2], active[2 * k - 1]
            H[0][k] = H[k][0] = mu * (plus - minus)
            H[k][k] = (mu * mu) * (plus + minus)
        return H

    def along(self, y: Sequence[Scalar], dy: Sequence[Scalar]) -> Search:
        """Return the cost along a line."""
        return _EdgeSearch(self.D, self._edges(y), self._edges(dy))


@dataclass(frozen=True)
class _EdgeSearch:
    D: Scalar
    edges: Sequence[Scalar]
    rates: Sequence[Scalar]

    def slopes(self, alpha: Scalar) -> tuple[Scalar, Scalar]:
        first, second = [], []
        for x0, dx in zip(self.edges, self.rates, strict=True):
            x = x0 + alpha * dx
            pull = select(x < 0.0, dx, 0.0)
            first.append(pull * x)
            second.append(pull * dx)
        return self.D * total(*first), self.D * total(*second)


@dataclass(frozen=True)
class EllipticRow(ContactRow):
    """A contact with an elliptic cone."""

    mu: Scalar  # of the regularized cone: the first friction over the root of impratio

    def _cone(self, y: Sequence[Scalar]) -> tuple[Scalar, list[Scalar]]:
        """Return N and U."""
        return self.mu * y[0], [mu * x for mu, x in zip(self.friction, y[1:], strict=True)]

    def _scales(self) -> tuple[Scalar, Scalar]:
        """Return D / mu^2 and D / (mu^2 (1 + mu^2))."""
        square = self.mu * self.mu
        return self.D * (1.0 / square), self.D * (1.0 / (square * (1.0 + square)))

    def force(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return the forces along the rows."""
        N, U = self._cone(y)
        T = _root(inner(U, U))
        sticking, sliding = self._scales()
        f = -(sliding * (N - self.mu * T))  # between the zones, along N
        sticks = self.mu * N + T <= 0.0
        is_free = self.mu * T <= N
        along = select(is_free, 0.0, select(sticks, -(sticking * N), f))
        # along U: -D/mu^2 U, or -mu f U / T
        across = select(is_free, 0.0, select(sticks, -sticking, -(self.mu * f) / _positive(T)))
        slides = (across * (mu * u) for mu, u in zip(self.friction, U, strict=True))
        return [self.mu * along, *slides]

    def curvature(self, y: Sequence[Scalar]) -> Symmetric:
        """Return the second derivative of the cost."""
        N, U = self._cone(y)
        mu = self.mu
        T = _root(inner(U, U))
        sticking, sliding = self._scales()
        is_free, sticks = mu * T <= N, mu * N + T <= 0.0
        outer = select(is_free | sticks, 0.0, sliding)  # 0 except between the zones
        diagonal = select(is_free, 0.0, select(sticks, sticking, sliding))
        inverse = 1.0 / _positive(T)
        t = [u * inverse for u in U]
        # between: D' (e - mu t) (e - mu t)^T + D' (mu^2 - mu N / T) (1 - t t^T)
        across = select(sticks, sticking, outer * (mu * mu - mu * (N * inverse)))
        across = select(is_free, 0.0, across)
        scale = [mu, *self.friction]
        n = len(y)
        H: Symmetric = [[0.0] * n for _ in range(n)]
        H[0][0] = (mu * mu) * diagonal
        spread = outer * (mu * mu) - select(sticks, 0.0, across)
        for i in range(1, n):
            H[0][i] = H[i][0] = (mu * scale[i]) * -(outer * (mu * t[i - 1]))
            for j in range(i, n):
                value = spread * (t[i - 1] * t[j - 1])
                value = value + across if i == j else value
                H[i][j] = H[j][i] = (scale[i] * scale[j]) * value
        return H

    def along(self, y: Sequence[Scalar], dy: Sequence[Scalar]) -> Search:
        """Return the cost along a line."""
        (N, U), (dN, dU) = self._cone(y), self._cone(dy)
        products = inner(U, U), inner(U, dU), inner(dU, dU)
        return _ConeSearch(self.mu, *self._scales(), N, dN, *products)


@dataclass(frozen=True)
class _ConeSearch:
    mu: Scalar
    sticking: Scalar
    sliding: Scalar
    N: Scalar
    dN: Scalar
    UU: Scalar
    UV: Scalar  # with V = dU
    VV: Scalar

    def slopes(self, alpha: Scalar) -> tuple[Scalar, Scalar]:
        N, mu = self.N + alpha * self.dN, self.mu
        half = self.UV + alpha * self.VV  # T T'
        T = _root(self.UU + alpha * (self.UV + half))
        inverse = 1.0 / _positive(T)
        rate = half * inverse  # T'
        gap, closing = N - mu * T, self.dN - mu * rate
        bend = (self.VV - rate * rate) * inverse  # T''
        is_free, sticks = mu * T <= N, mu * N + T <= 0.0
        first = select(sticks, self.sticking * (N * self.dN + half), self.sliding * (gap * closing))
        second = select(
            sticks,
            self.sticking * (self.dN * self.dN + self.VV),
            self.sliding * (closing * closing - mu * (gap * bend)),
        )
        return select(is_free, 0.0, first), select(is_free, 0.0, second)


def _root(square: Scalar) -> Scalar:
    """Return the square root of a number that rounding may have made negative, and of 0."""
    is_positive = square > TINY
    return select(is_positive, FUNCTIONS["sqrt"](select(is_positive, square, 1.0)), 0.0)


def _positive(x: Scalar) -> Scalar:
    return select(x > 0.0, x, 1.0)


def _sum_of_outer(first: Sequence[Vec], second: Sequence[Vec]) -> Mat:
    """Return the sum of a b^T."""
    return as_mat(
        [[inner((a[i] for a in first), (b[j] for b in second)) for j in range(3)] for i in range(3)]
    )
