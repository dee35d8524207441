"""Steps on the manifold of configurations, their derivatives, and the velocity of a configuration.

A step is six entries for the base and the coordinates of the joints, as nu: the motion at constant
nu during one second.

    base        mixed      o + v,                 exp(w) R
                body       (R, o) exp(v, w)
                inertial   exp(v, w) (R, o)
    joints      spherical  R exp(w)
                floating, planar   as a body base, in space and in the plane
                others     their coordinates grow; (cos, sin) rotates

`difference` undoes `integrate`, by the shortest rotation. Quaternions and (cos, sin) come out with
norm 1. Derivatives of steps are taken in the tangent space: a small change of a configuration is
the nu that `integrate` follows to it in one second, in the representation of velocity. Each is
(nv, nv), and block diagonal with a block for the base and one for each joint.

    q_dot = E nu        E (nq, nv)
    nu = E_T q_dot      E_T (nv, nq): a left inverse of E to which the radial direction of a
                        quaternion or of (cos, sin) is zero

Each kind of joint has its own steps and blocks; those of the base are here.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.kinematics.frames import Matrix, Scalars
from linkwork.engine.symbolic.arrays import join, matvec
from linkwork.mechanics.base import Representation
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.joints import KINDS
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
from linkwork.spatial.blocks import Scalar, Vec, as_vector, scalars
from linkwork.spatial.source import quat, so3

FREE = KINDS["floating"]  # a base in the body representation moves as a floating joint does


def integrate(
    skeleton: Skeleton, q: Scalars, nu: Scalars, dt: Scalars, *, velocity: Representation
) -> list[Scalar]:
    """(nq,) configuration after moving from q (nq,) at constant nu (nv,) for a time dt (1,)."""
    layout = skeleton.layout
    step = [rate * dt[0] for rate in nu]
    end: list[Scalar] = []
    if layout.floating:
        end += FREE.normalized(_base_moved(q[:BASE_NQ], step[:BASE_NV], velocity))
    for name in layout.joint_names:
        kind = layout.model.joint(name).motion_kind
        end += kind.normalized(kind.moved(q[layout.q[name]], step[layout.nu[name]]))
    return end


def difference(
    skeleton: Skeleton, start: Scalars, end: Scalars, *, velocity: Representation
) -> list[Scalar]:
    """(nv,) the step that leads from one configuration (nq,) to another."""
    layout = skeleton.layout
    step: list[Scalar] = []
    if layout.floating:
        step += _base_difference(start[:BASE_NQ], end[:BASE_NQ], velocity)
    for name in layout.joint_names:
        span = layout.q[name]
        step += layout.model.joint(name).motion_kind.between(start[span], end[span])
    return step


def normalize(skeleton: Skeleton, q: Scalars) -> list[Scalar]:
    """(nq,) configuration with quaternions and (cos, sin) scaled to norm 1."""
    layout = skeleton.layout
    scaled = FREE.normalized(q[:BASE_NQ]) if layout.floating else []
    for name in layout.joint_names:
        scaled += layout.model.joint(name).motion_kind.normalized(q[layout.q[name]])
    return scaled


def velocity_kinematics(skeleton: Skeleton, q: Scalars, *, velocity: Representation) -> Matrix:
    """(nq, nv) E with q_dot = E nu."""
    layout = skeleton.layout
    blocks = [_base_rates(q[:BASE_NQ], velocity)] if layout.floating else []
    for name in layout.joint_names:
        kind = layout.model.joint(name).motion_kind
        blocks.append(kind.position_jacobian(q[layout.q[name]]))
    return _block_diagonal(blocks, layout.nv)


def velocity_kinematics_inverse(
    skeleton: Skeleton, q: Scalars, *, velocity: Representation
) -> Matrix:
    """(nv, nq) E_T with nu = E_T q_dot."""
    layout = skeleton.layout
    blocks = [_base_rates_inverse(q[:BASE_NQ], velocity)] if layout.floating else []
    for name in layout.joint_names:
        kind = layout.model.joint(name).motion_kind
        blocks.append(kind.position_jacobian_inverse(q[layout.q[name]]))
    return _block_diagonal(blocks, layout.nq)


def integrate_derivatives(
    skeleton: Skeleton, q: Scalars, nu: Scalars, dt: Scalars, *, velocity: Representation
) -> tuple[Matrix, Matrix]:
    """(nv, nv) derivatives of `integrate` with respect to q, and nu.

    A change of the configuration that is reached is measured by the tangent there.
    """
    layout = skeleton.layout
    step = [rate * dt[0] for rate in nu]
    blocks = [_base_step_derivatives(step[:BASE_NV], velocity)] if layout.floating else []
    for name in layout.joint_names:
        kind = layout.model.joint(name).motion_kind
        blocks.append(kind.moved_derivatives(q[layout.q[name]], step[layout.nu[name]]))
    by_q = _block_diagonal([block for block, _ in blocks], layout.nv)
    by_step = _block_diagonal([block for _, block in blocks], layout.nv)
    return by_q, [[x * dt[0] for x in row] for row in by_step]


def difference_derivatives(
    skeleton: Skeleton, start: Scalars, end: Scalars, *, velocity: Representation
) -> tuple[Matrix, Matrix]:
    """(nv, nv) derivatives of `difference` with respect to the start, and the end."""
    layout = skeleton.layout
    blocks = []
    if layout.floating:
        step = _base_difference(start[:BASE_NQ], end[:BASE_NQ], velocity)
        blocks.append(_base_difference_derivatives(step, velocity))
    for name in layout.joint_names:
        kind, span = layout.model.joint(name).motion_kind, layout.q[name]
        blocks.append(kind.between_derivatives(start[span], end[span]))
    by_start = _block_diagonal([block for block, _ in blocks], layout.nv)
    return by_start, _block_diagonal([block for _, block in blocks], layout.nv)


def _base_moved(pose: Scalars, step: Scalars, velocity: Representation) -> list[Scalar]:
    if velocity == "body":
        return FREE.moved(pose, step)
    o, wxyz = as_vector(pose[:3]), as_vector(pose[3:])
    v, w = as_vector(step[:3]), as_vector(step[3:])
    rotation = quat.exp(w)
    if velocity == "inertial":
        o, v = quat.rotate(rotation, o), matvec(so3.left_jacobian(w), v)
    return scalars(join([o + v, quat.multiply(rotation, wxyz)]))


def _base_difference(start: Scalars, end: Scalars, velocity: Representation) -> list[Scalar]:
    """The step (6,) that leads from one pose of the base (7,) to another."""
    if velocity == "body":
        return FREE.between(start, end)
    (o, wxyz), (o_end, wxyz_end) = ((as_vector(q[:3]), as_vector(q[3:])) for q in (start, end))
    rotation = quat.multiply(wxyz_end, quat.conjugate(wxyz))
    w = quat.log(rotation)
    if velocity == "mixed":
        return scalars(join([o_end - o, w]))
    moved = o_end - quat.rotate(rotation, o)
    return scalars(join([matvec(so3.left_jacobian_inverse(w), moved), w]))


def _base_rates(pose: Scalars, velocity: Representation) -> Matrix:
    """(7, 6) rows that take the base's six entries of nu to the rate of its pose."""
    if velocity == "body":
        return FREE.position_jacobian(pose)
    w, x, y, z = (0.5 * entry for entry in pose[3:])
    # wxyz_dot = 1/2 [0; w] wxyz, with w in the axes of the world
    rates = [[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]]
    # o_dot = v + w x o
    arm = negative(Vec(*pose[:3]).wedge)
    return _with_linear(arm if velocity == "inertial" else _zeros(3, 3), rates)


def _base_rates_inverse(pose: Scalars, velocity: Representation) -> Matrix:
    """(6, 7) rows that take the rate of the base's pose to its six entries of nu."""
    if velocity == "body":
        return FREE.position_jacobian_inverse(pose)
    w, x, y, z = (2.0 * entry for entry in pose[3:])
    rates = [[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]]
    # v = o_dot + o x w
    arm = product(Vec(*pose[:3]).wedge, rates)
    return _with_linear(arm if velocity == "inertial" else _zeros(3, 4), rates)


def _base_step_derivatives(step: Scalars, velocity: Representation) -> tuple[Matrix, Matrix]:
    """(6, 6) derivatives of the base's step with respect to its pose, and the step."""
    if velocity == "body":
        return pose_step_derivatives(step)
    back = [-x for x in step]
    if velocity == "inertial":
        return pose_step_derivatives(back)
    by_rotation, by_step = rotation_step_derivatives(back[3:])
    both = (identity(3), by_rotation), (identity(3), by_step)
    return _block_diagonal(both[0], BASE_NV), _block_diagonal(both[1], BASE_NV)


def _base_difference_derivatives(step: Scalars, velocity: Representation) -> tuple[Matrix, Matrix]:
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
    """Rows of the block-diagonal matrix of these blocks."""
    rows: Matrix = []
    start = 0
    for block in blocks:
        stop = start + (len(block[0]) if block else 0)
        rows += [[*[0.0] * start, *row, *[0.0] * (width - stop)] for row in block]
        start = stop
    return rows


def _zeros(m: int, n: int) -> Matrix:
    return [[0.0] * n for _ in range(m)]
