"""Momentum of a robot, the robot as one rigid body, and energy.

Momentum, [linear; angular], is written as a wrench on the base is:

    mixed      axes of the world, about the base's origin
    body       axes of the base, about the base's origin
    inertial   axes of the world, about the world's origin

Centroidal momentum is about the CoM, in the axes of the world, or of the base for body; without
mass there is no CoM, which is a ModelError.

The locked inertia is that of the robot with its joints locked. The average velocity is that of a
rigid body with this inertia and the robot's momentum, written as the velocity of the base is.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.centroidal.com import (
    Moments,
    body_rotations,
    is_leaf,
    momentum_rate,
    per_mass,
    total_mass,
)
from linkwork.algorithms.dynamics.crba import composites, inertias, mass_matrix
from linkwork.algorithms.dynamics.factor import solve_symmetric
from linkwork.algorithms.dynamics.rnea import gather
from linkwork.algorithms.kinematics.frames import Matrix, Scalars, joint_poses, velocities
from linkwork.algorithms.kinematics.jacobians import rows_of_columns
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import IDENTITY, ZERO, ZERO_FORCE, Force, Motion, Scalar, Vec


def momentum(
    skeleton: Skeleton, q: Scalars, nu: Scalars, *, velocity: Representation
) -> list[Scalar]:
    """(6,) momentum of the robot, as a wrench on the base is written."""
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    return base.wrench_out(_at_base(skeleton, joints, nu, base.twist(nu))).entries


def momentum_jacobian(skeleton: Skeleton, q: Scalars, *, velocity: Representation) -> Matrix:
    """(6, nv) J with momentum = J nu."""
    if skeleton.layout.floating:
        return mass_matrix(skeleton, q, velocity=velocity)[:6]
    base = base_of(skeleton.layout, q, velocity)
    momenta = inertias(skeleton, joint_poses(skeleton, q)).momenta
    columns = {index: base.wrench_out(column) for index, column in momenta.items()}
    return rows_of_columns(columns, range(skeleton.layout.nv))


def centroidal_momentum(
    skeleton: Skeleton, q: Scalars, nu: Scalars, *, velocity: Representation
) -> list[Scalar]:
    """(6,) momentum of the robot about its CoM."""
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    linear, angular = _at_base(skeleton, joints, nu, base.twist(nu))
    c = Moments(skeleton, joints, per_mass(skeleton)).first[0]
    about_com = Force(linear, angular - c.cross(linear))
    return (about_com if velocity == "body" else base.R @ about_com).entries


def centroidal_momentum_matrix(
    skeleton: Skeleton, q: Scalars, *, velocity: Representation
) -> Matrix:
    """(6, nv) A with centroidal_momentum = A nu."""
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    carried = composites(skeleton, joints)
    rotations = body_rotations(skeleton, joints, IDENTITY if velocity == "body" else base.R)
    robot = carried[0].rotated(rotations[0])
    c = per_mass(skeleton) * robot.first_moment  # from the base's origin
    by_index: dict[int, Force] = {}
    if skeleton.layout.floating:
        lever = base.o + c if velocity == "inertial" else c
        by_index = dict(enumerate(_columns_of_base(robot, c, lever)))
    arms = {0: -c}  # from the CoM to the origin of each body
    for number, pose in joints.items():
        body = skeleton.bodies[number]
        arms[number] = arms[body.parent] + rotations[body.parent] @ pose.p
        inertia, columns, R = carried[number], pose.columns, rotations[number]
        if is_leaf(skeleton, number):  # in the axes of the parent, in which inertias are constant
            inertia = inertia.rotated(pose.R)
            columns = [pose.R @ column for column in pose.columns]
            R = rotations[body.parent]
        for k, column in zip(body.nu_indices, columns, strict=True):
            # F = I S, about the CoM
            F = (R @ (inertia @ column)).shifted(arms[number])
            by_index[k] = by_index.get(k, ZERO_FORCE) + F
    return rows_of_columns(by_index, range(skeleton.layout.nv))


def centroidal_momentum_rate(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars | None = None,
    *,
    velocity: Representation,
) -> list[Scalar]:
    """(6,) derivative of the entries of `centroidal_momentum`: A nu_dot + A_dot nu.

    None for nu_dot stands for zero, and leaves A_dot nu.
    """
    base = base_of(skeleton.layout, q, velocity)
    force, moment = momentum_rate(skeleton, q, nu, nu_dot, velocity)
    c = per_mass(skeleton) * composites(skeleton, joint_poses(skeleton, q))[0].first_moment
    rate = Force(force, moment - c.cross(force))
    if velocity != "body":
        return (base.R @ rate).entries
    # seen from the base, which rotates
    _, w = base.twist(nu)
    about_com = Force.of(centroidal_momentum(skeleton, q, nu, velocity=velocity))
    return (rate - Motion(ZERO, w).cross(about_com)).entries


def locked_inertia(skeleton: Skeleton, q: Scalars, *, velocity: Representation) -> Matrix:
    """(6, 6) inertia of the robot with its joints locked: momentum = I velocity of the base."""
    return _inertia_matrix(_locked(skeleton, q, velocity))


def centroidal_locked_inertia(
    skeleton: Skeleton, q: Scalars, *, velocity: Representation
) -> Matrix:
    """(6, 6) inertia of the robot with its joints locked, about the CoM."""
    return _inertia_matrix(_locked_at_com(skeleton, q, velocity))


def average_velocity(
    skeleton: Skeleton, q: Scalars, nu: Scalars, *, velocity: Representation
) -> list[Scalar]:
    """(6,) velocity of the robot as one body."""
    values = momentum(skeleton, q, nu, velocity=velocity)
    return _rigid_velocities(skeleton, _locked(skeleton, q, velocity), [values])[0]


def average_velocity_jacobian(
    skeleton: Skeleton, q: Scalars, *, velocity: Representation
) -> Matrix:
    """(6, nv) J with average_velocity = J nu."""
    J = momentum_jacobian(skeleton, q, velocity=velocity)
    return _rigid_velocity_columns(skeleton, _locked(skeleton, q, velocity), J)


def centroidal_average_velocity(
    skeleton: Skeleton, q: Scalars, nu: Scalars, *, velocity: Representation
) -> list[Scalar]:
    """(6,) velocity of the CoM, and the average angular velocity."""
    values = centroidal_momentum(skeleton, q, nu, velocity=velocity)
    return _rigid_velocities(skeleton, _locked_at_com(skeleton, q, velocity), [values])[0]


def centroidal_average_velocity_jacobian(
    skeleton: Skeleton, q: Scalars, *, velocity: Representation
) -> Matrix:
    """(6, nv) J with centroidal_average_velocity = J nu."""
    A = centroidal_momentum_matrix(skeleton, q, velocity=velocity)
    return _rigid_velocity_columns(skeleton, _locked_at_com(skeleton, q, velocity), A)


def kinetic_energy(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> Scalar:
    """Kinetic energy [J]: half of nu M nu."""
    base = base_of(skeleton.layout, q, velocity)
    moving = velocities(skeleton, joint_poses(skeleton, q), nu, base.twist(nu))
    twice: Scalar = 0.0
    for number, twist in moving.items():
        twice = twice + twist.dot(skeleton.bodies[number].inertia @ twist)
    for k, added in joint_dynamics.items():
        twice = twice + added.armature * (nu[k] * nu[k])
    return 0.5 * twice


def potential_energy(skeleton: Skeleton, q: Scalars, *, gravity: Vec) -> Scalar:
    """Energy of the robot in the field of gravity [J]: zero with the CoM at the world's origin.

    Args:
        gravity: acceleration of free fall, in the axes of the world.
    """
    base = base_of(skeleton.layout, q, "mixed")
    h = Moments(skeleton, joint_poses(skeleton, q), 1.0).first[0]
    first_moment = total_mass(skeleton) * base.o + base.R @ h
    return -gravity.dot(first_moment)


def _at_base(skeleton: Skeleton, joints: dict[int, JointPose], nu: Scalars, base: Motion) -> Force:
    """Return the momentum of the robot in the base's axes, about its origin."""
    moving = velocities(skeleton, joints, nu, base)
    momenta = {k: skeleton.bodies[k].inertia @ twist for k, twist in moving.items()}
    return gather(skeleton, joints, momenta).base


def _columns_of_base(robot: RigidInertia, c: Vec, lever: Vec) -> list[Force]:
    """Return the momentum about the CoM of the robot moving as one body.

    Args:
        robot: its inertia about the base's origin.
        c: the CoM from there.
        lever: the CoM from the point whose velocity the entries of the base in nu are.
    """
    pushed = [Force(robot.mass * axis, ZERO) for axis in IDENTITY]
    first = robot.first_moment if lever is c else robot.mass * lever
    tensor = robot.tensor_about_com(c).full
    rotating = zip(IDENTITY, tensor, strict=True)
    return pushed + [Force(axis.cross(first), row) for axis, row in rotating]


def _locked(skeleton: Skeleton, q: Scalars, velocity: Representation) -> RigidInertia:
    """Return the inertia of the locked robot, where the velocity of the base is written."""
    base = base_of(skeleton.layout, q, velocity)
    R, o = base.expressed_at
    return composites(skeleton, joint_poses(skeleton, q))[0].rotated(R).shifted(o)


def _locked_at_com(skeleton: Skeleton, q: Scalars, velocity: Representation) -> RigidInertia:
    base = base_of(skeleton.layout, q, velocity)
    R = IDENTITY if velocity == "body" else base.R
    robot = composites(skeleton, joint_poses(skeleton, q))[0].rotated(R)
    c = per_mass(skeleton) * robot.first_moment
    return RigidInertia(robot.mass, ZERO, robot.tensor_about_com(c))


def _inertia_matrix(robot: RigidInertia) -> Matrix:
    m, h, tensor = robot.mass, robot.first_moment.wedge, robot.tensor.full
    top = [[m if i == j else 0.0 for j in range(3)] + [h[j][i] for j in range(3)] for i in range(3)]
    return top + [[*h[i], *tensor[i]] for i in range(3)]


def _rigid_velocities(
    skeleton: Skeleton, robot: RigidInertia, momenta: Sequence[Sequence[Scalar]]
) -> Matrix:
    """Return the velocities of a rigid body of this inertia that has these momenta."""
    per = per_mass(skeleton)
    c = per * robot.first_moment
    at_com = robot.tensor_about_com(c).full
    pairs = [Force.of(values) for values in momenta]
    about_com = [angular - c.cross(linear) for linear, angular in pairs]
    right = list(zip(*about_com, strict=True))
    spins = zip(*solve_symmetric(at_com, right, ["the robot as one body"] * 3), strict=True)
    return [
        [*per * linear + c.cross(Vec(x, y, z)), x, y, z]
        for (linear, _), (x, y, z) in zip(pairs, spins, strict=True)
    ]


def _rigid_velocity_columns(skeleton: Skeleton, robot: RigidInertia, J: Matrix) -> Matrix:
    columns = _rigid_velocities(skeleton, robot, [[row[k] for row in J] for k in range(len(J[0]))])
    return [[column[row] for column in columns] for row in range(6)]
