"""Dynamics as functions of q, nu and forces, in any representation of the base's velocity.

    M nu_dot + h = tau + sum J^T f

Each function takes the numbers of q, nu, ... one by one, and returns rows of numbers. A wrench on a
frame is dual to the frame's velocity in the representation in force.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwork.algorithms.dynamics.aba import accelerations
from linkwork.algorithms.dynamics.crba import inertias
from linkwork.algorithms.dynamics.factor import owners_of, solve_symmetric
from linkwork.algorithms.dynamics.rnea import Forces, body_wrenches, gather, motions, poses
from linkwork.algorithms.kinematics.frames import body_pose
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joint_dynamics import (
    NO_JOINT_DYNAMICS,
    DynamicsByIndex,
    with_joint_dynamics,
)
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    ZERO,
    Scalar,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    full,
    halves,
    minus,
    plus,
    sub,
    wedge,
)

Wrenches = Mapping[int, Sequence[Scalar]]  # by index of the frame, six numbers each


def inverse_dynamics(
    skeleton: Skeleton,
    q: Sequence[Scalar],
    nu: Sequence[Scalar] | None = None,
    nu_dot: Sequence[Scalar] | None = None,
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> list[Scalar]:
    """tau = M nu_dot + h - sum J^T f. None for nu or nu_dot stands for zero."""
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    _, w = base.twist(nu)
    a, u = base.acceleration(nu, nu_dot, gravity)
    moving = motions(skeleton, joints, nu, nu_dot, (w, u, a))
    acting = body_wrenches(skeleton, moving)
    external = on_bodies(skeleton, base, joints, wrenches or {}, velocity)
    acting = _less_wrenches(skeleton, acting, external)
    tau = _in_order(skeleton, base, gather(skeleton, joints, acting))
    return with_joint_dynamics(tau, joint_dynamics, nu, nu_dot)


def external_force(
    skeleton: Skeleton, q: Sequence[Scalar], *, velocity: Representation, wrenches: Wrenches
) -> list[Scalar]:
    """Sum of J^T f: the generalized forces of wrenches on frames."""
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    nothing = dict.fromkeys(range(len(skeleton.bodies)), (ZERO, ZERO))
    external = on_bodies(skeleton, base, joints, wrenches, velocity)
    forces = gather(skeleton, joints, _less_wrenches(skeleton, nothing, external))
    return [minus(0.0, value) for value in _in_order(skeleton, base, forces)]


def _in_order(skeleton: Skeleton, base: Base, forces: Forces) -> list[Scalar]:
    """(nv,) forces in the order of nu."""
    force, moment = base.wrench_out(forces.base_force, forces.base_moment)
    start = [*force, *moment] if base.floating else []
    return start + [forces.joint.get(k, 0.0) for k in range(len(start), skeleton.layout.nv)]


def mass_matrix(
    skeleton: Skeleton,
    q: Sequence[Scalar],
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> list[list[Scalar]]:
    """M, rows and columns as nu."""
    layout = skeleton.layout
    base = base_of(layout, q, velocity)
    R, origin = base.expressed_at
    parts = inertias(skeleton, poses(skeleton, q), R)
    M: list[list[Scalar]] = [[0.0] * layout.nv for _ in range(layout.nv)]
    for (i, j), value in parts.joint.items():
        M[i][j] = M[j][i] = value
    for k, added in joint_dynamics.items():
        M[k][k] = plus(M[k][k], added.armature)
    if not layout.floating:
        return M
    robot = parts.base.rotated(R).shifted(origin)
    h, tensor = wedge(robot.first_moment), full(robot.tensor)
    for i in range(3):
        M[i][i] = robot.mass
        for j in range(3):
            M[3 + i][j] = M[j][3 + i] = h[i][j]
            M[3 + i][3 + j] = tensor[i][j]
    for k, (force, about_base) in parts.momenta.items():
        moment = add(about_base, cross(origin, force))
        for i, value in enumerate((*force, *moment)):
            M[i][k] = M[k][i] = value
    return M


def forward_dynamics(
    skeleton: Skeleton,
    q: Sequence[Scalar],
    nu: Sequence[Scalar],
    tau: Sequence[Scalar],
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> list[Scalar]:
    """nu_dot = M^-1 (tau + sum J^T f - h).

    Raises:
        SingularJointError: nothing resists the motion of a joint.
    """
    if skeleton.layout.followers:  # there is no recursion for dependent joints
        M = mass_matrix(skeleton, q, velocity=velocity, joint_dynamics=joint_dynamics)
        h = inverse_dynamics(
            skeleton,
            q,
            nu,
            gravity=gravity,
            velocity=velocity,
            wrenches=wrenches,
            joint_dynamics=joint_dynamics,
        )
        right = [[minus(t, b)] for t, b in zip(tau, h, strict=True)]
        return [x for [x] in solve_symmetric(M, right, owners_of(skeleton, range(len(M))))]
    layout = skeleton.layout
    base = base_of(layout, q, velocity)
    joints = poses(skeleton, q)
    _, w = base.twist(nu)
    moving = motions(skeleton, joints, nu, None, (w, ZERO, apply_t(base.R, sub(ZERO, gravity))))
    acting = body_wrenches(skeleton, moving)
    external = on_bodies(skeleton, base, joints, wrenches or {}, velocity)
    acting = _less_wrenches(skeleton, acting, external)
    bias = gather(skeleton, joints, acting)
    first = 6 if layout.floating else 0
    joint_bias = [bias.joint.get(k, 0.0) for k in range(layout.nv)]
    joint_bias = with_joint_dynamics(joint_bias, joint_dynamics, nu, None)
    left = [minus(tau[k], joint_bias[k]) if k >= first else 0.0 for k in range(layout.nv)]
    push = None
    if layout.floating:
        force, moment = base.wrench_in(tau)
        push = sub(force, bias.base_force), sub(moment, bias.base_moment)
    (a, u), joint_accelerations = accelerations(skeleton, joints, left, push, joint_dynamics)
    start: list[Scalar] = []
    if layout.floating:
        linear, angular = base.derivative(nu, a, u)
        start = [*linear, *angular]
    return start + [joint_accelerations[k] for k in range(first, layout.nv)]


def on_bodies(
    skeleton: Skeleton,
    base: Base,
    joints: Mapping[int, JointPose],
    wrenches: Wrenches,
    velocity: Representation,
) -> dict[int, Twist]:
    """Wrenches on frames, by frame, in the axes of the frames' bodies about the bodies' origins."""
    by_frame: dict[int, Twist] = {}
    for index, numbers in wrenches.items():
        body, R, p = skeleton.frames[index]
        force, moment = halves(numbers)
        if velocity == "body":
            force, moment = apply(R, force), apply(R, moment)
            moment = add(moment, cross(p, force))
        else:
            world_R, world_o = body_pose(skeleton, base, joints, body)
            force, moment = apply_t(world_R, force), apply_t(world_R, moment)
            if velocity == "mixed":
                moment = add(moment, cross(p, force))
            else:
                moment = sub(moment, cross(apply_t(world_R, world_o), force))
        by_frame[index] = force, moment
    return by_frame


def _less_wrenches(
    skeleton: Skeleton,
    acting: dict[int, Twist],
    external: Mapping[int, Twist],
) -> dict[int, Twist]:
    """Wrenches that bodies need, less the external wrenches on their frames."""
    left = dict(acting)
    for index, (force, moment) in external.items():
        body = skeleton.frames[index][0]
        left[body] = sub(left[body][0], force), sub(left[body][1], moment)
    return left
