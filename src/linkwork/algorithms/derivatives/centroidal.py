"""Derivatives of the centroidal momentum, its rate, and the CoM velocity w.r.t. q, nu and nu_dot.

The rate of the momentum is the wrench that inverse dynamics without gravity finds on the whole
robot. So a unit step along a coordinate changes it by the column that the coordinate has in the
derivatives of inverse dynamics, here moved to the CoM directly. A step displaces the CoM by dc:
moments get -dc x f, with f the force on the robot.

The momentum is the rate at rest with nu in place of nu_dot, and the velocity of the CoM is its
linear part divided by the mass.

The base is taken to rotate only, as its linear velocity does not matter about the CoM. Its columns
follow from a rotation of the whole robot together with its velocity, which rotates the result.
Results are written in the axes of the world, in the body representation in those of the base.

Carpentier, Mansard (2018) have the same sums of subtrees for inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkwork.algorithms.centroidal.com import body_rotations, com_jacobian, is_leaf, per_mass
from linkwork.algorithms.centroidal.momentum import centroidal_momentum_matrix
from linkwork.algorithms.derivatives.subtrees import (
    Bodies,
    Coordinate,
    Moving,
    Subtree,
    subtrees_of,
)
from linkwork.algorithms.dynamics.rnea import body_motion
from linkwork.algorithms.kinematics.frames import Matrix, Scalars
from linkwork.algorithms.kinematics.jacobians import rows_of_columns
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joints import JointPose, combined
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import IDENTITY, ZERO, ZERO_FORCE, Force, Mat, Motion, Vec


def centroidal_momentum_derivatives(
    skeleton: Skeleton, q: Scalars, nu: Scalars, *, velocity: Representation
) -> tuple[Matrix, Matrix]:
    """(6, nv) derivatives of `centroidal_momentum` w.r.t. q, and w.r.t. nu: its matrix."""
    A = centroidal_momentum_matrix(skeleton, q, velocity=velocity)
    robot = _robot_in_motion(skeleton, q, None, nu, velocity)
    by_q, _ = _derivatives(robot, A)
    return rows_of_columns(by_q, range(skeleton.layout.nv)), A


def centroidal_momentum_rate_derivatives(
    skeleton: Skeleton, q: Scalars, nu: Scalars, nu_dot: Scalars, *, velocity: Representation
) -> tuple[Matrix, Matrix, Matrix]:
    """(6, nv) derivatives of `centroidal_momentum_rate` w.r.t. q, nu, and nu_dot."""
    A = centroidal_momentum_matrix(skeleton, q, velocity=velocity)
    by_q, by_nu = _derivatives(_robot_in_motion(skeleton, q, nu, nu_dot, velocity), A)
    if velocity == "body":  # the derivatives of  g - w x h,  from those of g and of h
        of_momentum = _robot_in_motion(skeleton, q, None, nu, velocity)
        h_by_q, _ = _derivatives(of_momentum, A)
        w = of_momentum.u
        by_q = {k: column - Motion(ZERO, w).cross(h_by_q[k]) for k, column in by_q.items()}
        h_by_nu = _columns_of(A)
        by_nu = {k: column - Motion(ZERO, w).cross(h_by_nu[k]) for k, column in by_nu.items()}
        if skeleton.layout.floating:
            by_nu.update(dict.fromkeys(range(3), ZERO_FORCE))
            for k, axis in enumerate(IDENTITY, start=3):
                by_nu[k] = by_nu[k] - Motion(ZERO, axis).cross(of_momentum.wrench)
    indices = range(skeleton.layout.nv)
    return rows_of_columns(by_q, indices), rows_of_columns(by_nu, indices), A


def com_velocity_derivatives(
    skeleton: Skeleton, q: Scalars, nu: Scalars, *, velocity: Representation
) -> tuple[Matrix, Matrix]:
    """(3, nv) derivatives of `com_velocity` w.r.t. q, and w.r.t. nu: the Jacobian."""
    robot = _robot_in_motion(skeleton, q, None, nu, velocity, in_world=True)
    by_q, _ = _derivatives(robot, None)
    columns = {k: robot.per_mass * force for k, (force, _) in by_q.items()}
    if velocity == "body" and robot.base.floating:  # a rotation of the base rotates the velocity
        v = robot.base.R @ robot.base.own_part(nu)[0]
        c_dot = v + robot.per_mass * robot.whole.wrench[0]
        axes = enumerate(robot.base.R.T, start=3)
        columns.update({k: axis.cross(c_dot) for k, axis in axes})
    in_order = [columns.get(k, ZERO) for k in range(skeleton.layout.nv)]
    rows = [[column[row] for column in in_order] for row in range(3)]
    return rows, com_jacobian(skeleton, q, velocity=velocity)


@dataclass(frozen=True, slots=True)
class _RobotInMotion:
    """A robot whose base rotates only; vectors without a body are in the axes of the result."""

    skeleton: Skeleton
    base: Base
    joints: Mapping[int, JointPose]
    subtrees: Mapping[int, Subtree]
    coordinates: Mapping[int, Sequence[Coordinate]]
    nu: Scalars | None  # None for zeros
    whole: Subtree  # the robot about the base's origin
    rotations: Mapping[int, Mat]  # of each body
    arms: Mapping[int, Vec]  # from the CoM to the origin of each body
    com: Vec  # from the base's origin
    per_mass: float
    w: Vec  # angular velocity of the base
    u: Vec  # its angular acceleration

    @property
    def wrench(self) -> Force:
        """The rate of the momentum: force on the robot, and moment about the CoM."""
        return self.at_com(self.whole.wrench)

    def at_com(self, wrench: Force) -> Force:
        """Return a wrench about the base's origin as one about the CoM."""
        force, moment = wrench
        return Force(force, moment - self.com.cross(force))

    def about_com(self, number: int, wrench: Force) -> Force:
        """Return a wrench in a body's axes as one about the CoM, in the axes of the result."""
        parent = self.skeleton.bodies[number].parent
        R = self.rotations[number]
        if is_leaf(self.skeleton, number):  # its rotation is not needed otherwise
            wrench, R = self.joints[number].R @ wrench, self.rotations[parent]
        return (R @ wrench).shifted(self.arms[number])


def _robot_in_motion(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars | None,
    nu_dot: Scalars,
    velocity: Representation,
    *,
    in_world: bool = False,
) -> _RobotInMotion:
    """Return the robot's motion with its base's origin at rest; optionally in the world's axes."""
    base = base_of(skeleton.layout, q, velocity)
    bodies = Bodies(skeleton, base, q, {})
    w, u = base.twist(nu)[1], base.acceleration(nu, nu_dot, ZERO)[1]
    start = Moving(ZERO, body_motion(w, u, ZERO))
    subtrees, coordinates = subtrees_of(skeleton, bodies, start, nu, nu_dot)
    axes = IDENTITY if velocity == "body" and not in_world else base.R
    rotations = body_rotations(skeleton, bodies.joints, axes)
    whole, share = subtrees[0].rotated(rotations[0]), per_mass(skeleton)
    com = share * whole.inertia.first_moment
    arms = {0: -com}
    for number, pose in bodies.joints.items():
        parent = skeleton.bodies[number].parent
        arms[number] = arms[parent] + rotations[parent] @ pose.p
    return _RobotInMotion(
        skeleton,
        base,
        bodies.joints,
        subtrees,
        coordinates,
        nu,
        whole,
        rotations,
        arms,
        com,
        share,
        base.own_part(nu)[1],
        base.own_part(nu_dot)[1],
    )


def _derivatives(
    robot: _RobotInMotion, A: Matrix | None
) -> tuple[dict[int, Force], dict[int, Force]]:
    """Return columns w.r.t. q and nu; in body, without the rotation of the axes of the result.

    Args:
        robot: in motion; at rest, there are no columns of joints w.r.t. nu.
        A: the centroidal momentum matrix; None if only forces are used.
    """
    by_q: dict[int, Force] = {}
    by_nu: dict[int, Force] = {}
    for number, subtree in robot.subtrees.items():
        for at in robot.coordinates.get(number, ()):
            column = subtree.by_q(at) + at.S.cross(subtree.wrench)
            _add(by_q, at.index, robot.about_com(number, column))
            if robot.nu is not None:
                _add(by_nu, at.index, robot.about_com(number, subtree.by_nu(at)))
    if A is not None:  # -dc x f, with dc = A_linear / m
        displaced, f = _columns_of(A), robot.per_mass * robot.whole.wrench[0]
        for k, (force, moment) in by_q.items():
            by_q[k] = Force(force, moment + f.cross(displaced[k][0]))
    if robot.base.floating:
        of_base = _base_columns(robot)
        by_q.update(enumerate(of_base[0]))
        by_nu.update(enumerate(of_base[1]))
    return by_q, by_nu


def _base_columns(robot: _RobotInMotion) -> tuple[list[Force], list[Force]]:
    """Return columns w.r.t. the pose of the base, and w.r.t. its velocity.

    A rotation of the whole robot, with its velocity and acceleration, rotates the wrench. The
    contribution of those, which are held constant, is subtracted.
    """
    inertia, w = robot.whole.inertia, robot.w
    tensor = inertia.tensor_about_com(robot.com).full
    by_u = [
        Force(axis.cross(inertia.first_moment), row)
        for axis, row in zip(IDENTITY, tensor, strict=True)
    ]
    by_w: list[Force] = []
    rotating: list[Force] = []
    for axis in IDENTITY:
        # I (w x axis) + 2 B axis
        turned = inertia @ Motion(ZERO, w.cross(axis))
        by_w.append(robot.at_com(turned + robot.whole.twice_B @ Motion(ZERO, axis)))
    for axis in IDENTITY:
        column = Motion(ZERO, axis).cross(robot.wrench) - combined(
            axis.cross(robot.u), by_u, ZERO_FORCE
        )
        rotating.append(column - combined(axis.cross(w), by_w, ZERO_FORCE))
    still = [ZERO_FORCE] * 3
    if robot.base.velocity == "body":
        return still * 2, still + by_w
    if robot.base.velocity == "mixed":
        return still + rotating, still + by_w
    # the base's origin moves: o_dot = v + w x o,  o_ddot = v_dot + u x o + w x o_dot
    mass, W = inertia.mass, body_motion(w, robot.u, ZERO).W.T
    sliding = [Force(mass * column, ZERO) for column in W]
    by_v = [Force(mass * w.cross(axis), ZERO) for axis in IDENTITY]
    v = robot.base.own_part(robot.nu)[0]
    o_dot = mass * (v + w.cross(robot.base.o))
    driven = [x + Force(e.cross(o_dot), ZERO) for x, e in zip(by_w, IDENTITY, strict=True)]
    by_q = sliding + _about_origin(robot, sliding, rotating)
    return by_q, by_v + _about_origin(robot, by_v, driven)


def _about_origin(
    robot: _RobotInMotion, sliding: Sequence[Force], rotating: Sequence[Force]
) -> list[Force]:
    """Return columns of rotations about the world's origin, from rotations about the base's."""
    return [
        combined(axis.cross(robot.base.o), sliding, column)
        for axis, column in zip(IDENTITY, rotating, strict=True)
    ]


def _columns_of(rows: Matrix) -> list[Force]:
    return [Force.of(column) for column in zip(*rows, strict=True)]


def _add(columns: dict[int, Force], index: int, column: Force) -> None:
    columns[index] = columns.get(index, ZERO_FORCE) + column
