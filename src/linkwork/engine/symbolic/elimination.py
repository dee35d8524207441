"""Linear algebra on rows of numbers and traced values, without branches that depend on values.

Pivots  rows are swapped by selections, so that one program serves every order of the rows
Zeros   structural zeros (`entries.is_zero`) take no operations

Golub, Van Loan, Matrix Computations (2013), chapters 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.symbolic.entries import FUNCTIONS, is_zero, minus, select, times

Rows: TypeAlias = list[list[Any]]
SparseRow: TypeAlias = dict[int, Any]  # entries that are not structural zeros, by column

_MAX_EXPANDED = 3  # up to this size, a determinant is expanded into a sum of products


def _quotient(a: Any, b: Any) -> Any:
    """Compute a / b; division of a number by zero returns inf or NaN, as in compiled code."""
    if isinstance(a, float) and isinstance(b, (int, float)):
        with np.errstate(all="ignore"):
            return float(np.divide(a, b))
    return a / b


def _less_products(value: Any, pairs: Iterable[tuple[Any, Any]]) -> Any:
    """Subtract the products of pairs from a value; structural zeros take no operations."""
    for x, y in pairs:
        if not (is_zero(x) or is_zero(y)):
            value = minus(value, times(x, y))
    return value


def _swap_pivot(rows: Rows, k: int, sign: Any) -> Any:
    """Swap row k and the rows below it, so that the largest entry of column k is in row k.

    Returns the sign of the permutation of all rows; `sign` is the sign before.
    """
    size = abs(rows[k][k])
    for i in range(k + 1, len(rows)):
        if is_zero(rows[i][k]):
            continue
        if is_zero(rows[k][k]):  # a structural zero: swap without a selection
            rows[k], rows[i] = rows[i], rows[k]
            size, sign = abs(rows[k][k]), -sign
            continue
        other = abs(rows[i][k])
        is_larger = size < other
        pairs = list(zip(rows[k], rows[i], strict=True))
        rows[k] = [select(is_larger, low, top) for top, low in pairs]
        rows[i] = [select(is_larger, top, low) for top, low in pairs]
        size, sign = select(is_larger, other, size), select(is_larger, -sign, sign)
    return sign


def _eliminate(rows: Rows, k: int, inverse: Any) -> None:
    """Eliminate the entries of column k below row k."""
    for i in range(k + 1, len(rows)):
        if not is_zero(rows[i][k]):
            factor = rows[i][k] * inverse
            rows[i][k] = 0.0
            for j in range(k + 1, len(rows[i])):
                rows[i][j] = rows[i][j] - factor * rows[k][j]


def solved(a: Rows, b: Rows) -> Rows:
    """Solve a x = b: by substitution as far as possible, the remainder by elimination."""
    rows, columns = list(range(len(a))), list(range(len(a)))
    x: dict[int, list[Any]] = {}  # by column of a
    while single := _single_entry(a, rows, columns):
        row, column = single
        inverse = _quotient(1.0, a[row][column])
        x[column] = [entry * inverse for entry in _remainder(a[row], b[row], x)]
        rows.remove(row)
        columns.remove(column)
    if rows:
        remaining = [[a[row][column] for column in columns] for row in rows]
        solution = _eliminated(remaining, [_remainder(a[row], b[row], x) for row in rows])
        x |= dict(zip(columns, solution, strict=True))
    return [x[column] for column in range(len(a))]


def _single_entry(a: Rows, rows: Sequence[int], columns: Sequence[int]) -> tuple[int, int] | None:
    """Find an entry that is the only structural nonzero of its row; return its row and column."""
    for row in rows:
        nonzero = [column for column in columns if not is_zero(a[row][column])]
        if len(nonzero) == 1:
            return row, nonzero[0]
    return None


def _remainder(a: Sequence[Any], b: Sequence[Any], x: Mapping[int, Sequence[Any]]) -> list[Any]:
    """Subtract the products of a row of `a` with the known rows of x from a row of b."""
    return [
        _less_products(entry, ((a[column], row[k]) for column, row in x.items()))
        for k, entry in enumerate(b)
    ]


def _eliminated(a: Rows, b: Rows) -> Rows:
    """Solve a x = b by Gaussian elimination with partial pivoting and back substitution."""
    n = len(a)
    rows = [[*left, *right] for left, right in zip(a, b, strict=True)]
    inverses: list[Any] = []
    for k in range(n):
        _swap_pivot(rows, k, 1.0)
        inverses.append(_quotient(1.0, rows[k][k]))
        _eliminate(rows, k, inverses[k])
    x: dict[int, list[Any]] = {}
    for k in reversed(range(n)):
        remainder = _remainder(rows[k], rows[k][n:], x)
        x[k] = [entry * inverses[k] for entry in remainder]
    return [x[k] for k in range(n)]


def _reciprocal(pivot: Any, row: int) -> Any:
    return _quotient(1.0, pivot)


def ldl_factor(
    a: Sequence[Sequence[Any]], reciprocal: Callable[[Any, int], Any] = _reciprocal
) -> tuple[list[SparseRow], list[Any]]:
    """Factor a = L^T D L, with L unit lower triangular and D diagonal, without pivoting.

    The last row is eliminated first: if the coordinates of a tree are numbered from its root, the
    factor of its mass matrix has no fill-in (Featherstone 2008, section 6.5). Each entry is
    computed in one expression from the matrix and the rows below, so that it stays in a register.

    Args:
        a: (n, n) positive definite; only the lower triangle is read.
        reciprocal: computes 1 / pivot from a pivot and the index of its row.

    Returns:
        The rows of L without the diagonal, and the diagonal of D^-1.
    """
    n = len(a)
    columns = _pattern(a)
    L: list[SparseRow] = [{} for _ in range(n)]
    DL: list[SparseRow] = [{} for _ in range(n)]  # D L, without the diagonal
    inverses: list[Any] = [None] * n
    for i in reversed(range(n)):
        below = [k for k in range(i + 1, n) if i in L[k]]
        reduced = {
            j: _less_products(a[i][j], ((L[k][i], DL[k][j]) for k in below if j in DL[k]))
            for j in (i, *columns[i])
        }
        inverses[i] = reciprocal(reduced.pop(i), i)
        DL[i] = reduced
        L[i] = {j: times(entry, inverses[i]) for j, entry in reduced.items()}
    return L, inverses


def _pattern(a: Sequence[Sequence[Any]]) -> list[list[int]]:
    """Return for each row of L the columns left of the diagonal that are structural nonzeros."""
    rows = [{j for j in range(i) if not is_zero(row[j])} for i, row in enumerate(a)]
    for row in reversed(rows):
        for i in row:
            rows[i] |= {j for j in row if j < i}
    return [sorted(row) for row in rows]


def solved_positive_definite(
    a: Sequence[Sequence[Any]],
    b: Sequence[Sequence[Any]],
    reciprocal: Callable[[Any, int], Any] = _reciprocal,
) -> Rows:
    """Solve a x = b for a positive definite `a`, with `ldl_factor`."""
    n = len(a)
    L, inverses = ldl_factor(a, reciprocal)
    x: Rows = [[] for _ in range(n)]
    for column in range(len(b[0]) if b else 0):
        y: list[Any] = [None] * n
        for k in reversed(range(n)):  # L^T y = b
            below = ((L[m][k], y[m]) for m in range(k + 1, n) if k in L[m])
            y[k] = _less_products(b[k][column], below)
        for k in range(n):  # L x = D^-1 y
            above = ((entry, x[m][column]) for m, entry in L[k].items())
            x[k].append(_less_products(times(y[k], inverses[k]), above))
    return x


def determinant(a: Rows) -> Any:
    """Compute the determinant: expanded for small matrices, else the product of the pivots."""
    n = len(a)
    if n <= _MAX_EXPANDED:
        return _expanded(a)
    rows, sign, product = [list(row) for row in a], 1.0, 1.0
    for k in range(n):
        sign = _swap_pivot(rows, k, sign)
        pivot = rows[k][k]
        if is_zero(pivot):
            return 0.0
        # If a pivot is zero, the determinant is zero, and the rows below do not matter.
        inverse = select(abs(pivot) <= 0.0, 0.0, _quotient(1.0, pivot))
        _eliminate(rows, k, inverse)
        product = product * pivot
    return sign * product


def _expanded(a: Rows) -> Any:
    """Expand the determinant along the first row."""
    if not a:
        return 1.0
    total: Any = 0.0
    for column, entry in enumerate(a[0]):
        if not is_zero(entry):
            minor = [row[:column] + row[column + 1 :] for row in a[1:]]
            term = entry * _expanded(minor)
            total = total - term if column % 2 else total + term
    return total


def cholesky_factor(a: Rows) -> Rows:
    """Compute the lower triangular L of a = L L^T by columns; reads only the lower triangle."""
    n = len(a)
    L: Rows = [[0.0] * n for _ in range(n)]
    for j in range(n):
        square = _less_products(a[j][j], zip(L[j][:j], L[j][:j], strict=True))
        L[j][j] = FUNCTIONS["sqrt"](square)
        inverse = _quotient(1.0, L[j][j])
        for i in range(j + 1, n):
            L[i][j] = _less_products(a[i][j], zip(L[i][:j], L[j][:j], strict=True)) * inverse
    return L
