"""The manifold of states: E, E_T, and the error between two states.

    q_dot = E v        E   = blkdiag(R, G / 2, 1)      position in the world, velocity in the body
    v = E_T q_dot      E_T = blkdiag(R^T, 2 G^T, 1)    a left inverse of E, not its transpose

R = 1 + 2 w [u]x + 2 [u]x^2 and G = [-u^T; w 1 + [u]x] for the quaternion (w, u). Both are used as
polynomials, without normalization, and E_T E = 1 where the quaternion has norm 1.

    error = [R0^T (p - p0); axis_angle(q0^-1 q); joints - joints0; v - v0]      2 nv elements
    state = [p + R dp; q * quaternion(dtheta); joints + ds; v + dv]

The rotation error is an axis-angle vector in the axes of the base, applied on the right. With a
fixed base, E and E_T are 1, and errors are differences.
"""

from __future__ import annotations

import numpy as np

from linkwork.engine.symbolic.arrays import Array, atan2, dot, join, matvec, sqrt, transpose, where
from linkwork.spatial.source import quat

# Squared length of the vector part relative to w^2: below NEAR, for w > 0, a series replaces the
# quotient; below NO_DIRECTION the quotient has no defined direction.
NEAR, NO_DIRECTION = 1e-6, 1e-24


def times_E(q: Array, v: Array, *, floating: bool) -> Array:
    """Return E v, (nq,)."""
    if not floating:
        return v
    wxyz = q[3:7]
    base = [quat.rotate(wxyz, v[:3]), matvec(quat.rate_matrix(wxyz), v[3:6])]
    return join([*base, v[6:]])


def times_E_T(q: Array, rates: Array, *, floating: bool) -> Array:
    """Return E_T times rates, (nv,)."""
    if not floating:
        return rates
    wxyz = q[3:7]
    R = quat.to_rotation(wxyz)
    base = [matvec(transpose(R), rates[:3]), matvec(quat.rate_inverse(wxyz), rates[3:7])]
    return join([*base, rates[7:]])


def times_E_transposed(q: Array, forces: Array, *, floating: bool) -> Array:
    """Return E^T times forces, (nv,): maps forces dual to q_dot to forces dual to v."""
    if not floating:
        return forces
    wxyz = q[3:7]
    R, E = quat.to_rotation(wxyz), quat.rate_matrix(wxyz)
    base = [matvec(transpose(R), forces[:3]), matvec(transpose(E), forces[3:7])]
    return join([*base, forces[7:]])


def matrix_E(x: Array, *, floating: bool) -> Array:
    """Return E, (nq, nv), in a state x."""
    if not floating:
        return np.eye(len(x) // 2)
    wxyz, joints = x[3:7], np.eye(len(x) // 2 - 6)
    return block_diagonal(quat.to_rotation(wxyz), quat.rate_matrix(wxyz), joints)


def matrix_E_T(x: Array, *, floating: bool) -> Array:
    """Return E_T, (nv, nq), in a state x."""
    if not floating:
        return np.eye(len(x) // 2)
    wxyz, joints = x[3:7], np.eye(len(x) // 2 - 6)
    return block_diagonal(transpose(quat.to_rotation(wxyz)), quat.rate_inverse(wxyz), joints)


def block_diagonal(*blocks: Array) -> Array:
    """Return the block-diagonal matrix of some blocks."""
    rows, columns = (sum(block.shape[axis] for block in blocks) for axis in (0, 1))
    matrix = np.zeros((rows, columns), dtype=object)
    row = column = 0
    for block in blocks:
        height, width = block.shape
        matrix[row : row + height, column : column + width] = np.asarray(block, dtype=object)
        row, column = row + height, column + width
    return matrix


def base_gravity_jacobian(wxyz: Array, gravity: Array) -> Array:
    """Differentiate R^T g, gravity in the base, with respect to the quaternion: (3, 4).

    R^T g = g - 2 w (u x g) + 2 u x (u x g), so that
    d/dw = -2 u x g,  d/du = 2 w [g]x + 2 (u g^T + (u.g) 1 - 2 g u^T)
    """
    w, u = wxyz[0], wxyz[1:]
    dw = -2.0 * np.cross(u, gravity)
    columns = []
    for k in range(3):
        e = np.eye(3)[k]
        # d(u x (u x g))/du_k = e x (u x g) + u x (e x g) = u (e.g) + e (u.g) - 2 g u_k
        du = u * gravity[k] + e * (u @ gravity) - 2.0 * gravity * u[k]
        columns.append(2.0 * du - 2.0 * w * np.cross(e, gravity))
    return np.stack([dw, *columns], axis=-1)


def axis_angle(wxyz: Array) -> Array:
    """Return axis times angle, (..., 3), the angle in [0, 2 pi): q and -q have different vectors.

    angle / |u| = 2 atan2(|u|, w) / |u|, near no rotation 2 / w (1 - r / 3 + r^2 / 5 - ...) with
    r = |u|^2 / w^2. At w = -1, where a full rotation has no axis, the result is zero.
    """
    w, u = wxyz[..., :1], wxyz[..., 1:]
    squares, w2 = dot(u, u)[..., None], w * w
    near = ((squares < NEAR * w2) & (w > 0.0)) | (squares <= NO_DIRECTION * w2)
    r = where(near, squares, 0.0) / where(near, w2, 1.0)
    series = 2.0 * (1.0 - r * (1.0 / 3.0 - r * (0.2 - r / 7.0))) / where(near, w, 1.0)
    length = sqrt(where(near, 1.0, squares))
    return where(near, series, 2.0 * atan2(length, w) / length) * u


def state_error(x: Array, x0: Array, *, floating: bool) -> Array:
    """Return the error that `apply_delta_x` adds to x0 to get x, (2 nv,)."""
    if not floating:
        return x - x0
    R0 = quat.to_rotation(x0[3:7])
    linear = matvec(transpose(R0), x[:3] - x0[:3])
    angular = axis_angle(quat.multiply(quat.conjugate(x0[3:7]), x[3:7]))
    return join([linear, angular, x[7:] - x0[7:]])


def apply_delta_x(x: Array, delta_x: Array, *, floating: bool) -> Array:
    """Return the state with the error `delta_x` from x, (nx,)."""
    if not floating:
        return x + delta_x
    position = x[:3] + quat.rotate(x[3:7], delta_x[:3])
    wxyz = quat.multiply(x[3:7], quat.exp(delta_x[3:6]))
    return join([position, wxyz, x[7:] + delta_x[6:]])
