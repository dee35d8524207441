"""Derivatives of inverse dynamics by q, nu and nu_dot.

A unit step of joint j along one coordinate displaces all it carries by the column S of the joint's
motion subspace. Velocities v and accelerations a of the bodies carried then change by what is
carried along, S x v and S x a, and by the rest, the same rigid motion for all of them:

    psi   = v_p x S + sigma(nu)
    psi'  = a_p x S + v_p x psi + v_j x sigma(nu) + sigma(nu_dot) + gamma

with v_p, a_p of the parent, sigma(x) the change of S x that is not carried along (of a universal
joint, and of joints read backwards) and gamma that of S_dot nu. A unit of nu changes them by S and

    theta = (v_p + v_j) x S + d(S_dot nu)/dnu

With I and B the composite inertia and the composite Coriolis matrix of a body (`coriolis`) and f
the wrench that acts on all it carries, the wrench changes by

    by q    G = I psi' + 2 B psi + S x* f       seen from the base side of j
            I_i psi' + 2 B_i psi                seen by a joint i that j carries
    by nu   I theta + 2 B S

and S^T of it gives the rows. B^T S is a couple n, so that the row of joint i takes

    by q    (I S_i) . psi' + 2 n_i . psi_w,     by nu   (I S_i) . theta + 2 n_i . S_w

Carpentier, Mansard (2018); Singh, Russell, Wensing (2022); Echeandia, Wensing (2021) for B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkwork.algorithms.coriolis import (
    BodyCoriolis,
    coriolis_of_body,
    summed_inward,
    without_product,
)
from linkwork.algorithms.crba import composites
from linkwork.algorithms.dynamics import Wrenches, on_bodies
from linkwork.algorithms.frames import Matrix, Numbers, path_to
from linkwork.algorithms.rnea import poses
from linkwork.algorithms.tangents import (
    Coordinate,
    base_coordinates,
    joint_coordinates,
    twist_minus,
)
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.joints import ZERO_TWIST, JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    ZERO,
    Scalar,
    Twist,
    Vec,
    add,
    apply,
    cross,
    dot,
    neg,
    plus,
    scale,
    sub,
    twist_add,
    twist_cross,
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
    robot = _Moving(skeleton, q, nu, nu_dot, gravity, velocity, wrenches or {})
    by_q, by_nu, M = robot.derivatives(with_mass_matrix=True)
    for k, added in joint_dynamics.items():
        by_nu[k][k] = plus(by_nu[k][k], added.damping)
        M[k][k] = plus(M[k][k], added.armature)
    return by_q, by_nu, M


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
    robot = _Moving(skeleton, q, nu, nu_dot, gravity, velocity, wrenches or {})
    by_q, by_nu, _ = robot.derivatives(with_mass_matrix=False)
    for k, added in joint_dynamics.items():
        by_nu[k][k] = plus(by_nu[k][k], added.damping)
    return by_q, by_nu


@dataclass(frozen=True, slots=True)
class _Column:
    """What a unit of one coordinate does, on the body that it has reached inward."""

    by_q: Twist  # wrench
    by_nu: Twist  # wrench
    momentum: Twist
    couple: Vec  # 2 B^T S
    outer: Twist  # the row of the wrenches from outside

    def inward(self, pose: JointPose) -> _Column:
        """The same, acting on the parent."""
        return _Column(
            pose.inward(*self.by_q),
            pose.inward(*self.by_nu),
            pose.inward(*self.momentum),
            apply(pose.R, self.couple),
            pose.inward(*self.outer),
        )


class _Moving:
    """A robot in motion."""

    def __init__(
        self,
        skeleton: Skeleton,
        q: Numbers,
        nu: Numbers,
        nu_dot: Numbers,
        gravity: Vec,
        velocity: Representation,
        wrenches: Wrenches,
    ) -> None:
        self.skeleton, self.velocity = skeleton, velocity
        base = base_of(skeleton.layout, q, velocity)
        self.joints = joints = poses(skeleton, q)
        v, w = base.twist(nu)
        a, u = base.acceleration(nu, nu_dot, gravity)
        moving: dict[int, tuple[Twist, Twist]] = {0: ((v, w), (sub(a, cross(w, v)), u))}
        self.coordinates = {0: base_coordinates(base, gravity, (v, w), nu, nu_dot)}
        for number, pose in joints.items():
            V, A = moving[skeleton.bodies[number].parent]
            parent = V, A = pose.outward(*V), pose.outward(*A)
            own = pose.velocity(nu)
            twist = twist_add(V, own)
            # A = A_p + S nu_dot + V_p x S nu + S_dot nu
            rate = twist_add(twist_add(A, pose.velocity(nu_dot)), twist_cross(V, own))
            moving[number] = twist, twist_add(rate, pose.bias(nu))
            self.coordinates[number] = joint_coordinates(pose, parent, twist, nu, nu_dot)
        self.inertias = composites(skeleton, joints)
        own_B = {
            k: coriolis_of_body(body.inertia, *moving[k][0])
            for k, body in enumerate(skeleton.bodies)
        }
        self.B = summed_inward(skeleton, joints, own_B)
        acting: dict[int, Twist] = {}
        for k, body in enumerate(skeleton.bodies):
            twist, rate = moving[k]
            # f = I A + B V
            acting[k] = twist_add(body.inertia.momentum(*rate), own_B[k].forces(*twist))
        self._add_outer(base, acting, wrenches)
        for number in reversed(joints):
            parent_number = skeleton.bodies[number].parent
            inward = joints[number].inward(*acting[number])
            acting[parent_number] = twist_add(acting[parent_number], inward)
        self.acting = acting

    def _add_outer(
        self, base: Base, acting: dict[int, Twist], wrenches: Wrenches
    ) -> None:
        """Wrenches from outside, and what they do when the body that they act on is displaced."""
        skeleton, joints = self.skeleton, self.joints
        self.outer: dict[int, BodyCoriolis] = {}
        self.outer_sum: dict[int, Twist] = {}
        on_frames = on_bodies(skeleton, base, joints, wrenches, self.velocity)
        nothing = BodyCoriolis(ZERO, (ZERO, ZERO, ZERO))
        turned = dict.fromkeys(range(len(skeleton.bodies)), nothing)
        summed = dict.fromkeys(range(len(skeleton.bodies)), ZERO_TWIST)
        for index, (force, moment) in on_frames.items():
            body, _, p = skeleton.frames[index]
            acting[body] = twist_add(acting[body], (neg(force), neg(moment)))
            summed[body] = twist_add(summed[body], (force, moment))
            about = sub(moment, cross(p, force))
            D = without_product(wedge(neg(about)), p, force)
            old = turned[body]
            rows = tuple(add(x, y) for x, y in zip(old.D, D, strict=True))
            turned[body] = BodyCoriolis(add(old.f, force), rows)  # pyright: ignore
        if self.velocity == "mixed":
            self.outer = summed_inward(skeleton, joints, turned)
        elif self.velocity == "inertial":
            for number in reversed(joints):
                parent = skeleton.bodies[number].parent
                summed[parent] = twist_add(summed[parent], joints[number].inward(*summed[number]))
            self.outer_sum = summed

    def _column(self, number: int, at: Coordinate) -> tuple[_Column, Twist]:
        inertia, B = self.inertias[number], self.B[number]
        couple = B.couple(*at.S)
        G_q = twist_add(inertia.momentum(*at.psi_dot), _doubled(B.forces(*at.psi)))
        G_nu = twist_add(inertia.momentum(*at.theta), _doubled(B.forces(*at.S)))
        outer = ZERO_TWIST
        if self.outer:
            G_q = twist_add(G_q, self.outer[number].forces(*at.S))
            outer = ZERO, self.outer[number].couple(*at.S)
        if self.outer_sum:
            carried = wrench_cross(at.S, self.outer_sum[number])
            G_q = twist_add(G_q, carried)
            outer = twist_minus(carried)
        column = _Column(
            twist_add(G_q, wrench_cross(at.S, self.acting[number])),
            G_nu,
            inertia.momentum(*at.S),
            add(couple, couple),
            outer,
        )
        return column, G_q

    def derivatives(self, *, with_mass_matrix: bool) -> tuple[Matrix, Matrix, Matrix]:
        skeleton, joints = self.skeleton, self.joints
        nv = skeleton.layout.nv
        by_q, by_nu, M = ([[0.0] * nv for _ in range(nv)] for _ in range(3))
        for number, own in self.coordinates.items():
            path = [*reversed(path_to(skeleton, number)), 0]
            for place, at in enumerate(own):
                i = at.index
                column, own_q = self._column(number, at)
                for other_place, other in enumerate(own):
                    j = other.index
                    value = wrench_dot(other.S, own_q)
                    if at.own:
                        value = plus(value, wrench_dot(at.own[other_place], self.acting[number]))
                    by_q[j][i] = plus(by_q[j][i], value)
                    by_nu[j][i] = plus(by_nu[j][i], wrench_dot(other.S, column.by_nu))
                    M[j][i] = plus(M[j][i], wrench_dot(other.S, column.momentum))
                for ancestor in path[1:]:
                    column = column.inward(joints[number if False else self._child(path, ancestor)])
                    for other in self.coordinates[ancestor]:
                        j = other.index
                        by_q[j][i] = plus(by_q[j][i], wrench_dot(other.S, column.by_q))
                        by_nu[j][i] = plus(by_nu[j][i], wrench_dot(other.S, column.by_nu))
                        m = wrench_dot(other.S, column.momentum)
                        M[j][i] = plus(M[j][i], m)
                        M[i][j] = plus(M[i][j], m)
                        value = wrench_dot(other.psi_dot, column.momentum)
                        value = plus(value, dot(other.psi[1], column.couple))
                        value = plus(value, wrench_dot(other.S, column.outer))
                        by_q[i][j] = plus(by_q[i][j], value)
                        value = wrench_dot(other.theta, column.momentum)
                        value = plus(value, dot(other.S[1], column.couple))
                        by_nu[i][j] = plus(by_nu[i][j], value)
        return by_q, by_nu, M

    def _child(self, path, ancestor):
        return path[path.index(ancestor) - 1]


def wrench_dot(motion: Twist, wrench: Twist) -> Scalar:
    return plus(dot(motion[0], wrench[0]), dot(motion[1], wrench[1]))


def wrench_cross(motion: Twist, wrench: Twist) -> Twist:
    (v, w), (f, n) = motion, wrench
    return cross(w, f), add(cross(w, n), cross(v, f))


def _doubled(x: Twist) -> Twist:
    return add(x[0], x[0]), add(x[1], x[1])
