"""Constraint forces as wrenches on frames."""

from __future__ import annotations

from linkwork.algorithms.constraints.equations import anchor_pose, directions
from linkwork.algorithms.constraints.sparse import dense, transposed_product
from linkwork.algorithms.kinematics.frames import Matrix, Scalars
from linkwork.mechanics.base import Representation
from linkwork.mechanics.constraints import Anchor, FrameEquations
from linkwork.mechanics.problem import Problem
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import Force, Scalar


def constraint_wrenches(
    problem: Problem, q: Scalars, forces: Scalars, *, velocity: Representation
) -> Matrix:
    """(n, 6) force and torque of each group of equations on the frame of its moving anchor.

    They are written as external wrenches are: such that J^T w is what they add to the generalized
    forces, with J the Jacobian of the frame in the representation.
    """
    return [
        _wrench(problem.skeleton, q, group, forces[problem.rows[group.name]], velocity)
        for group in problem.frame_equations
    ]


def _wrench(
    skeleton: Skeleton,
    q: Scalars,
    group: FrameEquations,
    forces: Scalars,
    velocity: Representation,
) -> list[Scalar]:
    along = dense(transposed_product(directions(skeleton, group, q), forces), 6)
    R_reference, _ = anchor_pose(skeleton, q, group.reference)
    # from the origin of the anchor to that in which the wrench is written
    _, anchor = anchor_pose(skeleton, q, group.moving)
    R, o = anchor_pose(skeleton, q, Anchor(group.moving.frame))
    arm = anchor if velocity == "inertial" else anchor - o
    wrench = (R_reference @ Force.of(along)).shifted(arm)
    return (R.T @ wrench if velocity == "body" else wrench).entries
