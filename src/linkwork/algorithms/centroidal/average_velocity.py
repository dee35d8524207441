"""The robot moving as one rigid body: its locked inertia and its average velocity.

The average velocity is that of a rigid body with the robot's inertia and the robot's momentum. It
is written as the velocity of the base (see `base`); centroidal quantities are about the CoM, in the
axes of the world, or of the base for the body representation.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.centroidal.com import per_mass
from linkwork.algorithms.centroidal.momentum import (
    centroidal_momentum,
    centroidal_momentum_matrix,
    momentum,
    momentum_jacobian,
)
from linkwork.algorithms.dynamics.crba import composites
from linkwork.algorithms.dynamics.factor import solve_symmetric
from linkwork.algorithms.dynamics.rnea import poses
from linkwork.algorithms.kinematics.frames import Matrix, Numbers
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Scalar,
    add,
    cross,
    full,
    halves,
    scale,
    sub,
    wedge,
)


def locked_inertia(skeleton: Skeleton, q: Numbers, *, velocity: Representation) -> Matrix:
    """(6, 6) inertia of the robot with its joints locked: momentum = I velocity of the base."""
    return _six_by_six(_locked(skeleton, q, velocity))


def centroidal_locked_inertia(
    skeleton: Skeleton, q: Numbers, *, velocity: Representation
) -> Matrix:
    """(6, 6) inertia of the robot with its joints locked, about the CoM."""
    return _six_by_six(_locked_at_com(skeleton, q, velocity))


def average_velocity(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(6,) velocity of the robot as one body."""
    numbers = momentum(skeleton, q, nu, velocity=velocity)
    return _solved(skeleton, _locked(skeleton, q, velocity), [numbers])[0]


def average_velocity_jacobian(
    skeleton: Skeleton, q: Numbers, *, velocity: Representation
) -> Matrix:
    """(6, nv) J with average_velocity = J nu."""
    J = momentum_jacobian(skeleton, q, velocity=velocity)
    return _columns_solved(skeleton, _locked(skeleton, q, velocity), J)


def centroidal_average_velocity(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(6,) velocity of the CoM, and the average angular velocity."""
    numbers = centroidal_momentum(skeleton, q, nu, velocity=velocity)
    return _solved(skeleton, _locked_at_com(skeleton, q, velocity), [numbers])[0]


def centroidal_average_velocity_jacobian(
    skeleton: Skeleton, q: Numbers, *, velocity: Representation
) -> Matrix:
    """(6, nv) J with centroidal_average_velocity = J nu."""
    A = centroidal_momentum_matrix(skeleton, q, velocity=velocity)
    return _columns_solved(skeleton, _locked_at_com(skeleton, q, velocity), A)


def _locked(skeleton: Skeleton, q: Numbers, velocity: Representation) -> RigidInertia:
    """Inertia of the locked robot, where the velocity of the base is written."""
    base = base_of(skeleton.layout, q, velocity)
    R, o = base.expressed_at
    return composites(skeleton, poses(skeleton, q))[0].rotated(R).shifted(o)


def _locked_at_com(skeleton: Skeleton, q: Numbers, velocity: Representation) -> RigidInertia:
    base = base_of(skeleton.layout, q, velocity)
    R = IDENTITY if velocity == "body" else base.R
    robot = composites(skeleton, poses(skeleton, q))[0].rotated(R)
    c = scale(per_mass(skeleton), robot.first_moment)
    return RigidInertia(robot.mass, ZERO, robot.tensor_about_com(c))


def _six_by_six(robot: RigidInertia) -> Matrix:
    m, h, tensor = robot.mass, wedge(robot.first_moment), full(robot.tensor)
    top = [[m if i == j else 0.0 for j in range(3)] + [h[j][i] for j in range(3)] for i in range(3)]
    return top + [[*h[i], *tensor[i]] for i in range(3)]


def _solved(skeleton: Skeleton, robot: RigidInertia, momenta: Sequence[Sequence[Scalar]]) -> Matrix:
    """Velocities of a rigid body of this inertia that has these momenta."""
    per = per_mass(skeleton)
    c = scale(per, robot.first_moment)
    at_com = full(robot.tensor_about_com(c))
    pairs = [halves(values) for values in momenta]
    about_com = [sub(angular, cross(c, linear)) for linear, angular in pairs]
    right = list(zip(*about_com, strict=True))
    spins = zip(*solve_symmetric(at_com, right, ["the robot as one body"] * 3), strict=True)
    return [
        [*add(scale(per, linear), cross(c, (x, y, z))), x, y, z]
        for (linear, _), (x, y, z) in zip(pairs, spins, strict=True)
    ]


def _columns_solved(skeleton: Skeleton, robot: RigidInertia, J: Matrix) -> Matrix:
    columns = _solved(skeleton, robot, [[row[k] for row in J] for k in range(len(J[0]))])
    return [[column[row] for column in columns] for row in range(6)]
