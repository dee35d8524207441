"""A robot and its motion as sums over subtrees: what derivatives of centroidal quantities take.

The momentum about the CoM does not change with the linear velocity of the base, except that of the
robot as one body; so the base is taken to rotate only. Results are written in the axes of the
world, in the body representation in those of the base.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linkwork.algorithms.com import body_rotations, per_mass
from linkwork.algorithms.coriolis import BodyCoriolis, coriolis_of_bodies
from linkwork.algorithms.crba import composites
from linkwork.algorithms.frames import Matrix, Numbers, velocities
from linkwork.algorithms.jacobians import rows_of_columns
from linkwork.algorithms.rnea import (
    BodyMotion,
    at_frame,
    body_wrenches,
    motions,
    poses,
    subtree_wrenches,
)
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joints import ZERO_TWIST, JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Twist,
    Vec,
    add,
    apply,
    cross,
    neg,
    scale,
    sub,
)


@dataclass(frozen=True, slots=True)
class Robot:
    """A robot somewhere."""

    skeleton: Skeleton
    base: Base
    joints: dict[int, JointPose]
    inertias: dict[int, RigidInertia]  # of each body with all it carries
    rotations: dict[int, Mat]  # of each body in the axes of the result
    arms: dict[int, Vec]  # from the CoM to the origin of each body, in the axes of the result
    whole: RigidInertia  # of the robot about the base's origin, in the axes of the result
    com: Vec  # from the base's origin
    per_mass: float
    carriers: frozenset[int]  # bodies that carry others

    def about_com(self, number: int, force: Vec, moment: Vec) -> Twist:
        """A wrench in a body's axes about its origin, as the result is written."""
        if number not in self.carriers:  # its rotation is not needed otherwise
            pose = self.joints[number]
            R = self.rotations[self.skeleton.bodies[number].parent]
            force, moment = apply(pose.R, force), apply(pose.R, moment)
        else:
            R = self.rotations[number]
        force, moment = apply(R, force), apply(R, moment)
        return force, add(moment, cross(self.arms[number], force))

    def of_base(self, force: Vec, moment: Vec) -> Twist:
        """The same of a wrench on the base."""
        force, moment = (apply(self.rotations[0], half) for half in (force, moment))
        return force, sub(moment, cross(self.com, force))

    def summed(self, wrenches: Mapping[int, Twist]) -> dict[int, Twist]:
        """Wrenches on each body with those on all it carries, in its axes about its origin."""
        return dict(subtree_wrenches(self.skeleton, self.joints, wrenches))

    def matrix(self, columns: Mapping[int, Twist]) -> Matrix:
        """(6, nv) rows of columns by index."""
        return rows_of_columns(columns, range(self.skeleton.layout.nv))


@dataclass(frozen=True, slots=True)
class Motion:
    """How a robot moves whose base rotates only.

    `w`, `u`, `momentum` and `rate` are in the axes of the result, the last two about the CoM. What
    accelerations enter is empty, or zero, without nu_dot.
    """

    nu: Numbers
    nu_dot: Numbers | None
    w: Vec  # angular velocity of the base
    u: Vec  # its angular acceleration
    V: dict[int, Twist]  # velocity of each body
    bodies: dict[int, BodyMotion]
    momenta: dict[int, Twist]  # of each body with all it carries
    momentum: Twist  # of the robot
    coriolis: dict[int, BodyCoriolis]  # of each body with all it carries
    rates: dict[int, Twist]  # of the momenta
    rate: Twist  # of the robot's momentum


def robot_at(skeleton: Skeleton, q: Numbers, velocity: Representation) -> Robot:
    """A robot at a configuration."""
    base, joints = base_of(skeleton.layout, q, velocity), poses(skeleton, q)
    inertias = composites(skeleton, joints)
    rotations = body_rotations(skeleton, joints, IDENTITY if velocity == "body" else base.R)
    whole, share = inertias[0].rotated(rotations[0]), per_mass(skeleton)
    com = scale(share, whole.first_moment)
    arms = {0: neg(com)}
    for number, pose in joints.items():
        parent = skeleton.bodies[number].parent
        arms[number] = add(arms[parent], apply(rotations[parent], pose.p))
    carriers = frozenset(body.parent for body in skeleton.bodies)
    return Robot(skeleton, base, joints, inertias, rotations, arms, whole, com, share, carriers)


def motion_of(robot: Robot, nu: Numbers, nu_dot: Numbers | None) -> Motion:
    """A robot that moves, and accelerates if nu_dot is given."""
    skeleton, base, joints = robot.skeleton, robot.base, robot.joints
    w = base.twist(nu)[1]
    V = velocities(skeleton, joints, nu, (ZERO, w))
    own = {k: skeleton.bodies[k].inertia.momentum(*twist) for k, twist in V.items()}
    momenta = robot.summed(own)
    bodies: dict[int, BodyMotion] = {}
    coriolis: dict[int, BodyCoriolis] = {}
    rates: dict[int, Twist] = {0: ZERO_TWIST}
    if nu_dot is not None:
        u = base.acceleration(nu, nu_dot, ZERO)[1]
        bodies = motions(skeleton, joints, nu, nu_dot, (w, u, ZERO))
        coriolis = coriolis_of_bodies(skeleton, joints, V)
        rates = robot.summed(body_wrenches(skeleton, bodies))
    return Motion(
        nu,
        nu_dot,
        base.own_part(nu)[1],
        base.own_part(nu_dot)[1],
        V,
        bodies,
        momenta,
        robot.of_base(*momenta[0]),
        coriolis,
        rates,
        robot.of_base(*rates[0]),
    )


def parent_velocity(robot: Robot, motion: Motion, number: int) -> Twist:
    """Velocity of a body's parent, seen from the body."""
    return robot.joints[number].outward(*motion.V[robot.skeleton.bodies[number].parent])


def parent_motion(robot: Robot, motion: Motion, number: int) -> BodyMotion:
    """Motion of a body's parent at the body's origin, in the body's axes."""
    pose = robot.joints[number]
    return at_frame(motion.bodies[robot.skeleton.bodies[number].parent], pose.R, pose.p)
