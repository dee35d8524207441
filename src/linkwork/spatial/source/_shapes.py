"""Shape checks, constants and block matrices for all spatial modules.

Constants have the dtype of the array they are combined with, so that float32 stays float32.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array, join, stack, where

LARGE_POWER = 2.0**100  # exact in both precisions; makes the inverses of subnormal numbers finite


def expect(name: str, value: ArrayLike, *tail: int) -> Array:
    """Convert `value` to an array and check its trailing axes; `name` is for the message."""
    return as_array(value, name, tail)


def eye(size: int, like: Array) -> Array:
    """(size, size) identity matrix with the dtype of `like`."""
    return np.eye(size, dtype=like.dtype)


def zero(like: Array) -> Array:
    """Zeros of the shape and dtype of `like`."""
    return np.zeros_like(like)


def per_vector(c: Array) -> Array:
    """Reshape (...) to (..., 1): one value for each vector of a batch."""
    return as_array(c)[..., None]


def per_matrix(c: Array) -> Array:
    """Reshape (...) to (..., 1, 1): one value for each matrix of a batch."""
    return as_array(c)[..., None, None]


def largest_is_one(vectors: Array) -> Array:
    """Divide vectors (..., n) by their largest entry, so that no square overflows or vanishes.

    Compiled code may multiply by the inverse instead, which must not overflow. So if all entries
    are tiny, they are multiplied by a power of two first.
    """
    tiny = abs(vectors).max(axis=-1, keepdims=True) < 1.0 / LARGE_POWER
    vectors = vectors * where(tiny, LARGE_POWER, 1.0).astype(vectors.dtype)
    return vectors / abs(vectors).max(axis=-1, keepdims=True)


def block(rows: Sequence[Sequence[Array]]) -> Array:
    """Build a matrix (..., m, n) from rows of matrices, after broadcasting their batch axes."""
    bands = [join(row) for row in rows]
    return stack([band[..., i, :] for band in bands for i in range(band.shape[-2])], axis=-2)


def split_pose(a_H_b: ArrayLike) -> tuple[Array, Array]:
    """Split a pose (..., 4, 4) into rotation (..., 3, 3) and position (..., 3)."""
    pose = expect("a_H_b", a_H_b, 4, 4)
    return pose[..., :3, :3], pose[..., :3, 3]
