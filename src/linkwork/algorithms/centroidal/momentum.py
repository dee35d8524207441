"""The momentum of a robot, [linear; angular], and the matrices that give it from nu.

Momentum is written as a wrench on the base is:

    mixed      axes of the world, about the base's origin
    body       axes of the base, about the base's origin
    inertial   axes of the world, about the world's origin

Centroidal momentum is about the CoM, in the axes of the world, or of the base for body; without
mass there is no CoM, which is a ModelError.
"""

from __future__ import annotations

from linkwork.algorithms.centroidal.com import (
    Moments,
    body_rotations,
    columns_in_parent,
    is_leaf,
    momentum_rate,
    per_mass,
)
from linkwork.algorithms.dynamics.crba import composites, inertias
from linkwork.algorithms.dynamics.dynamics import mass_matrix
from linkwork.algorithms.dynamics.rnea import gather, poses
from linkwork.algorithms.kinematics.frames import Matrix, Numbers, velocities
from linkwork.algorithms.kinematics.jacobians import rows_of_columns
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joints import ZERO_TWIST, JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Scalar,
    Twist,
    Vec,
    add,
    apply,
    cross,
    full,
    halves,
    neg,
    scale,
    sub,
    twist_add,
)


def momentum(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(6,) momentum of the robot, as a wrench on the base is written."""
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    linear, angular = base.wrench_out(*_at_base(skeleton, joints, nu, base.twist(nu)))
    return [*linear, *angular]


def momentum_jacobian(skeleton: Skeleton, q: Numbers, *, velocity: Representation) -> Matrix:
    """(6, nv) J with momentum = J nu."""
    if skeleton.layout.floating:
        return mass_matrix(skeleton, q, velocity=velocity)[:6]
    base = base_of(skeleton.layout, q, velocity)
    momenta = inertias(skeleton, poses(skeleton, q)).momenta
    columns = {index: base.wrench_out(*column) for index, column in momenta.items()}
    return rows_of_columns(columns, range(skeleton.layout.nv))


def centroidal_momentum(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(6,) momentum of the robot about its CoM."""
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    linear, angular = _at_base(skeleton, joints, nu, base.twist(nu))
    c = Moments(skeleton, joints, per_mass(skeleton)).first[0]
    angular = sub(angular, cross(c, linear))
    if velocity == "body":
        return [*linear, *angular]
    return [*apply(base.R, linear), *apply(base.R, angular)]


def centroidal_momentum_matrix(
    skeleton: Skeleton, q: Numbers, *, velocity: Representation
) -> Matrix:
    """(6, nv) A with centroidal_momentum = A nu."""
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    carried = composites(skeleton, joints)
    rotations = body_rotations(skeleton, joints, IDENTITY if velocity == "body" else base.R)
    robot = carried[0].rotated(rotations[0])
    c = scale(per_mass(skeleton), robot.first_moment)  # from the base's origin
    by_index: dict[int, Twist] = {}
    if skeleton.layout.floating:
        lever = add(base.o, c) if velocity == "inertial" else c
        by_index = dict(enumerate(_columns_of_base(robot, c, lever)))
    arms = {0: neg(c)}  # from the CoM to the origin of each body
    for number, pose in joints.items():
        body = skeleton.bodies[number]
        arms[number] = add(arms[body.parent], apply(rotations[body.parent], pose.p))
        inertia, columns, R = carried[number], pose.columns, rotations[number]
        if is_leaf(skeleton, number):  # in the axes of the parent, in which inertias are constant
            inertia, columns = inertia.rotated(pose.R), columns_in_parent(pose)
            R = rotations[body.parent]
        for k, column in zip(body.nu_indices, columns, strict=True):
            # F = I S, about the CoM
            linear, angular = (apply(R, half) for half in inertia.momentum(*column))
            angular = add(angular, cross(arms[number], linear))
            by_index[k] = twist_add(by_index.get(k, ZERO_TWIST), (linear, angular))
    return rows_of_columns(by_index, range(skeleton.layout.nv))


def centroidal_momentum_bias(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(6,) rate of the centroidal momentum at nu_dot = 0: A_dot nu."""
    return centroidal_momentum_rate(skeleton, q, nu, None, velocity=velocity)


def centroidal_momentum_rate(
    skeleton: Skeleton,
    q: Numbers,
    nu: Numbers,
    nu_dot: Numbers | None,
    *,
    velocity: Representation,
) -> list[Scalar]:
    """(6,) derivative of the numbers of `centroidal_momentum`; None for nu_dot stands for zero."""
    base = base_of(skeleton.layout, q, velocity)
    force, moment = momentum_rate(skeleton, q, nu, nu_dot, velocity)
    c = scale(per_mass(skeleton), composites(skeleton, poses(skeleton, q))[0].first_moment)
    moment = sub(moment, cross(c, force))
    if velocity != "body":
        return [*apply(base.R, force), *apply(base.R, moment)]
    # seen from the base, which rotates
    _, w = base.twist(nu)
    numbers = centroidal_momentum(skeleton, q, nu, velocity=velocity)
    linear, angular = halves(numbers)
    return [*sub(force, cross(w, linear)), *sub(moment, cross(w, angular))]


def _at_base(skeleton: Skeleton, joints: dict[int, JointPose], nu: Numbers, base: Twist) -> Twist:
    """(linear, angular) momentum of the robot in the base's axes, about its origin."""
    moving = velocities(skeleton, joints, nu, base)
    own = {k: skeleton.bodies[k].inertia.momentum(*twist) for k, twist in moving.items()}
    summed = gather(skeleton, joints, own)
    return summed.base_force, summed.base_moment


def _columns_of_base(robot: RigidInertia, c: Vec, lever: Vec) -> list[Twist]:
    """Momentum about the CoM of the robot moving as one body.

    Args:
        robot: its inertia about the base's origin.
        c: the CoM from there.
        lever: the CoM from the point whose velocity the numbers of the base give.
    """
    pushed = [(scale(robot.mass, axis), ZERO) for axis in IDENTITY]
    first = robot.first_moment if lever is c else scale(robot.mass, lever)
    tensor = full(robot.tensor_about_com(c))
    rotating = zip(IDENTITY, tensor, strict=True)
    return pushed + [(cross(axis, first), row) for axis, row in rotating]
