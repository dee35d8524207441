"""Derivatives of inverse dynamics with respect to q, nu and nu_dot.

For each coordinate of a joint, `subtrees` has the displacement S of the subtree that the joint
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
theta are mostly zeros, and from the last one into the axes of the base's rows. The base comes last.
Forces depend on its angular velocity w, its angular acceleration u, the acceleration a of its
origin less gravity, and its rotation; not on its linear velocity or position. So they are
differentiated with respect to w, u and a first, in the axes that the base's rows are written in.
The representation determines how these three, and the rotation, follow from q, nu and nu_dot:

    mixed      w, u and a + g are entries of nu and nu_dot; the axes are fixed
    body       a = v_dot + w x v - g, where g turns against the base
    inertial   a = v_dot + u x o + w x (v + w x o) - g

A rotation of the robot together with w, u and a rotates the wrench on the base and leaves the
forces of joints unchanged, which yields the effect of a rotation of the base alone.

Carpentier, Mansard (2018); Singh, Russell, Wensing (2022); Echeandia, Wensing (2021) for B.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from linkwork.algorithms.derivatives.subtrees import (
    Bodies,
    Coordinate,
    Moving,
    Subtree,
    outward,
    twice_drift,
)
from linkwork.algorithms.dynamics.coriolis import without_product
from linkwork.algorithms.dynamics.rnea import Wrenches, body_motion
from linkwork.algorithms.kinematics.frames import Matrix, Scalars, path_to
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
    apply_t,
    cross,
    dot,
    full,
    halves,
    mat_add,
    matmul,
    neg,
    plus,
    power,
    scale,
    sub,
    twist_add,
    wedge,
    wrench_cross,
)

_NO_MATRIX: Mat = (ZERO, ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class _Column:
    """The effect of a unit step of one coordinate, on the body it has been transformed to."""

    by_q: Twist  # derivative of the wrench w.r.t. q
    by_nu: Twist  # w.r.t. nu
    momentum: Twist  # w.r.t. nu_dot
    couple: Vec  # 2 B^T S, for the row of the coordinate
    external_wrench_rate: Twist | None  # for the row: added by external wrenches w.r.t. q


@dataclass(frozen=True, slots=True)
class _BaseMotion:
    """How the base moves, in the axes that its rows are written in."""

    base: Base
    R: Mat  # of the base in those axes
    w: Vec
    u: Vec
    a: Vec  # less gravity
    v: Vec  # velocity of its origin; not filled in for mixed, which has no use for it
    g: Vec  # gravity


@dataclass(frozen=True, slots=True)
class _Derivatives:
    """_Derivatives of tau, each (nv, nv), being filled in."""

    by_q: Matrix
    by_nu: Matrix
    M: Matrix

    @staticmethod
    def of_zeros(nv: int) -> _Derivatives:
        """Matrices of zeros."""
        return _Derivatives(*([[0.0] * nv for _ in range(nv)] for _ in range(3)))


def inverse_dynamics_derivatives(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars,
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
    at = _base_motion(base, nu, nu_dot, gravity) if base.floating else None
    derivatives = _Derivatives.of_zeros(skeleton.layout.nv)
    for number, is_complete in _depth_first(skeleton):
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
                _add_base_pairs(derivatives, i, inward[path[-1]].column(column), at)
        subtrees[parent] = subtrees[parent].plus(subtrees[number].inward(pose, drift[number]))
    if at:
        _add_base(derivatives, subtrees[0], at)
    for k, added in joint_dynamics.items():
        _add_to(derivatives.by_nu, k, k, added.damping)
        _add_to(derivatives.M, k, k, added.armature)
    return derivatives.by_q, derivatives.by_nu, derivatives.M


def _depth_first(skeleton: Skeleton) -> Iterator[tuple[int, bool]]:
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
    derivatives: _Derivatives, at: Coordinate, of_joint: Sequence[Coordinate], body: Subtree
) -> _Column:
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
    for place, other in enumerate(of_joint):
        j, by = other.index, power(other.S, by_q)
        if at.columns:
            by = plus(by, power(at.columns[place], body.wrench))
        _add_to(derivatives.by_q, j, i, by)
        _add_to(derivatives.by_nu, j, i, power(other.S, by_nu))
        _add_to(derivatives.M, j, i, power(other.S, momentum))
    by_q = twist_add(by_q, wrench_cross(at.S, body.wrench))
    return _Column(by_q, by_nu, momentum, couple, external)


def _add_pair(derivatives: _Derivatives, i: int, other: Coordinate, column: _Column) -> None:
    """Entries of coordinate i and another one, nearer to the base."""
    j, momentum, couple = other.index, column.momentum, column.couple
    _add_to(derivatives.by_q, j, i, power(other.S, column.by_q))
    _add_to(derivatives.by_nu, j, i, power(other.S, column.by_nu))
    both = power(other.S, momentum)
    _add_to(derivatives.M, j, i, both)
    _add_to(derivatives.M, i, j, both)
    by = plus(power(other.psi_dot, momentum), dot(other.psi[1], couple))
    if column.external_wrench_rate is not None:
        by = plus(by, power(other.S, column.external_wrench_rate))
    _add_to(derivatives.by_q, i, j, by)
    by = plus(power(other.theta, momentum), dot(other.S[1], couple))
    _add_to(derivatives.by_nu, i, j, by)


@dataclass(frozen=True, slots=True)
class _Inward:
    """Takes wrenches on a body to its parent, or from the last body into the base's rows."""

    rotations: Sequence[Mat]  # one after the other
    arm: Vec  # of the body from the parent's origin, in the axes before the rotations
    p: Vec  # the same in those after them; one of the two is given
    twice_drift: Vec  # of the observer (`subtrees`), in those after them

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

    def column(self, column: _Column) -> _Column:
        """All vectors of a column; only the couple depends on the observer."""
        momentum = self.wrench(column.momentum)
        return _Column(
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


def _base_motion(base: Base, nu: Scalars, nu_dot: Scalars, gravity: Vec) -> _BaseMotion:
    """The motion of a floating base."""
    (v, w), (a, u) = halves(nu), halves(nu_dot)
    if base.velocity == "body":
        g = apply_t(base.R, gravity)
        return _BaseMotion(base, IDENTITY, w, u, sub(add(a, cross(w, v)), g), v, g)
    if base.velocity == "inertial":
        v = add(v, cross(w, base.o))
        a = add(add(a, cross(u, base.o)), cross(w, v))
    return _BaseMotion(base, base.R, w, u, sub(a, gravity), v, gravity)


def _add_base_pairs(derivatives: _Derivatives, i: int, column: _Column, at: _BaseMotion) -> None:
    """Rows and columns of the base and coordinate i of a joint."""
    by_q, by_nu, momentum = column.by_q, column.by_nu, column.momentum
    in_q, in_nu = _base_row(column, at)
    if at.base.velocity == "inertial":
        by_q, by_nu, momentum = (_about(at.base.o, x) for x in (by_q, by_nu, momentum))
    for k in range(6):
        half, axis = divmod(k, 3)
        _add_to(derivatives.by_q, k, i, by_q[half][axis])
        _add_to(derivatives.by_q, i, k, in_q[half][axis])
        _add_to(derivatives.by_nu, k, i, by_nu[half][axis])
        _add_to(derivatives.by_nu, i, k, in_nu[half][axis])
        _add_to(derivatives.M, k, i, momentum[half][axis])
        _add_to(derivatives.M, i, k, momentum[half][axis])


def _add_to(matrix: Matrix, i: int, j: int, value: Scalar) -> None:
    """Add to an entry."""
    matrix[i][j] = plus(matrix[i][j], value)


def _about(o: Vec, wrench: Twist) -> Twist:
    """A wrench about a point from which the present one is at o."""
    return wrench[0], add(wrench[1], cross(o, wrench[0]))


def _base_row(column: _Column, at: _BaseMotion) -> tuple[Twist, Twist]:
    """_Derivatives of the force of a joint w.r.t. the base's six coordinates in q, and in nu."""
    by_a, by_u = column.momentum
    by_w = add(column.couple, cross(by_u, at.w))
    if at.base.velocity == "body":
        return (ZERO, cross(at.g, by_a)), (cross(by_a, at.w), add(by_w, cross(at.v, by_a)))
    rotated = add(add(cross(by_w, at.w), cross(by_u, at.u)), cross(by_a, at.a))
    if at.base.velocity == "mixed":
        if column.external_wrench_rate is not None:
            rotated = add(rotated, column.external_wrench_rate[1])
        return (ZERO, rotated), (ZERO, by_w)
    o, by_v = at.base.o, cross(by_a, at.w)
    # the origin moves: a changes by W = [u] + [w]^2
    moved = add(cross(by_a, at.u), cross(by_v, at.w))
    if column.external_wrench_rate is not None:
        moved, rotated = (
            add(moved, column.external_wrench_rate[0]),
            add(rotated, column.external_wrench_rate[1]),
        )
    by_w = add(by_w, add(cross(at.v, by_a), cross(o, by_v)))
    return (moved, add(rotated, cross(o, moved))), (by_v, by_w)


@dataclass(frozen=True, slots=True)
class _Block:
    """_Derivatives of the base's force and moment w.r.t. one vector."""

    force: Mat
    moment: Mat

    def plus(self, other: _Block) -> _Block:
        return _Block(mat_add(self.force, other.force), mat_add(self.moment, other.moment))

    def of(self, m: Mat) -> _Block:
        """The chain rule: the vector depends on another one by the matrix m."""
        return _Block(matmul(self.force, m), matmul(self.moment, m))

    def about(self, o: Vec) -> _Block:
        """The moment about a point from which the present one is at o."""
        return _Block(self.force, mat_add(self.moment, matmul(wedge(o), self.force)))


def _add_base(derivatives: _Derivatives, robot: Subtree, at: _BaseMotion) -> None:
    """Rows and columns of the base among themselves, from the subtree of the base."""
    if at.base.velocity != "body":
        robot = robot.rotated(at.R)
    mass, h, T = robot.inertia.mass, robot.inertia.first_moment, full(robot.inertia.tensor)
    by_a = _Block(_diagonal(mass), wedge(h))
    by_u = _Block(wedge(neg(h)), T)
    # by w: I theta + 2 B S
    twice_f, twice_D = robot.twice_B.f, robot.twice_B.D
    turned = matmul(T, wedge(at.w))
    force = without_product(wedge(neg(twice_f)), h, at.w)
    by_w = _Block(force, mat_add(turned, twice_D))
    none = _Block(_NO_MATRIX, _NO_MATRIX)
    match at.base.velocity:
        case "body":
            by_g = by_a.of(wedge(neg(at.g)))
            in_q = none, by_g
            in_nu = by_a.of(wedge(at.w)), by_w.plus(by_a.of(wedge(neg(at.v))))
            in_nu_dot = by_a, by_u
        case "mixed":
            in_q = none, _rotated_alone(robot, at, by_w)
            in_nu, in_nu_dot = (none, by_w), (by_a, by_u)
        case "inertial":
            in_q, in_nu, in_nu_dot = _inertial(robot, at, (by_a, by_u, by_w))
    for matrix, (left, right) in (
        (derivatives.by_q, in_q),
        (derivatives.by_nu, in_nu),
        (derivatives.M, in_nu_dot),
    ):
        for i in range(3):
            matrix[i][:6] = [*left.force[i], *right.force[i]]
            matrix[3 + i][:6] = [*left.moment[i], *right.moment[i]]


def _rotated_alone(robot: Subtree, at: _BaseMotion, by_w: _Block) -> _Block:
    """Derivative w.r.t. a rotation of the base, with w, u and a held constant.

    With X_w the derivative of the force F with respect to w, and so on, it is
    -[F] + X_w [w] + X_u [u] + X_a [a].
    """
    (F, N), h = robot.wrench, robot.inertia.first_moment
    turned = by_w.of(wedge(at.w))
    force = mat_add(wedge(sub(scale(robot.inertia.mass, at.a), F)), turned.force)
    moment = mat_add(wedge(neg(N)), turned.moment)
    moment = mat_add(moment, matmul(full(robot.inertia.tensor), wedge(at.u)))
    block = _Block(without_product(force, h, at.u), without_product(moment, neg(h), at.a))
    if robot.external_wrench_rate is None:
        return block
    return block.plus(
        _Block(wedge(neg(robot.external_wrench_rate.f)), robot.external_wrench_rate.D)
    )


def _inertial(
    robot: Subtree, at: _BaseMotion, by: tuple[_Block, _Block, _Block]
) -> tuple[tuple[_Block, _Block], ...]:
    """_Derivatives w.r.t. the base's coordinates in q, nu and nu_dot, in inertial."""
    by_a, by_u, by_w = by
    F, _ = robot.wrench
    o = wedge(at.base.o)
    minus_o = wedge(neg(at.base.o))
    W = body_motion(at.w, at.u, at.a).W
    moved = by_a.of(W)
    rotated = _rotated_alone(robot, at, by_w).plus(moved.of(minus_o)).about(at.base.o)
    # the moment about the world's origin changes by (o moved) x F
    lever = wedge(neg(F))
    moved = moved.about(at.base.o).plus(_Block(_NO_MATRIX, lever))
    rotated = rotated.plus(_Block(_NO_MATRIX, matmul(wedge(F), o)))
    by_v = by_a.of(wedge(at.w))
    swept = by_w.plus(by_a.of(wedge(neg(at.v)))).plus(by_v.of(minus_o))
    turning = by_u.plus(by_a.of(minus_o))
    return (
        (moved, rotated),
        (by_v.about(at.base.o), swept.about(at.base.o)),
        (by_a.about(at.base.o), turning.about(at.base.o)),
    )


def _diagonal(value: Scalar) -> Mat:
    return ((value, 0.0, 0.0), (0.0, value, 0.0), (0.0, 0.0, value))
