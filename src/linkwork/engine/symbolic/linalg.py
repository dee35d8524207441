"""Linear algebra of small matrices, for numeric and for traced arrays.

    solve, inv    linear equations, general or positive definite
    det           determinant
    cholesky      lower or upper triangular factor
    norm          norms of vectors and matrices

Names and shapes are those of `numpy.linalg`; the last one or two axes are the vector or matrix, and
all axes before them are batch axes.

Numeric  computed by NumPy, which raises `numpy.linalg.LinAlgError` for a singular matrix
Traced   unrolled for one matrix size, without branches: about n^3 operations, so matrices of more
         than 30 rows lead to long programs. Structural zeros take no operations. No error is
         raised: the results of a singular matrix are infinite or NaN, in its row of a batch only.
         All functions are differentiable. `np.linalg.solve` and others call these functions when
         their arguments are traced arrays
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, ObjectArray, as_array
from linkwork.engine.symbolic.elimination import (
    Rows,
    cholesky_factor,
    determinant,
    solved,
    solved_positive_definite,
)
from linkwork.engine.symbolic.traced import REPLACEMENTS
from linkwork.errors import ArgumentError, ShapeError

Assumption: TypeAlias = Literal["general", "positive definite"]
_ASSUMPTIONS = ("general", "positive definite")


def solve(a: ArrayLike, b: ArrayLike, *, assume: Assumption = "general") -> Array:
    """Solve a @ x = b for x.

    Args:
        a: (..., n, n).
        b: (n,), or (..., n, k).
        assume: "general" uses elimination with partial pivoting, as NumPy does. "positive definite"
            takes less than half as many operations and reads only the lower triangle of `a`; mass
            matrices are positive definite.

    Returns:
        (..., n), or (..., n, k).
    """
    left, right = _square("solve", a), as_array(b, "b")
    solver = _solver(assume)
    n, is_vector = left.shape[-1], right.ndim == 1
    columns = right[:, None] if is_vector else right
    if columns.ndim < 2 or columns.shape[-2] != n:
        text = f"solve: expected b of shape ({n},) or (..., {n}, k), got {right.shape}"
        raise ShapeError(text)
    if object not in (left.dtype, columns.dtype):
        x = np.linalg.solve(left, columns)
    else:
        x = _each(solver, left, columns, columns.shape[-2:])
    return x[..., 0] if is_vector else x


def inv(a: ArrayLike, *, assume: Assumption = "general") -> Array:
    """Inverse (..., n, n) of matrices (..., n, n); `assume` is as in `solve`.

    To multiply by an inverse once, `solve` is cheaper and more accurate.
    """
    matrices, solver = _square("inv", a), _solver(assume)
    if matrices.dtype != object:
        return np.linalg.inv(matrices)
    result = _each(solver, matrices, np.eye(matrices.shape[-1]), matrices.shape[-2:])
    if assume == "general":
        return result
    lower = np.tri(matrices.shape[-1], dtype=bool)  # symmetric: one triangle suffices
    return np.where(lower, result, np.swapaxes(result, -1, -2))


def det(a: ArrayLike) -> Array:
    """Determinant (...) of matrices (..., n, n).

    Traced, its rounding error is small compared with the product of the norms of the rows.
    """
    matrices = _square("det", a)
    if matrices.dtype != object:
        return np.linalg.det(matrices)
    return _each(lambda a, _: determinant(a), matrices, np.empty((0, 0)), ())


def cholesky(a: ArrayLike, *, upper: bool = False) -> Array:
    """Lower triangular L (..., n, n) with a = L @ L.T, or its transpose if `upper`.

    Only the lower triangle of `a` is read, or the upper one if `upper`. Traced, the result of a
    matrix that is not positive definite is NaN.
    """
    matrices = _square("cholesky", a)
    if upper:
        matrices = np.swapaxes(matrices, -1, -2)
    if matrices.dtype == object:
        shape = matrices.shape[-2:]
        factor = _each(lambda a, _: cholesky_factor(a), matrices, np.empty((0, 0)), shape)
    else:
        factor = np.linalg.cholesky(matrices)
    return np.swapaxes(factor, -1, -2) if upper else factor


def norm(
    x: ArrayLike, ord: Any = None, axis: int | tuple[int, int] | None = None, keepdims: bool = False
) -> Array:
    """Norms of vectors or matrices, as `numpy.linalg.norm`.

    Matrix norms that need singular values (2, -2, "nuc") cannot be traced. The derivative of the
    Euclidean norm is zero at the zero vector.
    """
    entries = as_array(x, "x")
    if entries.dtype != object:
        return np.linalg.norm(entries, ord, axis, keepdims)
    axes = tuple(range(entries.ndim)) if axis is None else tuple(np.atleast_1d(axis).tolist())
    if ord is None or (len(axes) == 2 and ord == "fro") or (len(axes) == 1 and ord == 2):
        return np.sqrt((entries * entries).sum(axis=axes, keepdims=keepdims))
    if len(axes) == 1 and isinstance(ord, (int, float)):
        return _vector_norm(entries, ord, axes[0], keepdims)
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        sum_axis, other_axis = axes if abs(ord) == 1 else axes[::-1]  # of columns, or of rows
        sums = np.abs(entries).sum(axis=sum_axis, keepdims=True)
        result = (np.max if ord > 0 else np.min)(sums, axis=other_axis, keepdims=True)
        return result if keepdims else result.squeeze(axes)
    kind = "matrices" if len(axes) == 2 else "vectors"
    text = f"norm: ord={ord!r} of {kind} cannot be traced"
    raise ArgumentError(f"{text}; use a number for vectors, 'fro', 1, -1, inf or -inf for matrices")


NAMES = ("cholesky", "det", "inv", "norm", "solve")
REPLACEMENTS.update(
    {
        np.linalg.solve: solve,
        np.linalg.inv: inv,
        np.linalg.det: det,
        np.linalg.cholesky: cholesky,
        np.linalg.norm: norm,
    }
)


def _square(name: str, a: ArrayLike) -> Array:
    array = as_array(a, "a")
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ShapeError(f"{name}: expected square matrices (..., n, n), got {array.shape}")
    return array


def _solver(assume: Any) -> Callable[[Rows, Rows], Rows]:
    if assume not in _ASSUMPTIONS:
        raise ArgumentError(f"assume: expected 'general' or 'positive definite', got {assume!r}")
    return solved if assume == "general" else solved_positive_definite


def _each(
    function: Callable[[Rows, Rows], Any], a: Array, b: Array, shape: tuple[int, ...]
) -> Array:
    """Apply a function of two matrices to each row of a batch; `shape` is that of its result."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    lefts = np.broadcast_to(a, batch + a.shape[-2:])
    rights = np.broadcast_to(b, batch + b.shape[-2:])
    result = np.empty((*batch, *shape), dtype=object)
    for index in np.ndindex(*batch):
        result[index] = _entries(function(lefts[index].tolist(), rights[index].tolist()), shape)
    return result.view(ObjectArray)


def _entries(result: Any, shape: tuple[int, ...]) -> Any:
    """Convert rows to an object array, without NumPy inspecting the entries."""
    if not shape:
        return result
    array = np.empty(shape, dtype=object)
    for k, row in enumerate(result):
        array[k, :] = row
    return array


def _vector_norm(x: Array, ord: Any, axis: int, keepdims: bool) -> Array:
    size = np.abs(x)
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(size, axis=axis, keepdims=keepdims)
    if ord == 1:
        return size.sum(axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.where(x == 0, 0.0, 1.0).sum(axis=axis, keepdims=keepdims)
    return (size**ord).sum(axis=axis, keepdims=keepdims) ** (1.0 / ord)
