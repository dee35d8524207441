"""Derivatives of inverse dynamics by q, nu and nu_dot.

Along each coordinate of a joint, `tangents` gives what is displaced (S) and how velocities and
accelerations of all that the joint carries change (psi, psi_dot, theta). With I the composite
inertia of what it carries, B its composite Coriolis matrix (`coriolis`) and f the wrench that acts
on all of it, a unit of coordinate i changes the wrenches that joints nearer to the base see by

    by q    I psi_dot + 2 B psi + S x* f
    by nu   I theta + 2 B S
    by nu_dot   I S

and a joint that coordinate i carries sees the same with its own I and B, and without the last term.
B^T S is a couple n, so that the row of coordinate i in the columns of those nearer to the base is

    by q    (I S_i) . psi_dot + 2 n_i . psi_w
    by nu   (I S_i) . theta + 2 n_i . S_w

Four vectors of each coordinate are transformed inward from body to body, in whose axes S, psi and
theta are mostly zeros, and from the last one into the axes of the base's rows. The base comes last
(`base_derivatives`).

Carpentier, Mansard (2018); Singh, Russell, Wensing (2022); Echeandia, Wensing (2021) for B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkwork.algorithms.base_derivatives import (
    Carried,
    Column,
    Derivatives,
    add_base,
    add_coordinate,
    base_motion,
)
from linkwork.algorithms.coriolis import (
    BodyCoriolis,
    coriolis_of_body,
    summed_inward,
    without_product,
)
from linkwork.algorithms.crba import composites
from linkwork.algorithms.dynamics import Wrenches, on_bodies
from linkwork.algorithms.frames import Matrix, Numbers
from linkwork.algorithms.rnea import body_motion, body_wrench, poses
from linkwork.algorithms.tangents import Coordinate, Moving, moving_bodies
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.joints import ZERO_TWIST, JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Scalar,
    Twist,
    Vec,
    add,
    apply,
    cross,
    dot,
    matmul,
    neg,
    plus,
    sub,
    twist_add,
    wedge,
)


def inverse_dynamics_derivatives(
    skeleton: Skeleton,
    q: Numbers,
    nu: Numbers,
    nu_dot: Numbers,
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[Matrix, Matrix, Matrix]:
    """(nv, nv) each: derivatives of tau by q, by nu and by nu_dot, which is the mass matrix."""
    found = _derivatives(skeleton, q, nu, nu_dot, gravity, velocity, wrenches or {})
    for k, added in joint_dynamics.items():
        found.by_nu[k][k] = plus(found.by_nu[k][k], added.damping)
        found.M[k][k] = plus(found.M[k][k], added.armature)
    return found.by_q, found.by_nu, found.M


def bias_derivatives(
    skeleton: Skeleton,
    q: Numbers,
    nu: Numbers,
    nu_dot: Numbers,
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[Matrix, Matrix]:
    """(nv, nv) each: derivatives of tau by q and by nu alone."""
    by_q, by_nu, _ = inverse_dynamics_derivatives(
        skeleton,
        q,
        nu,
        nu_dot,
        gravity=gravity,
        velocity=velocity,
        wrenches=wrenches,
        joint_dynamics=joint_dynamics,
    )
    return by_q, by_nu


def _derivatives(
    skeleton: Skeleton,
    q: Numbers,
    nu: Numbers,
    nu_dot: Numbers,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches,
) -> Derivatives:
    floating = skeleton.layout.floating
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    _, w = base.twist(nu)
    a, u = base.acceleration(nu, nu_dot, gravity)
    start = Moving(ZERO, body_motion(w, u, a))
    moving, coordinates = moving_bodies(skeleton, joints, nu, nu_dot, start)
    bodies = _carried(skeleton, base, joints, moving, wrenches)
    inward = _transforms(skeleton, joints, base)
    found = Derivatives.of_zeros(skeleton.layout.nv)
    at_base: dict[int, Column] = {}
    for number, own in coordinates.items():
        for at in own:
            column = _own_column(found, at, own, bodies[number])
            reached = number
            while parent := skeleton.bodies[reached].parent:
                column = inward[reached].column(column)
                reached = parent
                for other in coordinates[reached]:
                    _add_pair(found, at.index, other, column)
            if floating:
                column = inward[reached].column(column)
                old = at_base.get(at.index)
                at_base[at.index] = column if old is None else old.plus(column)
    if floating:
        motion = base_motion(base, nu, nu_dot, gravity)
        add_base(found, bodies[0], motion)
        for i, column in at_base.items():
            add_coordinate(found, i, column, motion)
    return found


def _own_column(
    found: Derivatives, at: Coordinate, own: Sequence[Coordinate], body: Carried
) -> Column:
    """Entries of a coordinate and those of the same joint; the column to be walked inward."""
    by_q = twist_add(body.inertia.momentum(*at.psi_dot), body.twice_B.forces(*at.psi))
    by_nu = twist_add(body.inertia.momentum(*at.theta), body.twice_B.forces(*at.S))
    couple, outer = body.twice_B.couple(*at.S), None
    if body.outer is not None:
        by_q = twist_add(by_q, body.outer.forces(*at.S))
        outer = ZERO, body.outer.couple(*at.S)
    if body.staying is not None:
        carried = _carried_wrench(at.S, body.staying)
        by_q = twist_add(by_q, carried)
        outer = neg(carried[0]), neg(carried[1])
    momentum = body.inertia.momentum(*at.S)
    i = at.index
    for place, other in enumerate(own):
        j, by = other.index, _along(other.S, by_q)
        if at.own:
            by = plus(by, _along(at.own[place], body.wrench))
        found.by_q[j][i] = plus(found.by_q[j][i], by)
        found.by_nu[j][i] = plus(found.by_nu[j][i], _along(other.S, by_nu))
        found.M[j][i] = plus(found.M[j][i], _along(other.S, momentum))
    by_q = twist_add(by_q, _carried_wrench(at.S, body.wrench))
    return Column(by_q, by_nu, momentum, couple, outer)


def _add_pair(found: Derivatives, i: int, other: Coordinate, column: Column) -> None:
    """Entries of coordinate i and another one, nearer to the base."""
    j, momentum, couple = other.index, column.momentum, column.couple
    found.by_q[j][i] = plus(found.by_q[j][i], _along(other.S, column.by_q))
    found.by_nu[j][i] = plus(found.by_nu[j][i], _along(other.S, column.by_nu))
    both = _along(other.S, momentum)
    found.M[j][i] = plus(found.M[j][i], both)
    found.M[i][j] = plus(found.M[i][j], both)
    by = plus(_along(other.psi_dot, momentum), dot(other.psi[1], couple))
    if column.outer is not None:
        by = plus(by, _along(other.S, column.outer))
    found.by_q[i][j] = plus(found.by_q[i][j], by)
    by = plus(_along(other.theta, momentum), dot(other.S[1], couple))
    found.by_nu[i][j] = plus(found.by_nu[i][j], by)


@dataclass(frozen=True, slots=True)
class _Inward:
    """Takes wrenches on a body to its parent, or from the last body into the base's rows."""

    rotations: Sequence[Mat]  # one after the other
    arm: Vec  # of the body from the parent's origin, in the axes before the rotations
    p: Vec  # the same in those after them; one of the two is given

    def rotated(self, vector: Vec) -> Vec:
        """A vector in the axes of the parent, or of the base's rows."""
        for R in self.rotations:
            vector = apply(R, vector)
        return vector

    def wrench(self, wrench: Twist) -> Twist:
        """A wrench, about the parent's origin."""
        force, moment = wrench
        moment = self.rotated(add(moment, cross(self.arm, force)))
        force = self.rotated(force)
        return force, add(moment, cross(self.p, force))

    def column(self, column: Column) -> Column:
        """All vectors of a column."""
        return Column(
            self.wrench(column.by_q),
            self.wrench(column.by_nu),
            self.wrench(column.momentum),
            self.rotated(column.couple),
            column.outer and self.wrench(column.outer),
        )


def _transforms(
    skeleton: Skeleton, joints: Mapping[int, JointPose], base: Base
) -> dict[int, _Inward]:
    """For each body, the way inward; from those that hang on the base, into its rows."""
    R_base, _ = base.expressed_at
    return {
        number: _Inward(pose.rotations, ZERO, pose.p)
        if skeleton.bodies[number].parent or R_base is IDENTITY
        else _Inward((matmul(R_base, pose.R),), pose.arm, ZERO)
        for number, pose in joints.items()
    }


def _carried(
    skeleton: Skeleton,
    base: Base,
    joints: dict[int, JointPose],
    moving: Mapping[int, Moving],
    wrenches: Wrenches,
) -> dict[int, Carried]:
    """Every body with all that it carries."""
    numbers = range(len(skeleton.bodies))
    inertias = composites(skeleton, joints)
    own = {k: skeleton.bodies[k].inertia for k in numbers}
    # twice B, from the constants on
    B = {k: coriolis_of_body(own[k].times(2.0), *moving[k].twist) for k in numbers}
    B = summed_inward(skeleton, joints, B)
    acting = {k: body_wrench(own[k], moving[k].motion) for k in numbers}
    on_frames = on_bodies(skeleton, base, joints, wrenches, base.velocity)
    turned: dict[int, BodyCoriolis] = {}
    staying: dict[int, Twist] = {}
    for index, (force, moment) in on_frames.items():
        body, _, p = skeleton.frames[index]
        acting[body] = twist_add(acting[body], (neg(force), neg(moment)))
        if base.velocity == "mixed":
            # displaced by (v, w), it changes by w x force, and w x moment about the frame's origin
            about = wedge(sub(cross(p, force), moment))
            own_part = BodyCoriolis(force, without_product(about, p, force))
            turned[body] = turned[body].plus(own_part) if body in turned else own_part
        elif base.velocity == "inertial":
            staying[body] = twist_add(staying.get(body, ZERO_TWIST), (force, moment))
    if turned:
        nothing = BodyCoriolis(ZERO, (ZERO, ZERO, ZERO))
        turned = summed_inward(skeleton, joints, dict.fromkeys(numbers, nothing) | turned)
    if staying:
        staying = _gathered(skeleton, joints, dict.fromkeys(numbers, ZERO_TWIST) | staying)
    acting = _gathered(skeleton, joints, acting)
    return {
        k: Carried(inertias[k], B[k], acting[k], turned.get(k), staying.get(k)) for k in numbers
    }


def _gathered(
    skeleton: Skeleton, joints: Mapping[int, JointPose], wrenches: Mapping[int, Twist]
) -> dict[int, Twist]:
    """On each body, the wrenches on all that it carries."""
    found = dict(wrenches)
    for number in reversed(joints):
        parent = skeleton.bodies[number].parent
        found[parent] = twist_add(found[parent], joints[number].inward(*found[number]))
    return found


def _along(motion: Twist, wrench: Twist) -> Scalar:
    """What a wrench does along a motion."""
    return plus(dot(motion[0], wrench[0]), dot(motion[1], wrench[1]))


def _carried_wrench(motion: Twist, wrench: Twist) -> Twist:
    """The change of a wrench that is carried along by a motion."""
    (v, w), (force, moment) = motion, wrench
    return cross(w, force), add(cross(w, moment), cross(v, force))
