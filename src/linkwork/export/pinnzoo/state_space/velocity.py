"""E and E_T, which lead from velocities to the rates of a configuration and back.

    q_dot = E v        E   = blkdiag(R, G / 2, 1)      position in the world, velocity in the body
    v = E_T q_dot      E_T = blkdiag(R^T, 2 G^T, 1)    a left inverse of E, not its transpose

R = 1 + 2 w [u]x + 2 [u]x^2 and G = [-u^T; w 1 + [u]x] for the quaternion (w, u). Both are taken as
polynomials: nothing is normalised, and E_T E = 1 where the quaternion has norm 1.
"""

from __future__ import annotations

import numpy as np

from linkwork.engine.symbolic.arrays import Array, join, matvec, transpose
from linkwork.spatial.source import quat


def times_E(q: Array, v: Array, *, floating: bool) -> Array:
    """(nq,) E v."""
    if not floating:
        return v
    wxyz = q[3:7]
    base = [quat.rotate(wxyz, v[:3]), matvec(quat.rate_matrix(wxyz), v[3:6])]
    return join([*base, v[6:]])


def times_E_T(q: Array, rates: Array, *, floating: bool) -> Array:
    """(nv,) E_T times (nq,) rates."""
    if not floating:
        return rates
    wxyz = q[3:7]
    R = quat.to_rotation(wxyz)
    base = [matvec(transpose(R), rates[:3]), matvec(quat.rate_inverse(wxyz), rates[3:7])]
    return join([*base, rates[7:]])


def times_E_transposed(q: Array, forces: Array, *, floating: bool) -> Array:
    """(nv,) E^T times (nq,) forces: how forces dual to q_dot become forces dual to v."""
    if not floating:
        return forces
    wxyz = q[3:7]
    R, E = quat.to_rotation(wxyz), quat.rate_matrix(wxyz)
    base = [matvec(transpose(R), forces[:3]), matvec(transpose(E), forces[3:7])]
    return join([*base, forces[7:]])


def matrix_E(q: Array, n: int, *, floating: bool) -> Array:
    """(nq, nv) E, of n joints."""
    if not floating:
        return np.eye(n)
    wxyz = q[3:7]
    return block_diagonal(quat.to_rotation(wxyz), quat.rate_matrix(wxyz), np.eye(n))


def matrix_E_T(q: Array, n: int, *, floating: bool) -> Array:
    """(nv, nq) E_T, of n joints."""
    if not floating:
        return np.eye(n)
    wxyz = q[3:7]
    R = quat.to_rotation(wxyz)
    return block_diagonal(transpose(R), quat.rate_inverse(wxyz), np.eye(n))


def block_diagonal(*blocks: Array) -> Array:
    """A matrix with these along its diagonal, and zeros."""
    rows, columns = (sum(block.shape[axis] for block in blocks) for axis in (0, 1))
    found = np.zeros((rows, columns), dtype=object)
    row = column = 0
    for block in blocks:
        height, width = block.shape
        found[row : row + height, column : column + width] = np.asarray(block, dtype=object)
        row, column = row + height, column + width
    return found


def gravity_by_quaternion(wxyz: Array, gravity: Array) -> Array:
    """(3, 4) derivative of R^T g, gravity in the axes of the base, by the quaternion.

    R^T g = g - 2 w (u x g) + 2 u x (u x g), so that
    d/dw = -2 u x g,  d/du = 2 w [g]x + 2 (u g^T + (u.g) 1 - 2 g u^T)
    """
    w, u = wxyz[0], wxyz[1:]
    by_w = -2.0 * np.cross(u, gravity)
    columns = []
    for k in range(3):
        e = np.eye(3)[k]
        # d(u x (u x g))/du_k = e x (u x g) + u x (e x g) = u (e.g) + e (u.g) - 2 g u_k
        twice = u * gravity[k] + e * (u @ gravity) - 2.0 * gravity * u[k]
        columns.append(2.0 * twice - 2.0 * w * np.cross(e, gravity))
    return np.stack([by_w, *columns], axis=-1)
