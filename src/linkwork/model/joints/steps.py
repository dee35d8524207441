"""Derivatives of steps in the group of rotations and in that of poses.

A step x moves from g to g exp(x). Changes of g, and of what is reached, are measured in the moving
axes, d as in g exp(d):

    step    g exp(d) exp(x) = g exp(x) exp(Ad(exp(-x)) d)
            exp(x + d) = exp(x) exp(Jr(x) d)
    log     log(exp(d) exp(x)) = x + Jl(x)^-1 d
            log(exp(x) exp(d)) = x + Jr(x)^-1 d        up to terms of second order in d

with Jl, Jr the left and the right Jacobian of exp. The other way round, where a step x moves from g
to exp(x) g and changes are measured in the fixed axes, the same holds at -x.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.joints.differentiated import Rows
from linkwork.spatial.blocks import Scalar, as_vector, scalars
from linkwork.spatial.source import motion, se3, so3


def rotation_step_derivatives(x: Sequence[Scalar]) -> tuple[Rows, Rows]:
    """Rows (3, 3) of Ad(exp(-x)) and of Jr(x)."""
    phi = as_vector(x)
    return _rows(so3.exp(-phi)), _rows(so3.right_jacobian(phi))


def rotation_log_derivatives(x: Sequence[Scalar]) -> tuple[Rows, Rows]:
    """Rows (3, 3) of Jl(x)^-1 and of Jr(x)^-1."""
    left = _rows(so3.left_jacobian_inverse(as_vector(x)))
    return left, [list(column) for column in zip(*left, strict=True)]


def pose_step_derivatives(x: Sequence[Scalar]) -> tuple[Rows, Rows]:
    """Rows (6, 6) of Ad(exp(-x)) and of Jr(x)."""
    xi = as_vector(x)
    return _rows(motion.motion_transform(se3.exp(-xi))), _rows(se3.right_jacobian(xi))


def pose_log_derivatives(x: Sequence[Scalar]) -> tuple[Rows, Rows]:
    """Rows (6, 6) of Jl(x)^-1 and of Jr(x)^-1 = Jl(x)^-1 + ad(x)."""
    xi = as_vector(x)
    left = se3.left_jacobian_inverse(xi)
    return _rows(left), _rows(left + motion.motion_cross_matrix(xi))


def _rows(matrix: Array) -> Rows:
    return [scalars(matrix[..., i, :]) for i in range(matrix.shape[-2])]
