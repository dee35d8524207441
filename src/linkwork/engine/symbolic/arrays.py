"""Array functions of which spatial algebra and the algorithms are composed.

They accept NumPy arrays of numbers and `ObjectArray`s of traced values (module `traced`).

Batch     the last one or two axes are the vector or matrix; all axes before them are batch axes
Float     the caller's floating-point type; float64 for other types
Rejected  everything else: complex numbers, strings, dates, None, masked elements
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.traced import Array as Array  # noqa: PLC0414
from linkwork.engine.symbolic.traced import ObjectArray as ObjectArray  # noqa: PLC0414
from linkwork.engine.symbolic.traced import foreign_package, unwrapped
from linkwork.engine.symbolic.traced import where as where  # noqa: PLC0414
from linkwork.errors import ArgumentError, ShapeError

MOST_AXES = 32  # of an array, batch axes included: the limit of NumPy 1, and of np.broadcast
_NOT_REAL = (
    *(type(None), str, bytes, complex, date, timedelta, list, tuple, dict, set),
    *(np.complexfloating, np.datetime64, np.timedelta64, np.void),
)


def as_array(value: ArrayLike, name: str = "value", tail: tuple[int, ...] = ()) -> Array:
    """Convert a number, list or array to a floating-point array; return float arrays unchanged.

    Args:
        value: real numbers, or traced values.
        name: the name in error messages.
        tail: the required shape of the last axes.
    """
    array = value if type(value) is ObjectArray else _converted(value, name)
    check_axes(array.shape, name)
    if tail and array.shape[-len(tail) :] != tail:
        expected = ", ".join(map(str, tail))
        raise ShapeError(f"{name}: expected (..., {expected}), got {array.shape}")
    return array


def check_axes(shape: tuple[int, ...], name: str) -> None:
    """Raise an error for an array with more than `MOST_AXES` axes."""
    if len(shape) > MOST_AXES:
        text = f"{name}: expected at most {MOST_AXES} axes, got {len(shape)}"
        raise ShapeError(f"{text}; reshape it to fewer batch axes")


def _converted(value: Any, name: str) -> Array:
    package = foreign_package(value)
    if package:
        text = f"{name}: expected NumPy arrays, got a value of {package}"
        raise ArgumentError(f"{text}; convert it with np.asarray(...)")
    if type(value) is not np.ndarray and is_masked(value):
        raise ArgumentError(f"{name}: masked elements have no value; set one with filled()")
    try:
        array = np.asarray(value)
    except ValueError:
        text = f"{name}: expected numbers in rows of equal length"
        raise ShapeError(f"{text}, got {type(value).__name__}") from None
    kind = array.dtype.kind
    if kind in "fiub":
        return array if kind == "f" else array.astype(np.float64)
    if kind != "O":
        raise ArgumentError(f"{name}: expected real numbers, got {array.dtype.name}")
    objects = unwrapped(array)
    for entry in objects.flat:
        if isinstance(entry, _NOT_REAL):
            raise ArgumentError(f"{name}: expected real numbers, got {type(entry).__name__}")
    return objects.view(ObjectArray)


def is_masked(value: Any) -> bool:
    """Return whether an array, or an array in a nested sequence, has a masked element."""
    if "numpy.ma" not in sys.modules:  # then there are no such arrays; importing it is slow
        return False
    if isinstance(value, (list, tuple)):
        return any(map(is_masked, value))
    return isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)


def batch_of(
    names: Sequence[str], tails: Sequence[tuple[int, ...]], arrays: Sequence[Array]
) -> tuple[int, ...]:
    """Broadcast the batch axes of arrays; `tails` are the shapes of one row of each."""
    for name, array in zip(names, arrays, strict=True):
        check_axes(array.shape, name)
    batches = [a.shape[: a.ndim - len(tail)] for a, tail in zip(arrays, tails, strict=True)]
    try:
        return np.broadcast_shapes(*batches)
    except ValueError:
        listed = ", ".join(f"{name} {batch}" for name, batch in zip(names, batches, strict=True))
        raise ShapeError(f"batch axes cannot be broadcast together: {listed}") from None


def stack(parts: Sequence[Any], axis: int = -1) -> Array:
    """Join parts along a new axis, after broadcasting them against each other."""
    return np.stack(np.broadcast_arrays(*parts), axis=axis)


def join(parts: Sequence[Array]) -> Array:
    """Join vectors end to end along the last axis, after broadcasting their batch axes."""
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    full = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts]
    return np.concatenate(full, axis=-1)


def matrix(rows: Sequence[Sequence[Any]]) -> Array:
    """Build matrices (..., m, n) from m rows of n entries, each a number or a batch (...)."""
    width = len(rows[0])
    flat = stack([entry for row in rows for entry in row])
    return flat.reshape(*flat.shape[:-1], len(rows), width)


sin, cos, sqrt, atan2 = np.sin, np.cos, np.sqrt, np.arctan2


def dot(a: Array, b: Array) -> Array:
    """Dot product along the last axis."""
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
