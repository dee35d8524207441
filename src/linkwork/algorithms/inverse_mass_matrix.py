"""The inverse of the mass matrix: accelerations of all coordinates per unit of force along each."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.aba import accelerations, largest_constant
from linkwork.algorithms.dynamics import mass_matrix
from linkwork.algorithms.rnea import poses
from linkwork.algorithms.sparse_factor import Factor, factored
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.joints import ZERO_TWIST
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
    M = mass_matrix(skeleton, q, velocity=velocity, joint_dynamics=joint_dynamics)
    if skeleton.layout.followers:
        return factored(skeleton, M, largest_constant(M))
    _check_resisted(skeleton, q, joint_dynamics)
    return factored(skeleton, M)


def _check_resisted(
    skeleton: Skeleton, q: Sequence[Scalar], joint_dynamics: DynamicsByIndex
) -> None:
    """Raise what forward dynamics raises of a robot that is singular at any configuration.

    In the axes of the base and the bodies, what is constant is seen to be so. No result is used, so
    nothing of this is in the program.
    """
    nothing = [0.0] * skeleton.layout.nv
    push = ZERO_TWIST if skeleton.layout.floating else None
    accelerations(skeleton, poses(skeleton, q), nothing, push, joint_dynamics)
