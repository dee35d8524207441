"""Bodies in motion, and how their motion and the wrenches on them change along each coordinate.

A unit step of a joint along one coordinate displaces all that the joint carries by a column S of
its motion subspace. Velocities V and accelerations A of the bodies carried change by what is
carried along, S x V and S x A, and by

    V    psi = V_p x S + sigma(nu)
    A    psi x V + psi_dot
         psi_dot = A_p x S + V_p x psi + V_j x sigma(nu) + sigma(nu_dot) + gamma

V_p, A_p are of the joint's parent and V_j of the body that the joint holds. sigma(x) is the change
of S x that is not carried along: of a kind whose S depends on theta, and of a joint read backwards,
whose axes stay with the parent. gamma is that of the bias S_dot nu. A unit of nu adds S to V, and

    A    S x V + theta,       theta = (V_p + V_j) x S + d(S_dot nu) / dnu

Forces are the same for every observer who moves steadily. The observer of each body moves with the
parent's point at the body's origin, which is at rest for this observer. With a the acceleration of
that point, w the parent's angular velocity and W = [u] + [w]^2 as in `rnea`, S = (s, z) has

    V_p x S                    = (w x s,  w x z)
    A_p x S + V_p x (V_p x S)  = (W s + a x z,  W z)

A joint with one coordinate and a constant S has theta = 2 psi, and may use W of either side.

The components of an external wrench are constant, in the representation of velocity, while the
robot is displaced by (v, w). Relative to the robot, which carries its internal forces along, the
wrench changes:

    body       not at all
    mixed      by w x force, w x moment about the frame's origin; with the sign of a load, this is a
               matrix of the same form as B
    inertial   it is fixed in the world, and so not carried along
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.algorithms.dynamics.coriolis import BodyCoriolis, coriolis_of_body
from linkwork.algorithms.dynamics.rnea import (
    BodyMotion,
    Wrenches,
    body_motion,
    body_wrench,
    carried_motion,
    driven_motion,
    external_wrenches,
)
from linkwork.algorithms.kinematics.frames import Scalars, joint_poses
from linkwork.mechanics.base import Base, Representation
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joints import JointPose, combined
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    ZERO,
    ZERO_FORCE,
    ZERO_MATRIX,
    ZERO_MOTION,
    Force,
    Mat,
    Motion,
    Scalar,
    Sym,
    Vec,
)

NO_INERTIA = RigidInertia(0.0, ZERO, Sym(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
NO_CORIOLIS = BodyCoriolis(ZERO, ZERO_MATRIX)


@dataclass(frozen=True, slots=True)
class Moving:
    """A body in motion."""

    v: Vec  # velocity of its origin for its observer: what its joint adds
    motion: BodyMotion

    @property
    def twist(self) -> Motion:
        """(v, w)."""
        return Motion(self.v, self.motion.w)


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate of a joint and what changes along it, in the axes of the body it holds."""

    index: int  # in nu
    S: Motion  # displacement of what the joint carries, or derivative of its velocity w.r.t. nu
    psi: Motion  # change of velocity that is not carried along
    psi_dot: Motion  # of acceleration
    theta: Motion  # derivative of acceleration w.r.t. nu
    columns: Sequence[Motion]  # change of each column of S that is not carried along; () if none


def outward(
    pose: JointPose, parent: Moving, nu: Scalars | None, nu_dot: Scalars | None
) -> tuple[Moving, list[Coordinate]]:
    """Return the motion of a body, from its parent's, and the coordinates of its joint.

    None for nu or nu_dot stands for zero.
    """
    carried = carried_motion(pose, parent.motion)
    v_J, _ = pose.velocity(nu)
    body = Moving(v_J, driven_motion(pose, carried, nu, nu_dot))
    return body, _coordinates(pose, body_motion(*carried), body, nu, nu_dot)


def twice_drift(pose: JointPose, parent: Moving) -> Vec:
    """Return twice the velocity of a body's observer for the parent's, in the parent's axes."""
    return parent.v + parent.v + parent.motion.w.cross(2.0 * pose.p)


def _coordinates(
    pose: JointPose,
    carried: BodyMotion,
    body: Moving,
    nu: Scalars | None,
    nu_dot: Scalars | None,
) -> list[Coordinate]:
    indices, S = pose.mount.nu_indices, pose.columns
    changes = subspace_changes(pose, nu, nu_dot, in_body=True)
    if len(S) == 1 and not changes:
        psi, psi_dot = _displaced(S[0], carried, body.motion.W)
        return [Coordinate(indices[0], S[0], psi, psi_dot, psi + psi, ())]
    both = Motion(body.v, carried.w + body.motion.w)
    coordinates: list[Coordinate] = []
    for k, column in enumerate(S):
        psi, psi_dot = _displaced(column, carried, carried.W)
        theta, columns = both.cross(column), ()
        if changes:
            change = changes[k]
            theta, columns = theta + change.bias, change.columns
            psi = psi + change.velocity
            further = both.cross(change.velocity) + change.acceleration
            psi_dot = psi_dot + further
        coordinates.append(Coordinate(indices[k], column, psi, psi_dot, theta, columns))
    return coordinates


def _displaced(column: Motion, carried: BodyMotion, W: Mat) -> tuple[Motion, Motion]:
    """Return V_p x S, and A_p x S + V_p x (V_p x S)."""
    s, z = column
    psi = Motion(carried.w.cross(s), carried.w.cross(z))
    return psi, Motion(W @ s + carried.a.cross(z), W @ z)


@dataclass(frozen=True, slots=True)
class SubspaceChange:
    """How S itself changes along one coordinate of a joint, in the axes of the body it holds."""

    velocity: Motion  # derivative of S nu w.r.t. the position
    acceleration: Motion  # of S nu_dot + S_dot nu w.r.t. the position
    bias: Motion  # of S_dot nu w.r.t. nu
    columns: Sequence[Motion] = ()  # of each column of S w.r.t. the position


def subspace_changes(
    pose: JointPose, nu: Scalars | None, nu_dot: Scalars | None, *, in_body: bool
) -> list[SubspaceChange]:
    """Return how S changes along each coordinate of a joint; [] for a constant S.

    Args:
        pose: of the joint.
        nu: velocity; None stands for zero.
        nu_dot: acceleration; None stands for zero.
        in_body: whether changes are relative to the body that the joint holds. Otherwise they are
            relative to the side that the joint's axes are fixed to, backwards the parent.
    """
    S, rates, further = pose.columns, _entries(pose, nu), _entries(pose, nu_dot)
    partials, of_bias = pose.columns_partials(), pose.bias_partials(rates)
    stays_with_parent = in_body and pose.mount.backwards
    if partials is None and (len(S) == 1 or not stays_with_parent):
        return []  # one constant column does not change along itself
    column_rates = None if nu is None else pose.columns_rate(nu)
    v_J, v_Jdot = pose.velocity(nu), pose.velocity(nu_dot) + pose.bias(nu)
    changes: list[SubspaceChange] = []
    for k, column in enumerate(S):
        velocity = acceleration = bias = ZERO_MOTION
        columns: Sequence[Motion] = [ZERO_MOTION] * len(S)
        if partials is not None and of_bias is not None:
            columns = partials[k]
            velocity = bias = combined(rates, columns)
            acceleration = combined(further, columns, of_bias[k])
            if column_rates is not None:
                bias = column_rates[k] + velocity
        if stays_with_parent:
            turned = [other.cross(column) for other in S]
            columns = [x + y for x, y in zip(columns, turned, strict=True)]
            velocity = velocity + v_J.cross(column)
            acceleration = acceleration + v_Jdot.cross(column)
        changes.append(SubspaceChange(velocity, acceleration, bias, columns))
    return changes


def _entries(pose: JointPose, values: Scalars | None) -> list[Scalar]:
    """Return the entries of nu or nu_dot of a joint."""
    return [0.0 if values is None else values[k] for k in pose.mount.nu_indices]


@dataclass(frozen=True, slots=True)
class Subtree:
    """A body and all it carries, in motion."""

    inertia: RigidInertia
    twice_B: BodyCoriolis
    wrench: Force  # that acts on them, less the external wrenches
    external_wrench_rate: BodyCoriolis | None = None  # in mixed
    world_fixed_wrench: Force | None = None  # external wrenches, in inertial

    def __add__(self, other: Subtree) -> Subtree:
        """Return the sum of two subtrees of one body."""
        rate = self.external_wrench_rate or other.external_wrench_rate
        fixed = self.world_fixed_wrench or other.world_fixed_wrench
        if self.external_wrench_rate and other.external_wrench_rate:
            rate = self.external_wrench_rate + other.external_wrench_rate
        if self.world_fixed_wrench and other.world_fixed_wrench:
            fixed = self.world_fixed_wrench + other.world_fixed_wrench
        return Subtree(
            self.inertia + other.inertia,
            self.twice_B + other.twice_B,
            self.wrench + other.wrench,
            rate,
            fixed,
        )

    def inward(self, pose: JointPose, twice_drift: Vec) -> Subtree:
        """Return this subtree as part of its parent, for the observer of the parent."""
        h, m = pose.R @ self.inertia.first_moment, self.inertia.mass
        f = pose.R @ self.twice_B.f + m * twice_drift
        D = pose.rotated(self.twice_B.D).minus_wedges(h, twice_drift)
        return Subtree(
            pose.inertia_inward(self.inertia),
            BodyCoriolis(f, D.minus_wedges(pose.p, f)),
            pose.inward(self.wrench),
            self.external_wrench_rate and self.external_wrench_rate.inward(pose),
            self.world_fixed_wrench and pose.inward(self.world_fixed_wrench),
        )

    def by_q(self, at: Coordinate) -> Force:
        """Return the derivative of the wrench w.r.t. a coordinate that carries the subtree.

        What is carried along with the subtree is left out:  I psi_dot + 2 B psi.
        """
        return self.inertia @ at.psi_dot + self.twice_B @ at.psi

    def by_nu(self, at: Coordinate) -> Force:
        """Return the derivative w.r.t. the velocity of the coordinate:  I theta + 2 B S."""
        return self.inertia @ at.theta + self.twice_B @ at.S

    def rotated(self, R: Mat) -> Subtree:
        """Return this subtree in axes in which the present ones are R; no external wrenches."""
        return Subtree(
            self.inertia.rotated(R),
            self.twice_B.rotated(R),
            R @ (self.wrench + (self.world_fixed_wrench or ZERO_FORCE)),
            self.external_wrench_rate and self.external_wrench_rate.rotated(R),
        )


class Bodies:
    """The bodies of a robot, their poses, and the external wrenches on them."""

    def __init__(self, skeleton: Skeleton, base: Base, q: Scalars, wrenches: Wrenches) -> None:
        self._bodies = skeleton.bodies
        self._velocity: Representation = base.velocity
        self.joints = joint_poses(skeleton, q)
        self._wrenches: dict[int, list[tuple[Vec, Force]]] = {}
        on_frames = external_wrenches(skeleton, base, self.joints, wrenches)
        for index, wrench in on_frames.items():
            body, _, p = skeleton.frames[index]
            self._wrenches.setdefault(body, []).append((p, wrench))

    def alone(self, number: int, moving: Moving) -> Subtree:
        """Return a body without the bodies that it carries."""
        inertia = self._bodies[number].inertia
        twice_B = coriolis_of_body(2.0 * inertia, moving.twist)
        subtree = Subtree(inertia, twice_B, body_wrench(inertia, moving.motion))
        for p, wrench in self._wrenches.get(number, ()):
            subtree = subtree + _pushed(p, wrench, self._velocity)
        return subtree


def subtrees_of(
    skeleton: Skeleton, bodies: Bodies, base: Moving, nu: Scalars | None, nu_dot: Scalars
) -> tuple[dict[int, Subtree], dict[int, list[Coordinate]]]:
    """Return each body with all it carries, and the coordinates of its joint."""
    moving, coordinates = {0: base}, dict[int, list[Coordinate]]()
    for number, pose in bodies.joints.items():
        parent = moving[skeleton.bodies[number].parent]
        moving[number], coordinates[number] = outward(pose, parent, nu, nu_dot)
    subtrees = {number: bodies.alone(number, motion) for number, motion in moving.items()}
    for number in reversed(bodies.joints):
        pose, parent = bodies.joints[number], skeleton.bodies[number].parent
        drift = twice_drift(pose, moving[parent])
        subtrees[parent] = subtrees[parent] + subtrees[number].inward(pose, drift)
    return subtrees, coordinates


def _pushed(p: Vec, wrench: Force, velocity: Representation) -> Subtree:
    """Return the contribution of an external wrench on a frame at p to the subtree of its body."""
    force, moment = wrench
    rate = None
    if velocity == "mixed":
        # w x force, and w x (moment - p x force) + p x (w x force)
        about = (p.cross(force) - moment).wedge
        rate = BodyCoriolis(force, about.minus_wedges(p, force))
    fixed = wrench if velocity == "inertial" else None
    return Subtree(NO_INERTIA, NO_CORIOLIS, -wrench, rate, fixed)
