"""The inverse of a mass matrix as a product of sparse factors.

    M = L^T D L        L unit lower triangular, D diagonal
    M^-1 = W D^-1 W^T  with W = L^-1

Coordinates are in an order that has every joint after those that carry it. Row i of W is not zero
only in the columns of joints that carry joint i: entry (i, c) is the acceleration of i per unit of
that of c, while the joints beyond c are free. Joints of different limbs have the base in common,
and their entry of M^-1 is a sum of six products.

Every number is a sum of products that is made in one go, so that it stays in a register.

Featherstone (2005), Efficient factorization of the joint-space inertia matrix for branched
kinematic trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linkwork.algorithms.symmetric import reciprocal
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.layout import BASE_NV
from linkwork.spatial.blocks import Scalar, minus, plus, times

Row = dict[int, Scalar]  # entries that are not zero, by column


@dataclass(frozen=True, slots=True)
class Factor:
    """M^-1 = W D^-1 W^T, with coordinates from the base outward."""

    order: tuple[int, ...]  # index in nu of each coordinate
    W: tuple[Row, ...]  # without the diagonal, which is 1
    inverse_pivots: tuple[Scalar, ...]  # D^-1

    def scaled(self, i: int) -> Row:
        """Row i of W D^-1, with the diagonal; made where it is used, so that it is in registers."""
        pivots = self.inverse_pivots
        return {c: times(value, pivots[c]) for c, value in self.W[i].items()} | {i: pivots[i]}

    def negated(self) -> Factor:
        """The factor of -M."""
        return replace(self, inverse_pivots=tuple(minus(0.0, x) for x in self.inverse_pivots))

    def inverse(self) -> list[list[Scalar]]:
        """(nv, nv) M^-1, rows and columns as nu. Each pair of equal entries is computed once."""
        n = len(self.order)
        inverse: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
        for place, i in enumerate(self.order):
            scaled = self.scaled(place)
            for k, j in enumerate(self.order[: place + 1]):
                entry = plus(_product(self.W[k], scaled), scaled.get(k, 0.0))
                inverse[i][j] = inverse[j][i] = entry
        return inverse

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """(nv,) M^-1 right, as nu. Where `right` is the float 0.0, nothing is computed with it."""
        x = {k: right[i] for k, i in enumerate(self.order) if not is_zero(right[i])}
        carrying: dict[int, list[int]] = {k: [] for k in x}
        for i in x:
            for c in self.W[i]:
                carrying.setdefault(c, []).append(i)
        # u = W^T x
        u: Row = {}
        for c, carried in sorted(carrying.items()):
            value = x.get(c, 0.0)
            for i in carried:
                value = plus(value, times(self.W[i][c], x[i]))
            u[c] = value
        solution: list[Scalar] = [0.0] * len(right)
        for place, i in enumerate(self.order):
            solution[i] = _product(self.scaled(place), u)
        return solution


def factor_of(order: Sequence[int], W: Sequence[Row], inverse_pivots: Sequence[Scalar]) -> Factor:
    """The factor from W without its diagonal, and D^-1."""
    return Factor(tuple(order), tuple(W), tuple(inverse_pivots))


def outward_order(skeleton: Skeleton) -> list[int]:
    """Indices in nu with those of a joint after those of all that carry it."""
    base = range(BASE_NV if skeleton.layout.floating else 0)
    return list(dict.fromkeys([*base, *(k for body in skeleton.bodies for k in body.nu_indices)]))


def factored(skeleton: Skeleton, M: Sequence[Sequence[Scalar]], *, scale: float = 0.0) -> Factor:
    """Factor a mass matrix, with the fill-in of dependent joints if there are any.

    Args:
        skeleton: the robot, for the order of its coordinates and the names of its joints.
        M: (nv, nv) mass matrix, rows and columns as nu. Only one triangle of it is read.
        scale: of the numbers that a constant pivot is summed from; below 1e-14 of it is zero.

    Raises:
        SingularJointError: nothing resists the motion of a joint.
    """
    order = outward_order(skeleton)
    spans = skeleton.layout.nu.items()
    joints = {k: f"joint {name!r}" for name, span in spans for k in range(span.start, span.stop)}
    owners = [joints.get(k, "the base") for k in order]
    W, inverse_pivots = eliminated([[M[i][j] for j in order] for i in order], owners, scale)
    return factor_of(order, W, inverse_pivots)


def eliminated(
    matrix: Sequence[Sequence[Scalar]], owners: Sequence[str], scale: float = 0.0
) -> tuple[list[Row], list[Scalar]]:
    """W without its diagonal, and D^-1, of a symmetric matrix; the last row is eliminated first.

    Raises:
        SingularJointError: a pivot is the constant 0, up to rounding.
    """
    n = len(matrix)
    rows = _pattern(matrix)
    beyond: list[list[int]] = [[k for k in range(n) if i in rows[k]] for i in range(n)]
    left: list[Row] = [{} for _ in rows]  # row i of what is left of the matrix when it is its turn
    L: list[Row] = [{} for _ in rows]  # minus L, without the diagonal
    inverse_pivots: list[Scalar] = [0.0] * n
    for i in reversed(range(n)):
        gone = [(L[k][i], left[k]) for k in beyond[i]]
        inverse_pivots[i] = reciprocal(_updated(matrix[i][i], i, gone), owners[i], scale)
        for j in rows[i]:
            left[i][j] = _updated(matrix[i][j], j, gone)
        for j in rows[i]:
            L[i][j] = times(left[i][j], -inverse_pivots[i])
    return _inverted(L), inverse_pivots


def _pattern(matrix: Sequence[Sequence[Scalar]]) -> list[list[int]]:
    """Columns before the diagonal in which each row is not zero, at the time it is eliminated."""
    rows = [{j for j in range(i) if not is_zero(row[j])} for i, row in enumerate(matrix)]
    for row in reversed(rows):
        for i in row:
            rows[i] |= {j for j in row if j < i}
    return [sorted(row) for row in rows]


def _updated(entry: Scalar, column: int, gone: Sequence[tuple[Scalar, Row]]) -> Scalar:
    """An entry of a row after the rows of others are eliminated, each times a factor."""
    for factor, row in gone:
        if column in row:
            entry = plus(entry, times(factor, row[column]))
    return entry


def _inverted(L: Sequence[Row]) -> list[Row]:
    """L^-1 from minus L; both without the diagonal, which is 1."""
    W: list[Row] = []
    for row in L:
        inverted: Row = {}
        for j in sorted(set(row).union(*(W[k] for k in row))):
            value = row.get(j, 0.0)
            for k in sorted(row):
                if j in W[k]:
                    value = plus(value, times(row[k], W[k][j]))
            inverted[j] = value
        W.append(inverted)
    return W


def _product(row: Row, other: Mapping[int, Scalar]) -> Scalar:
    """Sum of the products of entries in the same column."""
    total: Scalar = 0.0
    for c in sorted(row):
        if c in other:
            total = plus(total, times(row[c], other[c]))
    return total


def is_zero(value: Scalar) -> bool:
    """Whether a number is a structural zero."""
    return isinstance(value, float) and value == 0.0
