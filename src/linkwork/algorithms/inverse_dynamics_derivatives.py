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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from linkwork.algorithms.base_derivatives import (
    Column,
    Derivatives,
    add_base,
    add_coordinate,
    add_to,
    base_motion,
)
from linkwork.algorithms.carried import Bodies, Carried
from linkwork.algorithms.dynamics import Wrenches
from linkwork.algorithms.frames import Matrix, Numbers, path_to
from linkwork.algorithms.rnea import body_motion
from linkwork.algorithms.tangents import Coordinate, Moving, outward, twice_drift
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.joints import JointPose
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
    twist_add,
    wrench_cross,
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
    base = base_of(skeleton.layout, q, velocity)
    bodies = Bodies(skeleton, base, q, wrenches or {})
    _, w = base.twist(nu)
    a, u = base.acceleration(nu, nu_dot, gravity)
    moving = {0: Moving(ZERO, body_motion(w, u, a))}
    carried = {0: bodies.alone(0, moving[0])}
    coordinates: dict[int, list[Coordinate]] = {}
    drift: dict[int, Vec] = {}
    inward: dict[int, _Inward] = {}
    at = base_motion(base, nu, nu_dot, gravity) if base.floating else None
    found = Derivatives.of_zeros(skeleton.layout.nv)
    for number, is_complete in depth_first(skeleton):
        parent, pose = skeleton.bodies[number].parent, bodies.joints[number]
        if not is_complete:
            moving[number], coordinates[number] = outward(pose, moving[parent], nu, nu_dot)
            carried[number] = bodies.alone(number, moving[number])
            drift[number] = twice_drift(pose, moving[parent])
            inward[number] = _transform(pose, drift[number], base, is_last=not parent)
            continue
        path = path_to(skeleton, number)[::-1]
        for coordinate in coordinates[number]:
            i = coordinate.index
            column = _own_column(found, coordinate, coordinates[number], carried[number])
            for outer, inner in pairwise(path):
                column = inward[outer].column(column)
                for other in coordinates[inner]:
                    _add_pair(found, i, other, column)
            if at:
                add_coordinate(found, i, inward[path[-1]].column(column), at)
        carried[parent] = carried[parent].plus(carried[number].inward(pose, drift[number]))
    if at:
        add_base(found, carried[0], at)
    for k, added in joint_dynamics.items():
        add_to(found.by_nu, k, k, added.damping)
        add_to(found.M, k, k, added.armature)
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


def depth_first(skeleton: Skeleton) -> Iterator[tuple[int, bool]]:
    """Each body but the base's twice: before all that it carries, and after (True).

    In this order few intermediate values are needed at the same time.
    """
    carried: list[list[int]] = [[] for _ in skeleton.bodies]
    for number, body in enumerate(skeleton.bodies[1:], start=1):
        carried[body.parent].append(number)
    waiting = [(number, False) for number in reversed(carried[0])]
    while waiting:
        number, is_complete = waiting.pop()
        yield number, is_complete
        if not is_complete:
            waiting.append((number, True))
            waiting += [(other, False) for other in reversed(carried[number])]


def _own_column(
    found: Derivatives, at: Coordinate, own: Sequence[Coordinate], body: Carried
) -> Column:
    """Entries of a coordinate and those of the same joint; the column to be walked inward."""
    by_q, by_nu = body.by_q(at), body.by_nu(at)
    couple, outer = body.twice_B.couple(*at.S), None
    if body.outer is not None:
        by_q = twist_add(by_q, body.outer.forces(*at.S))
        outer = ZERO, body.outer.couple(*at.S)
    if body.staying is not None:
        carried = wrench_cross(at.S, body.staying)
        by_q = twist_add(by_q, carried)
        outer = neg(carried[0]), neg(carried[1])
    momentum = body.inertia.momentum(*at.S)
    i = at.index
    for place, other in enumerate(own):
        j, by = other.index, _along(other.S, by_q)
        if at.own:
            by = plus(by, _along(at.own[place], body.wrench))
        add_to(found.by_q, j, i, by)
        add_to(found.by_nu, j, i, _along(other.S, by_nu))
        add_to(found.M, j, i, _along(other.S, momentum))
    by_q = twist_add(by_q, wrench_cross(at.S, body.wrench))
    return Column(by_q, by_nu, momentum, couple, outer)


def _add_pair(found: Derivatives, i: int, other: Coordinate, column: Column) -> None:
    """Entries of coordinate i and another one, nearer to the base."""
    j, momentum, couple = other.index, column.momentum, column.couple
    add_to(found.by_q, j, i, _along(other.S, column.by_q))
    add_to(found.by_nu, j, i, _along(other.S, column.by_nu))
    both = _along(other.S, momentum)
    add_to(found.M, j, i, both)
    add_to(found.M, i, j, both)
    by = plus(_along(other.psi_dot, momentum), dot(other.psi[1], couple))
    if column.outer is not None:
        by = plus(by, _along(other.S, column.outer))
    add_to(found.by_q, i, j, by)
    by = plus(_along(other.theta, momentum), dot(other.S[1], couple))
    add_to(found.by_nu, i, j, by)


@dataclass(frozen=True, slots=True)
class _Inward:
    """Takes wrenches on a body to its parent, or from the last body into the base's rows."""

    rotations: Sequence[Mat]  # one after the other
    arm: Vec  # of the body from the parent's origin, in the axes before the rotations
    p: Vec  # the same in those after them; one of the two is given
    twice_drift: Vec  # of the observer (`tangents`), in those after them

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
        """All vectors of a column; only the couple depends on the observer."""
        momentum = self.wrench(column.momentum)
        return Column(
            self.wrench(column.by_q),
            self.wrench(column.by_nu),
            momentum,
            add(self.rotated(column.couple), cross(self.twice_drift, momentum[0])),
            column.outer and self.wrench(column.outer),
        )


def _transform(pose: JointPose, drift: Vec, base: Base, *, is_last: bool) -> _Inward:
    """From a body to its parent; from one that hangs on the base, into the axes of its rows."""
    R_base, _ = base.expressed_at
    if is_last and R_base is not IDENTITY:
        return _Inward((matmul(R_base, pose.R),), pose.arm, ZERO, apply(R_base, drift))
    return _Inward(pose.rotations, ZERO, pose.p, drift)


def _along(motion: Twist, wrench: Twist) -> Scalar:
    """What a wrench does along a motion."""
    return plus(dot(motion[0], wrench[0]), dot(motion[1], wrench[1]))
