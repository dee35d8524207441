"""The error between two states, and the state at an error from another.

    error = [R0^T (p - p0); axis_angle(q0^-1 q); joints - joints0; v - v0]      2 nv numbers
    state = [p + R dp; q * quaternion(dtheta); joints + ds; v + dv]

The error of the rotation is a whole axis-angle vector in the axes of the base, applied on the
right. Without a floating base both are a plain difference and sum.
"""

from __future__ import annotations

from linkwork.engine.symbolic.arrays import Array, atan2, dot, join, matvec, sqrt, transpose, where
from linkwork.spatial.source import quat

# Squares of the length of the vector part relative to w: where a series takes the place of the
# quotient for w > 0, and where the quotient has no direction left.
NEAR, NO_DIRECTION = 1e-6, 1e-24


def axis_angle(wxyz: Array) -> Array:
    """(..., 3) axis times angle, the angle in [0, 2 pi): q and -q give different vectors.

    angle / |u| = 2 atan2(|u|, w) / |u|, near no rotation 2 / w (1 - r / 3 + r^2 / 5 - ...) with
    r = |u|^2 / w^2. At -1, where a whole turn has no direction, it is that of no turn.
    """
    w, u = wxyz[..., :1], wxyz[..., 1:]
    squares, w2 = dot(u, u)[..., None], w * w
    near = ((squares < NEAR * w2) & (w > 0.0)) | (squares <= NO_DIRECTION * w2)
    r = where(near, squares, 0.0) / where(near, w2, 1.0)
    series = 2.0 * (1.0 - r * (1.0 / 3.0 - r * (0.2 - r / 7.0))) / where(near, w, 1.0)
    length = sqrt(where(near, 1.0, squares))
    return where(near, series, 2.0 * atan2(length, w) / length) * u


def state_error(x: Array, x0: Array, *, floating: bool) -> Array:
    """(2 nv,) what `apply_delta_x` adds to x0 to get x."""
    if not floating:
        return x - x0
    R0 = quat.to_rotation(x0[3:7])
    linear = matvec(transpose(R0), x[:3] - x0[:3])
    angular = axis_angle(quat.multiply(quat.conjugate(x0[3:7]), x[3:7]))
    return join([linear, angular, x[7:] - x0[7:]])


def apply_delta_x(x: Array, delta_x: Array, *, floating: bool) -> Array:
    """(nx,) the state at an error from x."""
    if not floating:
        return x + delta_x
    position = x[:3] + quat.rotate(x[3:7], delta_x[:3])
    wxyz = quat.multiply(x[3:7], quat.exp(delta_x[3:6]))
    return join([position, wxyz, x[7:] + delta_x[6:]])
