"""Inverse dynamics as a linear function of the inertial parameters:  tau = Y phi.

phi stacks, for each link in the order of the model, ten numbers about the link's origin in its
axes: mass, mass times CoM (3), and the tensor's xx, xy, xz, yy, yz, zz.

The wrench that moves a link is linear in its ten numbers; with the link's motion (w, u, a) and
W = [u] + [w]^2,

    mass      force a
    m c_k     force W e_k,  moment e_k x a
    I_jk      moment, from the entries of W

and a joint takes the part of it along its motion, seen from the link.
"""

from __future__ import annotations

from linkwork.algorithms.frames import Matrix, Numbers, Twist, carried
from linkwork.algorithms.rnea import BodyMotion, body_motion, motions, poses
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Scalar,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    dot,
    minus,
    plus,
    times,
    transpose,
)
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Skeleton

PER_LINK = 10  # numbers of a link in phi


def regressor(
    skeleton: Skeleton,
    q: Numbers,
    nu: Numbers,
    nu_dot: Numbers,
    *,
    gravity: Vec,
    velocity: Representation,
) -> Matrix:
    """(nv, 10 links) Y with inverse_dynamics = Y phi."""
    layout = skeleton.layout
    base = base_of(layout, q, velocity)
    joints = poses(skeleton, q)
    _, w = base.twist(nu)
    a, u = base.acceleration(nu, nu_dot, gravity)
    moving = motions(skeleton, joints, nu, nu_dot, (w, u, a))
    columns = _columns_of_bodies(skeleton, joints, base)
    n_links = len(layout.model.links)
    Y: Matrix = [[0.0] * (PER_LINK * n_links) for _ in range(layout.nv)]
    for link, (body, turn, p) in enumerate(skeleton.frames[:n_links]):
        wrenches = _wrenches(_seen(moving[body], turn, p))
        for place, (v, w_S) in columns[body]:
            S = apply_t(turn, add(v, cross(w_S, p))), apply_t(turn, w_S)
            for k, (force, moment) in enumerate(wrenches):
                at = PER_LINK * link + k
                value = plus(dot(S[0], force), dot(S[1], moment))
                Y[place][at] = plus(Y[place][at], value)
    return Y


def _columns_of_bodies(
    skeleton: Skeleton, joints: dict[int, JointPose], base: Base
) -> dict[int, list[tuple[int, Twist]]]:
    """For each body, the coordinates that move it: place in nu, and S in the body's axes."""
    found = {0: list(enumerate(base.columns))}
    for number, pose in joints.items():
        body = skeleton.bodies[number]
        of_parent = [(place, carried(pose, S)) for place, S in found[body.parent]]
        found[number] = of_parent + list(zip(body.nu, pose.columns, strict=True))
    return found


def _seen(motion: BodyMotion, turn: Mat, p: Vec) -> BodyMotion:
    """Motion of a frame at (turn, p) of a body, in the frame's axes."""
    if turn == IDENTITY and p == ZERO:
        return motion
    a = add(motion.a, apply(motion.W, p))
    return body_motion(apply_t(turn, motion.w), apply_t(turn, motion.u), apply_t(turn, a))


def _wrenches(motion: BodyMotion) -> list[Twist]:
    """Force and moment per unit of each of the ten numbers."""
    a, u, w, W = motion.a, motion.u, motion.w, motion.W
    turned = transpose(W)
    first = [(turned[k], cross(IDENTITY[k], a)) for k in range(3)]
    xx, yy, zz = (times(w[k], w[k]) for k in range(3))
    xy, xz, yz = times(w[0], w[1]), times(w[0], w[2]), times(w[1], w[2])
    # N = I u + w x I w
    tensor: list[Vec] = [
        (u[0], xz, _negative(xy)),
        (_negative(W[2][0]), W[2][1], minus(xx, yy)),
        (W[1][0], minus(zz, xx), _negative(W[1][2])),
        (_negative(yz), u[1], xy),
        (minus(yy, zz), _negative(W[0][1]), W[0][2]),
        (yz, _negative(xz), u[2]),
    ]
    return [(a, ZERO), *first, *((ZERO, moment) for moment in tensor)]


def _negative(x: Scalar) -> Scalar:
    return minus(0.0, x)
