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
    ZERO,
    Mat,
    Scalar,
    Sym,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    full,
    is_permutation,
    matmul,
    neg,
    plus,
    power,
    rotate_mat_about,
    rotate_sym,
    rotation_about,
    scale,
    times,
    transpose,
    twist_add,
    twist_rotate,
    upper,
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
            return apply_t(self.R, self.p)
        axis, c, s = self.spin
        return apply_t(rotation_about(IDENTITY[axis], c, s), apply_t(self.mount.R, self.p))

    def velocity(self, nu: Sequence[Scalar] | None) -> Twist:
        """S nu; for accelerations, S nu_dot. None stands for zero."""
        return ZERO_TWIST if nu is None else combined(self._own(nu), self.columns)

    def bias(self, nu: Sequence[Scalar] | None) -> Twist:
        """S_dot nu, with the rate of S as seen from the side that its axes are fixed to."""
        rates = None if nu is None else self.columns_rate(nu)
        return ZERO_TWIST if nu is None or rates is None else combined(self._own(nu), rates)

    def columns_rate(self, nu: Sequence[Scalar]) -> Columns | None:
        """S_dot as seen from the side that the joint's axes are fixed to, in the body's axes.

        None for a joint whose S is constant there.
        """
        mount = self.mount
        rates_of_joint = [times(mount.multiplier, value) for value in self._own(nu)]
        rates = mount.kind.subspace_rate(mount.axis, self.theta, rates_of_joint)
        return None if rates is None else written_in_body(mount, self.M, rates)

    def columns_partials(self) -> list[Columns] | None:
        """For each coordinate, the partial derivative of the columns of S; None if constant."""
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
        """For each coordinate, the partial derivative of S_dot nu; None for a constant S.

        Args:
            own: the entries of nu of the joint.
        """
        mount = self.mount
        scaled = [times(mount.multiplier, value) for value in own]
        partials = mount.kind.bias_jacobian(mount.axis, self.theta, scaled)
        return None if partials is None else written_in_body(mount, self.M, partials)

    def force(self, force: Vec, moment: Vec) -> list[Scalar]:
        """S^T (force, moment)."""
        return [power(column, (force, moment)) for column in self.columns]

    def inward(self, force: Vec, moment: Vec) -> Twist:
        """A wrench on the body, about its origin in its axes, as one on its parent."""
        force = apply(self.R, force)
        return force, add(apply(self.R, moment), cross(self.p, force))

    def outward(self, v: Vec, w: Vec) -> Twist:
        """A twist of the parent, at its origin, as one of the body: R^T (v + w x p), R^T w."""
        return apply_t(self.R, add(v, cross(w, self.p))), apply_t(self.R, w)

    @property
    def rotations(self) -> tuple[Mat, ...]:
        """Rotations whose product is R, to be applied from the first on: R, or two with zeros."""
        if self.spin is None or not _is_about_axis(self.mount.R):
            return (self.R,)
        axis, c, s = self.spin
        return rotation_about(IDENTITY[axis], c, s), self.mount.R

    def rotated(self, m: Mat) -> Mat:
        """R m R^T: a matrix of the body in the parent's axes."""
        R_mount = self.mount.R
        if self.spin is None or not (is_permutation(R_mount) or _is_about_axis(R_mount)):
            return matmul(matmul(self.R, m), transpose(self.R))
        m = rotate_mat_about(*self.spin, m)
        return m if R_mount == IDENTITY else matmul(matmul(R_mount, m), transpose(R_mount))

    def rotated_sym(self, a: Sym) -> Sym:
        """R a R^T for a symmetric matrix."""
        R_mount = self.mount.R
        if self.spin is None or not (is_permutation(R_mount) or _is_about_axis(R_mount)):
            return rotate_sym(self.R, a)
        return upper(self.rotated(full(a)))

    def inertia_inward(self, inertia: RigidInertia) -> RigidInertia:
        """An inertia of the body, about the origin and in the axes of its parent."""
        first, tensor = apply(self.R, inertia.first_moment), self.rotated_sym(inertia.tensor)
        return RigidInertia(inertia.mass, first, tensor).shifted(self.p)

    def articulated_inward(self, inertia: ArticulatedInertia) -> ArticulatedInertia:
        """An articulated inertia of the body, about the origin and in the axes of its parent."""
        A, D = self.rotated_sym(inertia.A), self.rotated_sym(inertia.D)
        return ArticulatedInertia(A, self.rotated(inertia.B), D).shifted(self.p)

    def _own(self, nu: Sequence[Scalar]) -> list[Scalar]:
        return [nu[k] for k in self.mount.nu_indices]


ZERO_TWIST: Twist = (ZERO, ZERO)


def _is_about_axis(R: Mat) -> bool:
    """Whether a constant rotation is one about a coordinate axis, or that and exchanged axes."""
    numbers = [x for row in R for x in row]
    return all(isinstance(x, float) for x in numbers) and sum(map(bool, numbers)) == 5


def joint_pose(mount: Mount, q: Sequence[Scalar]) -> JointPose:
    """Pose and motion subspace of the joint that holds a body."""
    theta = tuple(plus(times(mount.multiplier, q[k]), mount.offset) for k in mount.q_indices)
    M = R, p = mount.kind.pose(mount.axis, theta)
    columns = written_in_body(mount, M, mount.kind.subspace(mount.axis, theta))
    if mount.backwards:
        R, p = transpose(R), neg(apply_t(R, p))
    spin = None
    if mount.kind.rotation == "about_axis":
        k = mount.axis_index
        y, z = (k + 1) % 3, (k + 2) % 3
        spin = (k, R[y][y], R[z][y])
    p = add(mount.p, apply(mount.R, p))
    return JointPose(mount, theta, M, matmul(mount.R, R), p, columns, spin)


def written_in_body(mount: Mount, M: tuple[Mat, Vec], columns: Columns) -> Columns:
    """Columns of the kind as they move the body: S, or backwards -Ad(M) S; times a multiplier."""
    if mount.backwards:
        R, p = M
        rotated = [twist_rotate(R, column) for column in columns]
        columns = tuple((neg(add(v, cross(p, w))), neg(w)) for v, w in rotated)
    k = mount.multiplier
    return tuple((scale(k, v), scale(k, w)) for v, w in columns)


def combined(
    weights: Sequence[Scalar], twists: Sequence[Twist], start: Twist = ZERO_TWIST
) -> Twist:
    """A twist, or a wrench, plus others, each times a scalar."""
    for weight, (v, w) in zip(weights, twists, strict=True):
        start = twist_add(start, (scale(weight, v), scale(weight, w)))
    return start
