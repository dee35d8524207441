"""Derivatives of inverse dynamics with respect to q, nu and nu_dot.

For each coordinate of a joint, `tangents` computes the displacement S of the subtree that the joint
carries and the changes of its velocities and accelerations (psi, psi_dot, theta). With I the
composite inertia of the subtree, B its composite Coriolis matrix (`coriolis`) and f the wrench that
acts on it, a unit step of coordinate i changes the wrench on joints nearer to the base by

    d / dq        I psi_dot + 2 B psi + S x* f
    d / dnu       I theta + 2 B S
    d / dnu_dot   I S

For a joint that coordinate i carries, I and B are those of that joint's subtree, and the last term
is left out. B^T S is a couple n, so the row of coordinate i in the columns of coordinates nearer to
the base is

    d / dq        (I S_i) . psi_dot + 2 n_i . psi_w
    d / dnu       (I S_i) . theta + 2 n_i . S_w

Four vectors of each coordinate are transformed inward from body to body, in whose axes S, psi and
theta are mostly zeros, and from the last one into the axes of the base's rows. The base comes last
(`base_derivatives`).

Carpentier, Mansard (2018); Singh, Russell, Wensing (2022); Echeandia, Wensing (2021) for B.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from linkwork.algorithms.centroidal.subtree import Bodies, Subtree
from linkwork.algorithms.derivatives.base import (
    Column,
    Derivatives,
    add_base,
    add_coordinate,
    add_to,
    base_motion,
)
from linkwork.algorithms.derivatives.tangents import Coordinate, Moving, outward, twice_drift
from linkwork.algorithms.dynamics.dynamics import Wrenches
from linkwork.algorithms.dynamics.rnea import body_motion
from linkwork.algorithms.kinematics.frames import Matrix, Numbers, path_to
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
    """(nv, nv) each: derivatives of tau w.r.t. q, nu, and nu_dot, which is the mass matrix."""
    base = base_of(skeleton.layout, q, velocity)
    bodies = Bodies(skeleton, base, q, wrenches or {})
    _, w = base.twist(nu)
    a, u = base.acceleration(nu, nu_dot, gravity)
    moving = {0: Moving(ZERO, body_motion(w, u, a))}
    subtrees = {0: bodies.alone(0, moving[0])}
    coordinates: dict[int, list[Coordinate]] = {}
    drift: dict[int, Vec] = {}
    inward: dict[int, _Inward] = {}
    at = base_motion(base, nu, nu_dot, gravity) if base.floating else None
    derivatives = Derivatives.of_zeros(skeleton.layout.nv)
    for number, is_complete in depth_first(skeleton):
        parent, pose = skeleton.bodies[number].parent, bodies.joints[number]
        if not is_complete:
            moving[number], coordinates[number] = outward(pose, moving[parent], nu, nu_dot)
            subtrees[number] = bodies.alone(number, moving[number])
            drift[number] = twice_drift(pose, moving[parent])
            inward[number] = _transform(pose, drift[number], base, is_last=not parent)
            continue
        path = path_to(skeleton, number)[::-1]
        for coordinate in coordinates[number]:
            i = coordinate.index
            column = _own_column(derivatives, coordinate, coordinates[number], subtrees[number])
            for body, parent_body in pairwise(path):
                column = inward[body].column(column)
                for other in coordinates[parent_body]:
                    _add_pair(derivatives, i, other, column)
            if at:
                add_coordinate(derivatives, i, inward[path[-1]].column(column), at)
        subtrees[parent] = subtrees[parent].plus(subtrees[number].inward(pose, drift[number]))
    if at:
        add_base(derivatives, subtrees[0], at)
    for k, added in joint_dynamics.items():
        add_to(derivatives.by_nu, k, k, added.damping)
        add_to(derivatives.M, k, k, added.armature)
    return derivatives.by_q, derivatives.by_nu, derivatives.M


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
    """(nv, nv) each: derivatives of tau with respect to q and nu alone."""
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
    children: list[list[int]] = [[] for _ in skeleton.bodies]
    for number, body in enumerate(skeleton.bodies[1:], start=1):
        children[body.parent].append(number)
    waiting = [(number, False) for number in reversed(children[0])]
    while waiting:
        number, is_complete = waiting.pop()
        yield number, is_complete
        if not is_complete:
            waiting.append((number, True))
            waiting += [(other, False) for other in reversed(children[number])]


def _own_column(
    derivatives: Derivatives, at: Coordinate, own: Sequence[Coordinate], body: Subtree
) -> Column:
    """Add the entries within one joint; return the column to be transformed inward."""
    by_q, by_nu = body.by_q(at), body.by_nu(at)
    couple, external = body.twice_B.couple(*at.S), None
    if body.external_wrench_rate is not None:
        by_q = twist_add(by_q, body.external_wrench_rate.forces(*at.S))
        external = ZERO, body.external_wrench_rate.couple(*at.S)
    if body.world_fixed_wrench is not None:
        moved = wrench_cross(at.S, body.world_fixed_wrench)
        by_q = twist_add(by_q, moved)
        external = neg(moved[0]), neg(moved[1])
    momentum = body.inertia.momentum(*at.S)
    i = at.index
    for place, other in enumerate(own):
        j, by = other.index, _along(other.S, by_q)
        if at.own:
            by = plus(by, _along(at.own[place], body.wrench))
        add_to(derivatives.by_q, j, i, by)
        add_to(derivatives.by_nu, j, i, _along(other.S, by_nu))
        add_to(derivatives.M, j, i, _along(other.S, momentum))
    by_q = twist_add(by_q, wrench_cross(at.S, body.wrench))
    return Column(by_q, by_nu, momentum, couple, external)


def _add_pair(derivatives: Derivatives, i: int, other: Coordinate, column: Column) -> None:
    """Entries of coordinate i and another one, nearer to the base."""
    j, momentum, couple = other.index, column.momentum, column.couple
    add_to(derivatives.by_q, j, i, _along(other.S, column.by_q))
    add_to(derivatives.by_nu, j, i, _along(other.S, column.by_nu))
    both = _along(other.S, momentum)
    add_to(derivatives.M, j, i, both)
    add_to(derivatives.M, i, j, both)
    by = plus(_along(other.psi_dot, momentum), dot(other.psi[1], couple))
    if column.external_wrench_rate is not None:
        by = plus(by, _along(other.S, column.external_wrench_rate))
    add_to(derivatives.by_q, i, j, by)
    by = plus(_along(other.theta, momentum), dot(other.S[1], couple))
    add_to(derivatives.by_nu, i, j, by)


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
            column.external_wrench_rate and self.wrench(column.external_wrench_rate),
        )


def _transform(pose: JointPose, drift: Vec, base: Base, *, is_last: bool) -> _Inward:
    """From a body to its parent; from one that hangs on the base, into the axes of its rows."""
    R_base, _ = base.expressed_at
    if is_last and R_base is not IDENTITY:
        return _Inward((matmul(R_base, pose.R),), pose.arm, ZERO, apply(R_base, drift))
    return _Inward(pose.rotations, ZERO, pose.p, drift)


def _along(motion: Twist, wrench: Twist) -> Scalar:
    """Power of a wrench along a twist."""
    return plus(dot(motion[0], wrench[0]), dot(motion[1], wrench[1]))
