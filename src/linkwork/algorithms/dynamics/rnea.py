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
from typing import Any, Protocol, TypeVar

from linkwork.algorithms.kinematics.frames import Scalars, body_pose, joint_poses
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joint_dynamics import (
    NO_JOINT_DYNAMICS,
    DynamicsByIndex,
    with_joint_dynamics,
)
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import IDENTITY, ZERO_FORCE, Force, Mat, Scalar, Vec

T = TypeVar("T", bound="_Summable")
Wrenches = Mapping[int, Sequence[Scalar]]  # by index of the frame, six entries each


class _Summable(Protocol):
    def __add__(self, other: Any, /) -> Any: ...


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

    base: Force  # in the base's axes, about its origin
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
    nothing = dict.fromkeys(range(len(skeleton.bodies)), ZERO_FORCE)
    external = external_wrenches(skeleton, base, joints, wrenches)
    forces = gather(skeleton, joints, _less_external(skeleton, nothing, external))
    return [-value for value in _in_order(skeleton, base, forces)]


def robot_motion(
    skeleton: Skeleton,
    base: Base,
    joints: dict[int, JointPose],
    nu: Scalars | None,
    nu_dot: Scalars | None,
    *,
    gravity: Vec,
) -> dict[int, BodyMotion]:
    """Return the motion of every body; None for nu or nu_dot stands for zero."""
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
    """Return the motion of every body, from the base's outward."""
    moving = {0: base}
    for number, pose in joints.items():
        parent = moving[skeleton.bodies[number].parent]
        moving[number] = driven_motion(pose, carried_motion(pose, parent), nu, nu_dot)
    return moving


def carried_motion(pose: JointPose, parent: BodyMotion) -> tuple[Vec, Vec, Vec]:
    """Return (w, u, a) of a body whose joint stands still, in the body's axes."""
    a = pose.R.T @ (parent.a + parent.W @ pose.p)
    return pose.R.T @ parent.w, pose.R.T @ parent.u, a


def driven_motion(
    pose: JointPose,
    carried: tuple[Vec, Vec, Vec],
    nu: Scalars | None,
    nu_dot: Scalars | None,
) -> BodyMotion:
    """Return the motion of a body: what its parent hands on, and what its joint adds."""
    w, u, a = carried
    v_J, w_J = pose.velocity(nu)
    a_J, u_J = pose.velocity(nu_dot) + pose.bias(nu)  # S nu_dot + S_dot nu
    u = u + w.cross(w_J) + u_J
    a = a + (w_J + (w + w)).cross(v_J) + a_J
    return body_motion(w + w_J, u, a)


def body_motion(w: Vec, u: Vec, a: Vec) -> BodyMotion:
    """Return the motion of a body from its w, u and a."""
    return BodyMotion(w, u, a, w.wedge_squared.full + u.wedge)


def at_frame(motion: BodyMotion, R: Mat, p: Vec) -> BodyMotion:
    """Return the motion of a frame at (R, p) of a body, in the frame's axes."""
    if R.is_permutation and R == IDENTITY and p.is_zero:
        return motion
    a = motion.a + motion.W @ p
    return body_motion(R.T @ motion.w, R.T @ motion.u, R.T @ a)


def forces_of_motion(
    skeleton: Skeleton,
    base: Base,
    joints: dict[int, JointPose],
    moving: dict[int, BodyMotion],
    wrenches: Wrenches,
) -> Forces:
    """Return the forces behind the motion of the bodies, less external wrenches on frames."""
    acting = {k: body_wrench(body.inertia, moving[k]) for k, body in enumerate(skeleton.bodies)}
    external = external_wrenches(skeleton, base, joints, wrenches)
    return gather(skeleton, joints, _less_external(skeleton, acting, external))


def body_wrench(inertia: RigidInertia, motion: BodyMotion) -> Force:
    """Return the force on a body, and the moment about its origin, that give it its motion."""
    m, h, tensor = inertia.mass, inertia.first_moment, inertia.tensor
    a, u, w, W = motion.a, motion.u, motion.w, motion.W
    # F = m a + W h,  N = h x a + I u + w x I w
    return Force(m * a + W @ h, tensor.euler_moment(w, u, W) + h.cross(a))


def gather(skeleton: Skeleton, joints: dict[int, JointPose], wrenches: dict[int, Force]) -> Forces:
    """Sum wrenches toward the base, and project them on the coordinates of the joints."""
    along: dict[int, Scalar] = {}
    wrench = ZERO_FORCE
    for number, wrench in summed_inward(skeleton, joints, wrenches, JointPose.inward):
        values = joints[number].force(wrench) if number else ()
        for k, value in zip(skeleton.bodies[number].nu_indices, values, strict=True):
            along[k] = along.get(k, 0.0) + value
    return Forces(wrench, along)


def summed_inward(
    skeleton: Skeleton,
    joints: dict[int, JointPose],
    values: Mapping[int, T],
    inward: Callable[[JointPose, T], T],
) -> Iterator[tuple[int, T]]:
    """Sum over subtrees: yield each body with the value of it and all it carries, the base last.

    Args:
        skeleton: the robot.
        joints: pose of each body but the base's in its parent.
        values: of each body by itself.
        inward: expresses a value of a body in its parent.
    """
    sums = dict(values)
    for number in reversed(joints):
        yield number, sums[number]
        parent = skeleton.bodies[number].parent
        sums[parent] = sums[parent] + inward(joints[number], sums[number])
    yield 0, sums[0]


def external_wrenches(
    skeleton: Skeleton, base: Base, joints: Mapping[int, JointPose], wrenches: Wrenches
) -> dict[int, Force]:
    """Return wrenches on frames, by frame, in the axes and about the origins of their bodies."""
    by_frame: dict[int, Force] = {}
    for index, entries in wrenches.items():
        body, R, p = skeleton.frames[index]
        wrench = Force.of(entries)
        if base.velocity == "body":
            by_frame[index] = (R @ wrench).shifted(p)
            continue
        world_R, world_o = body_pose(skeleton, base, joints, body)
        wrench = world_R.T @ wrench
        if base.velocity == "mixed":
            by_frame[index] = wrench.shifted(p)
        else:
            force, moment = wrench
            by_frame[index] = Force(force, moment - (world_R.T @ world_o).cross(force))
    return by_frame


def _less_external(
    skeleton: Skeleton, acting: dict[int, Force], external: Mapping[int, Force]
) -> dict[int, Force]:
    """Return the wrenches that bodies need, less the external wrenches on their frames."""
    remaining = dict(acting)
    for index, wrench in external.items():
        body = skeleton.frames[index][0]
        remaining[body] = remaining[body] - wrench
    return remaining


def _in_order(skeleton: Skeleton, base: Base, forces: Forces) -> list[Scalar]:
    """(nv,) forces in the order of nu."""
    force, moment = base.wrench_out(forces.base)
    start = [*force, *moment] if base.floating else []
    return start + [forces.joint.get(k, 0.0) for k in range(len(start), skeleton.layout.nv)]
