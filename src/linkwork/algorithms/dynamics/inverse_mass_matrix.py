"""The inverse of the mass matrix: accelerations of all coordinates per unit of force along each.

The mass matrix of a tree is factored by articulated inertias; M is not built. Inward, a coordinate
with the column s of its joint's motion subspace has, with I the articulated inertia of its body,

    d = s^T I s        its pivot in D, with the rotor if there is one
    r = I s / d        its acceleration is  tau / d - r . A  for an acceleration A of its body

Outward, the row r of coordinate i is taken to the base, past one coordinate c after the other:
entry (i, c) of W is -r . s_c, and then r becomes  r - (r . s_c) r_c,  which answers to
accelerations on the inner side of c. At the base, -r is the acceleration of joint i per unit of the
base's. A joint of several velocities is a sequence of joints of one. `factor` has the rest.

Featherstone (2008), chapter 7; Carpentier (2018), Analytical inverse of the joint space inertia
matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.algorithms.dynamics.aba import axes_gone, solve_base, summands, without_joint
from linkwork.algorithms.dynamics.crba import mass_matrix, to_base
from linkwork.algorithms.dynamics.factor import (
    Factor,
    factored,
    inverse_factor,
    largest_constant,
    outward_order,
    reciprocal,
)
from linkwork.algorithms.kinematics.frames import joint_poses
from linkwork.engine.symbolic.elimination import SparseRow
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.inertia import ArticulatedInertia
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.layout import BASE_NV
from linkwork.spatial.blocks import ZERO_FORCE, Force, Motion, Scalar, is_zero, total


@dataclass(frozen=True, slots=True)
class _Coordinate:
    """One velocity of a joint, in the axes of the joint's body."""

    index: int  # in nu
    column: Motion  # s
    row: Force  # r
    inverse_pivot: Scalar  # 1 / d
    is_free: bool  # whether it has no rotor

    def propagated_past(self, row: Force) -> tuple[Scalar, Force]:
        """Return -r . s, and r - (r . s) r_c; along s it is 0, which is set exactly."""
        share = row.dot(self.column)
        force, moment = remaining = row - share * self.row
        if self.is_free:
            linear, angular = axes_gone([self.column])
            remaining = Force(force.without(linear), moment.without(angular))
        return -share, remaining


def inverse_mass_matrix(
    skeleton: Skeleton,
    q: Sequence[Scalar],
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> list[list[Scalar]]:
    """M^-1, rows and columns as nu.

    Raises:
        SingularJointError: nothing resists the motion of a joint.
    """
    return mass_factor(skeleton, q, velocity=velocity, joint_dynamics=joint_dynamics).inverse()


def mass_factor(
    skeleton: Skeleton,
    q: Sequence[Scalar],
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> Factor:
    """The factor of the mass matrix.

    Raises:
        SingularJointError: nothing resists the motion of a joint.
    """
    if not skeleton.layout.followers:
        return tree_factor(skeleton, q, velocity=velocity, joint_dynamics=joint_dynamics)
    # there is no recursion for dependent joints
    M = mass_matrix(skeleton, q, velocity=velocity, joint_dynamics=joint_dynamics)
    return factored(skeleton, M, scale=largest_constant(M))


def tree_factor(
    skeleton: Skeleton,
    q: Sequence[Scalar],
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex,
) -> Factor:
    """The factor of the mass matrix of a robot without dependent joints.

    Raises:
        SingularJointError: nothing resists the motion of a joint.
    """
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    coordinates, inertia = _solved(skeleton, joints, joint_dynamics)
    order = outward_order(skeleton)
    column_of = {k: column for column, k in enumerate(order)}
    W, inverse_pivots = _base_factor(base, inertia)
    of_base = list(W)
    direct = to_base(skeleton, joints, base.expressed_at[0])
    for number, of_joint in coordinates.items():
        for k, coordinate in enumerate(of_joint):
            row: SparseRow = {}
            r, body, inner = coordinate.row, number, of_joint[:k]
            while body:
                for other in reversed(inner):
                    row[column_of[other.index]], r = other.propagated_past(r)
                parent = skeleton.bodies[body].parent
                if parent or base.floating:
                    r = (joints[body] if parent else direct[body]).inward(r)
                body, inner = parent, coordinates.get(parent, [])
            W.append(_at_base(base, of_base, r) | dict(sorted(row.items())))
            inverse_pivots.append(coordinate.inverse_pivot)
    return Factor(tuple(order), tuple(W), tuple(inverse_pivots))


def _solved(
    skeleton: Skeleton, joints: dict[int, JointPose], joint_dynamics: DynamicsByIndex
) -> tuple[dict[int, list[_Coordinate]], ArticulatedInertia]:
    """Return the coordinates of each joint by body, outward, and the base's articulated inertia."""
    inertia = {number: body.inertia.articulated() for number, body in enumerate(skeleton.bodies)}
    coordinates: dict[int, list[_Coordinate]] = {number: [] for number in joints}
    for number in reversed(joints):
        pose, remaining = joints[number], inertia[number]
        for k, column in reversed([*zip(pose.mount.nu_indices, pose.columns, strict=True)]):
            rotor = joint_dynamics[k].armature if k in joint_dynamics else 0.0
            U = remaining @ column
            pivot = U.dot(column) + rotor
            owner = f"joint {pose.mount.joint.name!r}"
            inverse = reciprocal(pivot, owner, summands(column, inertia[number]))
            coordinate = _Coordinate(k, column, inverse * U, inverse, is_zero(rotor))
            coordinates[number].insert(0, coordinate)
            remaining = without_joint(remaining, [column], [U], [[inverse]], is_free=is_zero(rotor))
        parent = skeleton.bodies[number].parent
        inertia[parent] = inertia[parent] + pose.articulated_inward(remaining)
    return coordinates, inertia[0]


def _base_factor(base: Base, inertia: ArticulatedInertia) -> tuple[list[SparseRow], list[Scalar]]:
    """Return W and D^-1 of the base in the representation in force; nothing if it is fixed."""
    if not base.floating:
        return [], []
    solve_base(inertia, ZERO_FORCE)  # what is constant in its own axes may be singular
    R, origin = base.expressed_at
    seen = inertia if base.velocity == "body" else inertia.rotated(R).shifted(origin)
    return inverse_factor(seen.matrix, ["the base"] * BASE_NV)


def _at_base(base: Base, of_base: Sequence[SparseRow], r: Force) -> SparseRow:
    """Return the entries of W of a joint in the columns of the base, from its row r there."""
    if not base.floating:
        return {}
    force, moment = r.shifted(base.expressed_at[1])
    response = (*force, *moment)
    entries: SparseRow = {}
    for c, entry in enumerate(response):
        further = (response[b] * of_base[b].get(c, 0.0) for b in range(c + 1, BASE_NV))
        entries[c] = -total(entry, *further)
    return entries
