"""Where frames are and how they move, in any representation of velocity.

With R and o the rotation and position of a frame in the world, w its angular velocity:

    mixed      [o_dot; w]            in the axes of the world
    body       [R^T o_dot; R^T w]    in the axes of the frame
    inertial   [o_dot - w x o; w]    velocity of its point that is at the world's origin

The base's part of nu is written in the same way, and accelerations are derivatives of these very
numbers. A frame is given by its place in `skeleton.frames`; only bodies between the base and the
frame are visited. Without a floating base, the base stands at the world's origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.blocks import (
    ZERO,
    Mat,
    Scalar,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    matmul,
)
from linkwork.mechanics.joints import JointPose, joint_pose, joint_velocity
from linkwork.mechanics.skeleton import Mount, Skeleton

Numbers: TypeAlias = Sequence[Scalar]  # q, nu or nu_dot, one by one
Matrix: TypeAlias = list[list[Scalar]]
Twist: TypeAlias = tuple[Vec, Vec]  # (linear, angular)


def body_pose(
    skeleton: Skeleton, base: Base, joints: Mapping[int, JointPose], body: int
) -> tuple[Mat, Vec]:
    """Rotation and position of a body in the world."""
    axes, o = base.R, base.o
    for number in path_to(skeleton, body):
        pose = joints[number]
        o = add(o, apply(axes, pose.p))
        axes = matmul(axes, pose.E)
    return axes, o


def frame_pose(skeleton: Skeleton, q: Numbers, frame: int) -> Matrix:
    """(4, 4) pose of a frame in the world."""
    body, turn, p = skeleton.frames[frame]
    base = base_of(skeleton.layout, q, "mixed")
    joints = path_poses(skeleton, q, body)
    if not body:
        return homogeneous(matmul(base.R, turn), add(base.o, apply(base.R, p)))
    last = joints[body]
    axes, o = body_pose(skeleton, base, joints, skeleton.bodies[body].parent)
    # the last two offsets together, in the axes of the parent
    o = add(o, apply(axes, add(last.p, apply(last.E, p))))
    return homogeneous(matmul(matmul(axes, last.E), turn), o)


def frame_poses(skeleton: Skeleton, q: Numbers, frames: Iterable[int]) -> list[Matrix]:
    """(4, 4) poses of several frames in the world; what they share is computed once."""
    base = base_of(skeleton.layout, q, "mixed")
    bodies = {0: (base.R, base.o)}
    found: list[Matrix] = []
    for frame in frames:
        body, turn, p = skeleton.frames[frame]
        for number in path_to(skeleton, body):
            if number not in bodies:
                axes, o = bodies[skeleton.bodies[number].parent]
                pose = joint_pose(_mount(skeleton, number), q)
                bodies[number] = matmul(axes, pose.E), add(o, apply(axes, pose.p))
        axes, o = bodies[body]
        found.append(homogeneous(matmul(axes, turn), add(o, apply(axes, p))))
    return found


def frame_velocity(
    skeleton: Skeleton, q: Numbers, nu: Numbers, frame: int, *, velocity: Representation
) -> list[Scalar]:
    """(6,) velocity of a frame."""
    body, turn, p = skeleton.frames[frame]
    joints = path_poses(skeleton, q, body)
    start = base_part(skeleton, nu)
    if velocity == "body":
        v, w = velocities(skeleton, joints, nu, start)[body]
        return [*apply_t(turn, add(v, cross(w, p))), *apply_t(turn, w)]
    base = base_of(skeleton.layout, q, velocity)
    r, v, w, _, _ = _seen_from_base(skeleton, joints, nu, None, p)
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
    q: Numbers,
    nu: Numbers,
    nu_dot: Numbers | None,
    frame: int,
    *,
    velocity: Representation,
) -> list[Scalar]:
    """(6,) time derivative of the numbers of `frame_velocity`: J nu_dot + Jdot nu.

    None for nu_dot stands for zero, and leaves Jdot nu.
    """
    body, turn, p = skeleton.frames[frame]
    joints = path_poses(skeleton, q, body)
    start = base_part(skeleton, nu_dot)
    if velocity == "body":
        a, u = _accelerations(skeleton, joints, nu, nu_dot)
        return [*apply_t(turn, add(a, cross(u, p))), *apply_t(turn, u)]
    base = base_of(skeleton.layout, q, velocity)
    v_base, w_base = base.twist(nu)  # in its own axes
    r, v, w, a, u = _seen_from_base(skeleton, joints, nu, nu_dot, p)
    angular = apply(base.R, add(u, cross(w_base, w)))
    if velocity == "mixed":
        # o_ddot = o_ddot_base + R (u_base x r + w_base x (w_base x r + 2 v) + a)
        swept = add(cross(w_base, r), add(v, v))
        turning = cross(apply_t(base.R, start[1]), r)
        linear = apply(base.R, add(add(a, cross(w_base, swept)), turning))
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


def path_poses(skeleton: Skeleton, q: Numbers, body: int, *, skip: int = 0) -> dict[int, JointPose]:
    """Pose in its parent of each body from the base, left out, to a body; the first few skipped."""
    path = path_to(skeleton, body)[skip:]
    return {number: joint_pose(_mount(skeleton, number), q) for number in path}


def base_part(skeleton: Skeleton, numbers: Numbers | None) -> Twist:
    """(linear, angular) numbers of the base in nu or nu_dot; zeros without a floating base."""
    if numbers is None or not skeleton.layout.floating:
        return ZERO, ZERO
    return (numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5])


def velocities(
    skeleton: Skeleton, joints: dict[int, JointPose], nu: Numbers, base: Twist
) -> dict[int, Twist]:
    """(v, w) of bodies, each in its own axes at its origin, from the base's outward."""
    found = {0: base}
    for number, pose in joints.items():
        body = skeleton.bodies[number]
        v_J, w_J = joint_velocity(pose, body.nu, nu)
        v, w = carried(pose, found[body.parent])
        found[number] = add(v, v_J), add(w, w_J)
    return found


def _seen_from_base(
    skeleton: Skeleton, joints: dict[int, JointPose], nu: Numbers, nu_dot: Numbers | None, p: Vec
) -> tuple[Vec, Vec, Vec, Vec, Vec]:
    """How an observer on the base, with its axes, sees a frame at p of the last body move.

    Returns:
        Position r, velocity v, angular velocity w, acceleration a, angular acceleration u.
    """
    r, v, w, a, u = p, ZERO, ZERO, ZERO, ZERO
    for number in reversed(joints):  # as seen from the body, then from its parent
        body, pose = skeleton.bodies[number], joints[number]
        v_J, w_J = joint_velocity(pose, body.nu, nu)
        v_Jdot, w_Jdot = joint_velocity(pose, body.nu, nu_dot)
        # v' = v + v_J + w_J x r
        new_v = add(add(v, v_J), cross(w_J, r))
        # a' = a + S_v nu_dot + S_w nu_dot x r + w_J x (v' + v)
        new_a = add(add(add(a, v_Jdot), cross(w_Jdot, r)), cross(w_J, add(new_v, v)))
        # u' = u + S_w nu_dot + w_J x w
        new_u = add(add(u, w_Jdot), cross(w_J, w))
        r, v, w, a, u = (apply(pose.E, x) for x in (r, new_v, add(w, w_J), new_a, new_u))
        r = add(pose.p, r)
    return r, v, w, a, u


def _accelerations(
    skeleton: Skeleton, joints: dict[int, JointPose], nu: Numbers, nu_dot: Numbers | None
) -> Twist:
    """Derivative of the (v, w) of the last body, from nu of the body representation, outward."""
    moving = velocities(skeleton, joints, nu, base_part(skeleton, nu))
    rate = base_part(skeleton, nu_dot)
    for number, pose in joints.items():
        body = skeleton.bodies[number]
        a, u = carried(pose, rate)
        v_Jdot, w_Jdot = joint_velocity(pose, body.nu, nu_dot)
        # A = body_X_parent A_parent + S nu_dot + V x S nu
        linear, angular = twist_cross(moving[number], joint_velocity(pose, body.nu, nu))
        rate = add(add(a, v_Jdot), linear), add(add(u, w_Jdot), angular)
    return rate


def carried(pose: JointPose, twist: Twist) -> Twist:
    """A twist in the parent, at its origin, as one in the body: E^T (v + w x p), E^T w."""
    v, w = twist
    return apply_t(pose.E, add(v, cross(w, pose.p))), apply_t(pose.E, w)


def twist_cross(a: Twist, b: Twist) -> Twist:
    """Rate of b when it is carried along by a: a x b."""
    return add(cross(a[1], b[0]), cross(a[0], b[1])), cross(a[1], b[1])


def homogeneous(R: Mat, o: Vec) -> Matrix:
    """(4, 4) of a rotation and a position."""
    rows = [[*row, x] for row, x in zip(R, o, strict=True)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]


def _mount(skeleton: Skeleton, body: int) -> Mount:
    """The joint that holds a body which is not the base's."""
    mount = skeleton.bodies[body].mount
    assert mount is not None
    return mount
