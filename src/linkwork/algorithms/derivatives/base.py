"""Rows and columns of the base in the derivatives of inverse dynamics.

Forces depend on the base's angular velocity w, its angular acceleration u, the acceleration a of
its origin less gravity, and its rotation; not on its linear velocity or position. So they are
differentiated with respect to w, u and a first, in the axes that the base's rows are written in.
The representation determines how these three, and the rotation, follow from q, nu and nu_dot:

    mixed      w, u and a + g are entries of nu and nu_dot; the axes are fixed
    body       a = v_dot + w x v - g, where g turns against the base
    inertial   a = v_dot + u x o + w x (v + w x o) - g

A rotation of the robot together with w, u and a rotates the wrench on the base and leaves the
forces of joints unchanged, which yields the effect of a rotation of the base alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.algorithms.centroidal.subtree import Subtree
from linkwork.algorithms.dynamics.coriolis import without_product
from linkwork.algorithms.dynamics.rnea import body_motion
from linkwork.algorithms.kinematics.frames import Matrix, Numbers
from linkwork.mechanics.base import Base
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Scalar,
    Twist,
    Vec,
    add,
    apply_t,
    cross,
    full,
    halves,
    mat_add,
    matmul,
    neg,
    plus,
    scale,
    sub,
    wedge,
)

NOTHING: Mat = (ZERO, ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class Column:
    """The effect of a unit step of one coordinate, on the body it has been transformed to."""

    by_q: Twist  # derivative of the wrench w.r.t. q
    by_nu: Twist  # w.r.t. nu
    momentum: Twist  # w.r.t. nu_dot
    couple: Vec  # 2 B^T S, for the row of the coordinate
    external_wrench_rate: Twist | None  # for the row: added by external wrenches w.r.t. q


@dataclass(frozen=True, slots=True)
class BaseMotion:
    """How the base moves, in the axes that its rows are written in."""

    base: Base
    R: Mat  # of the base in those axes
    w: Vec
    u: Vec
    a: Vec  # less gravity
    v: Vec  # velocity of its origin; not filled in for mixed, which has no use for it
    g: Vec  # gravity


def base_motion(base: Base, nu: Numbers, nu_dot: Numbers, gravity: Vec) -> BaseMotion:
    """The motion of a floating base."""
    (v, w), (a, u) = halves(nu), halves(nu_dot)
    if base.velocity == "body":
        g = apply_t(base.R, gravity)
        return BaseMotion(base, IDENTITY, w, u, sub(add(a, cross(w, v)), g), v, g)
    if base.velocity == "inertial":
        v = add(v, cross(w, base.o))
        a = add(add(a, cross(u, base.o)), cross(w, v))
    return BaseMotion(base, base.R, w, u, sub(a, gravity), v, gravity)


@dataclass(frozen=True, slots=True)
class Derivatives:
    """Derivatives of tau, each (nv, nv), being filled in."""

    by_q: Matrix
    by_nu: Matrix
    M: Matrix

    @staticmethod
    def of_zeros(nv: int) -> Derivatives:
        """Matrices of zeros."""
        return Derivatives(*([[0.0] * nv for _ in range(nv)] for _ in range(3)))


def add_coordinate(derivatives: Derivatives, i: int, column: Column, at: BaseMotion) -> None:
    """Rows and columns of the base and coordinate i of a joint."""
    by_q, by_nu, momentum = column.by_q, column.by_nu, column.momentum
    in_q, in_nu = _row_of_joint(column, at)
    if at.base.velocity == "inertial":
        by_q, by_nu, momentum = (_about(at.base.o, x) for x in (by_q, by_nu, momentum))
    for k in range(6):
        half, axis = divmod(k, 3)
        add_to(derivatives.by_q, k, i, by_q[half][axis])
        add_to(derivatives.by_q, i, k, in_q[half][axis])
        add_to(derivatives.by_nu, k, i, by_nu[half][axis])
        add_to(derivatives.by_nu, i, k, in_nu[half][axis])
        add_to(derivatives.M, k, i, momentum[half][axis])
        add_to(derivatives.M, i, k, momentum[half][axis])


def add_to(matrix: Matrix, i: int, j: int, value: Scalar) -> None:
    """Add to an entry."""
    matrix[i][j] = plus(matrix[i][j], value)


def _about(o: Vec, wrench: Twist) -> Twist:
    """A wrench about a point from which the present one is at o."""
    return wrench[0], add(wrench[1], cross(o, wrench[0]))


def _row_of_joint(column: Column, at: BaseMotion) -> tuple[Twist, Twist]:
    """Derivatives of the force of a joint w.r.t. the base's six coordinates in q, and in nu."""
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
    """Derivatives of the base's force and moment w.r.t. one vector."""

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


def add_base(derivatives: Derivatives, robot: Subtree, at: BaseMotion) -> None:
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
    none = _Block(NOTHING, NOTHING)
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


def _rotated_alone(robot: Subtree, at: BaseMotion, by_w: _Block) -> _Block:
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
    robot: Subtree, at: BaseMotion, by: tuple[_Block, _Block, _Block]
) -> tuple[tuple[_Block, _Block], ...]:
    """Derivatives w.r.t. the base's coordinates in q, nu and nu_dot, in inertial."""
    by_a, by_u, by_w = by
    F, _ = robot.wrench
    o = wedge(at.base.o)
    minus_o = wedge(neg(at.base.o))
    W = body_motion(at.w, at.u, at.a).W
    moved = by_a.of(W)
    rotated = _rotated_alone(robot, at, by_w).plus(moved.of(minus_o)).about(at.base.o)
    # the moment about the world's origin changes by (o moved) x F
    lever = wedge(neg(F))
    moved = moved.about(at.base.o).plus(_Block(NOTHING, lever))
    rotated = rotated.plus(_Block(NOTHING, matmul(wedge(F), o)))
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
