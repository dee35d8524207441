"""How the motion of bodies changes along each coordinate of a joint, in position and in nu.

A unit step of a joint along one coordinate displaces all that the joint carries by a column S of
its motion subspace. Velocities V and accelerations A of the bodies carried change by what is
carried along, S x V and S x A, and by

    V    psi = V_p x S + sigma(nu)
    A    psi x V + psi_dot
         psi_dot = A_p x S + V_p x psi + V_j x sigma(nu) + sigma(nu_dot) + gamma

V_p, A_p are of the joint's parent and V_j of the body that the joint holds. sigma(x) is the change
of S x that is not carried along: of a kind whose S depends on theta, and of a joint read backwards,
whose axes stay with the parent. gamma is that of the bias S_dot nu. A unit of nu adds S to V, and

    A    S x V + theta,       theta = (V_p + V_j) x S + d(S_dot nu) / dnu

Forces are the same for every observer who moves steadily. The observer of each body moves with the
parent's point at the body's origin, which is at rest for him. With a the acceleration of that
point, w the parent's angular velocity and W = [u] + [w]^2 as in `rnea`, a column S = (s, z) has

    V_p x S                    = (w x s,  w x z)
    A_p x S + V_p x (V_p x S)  = (W s + a x z,  W z)

A joint with one coordinate and a constant S has theta = 2 psi, and may use W of either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.algorithms.dynamics.rnea import BodyMotion, body_motion
from linkwork.mechanics.joints import ZERO_TWIST, JointPose, combined
from linkwork.spatial.blocks import (
    Mat,
    Scalar,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    scale,
    twist_add,
    twist_cross,
)


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate of a joint and what changes along it, in the axes of the body it holds."""

    index: int  # in nu
    S: Twist  # displacement of what the joint carries, or derivative of its velocity w.r.t. nu
    psi: Twist  # change of velocity that is not carried along
    psi_dot: Twist  # of acceleration
    theta: Twist  # derivative of acceleration w.r.t. nu
    own: Sequence[Twist]  # what is not carried along of the change of each column of S; () if none


@dataclass(frozen=True, slots=True)
class Moving:
    """A body in motion."""

    v: Vec  # velocity of its origin for its observer: what its joint adds
    motion: BodyMotion

    @property
    def twist(self) -> Twist:
        """(v, w)."""
        return self.v, self.motion.w


def outward(
    pose: JointPose, parent: Moving, nu: Sequence[Scalar] | None, nu_dot: Sequence[Scalar] | None
) -> tuple[Moving, list[Coordinate]]:
    """The motion of a body, from its parent's, and the coordinates of its joint.

    None for nu or nu_dot stands for zero.
    """
    before = parent.motion
    w, u = apply_t(pose.R, before.w), apply_t(pose.R, before.u)
    carried = body_motion(w, u, apply_t(pose.R, add(before.a, apply(before.W, pose.p))))
    v_J, w_J = pose.velocity(nu)
    v_Jdot, w_Jdot = twist_add(pose.velocity(nu_dot), pose.bias(nu))
    u = add(add(u, cross(w, w_J)), w_Jdot)
    # a = a_carried + (w_J + 2 w_parent) x v_J + v_Jdot
    a = add(add(carried.a, cross(add(w_J, add(w, w)), v_J)), v_Jdot)
    body = Moving(v_J, body_motion(add(w, w_J), u, a))
    return body, _coordinates(pose, carried, body, nu, nu_dot)


def twice_drift(pose: JointPose, parent: Moving) -> Vec:
    """Twice the velocity of a body's observer for that of its parent, in the parent's axes."""
    return add(add(parent.v, parent.v), cross(parent.motion.w, scale(2.0, pose.p)))


def _coordinates(
    pose: JointPose,
    carried: BodyMotion,
    body: Moving,
    nu: Sequence[Scalar] | None,
    nu_dot: Sequence[Scalar] | None,
) -> list[Coordinate]:
    mount, S = pose.mount, pose.columns
    if len(S) == 1 and pose.columns_partials() is None:
        psi, psi_dot = _displaced(S[0], carried, body.motion.W)
        return [Coordinate(mount.nu_indices[0], S[0], psi, psi_dot, twist_add(psi, psi), ())]
    both = body.v, add(carried.w, body.motion.w)
    v_J = pose.velocity(nu)
    v_Jdot = twist_add(pose.velocity(nu_dot), pose.bias(nu))
    changes, own = subspace_changes(pose, nu, nu_dot), own_changes(pose)
    coordinates: list[Coordinate] = []
    for k, column in enumerate(S):
        psi, psi_dot = _displaced(column, carried, carried.W)
        theta = twist_cross(both, column)
        sigma, further = ZERO_TWIST, ZERO_TWIST  # sigma(nu); sigma(nu_dot) + gamma
        if changes:
            theta = twist_add(theta, changes[k].bias)
            sigma, further = changes[k].velocity, changes[k].acceleration
        if mount.backwards:
            sigma = twist_add(sigma, twist_cross(v_J, column))
            further = twist_add(further, twist_cross(v_Jdot, column))
        psi = twist_add(psi, sigma)
        psi_dot = twist_add(psi_dot, twist_add(twist_cross(both, sigma), further))
        of_columns = own[k] if own else ()
        coordinates.append(Coordinate(mount.nu_indices[k], column, psi, psi_dot, theta, of_columns))
    return coordinates


def _displaced(column: Twist, carried: BodyMotion, W: Mat) -> tuple[Twist, Twist]:
    """V_p x S, and A_p x S + V_p x (V_p x S)."""
    s, z = column
    psi = cross(carried.w, s), cross(carried.w, z)
    return psi, (add(apply(W, s), cross(carried.a, z)), apply(W, z))


@dataclass(frozen=True, slots=True)
class SubspaceChange:
    """How S itself changes along one coordinate of a joint, in the axes of the body it holds.

    What is carried along with the side that the joint's axes are fixed to does not count.
    """

    velocity: Twist  # derivative of S nu w.r.t. the position
    acceleration: Twist  # of S nu_dot + S_dot nu w.r.t. the position
    bias: Twist  # of S_dot nu w.r.t. nu


def subspace_changes(
    pose: JointPose, nu: Sequence[Scalar] | None, nu_dot: Sequence[Scalar] | None
) -> list[SubspaceChange]:
    """For each coordinate of a joint; none for a constant S. None stands for zero."""
    partials, rates = pose.columns_partials(), _own_part(pose, nu)
    of_bias = pose.bias_partials(rates)
    if partials is None or of_bias is None:
        return []
    column_rates = nu is not None and pose.columns_rate(nu)
    changes: list[SubspaceChange] = []
    for k, columns in enumerate(partials):
        velocity = combined(rates, columns)
        acceleration = combined(_own_part(pose, nu_dot), columns, of_bias[k])
        bias = twist_add(column_rates[k], velocity) if column_rates else velocity
        changes.append(SubspaceChange(velocity, acceleration, bias))
    return changes


def own_changes(pose: JointPose) -> Sequence[Sequence[Twist]] | None:
    """For each coordinate, the change of each column of S that is not carried along.

    None if there is none: all columns are carried along.
    """
    by_theta = pose.columns_partials()
    if not pose.mount.backwards:
        return by_theta
    S = pose.columns
    staying = [[twist_cross(other, column) for other in S] for column in S]
    if by_theta is None:
        return staying
    both = zip(by_theta, staying, strict=True)
    return [[twist_add(x, y) for x, y in zip(a, b, strict=True)] for a, b in both]


def _own_part(pose: JointPose, numbers: Sequence[Scalar] | None) -> list[Scalar]:
    return [0.0 if numbers is None else numbers[k] for k in pose.mount.nu_indices]
