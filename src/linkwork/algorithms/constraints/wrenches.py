"""Constraint forces as wrenches on frames."""

from __future__ import annotations

from linkwork.algorithms.constraints.equations import anchor_pose, directions
from linkwork.algorithms.constraints.sparse import dense, transposed_product
from linkwork.algorithms.kinematics.frames import Matrix, Scalars
from linkwork.mechanics.base import Representation
from linkwork.mechanics.constraints import Anchor, FrameEquations
from linkwork.mechanics.problem import Problem
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import Scalar, add, apply, cross, sub, transpose


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
    fx, fy, fz, nx, ny, nz = dense(transposed_product(directions(skeleton, group, q), forces), 6)
    R_reference, _ = anchor_pose(skeleton, q, group.reference)
    force, torque = apply(R_reference, (fx, fy, fz)), apply(R_reference, (nx, ny, nz))
    # from the origin of the anchor to that in which the wrench is written
    _, anchor = anchor_pose(skeleton, q, group.moving)
    R, o = anchor_pose(skeleton, q, Anchor(group.moving.frame))
    arm = anchor if velocity == "inertial" else sub(anchor, o)
    torque = add(torque, cross(arm, force))
    if velocity == "body":
        force, torque = apply(transpose(R), force), apply(transpose(R), torque)
    return [*force, *torque]
