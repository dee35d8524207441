"""Inverse dynamics: the forces behind a motion, by the recursive Newton-Euler algorithm.

Outward, each body gets its angular velocity w, its angular acceleration u and the acceleration a of
its origin, all in its own axes. With the matrix  W = [u] + [w]^2,  a point at r moves with a + W r,
so

    F = m a + W h                     force on the body, with h = m c
    N = h x a + I u + w x I w         moment about its origin, written with the entries of W

Inward, wrenches are added up, and each joint takes its share. Accelerations are less gravity, as an
accelerometer measures them: gravity enters as an acceleration of the base upward. No linear
velocity is needed. A wrench on a frame is dual to the frame's velocity in the representation of the
base's velocity.

Luh, Walker, Paul (1980), in the form of W due to Balafoutis and Patel (1991).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from linkwork.algorithms.kinematics.frames import Scalars, body_pose, joint_poses
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joint_dynamics import (
    NO_JOINT_DYNAMICS,
    DynamicsByIndex,
    with_joint_dynamics,
)
from linkwork.mechanics.joints import ZERO_TWIST, JointPose
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
    halves,
    is_permutation,
    is_zero,
    is_zero_vector,
    minus,
    plus,
    scale,
    sub,
    times,
    total,
    twist_add,
    twist_rotate,
    twist_sub,
)

T = TypeVar("T")
Wrenches = Mapping[int, Sequence[Scalar]]  # by index of the frame, six entries each


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


def inverse_dynamics(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars | None = None,
    nu_dot: Scalars | None = None,
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> list[Scalar]:
    """(nv,) tau = M nu_dot + h - sum J^T f. None for nu or nu_dot stands for zero."""
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    moving = robot_motion(skeleton, base, joints, nu, nu_dot, gravity=gravity)
    forces = forces_of_motion(skeleton, base, joints, moving, wrenches or {})
    tau = _in_order(skeleton, base, forces)
    return with_joint_dynamics(tau, joint_dynamics, nu, nu_dot)


def external_force(
    skeleton: Skeleton, q: Scalars, *, velocity: Representation, wrenches: Wrenches
) -> list[Scalar]:
    """(nv,) sum of J^T f: the generalized forces of wrenches on frames."""
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    nothing = dict.fromkeys(range(len(skeleton.bodies)), ZERO_TWIST)
    external = external_wrenches(skeleton, base, joints, wrenches)
    forces = gather(skeleton, joints, _less_external(skeleton, nothing, external))
    return [minus(0.0, value) for value in _in_order(skeleton, base, forces)]


def robot_motion(
    skeleton: Skeleton,
    base: Base,
    joints: dict[int, JointPose],
    nu: Scalars | None,
    nu_dot: Scalars | None,
    *,
    gravity: Vec,
) -> dict[int, BodyMotion]:
    """Motion of every body; None for nu or nu_dot stands for zero."""
    _, w = base.twist(nu)
    a, u = base.acceleration(nu, nu_dot, gravity)
    return motions(skeleton, joints, nu, nu_dot, body_motion(w, u, a))


def motions(
    skeleton: Skeleton,
    joints: dict[int, JointPose],
    nu: Scalars | None,
    nu_dot: Scalars | None,
    base: BodyMotion,
) -> dict[int, BodyMotion]:
    """Motion of every body, from the base's outward."""
    moving = {0: base}
    for number, pose in joints.items():
        parent = moving[skeleton.bodies[number].parent]
        moving[number] = driven_motion(pose, carried_motion(pose, parent), nu, nu_dot)
    return moving


def carried_motion(pose: JointPose, parent: BodyMotion) -> tuple[Vec, Vec, Vec]:
    """(w, u, a) of a body whose joint stands still, in the body's axes."""
    a = apply_t(pose.R, add(parent.a, apply(parent.W, pose.p)))
    return apply_t(pose.R, parent.w), apply_t(pose.R, parent.u), a


def driven_motion(
    pose: JointPose,
    carried: tuple[Vec, Vec, Vec],
    nu: Scalars | None,
    nu_dot: Scalars | None,
) -> BodyMotion:
    """Motion of a body: what its parent gives it, and what its joint adds."""
    w_parent, u_parent, a_parent = carried
    v_J, w_J = pose.velocity(nu)
    # S nu_dot + S_dot nu
    v_Jdot, w_Jdot = twist_add(pose.velocity(nu_dot), pose.bias(nu))
    # u = u_parent + w_parent x w_J + w_Jdot
    u = add(add(u_parent, cross(w_parent, w_J)), w_Jdot)
    # a = a_parent + (w_J + 2 w_parent) x v_J + v_Jdot
    coriolis = cross(add(w_J, add(w_parent, w_parent)), v_J)
    return body_motion(add(w_parent, w_J), u, add(add(a_parent, coriolis), v_Jdot))


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


def forces_of_motion(
    skeleton: Skeleton,
    base: Base,
    joints: dict[int, JointPose],
    moving: dict[int, BodyMotion],
    wrenches: Wrenches,
) -> Forces:
    """Forces behind the motion of the bodies, less the external wrenches on frames."""
    acting = {k: body_wrench(body.inertia, moving[k]) for k, body in enumerate(skeleton.bodies)}
    external = external_wrenches(skeleton, base, joints, wrenches)
    return gather(skeleton, joints, _less_external(skeleton, acting, external))


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


def gather(skeleton: Skeleton, joints: dict[int, JointPose], wrenches: dict[int, Twist]) -> Forces:
    """Sum wrenches toward the base, and project them on the coordinates of the joints."""
    joint: dict[int, Scalar] = {}
    F, N = ZERO, ZERO
    for number, (F, N) in summed_inward(
        skeleton, joints, wrenches, twist_add, lambda pose, f: pose.inward(*f)
    ):
        along = joints[number].force(F, N) if number else ()
        for k, value in zip(skeleton.bodies[number].nu_indices, along, strict=True):
            joint[k] = plus(joint.get(k, 0.0), value)
    return Forces(F, N, joint)


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


def external_wrenches(
    skeleton: Skeleton, base: Base, joints: Mapping[int, JointPose], wrenches: Wrenches
) -> dict[int, Twist]:
    """Wrenches on frames, by frame, in the axes of the frames' bodies about the bodies' origins."""
    by_frame: dict[int, Twist] = {}
    for index, wrench in wrenches.items():
        body, R, p = skeleton.frames[index]
        force, moment = halves(wrench)
        if base.velocity == "body":
            force, moment = twist_rotate(R, (force, moment))
            moment = add(moment, cross(p, force))
        else:
            world_R, world_o = body_pose(skeleton, base, joints, body)
            force, moment = apply_t(world_R, force), apply_t(world_R, moment)
            if base.velocity == "mixed":
                moment = add(moment, cross(p, force))
            else:
                moment = sub(moment, cross(apply_t(world_R, world_o), force))
        by_frame[index] = force, moment
    return by_frame


def _less_external(
    skeleton: Skeleton, acting: dict[int, Twist], external: Mapping[int, Twist]
) -> dict[int, Twist]:
    """Wrenches that bodies need, less the external wrenches on their frames."""
    remaining = dict(acting)
    for index, wrench in external.items():
        body = skeleton.frames[index][0]
        remaining[body] = twist_sub(remaining[body], wrench)
    return remaining


def _in_order(skeleton: Skeleton, base: Base, forces: Forces) -> list[Scalar]:
    """(nv,) forces in the order of nu."""
    force, moment = base.wrench_out(forces.base_force, forces.base_moment)
    start = [*force, *moment] if base.floating else []
    return start + [forces.joint.get(k, 0.0) for k in range(len(start), skeleton.layout.nv)]
