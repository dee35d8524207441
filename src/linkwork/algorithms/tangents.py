"""How velocities and accelerations change along each coordinate of the tangent of q, and of nu.

A unit step of a joint along one coordinate displaces all that the joint carries by a column S of
its motion subspace. Velocities v and accelerations a of the bodies carried change by what is
carried along, S x v and S x a, and by

    v    psi  = v_p x S + sigma(nu)
    a    psi x v + psi',    psi' = a_p x S + v_p x psi + v_j x sigma(nu) + sigma(nu_dot) + gamma

v_p, a_p are of the joint's parent and v_j of the body that it holds. sigma(x) is the change of
S x that is not carried along: of a kind whose S depends on theta, and of joints read backwards,
whose axes stay with the parent. gamma is that of the bias S_dot nu. A unit of nu adds S to v, and

    a    S x v + theta,     theta = (v_p + v_j) x S + d(S_dot nu) / dnu

The base is a joint on the world, whose S depends on the representation of its velocity. Gravity is
an acceleration of the world upward. Everything is in the axes of the body, about its origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.mechanics.base import Base
from linkwork.mechanics.joints import ZERO_TWIST, JointPose, combined, written_in_body
from linkwork.spatial.blocks import (
    ZERO,
    Scalar,
    Twist,
    Vec,
    apply_t,
    neg,
    sub,
    times,
    twist_add,
    twist_cross,
)


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate of a joint, and what changes along it."""

    index: int  # in nu
    S: Twist  # displacement of what the joint carries; change of velocity by nu
    psi: Twist  # change of velocity that is not carried along
    psi_dot: Twist  # of acceleration
    theta: Twist  # change of acceleration by nu
    own: Sequence[Twist]  # change of each column of S that is not carried along; () if there is none


def joint_coordinates(
    pose: JointPose,
    parent: tuple[Twist, Twist],
    twist: Twist,
    nu: Sequence[Scalar],
    nu_dot: Sequence[Scalar],
) -> list[Coordinate]:
    """The coordinates of a joint.

    Args:
        pose: of the body that the joint holds.
        parent: velocity and acceleration of the parent, seen from the body.
        twist: velocity of the body.
        nu: velocity of the robot.
        nu_dot: its acceleration.
    """
    mount, S = pose.mount, pose.columns
    v_p, a_p = parent
    by_theta = _by_theta(pose)
    rates = [nu[k] for k in mount.nu_indices]
    accelerations = [nu_dot[k] for k in mount.nu_indices]
    bias = _bias_jacobian(pose, rates) if by_theta else None
    column_rates = pose.columns_rate(nu)
    found: list[Coordinate] = []
    for k, column in enumerate(S):
        own = by_theta[k] if by_theta else ()
        gamma = bias[k] if bias else ZERO_TWIST
        theta = twist_cross(twist_add(v_p, twist), column)
        if by_theta and column_rates:
            theta = twist_add(theta, twist_add(combined(rates, own), column_rates[k]))
        if mount.backwards:
            carried = [twist_minus(twist_cross(column, other)) for other in S]
            own = [twist_add(x, y) for x, y in zip(own, carried, strict=True)] if own else carried
            gamma = twist_add(gamma, twist_cross(pose.bias(nu), column))
        psi, psi_dot = twist_cross(v_p, column), twist_cross(a_p, column)
        if own:
            sigma = combined(rates, own)
            psi = twist_add(psi, sigma)
            psi_dot = twist_add(psi_dot, twist_cross(twist, sigma))
            psi_dot = twist_add(twist_add(psi_dot, combined(accelerations, own)), gamma)
        psi_dot = twist_add(psi_dot, twist_cross(v_p, psi))
        found.append(Coordinate(mount.nu_indices[k], column, psi, psi_dot, theta, own))
    return found


def base_coordinates(
    base: Base, gravity: Vec, twist: Twist, nu: Sequence[Scalar], nu_dot: Sequence[Scalar]
) -> list[Coordinate]:
    """The coordinates of the base, a joint on the world; none if it is fixed.

    Args:
        base: where it is, and how its velocity is written.
        gravity: in the world.
        twist: velocity of the base in its axes.
        nu: velocity of the robot.
        nu_dot: its acceleration.
    """
    if not base.floating:
        return []
    S = base.columns
    upward = apply_t(base.R, neg(gravity)), ZERO
    turning = (ZERO, twist[1]) if base.velocity == "mixed" else twist
    moved = combined(nu_dot[:6], S)
    found: list[Coordinate] = []
    for k, column in enumerate(S):
        psi_dot, theta = twist_cross(upward, column), twist_cross(twist, column)
        if base.velocity == "body" or (base.velocity == "mixed" and k < 3):
            psi, own = ZERO_TWIST, ()
        else:  # axes that stay with the world
            own = [twist_minus(twist_cross(column, other)) for other in S]
            psi = twist_cross(twist, column)
            psi_dot = twist_add(psi_dot, twist_cross(twist, psi))
            psi_dot = twist_add(psi_dot, twist_cross(moved, column))
            if base.velocity == "mixed":  # gamma, with the bias -w x v
                bias = twist_cross(twist, turning)
                psi_dot = twist_add(psi_dot, twist_cross(bias, column))
            theta = twist_add(theta, psi)
        if base.velocity != "body":
            theta = twist_add(theta, twist_cross(column, turning))
        found.append(Coordinate(k, column, psi, psi_dot, theta, own))
    return found


def twist_minus(a: Twist) -> Twist:
    """-a."""
    return neg(a[0]), neg(a[1])


def _by_theta(pose: JointPose) -> list[Sequence[Twist]] | None:
    """For each coordinate, how the kind itself changes the columns of S; None for a constant S."""
    mount, n = pose.mount, len(pose.columns)
    found: list[Sequence[Twist]] = []
    for k in range(n):
        step = [mount.multiplier if i == k else 0.0 for i in range(n)]
        rates = mount.kind.subspace_rate(mount.axis, pose.theta, step)
        if rates is None:
            return None
        found.append(written_in_body(mount, pose.M, rates))
    return found


def _bias_jacobian(pose: JointPose, rates: Sequence[Scalar]) -> Sequence[Twist] | None:
    mount = pose.mount
    own = [times(mount.multiplier, rate) for rate in rates]
    columns = mount.kind.bias_jacobian(mount.axis, pose.theta, own)
    return None if columns is None else written_in_body(mount, pose.M, columns)
