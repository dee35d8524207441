"""Matrices as rows of numbers and traced values: linear algebra without branches on values.

Pivots  the largest entry of a column is found and moved by selections, so that one program does for
        every order of the rows
Zeros   an entry that is known to be zero costs nothing

Golub, Van Loan, Matrix Computations (2013), chapters 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from linkwork.entries import FUNCTIONS, Traced, chosen

Rows: TypeAlias = list[list[Any]]

_WRITTEN_OUT = 3  # up to this size, a determinant is a sum of products


def _is_zero(entry: Any) -> bool:
    """Whether an entry is known to be zero."""
    return (entry.number() if isinstance(entry, Traced) else entry) == 0.0


def _quotient(a: Any, b: Any) -> Any:
    """a / b; numbers divided by zero are infinite or NaN, as in compiled code."""
    if isinstance(a, float) and isinstance(b, (int, float)):
        with np.errstate(all="ignore"):
            return float(np.divide(a, b))
    return a / b


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    products = [x * y for x, y in zip(a, b, strict=True) if not (_is_zero(x) or _is_zero(y))]
    return reduce(lambda x, y: x + y, products, 0.0)


def _pivoted(rows: Rows, k: int, sign: Any) -> Any:
    """Swap rows from row k on, so that the largest entry of column k is in row k.

    Returns the sign of the permutation, which `sign` was before.
    """
    size = abs(rows[k][k])
    for i in range(k + 1, len(rows)):
        if _is_zero(rows[i][k]):
            continue
        if _is_zero(rows[k][k]):  # known when it is traced: nothing to choose
            rows[k], rows[i] = rows[i], rows[k]
            size, sign = abs(rows[k][k]), -sign
            continue
        other = abs(rows[i][k])
        is_larger = size < other
        pairs = list(zip(rows[k], rows[i], strict=True))
        rows[k] = [chosen(is_larger, low, top) for top, low in pairs]
        rows[i] = [chosen(is_larger, top, low) for top, low in pairs]
        size, sign = chosen(is_larger, other, size), chosen(is_larger, -sign, sign)
    return sign


def _eliminate(rows: Rows, k: int, inverse: Any) -> None:
    """Make the entries of column k below row k zero."""
    for i in range(k + 1, len(rows)):
        if not _is_zero(rows[i][k]):
            factor = rows[i][k] * inverse
            rows[i][k] = 0.0
            for j in range(k + 1, len(rows[i])):
                rows[i][j] = rows[i][j] - factor * rows[k][j]


def solved(a: Rows, b: Rows) -> Rows:
    """The x of a x = b: what can be substituted, then the rest by elimination."""
    rows, columns = list(range(len(a))), list(range(len(a)))
    x: dict[int, list[Any]] = {}  # by column of a
    while single := _single_entry(a, rows, columns):
        row, column = single
        inverse = _quotient(1.0, a[row][column])
        x[column] = [entry * inverse for entry in _remainder(a[row], b[row], x)]
        rows.remove(row)
        columns.remove(column)
    if rows:
        left = [[a[row][column] for column in columns] for row in rows]
        rest = _eliminated(left, [_remainder(a[row], b[row], x) for row in rows])
        x |= dict(zip(columns, rest, strict=True))
    return [x[column] for column in range(len(a))]


def _single_entry(a: Rows, rows: Sequence[int], columns: Sequence[int]) -> tuple[int, int] | None:
    """Row and column of an entry that is the only one of its row that is not known to be zero."""
    for row in rows:
        found = [column for column in columns if not _is_zero(a[row][column])]
        if len(found) == 1:
            return row, found[0]
    return None


def _remainder(a: Sequence[Any], b: Sequence[Any], x: Mapping[int, Sequence[Any]]) -> list[Any]:
    """A row of b less the products of a row of `a` with what is known of x."""
    known = [a[column] for column in x]
    return [entry - _dot(known, [row[k] for row in x.values()]) for k, entry in enumerate(b)]


def _eliminated(a: Rows, b: Rows) -> Rows:
    """The x of a x = b by Gaussian elimination with partial pivoting, then back substitution."""
    n = len(a)
    rows = [[*left, *right] for left, right in zip(a, b, strict=True)]
    inverses: list[Any] = []
    for k in range(n):
        _pivoted(rows, k, 1.0)
        inverses.append(_quotient(1.0, rows[k][k]))
        _eliminate(rows, k, inverses[k])
    x: dict[int, list[Any]] = {}
    for k in reversed(range(n)):
        rest = _remainder(rows[k], rows[k][n:], x)
        x[k] = [entry * inverses[k] for entry in rest]
    return [x[k] for k in range(n)]


def solved_positive_definite(a: Rows, b: Rows) -> Rows:
    """By a = L^T D L with a unit lower triangular L, without pivots.

    The last row is eliminated first: where the coordinates of a tree are numbered from its root,
    the factor of its mass matrix has no fill-in (Featherstone 2008, section 6.5).
    """
    n = len(a)
    rows = [list(row[: k + 1]) for k, row in enumerate(a)]  # the lower triangle
    L: Rows = [[] for _ in range(n)]
    inverses: list[Any] = [None] * n
    for k in reversed(range(n)):
        inverses[k] = _quotient(1.0, rows[k][k])
        L[k] = [entry * inverses[k] for entry in rows[k][:k]]
        for i in range(k):
            if not _is_zero(L[k][i]):
                for j in range(i + 1):
                    rows[i][j] = rows[i][j] - L[k][i] * rows[k][j]
    x: Rows = [[] for _ in range(n)]
    for column in range(len(b[0])):
        y: list[Any] = [None] * n
        for k in reversed(range(n)):  # L^T y = b
            below = range(k + 1, n)
            y[k] = b[k][column] - _dot([L[m][k] for m in below], [y[m] for m in below])
        for k in range(n):  # L x = D^-1 y
            x[k].append(y[k] * inverses[k] - _dot(L[k], [row[column] for row in x[:k]]))
    return x


def determinant(a: Rows) -> Any:
    """The determinant: written out for small matrices, else the product of the pivots."""
    n = len(a)
    if n <= _WRITTEN_OUT:
        return _expanded(a)
    rows, sign, product = [list(row) for row in a], 1.0, 1.0
    for k in range(n):
        sign = _pivoted(rows, k, sign)
        pivot = rows[k][k]
        if _is_zero(pivot):
            return 0.0
        # A pivot of zero makes the determinant zero, whatever the rows below it are.
        inverse = chosen(abs(pivot) <= 0.0, 0.0, _quotient(1.0, pivot))
        _eliminate(rows, k, inverse)
        product = product * pivot
    return sign * product


def _expanded(a: Rows) -> Any:
    """The determinant along the first row."""
    if not a:
        return 1.0
    total: Any = 0.0
    for column, entry in enumerate(a[0]):
        if not _is_zero(entry):
            minor = [row[:column] + row[column + 1 :] for row in a[1:]]
            term = entry * _expanded(minor)
            total = total - term if column % 2 else total + term
    return total


def cholesky_factor(a: Rows) -> Rows:
    """The lower triangular L of a = L L^T, column by column; reads the lower triangle."""
    n = len(a)
    L: Rows = [[0.0] * n for _ in range(n)]
    for j in range(n):
        rest = a[j][j] - _dot(L[j][:j], L[j][:j])
        L[j][j] = FUNCTIONS["sqrt"](rest)
        inverse = _quotient(1.0, L[j][j])
        for i in range(j + 1, n):
            L[i][j] = (a[i][j] - _dot(L[i][:j], L[j][:j])) * inverse
    return L
