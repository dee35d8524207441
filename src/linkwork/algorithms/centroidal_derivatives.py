"""Derivatives of the centroidal momentum and of its rate by q, nu and nu_dot.

A unit step along the column S of a joint displaces all bodies beyond the joint. With I the inertia,
h the momentum and g its rate of all that the joint carries, B its Coriolis matrix (`coriolis`), and
V, A the velocity and acceleration of the body from which S is seen to move,

    by q     dh = S x* h + I y                  y = V x S
             dg = S x* g + I z + 2 B y          z = A x S + V x y
    by nu    dh = I S
             dg = I ((V_p + V_k) x S) + 2 B S   of the joint's parent and of the body that it holds

in the axes of the body that the joint holds. V, A are those of the parent, or of the body that the
joint holds if it is read backwards; either of them, if S is one constant column. For kinds whose S
depends on the position, its change is added. With S = (v_s, w_s) and the motion w, u, a, W of that
body as inverse dynamics has it,  z = (W v_s + a x w_s + 2 v x y_w,  W w_s).

Columns are these in the axes of the result about the CoM, which a step displaces by dc: moments get
-dc x f, with f the linear momentum, or the force, of the robot.

The base is taken to rotate only. Its own columns follow from what a rotation of the whole robot
leaves as it is.

Carpentier, Mansard (2018) have the same sums of subtrees for inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwork.algorithms.centroidal_motion import (
    Motion,
    Robot,
    motion_of,
    parent_motion,
    parent_velocity,
    robot_at,
)
from linkwork.algorithms.frames import Matrix, Numbers
from linkwork.algorithms.momentum import centroidal_momentum_matrix
from linkwork.algorithms.rnea import BodyMotion, body_motion
from linkwork.algorithms.subspace_derivatives import SubspaceChange, subspace_changes
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joints import ZERO_TWIST, JointPose, combined
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Twist,
    Vec,
    add,
    apply,
    cross,
    full,
    matmul,
    scale,
    sub,
    transpose,
    twist_add,
    twist_cross,
    wrench_cross,
)


def centroidal_momentum_derivatives(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> tuple[Matrix, Matrix]:
    """(6, nv) derivatives of `centroidal_momentum` by q, and by nu: its matrix."""
    robot = robot_at(skeleton, q, velocity)
    motion = motion_of(robot, nu, None)
    A = centroidal_momentum_matrix(skeleton, q, velocity=velocity)
    return robot.matrix(_momentum_by_q(robot, motion, A)), A


def centroidal_momentum_rate_derivatives(
    skeleton: Skeleton, q: Numbers, nu: Numbers, nu_dot: Numbers, *, velocity: Representation
) -> tuple[Matrix, Matrix, Matrix]:
    """(6, nv) derivatives of `centroidal_momentum_rate` by q, by nu, and by nu_dot."""
    robot = robot_at(skeleton, q, velocity)
    motion = motion_of(robot, nu, nu_dot)
    A = centroidal_momentum_matrix(skeleton, q, velocity=velocity)
    by_q, by_nu = _rate_by_joints(robot, motion, A)
    if robot.base.floating:
        of_base = _rate_by_base(robot, motion)
        by_q.update(enumerate(of_base[0]))
        by_nu.update(enumerate(of_base[1]))
    if velocity == "body":
        carried = _momentum_by_q(robot, motion, A), dict(enumerate(_columns_of(A)))
        by_q, by_nu = _seen_from_base(robot, motion, (by_q, by_nu), carried)
    return robot.matrix(by_q), robot.matrix(by_nu), A


def _momentum_by_q(robot: Robot, motion: Motion, A: Matrix) -> dict[int, Twist]:
    columns: dict[int, Twist] = {}
    for number, pose in robot.joints.items():
        inertia, h = robot.inertias[number], motion.momenta[number]
        changes = subspace_changes(pose, motion.nu, None) or []
        V = motion.V[number]
        if not _takes_own(pose, changes):
            V = parent_velocity(robot, motion, number)
        for k, S in enumerate(pose.columns):
            y = twist_cross(V, S)
            if changes:
                y = twist_add(y, changes[k].velocity)
            column = twist_add(wrench_cross(S, h), inertia.momentum(*y))
            _add(columns, pose.mount.nu_indices[k], robot.about_com(number, *column))
    _less_moved_com(robot, columns, A, motion.momentum[0])
    if robot.base.floating:
        columns.update(enumerate(_momentum_by_base(robot, motion)))
    return columns


def _rate_by_joints(
    robot: Robot, motion: Motion, A: Matrix
) -> tuple[dict[int, Twist], dict[int, Twist]]:
    by_q: dict[int, Twist] = {}
    by_nu: dict[int, Twist] = {}
    for number, pose in robot.joints.items():
        inertia, B, g = robot.inertias[number], motion.coriolis[number], motion.rates[number]
        for k, (y, z, x) in enumerate(_changes_of_motion(robot, motion, number)):
            S, index = pose.columns[k], pose.mount.nu_indices[k]
            column = twist_add(inertia.momentum(*z), _twice(B.forces(*y)))
            column = twist_add(column, wrench_cross(S, g))
            _add(by_q, index, robot.about_com(number, *column))
            column = _twice(twist_add(inertia.momentum(*x), B.forces(*S)))
            _add(by_nu, index, robot.about_com(number, *column))
    _less_moved_com(robot, by_q, A, motion.rate[0])
    return by_q, by_nu


def _changes_of_motion(
    robot: Robot, motion: Motion, number: int
) -> list[tuple[Twist, Twist, Twist]]:
    """y, z and half of (V_p + V_k) x S for each coordinate of a joint, with the changes of S."""
    pose, V_k = robot.joints[number], motion.V[number]
    changes = subspace_changes(pose, motion.nu, motion.nu_dot) or []
    V, moving = V_k, motion.bodies[number]
    if not _takes_own(pose, changes):
        V = parent_velocity(robot, motion, number)
        moving = parent_motion(robot, motion, number)
    found = [(y, _second(V, moving, S, y), y) for S in pose.columns for y in [twist_cross(V, S)]]
    if len(pose.columns) == 1 and not changes:  # S x S = 0: the same for either body
        return found
    both = _half(twist_add(parent_velocity(robot, motion, number), V_k))
    found = [(y, z, twist_cross(both, S)) for (y, z, _), S in zip(found, pose.columns, strict=True)]
    for k, own in enumerate(changes):
        y, z, x = found[k]
        carried = _twice(twist_cross(both, own.velocity))
        z = twist_add(z, twist_add(own.acceleration, carried))
        found[k] = twist_add(y, own.velocity), z, twist_add(x, _half(own.bias))
    return found


def _takes_own(pose: JointPose, changes: Sequence[SubspaceChange]) -> bool:
    """Whether V, A are those of the body that the joint holds, not of its parent."""
    return pose.mount.backwards or (len(pose.columns) == 1 and not changes)


def _second(V: Twist, moving: BodyMotion, S: Twist, y: Twist) -> Twist:
    """A x S + V x y, with y = V x S."""
    swept = cross(V[0], y[1])
    linear = add(cross(moving.a, S[1]), add(swept, swept))
    return add(apply(moving.W, S[0]), linear), apply(moving.W, S[1])


def _momentum_by_base(robot: Robot, motion: Motion) -> list[Twist]:
    """By the pose of the base.

    A rotation of the whole robot, its velocity included, rotates the momentum. What the numbers of
    nu do not follow is taken off again.
    """
    if robot.base.velocity == "body":
        return [ZERO_TWIST] * 6
    by_w = _momentum_by_w(robot)
    rotating = [
        _less(_rotated(axis, motion.momentum), combined(cross(axis, motion.w), by_w))
        for axis in IDENTITY
    ]
    if robot.base.velocity == "mixed":
        return [ZERO_TWIST] * 3 + rotating
    # the base's origin moves, and o_dot = v + w x o with it
    mass = robot.whole.mass
    sliding = [(scale(mass, cross(motion.w, axis)), ZERO) for axis in IDENTITY]
    return sliding + _swept(robot, sliding, rotating)


def _rate_by_base(robot: Robot, motion: Motion) -> tuple[list[Twist], list[Twist]]:
    """By the pose of the base, and by its velocity; in body, without the rotation of the axes."""
    by_w, by_spin = _momentum_by_w(robot), _rate_by_w(robot, motion)
    rotating: list[Twist] = []
    for axis in IDENTITY:
        column = _less(_rotated(axis, motion.rate), combined(cross(axis, motion.u), by_w))
        rotating.append(_less(column, combined(cross(axis, motion.w), by_spin)))
    still = [ZERO_TWIST] * 3
    if robot.base.velocity == "body":
        return still * 2, still + by_spin
    if robot.base.velocity == "mixed":
        return still + rotating, still + by_spin
    # the base's origin moves: o_dot = v + w x o,  o_ddot = v_dot + u x o + w x o_dot
    mass, W = robot.whole.mass, transpose(body_motion(motion.w, motion.u, ZERO).W)
    sliding = [(scale(mass, column), ZERO) for column in W]
    by_v = [(scale(mass, cross(motion.w, axis)), ZERO) for axis in IDENTITY]
    v, w = robot.base.own_part(motion.nu)
    o_dot = scale(mass, add(v, cross(w, robot.base.o)))
    driven = [twist_add(x, (cross(e, o_dot), ZERO)) for x, e in zip(by_spin, IDENTITY, strict=True)]
    by_q = sliding + _swept(robot, sliding, rotating)
    return by_q, by_v + _swept(robot, by_v, driven)


def _seen_from_base(
    robot: Robot,
    motion: Motion,
    rates: tuple[Mapping[int, Twist], Mapping[int, Twist]],
    momenta: tuple[Mapping[int, Twist], Mapping[int, Twist]],
) -> tuple[dict[int, Twist], dict[int, Twist]]:
    """Derivatives of  g - w x h,  from those of g and of h by q and by nu."""
    by_q, by_nu = (
        {k: _less(column, _rotated(motion.w, other[k])) for k, column in own.items()}
        for own, other in zip(rates, momenta, strict=True)
    )
    if robot.base.floating:
        by_nu.update(dict.fromkeys(range(3), ZERO_TWIST))
        for k, axis in enumerate(IDENTITY, start=3):
            by_nu[k] = _less(by_nu[k], _rotated(axis, motion.momentum))
    return by_q, by_nu


def _swept(robot: Robot, sliding: Sequence[Twist], rotating: Sequence[Twist]) -> list[Twist]:
    """Columns of rotations about the world's origin, from those of slides and about the base's."""
    return [
        combined(cross(axis, robot.base.o), sliding, column)
        for axis, column in zip(IDENTITY, rotating, strict=True)
    ]


def _momentum_by_w(robot: Robot) -> list[Twist]:
    """Momentum about the CoM per unit of the base's angular velocity."""
    tensor = full(robot.whole.tensor_about_com(robot.com))
    first = robot.whole.first_moment
    return [(cross(axis, first), row) for axis, row in zip(IDENTITY, tensor, strict=True)]


def _rate_by_w(robot: Robot, motion: Motion) -> list[Twist]:
    """The rate of the momentum about the CoM by the base's angular velocity: I (V x S) + 2 B S."""
    R, first = robot.rotations[0], robot.whole.first_moment
    D = motion.coriolis[0].D
    if R is not IDENTITY:
        D = matmul(matmul(R, D), transpose(R))
    tensor, f = full(robot.whole.tensor), motion.momentum[0]
    columns: list[Twist] = []
    for axis, couple in zip(IDENTITY, transpose(D), strict=True):
        x, lever = cross(motion.w, axis), cross(axis, f)
        force = add(cross(x, first), add(lever, lever))
        moment = add(apply(tensor, x), add(couple, couple))
        columns.append((force, sub(moment, cross(robot.com, force))))
    return columns


def _less_moved_com(robot: Robot, columns: dict[int, Twist], A: Matrix, force: Vec) -> None:
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
