"""A body together with all that it carries, in motion: what derivatives of dynamics are made of.

Wrenches from outside are numbers that stay the same as the robot is displaced by (v, w), in the
representation in force. Seen from the robot, which carries its own forces along, they change:

    body       not at all
    mixed      w x force, w x moment about the frame's origin; with the sign of a load, a matrix of
               the same form as B
    inertial   as far as they are not carried along
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.algorithms.coriolis import BodyCoriolis, coriolis_of_body, without_product
from linkwork.algorithms.crba import seen_inward
from linkwork.algorithms.dynamics import Wrenches, on_bodies
from linkwork.algorithms.frames import Numbers
from linkwork.algorithms.rnea import body_wrench, poses
from linkwork.algorithms.tangents import Coordinate, Moving, outward, twice_drift
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
class Carried:
    """A body and all that it carries, in motion."""

    inertia: RigidInertia
    twice_B: BodyCoriolis
    wrench: Twist  # that acts on them, less the wrenches from outside
    outer: BodyCoriolis | None = None  # how wrenches from outside change, in mixed
    staying: Twist | None = None  # wrenches from outside that stay, in inertial

    def plus(self, other: Carried) -> Carried:
        """Both."""
        outer, staying = self.outer or other.outer, self.staying or other.staying
        if self.outer and other.outer:
            outer = self.outer.plus(other.outer)
        if self.staying and other.staying:
            staying = twist_add(self.staying, other.staying)
        return Carried(
            self.inertia.plus(other.inertia),
            self.twice_B.plus(other.twice_B),
            twist_add(self.wrench, other.wrench),
            outer,
            staying,
        )

    def inward(self, pose: JointPose, twice_drift: Vec) -> Carried:
        """The same seen from the parent, for the observer of the parent (`tangents`)."""
        h, m = apply(pose.R, self.inertia.first_moment), self.inertia.mass
        f = add(apply(pose.R, self.twice_B.f), scale(m, twice_drift))
        D = without_product(pose.rotated(self.twice_B.D), h, twice_drift)
        return Carried(
            seen_inward(pose, self.inertia),
            BodyCoriolis(f, without_product(D, pose.p, f)),
            pose.inward(*self.wrench),
            self.outer and self.outer.inward(pose),
            self.staying and pose.inward(*self.staying),
        )

    def by_q(self, at: Coordinate) -> Twist:
        """Derivative of the wrench w.r.t. the position of a coordinate that carries the subtree.

        Less what is carried along with the subtree:  I psi_dot + 2 B psi.
        """
        return twist_add(self.inertia.momentum(*at.psi_dot), self.twice_B.forces(*at.psi))

    def by_nu(self, at: Coordinate) -> Twist:
        """Derivative of the wrench w.r.t. the velocity of the coordinate:  I theta + 2 B S."""
        return twist_add(self.inertia.momentum(*at.theta), self.twice_B.forces(*at.S))

    def rotated(self, R: Mat) -> Carried:
        """The same in axes in which the present ones are R, with nothing of what stays."""
        force, moment = twist_add(self.wrench, self.staying or ZERO_TWIST)
        return Carried(
            self.inertia.rotated(R),
            self.twice_B.rotated(R),
            (apply(R, force), apply(R, moment)),
            self.outer and self.outer.rotated(R),
        )


class Bodies:
    """The bodies of a robot, where they are, and the wrenches that act on them from outside."""

    def __init__(self, skeleton: Skeleton, base: Base, q: Numbers, wrenches: Wrenches) -> None:
        self._bodies = skeleton.bodies
        self._velocity: Representation = base.velocity
        self.joints = poses(skeleton, q)
        self._wrenches: dict[int, list[tuple[Vec, Twist]]] = {}
        on_frames = on_bodies(skeleton, base, self.joints, wrenches, base.velocity)
        for index, wrench in on_frames.items():
            body, _, p = skeleton.frames[index]
            self._wrenches.setdefault(body, []).append((p, wrench))

    def alone(self, number: int, moving: Moving) -> Carried:
        """A body without those that it carries."""
        inertia = self._bodies[number].inertia
        twice_B = coriolis_of_body(inertia.times(2.0), *moving.twist)
        own = Carried(inertia, twice_B, body_wrench(inertia, moving.motion))
        for p, wrench in self._wrenches.get(number, ()):
            own = own.plus(_pushed(p, wrench, self._velocity))
        return own


def carried_bodies(
    skeleton: Skeleton, bodies: Bodies, base: Moving, nu: Numbers | None, nu_dot: Numbers
) -> tuple[dict[int, Carried], dict[int, list[Coordinate]]]:
    """Each body with all it carries, and the coordinates of its joint, from the base's motion."""
    moving, coordinates = {0: base}, dict[int, list[Coordinate]]()
    for number, pose in bodies.joints.items():
        parent = moving[skeleton.bodies[number].parent]
        moving[number], coordinates[number] = outward(pose, parent, nu, nu_dot)
    carried = {number: bodies.alone(number, motion) for number, motion in moving.items()}
    for number in reversed(bodies.joints):
        pose, parent = bodies.joints[number], skeleton.bodies[number].parent
        drift = twice_drift(pose, moving[parent])
        carried[parent] = carried[parent].plus(carried[number].inward(pose, drift))
    return carried, coordinates


def _pushed(p: Vec, wrench: Twist, velocity: Representation) -> Carried:
    """What a wrench from outside, on a frame at p, adds to a body."""
    force, moment = wrench
    outer = None
    if velocity == "mixed":
        # w x force, and w x (moment - p x force) + p x (w x force)
        about = wedge(sub(cross(p, force), moment))
        outer = BodyCoriolis(force, without_product(about, p, force))
    less = neg(force), neg(moment)
    staying = wrench if velocity == "inertial" else None
    return Carried(NO_INERTIA, NO_CORIOLIS, less, outer, staying)
