"""Forward dynamics: the motion behind forces, by the articulated body algorithm.

The equation of motion is  M nu_dot = tau - h,  with h from inverse dynamics at nu_dot = 0. M is
never built: inward, each body gets its articulated inertia, the inertia felt at the body while the
joints beyond are free to move,

    force  = A a + B u          A, D symmetric
    moment = B^T a + D u

and the wrench that the torques of the joints beyond exert on it; outward, the accelerations of the
joints follow.

Featherstone (2008), chapter 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.algorithms.dynamics.articulated import (
    Articulated,
    moved,
    rigid,
    summands,
    without_joint,
)
from linkwork.algorithms.dynamics.factor import reciprocal, solve_symmetric
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.joints import ZERO_TWIST, JointPose, combined
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    Scalar,
    Twist,
    Vec,
    dot,
    halves,
    is_zero,
    minus,
    plus,
    sub,
    times,
    total,
    twist_add,
)


@dataclass(frozen=True, slots=True)
class _JointSolution:
    """A joint solved for its acceleration:  nu_dot = inverse (torque - U^T A_parent).

    With I the articulated inertia of the joint's body: U = I S, and inverse = (S^T U)^-1.
    """

    U: tuple[Twist, ...]
    inverse: tuple[tuple[Scalar, ...], ...]
    torque: tuple[Scalar, ...]  # along the joint, less what the bodies beyond take


def accelerations(
    skeleton: Skeleton,
    joints: dict[int, JointPose],
    torques: Sequence[Scalar],
    base_wrench: Twist | None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[Twist, dict[int, Scalar]]:
    """Solve M nu_dot = torques.

    Args:
        skeleton: the robot; no joint depends on another.
        joints: where its joints are.
        torques: tau - h by index in nu.
        base_wrench: force and moment on a floating base, in its axes; None if the base is fixed.
        joint_dynamics: of the joints; their armatures resist too.

    Returns:
        acceleration of the base's origin and its angular acceleration, in the base's axes, and the
        accelerations of the joints by index in nu.

    Raises:
        SingularJointError: nothing resists the motion of a joint.
    """
    inertia = {number: rigid(body.inertia) for number, body in enumerate(skeleton.bodies)}
    push = dict.fromkeys(inertia, ZERO_TWIST)
    solved: dict[int, _JointSolution] = {}
    for number in reversed(joints):
        parent, pose = skeleton.bodies[number].parent, joints[number]
        rotors = [
            joint_dynamics[k].armature if k in joint_dynamics else 0.0
            for k in pose.mount.nu_indices
        ]
        joint = _solve_joint(pose, inertia[number], push[number], torques, rotors=rotors)
        solved[number] = joint
        left = without_joint(
            inertia[number],
            pose.columns,
            joint.U,
            joint.inverse,
            is_free=all(map(is_zero, rotors)),
        )
        share = combined(_times(joint.inverse, joint.torque), joint.U, push[number])
        inertia[parent] = inertia[parent].plus(moved(left, pose))
        push[parent] = twist_add(push[parent], pose.inward(*share))
    base = ZERO_TWIST
    if base_wrench is not None:
        force, moment = sub(base_wrench[0], push[0][0]), sub(base_wrench[1], push[0][1])
        base = solve_base(inertia[0], force, moment)
    return base, _outward(skeleton, joints, solved, base)


def _outward(
    skeleton: Skeleton,
    joints: dict[int, JointPose],
    solved: dict[int, _JointSolution],
    base: Twist,
) -> dict[int, Scalar]:
    """Accelerations of the joints, by index in nu, from the base's outward."""
    bodies = {0: base}
    accelerations: dict[int, Scalar] = {}
    for number, pose in joints.items():
        joint = solved[number]
        a, u = pose.outward(*bodies[skeleton.bodies[number].parent])
        needed = [
            minus(torque, plus(dot(F, a), dot(N, u)))
            for torque, (F, N) in zip(joint.torque, joint.U, strict=True)
        ]
        values = _times(joint.inverse, needed)
        accelerations.update(zip(pose.mount.nu_indices, values, strict=True))
        bodies[number] = combined(values, pose.columns, (a, u))
    return accelerations


def _solve_joint(
    pose: JointPose,
    inertia: Articulated,
    push: Twist,
    torques: Sequence[Scalar],
    *,
    rotors: Sequence[float],
) -> _JointSolution:
    U = tuple(inertia.wrench(*column) for column in pose.columns)
    block = [[pose.force(*wrench)[row] for wrench in U] for row in range(len(U))]
    for k, rotor in enumerate(rotors):
        block[k][k] = plus(block[k][k], rotor)
    along = zip(pose.mount.nu_indices, pose.force(*push), strict=True)
    torque = tuple(minus(torques[k], x) for k, x in along)
    inverse = _inverse(block, pose.mount.joint.name, summands(pose.columns[0], inertia))
    return _JointSolution(U, inverse, torque)


def solve_base(inertia: Articulated, force: Vec, moment: Vec) -> Twist:
    """Acceleration of a free body under a wrench: the 6 x 6 system, by L^T D L."""
    right = [[x] for x in (*force, *moment)]
    return halves([x for [x] in solve_symmetric(inertia.matrix, right, ["the base"] * 6)])


def _inverse(
    block: Sequence[Sequence[Scalar]], joint: str, scale: float
) -> tuple[tuple[Scalar, ...], ...]:
    """Inverse of the inertia that a joint moves against, a small symmetric matrix."""
    n = len(block)
    owner = f"joint {joint!r}"
    if n == 1:
        return ((reciprocal(block[0][0], owner, scale),),)
    identity = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    inverse = solve_symmetric(block, identity, [owner] * n)
    return tuple(tuple(inverse[max(i, j)][min(i, j)] for j in range(n)) for i in range(n))


def _times(matrix: Sequence[Sequence[Scalar]], vector: Sequence[Scalar]) -> list[Scalar]:
    return [total(*map(times, row, vector)) for row in matrix]
