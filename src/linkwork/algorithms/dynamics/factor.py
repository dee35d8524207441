"""Positive definite systems of a robot: singular pivots, and the factored inverse mass matrix.

    M = L^T D L        L unit lower triangular, D diagonal
    M^-1 = W D^-1 W^T  with W = L^-1

Coordinates are in an order that has every joint after those that carry it. Row i of W is not zero
only in the columns of joints that carry joint i: entry (i, c) is the acceleration of i per unit of
that of c, while the joints beyond c are free. Joints of different limbs have the base in common,
and their entry of M^-1 is a sum of six products.

Every entry is a sum of products that is computed at once, so that it stays in a register.

Featherstone (2005), Efficient factorization of the joint-space inertia matrix for branched
kinematic trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linkwork.algorithms.kinematics.frames import Matrix
from linkwork.engine.symbolic.elimination import SparseRow, ldl_factor, solved_positive_definite
from linkwork.engine.symbolic.entries import Traced
from linkwork.errors import SingularJointError
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.layout import BASE_NV
from linkwork.spatial.blocks import Scalar, is_zero, total

# A constant pivot below this fraction of the largest term it was summed from is a rounded zero.
SINGULAR = 1e-14


def largest_constant(matrix: Sequence[Sequence[Scalar]]) -> float:
    """Return the largest magnitude of a constant entry; 0 if none is constant."""
    return max((abs(x) for row in matrix for x in row if isinstance(x, float)), default=0.0)


def reciprocal(pivot: Scalar, owner: str, scale: float = 0.0) -> Scalar:
    """Return 1 / pivot, the inertia that resists `owner`, summed from terms up to `scale`.

    Raises:
        SingularJointError: it is the constant 0, up to rounding.
    """
    constant = _constant(pivot)
    if constant is not None and constant <= SINGULAR * scale:
        raise SingularJointError(f"{owner}: nothing resists its motion, so it has no acceleration")
    return 1.0 / pivot


def _constant(x: Scalar) -> float | None:
    """Return the value of a constant, else None."""
    return x.number() if isinstance(x, Traced) else x if isinstance(x, float) else None


def solve_symmetric(
    matrix: Sequence[Sequence[Scalar]], right: Sequence[Sequence[Scalar]], owners: Sequence[str]
) -> Matrix:
    """Return the rows of x in  matrix x = right,  for a positive definite matrix.

    Raises:
        SingularJointError: nothing resists the motion of one of the owners, one for each row.
    """
    scale = largest_constant(matrix)
    return solved_positive_definite(matrix, right, lambda x, k: reciprocal(x, owners[k], scale))


@dataclass(frozen=True, slots=True)
class Factor:
    """M^-1 = W D^-1 W^T, with coordinates from the base outward."""

    order: tuple[int, ...]  # index in nu of each coordinate
    W: tuple[SparseRow, ...]  # without the diagonal, which is 1
    inverse_pivots: tuple[Scalar, ...]  # D^-1

    def scaled(self, i: int) -> SparseRow:
        """Return row i of W D^-1, with the diagonal; computed where used, it stays in registers."""
        pivots = self.inverse_pivots
        return {c: value * pivots[c] for c, value in self.W[i].items()} | {i: pivots[i]}

    def negated(self) -> Factor:
        """Return the factor of -M."""
        return replace(self, inverse_pivots=tuple(-x for x in self.inverse_pivots))

    def inverse(self) -> Matrix:
        """(nv, nv) M^-1, rows and columns as nu. Each pair of equal entries is computed once."""
        n = len(self.order)
        inverse: Matrix = [[0.0] * n for _ in range(n)]
        for row, i in enumerate(self.order):
            scaled = self.scaled(row)
            for k, j in enumerate(self.order[: row + 1]):
                entry = sparse_dot(self.W[k], scaled) + scaled.get(k, 0.0)
                inverse[i][j] = inverse[j][i] = entry
        return inverse

    def inward(self, right: Sequence[Scalar]) -> SparseRow:
        """Return W^T right, by column; right is as nu."""
        x = {k: right[i] for k, i in enumerate(self.order) if not is_zero(right[i])}
        return {
            c: total(
                x.get(c, 0.0),
                *(self.W[i][c] * value for i, value in x.items() if c in self.W[i]),
            )
            for c in range(len(self.order))
        }

    def outward(self, z: Mapping[int, Scalar]) -> list[Scalar]:
        """(nv,) W z, as nu; z is by column."""
        solution: list[Scalar] = [0.0] * len(self.order)
        for row, i in enumerate(self.order):
            solution[i] = z.get(row, 0.0) + sparse_dot(self.W[row], z)
        return solution

    def row_product(self, row: SparseRow) -> SparseRow:
        """Return a row times W, by column; the row is by index in nu."""
        column_of = {k: c for c, k in enumerate(self.order)}
        entries = {column_of[k]: value for k, value in row.items()}
        product: SparseRow = {}
        for c in sorted({*entries, *(c for i in entries for c in self.W[i])}):
            beyond = (x * self.W[i][c] for i, x in entries.items() if c in self.W[i])
            product[c] = total(entries.get(c, 0.0), *beyond)
        return product

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """(nv,) M^-1 right, as nu. Where `right` is the float 0.0, nothing is computed with it."""
        u = self.inward(right)
        solution: list[Scalar] = [0.0] * len(right)
        for row, i in enumerate(self.order):
            solution[i] = sparse_dot(self.scaled(row), u)
        return solution


def outward_order(skeleton: Skeleton) -> list[int]:
    """Return the indices in nu, each joint after all joints that carry it."""
    base = range(BASE_NV if skeleton.layout.floating else 0)
    return list(dict.fromkeys([*base, *(k for body in skeleton.bodies for k in body.nu_indices)]))


def owners_of(skeleton: Skeleton, indices: Sequence[int]) -> list[str]:
    """Return what moves along coordinates of nu, as error messages name it."""
    spans = skeleton.layout.nu.items()
    joints = {k: f"joint {name!r}" for name, span in spans for k in range(span.start, span.stop)}
    return [joints.get(k, "the base") for k in indices]


def factored(skeleton: Skeleton, M: Sequence[Sequence[Scalar]], *, scale: float = 0.0) -> Factor:
    """Factor a mass matrix, with the fill-in of dependent joints if there are any.

    Args:
        skeleton: the robot, for the order of its coordinates and the names of its joints.
        M: (nv, nv) mass matrix, rows and columns as nu. Only one triangle of it is read.
        scale: largest term that a constant pivot is summed from; below 1e-14 of it is zero.

    Raises:
        SingularJointError: nothing resists the motion of a joint.
    """
    order = outward_order(skeleton)
    ordered = [[M[i][j] for j in order] for i in order]
    W, inverse_pivots = inverse_factor(ordered, owners_of(skeleton, order), scale)
    return Factor(tuple(order), tuple(W), tuple(inverse_pivots))


def inverse_factor(
    matrix: Sequence[Sequence[Scalar]], owners: Sequence[str], scale: float = 0.0
) -> tuple[list[SparseRow], list[Scalar]]:
    """Return W without its diagonal, and D^-1, of a positive definite matrix.

    Raises:
        SingularJointError: a pivot is the constant 0, up to rounding.
    """
    L, inverse_pivots = ldl_factor(matrix, lambda x, k: reciprocal(x, owners[k], scale))
    return inverse_of_unit_lower(L), inverse_pivots


def inverse_of_unit_lower(L: Sequence[SparseRow]) -> list[SparseRow]:
    """W = L^-1 of a unit lower triangular matrix, both without the diagonal."""
    W: list[SparseRow] = []
    for row in L:  # W = 1 - (L - 1) W
        inverted: SparseRow = {}
        for j in sorted(set(row).union(*(W[k] for k in row))):
            inverted[j] = -row.get(j, 0.0)
            for k in (k for k in row if j in W[k]):
                inverted[j] = inverted[j] - row[k] * W[k][j]
        W.append(inverted)
    return W


def sparse_dot(row: SparseRow, other: Mapping[int, Scalar]) -> Scalar:
    """Sum of the products of entries in the same column."""
    return total(*(row[c] * other[c] for c in sorted(row) if c in other))
