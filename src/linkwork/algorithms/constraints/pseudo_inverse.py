"""Positive semidefinite systems without pivoting and without branches.

G x = r  with G positive semidefinite, as J M^-1 J^T of redundant constraints is. With a small
positive diagonal matrix U, the matrix G + U has a factor L^T D L whatever the rank of G. With

    T = U (G + U)^-1,    of the eigenvalues t = 1 / (1 + s),  s an eigenvalue of U^-1 G

the solution is  x = (1 - T^T)^i (G + U)^-1 (1 + c_1 T + ... + c_(K-1) T^(K-1)) (1 - T)^j r.

The factors 1 - T = G (G + U)^-1 remove the part of r that no x explains, where s = 0. They are
applied first, so that this part, divided by U, never gets large. Their transposes remove rounding
errors of x without effect. The c_k are coefficients of the series of (1 - t)^-(i+j+1), which
correct the effect of U on everything else. So x is the least-squares solution of least norm, in the
norm of U. The part of r in an eigenvector is satisfied to the fraction

    (1 - t)^(i+j+1) (1 + c_1 t + ... + c_(K-1) t^(K-1))

With i = 1, j = 2 and K = 3 it is 15 s^4 for small s and 1 - 20 / s^3 for large s. So equations are
satisfied if they differ from redundant ones by much more than mu^(1/2), relative to their size.

Rounding errors of G, about 1e-16, limit mu: with them, 1 - T removes only to the fraction 1e-16 /
mu. A factor that is computed from rows by the method of Gram and Schmidt does not have them. It
takes more operations, and serves constraints that are redundant in all configurations. For others,
which are redundant only in singular configurations, the last factor 1 - T is a product with the
rows, A D A^T (G + U)^-1, which removes that part to 1e-16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import NamedTuple

from linkwork.algorithms.constraints.sparse import gram, transposed_product
from linkwork.algorithms.dynamics.factor import Factor, inverse_of_unit_lower, sparse_dot
from linkwork.algorithms.kinematics.frames import Matrix
from linkwork.engine.symbolic.elimination import SparseRow, ldl_factor
from linkwork.spatial.blocks import Scalar, inner, is_zero, total


class Regularization(NamedTuple):
    """The matrix U, and the polynomial.

    With g the diagonal entry of a row of G and c its size if the row were not due to rounding,
    U = mu g + floor c / (1 + (g / (small c))^4)^2. So a row is compared with itself, or with its
    full size if it is much smaller. With floor > mu, rows that are rounding errors have little
    weight where they contradict others. The square gives others their full weight there; a higher
    power in its place would overflow in single precision.
    """

    mu: float
    floor: float
    small: float  # fraction of c below which a row is compared with c and no longer with itself
    removals: int = 2  # j
    terms: int = 4  # K
    projections: int = 2  # i
    is_orthogonal: bool = False  # whether the factor is computed from rows, without G
    is_by_rows: bool = False  # whether the last factor 1 - T is a product with the rows

    def added(self, g: Scalar, c: Scalar) -> Scalar:
        """U of a row."""
        if is_zero(g) or is_zero(c):
            return self.mu * g
        ratio = g * (1.0 / (self.small * c))
        power = ratio * ratio
        share = 1.0 / (1.0 + power * power)
        return self.mu * g + self.floor * c * (share * share)


# Of J M^-1/2 with rows of norm 1, singular values below 1e-8 are taken for rounding errors, those
# above 1e-6 are real. Rows below 3e-8 of their full size, c^(1/2), are taken for rounding errors,
# those above 1e-7 are real. For constraints that are independent but in singular configurations.
INDEPENDENT = Regularization(5e-14, 5e-13, 1e-15, terms=3, projections=1, is_by_rows=True)
# The same limits, for constraints that are redundant in all configurations.
REDUNDANT = Regularization(1e-13, 1e-12, 1e-15, is_orthogonal=True)
# For many redundant constraints: singular values below 3e-7 are taken for rounding errors, those
# above 1e-5 are real. With a smaller mu, rounding errors of G would cause forces without effect
# where constraints contradict each other, about (1e-15 / mu)^4 / mu, and a factor from rows would
# double the operations of Cassie.
REDUNDANT_LARGE = Regularization(1e-11, 1e-10, 1e-15)
# Of robots whose file has rounded numbers, such as 1.5708 for pi/2: singular values below 1e-5 are
# taken for rounding errors, those above 3e-4 are real.
ROUNDED = Regularization(4e-10, 4e-9, 1e-8)
# In single precision, redundant equations differ by about 1e-6.
SINGLE = Regularization(1e-9, 1e-10, 1e-6, is_orthogonal=True)
# Newton steps correct each other: 1 - T once, no further terms, and more that is nearly redundant.
STEP = Regularization(1e-6, 1e-6, 1e-8, 1, 1, 0)
STEP_SINGLE = Regularization(1e-4, 1e-4, 1e-6, 1, 1, 0)
# (1 - T) (1 + 3 T) - 1 by powers of T; the inverse matrix has one more factor 1 - T^T.
OF_INVERSE = (2.0, -3.0)


def mean(values: Sequence[Scalar]) -> Scalar:
    """The mean of some values; 0 for none."""
    return (1.0 / len(values)) * total(*values) if values else 0.0


class PseudoInverse:
    """Solves G x = r for a positive semidefinite matrix of scalars.

    Args:
        G: (n, n), the lower triangle is read.
        sizes: (n,) the size c of each diagonal entry; 0 for rows that cannot be due to rounding.
        regularization: U and the polynomial.
        rows, weights: of G = A diag(weights) A^T, for a factor that is computed without G; weights
            are 1 if not given.
    """

    def __init__(
        self,
        G: Sequence[Sequence[Scalar]],
        sizes: Sequence[Scalar],
        regularization: Regularization,
        rows: Sequence[SparseRow] = (),
        weights: Mapping[int, Scalar] | None = None,
    ) -> None:
        n = self.n = len(G)
        self._regularization = regularization
        self._rows, self._weights = rows, weights
        self.U = [regularization.added(G[k][k], sizes[k]) for k in range(n)]
        self.is_zero = [all(is_zero(G[max(k, j)][min(k, j)]) for j in range(n)) for k in range(n)]
        if regularization.is_orthogonal:
            self._L, self._inverses = self._orthogonalized(rows, weights)
        else:
            regularized = [[*row[:k], row[k] + self.U[k]] for k, row in enumerate(G)]
            self._L, self._inverses = ldl_factor(regularized, self._reciprocal)

    def _orthogonalized(
        self, rows: Sequence[SparseRow], weights: Mapping[int, Scalar] | None
    ) -> tuple[list[SparseRow], list[Scalar]]:
        """L and D^-1 of G + U = L^T D L by the modified Gram-Schmidt method.

        With rows B that are orthogonal, those of G are A = L^T B. A column for each row is added,
        with the weight U.
        """
        n, L = self.n, [SparseRow() for _ in range(self.n)]
        B, weighted = [SparseRow() for _ in range(n)], [SparseRow() for _ in range(n)]
        inverses: list[Scalar] = [0.0] * n
        for i in reversed(range(n)):
            row = rows[i] | {-1 - i: 1.0}
            for k in reversed(range(i + 1, n)):
                entry = sparse_dot(row, weighted[k]) * inverses[k]
                if not is_zero(entry):
                    L[k][i] = entry
                    row |= {c: row.get(c, 0.0) - entry * x for c, x in B[k].items()}
            B[i] = row
            weighted[i] = {c: self._weighted(x, c, weights) for c, x in row.items()}
            inverses[i] = self._reciprocal(sparse_dot(row, weighted[i]), i)
        return L, inverses

    def _weighted(self, x: Scalar, column: int, weights: Mapping[int, Scalar] | None) -> Scalar:
        if column < 0:
            return x * self.U[-1 - column]
        return x if weights is None else x * weights[column]

    def _reciprocal(self, pivot: Scalar, row: int) -> Scalar:
        return 0.0 if self.is_zero[row] else 1.0 / pivot

    def solve(self, r: Sequence[Scalar]) -> list[Scalar]:
        """The solution of least norm."""
        _, _, _, n_before, K, n_after, _, is_by_rows = self._regularization
        j = n_before + n_after
        for k in range(n_before):
            r = self._product(r) if is_by_rows and k == n_before - 1 else self._removed(r)
        term = self._solve(r)
        x = list(term)
        for k in range(1, K):
            term = self._solve(self._times_U(term))
            x = [a + float(comb(j + k, k)) * b for a, b in zip(x, term, strict=True)]
        for _ in range(n_after):
            x = self._projected(x)
        return [0.0 if self.is_zero[k] else x[k] for k in range(self.n)]

    def _removed(self, r: Sequence[Scalar]) -> list[Scalar]:
        """(1 - T) r."""
        return [a - u * x for a, u, x in zip(r, self.U, self._solve(r), strict=True)]

    def _product(self, r: Sequence[Scalar]) -> list[Scalar]:
        """The same as G (G + U)^-1 r, by rows."""
        along = transposed_product(self._rows, self._solve(r))
        weighted = {c: self._weighted(x, c, self._weights) for c, x in along.items()}
        return [sparse_dot(row, weighted) for row in self._rows]

    def _projected(self, x: Sequence[Scalar], n: int | None = None) -> list[Scalar]:
        """The first n entries of (1 - T^T) x, without rounding errors in the null space of G."""
        return [a - b for a, b in zip(x, self._solve(self._times_U(x), n), strict=False)]

    def _times_U(self, x: Sequence[Scalar]) -> list[Scalar]:
        return [u * d for u, d in zip(self.U, x, strict=True)]

    def inverse(self) -> Matrix:
        """(n, n) the pseudo-inverse of G."""
        W = inverse_of_unit_lower(self._L)
        X = Factor(tuple(range(self.n)), tuple(W), tuple(self._inverses)).inverse()  # (G + U)^-1
        UX = [{k: u * x for k, (u, x) in enumerate(zip(self.U, row, strict=True))} for row in X]
        terms = [X]  # then X U X, X U X U X, all of them symmetric
        for _ in OF_INVERSE[1:]:
            terms.append(gram([dict(enumerate(row)) for row in terms[-1]], UX))
        inverse: Matrix = [[0.0] * self.n for _ in range(self.n)]
        for k in range(self.n):  # a column of 1 + U (c_1 X + c_2 X U X), then of its solution
            entries = [[one[i][k] for one in terms] for i in range(self.n)]
            sums = [inner(OF_INVERSE, row) for row in entries]
            right = self._times_U(sums)
            right[k] = 1.0 + right[k]
            for i, x in enumerate(self._projected(self._solve(right), k + 1)):
                if not (self.is_zero[i] or self.is_zero[k]):
                    inverse[i][k] = inverse[k][i] = x
        return inverse

    def _solve(self, r: Sequence[Scalar], n: int | None = None) -> list[Scalar]:
        """The first n entries, or all, of the x of L^T D L x = r."""
        y: list[Scalar] = [0.0] * self.n
        for k in reversed(range(self.n)):  # L^T y = r
            below = (self._L[m][k] * y[m] for m in range(k + 1, self.n) if k in self._L[m])
            y[k] = r[k] - total(*below)
        x: list[Scalar] = []
        for k in range(self.n if n is None else n):  # L x = D^-1 y
            above = (entry * x[m] for m, entry in self._L[k].items())
            x.append(y[k] * self._inverses[k] - total(*above))
        return x
