"""How each joint moves its body: pose, velocity and force, in block form.

For every body but the base, with R and p the rotation and position of parent_H_body(theta):

    S nu        velocity of the body relative to its parent, in the body's axes
    S_dot nu    the part of its rate that does not come from nu_dot; zero for a constant S
    S^T f       what a wrench (force, moment) on the body does along the joint's coordinates

The motion M of the joint's kind leads from its fixed to its moving side. A body on the fixed side
is moved by M^-1, with  S' = -Ad(M) S  and  S_dot' nu = -Ad(M) S_dot nu.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.mechanics.inertia import ArticulatedInertia, RigidInertia
from linkwork.mechanics.skeleton import Mount
from linkwork.model.joints.kind import Columns
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO_MOTION,
    Force,
    Mat,
    Motion,
    PairT,
    Scalar,
    Sym,
    Vec,
    as_mat,
    as_vec,
    rotation_about,
)


@dataclass(frozen=True, slots=True)
class JointPose:
    """Pose of a body in its parent, and the motion subspace of its joint."""

    mount: Mount
    theta: tuple[Scalar, ...]
    M: tuple[Mat, Vec]  # of the joint's kind
    R: Mat  # parent_R_body
    p: Vec  # of the body's origin, in the parent
    columns: Columns  # of S, in the body's axes
    spin: tuple[int, Scalar, Scalar] | None  # R = mount.R times this: axis, cosine and sine

    @property
    def arm(self) -> Vec:
        """From the parent's origin to the body's, in the body's axes: R^T p."""
        if self.spin is None:
            return self.R.T @ self.p
        axis, c, s = self.spin
        return rotation_about(IDENTITY[axis], c, s).T @ (self.mount.R.T @ self.p)

    def velocity(self, nu: Sequence[Scalar] | None) -> Motion:
        """Return S nu; for accelerations, S nu_dot. None stands for zero."""
        return ZERO_MOTION if nu is None else combined(self._own(nu), self.columns)

    def bias(self, nu: Sequence[Scalar] | None) -> Motion:
        """Return S_dot nu, with the rate of S seen from the side that its axes are fixed to."""
        rates = None if nu is None else self.columns_rate(nu)
        return ZERO_MOTION if nu is None or rates is None else combined(self._own(nu), rates)

    def columns_rate(self, nu: Sequence[Scalar]) -> Columns | None:
        """Return S_dot, seen from the side that the joint's axes are fixed to, in the body's axes.

        None for a joint whose S is constant there.
        """
        mount = self.mount
        rates_of_joint = [mount.multiplier * value for value in self._own(nu)]
        rates = mount.kind.subspace_rate(mount.axis, self.theta, rates_of_joint)
        return None if rates is None else written_in_body(mount, self.M, rates)

    def columns_partials(self) -> list[Columns] | None:
        """Return the derivatives of the columns of S along each coordinate; None if constant."""
        mount, n = self.mount, len(self.columns)
        partials: list[Columns] = []
        for k in range(n):
            step = [mount.multiplier if i == k else 0.0 for i in range(n)]
            changed = mount.kind.subspace_rate(mount.axis, self.theta, step)
            if changed is None:
                return None
            partials.append(written_in_body(mount, self.M, changed))
        return partials

    def bias_partials(self, own: Sequence[Scalar]) -> Columns | None:
        """Return the derivative of S_dot nu along each coordinate; None for a constant S.

        Args:
            own: the entries of nu of the joint.
        """
        mount = self.mount
        scaled = [mount.multiplier * value for value in own]
        partials = mount.kind.bias_jacobian(mount.axis, self.theta, scaled)
        return None if partials is None else written_in_body(mount, self.M, partials)

    def force(self, wrench: Force) -> list[Scalar]:
        """Return S^T f for a wrench f on the body."""
        return [column.dot(wrench) for column in self.columns]

    def inward(self, wrench: Force) -> Force:
        """Return a wrench on the body, about its origin in its axes, as one on its parent."""
        return (self.R @ wrench).shifted(self.p)

    def outward(self, twist: Motion) -> Motion:
        """Return a twist of the parent as one of the body: R^T (v + w x p), R^T w."""
        return self.R.T @ twist.at(self.p)

    @property
    def rotations(self) -> tuple[Mat, ...]:
        """Rotations whose product is R, to be applied from the first on: R, or two with zeros."""
        if self.spin is None or not _is_about_axis(self.mount.R):
            return (self.R,)
        axis, c, s = self.spin
        return rotation_about(IDENTITY[axis], c, s), self.mount.R

    def rotated(self, m: Mat) -> Mat:
        """Return R m R^T: a matrix of the body in the parent's axes."""
        R_mount = self.mount.R
        if self.spin is None or not (R_mount.is_permutation or _is_about_axis(R_mount)):
            return self.R @ m @ self.R.T
        m = m.rotated_about(*self.spin)
        return m if R_mount == IDENTITY else R_mount @ m @ R_mount.T

    def rotated_sym(self, a: Sym) -> Sym:
        """Return R a R^T for a symmetric matrix."""
        R_mount = self.mount.R
        if self.spin is None or not (R_mount.is_permutation or _is_about_axis(R_mount)):
            return a.rotated(self.R)
        return self.rotated(a.full).upper

    def inertia_inward(self, inertia: RigidInertia) -> RigidInertia:
        """Return an inertia of the body about the origin and in the axes of its parent."""
        first, tensor = self.R @ inertia.first_moment, self.rotated_sym(inertia.tensor)
        return RigidInertia(inertia.mass, first, tensor).shifted(self.p)

    def articulated_inward(self, inertia: ArticulatedInertia) -> ArticulatedInertia:
        """Return an articulated inertia of the body about the origin, in the axes of its parent."""
        A, D = self.rotated_sym(inertia.A), self.rotated_sym(inertia.D)
        return ArticulatedInertia(A, self.rotated(inertia.B), D).shifted(self.p)

    def _own(self, nu: Sequence[Scalar]) -> list[Scalar]:
        return [nu[k] for k in self.mount.nu_indices]


def _is_about_axis(R: Mat) -> bool:
    """Return whether a constant R rotates about one coordinate axis, up to a permutation."""
    numbers = [x for row in R for x in row]
    return all(isinstance(x, float) for x in numbers) and sum(map(bool, numbers)) == 5


def joint_pose(mount: Mount, q: Sequence[Scalar]) -> JointPose:
    """Return pose and motion subspace of the joint that holds a body."""
    theta = tuple(mount.multiplier * q[k] + mount.offset for k in mount.q_indices)
    R, p = mount.kind.pose(mount.axis, theta)
    M = R, p = as_mat(R), as_vec(p)
    columns = written_in_body(mount, M, mount.kind.subspace(mount.axis, theta))
    if mount.backwards:
        R, p = R.T, -(R.T @ p)
    spin = None
    if mount.kind.rotation == "about_axis":
        k = mount.axis_index
        y, z = (k + 1) % 3, (k + 2) % 3
        spin = (k, R[y][y], R[z][y])
    p = mount.p + mount.R @ p
    return JointPose(mount, theta, M, mount.R @ R, p, columns, spin)


def written_in_body(mount: Mount, M: tuple[Mat, Vec], columns: Columns) -> Columns:
    """Return columns of the kind as they move the body: S, or backwards -Ad(M) S.

    Columns of a dependent joint are multiplied by its multiplier.
    """
    twists = [Motion(as_vec(v), as_vec(w)) for v, w in columns]
    if mount.backwards:
        R, p = M
        twists = [-(R @ twist).shifted(p) for twist in twists]
    return tuple(mount.multiplier * twist for twist in twists)


def combined(
    weights: Sequence[Scalar], values: Sequence[PairT], start: PairT = ZERO_MOTION
) -> PairT:
    """Return a motion, or a force, plus others, each times a scalar."""
    for weight, value in zip(weights, values, strict=True):
        start = start + weight * value
    return start
