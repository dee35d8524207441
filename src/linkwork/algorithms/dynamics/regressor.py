"""Inverse dynamics as a linear function of the inertial parameters:  tau = Y phi.

phi stacks, for each link in the order of the model, ten parameters about the link's origin in its
axes: mass, mass times CoM (3), and the tensor's xx, xy, xz, yy, yz, zz.

The wrench that moves a link is linear in its ten parameters; with the link's motion (w, u, a) and
W = [u] + [w]^2,

    mass      force a
    m c_k     force W e_k,  moment e_k x a
    I_jk      moment, from the entries of W

and a joint takes the part of it along its motion, seen from the link.
"""

from __future__ import annotations

from linkwork.algorithms.dynamics.rnea import BodyMotion, at_frame, robot_motion
from linkwork.algorithms.kinematics.frames import Matrix, Scalars, joint_poses
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import IDENTITY, ZERO, Force, Motion, Vec

PER_LINK = 10  # inertial parameters of a link


def regressor(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars,
    *,
    gravity: Vec,
    velocity: Representation,
) -> Matrix:
    """(nv, 10 links) Y with inverse_dynamics = Y phi."""
    layout = skeleton.layout
    base = base_of(layout, q, velocity)
    joints = joint_poses(skeleton, q)
    moving = robot_motion(skeleton, base, joints, nu, nu_dot, gravity=gravity)
    columns = _columns_of_bodies(skeleton, joints, base)
    n_links = len(layout.model.links)
    Y: Matrix = [[0.0] * (PER_LINK * n_links) for _ in range(layout.nv)]
    for link, (body, R, p) in enumerate(skeleton.frames[:n_links]):
        wrenches = _wrenches(at_frame(moving[body], R, p))
        for row, column in columns[body]:
            S = R.T @ column.at(p)
            for k, wrench in enumerate(wrenches, start=PER_LINK * link):
                Y[row][k] = Y[row][k] + S.dot(wrench)
    return Y


def _columns_of_bodies(
    skeleton: Skeleton, joints: dict[int, JointPose], base: Base
) -> dict[int, list[tuple[int, Motion]]]:
    """Return the coordinates that move each body: index in nu, and S in the body's axes."""
    columns = {0: list(enumerate(base.columns))}
    for number, pose in joints.items():
        parent = skeleton.bodies[number].parent
        of_parent = [(k, pose.outward(S)) for k, S in columns[parent]]
        columns[number] = of_parent + list(zip(pose.mount.nu_indices, pose.columns, strict=True))
    return columns


def _wrenches(motion: BodyMotion) -> list[Force]:
    """Return force and moment per unit of each of the ten inertial parameters."""
    a, u, w, W = motion.a, motion.u, motion.w, motion.W
    columns = W.T
    first = [Force(columns[k], IDENTITY[k].cross(a)) for k in range(3)]
    xx, yy, zz = (w[k] * w[k] for k in range(3))
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    # N = I u + w x I w
    tensor = [
        Vec(u[0], xz, -xy),
        Vec(-W[2][0], W[2][1], xx - yy),
        Vec(W[1][0], zz - xx, -W[1][2]),
        Vec(-yz, u[1], xy),
        Vec(yy - zz, -W[0][1], W[0][2]),
        Vec(yz, -xz, u[2]),
    ]
    return [Force(a, ZERO), *first, *(Force(ZERO, moment) for moment in tensor)]
