"""Steps on the manifold of configurations.

A step is six numbers of the base and the coordinates of the joints, as nu: the motion at constant
nu during one second.

    base        mixed      o + v,                 exp(w) R
                body       (R, o) exp(v, w)
                inertial   exp(v, w) (R, o)
    joints      spherical  R exp(w)
                floating, planar   as a body base, in space and in the plane
                others     their coordinates grow; (cos, sin) rotates

`difference` undoes `integrate`, by the shortest rotation. Quaternions and (cos, sin) come out with
norm 1. Each kind of joint knows its own steps; here stand those of the base.
"""

from __future__ import annotations

from linkwork.algorithms.kinematics.frames import Numbers
from linkwork.engine.symbolic.arrays import join, matvec
from linkwork.mechanics.base import Representation
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.joints import KINDS
from linkwork.model.layout import BASE_NQ, BASE_NV
from linkwork.spatial.blocks import Scalar, as_vector, scalars
from linkwork.spatial.source import quat, so3

FREE = KINDS["floating"]  # a base in the body representation moves as a floating joint does


def integrate(
    skeleton: Skeleton, q: Numbers, nu: Numbers, dt: Numbers, *, velocity: Representation
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
    skeleton: Skeleton, start: Numbers, end: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(nv,) the step that leads from one configuration (nq,) to another."""
    layout = skeleton.layout
    numbers: list[Scalar] = []
    if layout.floating:
        numbers += base_between(start[:BASE_NQ], end[:BASE_NQ], velocity)
    for name in layout.joint_names:
        span = layout.q[name]
        numbers += layout.model.joint(name).motion_kind.between(start[span], end[span])
    return numbers


def normalize(skeleton: Skeleton, q: Numbers) -> list[Scalar]:
    """(nq,) configuration with quaternions and (cos, sin) scaled to norm 1."""
    layout = skeleton.layout
    scaled = FREE.normalized(q[:BASE_NQ]) if layout.floating else []
    for name in layout.joint_names:
        scaled += layout.model.joint(name).motion_kind.normalized(q[layout.q[name]])
    return scaled


def _base_moved(pose: Numbers, step: Numbers, velocity: Representation) -> list[Scalar]:
    if velocity == "body":
        return FREE.moved(pose, step)
    o, wxyz = as_vector(pose[:3]), as_vector(pose[3:])
    v, w = as_vector(step[:3]), as_vector(step[3:])
    rotation = quat.exp(w)
    if velocity == "inertial":
        o, v = quat.rotate(rotation, o), matvec(so3.left_jacobian(w), v)
    return scalars(join([o + v, quat.multiply(rotation, wxyz)]))


def base_between(start: Numbers, end: Numbers, velocity: Representation) -> list[Scalar]:
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
