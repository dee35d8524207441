"""Small symmetric positive definite systems, unrolled, and pivots that are known to be zero."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.errors import SingularJointError
from linkwork.spatial.blocks import Scalar, minus, times

# A constant pivot below this fraction of the largest number it was summed from is a rounded zero.
SINGULAR = 1e-14


def largest_constant(matrix: Sequence[Sequence[Scalar]]) -> float:
    """The largest magnitude of a constant entry; 0 if none is constant."""
    return max((abs(x) for row in matrix for x in row if isinstance(x, float)), default=0.0)


def reciprocal(pivot: Scalar, owner: str, scale: float = 0.0) -> Scalar:
    """1 / pivot, the inertia that its owner moves against, summed up from numbers up to `scale`.

    Raises:
        SingularJointError: it is the constant 0, up to rounding.
    """
    if isinstance(pivot, float) and pivot <= SINGULAR * scale:
        raise SingularJointError(f"{owner}: nothing resists its motion, so it has no acceleration")
    return 1.0 / pivot


def solve_symmetric(
    matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar], owners: Sequence[str]
) -> list[Scalar]:
    """Solve a symmetric positive definite system by L D L^T, unrolled; zeros are left out."""
    n = len(right)
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    pivots: list[Scalar] = []
    inverse: list[Scalar] = []
    for j in range(n):
        scaled = [times(L[j][k], pivots[k]) for k in range(j)]
        pivot = matrix[j][j]
        for k in range(j):
            pivot = minus(pivot, times(scaled[k], L[j][k]))
        pivots.append(pivot)
        inverse.append(reciprocal(pivot, owners[j], largest_constant(matrix)))
        for i in range(j + 1, n):
            value = matrix[i][j]
            for k in range(j):
                value = minus(value, times(L[i][k], scaled[k]))
            L[i][j] = times(value, inverse[j])
    x = list(right)
    for i in range(n):
        for k in range(i):
            x[i] = minus(x[i], times(L[i][k], x[k]))
    x = [times(value, inverse[i]) for i, value in enumerate(x)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = minus(x[i], times(L[k][i], x[k]))
    return x
