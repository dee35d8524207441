"""The Coriolis matrix C:  C nu are the forces at nu_dot = 0 without gravity, and Mdot = C + C^T.

A body of mass m, first moment h and second moments P (the tensor is  trace(P) 1 - P), moving with
(v, w), has besides its inertia the matrix

    B = [0  -[f]]        f = m v + w x h, its linear momentum
        [0    D ]        D = -[w] P - [h] [v]

which gives the forces B V of its motion, and  B + B^T  is the rate of its inertia. Both are summed
inward as in the mass matrix. Unit velocity of joint i, whose columns have the rate S', gives

    F1 = I S' + B S        C_ji = S_j . F1
    F2 = I S,  n3 = f x S_v + D^T S_w (a couple)       C_ij = S'_j . F2 + S_j . n3

for every joint j between i and the base. The base is one more joint, whose S and S' depend on the
representation of its velocity.

Echeandia, Wensing (2021), in block form.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.algorithms.dynamics.crba import composites
from linkwork.algorithms.dynamics.rnea import summed_inward
from linkwork.algorithms.kinematics.frames import Matrix, Scalars, joint_poses, path_to, velocities
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import ZERO, ZERO_MOTION, Force, Mat, Motion, Sym, Vec


@dataclass(frozen=True, slots=True)
class BodyCoriolis:
    """B of a body and all it carries."""

    f: Vec
    D: Mat

    def __matmul__(self, twist: Motion) -> Force:
        """Return the forces B (v, w)."""
        _, w = twist
        return Force(-self.f.cross(w), self.D @ w)

    def couple(self, twist: Motion) -> Vec:
        """Return B^T (v, w), which has no force."""
        v, w = twist
        return self.f.cross(v) + self.D.T @ w

    def __add__(self, other: BodyCoriolis) -> BodyCoriolis:
        """Return the matrix of both as one body."""
        return BodyCoriolis(self.f + other.f, self.D + other.D)

    def inward(self, pose: JointPose) -> BodyCoriolis:
        """Return this matrix as part of the parent's: R f, and R D R^T - [p] [R f]."""
        f = pose.R @ self.f
        return BodyCoriolis(f, pose.rotated(self.D).minus_wedges(pose.p, f))

    def rotated(self, R: Mat) -> BodyCoriolis:
        """Return this matrix in axes in which the present ones are R."""
        return BodyCoriolis(R @ self.f, R @ self.D @ R.T)


@dataclass(frozen=True, slots=True)
class _Column:
    """One coordinate of a joint: its index in nu, its column of S, and the rate of the column."""

    index: int
    S: Motion
    S_dot: Motion  # relative to the world, in the axes of the body


def coriolis_matrix(
    skeleton: Skeleton, q: Scalars, nu: Scalars, *, velocity: Representation
) -> Matrix:
    """(nv, nv) C; rows and columns as nu."""
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    start = base.twist(nu)
    moving = velocities(skeleton, joints, nu, start)
    inertias = composites(skeleton, joints)
    matrices = coriolis_of_bodies(skeleton, joints, moving)
    columns = {0: _base_columns(base, start)}
    for number, pose in joints.items():
        columns[number] = _joint_columns(pose, moving[number], nu)
    C: Matrix = [[0.0] * skeleton.layout.nv for _ in range(skeleton.layout.nv)]
    for number, body_columns in columns.items():
        path = [*reversed(path_to(skeleton, number)), 0]
        for column in body_columns:
            wrenches = _wrenches(column, inertias[number], matrices[number])
            for ancestor in path:
                for other in columns[ancestor]:
                    _add_entries(C, column.index, other, wrenches, is_own=ancestor == number)
                if ancestor:
                    wrenches = wrenches.inward(joints[ancestor])
    return C


def mass_matrix_dot(
    skeleton: Skeleton, q: Scalars, nu: Scalars, *, velocity: Representation
) -> Matrix:
    """(nv, nv) time derivative of the mass matrix."""
    C = coriolis_matrix(skeleton, q, nu, velocity=velocity)
    rows = range(len(C))
    upper = {(i, j): C[i][j] + C[j][i] for i in rows for j in rows if i <= j}
    return [[upper[min(i, j), max(i, j)] for j in rows] for i in rows]


@dataclass(frozen=True, slots=True)
class _Wrenches:
    """The wrenches F1, F2 and the couple n3 of one coordinate, on the body they have reached."""

    F1: Force
    F2: Force
    n3: Vec  # a couple

    def inward(self, pose: JointPose) -> _Wrenches:
        """Return these wrenches, acting on the parent."""
        return _Wrenches(pose.inward(self.F1), pose.inward(self.F2), pose.R @ self.n3)


def _wrenches(column: _Column, inertia: RigidInertia, B: BodyCoriolis) -> _Wrenches:
    F1 = inertia @ column.S_dot + B @ column.S
    return _Wrenches(F1, inertia @ column.S, B.couple(column.S))


def _add_entries(C: Matrix, i: int, other: _Column, wrenches: _Wrenches, *, is_own: bool) -> None:
    """Add the two entries of a coordinate and another one, nearer to the base."""
    j = other.index
    C[j][i] = C[j][i] + other.S.dot(wrenches.F1)
    if not is_own:
        value = other.S_dot.dot(wrenches.F2) + other.S[1].dot(wrenches.n3)
        C[i][j] = C[i][j] + value


def coriolis_of_bodies(
    skeleton: Skeleton, joints: dict[int, JointPose], moving: dict[int, Motion]
) -> dict[int, BodyCoriolis]:
    """Return B of every body with all it carries."""
    matrices = {
        k: coriolis_of_body(body.inertia, moving[k]) for k, body in enumerate(skeleton.bodies)
    }
    return dict(summed_inward(skeleton, joints, matrices, lambda pose, B: B.inward(pose)))


def coriolis_of_body(body: RigidInertia, twist: Motion) -> BodyCoriolis:
    """Return B of a body alone, moving with (v, w)."""
    (v, w), h = twist, body.first_moment
    f = body.mass * v + w.cross(h)
    rotating = (-w).wedge @ _second_moments(body.tensor).full
    return BodyCoriolis(f, rotating.minus_wedges(h, v))


def _second_moments(tensor: Sym) -> Sym:
    """Return P = trace(I) / 2 - I, of constants."""
    xx, xy, xz, yy, yz, zz = tensor
    half = (xx + yy + zz) / 2
    return Sym(half - xx, -xy, -xz, half - yy, -yz, half - zz)


def _joint_columns(pose: JointPose, V: Motion, nu: Scalars) -> list[_Column]:
    """Return coordinates of a joint; its axes are fixed to the body, or backwards to the parent."""
    if pose.mount.backwards:
        V = V - pose.velocity(nu)
    rates = pose.columns_rate(nu) or (ZERO_MOTION,) * len(pose.columns)
    each = zip(pose.mount.nu_indices, pose.columns, rates, strict=True)
    return [_Column(k, S, V.cross(S) + rate) for k, S, rate in each]


def _base_columns(base: Base, V: Motion) -> list[_Column]:
    """Return coordinates of the base in its own axes: S and its rate, by representation."""
    if not base.floating:
        return []
    columns = base.columns
    if base.velocity == "inertial":  # fixed in the world
        rates = [ZERO_MOTION] * 6
    elif base.velocity == "mixed":  # fixed in the world but for the point of rotation
        v, _ = V
        rates = [ZERO_MOTION] * 3 + [Motion(v.cross(axis), ZERO) for _, axis in columns[3:]]
    else:
        rates = [V.cross(S) for S in columns]
    both = zip(columns, rates, strict=True)
    return [_Column(k, S, rate) for k, (S, rate) in enumerate(both)]
