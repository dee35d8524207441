"""Inverse dynamics: the forces behind a motion, by the recursive Newton-Euler algorithm.

Outward, each body gets its angular velocity w, its angular acceleration u and the acceleration a of
its origin, all in its own axes. With the matrix  W = [u] + [w]^2,  a point at r moves with a + W r,
so

    F = m a + W h                     force on the body, with h = m c
    N = h x a + I u + w x I w         moment about its origin, written with the entries of W

Inward, wrenches are added up, and each joint takes its share. Accelerations are less gravity, as an
accelerometer measures them: gravity enters as an acceleration of the base upward. No linear
velocity is needed.

Luh, Walker, Paul (1980), in the form of W due to Balafoutis and Patel (1991).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joints import JointPose, joint_pose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Scalar,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    is_permutation,
    is_zero,
    is_zero_vector,
    minus,
    plus,
    scale,
    times,
    total,
    twist_add,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BodyMotion:
    """How a body rotates and accelerates, in its own axes."""

    w: Vec  # angular velocity
    u: Vec  # angular acceleration
    a: Vec  # acceleration of the origin, less gravity
    W: Mat  # [u] + [w]^2


@dataclass(frozen=True, slots=True)
class Forces:
    """Results of inverse dynamics: the wrench on the base, and the force of each joint."""

    base_force: Vec  # in the base's axes
    base_moment: Vec  # about the base's origin
    joint: dict[int, Scalar]  # by index in nu


def body_wrenches(skeleton: Skeleton, moving: dict[int, BodyMotion]) -> dict[int, Twist]:
    """Force on each body, and moment about its origin, that give it its motion."""
    return {k: body_wrench(body.inertia, moving[k]) for k, body in enumerate(skeleton.bodies)}


def poses(skeleton: Skeleton, q: Sequence[Scalar]) -> dict[int, JointPose]:
    """Pose of every body but the base's in its parent."""
    return {
        number: joint_pose(body.mount, q)
        for number, body in enumerate(skeleton.bodies)
        if body.mount
    }


def motions(
    skeleton: Skeleton,
    joints: dict[int, JointPose],
    nu: Sequence[Scalar] | None,
    nu_dot: Sequence[Scalar] | None,
    base: tuple[Vec, Vec, Vec],
) -> dict[int, BodyMotion]:
    """Motion of every body, from the base's (w, u, a), outward."""
    moving = {0: body_motion(*base)}
    for number, pose in joints.items():
        body = skeleton.bodies[number]
        parent = moving[body.parent]
        v_J, w_J = pose.velocity(nu)
        # S nu_dot + S_dot nu
        v_Jdot, w_Jdot = twist_add(pose.velocity(nu_dot), pose.bias(nu))
        w_parent = apply_t(pose.R, parent.w)
        # w = R^T w_parent + w_J
        w = add(w_parent, w_J)
        # u = R^T u_parent + w_parent x w_J + w_Jdot
        u = add(add(apply_t(pose.R, parent.u), cross(w_parent, w_J)), w_Jdot)
        # a = R^T (a_parent + W_parent p) + (w_J + 2 w_parent) x v_J + v_Jdot
        carried = apply_t(pose.R, add(parent.a, apply(parent.W, pose.p)))
        coriolis = cross(add(w_J, add(w_parent, w_parent)), v_J)
        a = add(add(carried, coriolis), v_Jdot)
        moving[number] = body_motion(w, u, a)
    return moving


def body_wrench(inertia: RigidInertia, motion: BodyMotion) -> Twist:
    """Force on a body, and moment about its origin, that give it its motion."""
    xx, xy, xz, yy, yz, zz = inertia.tensor
    W, u, w = motion.W, motion.u, motion.w
    # F = m a + W h
    F = add(scale(inertia.mass, motion.a), apply(W, inertia.first_moment))
    wxx, wyy, wzz = times(w[0], w[0]), times(w[1], w[1]), times(w[2], w[2])
    wxy, wxz, wyz = times(w[0], w[1]), times(w[0], w[2]), times(w[1], w[2])
    # N = h x a + I u + w x I w, the last two entry by entry
    N = (
        total(
            times(xx, u[0]),
            times(zz - yy, wyz),
            minus(0.0, times(xy, W[2][0])),
            times(xz, W[1][0]),
            _times_difference(yz, wyy, wzz),
        ),
        total(
            times(yy, u[1]),
            times(xx - zz, wxz),
            minus(0.0, times(yz, W[0][1])),
            times(xy, W[2][1]),
            _times_difference(xz, wzz, wxx),
        ),
        total(
            times(zz, u[2]),
            times(yy - xx, wxy),
            minus(0.0, times(xz, W[1][2])),
            times(yz, W[0][2]),
            _times_difference(xy, wxx, wyy),
        ),
    )
    return F, add(N, cross(inertia.first_moment, motion.a))


def _times_difference(k: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """k (a - b); nothing is computed for a constant k of 0."""
    return 0.0 if is_zero(k) else times(k, minus(a, b))


def summed_inward(
    skeleton: Skeleton,
    joints: dict[int, JointPose],
    values: Mapping[int, T],
    plus: Callable[[T, T], T],
    inward: Callable[[JointPose, T], T],
) -> Iterator[tuple[int, T]]:
    """Sums over subtrees: each body with the value of it and all it carries, the base last.

    Args:
        skeleton: the robot.
        joints: pose of each body but the base's in its parent.
        values: of each body by itself.
        plus: adds two values of one body.
        inward: expresses a value of a body in its parent.
    """
    sums = dict(values)
    for number in reversed(joints):
        yield number, sums[number]
        parent = skeleton.bodies[number].parent
        sums[parent] = plus(sums[parent], inward(joints[number], sums[number]))
    yield 0, sums[0]


def subtree_wrenches(
    skeleton: Skeleton, joints: dict[int, JointPose], wrenches: Mapping[int, Twist]
) -> Iterator[tuple[int, Twist]]:
    """Wrench on each body and all it carries, in its axes about its origin, the base last."""
    return summed_inward(skeleton, joints, wrenches, twist_add, lambda pose, f: pose.inward(*f))


def gather(skeleton: Skeleton, joints: dict[int, JointPose], wrenches: dict[int, Twist]) -> Forces:
    """Sum wrenches toward the base, and project them on the coordinates of the joints."""
    joint: dict[int, Scalar] = {}
    F, N = ZERO, ZERO
    for number, (F, N) in subtree_wrenches(skeleton, joints, wrenches):
        along = joints[number].force(F, N) if number else ()
        for k, value in zip(skeleton.bodies[number].nu_indices, along, strict=True):
            joint[k] = plus(joint.get(k, 0.0), value)
    return Forces(F, N, joint)


def body_motion(w: Vec, u: Vec, a: Vec) -> BodyMotion:
    """The motion of a body from its w, u and a."""
    x, y, z = w
    xx, yy, zz = times(x, x), times(y, y), times(z, z)
    xy, xz, yz = times(x, y), times(x, z), times(y, z)
    W = (
        (minus(0.0, plus(yy, zz)), minus(xy, u[2]), plus(xz, u[1])),
        (plus(xy, u[2]), minus(0.0, plus(xx, zz)), minus(yz, u[0])),
        (minus(xz, u[1]), plus(yz, u[0]), minus(0.0, plus(xx, yy))),
    )
    return BodyMotion(w, u, a, W)


def at_frame(motion: BodyMotion, R: Mat, p: Vec) -> BodyMotion:
    """Motion of a frame at (R, p) of a body, in the frame's axes."""
    if is_permutation(R) and R == IDENTITY and is_zero_vector(p):
        return motion
    a = add(motion.a, apply(motion.W, p))
    return body_motion(apply_t(R, motion.w), apply_t(R, motion.u), apply_t(R, a))
