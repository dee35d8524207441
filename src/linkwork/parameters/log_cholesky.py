"""Log-Cholesky parametrization: every vector theta describes a physically possible inertia.

The second moments of mass of a body in homogeneous coordinates are positive definite, so they have
a Cholesky factor with positive diagonal. Ten unbounded parameters describe every such factor:

    theta = (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3)

    J = [[Sigma, m c], [m c^T, m]] = U U^T,   U = exp(alpha) [[exp(d1), s12,     s13,     t1]
                                                             [0,       exp(d2), s23,     t2]
                                                             [0,       0,       exp(d3), t3]
                                                             [0,       0,       0,       1 ]]

alpha is half the logarithm of the mass, and t is the center of mass [m]. (Rucker, Wensing 2022,
"Smooth parameterization of rigid-body inertia".)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array, stack
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ValueRangeError


def log_cholesky(theta: ArrayLike) -> Array:
    """Convert log-Cholesky parameters of a body to inertial ones, which are always physical.

    Args:
        theta: (..., 10) alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3. May be traced inside
            `linkwork.compile`.

    Returns:
        (..., 10) m, m c, and the tensor's xx, xy, xz, yy, yz, zz about the origin, as
        `parameters.LinkInertia` and `parameters.Payload` take them.
    """
    alpha, d1, d2, d3, s12, s23, s13, x, y, z = _ten_columns(theta, "theta")
    mass = np.exp(2.0 * alpha)
    u1, u2, u3 = np.exp(d1), np.exp(d2), np.exp(d3)
    # second moments per mass: L L^T + t t^T
    xx = u1 * u1 + s12 * s12 + s13 * s13 + x * x
    yy = u2 * u2 + s23 * s23 + y * y
    zz = u3 * u3 + z * z
    xy = s12 * u2 + s13 * s23 + x * y
    xz = s13 * u3 + x * z
    yz = s23 * u3 + y * z
    moments = [yy + zz, -xy, -xz, xx + zz, -yz, xx + yy]
    return as_array(stack([mass, *(mass * k for k in (x, y, z, *moments))]))


def log_cholesky_inverse(parameters: ArrayLike) -> Array:
    """Convert inertial parameters of a body with volume; the inverse of `log_cholesky`.

    Args:
        parameters: (..., 10) m, m c, and the tensor's xx, xy, xz, yy, yz, zz about the origin.

    Returns:
        (..., 10) theta.

    Raises:
        ValueRangeError: a body has no mass or no volume, or is not physical.
    """
    mass, hx, hy, hz, ixx, ixy, ixz, iyy, iyz, izz = _ten_columns(parameters, "parameters")
    traced = is_traced(parameters)
    if not traced:
        _check("has no mass", mass > 0.0)
    x, y, z = hx / mass, hy / mass, hz / mass
    half = 0.5 * (ixx + iyy + izz)
    # second moments per mass about the center of mass: L L^T
    xx, yy, zz = ((half - k) / mass - c * c for k, c in ((ixx, x), (iyy, y), (izz, z)))
    xy, xz, yz = -ixy / mass - x * y, -ixz / mass - x * z, -iyz / mass - y * z
    with np.errstate(all="ignore"):
        u3 = np.sqrt(zz)
        s13, s23 = xz / u3, yz / u3
        u2 = np.sqrt(yy - s23 * s23)
        s12 = (xy - s13 * s23) / u2
        u1 = np.sqrt(xx - s12 * s12 - s13 * s13)
    if not traced:
        _check("has no volume or is not physical", (u1 > 0.0) & (u2 > 0.0) & (u3 > 0.0))
    theta = [0.5 * np.log(mass), np.log(u1), np.log(u2), np.log(u3), s12, s23, s13, x, y, z]
    return as_array(stack(theta))


def _ten_columns(value: ArrayLike, name: str) -> list[Array]:
    array = as_array(value, name, (10,))
    return [array[..., k] for k in range(10)]


def _check(reason: str, valid: Array) -> None:
    if not np.all(valid):
        row = int(np.argmin(np.ravel(valid)))
        where = f" (row {row})" if np.size(valid) > 1 else ""
        raise ValueRangeError(f"parameters: the body {reason}{where}")
