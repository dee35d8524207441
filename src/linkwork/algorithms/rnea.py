"""Inverse dynamics: the forces behind a motion, by the recursive Newton-Euler algorithm.

Outward, each body gets its angular velocity w, its angular acceleration u and the acceleration a of
its origin, all in its own axes. With the matrix  W = [u] + [w]^2,  a point at r moves with a + W r,
so

    F = m a + W h                     force on the body, with h = m c
    N = h x a + I u + w x I w         moment about its origin, written with the entries of W

Inward, wrenches are added up, and each joint takes its share. Accelerations are those of free fall
plus what is felt: gravity enters as an acceleration of the base upward. No linear velocity is
needed.

Luh, Walker, Paul (1980), in the form of W due to Balafoutis and Patel (1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.mechanics.blocks import (
    Mat,
    Scalar,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    minus,
    plus,
    scale,
    times,
)
from linkwork.mechanics.joints import JointPose, joint_force, joint_pose, joint_velocity
from linkwork.mechanics.skeleton import Body, Skeleton


@dataclass(frozen=True, slots=True)
class BodyMotion:
    """How a body turns and accelerates, in its own axes."""

    w: Vec
    u: Vec
    a: Vec
    W: Mat


@dataclass(frozen=True, slots=True)
class Forces:
    """What inverse dynamics gives: the wrench on the base, and what each joint takes."""

    base_force: Vec  # in the base's axes
    base_moment: Vec  # about the base's origin
    joint: dict[int, Scalar]  # by place in nu


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
    found = {0: body_motion(*base)}
    for number, pose in joints.items():
        body = skeleton.bodies[number]
        parent = found[body.parent]
        v_J, w_J = joint_velocity(pose, body.nu, nu)
        v_Jdot, w_Jdot = joint_velocity(pose, body.nu, nu_dot)
        w_parent = apply_t(pose.E, parent.w)
        # w = E^T w_parent + w_J
        w = add(w_parent, w_J)
        # u = E^T u_parent + w_parent x w_J + S_w nu_dot
        u = add(add(apply_t(pose.E, parent.u), cross(w_parent, w_J)), w_Jdot)
        # a = E^T (a_parent + W_parent p) + (w_J + 2 w_parent) x v_J + S_v nu_dot
        carried = apply_t(pose.E, add(parent.a, apply(parent.W, pose.p)))
        coriolis = cross(add(w_J, add(w_parent, w_parent)), v_J)
        a = add(add(carried, coriolis), v_Jdot)
        found[number] = body_motion(w, u, a)
    return found


def body_wrench(body: Body, motion: BodyMotion) -> tuple[Vec, Vec]:
    """Force on a body, and moment about its origin, that give it its motion."""
    xx, xy, xz, yy, yz, zz = body.tensor
    W, u, w = motion.W, motion.u, motion.w
    # F = m a + W h
    F = add(scale(body.mass, motion.a), apply(W, body.first_moment))
    wxx, wyy, wzz = times(w[0], w[0]), times(w[1], w[1]), times(w[2], w[2])
    wxy, wxz, wyz = times(w[0], w[1]), times(w[0], w[2]), times(w[1], w[2])
    # N = h x a + I u + w x I w, the last two entry by entry
    N = (
        _sum(
            times(xx, u[0]),
            times(zz - yy, wyz),
            minus(0.0, times(xy, W[2][0])),
            times(xz, W[1][0]),
            times(yz, minus(wyy, wzz)) if yz else 0.0,
        ),
        _sum(
            times(yy, u[1]),
            times(xx - zz, wxz),
            minus(0.0, times(yz, W[0][1])),
            times(xy, W[2][1]),
            times(xz, minus(wzz, wxx)) if xz else 0.0,
        ),
        _sum(
            times(zz, u[2]),
            times(yy - xx, wxy),
            minus(0.0, times(xz, W[1][2])),
            times(yz, W[0][2]),
            times(xy, minus(wxx, wyy)) if xy else 0.0,
        ),
    )
    return F, add(N, cross(body.first_moment, motion.a))


def gather(
    skeleton: Skeleton, joints: dict[int, JointPose], wrenches: dict[int, tuple[Vec, Vec]]
) -> Forces:
    """Add wrenches up toward the base; each joint takes what acts along its coordinates."""
    wrenches = dict(wrenches)
    joint: dict[int, Scalar] = {}
    for number in reversed(joints):
        body, pose = skeleton.bodies[number], joints[number]
        F, N = wrenches[number]
        for place, value in zip(body.nu, joint_force(pose, F, N), strict=True):
            joint[place] = plus(joint.get(place, 0.0), value)
        F_parent, N_parent = wrenches[body.parent]
        force, moment = pose.inward(F, N)
        wrenches[body.parent] = add(F_parent, force), add(N_parent, moment)
    return Forces(*wrenches[0], joint)


def body_motion(w: Vec, u: Vec, a: Vec) -> BodyMotion:
    """W = [u] + [w]^2, beside what it is made of."""
    x, y, z = w
    xx, yy, zz = times(x, x), times(y, y), times(z, z)
    xy, xz, yz = times(x, y), times(x, z), times(y, z)
    W = (
        (minus(0.0, plus(yy, zz)), minus(xy, u[2]), plus(xz, u[1])),
        (plus(xy, u[2]), minus(0.0, plus(xx, zz)), minus(yz, u[0])),
        (minus(xz, u[1]), plus(yz, u[0]), minus(0.0, plus(xx, yy))),
    )
    return BodyMotion(w, u, a, W)


def _sum(*terms: Scalar) -> Scalar:
    total: Scalar = 0.0
    for term in terms:
        total = plus(total, term)
    return total
