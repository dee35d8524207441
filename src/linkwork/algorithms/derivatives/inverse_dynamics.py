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
from linkwork.algorithms.dynamics.rnea import Wrenches, body_motion
from linkwork.algorithms.kinematics.frames import Matrix, Scalars, path_to
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import IDENTITY, ZERO, ZERO_MATRIX, Force, Mat, Motion, Scalar, Vec


@dataclass(frozen=True, slots=True)
class _Column:
    """The effect of a unit step of one coordinate, on the body it has been transformed to."""

    by_q: Force  # derivative of the wrench w.r.t. q
    by_nu: Force  # w.r.t. nu
    momentum: Force  # w.r.t. nu_dot
    couple: Vec  # 2 B^T S, for the row of the coordinate
    external_wrench_rate: Force | None  # for the row: added by external wrenches w.r.t. q


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
    """Derivatives of tau, each (nv, nv), being filled in."""

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
        subtrees[parent] = subtrees[parent] + subtrees[number].inward(pose, drift[number])
    if at:
        _add_base(derivatives, subtrees[0], at)
    for k, added in joint_dynamics.items():
        _add_to(derivatives.by_nu, k, k, added.damping)
        _add_to(derivatives.M, k, k, added.armature)
    return derivatives.by_q, derivatives.by_nu, derivatives.M


def _depth_first(skeleton: Skeleton) -> Iterator[tuple[int, bool]]:
    """Yield bodies without the base, depth first: in pre-order (False) and in post-order (True).

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
    couple, external = body.twice_B.couple(at.S), None
    if body.external_wrench_rate is not None:
        by_q = by_q + body.external_wrench_rate @ at.S
        external = Force(ZERO, body.external_wrench_rate.couple(at.S))
    if body.world_fixed_wrench is not None:
        moved = at.S.cross(body.world_fixed_wrench)
        by_q = by_q + moved
        external = -moved
    momentum = body.inertia @ at.S
    i = at.index
    for place, other in enumerate(of_joint):
        j, by = other.index, other.S.dot(by_q)
        if at.columns:
            by = by + at.columns[place].dot(body.wrench)
        _add_to(derivatives.by_q, j, i, by)
        _add_to(derivatives.by_nu, j, i, other.S.dot(by_nu))
        _add_to(derivatives.M, j, i, other.S.dot(momentum))
    by_q = by_q + at.S.cross(body.wrench)
    return _Column(by_q, by_nu, momentum, couple, external)


def _add_pair(derivatives: _Derivatives, i: int, other: Coordinate, column: _Column) -> None:
    """Entries of coordinate i and another one, nearer to the base."""
    j, momentum, couple = other.index, column.momentum, column.couple
    _add_to(derivatives.by_q, j, i, other.S.dot(column.by_q))
    _add_to(derivatives.by_nu, j, i, other.S.dot(column.by_nu))
    both = other.S.dot(momentum)
    _add_to(derivatives.M, j, i, both)
    _add_to(derivatives.M, i, j, both)
    by = other.psi_dot.dot(momentum) + other.psi[1].dot(couple)
    if column.external_wrench_rate is not None:
        by = by + other.S.dot(column.external_wrench_rate)
    _add_to(derivatives.by_q, i, j, by)
    by = other.theta.dot(momentum) + other.S[1].dot(couple)
    _add_to(derivatives.by_nu, i, j, by)


@dataclass(frozen=True, slots=True)
class _Inward:
    """Takes wrenches on a body to its parent, or from the last body into the base's rows."""

    rotations: Sequence[Mat]  # one after the other
    arm: Vec  # of the body from the parent's origin, in the axes before the rotations
    p: Vec  # the same in those after them; one of the two is given
    twice_drift: Vec  # of the observer (`subtrees`), in those after them

    def rotated(self, vector: Vec) -> Vec:
        """Return a vector in the axes of the parent, or of the base's rows."""
        for R in self.rotations:
            vector = R @ vector
        return vector

    def wrench(self, wrench: Force) -> Force:
        """Return a wrench about the parent's origin."""
        force, moment = wrench.shifted(self.arm)
        moment = self.rotated(moment)
        return Force(self.rotated(force), moment).shifted(self.p)

    def column(self, column: _Column) -> _Column:
        """Return a column with all its vectors; only the couple depends on the observer."""
        momentum = self.wrench(column.momentum)
        return _Column(
            self.wrench(column.by_q),
            self.wrench(column.by_nu),
            momentum,
            self.rotated(column.couple) + self.twice_drift.cross(momentum[0]),
            column.external_wrench_rate and self.wrench(column.external_wrench_rate),
        )


def _transform(pose: JointPose, drift: Vec, base: Base, *, is_last: bool) -> _Inward:
    """Return the transform to the parent; for children of the base, to the axes of its rows."""
    R_base, _ = base.expressed_at
    if is_last and R_base is not IDENTITY:
        return _Inward((R_base @ pose.R,), pose.arm, ZERO, R_base @ drift)
    return _Inward(pose.rotations, ZERO, pose.p, drift)


def _base_motion(base: Base, nu: Scalars, nu_dot: Scalars, gravity: Vec) -> _BaseMotion:
    """Return the motion of a floating base."""
    (v, w), (a, u) = Motion.of(nu), Motion.of(nu_dot)
    if base.velocity == "body":
        g = base.R.T @ gravity
        return _BaseMotion(base, IDENTITY, w, u, a + w.cross(v) - g, v, g)
    if base.velocity == "inertial":
        v = v + w.cross(base.o)
        a = a + u.cross(base.o) + w.cross(v)
    return _BaseMotion(base, base.R, w, u, a - gravity, v, gravity)


def _add_base_pairs(derivatives: _Derivatives, i: int, column: _Column, at: _BaseMotion) -> None:
    """Rows and columns of the base and coordinate i of a joint."""
    by_q, by_nu, momentum = column.by_q, column.by_nu, column.momentum
    in_q, in_nu = _base_row(column, at)
    if at.base.velocity == "inertial":
        by_q, by_nu, momentum = (x.shifted(at.base.o) for x in (by_q, by_nu, momentum))
    for matrix, column_entries, row_entries in (
        (derivatives.by_q, by_q.entries, in_q.entries),
        (derivatives.by_nu, by_nu.entries, in_nu.entries),
        (derivatives.M, momentum.entries, momentum.entries),
    ):
        for k in range(6):
            _add_to(matrix, k, i, column_entries[k])
            _add_to(matrix, i, k, row_entries[k])


def _add_to(matrix: Matrix, i: int, j: int, value: Scalar) -> None:
    """Add to an entry."""
    matrix[i][j] = matrix[i][j] + value


def _base_row(column: _Column, at: _BaseMotion) -> tuple[Force, Force]:
    """Return derivatives of a joint's force w.r.t. the base's six coordinates in q, and in nu."""
    by_a, by_u = column.momentum
    by_w = column.couple + by_u.cross(at.w)
    if at.base.velocity == "body":
        in_nu = Force(by_a.cross(at.w), by_w + at.v.cross(by_a))
        return Force(ZERO, at.g.cross(by_a)), in_nu
    rotated = by_w.cross(at.w) + by_u.cross(at.u) + by_a.cross(at.a)
    if at.base.velocity == "mixed":
        if column.external_wrench_rate is not None:
            rotated = rotated + column.external_wrench_rate[1]
        return Force(ZERO, rotated), Force(ZERO, by_w)
    o, by_v = at.base.o, by_a.cross(at.w)
    # the origin moves: a changes by W = [u] + [w]^2
    moved = by_a.cross(at.u) + by_v.cross(at.w)
    if column.external_wrench_rate is not None:
        moved, rotated = (
            moved + column.external_wrench_rate[0],
            rotated + column.external_wrench_rate[1],
        )
    by_w = by_w + (at.v.cross(by_a) + o.cross(by_v))
    return Force(moved, rotated).shifted(o), Force(by_v, by_w)


@dataclass(frozen=True, slots=True)
class _Block:
    """Derivatives of the base's force and moment w.r.t. one vector."""

    force: Mat
    moment: Mat

    def __add__(self, other: _Block) -> _Block:
        return _Block(self.force + other.force, self.moment + other.moment)

    def __matmul__(self, m: Mat) -> _Block:
        """Apply the chain rule: the vector depends on another one by the matrix m."""
        return _Block(self.force @ m, self.moment @ m)

    def about(self, o: Vec) -> _Block:
        """Return the block with the moment about a point from which the present one is at o."""
        return _Block(self.force, self.moment + o.wedge @ self.force)


def _add_base(derivatives: _Derivatives, robot: Subtree, at: _BaseMotion) -> None:
    """Rows and columns of the base among themselves, from the subtree of the base."""
    if at.base.velocity != "body":
        robot = robot.rotated(at.R)
    mass, h, T = robot.inertia.mass, robot.inertia.first_moment, robot.inertia.tensor.full
    by_a = _Block(mass * IDENTITY, h.wedge)
    by_u = _Block((-h).wedge, T)
    # by w: I theta + 2 B S
    twice_f, twice_D = robot.twice_B.f, robot.twice_B.D
    turned = T @ at.w.wedge
    force = (-twice_f).wedge.minus_wedges(h, at.w)
    by_w = _Block(force, turned + twice_D)
    none = _Block(ZERO_MATRIX, ZERO_MATRIX)
    match at.base.velocity:
        case "body":
            in_q = none, by_a @ (-at.g).wedge
            in_nu = by_a @ at.w.wedge, by_w + by_a @ (-at.v).wedge
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
    """Return the derivative w.r.t. a rotation of the base, with w, u and a held constant.

    With X_w the derivative of the force F with respect to w, and so on, it is
    -[F] + X_w [w] + X_u [u] + X_a [a].
    """
    (F, N), h = robot.wrench, robot.inertia.first_moment
    turned = by_w @ at.w.wedge
    force = (robot.inertia.mass * at.a - F).wedge + turned.force
    moment = (-N).wedge + turned.moment
    moment = moment + robot.inertia.tensor @ at.u.wedge
    block = _Block(force.minus_wedges(h, at.u), moment.minus_wedges(-h, at.a))
    if robot.external_wrench_rate is None:
        return block
    return block + _Block((-robot.external_wrench_rate.f).wedge, robot.external_wrench_rate.D)


def _inertial(
    robot: Subtree, at: _BaseMotion, by: tuple[_Block, _Block, _Block]
) -> tuple[tuple[_Block, _Block], ...]:
    """Return derivatives w.r.t. the base's coordinates in q, nu and nu_dot, in inertial."""
    by_a, by_u, by_w = by
    F, _ = robot.wrench
    o = at.base.o.wedge
    minus_o = (-at.base.o).wedge
    W = body_motion(at.w, at.u, at.a).W
    moved = by_a @ W
    rotated = (_rotated_alone(robot, at, by_w) + moved @ minus_o).about(at.base.o)
    # the moment about the world's origin changes by (o moved) x F
    lever = (-F).wedge
    moved = moved.about(at.base.o) + _Block(ZERO_MATRIX, lever)
    rotated = rotated + _Block(ZERO_MATRIX, F.wedge @ o)
    by_v = by_a @ at.w.wedge
    swept = by_w + by_a @ (-at.v).wedge + by_v @ minus_o
    turning = by_u + by_a @ minus_o
    return (
        (moved, rotated),
        (by_v.about(at.base.o), swept.about(at.base.o)),
        (by_a.about(at.base.o), turning.about(at.base.o)),
    )
