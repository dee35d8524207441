"""Subtrees in motion: a body with all it carries, as the derivatives of dynamics need it.

The components of an external wrench are constant, in the representation in force, while the robot
is displaced by (v, w). Relative to the robot, which carries its internal forces along, the wrench
changes:

    body       not at all
    mixed      by w x force, w x moment about the frame's origin; with the sign of a load, this is a
               matrix of the same form as B
    inertial   it is fixed in the world, and so not carried along
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.algorithms.derivatives.tangents import Coordinate, Moving, outward, twice_drift
from linkwork.algorithms.dynamics.coriolis import BodyCoriolis, coriolis_of_body, without_product
from linkwork.algorithms.dynamics.crba import seen_inward
from linkwork.algorithms.dynamics.dynamics import Wrenches, on_bodies
from linkwork.algorithms.dynamics.rnea import body_wrench, poses
from linkwork.algorithms.kinematics.frames import Numbers
from linkwork.mechanics.base import Base, Representation
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joints import ZERO_TWIST, JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
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
    twist_add,
    wedge,
)

NO_INERTIA = RigidInertia(0.0, ZERO, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
NO_CORIOLIS = BodyCoriolis(ZERO, (ZERO, ZERO, ZERO))


@dataclass(frozen=True, slots=True)
class Subtree:
    """A body and all it carries, in motion."""

    inertia: RigidInertia
    twice_B: BodyCoriolis
    wrench: Twist  # that acts on them, less the external wrenches
    external_wrench_rate: BodyCoriolis | None = None  # in mixed
    world_fixed_wrench: Twist | None = None  # external wrenches, in inertial

    def plus(self, other: Subtree) -> Subtree:
        """The sum of two subtrees of one body."""
        rate = self.external_wrench_rate or other.external_wrench_rate
        fixed = self.world_fixed_wrench or other.world_fixed_wrench
        if self.external_wrench_rate and other.external_wrench_rate:
            rate = self.external_wrench_rate.plus(other.external_wrench_rate)
        if self.world_fixed_wrench and other.world_fixed_wrench:
            fixed = twist_add(self.world_fixed_wrench, other.world_fixed_wrench)
        return Subtree(
            self.inertia.plus(other.inertia),
            self.twice_B.plus(other.twice_B),
            twist_add(self.wrench, other.wrench),
            rate,
            fixed,
        )

    def inward(self, pose: JointPose, twice_drift: Vec) -> Subtree:
        """This subtree as part of its parent, for the observer of the parent (`tangents`)."""
        h, m = apply(pose.R, self.inertia.first_moment), self.inertia.mass
        f = add(apply(pose.R, self.twice_B.f), scale(m, twice_drift))
        D = without_product(pose.rotated(self.twice_B.D), h, twice_drift)
        return Subtree(
            seen_inward(pose, self.inertia),
            BodyCoriolis(f, without_product(D, pose.p, f)),
            pose.inward(*self.wrench),
            self.external_wrench_rate and self.external_wrench_rate.inward(pose),
            self.world_fixed_wrench and pose.inward(*self.world_fixed_wrench),
        )

    def by_q(self, at: Coordinate) -> Twist:
        """Derivative of the wrench w.r.t. the position of a coordinate that carries the subtree.

        Less what is carried along with the subtree:  I psi_dot + 2 B psi.
        """
        return twist_add(self.inertia.momentum(*at.psi_dot), self.twice_B.forces(*at.psi))

    def by_nu(self, at: Coordinate) -> Twist:
        """Derivative of the wrench w.r.t. the velocity of the coordinate:  I theta + 2 B S."""
        return twist_add(self.inertia.momentum(*at.theta), self.twice_B.forces(*at.S))

    def rotated(self, R: Mat) -> Subtree:
        """This subtree in axes in which the present ones are R, external wrenches left out."""
        force, moment = twist_add(self.wrench, self.world_fixed_wrench or ZERO_TWIST)
        return Subtree(
            self.inertia.rotated(R),
            self.twice_B.rotated(R),
            (apply(R, force), apply(R, moment)),
            self.external_wrench_rate and self.external_wrench_rate.rotated(R),
        )


class Bodies:
    """The bodies of a robot, their poses, and the external wrenches on them."""

    def __init__(self, skeleton: Skeleton, base: Base, q: Numbers, wrenches: Wrenches) -> None:
        self._bodies = skeleton.bodies
        self._velocity: Representation = base.velocity
        self.joints = poses(skeleton, q)
        self._wrenches: dict[int, list[tuple[Vec, Twist]]] = {}
        on_frames = on_bodies(skeleton, base, self.joints, wrenches, base.velocity)
        for index, wrench in on_frames.items():
            body, _, p = skeleton.frames[index]
            self._wrenches.setdefault(body, []).append((p, wrench))

    def alone(self, number: int, moving: Moving) -> Subtree:
        """A body without those that it carries."""
        inertia = self._bodies[number].inertia
        twice_B = coriolis_of_body(inertia.times(2.0), *moving.twist)
        own = Subtree(inertia, twice_B, body_wrench(inertia, moving.motion))
        for p, wrench in self._wrenches.get(number, ()):
            own = own.plus(_pushed(p, wrench, self._velocity))
        return own


def subtrees_of(
    skeleton: Skeleton, bodies: Bodies, base: Moving, nu: Numbers | None, nu_dot: Numbers
) -> tuple[dict[int, Subtree], dict[int, list[Coordinate]]]:
    """Each body with all it carries, and the coordinates of its joint, from the base's motion."""
    moving, coordinates = {0: base}, dict[int, list[Coordinate]]()
    for number, pose in bodies.joints.items():
        parent = moving[skeleton.bodies[number].parent]
        moving[number], coordinates[number] = outward(pose, parent, nu, nu_dot)
    subtrees = {number: bodies.alone(number, motion) for number, motion in moving.items()}
    for number in reversed(bodies.joints):
        pose, parent = bodies.joints[number], skeleton.bodies[number].parent
        drift = twice_drift(pose, moving[parent])
        subtrees[parent] = subtrees[parent].plus(subtrees[number].inward(pose, drift))
    return subtrees, coordinates


def _pushed(p: Vec, wrench: Twist, velocity: Representation) -> Subtree:
    """The contribution of an external wrench on a frame at p to the subtree of its body."""
    force, moment = wrench
    rate = None
    if velocity == "mixed":
        # w x force, and w x (moment - p x force) + p x (w x force)
        about = wedge(sub(cross(p, force), moment))
        rate = BodyCoriolis(force, without_product(about, p, force))
    less = neg(force), neg(moment)
    fixed = wrench if velocity == "inertial" else None
    return Subtree(NO_INERTIA, NO_CORIOLIS, less, rate, fixed)
