"""Matrices whose rows have few entries: rows of Jacobians, and their products."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.dynamics.factor import sparse_dot
from linkwork.algorithms.kinematics.frames import Matrix
from linkwork.engine.symbolic.elimination import SparseRow
from linkwork.spatial.blocks import Scalar, total


def gram(rows: Sequence[SparseRow], scaled: Sequence[SparseRow]) -> Matrix:
    """(n, n) of the products of sparse rows with other rows, symmetric; each pair once."""
    n = len(rows)
    G: Matrix = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            G[i][j] = G[j][i] = sparse_dot(rows[j], scaled[i])
    return G


def transposed_product(rows: Sequence[SparseRow], weights: Sequence[Scalar]) -> SparseRow:
    """The sum of sparse rows, each times its weight."""
    columns = sorted({c for row in rows for c in row})
    pairs = list(zip(rows, weights, strict=True))
    return {c: total(*(row[c] * x for row, x in pairs if c in row)) for c in columns}


def columns_of(rows: Sequence[SparseRow], columns: Sequence[int]) -> list[SparseRow]:
    """Columns of a matrix, each by the indices of its rows."""
    return [{i: row[k] for i, row in enumerate(rows) if k in row} for k in columns]


def dense(row: SparseRow, n: int) -> list[Scalar]:
    """(n,) all entries of a sparse row."""
    return [row.get(k, 0.0) for k in range(n)]
