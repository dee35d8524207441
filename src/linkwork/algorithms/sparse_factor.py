"""The factor of a mass matrix, with the sparsity of the tree, and products with its inverse.

Coordinates are eliminated from the leaves inward:

    M = L^T D L        L unit lower triangular, D diagonal
    M^-1 = W D^-1 W^T  with W = L^-1

in an order that has every joint after those that carry it. Row i of M, up to the diagonal, is not
zero only in the columns of joints that carry joint i. The same holds for L, which has no fill-in,
and for W: entry (i, c) is what the acceleration of c alone makes joint i do, with the joints beyond
c free. Two joints of different limbs have the base in common, and their entry of M^-1 is a sum of
six products.

Dependent joints belong to several places of the tree at once. Their coordinates are eliminated as
the others are; the fill-in is found beforehand, from where M is not zero.

Every number is a sum of products that is made in one go, which keeps it in a register.

Featherstone (2005), Efficient factorization of the joint-space inertia matrix for branched
kinematic trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.algorithms.aba import reciprocal
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.layout import BASE_NV
from linkwork.spatial.blocks import Scalar, plus, times

Row = dict[int, Scalar]  # entries that are not zero, by column


@dataclass(frozen=True, slots=True)
class Factor:
    """M^-1 = W D^-1 W^T, with coordinates in the order of elimination, the base first."""

    order: tuple[int, ...]  # index in nu of each coordinate
    W: tuple[Row, ...]  # without the diagonal, which is 1
    V: tuple[Row, ...]  # W D^-1, with the diagonal

    def inverse(self) -> list[list[Scalar]]:
        """(nv, nv) M^-1, rows and columns as nu. Each pair of equal entries is computed once."""
        n = len(self.order)
        inverse: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
        for i, scaled in zip(self.order, self.V, strict=True):
            for k, j in enumerate(self.order):
                inverse[i][j] = inverse[j][i] = _with_diagonal(scaled, self.W[k], k)
                if j == i:
                    break
        return inverse

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """(nv,) M^-1 right, as nu. Where `right` is the float 0.0, nothing is computed with it."""
        x = [right[k] for k in self.order]
        # u = W^T x
        inward: Row = {k: value for k, value in enumerate(x) if not _is_zero(value)}
        for c in {c for i in inward for c in self.W[i]}:
            inward[c] = 0.0
        by_column: dict[int, list[int]] = {c: [] for c in inward}
        for i, value in enumerate(x):
            for c in () if _is_zero(value) else self.W[i]:
                by_column[c].append(i)
        for c in sorted(inward):
            total = x[c]
            for i in by_column[c]:
                total = plus(total, times(self.W[i][c], x[i]))
            inward[c] = total
        solution: list[Scalar] = [0.0] * len(x)
        for i, scaled in zip(self.order, self.V, strict=True):
            solution[i] = _product(scaled, inward)
        return solution


def factored(skeleton: Skeleton, M: Sequence[Sequence[Scalar]], scale: float = 0.0) -> Factor:
    """Factor a mass matrix.

    Args:
        skeleton: the robot, for the order of its coordinates and the names of its joints.
        M: (nv, nv) mass matrix, rows and columns as nu. Only one triangle of it is read.
        scale: of the numbers that a constant pivot is summed from; below 1e-14 of it is zero.

    Raises:
        SingularJointError: nothing resists the motion of a joint.
    """
    order = _outward_order(skeleton)
    matrix = [[M[i][j] for j in order] for i in order]
    rows = _pattern(matrix)
    beyond: list[list[int]] = [[] for _ in order]
    for k, row in enumerate(rows):
        for i in row:
            beyond[i].append(k)
    owners, n = _owners(skeleton), len(order)
    left: list[Row] = [{} for _ in order]  # row i of what is left of M when i is eliminated
    L: list[Row] = [{} for _ in order]  # minus L, without the diagonal
    inverse_pivots: list[Scalar] = [0.0] * n
    for i in reversed(range(n)):
        eliminated = [(L[k][i], left[k]) for k in beyond[i]]
        pivot = _updated(matrix[i][i], i, eliminated)
        inverse_pivots[i] = reciprocal(pivot, owners.get(order[i], "the base"), scale)
        for j in rows[i]:
            left[i][j] = _updated(matrix[i][j], j, eliminated)
        for j in rows[i]:
            L[i][j] = times(left[i][j], -inverse_pivots[i])
    W = _inverted(L)
    V = [
        {c: times(value, inverse_pivots[c]) for c, value in row.items()} | {i: inverse_pivots[i]}
        for i, row in enumerate(W)
    ]
    return Factor(tuple(order), tuple(W), tuple(V))


def _outward_order(skeleton: Skeleton) -> list[int]:
    """Indices in nu with those of a joint after those of all that carry it."""
    base = range(BASE_NV if skeleton.layout.floating else 0)
    return list(dict.fromkeys([*base, *(k for body in skeleton.bodies for k in body.nu_indices)]))


def _owners(skeleton: Skeleton) -> dict[int, str]:
    """The joint of each coordinate, by index in nu."""
    spans = skeleton.layout.nu.items()
    return {k: f"joint {name!r}" for name, span in spans for k in range(span.start, span.stop)}


def _pattern(matrix: Sequence[Sequence[Scalar]]) -> list[list[int]]:
    """Columns before the diagonal in which each row is not zero, at the time it is eliminated."""
    rows = [{j for j in range(i) if not _is_zero(row[j])} for i, row in enumerate(matrix)]
    for row in reversed(rows):
        for i in row:
            rows[i] |= {j for j in row if j < i}
    return [sorted(row) for row in rows]


def _updated(entry: Scalar, column: int, eliminated: Sequence[tuple[Scalar, Row]]) -> Scalar:
    """An entry of a row after the rows of others are eliminated, each times a factor."""
    for factor, row in eliminated:
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


def _with_diagonal(scaled: Row, row: Row, diagonal: int) -> Scalar:
    """Sum of the products of two rows, the second of which has a 1 on the diagonal."""
    return plus(_product(row, scaled), scaled.get(diagonal, 0.0))


def _product(row: Row, other: Row) -> Scalar:
    total: Scalar = 0.0
    for c in sorted(row):
        if c in other:
            total = plus(total, times(row[c], other[c]))
    return total


def _is_zero(value: Scalar) -> bool:
    return isinstance(value, float) and value == 0.0
