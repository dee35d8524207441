"""The inverse of the mass matrix: accelerations of all coordinates per unit of force along each."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.dynamics.dynamics import mass_matrix
from linkwork.algorithms.dynamics.factor import Factor, factored, largest_constant
from linkwork.algorithms.dynamics.tree_factor import tree_factor
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import Scalar


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
