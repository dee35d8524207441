"""Rotational inertia: symmetric 3x3 tensors and their second moments of mass.

Tensor            I = integral of (r.r 1 - r r^T) dm [kg m^2], products of inertia with their sign
Second moments    Sigma = integral of r r^T dm = tr(I)/2 1 - I
Upper triangle    [xx, xy, xz, yy, yz, zz]; the lower triangle of an argument is never read
Batch             any leading axes, broadcast as NumPy does

A body can have the tensor I about its centre of mass if and only if Sigma has no negative
eigenvalue, which is the triangle inequality of the principal moments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from linkwork.engine.symbolic.arrays import Array, matrix, stack, transpose, where
from linkwork.spatial.source._shapes import expect

UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def upper(tensor: ArrayLike) -> Array:
    """(..., 6) upper triangle of a tensor (..., 3, 3)."""
    m = expect("tensor", tensor, 3, 3)
    return stack([m[..., i, j] for i, j in UPPER])


def symmetric(entries: ArrayLike) -> Array:
    """(..., 3, 3) tensor with the upper triangle `entries` (..., 6)."""
    entries = expect("entries", entries, 6)
    xx, xy, xz, yy, yz, zz = (entries[..., i] for i in range(6))
    return matrix([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def second_moments(tensor: ArrayLike) -> Array:
    """Second moments of mass of an inertia tensor, about the same point.

    Args:
        tensor: (..., 3, 3) [kg m^2].

    Returns:
        (..., 3, 3) tr(I)/2 1 - I [kg m^2].
    """
    m = upper(tensor)
    xx, xy, xz, yy, yz, zz = (m[..., i] for i in range(6))
    return symmetric(
        stack(
            [0.5 * (yy - xx + zz), -xy, -xz, 0.5 * (xx - yy + zz), -yz, 0.5 * (xx - zz + yy)],
        )
    )


def from_second_moments(moments: ArrayLike) -> Array:
    """Inertia tensor of second moments of mass, the inverse of `second_moments`.

    Args:
        moments: (..., 3, 3) [kg m^2].

    Returns:
        (..., 3, 3) tr(Sigma) 1 - Sigma [kg m^2].
    """
    m = upper(expect("moments", moments, 3, 3))
    xx, xy, xz, yy, yz, zz = (m[..., i] for i in range(6))
    return symmetric(stack([yy + zz, -xy, -xz, xx + zz, -yz, xx + yy]))


def principal_moments(tensor: ArrayLike) -> Array:
    """(..., 3) eigenvalues of an inertia tensor (..., 3, 3), ascending [kg m^2]."""
    return np.linalg.eigvalsh(expect("tensor", tensor, 3, 3), UPLO="U")


def has_physical_moments(tensor: ArrayLike, tolerance: float, rounding: ArrayLike = 0.0) -> Array:
    """Whether the second moments have no negative eigenvalue, up to a tolerance.

    Args:
        tensor: (..., 3, 3) about the centre of mass, finite [kg m^2].
        tolerance: how negative an eigenvalue may be, as a fraction of the largest one.
        rounding: (...) how large an error the tensor already carries [kg m^2].

    Returns:
        (...) booleans.
    """
    values = np.linalg.eigvalsh(second_moments(tensor))
    slack = tolerance + rounding_of(values.dtype)
    return values[..., 0] >= -(slack * abs(values).max(axis=-1) + rounding)


def rounding_of(dtype: DTypeLike) -> float:
    """Relative error of the eigenvalues of a tensor of this dtype, generously."""
    return 16.0 * float(np.finfo(dtype).eps)


def nearest_physical_tensor(tensor: ArrayLike, *, tolerance: float) -> Array:
    """Tensor with the nearest second moments that have no negative eigenvalue.

    Args:
        tensor: (..., 3, 3) about the centre of mass, finite [kg m^2].
        tolerance: as in `has_physical_moments`; what passes there comes back as it is.

    Returns:
        (..., 3, 3) [kg m^2].
    """
    tensor = expect("tensor", tensor, 3, 3)
    values, vectors = np.linalg.eigh(second_moments(tensor))
    clipped = (vectors * np.maximum(values, 0.0)[..., None, :]) @ transpose(vectors)
    keep = has_physical_moments(tensor, tolerance)[..., None, None]
    return where(keep, tensor, from_second_moments(clipped))
