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
from linkwork.spatial.blocks import ZERO, Mat, Motion, Scalar, Vec

Scalars: TypeAlias = Sequence[Scalar]  # q, nu or nu_dot, one by one
Matrix: TypeAlias = list[list[Scalar]]


def body_pose(
    skeleton: Skeleton, base: Base, joints: Mapping[int, JointPose], body: int
) -> tuple[Mat, Vec]:
    """Return rotation and position of a body in the world."""
    R, o = base.R, base.o
    for number in path_to(skeleton, body):
        pose = joints[number]
        o = o + R @ pose.p
        R = R @ pose.R
    return R, o


def frame_pose(skeleton: Skeleton, q: Scalars, frame: int) -> Matrix:
    """(4, 4) pose of a frame in the world."""
    body, R_frame, p = skeleton.frames[frame]
    base = base_of(skeleton.layout, q, "mixed")
    joints = path_poses(skeleton, q, body)
    if not body:
        return homogeneous(base.R @ R_frame, base.o + base.R @ p)
    last = joints[body]
    R, o = body_pose(skeleton, base, joints, skeleton.bodies[body].parent)
    # the last two offsets together, in the axes of the parent
    o = o + R @ (last.p + last.R @ p)
    return homogeneous(R @ last.R @ R_frame, o)


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
                bodies[number] = R @ pose.R, o + R @ pose.p
        R, o = bodies[body]
        world_H_frames.append(homogeneous(R @ R_frame, o + R @ p))
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
        return (R_frame.T @ velocities(skeleton, joints, nu, start)[body].at(p)).entries
    r, v, w, _, _ = seen_from_base(joints, nu, None, p)
    angular = base.R @ w
    if velocity == "mixed":
        # o_dot = o_dot_base + w_base x R r + R v
        linear = start[1].cross(base.R @ r) + base.R @ v
    else:
        # V = V_base + world_X_base V_seen, with V_seen at the base's origin
        linear = base.R @ (v + r.cross(w)) + base.o.cross(angular)
    return (start + Motion(linear, angular)).entries


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
        return (R_frame.T @ _accelerations(skeleton, base, joints, nu, nu_dot).at(p)).entries
    v_base, w_base = base.twist(nu)  # in its own axes
    r, v, w, a, u = seen_from_base(joints, nu, nu_dot, p)
    angular = base.R @ (u + w_base.cross(w))
    if velocity == "mixed":
        # o_ddot = o_ddot_base + R (u_base x r + w_base x (w_base x r + 2 v) + a)
        swept = w_base.cross(r) + (v + v)
        rotating = (base.R.T @ start[1]).cross(r)
        linear = base.R @ (a + w_base.cross(swept) + rotating)
    else:
        # A = A_base + world_X_base (A_seen + V_base x V_seen), both at the base's origin
        rate = a + v.cross(w) + r.cross(u)
        carried = w_base.cross(v + r.cross(w)) + v_base.cross(w)
        linear = base.R @ (rate + carried) + base.o.cross(angular)
    return (start + Motion(linear, angular)).entries


def path_to(skeleton: Skeleton, body: int) -> list[int]:
    """Return the bodies from the base, left out, to a body."""
    path: list[int] = []
    while body:
        path.append(body)
        body = skeleton.bodies[body].parent
    return path[::-1]


def joint_poses(skeleton: Skeleton, q: Scalars) -> dict[int, JointPose]:
    """Return the pose of every body but the base's in its parent."""
    return {
        number: joint_pose(body.mount, q)
        for number, body in enumerate(skeleton.bodies)
        if body.mount
    }


def path_poses(skeleton: Skeleton, q: Scalars, body: int, *, skip: int = 0) -> dict[int, JointPose]:
    """Return the pose in its parent of each body from the base, left out, to a body.

    The first few are skipped.
    """
    path = path_to(skeleton, body)[skip:]
    return {number: joint_pose(_mount(skeleton, number), q) for number in path}


def velocities(
    skeleton: Skeleton, joints: dict[int, JointPose], nu: Scalars, base: Motion
) -> dict[int, Motion]:
    """Return (v, w) of bodies, each in its own axes at its origin, from the base's outward."""
    moving = {0: base}
    for number, pose in joints.items():
        parent = moving[skeleton.bodies[number].parent]
        moving[number] = pose.outward(parent) + pose.velocity(nu)
    return moving


def seen_from_base(
    joints: dict[int, JointPose], nu: Scalars, nu_dot: Scalars | None, p: Vec
) -> tuple[Vec, Vec, Vec, Vec, Vec]:
    """Return how an observer on the base, with its axes, sees a frame at p of the last body move.

    Returns:
        Position r, velocity v, angular velocity w, acceleration a, angular acceleration u.
    """
    r, v, w, a, u = p, ZERO, ZERO, ZERO, ZERO
    for pose in reversed(joints.values()):  # as seen from the body, then from its parent
        v_J, w_J = pose.velocity(nu)
        # S nu_dot + S_dot nu
        v_Jdot, w_Jdot = pose.velocity(nu_dot) + pose.bias(nu)
        # v' = v + v_J + w_J x r
        new_v = v + v_J + w_J.cross(r)
        # a' = a + v_Jdot + w_Jdot x r + w_J x (v' + v)
        new_a = a + v_Jdot + w_Jdot.cross(r) + w_J.cross(new_v + v)
        # u' = u + w_Jdot + w_J x w
        new_u = u + w_Jdot + w_J.cross(w)
        r, v, w, a, u = (pose.R @ x for x in (r, new_v, w + w_J, new_a, new_u))
        r = pose.p + r
    return r, v, w, a, u


def _accelerations(
    skeleton: Skeleton,
    base: Base,
    joints: dict[int, JointPose],
    nu: Scalars,
    nu_dot: Scalars | None,
) -> Motion:
    """Return the derivative of (v, w) of the last body, from nu of the body representation."""
    moving = velocities(skeleton, joints, nu, base.own_part(nu))
    rate = base.own_part(nu_dot)
    for number, pose in joints.items():
        # A = body_X_parent A_parent + S nu_dot + S_dot nu + V x S nu
        rate = pose.outward(rate) + pose.velocity(nu_dot) + pose.bias(nu)
        rate = rate + moving[number].cross(pose.velocity(nu))
    return rate


def homogeneous(R: Mat, o: Vec) -> Matrix:
    """(4, 4) of a rotation and a position."""
    rows = [[*row, x] for row, x in zip(R, o, strict=True)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]


def _mount(skeleton: Skeleton, body: int) -> Mount:
    """Return the joint that holds a body which is not the base's."""
    mount = skeleton.bodies[body].mount
    assert mount is not None
    return mount
