"""The velocity of a configuration, and derivatives of steps between configurations.

    q_dot = E nu        E (nq, nv)
    nu = E_T q_dot      E_T (nv, nq): a left inverse of E to which the radial direction of a
                        quaternion or of (cos, sin) is zero

Derivatives of steps are taken in the tangent space: a small change of a configuration is the nu
that `integrate` follows to it in one second, in the representation of velocity in force. Each is
(nv, nv), and block diagonal with a block for the base and one for each joint.

Each kind of joint knows its own blocks; here stand those of the base.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.kinematics.frames import Matrix, Numbers
from linkwork.algorithms.kinematics.manifold import FREE, base_between
from linkwork.mechanics.base import Representation
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.joints.derivatives import (
    identity,
    negative,
    pose_log_derivatives,
    pose_step_derivatives,
    product,
    rotation_log_derivatives,
    rotation_step_derivatives,
)
from linkwork.model.layout import BASE_NQ, BASE_NV
from linkwork.spatial.blocks import minus, times, wedge


def velocity_kinematics(skeleton: Skeleton, q: Numbers, *, velocity: Representation) -> Matrix:
    """(nq, nv) E with q_dot = E nu."""
    layout = skeleton.layout
    blocks = [_base_rates(q[:BASE_NQ], velocity)] if layout.floating else []
    for name in layout.joint_names:
        kind = layout.model.joint(name).motion_kind
        blocks.append(kind.position_jacobian(q[layout.q[name]]))
    return _block_diagonal(blocks, layout.nv)


def velocity_kinematics_inverse(
    skeleton: Skeleton, q: Numbers, *, velocity: Representation
) -> Matrix:
    """(nv, nq) E_T with nu = E_T q_dot."""
    layout = skeleton.layout
    blocks = [_base_rates_inverse(q[:BASE_NQ], velocity)] if layout.floating else []
    for name in layout.joint_names:
        kind = layout.model.joint(name).motion_kind
        blocks.append(kind.position_jacobian_inverse(q[layout.q[name]]))
    return _block_diagonal(blocks, layout.nq)


def integrate_derivatives(
    skeleton: Skeleton, q: Numbers, nu: Numbers, dt: Numbers, *, velocity: Representation
) -> tuple[Matrix, Matrix]:
    """(nv, nv) derivatives of `integrate` with respect to q, and nu.

    A change of the configuration that is reached is measured by the tangent there.
    """
    layout = skeleton.layout
    step = [times(rate, dt[0]) for rate in nu]
    blocks = [_base_moved(step[:BASE_NV], velocity)] if layout.floating else []
    for name in layout.joint_names:
        kind = layout.model.joint(name).motion_kind
        blocks.append(kind.moved_derivatives(q[layout.q[name]], step[layout.nu[name]]))
    by_q = _block_diagonal([own for own, _ in blocks], layout.nv)
    by_step = _block_diagonal([own for _, own in blocks], layout.nv)
    return by_q, [[times(x, dt[0]) for x in row] for row in by_step]


def difference_derivatives(
    skeleton: Skeleton, start: Numbers, end: Numbers, *, velocity: Representation
) -> tuple[Matrix, Matrix]:
    """(nv, nv) derivatives of `difference` with respect to the start, and the end."""
    layout = skeleton.layout
    blocks = []
    if layout.floating:
        step = base_between(start[:BASE_NQ], end[:BASE_NQ], velocity)
        blocks.append(_base_log(step, velocity))
    for name in layout.joint_names:
        kind, span = layout.model.joint(name).motion_kind, layout.q[name]
        blocks.append(kind.between_derivatives(start[span], end[span]))
    by_start = _block_diagonal([own for own, _ in blocks], layout.nv)
    return by_start, _block_diagonal([own for _, own in blocks], layout.nv)


def _base_rates(pose: Numbers, velocity: Representation) -> Matrix:
    """(7, 6) rows that take the base's six numbers of nu to the rate of its pose."""
    if velocity == "body":
        return FREE.position_jacobian(pose)
    w, x, y, z = (times(0.5, number) for number in pose[3:])
    # wxyz_dot = 1/2 [0; w] wxyz, with w in the axes of the world
    rates = [[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]]
    # o_dot = v + w x o
    arm = negative(wedge((pose[0], pose[1], pose[2])))
    return _with_linear(arm if velocity == "inertial" else _zeros(3, 3), rates)


def _base_rates_inverse(pose: Numbers, velocity: Representation) -> Matrix:
    """(6, 7) rows that take the rate of the base's pose to its six numbers of nu."""
    if velocity == "body":
        return FREE.position_jacobian_inverse(pose)
    w, x, y, z = (times(2.0, number) for number in pose[3:])
    rates = [[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]]
    # v = o_dot + o x w
    arm = product(wedge((pose[0], pose[1], pose[2])), rates)
    return _with_linear(arm if velocity == "inertial" else _zeros(3, 4), rates)


def _base_moved(step: Numbers, velocity: Representation) -> tuple[Matrix, Matrix]:
    """(6, 6) derivatives of the base's step with respect to its pose, and the step."""
    if velocity == "body":
        return pose_step_derivatives(step)
    back = [minus(0.0, x) for x in step]
    if velocity == "inertial":
        return pose_step_derivatives(back)
    by_rotation, by_step = rotation_step_derivatives(back[3:])
    both = (identity(3), by_rotation), (identity(3), by_step)
    return _block_diagonal(both[0], BASE_NV), _block_diagonal(both[1], BASE_NV)


def _base_log(step: Numbers, velocity: Representation) -> tuple[Matrix, Matrix]:
    """(6, 6) derivatives of the step between two poses of the base, w.r.t. each of them."""
    if velocity == "body":
        left, right = pose_log_derivatives(step)
        return negative(left), right
    if velocity == "inertial":
        left, right = pose_log_derivatives(step)
        return negative(right), left
    left, right = rotation_log_derivatives(step[3:])
    by_start = _block_diagonal([identity(3, -1.0), negative(right)], BASE_NV)
    return by_start, _block_diagonal([identity(3), left], BASE_NV)


def _with_linear(arm: Matrix, rates: Matrix) -> Matrix:
    """Rows [[1, arm], [0, rates]]."""
    linear = [[*row, *more] for row, more in zip(identity(3), arm, strict=True)]
    return linear + [[0.0, 0.0, 0.0, *row] for row in rates]


def _block_diagonal(blocks: Sequence[Matrix], width: int) -> Matrix:
    """Rows of a matrix with these blocks, one beside and below the other."""
    rows: Matrix = []
    start = 0
    for block in blocks:
        stop = start + (len(block[0]) if block else 0)
        rows += [[*[0.0] * start, *row, *[0.0] * (width - stop)] for row in block]
        start = stop
    return rows


def _zeros(m: int, n: int) -> Matrix:
    return [[0.0] * n for _ in range(m)]
