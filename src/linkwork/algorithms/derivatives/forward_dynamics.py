"""Derivatives of forward dynamics with respect to q, nu, tau and the wrenches on frames.

With ID the inverse dynamics,  M nu_dot = tau - ID(q, nu, 0),  so nu_dot has the derivatives

    d / dq         -M^-1 dID/dq      at nu_dot = FD(q, nu, tau)
    d / dnu        -M^-1 dID/dnu
    d / dtau        M^-1
    d / dwrench     M^-1 J^T         with J the Jacobian of its frame

M is not built: its inverse is applied as a product of sparse factors (`factor`), in which a column
of dID costs little outside of the limb that it belongs to.

The columns of a floating base's position and linear velocity are not computed from dID. They follow
from what changes nothing: moving the robot with its velocities, forces and gravity, and adding one
velocity to all of it (`_base_by_q`, `_by_base_velocity`). So what is zero is exactly zero.

Carpentier, Mansard (2018), Analytical derivatives of rigid body dynamics algorithms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

from linkwork.algorithms.derivatives.inverse_dynamics import inverse_dynamics_derivatives
from linkwork.algorithms.dynamics.factor import Factor
from linkwork.algorithms.dynamics.inverse_mass_matrix import mass_factor
from linkwork.algorithms.dynamics.rnea import Wrenches, inverse_dynamics
from linkwork.algorithms.kinematics.frames import Matrix, Scalars
from linkwork.algorithms.kinematics.jacobians import jacobian
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.layout import BASE_NV
from linkwork.spatial.blocks import IDENTITY, ZERO, Force, Motion, Scalar, Vec, total

_Columns: TypeAlias = dict[int, Sequence[Scalar]]  # by index in nu


class _Setting(TypedDict):
    """What acts on the robot, and how it is written."""

    gravity: Vec
    velocity: Representation
    wrenches: Wrenches
    joint_dynamics: DynamicsByIndex


def forward_dynamics_derivatives(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    tau: Scalars,
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[Matrix, Matrix, Matrix, list[Matrix]]:
    """(nv, nv) each: derivatives of nu_dot w.r.t. q, nu and tau; (nv, 6) w.r.t. each wrench.

    Raises:
        SingularJointError: nothing resists the motion of a joint.
    """
    base, given, nv = base_of(skeleton.layout, q, velocity), wrenches or {}, skeleton.layout.nv
    factor = mass_factor(skeleton, q, velocity=velocity, joint_dynamics=joint_dynamics)
    setting = _Setting(
        gravity=gravity, velocity=velocity, wrenches=given, joint_dynamics=joint_dynamics
    )
    bias = inverse_dynamics(skeleton, q, nu, **setting)
    nu_dot = factor.solve([t - b for t, b in zip(tau, bias, strict=True)])
    ID_by_q, ID_by_nu, _ = inverse_dynamics_derivatives(skeleton, q, nu, nu_dot, **setting)
    by_tau = factor.inverse()
    Js = [jacobian(skeleton, q, frame, velocity=velocity) for frame in given]
    by_wrenches = [_transposed([factor.solve(row) for row in J]) for J in Js]
    # of the base, only the columns of its angular velocity are computed
    joints = range(BASE_NV if base.floating else 0, nv)
    turning = range(3, BASE_NV) if base.floating else ()
    less = factor.negated()  # a sign for each pivot, and not for each result
    by_nu = _by_base_velocity(base, nu) | _solved(less, ID_by_nu, [*turning, *joints])
    by_q = _solved(less, ID_by_q, joints)
    if base.velocity == "body":
        by_q |= _body_base_by_q(base, gravity, nv)
    else:
        forces = zip([by_tau, *by_wrenches], [tau, *given.values()], strict=True)
        by_q |= _base_by_q(base, nu_dot, gravity, (by_nu, nu), list(forces))
    return _rows(by_q, nv), _rows(by_nu, nv), by_tau, by_wrenches


def _solved(factor: Factor, matrix: Matrix, columns: Sequence[int]) -> _Columns:
    """Columns of the inverse times a matrix."""
    return {k: factor.solve([row[k] for row in matrix]) for k in columns}


def _by_base_velocity(base: Base, nu: Scalars) -> _Columns:
    """Derivative w.r.t. the base's linear velocity.

    A velocity v of the whole robot changes no force. The linear part of nu_dot contains  -w x v
    in the body and inertial representations, where nu is not the derivative of a position.
    """
    if not base.floating:
        return {}
    _, w = Motion.of(nu)
    turned = [ZERO] * 3 if base.velocity == "mixed" else [axis.cross(w) for axis in IDENTITY]
    return {k: _linear(change, len(nu)) for k, change in enumerate(turned)}


def _body_base_by_q(base: Base, gravity: Vec, nv: int) -> _Columns:
    """Derivative w.r.t. the base's pose, in the body representation.

    Only gravity depends on the orientation of the base, and acts on all of the robot: rotated by
    theta, the linear part of nu_dot changes by  g x theta,  with g in the base's axes.
    """
    if not base.floating:
        return {}
    g = base.R.T @ gravity
    turned = [g.cross(axis) for axis in IDENTITY]
    return {k: _linear(change, nv) for k, change in enumerate([ZERO, ZERO, ZERO, *turned])}


def _base_by_q(
    base: Base,
    nu_dot: Scalars,
    gravity: Vec,
    motion: tuple[_Columns, Scalars],
    forces: Sequence[tuple[Matrix, Scalars]],
) -> _Columns:
    """Derivative w.r.t. the base's pose, in the mixed and inertial representations.

    If the robot, its velocity, the forces and gravity are displaced together, nu_dot is displaced
    with them. So displacing the robot alone is that, less what all else would change.

    Args:
        base: its pose.
        nu_dot: the acceleration.
        gravity: in the world.
        motion: derivatives of nu_dot w.r.t. nu, column by column, and nu.
        forces: derivatives of nu_dot w.r.t. tau and each wrench, with tau and each wrench, whose
            first six entries are a wrench.
    """
    columns: _Columns = {}
    by_nu, nu = motion
    for k in range(BASE_NV if base.floating else 0):
        rho, theta = Motion.of([1.0 if c == k else 0.0 for c in range(BASE_NV)])
        if base.velocity == "mixed":
            rho = ZERO  # a shift of the world changes no entry
        displacement = Motion(rho, theta)
        a, u = displacement.cross(Motion.of(nu_dot))
        moved = [*a + gravity.cross(theta), *u, *[0.0] * (len(nu_dot) - BASE_NV)]
        V = displacement.cross(Motion.of(nu))
        turned = [displacement.cross(Force.of(wrench)) for _, wrench in forces]
        columns[k] = [
            moved[i]
            - total(
                *(by_nu[c][i] * x for c, x in enumerate(V.entries)),
                *(
                    rows[i][c] * x
                    for (rows, _), wrench in zip(forces, turned, strict=True)
                    for c, x in enumerate(wrench.entries)
                ),
            )
            for i in range(len(nu_dot))
        ]
    return columns


def _linear(change: Vec, nv: int) -> list[Scalar]:
    """(nv,) a change of the base's linear acceleration alone."""
    return [*change, *[0.0] * (nv - 3)]


def _transposed(rows: Matrix) -> Matrix:
    return [list(column) for column in zip(*rows, strict=True)]


def _rows(columns: Mapping[int, Sequence[Scalar]], nv: int) -> Matrix:
    return [[columns[k][i] for k in range(nv)] for i in range(nv)]
