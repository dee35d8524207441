"""The few array functions that spatial algebra and algorithms may use.

Everything above this layer is written with operators, `...` indexing and these functions, and never
writes into an array. So the same code can later run on other kinds of arrays by teaching only this
module about them.

Batch    the last one or two axes are the vector or matrix; any axes before them are a batch
Float    float64 unless the caller's arrays say otherwise
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]


def as_array(value: ArrayLike) -> Array:
    """Take a number, list or array as a floating-point array; arrays of floats stay as they are."""
    array = np.asarray(value)
    return array if array.dtype.kind == "f" or array.dtype == object else array.astype(np.float64)


def stack(parts: Sequence[Any], axis: int = -1) -> Array:
    """Join parts along a new axis, after broadcasting them against each other."""
    return np.stack(np.broadcast_arrays(*parts), axis=axis)


def join(parts: Sequence[Array]) -> Array:
    """Join vectors end to end along the last axis, after broadcasting their batch axes."""
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    full = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts]
    return np.concatenate(full, axis=-1)


def matrix(rows: Sequence[Sequence[Any]]) -> Array:
    """Make (..., m, n) from m rows of n entries, each a number or a batch of numbers."""
    width = len(rows[0])
    flat = stack([entry for row in rows for entry in row])
    return flat.reshape(*flat.shape[:-1], len(rows), width)


def where(condition: Any, yes: Any, no: Any) -> Array:
    """Choose entry by entry."""
    return np.where(condition, yes, no)


def sin(x: Any) -> Array:
    """Sine of each entry."""
    return np.sin(x)


def cos(x: Any) -> Array:
    """Cosine of each entry."""
    return np.cos(x)


def sqrt(x: Any) -> Array:
    """Square root of each entry."""
    return np.sqrt(x)


def atan2(y: Any, x: Any) -> Array:
    """Angle of the point (x, y), entry by entry."""
    return np.arctan2(y, x)


def dot(a: Array, b: Array) -> Array:
    """Sum of products along the last axis."""
    return (a * b).sum(axis=-1)


def cross(a: Array, b: Array) -> Array:
    """Cross product of 3-vectors along the last axis."""
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    return stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def matvec(m: Array, v: Array) -> Array:
    """Product of matrices (..., m, n) with vectors (..., n)."""
    return (m @ v[..., None])[..., 0]


def transpose(m: Array) -> Array:
    """Swap the last two axes."""
    return np.swapaxes(m, -1, -2)
