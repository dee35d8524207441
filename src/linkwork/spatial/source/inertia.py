"""Spatial inertia: the sources of `linkwork.spatial.inertia`, which states the conventions.

Tensor            I = integral of (r.r 1 - r r^T) dm [kg m^2], products of inertia with their sign
Second moments    Sigma = integral of r r^T dm = tr(I)/2 1 - I
Upper triangle    [xx, xy, xz, yy, yz, zz]; the lower triangle of an argument is not read

A body can have the tensor I about its center of mass if and only if Sigma has no negative
eigenvalue, which is the triangle inequality of the principal moments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from linkwork.engine.symbolic.arrays import (
    Array,
    as_array,
    cross,
    dot,
    matvec,
    stack,
    transpose,
    where,
)
from linkwork.engine.symbolic.arrays import join as join_vectors
from linkwork.engine.symbolic.arrays import matrix as matrix_of
from linkwork.errors import model_error
from linkwork.spatial.blocks import UPPER
from linkwork.spatial.source._helpers import (
    block,
    expect,
    eye,
    per_matrix,
    per_vector,
    split_pose,
    zero,
)
from linkwork.spatial.source.motion import join, split
from linkwork.spatial.source.so3 import vee, wedge

TOLERANCE = 1e-9  # an eigenvalue below this fraction of the largest one is 0 up to rounding


def from_com(mass: ArrayLike, com: ArrayLike, tensor_at_com: ArrayLike) -> Array:
    """Parameters of a body from mass, center of mass and the inertia tensor about it.

    Args:
        mass: (...) [kg].
        com: (..., 3) center of mass in the frame [m].
        tensor_at_com: (..., 3, 3) about the center of mass, along the frame's axes [kg m^2].

    Returns:
        (..., 10).
    """
    mass, com = as_array(mass, "mass"), expect("com", com, 3)
    at_com = upper(expect("tensor_at_com", tensor_at_com, 3, 3))
    first = per_vector(mass) * com
    return join_vectors([per_vector(mass), first, at_com + _shift(first, com)])


def to_com(params: ArrayLike) -> tuple[Array, Array, Array]:
    """Mass, center of mass and inertia tensor about it, the inverse of `from_com`.

    Args:
        params: (..., 10).

    Returns:
        (...) mass [kg]; (..., 3) center of mass [m], zero where the mass is zero; (..., 3, 3)
        inertia tensor about the center of mass, along the frame's axes [kg m^2].
    """
    mass, first, at_origin = _parts(params)
    column = per_vector(mass)
    com = where(column == 0.0, zero(first), first / where(column == 0.0, 1.0, column))
    return mass, com, symmetric(at_origin - _shift(first, com))


def matrix(params: ArrayLike) -> Array:
    """Matrix (..., 6, 6) of parameters (..., 10); it maps a velocity to a momentum."""
    mass, first, at_origin = _parts(params)
    h = wedge(first)
    return block([[per_matrix(mass) * eye(3, first), -h], [h, symmetric(at_origin)]])


def from_matrix(inertia: ArrayLike) -> Array:
    """Parameters (..., 10) of a matrix (..., 6, 6), the inverse of `matrix`."""
    M = expect("inertia", inertia, 6, 6)
    return join_vectors([M[..., 0, :1], vee(M[..., 3:, :3]), upper(M[..., 3:, 3:])])


def transform(a_H_b: ArrayLike, params: ArrayLike) -> Array:
    """Express the inertia of a body in another frame.

    Args:
        a_H_b: (..., 4, 4) pose of b in a.
        params: (..., 10) about the origin and along the axes of b.

    Returns:
        (..., 10) of the same body, about the origin and along the axes of a.
    """
    R, p = split_pose(a_H_b)
    mass, first, at_origin = _parts(params)
    RI = R @ symmetric(at_origin)
    rotated = stack([dot(RI[..., i, :], R[..., j, :]) for i, j in UPPER])  # R I R^T
    first = matvec(R, first)
    moved = first + per_vector(mass) * p
    # I_a = R I R^T + (p.h 1 - p h^T) + (g.p 1 - g p^T), with h = R m c and g = h + m p
    return join_vectors([per_vector(mass), moved, rotated + _shift(p, first) + _shift(moved, p)])


def apply(params: ArrayLike, v: ArrayLike) -> Array:
    """Momentum of a body: the inertia times its velocity.

    Args:
        params: (..., 10).
        v: (..., 6) motion vector in the same frame.

    Returns:
        (..., 6) force vector [linear; angular], angular about the frame's origin.
    """
    mass, first, at_origin = _parts(params)
    linear, angular = split(v, "v")
    return join(
        per_vector(mass) * linear + cross(angular, first),
        cross(first, linear) + matvec(symmetric(at_origin), angular),
    )


def kinetic_energy(params: ArrayLike, v: ArrayLike) -> Array:
    """Kinetic energy (...) [J] of a body (..., 10) with the velocity `v` (..., 6)."""
    return 0.5 * dot(as_array(v, "v"), apply(params, v))


def pseudo_inertia(params: ArrayLike) -> Array:
    """Second moments of mass in homogeneous coordinates, about the frame's origin.

    Args:
        params: (..., 10).

    Returns:
        (..., 4, 4) [[Sigma, m c], [m c^T, m]]; a body is physical if it has no negative eigenvalue.
    """
    mass, first, at_origin = _parts(params)
    column = first[..., :, None]
    sigma = second_moments(symmetric(at_origin))
    return block([[sigma, column], [first[..., None, :], per_matrix(mass)]])


def is_physical(params: ArrayLike, tolerance: float = TOLERANCE) -> Array:
    """Return whether a distribution of mass with these parameters exists.

    The mass must not be negative, there must be no first moment without mass, and the second
    moments about the center of mass must have no negative eigenvalue.

    Args:
        params: (..., 10); parameters that are not finite are not physical.
        tolerance: largest magnitude of a negative eigenvalue, as a fraction of the largest
            eigenvalue. The effect of rounding of the tensor about the origin is always allowed.

    Returns:
        (...) booleans.
    """
    params = expect("params", params, 10)
    finite = np.asarray(np.isfinite(params).all(axis=-1))
    params = where(finite[..., None], params, zero(params))
    with np.errstate(over="ignore", invalid="ignore"):  # for a tiny mass
        _, _, tensor = to_com(params)
    finite = finite & np.isfinite(tensor).all(axis=(-2, -1))
    tensor = where(finite[..., None, None], tensor, zero(tensor))
    mass, first, at_origin = _parts(params)
    rounding = rounding_of(params.dtype) * abs(at_origin).max(axis=-1)
    has_mass = (mass > 0.0) | ((mass == 0.0) & (first == 0.0).all(axis=-1))
    return finite & has_mass & has_physical_moments(tensor, tolerance, rounding)


def nearest_physical(
    mass: ArrayLike, com: ArrayLike, tensor: ArrayLike, *, tolerance: float = TOLERANCE
) -> tuple[Array, Array, Array]:
    """Nearest physical inertia with the same mass and center of mass.

    The distance is the sum of squared differences of the second moments about the center of mass. A
    physical tensor is returned unchanged.

    Args:
        mass: (...) [kg]; zero for a rotor whose mass is included in another body.
        com: (..., 3) [m].
        tensor: (..., 3, 3) about the center of mass [kg m^2].
        tolerance: as in `is_physical`.

    Returns:
        mass, com and tensor, as the arguments of `from_com`.

    Raises:
        ModelError: a mass is negative, or a value is not finite.
    """
    mass, com, tensor = (
        as_array(mass, "mass"),
        expect("com", com, 3),
        expect("tensor", tensor, 3, 3),
    )
    for name, value in (("mass", mass), ("com", com), ("tensor", tensor)):
        _reject(name, "a finite number", value[~np.isfinite(value)])
    _reject("mass", "zero or more", mass[mass < 0.0])
    return mass, com, nearest_physical_tensor(tensor, tolerance=tolerance)


def upper(tensor: ArrayLike) -> Array:
    """Upper triangle (..., 6) of a tensor (..., 3, 3)."""
    m = expect("tensor", tensor, 3, 3)
    return stack([m[..., i, j] for i, j in UPPER])


def symmetric(entries: ArrayLike) -> Array:
    """Symmetric tensor (..., 3, 3) with the upper triangle `entries` (..., 6)."""
    entries = expect("entries", entries, 6)
    xx, xy, xz, yy, yz, zz = (entries[..., i] for i in range(6))
    return matrix_of([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


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
    """Eigenvalues (..., 3) of an inertia tensor (..., 3, 3), ascending [kg m^2]."""
    return np.linalg.eigvalsh(expect("tensor", tensor, 3, 3), UPLO="U")


def has_physical_moments(tensor: ArrayLike, tolerance: float, rounding: ArrayLike = 0.0) -> Array:
    """Return whether the second moments have no negative eigenvalue, up to a tolerance.

    Args:
        tensor: (..., 3, 3) about the center of mass, finite [kg m^2].
        tolerance: largest magnitude of a negative eigenvalue, as a fraction of the largest
            eigenvalue.
        rounding: (...) rounding error of the tensor [kg m^2].

    Returns:
        (...) booleans.
    """
    values = np.linalg.eigvalsh(second_moments(tensor))
    slack = tolerance + rounding_of(values.dtype)
    return values[..., 0] >= -(slack * abs(values).max(axis=-1) + rounding)


def rounding_of(dtype: DTypeLike) -> float:
    """Upper bound of the relative error of the eigenvalues of a tensor of this dtype."""
    return 16.0 * float(np.finfo(dtype).eps)


def nearest_physical_tensor(tensor: ArrayLike, *, tolerance: float) -> Array:
    """Tensor with the nearest second moments that have no negative eigenvalue.

    Args:
        tensor: (..., 3, 3) about the center of mass, finite [kg m^2].
        tolerance: as in `has_physical_moments`; physical tensors are returned unchanged.

    Returns:
        (..., 3, 3) [kg m^2].
    """
    tensor = expect("tensor", tensor, 3, 3)
    values, vectors = np.linalg.eigh(second_moments(tensor))
    clipped = (vectors * np.maximum(values, 0.0)[..., None, :]) @ transpose(vectors)
    keep = has_physical_moments(tensor, tolerance)[..., None, None]
    return where(keep, tensor, from_second_moments(clipped))


def _reject(name: str, expected: str, values: Array) -> None:
    """Raise an error about the first of these values, if there are any."""
    if values.size:
        raise model_error(f"expected {expected}, got {float(values.flat[0])}", element=name)


def _parts(params: ArrayLike) -> tuple[Array, Array, Array]:
    """Split into mass (...), first moment (..., 3), upper triangle of the tensor (..., 6)."""
    params = expect("params", params, 10)
    return params[..., 0], params[..., 1:4], params[..., 4:]


def _shift(a: Array, b: Array) -> Array:
    """Upper triangle (..., 6) of a.b 1 - a b^T."""
    x, y, z = (a[..., i] * b[..., i] for i in range(3))
    xy, xz, yz = (a[..., i] * b[..., j] for i, j in ((0, 1), (0, 2), (1, 2)))
    return stack([y + z, -xy, -xz, x + z, -yz, x + y])
