"""The bodies of a robot in the axes of the world, about the origin of its base.

Contacts are with the world, so their normals are constants in these axes: a row of a contact with
a plane has three numbers that are not zero instead of six, and no Jacobian is needed. Accelerations
are handed outward, wrenches inward, and the stiffness of all contacts of a body and those it
carries is one symmetric matrix, as composite inertias are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linkwork.algorithms.kinematics.frames import joint_poses, path_to
from linkwork.engine.symbolic.arrays import Array
from linkwork.mechanics.base import Base, base_of
from linkwork.mechanics.inertia import ArticulatedInertia
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import ZERO, Force, Mat, Motion, Scalar, Vec, as_mat, as_vec, inner

Entries = dict[tuple[int, int], Scalar]  # of a symmetric matrix: (row, column), row >= column


@dataclass(frozen=True, slots=True)
class State:
    """A state of a simulation, and its controls."""

    q: Sequence[Scalar]
    nu: Sequence[Scalar]
    activation: Sequence[Scalar]
    acceleration: Sequence[Scalar]  # of the step before
    control: Sequence[Scalar]


@dataclass(frozen=True)
class World:
    """Poses of bodies, and the motion of each coordinate of their joints.

    The velocity is in the mixed representation, so the motion of the base is its part of nu.
    """

    skeleton: Skeleton
    base: Base
    R: dict[int, Mat]  # world_R_body
    r: dict[int, Vec]  # from the base's origin to the body's
    columns: dict[int, list[tuple[int, Motion]]]  # (index in nu, motion about the base's origin)

    def frame(self, index: int) -> tuple[int, Mat, Vec]:
        """Return body, rotation, and position from the base's origin, of a frame of the model."""
        body, R, p = self.skeleton.frames[index]
        return body, self.R[body] @ R, self.r[body] + self.R[body] @ p

    def motions(self, nu: Sequence[Scalar]) -> dict[int, Motion]:
        """Return J nu of every body: the motion of its point at the base's origin."""
        moving = {0: self.base.own_part(nu)}
        for number, columns in self.columns.items():
            motion = moving[self.skeleton.bodies[number].parent]
            for k, column in columns:
                motion = motion + nu[k] * column
            moving[number] = motion
        return moving

    def forces(self, wrenches: Mapping[int, Force]) -> dict[int, Scalar]:
        """Return J^T f of wrenches on bodies about the base's origin, by index in nu."""
        sums, along = dict(wrenches), dict[int, Scalar]()
        for number in reversed(self.columns):
            wrench = sums.get(number)
            if wrench is None:
                continue
            for k, column in self.columns[number]:
                along[k] = along.get(k, 0.0) + column.dot(wrench)
            parent = self.skeleton.bodies[number].parent
            sums[parent] = sums[parent] + wrench if parent in sums else wrench
        if self.base.floating and 0 in sums:
            along |= dict(enumerate(sums[0].entries))
        return along

    def stiffness(self, of_bodies: Mapping[int, ArticulatedInertia]) -> Entries:
        """Return J^T K J of symmetric matrices K of bodies about the base's origin."""
        sums, entries = dict(of_bodies), Entries()
        bodies = self.skeleton.bodies
        for number in reversed(self.columns):
            K = sums.get(number)
            if K is None:
                continue
            for k, column in self.columns[number]:
                F = K @ column
                ancestor = number
                while ancestor:
                    for j, other in self.columns[ancestor]:
                        if ancestor != number or j <= k:
                            _add(entries, k, j, other.dot(F))
                    ancestor = bodies[ancestor].parent
                if self.base.floating:
                    for j, value in enumerate(F.entries):
                        _add(entries, k, j, value)
            parent = bodies[number].parent
            sums[parent] = sums[parent] + K if parent in sums else K
        if self.base.floating and 0 in sums:
            for i, row in enumerate(sums[0].matrix):
                for j, value in enumerate(row[: i + 1]):
                    _add(entries, i, j, value)
        return entries

    def jacobian(self, body: int, wrench: Force) -> dict[int, Scalar]:
        """Return the row J^T f of one wrench on a body, by index in nu."""
        return self.forces({body: wrench})


def world_of(skeleton: Skeleton, q: Sequence[Scalar], bodies: Iterable[int]) -> World:
    """Return the poses of some bodies and of all that carry them."""
    base = base_of(skeleton.layout, q, "mixed")
    needed = {0, *(number for body in bodies for number in path_to(skeleton, body))}
    joints = joint_poses(skeleton, q)
    R, r = {0: base.R}, {0: ZERO}
    columns: dict[int, list[tuple[int, Motion]]] = {}
    for number, joint in joints.items():
        if number not in needed:
            continue
        parent = skeleton.bodies[number].parent
        r[number] = r[parent] + R[parent] @ joint.p
        R[number] = R[parent] @ joint.R
        moved = [(R[number] @ column).shifted(r[number]) for column in joint.columns]
        columns[number] = list(zip(joint.mount.nu_indices, moved, strict=True))
    return World(skeleton, base, R, r, columns)


def matrix_of(pose: Array) -> tuple[Mat, Vec]:
    """Return rotation and position of a constant (4, 4) pose."""
    rows = pose.tolist()
    return as_mat([row[:3] for row in rows[:3]]), as_vec([row[3] for row in rows[:3]])


def weighted(vectors: Sequence[Vec], weights: Sequence[Scalar]) -> Vec:
    """Return the sum of vectors times scalars."""
    return Vec(*(inner((vector[k] for vector in vectors), weights) for k in range(3)))


def _add(entries: Entries, i: int, j: int, value: Scalar) -> None:
    key = (max(i, j), min(i, j))
    entries[key] = entries[key] + value if key in entries else value
