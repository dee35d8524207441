"""Derivatives of the velocity of the centre of mass, in the axes of the world.

A joint moves the first moment h of all it carries. A unit step along its column S = (v, a)
displaces it by  j = m v + a x h,  the column of the Jacobian, and rotates its rate h_r, as seen
from some body, by a:

    dh_dot = w x j + a x h_r

with w the angular velocity of that body: the joint's parent if S is constant in the axes of the
body that the joint holds, that body itself if S is constant in those of the parent; either of them,
if S is one constant column.
"""

from __future__ import annotations

from linkwork.algorithms.com import Moments, body_rotations, com_jacobian, per_mass
from linkwork.algorithms.frames import Matrix, Numbers
from linkwork.algorithms.rnea import poses
from linkwork.algorithms.subspace_derivatives import subspace_changes
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Scalar,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    scale,
)


def com_velocity_derivatives(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> tuple[Matrix, Matrix]:
    """(3, nv) derivatives of `com_velocity` by q, and by nu: the Jacobian."""
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    moments = Moments(skeleton, joints, per_mass(skeleton))
    rates = moments.rates(joints, nu)
    by_index: dict[int, Vec] = {}
    if base.floating:
        c, c_dot = moments.first[0], rates[0]  # as seen from the base
        by_index = dict(enumerate(_columns_of_base(base, c, c_dot, nu)))
    rotations = body_rotations(skeleton, joints, base.R)
    carriers = {body.parent for body in skeleton.bodies}
    angular = {0: base.twist(nu)[1]}
    for number, pose in joints.items():
        body = skeleton.bodies[number]
        w_parent = apply_t(pose.R, angular[body.parent])
        angular[number] = add(w_parent, pose.velocity(nu)[1])
        carried = moments.mass[number], moments.first[number], rates[number]
        columns = _columns(pose, nu, (w_parent, angular[number]), carried)
        for k, column in zip(body.nu_indices, columns, strict=True):
            if number in carriers:
                turned = apply(rotations[number], column)
            else:  # its rotation in the world is not needed otherwise
                turned = apply(rotations[body.parent], apply(pose.R, column))
            by_index[k] = add(by_index.get(k, ZERO), turned)
    in_order = [by_index.get(k, ZERO) for k in range(skeleton.layout.nv)]
    by_q = [[column[row] for column in in_order] for row in range(3)]
    return by_q, com_jacobian(skeleton, q, velocity=velocity)


def _columns(
    pose: JointPose, nu: Numbers, w: tuple[Vec, Vec], carried: tuple[Scalar, Vec, Vec]
) -> list[Vec]:
    """By the coordinates of a joint, in the axes of the body that it holds.

    Args:
        pose: of that body.
        nu: velocity of the robot.
        w: angular velocity of the parent and of the body, in the body's axes.
        carried: mass, first moment and its rate of all that the joint carries, seen from the body.
    """
    mass, first, rate = carried
    changes = subspace_changes(pose, nu, None) or []
    is_own = pose.mount.backwards or (len(pose.columns) == 1 and not changes)
    pivot = w[1] if is_own else w[0]
    if not is_own:  # seen from the parent
        v_J, w_J = pose.velocity(nu)
        rate = add(rate, _displaced((v_J, w_J), mass, first))
    columns = [
        add(cross(pivot, _displaced(S, mass, first)), cross(S[1], rate)) for S in pose.columns
    ]
    for k, change in enumerate(changes):
        columns[k] = add(columns[k], _displaced(change.velocity, mass, first))
    return columns


def _displaced(twist: Twist, mass: Scalar, first: Vec) -> Vec:
    """m v + a x h."""
    return add(scale(mass, twist[0]), cross(twist[1], first))


def _columns_of_base(base: Base, c: Vec, c_dot: Vec, nu: Numbers) -> list[Vec]:
    """By the pose of the base; the CoM is at c in the base, and moves with c_dot there."""
    v, w = base.own_part(nu)
    if base.velocity == "body":
        moved = add(add(v, c_dot), cross(w, c))
        return [ZERO] * 3 + [apply(base.R, cross(axis, moved)) for axis in IDENTITY]
    arm, rate = apply(base.R, c), apply(base.R, c_dot)
    rotating = [add(cross(axis, rate), cross(w, cross(axis, arm))) for axis in IDENTITY]
    if base.velocity == "mixed":
        return [ZERO] * 3 + rotating
    # the base's origin moves, and o_dot = v + w x o with it
    sliding = [cross(w, axis) for axis in IDENTITY]
    swept = [cross(w, cross(axis, base.o)) for axis in IDENTITY]
    return sliding + [add(x, y) for x, y in zip(rotating, swept, strict=True)]
