"""Derivatives of the centroidal momentum and of its rate by q, nu and nu_dot.

A unit step along the column S of a joint displaces all bodies beyond the joint. With I the inertia,
h the momentum and g its rate of all that the joint carries, B its Coriolis matrix (`coriolis`), and
V, A the velocity and acceleration of the body from which S is seen to move,

    by q     dh = S x* h + I y                  y = V x S
             dg = S x* g + I z + 2 B y          z = A x S + V x y
    by nu    dh = I S
             dg = I ((V_p + V_k) x S) + 2 B S   of the joint's parent and of the body that it holds

in the axes of the body that the joint holds. V, A are those of the parent, or of the body that the
joint holds if it is read backwards. For kinds whose S depends on the position, its change is added.
Columns are these in the axes of the result about the CoM, which a step displaces by dc: moments get
-dc x f, with f the linear momentum, or the force, of the robot.

The momentum about the CoM does not change with the linear velocity of the base, except that of the
robot as one body; so the base is taken to rotate only. Its own columns follow from what a rotation
of the whole robot leaves as it is.

Carpentier, Mansard (2018) have the same sums of subtrees for inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkwork.algorithms.com import body_rotations, per_mass
from linkwork.algorithms.coriolis import BodyCoriolis, coriolis_of_body, summed_inward
from linkwork.algorithms.crba import composites
from linkwork.algorithms.frames import Matrix, Numbers
from linkwork.algorithms.jacobians import rows_of_columns
from linkwork.algorithms.momentum import centroidal_momentum_matrix
from linkwork.algorithms.rnea import body_motion, poses
from linkwork.algorithms.subspace_derivatives import subspace_changes
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joints import ZERO_TWIST, JointPose, combined
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
    full,
    matmul,
    neg,
    scale,
    sub,
    transpose,
    twist_add,
    twist_cross,
)


def centroidal_momentum_derivatives(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> tuple[Matrix, Matrix]:
    """(6, nv) derivatives of `centroidal_momentum` by q, and by nu: its matrix."""
    robot = _robot(skeleton, q, velocity)
    moving = _moving(robot, nu, None)
    A = centroidal_momentum_matrix(skeleton, q, velocity=velocity)
    return robot.matrix(_momentum_by_q(robot, moving, A)), A


def centroidal_momentum_rate_derivatives(
    skeleton: Skeleton, q: Numbers, nu: Numbers, nu_dot: Numbers, *, velocity: Representation
) -> tuple[Matrix, Matrix, Matrix]:
    """(6, nv) derivatives of `centroidal_momentum_rate` by q, by nu, and by nu_dot."""
    robot = _robot(skeleton, q, velocity)
    moving = _moving(robot, nu, nu_dot)
    A = centroidal_momentum_matrix(skeleton, q, velocity=velocity)
    by_q, by_nu = _rate_by_joints(robot, moving, A)
    if robot.base.floating:
        of_base = _rate_by_base(robot, moving)
        by_q.update(enumerate(of_base[0]))
        by_nu.update(enumerate(of_base[1]))
    if velocity == "body":
        carried = _momentum_by_q(robot, moving, A), dict(enumerate(_columns_of(A)))
        by_q, by_nu = _seen_from_base(robot, moving, (by_q, by_nu), carried)
    return robot.matrix(by_q), robot.matrix(by_nu), A


@dataclass(frozen=True, slots=True)
class _Robot:
    """A robot somewhere. Axes of the result are those of the world, or in body of the base."""

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

    def summed(self, wrenches: Mapping[int, Twist]) -> dict[int, Twist]:
        """Wrenches on each body with those on all it carries, in its axes about its origin."""
        sums = dict(wrenches)
        for number in reversed(self.joints):
            parent = self.skeleton.bodies[number].parent
            sums[parent] = twist_add(sums[parent], self.joints[number].inward(*sums[number]))
        return sums

    def matrix(self, columns: Mapping[int, Twist]) -> Matrix:
        """(6, nv) rows of columns by index."""
        return rows_of_columns(columns, range(self.skeleton.layout.nv))


@dataclass(frozen=True, slots=True)
class _Moving:
    """How a robot moves whose base rotates only.

    `w`, `u`, `momentum` and `rate` are in the axes of the result, the last two about the CoM.
    """

    nu: Numbers
    nu_dot: Numbers | None
    w: Vec  # angular velocity of the base
    u: Vec  # its angular acceleration
    parents: dict[int, tuple[Twist, Twist]]  # V, A of each body's parent, seen from the body
    bodies: dict[int, tuple[Twist, Twist]]  # V, A of each body
    momenta: dict[int, Twist]  # of each body with all it carries
    momentum: Twist  # of the robot
    coriolis: dict[int, BodyCoriolis]  # of each body with all it carries; none without nu_dot
    rates: dict[int, Twist]  # of the momenta
    rate: Twist  # of the robot's momentum


def _robot(skeleton: Skeleton, q: Numbers, velocity: Representation) -> _Robot:
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
    return _Robot(skeleton, base, joints, inertias, rotations, arms, whole, com, share, carriers)


def _moving(robot: _Robot, nu: Numbers, nu_dot: Numbers | None) -> _Moving:
    skeleton, base, joints = robot.skeleton, robot.base, robot.joints
    parents: dict[int, tuple[Twist, Twist]] = {}
    start = base.twist(nu)[1], base.acceleration(nu, nu_dot, ZERO)[1]
    bodies: dict[int, tuple[Twist, Twist]] = {0: ((ZERO, start[0]), (ZERO, start[1]))}
    for number, pose in joints.items():
        V, A = (pose.outward(*twist) for twist in bodies[skeleton.bodies[number].parent])
        parents[number] = V, A
        # A = A_p + S nu_dot + S_dot nu + V_p x S nu
        carried = [twist_cross(V, S) for S in pose.columns]
        A = twist_add(twist_add(A, pose.velocity(nu_dot)), pose.bias(nu))
        A = combined([nu[k] for k in pose.mount.nu_indices], carried, A)
        bodies[number] = twist_add(V, pose.velocity(nu)), A
    own = [body.inertia for body in skeleton.bodies]
    momenta = robot.summed({k: own[k].momentum(*V) for k, (V, _) in bodies.items()})
    coriolis: dict[int, BodyCoriolis] = {}
    rates: dict[int, Twist] = {0: ZERO_TWIST}
    if nu_dot is not None:
        coriolis = {k: coriolis_of_body(own[k], *V) for k, (V, _) in bodies.items()}
        # I A + B V
        rates = robot.summed(
            {
                k: twist_add(own[k].momentum(*A), coriolis[k].forces(*V))
                for k, (V, A) in bodies.items()
            }
        )
        coriolis = summed_inward(skeleton, joints, coriolis)
    return _Moving(
        nu,
        nu_dot,
        base.own_part(nu)[1],
        base.own_part(nu_dot)[1],
        parents,
        bodies,
        momenta,
        _of_robot(robot, momenta[0]),
        coriolis,
        rates,
        _of_robot(robot, rates[0]),
    )


def _of_robot(robot: _Robot, wrench: Twist) -> Twist:
    """A wrench on the base about its origin in its axes, as the result is written."""
    force, moment = (apply(robot.rotations[0], half) for half in wrench)
    return force, sub(moment, cross(robot.com, force))


def _momentum_by_q(robot: _Robot, moving: _Moving, A: Matrix) -> dict[int, Twist]:
    columns: dict[int, Twist] = {}
    for number, pose in robot.joints.items():
        inertia, h = robot.inertias[number], moving.momenta[number]
        V = (moving.bodies if pose.mount.backwards else moving.parents)[number][0]
        changes = subspace_changes(pose, moving.nu, None)
        for k, S in enumerate(pose.columns):
            y = twist_cross(V, S)
            if changes:
                y = twist_add(y, changes[k].velocity)
            column = twist_add(_force_cross(S, h), inertia.momentum(*y))
            _add(columns, pose.mount.nu_indices[k], robot.about_com(number, *column))
    _less_moved_com(robot, columns, A, moving.momentum[0])
    if robot.base.floating:
        columns.update(enumerate(_momentum_by_base(robot, moving)))
    return columns


def _rate_by_joints(
    robot: _Robot, moving: _Moving, A: Matrix
) -> tuple[dict[int, Twist], dict[int, Twist]]:
    by_q: dict[int, Twist] = {}
    by_nu: dict[int, Twist] = {}
    for number, pose in robot.joints.items():
        inertia, B, g = robot.inertias[number], moving.coriolis[number], moving.rates[number]
        V_p, V_k = moving.parents[number][0], moving.bodies[number][0]
        V, A_V = (moving.bodies if pose.mount.backwards else moving.parents)[number]
        changes = subspace_changes(pose, moving.nu, moving.nu_dot)
        for k, S in enumerate(pose.columns):
            y = twist_cross(V, S)
            z = twist_add(twist_cross(A_V, S), twist_cross(V, y))
            x = y  # half of (V_p + V_k) x S, as S x S = 0
            if len(pose.columns) > 1 or changes:
                x = _half(twist_cross(twist_add(V_p, V_k), S))
            if changes:
                own = changes[k]
                y = twist_add(y, own.velocity)
                carried = twist_cross(twist_add(V_p, V_k), own.velocity)
                z = twist_add(z, twist_add(own.acceleration, carried))
                x = twist_add(x, _half(own.bias))
            column = twist_add(inertia.momentum(*z), _twice(B.forces(*y)))
            column = twist_add(column, _force_cross(S, g))
            index = pose.mount.nu_indices[k]
            _add(by_q, index, robot.about_com(number, *column))
            column = _twice(twist_add(inertia.momentum(*x), B.forces(*S)))
            _add(by_nu, index, robot.about_com(number, *column))
    _less_moved_com(robot, by_q, A, moving.rate[0])
    return by_q, by_nu


def _momentum_by_base(robot: _Robot, moving: _Moving) -> list[Twist]:
    """By the pose of the base.

    A rotation of the whole robot, its velocity included, rotates the momentum. What the numbers of
    nu do not follow is taken off again.
    """
    if robot.base.velocity == "body":
        return [ZERO_TWIST] * 6
    by_w = _momentum_by_w(robot)
    rotating = [
        _less(_rotated(axis, moving.momentum), combined(cross(axis, moving.w), by_w))
        for axis in IDENTITY
    ]
    if robot.base.velocity == "mixed":
        return [ZERO_TWIST] * 3 + rotating
    # the base's origin moves, and o_dot = v + w x o with it
    mass = robot.whole.mass
    sliding = [(scale(mass, cross(moving.w, axis)), ZERO) for axis in IDENTITY]
    return sliding + _swept(robot, sliding, rotating)


def _rate_by_base(robot: _Robot, moving: _Moving) -> tuple[list[Twist], list[Twist]]:
    """By the pose of the base, and by its velocity; in body, without the rotation of the axes."""
    by_w, by_spin = _momentum_by_w(robot), _rate_by_w(robot, moving)
    rotating: list[Twist] = []
    for axis in IDENTITY:
        column = _less(_rotated(axis, moving.rate), combined(cross(axis, moving.u), by_w))
        rotating.append(_less(column, combined(cross(axis, moving.w), by_spin)))
    still = [ZERO_TWIST] * 3
    if robot.base.velocity == "body":
        return still * 2, still + by_spin
    if robot.base.velocity == "mixed":
        return still + rotating, still + by_spin
    # the base's origin moves: o_dot = v + w x o,  o_ddot = v_dot + u x o + w x o_dot
    mass, W = robot.whole.mass, transpose(body_motion(moving.w, moving.u, ZERO).W)
    sliding = [(scale(mass, column), ZERO) for column in W]
    by_v = [(scale(mass, cross(moving.w, axis)), ZERO) for axis in IDENTITY]
    v, w = robot.base.own_part(moving.nu)
    o_dot = scale(mass, add(v, cross(w, robot.base.o)))
    driven = [twist_add(x, (cross(e, o_dot), ZERO)) for x, e in zip(by_spin, IDENTITY, strict=True)]
    by_q = sliding + _swept(robot, sliding, rotating)
    return by_q, by_v + _swept(robot, by_v, driven)


def _seen_from_base(
    robot: _Robot,
    moving: _Moving,
    rates: tuple[Mapping[int, Twist], Mapping[int, Twist]],
    momenta: tuple[Mapping[int, Twist], Mapping[int, Twist]],
) -> tuple[dict[int, Twist], dict[int, Twist]]:
    """Derivatives of  g - w x h,  from those of g and of h by q and by nu."""
    by_q, by_nu = (
        {k: _less(column, _rotated(moving.w, other[k])) for k, column in own.items()}
        for own, other in zip(rates, momenta, strict=True)
    )
    if robot.base.floating:
        by_nu.update(dict.fromkeys(range(3), ZERO_TWIST))
        for k, axis in enumerate(IDENTITY, start=3):
            by_nu[k] = _less(by_nu[k], _rotated(axis, moving.momentum))
    return by_q, by_nu


def _swept(robot: _Robot, sliding: Sequence[Twist], rotating: Sequence[Twist]) -> list[Twist]:
    """Columns of rotations about the world's origin, from those of slides and about the base's."""
    return [
        combined(cross(axis, robot.base.o), sliding, column)
        for axis, column in zip(IDENTITY, rotating, strict=True)
    ]


def _momentum_by_w(robot: _Robot) -> list[Twist]:
    """Momentum about the CoM per unit of the base's angular velocity."""
    tensor = full(robot.whole.tensor_about_com(robot.com))
    first = robot.whole.first_moment
    return [(cross(axis, first), row) for axis, row in zip(IDENTITY, tensor, strict=True)]


def _rate_by_w(robot: _Robot, moving: _Moving) -> list[Twist]:
    """The rate of the momentum about the CoM by the base's angular velocity: I (V x S) + 2 B S."""
    R, first = robot.rotations[0], robot.whole.first_moment
    D = moving.coriolis[0].D
    if R is not IDENTITY:
        D = matmul(matmul(R, D), transpose(R))
    tensor, f = full(robot.whole.tensor), moving.momentum[0]
    columns: list[Twist] = []
    for axis, couple in zip(IDENTITY, transpose(D), strict=True):
        x, lever = cross(moving.w, axis), cross(axis, f)
        force = add(cross(x, first), add(lever, lever))
        moment = add(apply(tensor, x), add(couple, couple))
        columns.append((force, sub(moment, cross(robot.com, force))))
    return columns


def _less_moved_com(robot: _Robot, columns: dict[int, Twist], A: Matrix, force: Vec) -> None:
    """Add  -dc x f  to moments about the CoM, with dc = A_linear / m."""
    f = scale(robot.per_mass, force)
    pushed = _columns_of(A)
    for k, (linear, angular) in columns.items():
        columns[k] = linear, add(angular, cross(f, pushed[k][0]))


def _columns_of(rows: Matrix) -> list[Twist]:
    return [((a, b, c), (x, y, z)) for a, b, c, x, y, z in zip(*rows, strict=True)]


def _add(columns: dict[int, Twist], index: int, column: Twist) -> None:
    columns[index] = twist_add(columns.get(index, ZERO_TWIST), column)


def _rotated(w: Vec, a: Twist) -> Twist:
    return cross(w, a[0]), cross(w, a[1])


def _less(a: Twist, b: Twist) -> Twist:
    return sub(a[0], b[0]), sub(a[1], b[1])


def _twice(a: Twist) -> Twist:
    return twist_add(a, a)


def _half(a: Twist) -> Twist:
    return scale(0.5, a[0]), scale(0.5, a[1])


def _force_cross(motion: Twist, wrench: Twist) -> Twist:
    """The change of a wrench that is carried along by a displacement."""
    (v, w), (force, moment) = motion, wrench
    return cross(w, force), add(cross(w, moment), cross(v, force))
