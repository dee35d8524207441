"""Where frames are and how they move, in any representation of velocity.

With R and o the rotation and position of a frame in the world, w its angular velocity:

    mixed      [o_dot; w]            in the axes of the world
    body       [R^T o_dot; R^T w]    in the axes of the frame
    inertial   [o_dot - w x o; w]    velocity of its point that is at the world's origin

The base's part of nu is written in the same way, and accelerations are derivatives of these
entries. A frame is given by its index in `skeleton.frames`; only bodies between the base and the
frame are visited. A fixed base is at the `base_pose` of the robot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joints import JointPose, joint_pose
from linkwork.mechanics.skeleton import Mount, Skeleton
from linkwork.spatial.blocks import (
    ZERO,
    Mat,
    Scalar,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    matmul,
    twist_add,
    twist_cross,
)

Scalars: TypeAlias = Sequence[Scalar]  # q, nu or nu_dot, one by one
Matrix: TypeAlias = list[list[Scalar]]


def body_pose(
    skeleton: Skeleton, base: Base, joints: Mapping[int, JointPose], body: int
) -> tuple[Mat, Vec]:
    """Rotation and position of a body in the world."""
    R, o = base.R, base.o
    for number in path_to(skeleton, body):
        pose = joints[number]
        o = add(o, apply(R, pose.p))
        R = matmul(R, pose.R)
    return R, o


def frame_pose(skeleton: Skeleton, q: Scalars, frame: int) -> Matrix:
    """(4, 4) pose of a frame in the world."""
    body, R_frame, p = skeleton.frames[frame]
    base = base_of(skeleton.layout, q, "mixed")
    joints = path_poses(skeleton, q, body)
    if not body:
        return homogeneous(matmul(base.R, R_frame), add(base.o, apply(base.R, p)))
    last = joints[body]
    R, o = body_pose(skeleton, base, joints, skeleton.bodies[body].parent)
    # the last two offsets together, in the axes of the parent
    o = add(o, apply(R, add(last.p, apply(last.R, p))))
    return homogeneous(matmul(matmul(R, last.R), R_frame), o)


def frame_poses(skeleton: Skeleton, q: Scalars, *frames: int) -> list[Matrix]:
    """(4, 4) poses of several frames in the world; what they share is computed once."""
    base = base_of(skeleton.layout, q, "mixed")
    bodies = {0: (base.R, base.o)}
    world_H_frames: list[Matrix] = []
    for frame in frames:
        body, R_frame, p = skeleton.frames[frame]
        for number in path_to(skeleton, body):
            if number not in bodies:
                R, o = bodies[skeleton.bodies[number].parent]
                pose = joint_pose(_mount(skeleton, number), q)
                bodies[number] = matmul(R, pose.R), add(o, apply(R, pose.p))
        R, o = bodies[body]
        world_H_frames.append(homogeneous(matmul(R, R_frame), add(o, apply(R, p))))
    return world_H_frames


def frame_velocity(
    skeleton: Skeleton, q: Scalars, nu: Scalars, frame: int, *, velocity: Representation
) -> list[Scalar]:
    """(6,) velocity of a frame."""
    body, R_frame, p = skeleton.frames[frame]
    joints = path_poses(skeleton, q, body)
    base = base_of(skeleton.layout, q, velocity)
    start = base.own_part(nu)
    if velocity == "body":
        v, w = velocities(skeleton, joints, nu, start)[body]
        return [*apply_t(R_frame, add(v, cross(w, p))), *apply_t(R_frame, w)]
    r, v, w, _, _ = seen_from_base(joints, nu, None, p)
    angular = apply(base.R, w)
    if velocity == "mixed":
        # o_dot = o_dot_base + w_base x R r + R v
        linear = add(cross(start[1], apply(base.R, r)), apply(base.R, v))
    else:
        # V = V_base + world_X_base V_seen, with V_seen at the base's origin
        linear = add(apply(base.R, add(v, cross(r, w))), cross(base.o, angular))
    return [*add(start[0], linear), *add(start[1], angular)]


def frame_acceleration(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars | None,
    frame: int,
    *,
    velocity: Representation,
) -> list[Scalar]:
    """(6,) time derivative of the entries of `frame_velocity`: J nu_dot + Jdot nu.

    None for nu_dot stands for zero, and leaves Jdot nu.
    """
    body, R_frame, p = skeleton.frames[frame]
    joints = path_poses(skeleton, q, body)
    base = base_of(skeleton.layout, q, velocity)
    start = base.own_part(nu_dot)
    if velocity == "body":
        a, u = _accelerations(skeleton, base, joints, nu, nu_dot)
        return [*apply_t(R_frame, add(a, cross(u, p))), *apply_t(R_frame, u)]
    v_base, w_base = base.twist(nu)  # in its own axes
    r, v, w, a, u = seen_from_base(joints, nu, nu_dot, p)
    angular = apply(base.R, add(u, cross(w_base, w)))
    if velocity == "mixed":
        # o_ddot = o_ddot_base + R (u_base x r + w_base x (w_base x r + 2 v) + a)
        swept = add(cross(w_base, r), add(v, v))
        rotating = cross(apply_t(base.R, start[1]), r)
        linear = apply(base.R, add(add(a, cross(w_base, swept)), rotating))
    else:
        # A = A_base + world_X_base (A_seen + V_base x V_seen), both at the base's origin
        rate = add(add(a, cross(v, w)), cross(r, u))
        carried = add(cross(w_base, add(v, cross(r, w))), cross(v_base, w))
        linear = add(apply(base.R, add(rate, carried)), cross(base.o, angular))
    return [*add(start[0], linear), *add(start[1], angular)]


def path_to(skeleton: Skeleton, body: int) -> list[int]:
    """Bodies from the base, left out, to a body."""
    path: list[int] = []
    while body:
        path.append(body)
        body = skeleton.bodies[body].parent
    return path[::-1]


def joint_poses(skeleton: Skeleton, q: Scalars) -> dict[int, JointPose]:
    """Pose of every body but the base's in its parent."""
    return {
        number: joint_pose(body.mount, q)
        for number, body in enumerate(skeleton.bodies)
        if body.mount
    }


def path_poses(skeleton: Skeleton, q: Scalars, body: int, *, skip: int = 0) -> dict[int, JointPose]:
    """Pose in its parent of each body from the base, left out, to a body; the first few skipped."""
    path = path_to(skeleton, body)[skip:]
    return {number: joint_pose(_mount(skeleton, number), q) for number in path}


def velocities(
    skeleton: Skeleton, joints: dict[int, JointPose], nu: Scalars, base: Twist
) -> dict[int, Twist]:
    """(v, w) of bodies, each in its own axes at its origin, from the base's outward."""
    moving = {0: base}
    for number, pose in joints.items():
        parent = moving[skeleton.bodies[number].parent]
        moving[number] = twist_add(pose.outward(*parent), pose.velocity(nu))
    return moving


def seen_from_base(
    joints: dict[int, JointPose], nu: Scalars, nu_dot: Scalars | None, p: Vec
) -> tuple[Vec, Vec, Vec, Vec, Vec]:
    """How an observer on the base, with its axes, sees a frame at p of the last body move.

    Returns:
        Position r, velocity v, angular velocity w, acceleration a, angular acceleration u.
    """
    r, v, w, a, u = p, ZERO, ZERO, ZERO, ZERO
    for pose in reversed(joints.values()):  # as seen from the body, then from its parent
        v_J, w_J = pose.velocity(nu)
        # S nu_dot + S_dot nu
        v_Jdot, w_Jdot = twist_add(pose.velocity(nu_dot), pose.bias(nu))
        # v' = v + v_J + w_J x r
        new_v = add(add(v, v_J), cross(w_J, r))
        # a' = a + v_Jdot + w_Jdot x r + w_J x (v' + v)
        new_a = add(add(add(a, v_Jdot), cross(w_Jdot, r)), cross(w_J, add(new_v, v)))
        # u' = u + w_Jdot + w_J x w
        new_u = add(add(u, w_Jdot), cross(w_J, w))
        r, v, w, a, u = (apply(pose.R, x) for x in (r, new_v, add(w, w_J), new_a, new_u))
        r = add(pose.p, r)
    return r, v, w, a, u


def _accelerations(
    skeleton: Skeleton,
    base: Base,
    joints: dict[int, JointPose],
    nu: Scalars,
    nu_dot: Scalars | None,
) -> Twist:
    """Derivative of the (v, w) of the last body, from nu of the body representation, outward."""
    moving = velocities(skeleton, joints, nu, base.own_part(nu))
    rate = base.own_part(nu_dot)
    for number, pose in joints.items():
        # A = body_X_parent A_parent + S nu_dot + S_dot nu + V x S nu
        rate = twist_add(pose.outward(*rate), pose.velocity(nu_dot))
        rate = twist_add(rate, pose.bias(nu))
        rate = twist_add(rate, twist_cross(moving[number], pose.velocity(nu)))
    return rate


def homogeneous(R: Mat, o: Vec) -> Matrix:
    """(4, 4) of a rotation and a position."""
    rows = [[*row, x] for row, x in zip(R, o, strict=True)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]


def _mount(skeleton: Skeleton, body: int) -> Mount:
    """The joint that holds a body which is not the base's."""
    mount = skeleton.bodies[body].mount
    assert mount is not None
    return mount
