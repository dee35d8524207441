"""Positive semidefinite systems without pivoting and without branches.

G x = r  with G positive semidefinite, as J M^-1 J^T of redundant constraints is. With a small
positive diagonal matrix U, the matrix G + U has a factor L^T D L whatever the rank of G. The
proximal iteration

    (G + U) x_0 = r,    (G + U) x_k = U x_(k-1),    x = x_0 + x_1 + ... + x_K

reduces the error in each eigenvector of U^-1 G, of eigenvalue s, by the factor t = 1 / (1 + s) a
step. A step keeps what is in the null space of G: there t = 1, and x_k is the large part r / U that
shall not be in x. So the last terms get other weights w_k, such that

    p(t) = w_0 + w_1 t + ... + w_K t^K,    p(1) = p'(1) = p''(1) = 0

The other conditions are needed as rounding errors of the factor change t = 1 by about 1e-16 / mu.
So x is the least-squares solution of least norm, in the norm of U.

Rows that are redundant but for rounded numbers of a file count as redundant. With g the diagonal
entry of a row of G and c that of a typical row, U = mu (g + c / (1 + (g / (ROUNDED c))^2)), which
is mu g for usual rows, and mu c for rows of rounding errors. Then s is 1e-2 for axes that should be
parallel and differ by 4e-6 rad, and p(t) is 1e-5.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.constraints.sparse import gram
from linkwork.algorithms.dynamics.factor import Factor, inverse_of_unit_lower
from linkwork.algorithms.kinematics.frames import Matrix
from linkwork.engine.symbolic.elimination import ldl_factor
from linkwork.spatial.blocks import Scalar, is_zero, minus, plus, times, total

# Relative size of U. Smaller values need fewer steps for badly conditioned systems, and leave more
# rounding errors: about 1e-16 / MU of the part of r that nothing explains. In single precision,
# 1 + 1e-8 would be 1.
MU = 1e-8
MU_SINGLE = 1e-4
ROUNDED = 1e-8  # the diagonal entry of a row of rounding errors, relative to a typical one
# The steps add (MU * condition)^4 to the relative error: 1e-8 for a condition of 1e6.
WEIGHTS = (1.0, 1.0, 1.0, 1.0, -34.0, 50.0, -20.0)
# Those of the matrix, which derivatives multiply with vectors that have no part in the null space:
# p(1) = 0 is enough.
WEIGHTS_OF_INVERSE = (1.0, 1.0, -2.0)
# Those of Newton steps, whose errors are corrected by the next step: p(1) = 0 with the least number
# of terms. A larger U ignores more of what is nearly redundant.
WEIGHTS_OF_STEP, MU_OF_STEP = (1.0, -1.0), 1e-6


def _regularized(g: Scalar, c: Scalar) -> Scalar:
    """U / mu of a row: the diagonal entry g, or the typical one c if g is due to rounding."""
    if is_zero(g) or is_zero(c) or g is c:
        return plus(g, c)
    ratio = times(g, 1.0 / times(ROUNDED, c))
    return plus(g, times(c, 1.0 / plus(1.0, times(ratio, ratio))))


def mean(values: Sequence[Scalar]) -> Scalar:
    """The mean of some values; 0 for none."""
    return times(1.0 / len(values), total(*values)) if values else 0.0


class PseudoInverse:
    """Solves G x = r for a positive semidefinite matrix of scalars.

    Args:
        G: (n, n), the lower triangle is read.
        scale: (n,) typical size c of the diagonal of G; default its mean.
        mu: relative size of U; default `MU`, or `MU_SINGLE` in single precision.
        single: whether it is computed in single precision.
    """

    def __init__(
        self,
        G: Sequence[Sequence[Scalar]],
        scale: Sequence[Scalar] | None = None,
        *,
        mu: float | None = None,
        single: bool = False,
    ) -> None:
        n = self.n = len(G)
        if scale is None:
            scale = [mean([G[k][k] for k in range(n)])] * n
        if single or mu is None:
            mu = MU_SINGLE if single else MU
        self.U = [times(mu, _regularized(G[k][k], scale[k])) for k in range(n)]
        regularized = [[*row[:k], plus(row[k], self.U[k])] for k, row in enumerate(G)]
        self.is_zero = [all(is_zero(G[max(k, j)][min(k, j)]) for j in range(n)) for k in range(n)]
        self._L, self._inverses = ldl_factor(regularized, self._reciprocal)

    def _reciprocal(self, pivot: Scalar, row: int) -> Scalar:
        return 0.0 if self.is_zero[row] else 1.0 / pivot

    def solve(self, r: Sequence[Scalar], weights: Sequence[float] = WEIGHTS) -> list[Scalar]:
        """The solution of least norm; the first weight is 1."""
        step = self._solve(r)
        x = list(step)
        for weight in weights[1:]:
            step = self._solve([times(u, d) for u, d in zip(self.U, step, strict=True)])
            x = [plus(a, times(weight, b)) for a, b in zip(x, step, strict=True)]
        return [0.0 if self.is_zero[k] else x[k] for k in range(self.n)]

    def inverse(self) -> Matrix:
        """(n, n) the pseudo-inverse of G."""
        W = inverse_of_unit_lower(self._L)
        X = Factor(tuple(range(self.n)), tuple(W), tuple(self._inverses)).inverse()  # (G + U)^-1
        UX = [
            {k: times(u, x) for k, (u, x) in enumerate(zip(self.U, row, strict=True))} for row in X
        ]
        terms = [X]  # then X U X, X U X U X, ..., all of them symmetric
        for _ in WEIGHTS_OF_INVERSE[1:]:
            terms.append(gram([dict(enumerate(row)) for row in terms[-1]], UX))

        def entry(i: int, j: int) -> Scalar:
            if self.is_zero[i] or self.is_zero[j]:
                return 0.0
            i, j = max(i, j), min(i, j)
            return total(
                *(times(w, term[i][j]) for w, term in zip(WEIGHTS_OF_INVERSE, terms, strict=True))
            )

        return [[entry(i, j) for j in range(self.n)] for i in range(self.n)]

    def _solve(self, r: Sequence[Scalar]) -> list[Scalar]:
        """The x of L^T D L x = r."""
        y: list[Scalar] = [0.0] * self.n
        for k in reversed(range(self.n)):  # L^T y = r
            below = (times(self._L[m][k], y[m]) for m in range(k + 1, self.n) if k in self._L[m])
            y[k] = minus(r[k], total(*below))
        x: list[Scalar] = []
        for k in range(self.n):  # L x = D^-1 y
            above = (times(entry, x[m]) for m, entry in self._L[k].items())
            x.append(minus(times(y[k], self._inverses[k]), total(*above)))
        return x
