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

from linkwork.algorithms.dynamics.crba import mass_matrix
from linkwork.algorithms.dynamics.factor import (
    largest_constant,
    owners_of,
    reciprocal,
    solve_symmetric,
)
from linkwork.algorithms.dynamics.rnea import (
    Wrenches,
    body_motion,
    forces_of_motion,
    inverse_dynamics,
    motions,
)
from linkwork.algorithms.kinematics.frames import Scalars, joint_poses
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.inertia import NO_INERTIA, ArticulatedInertia
from linkwork.mechanics.joint_dynamics import (
    NO_JOINT_DYNAMICS,
    DynamicsByIndex,
    with_joint_dynamics,
)
from linkwork.mechanics.joints import JointPose, combined
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    ZERO,
    ZERO_FORCE,
    ZERO_MOTION,
    Force,
    Motion,
    Scalar,
    Sym,
    Vec,
    inner,
    is_zero,
)


@dataclass(frozen=True, slots=True)
class _JointSolution:
    """A joint solved for its acceleration:  nu_dot = inverse (torque - U^T A_parent).

    With I the articulated inertia of the joint's body: U = I S, and inverse = (S^T U)^-1.
    """

    U: tuple[Force, ...]
    inverse: tuple[tuple[Scalar, ...], ...]
    torque: tuple[Scalar, ...]  # along the joint, less what the bodies beyond take


def forward_dynamics(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    tau: Scalars,
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> list[Scalar]:
    """nu_dot = M^-1 (tau + sum J^T f - h).

    Raises:
        SingularJointError: nothing resists the motion of a joint.
    """
    if skeleton.layout.followers:  # there is no recursion for dependent joints
        M = mass_matrix(skeleton, q, velocity=velocity, joint_dynamics=joint_dynamics)
        h = inverse_dynamics(
            skeleton,
            q,
            nu,
            gravity=gravity,
            velocity=velocity,
            wrenches=wrenches,
            joint_dynamics=joint_dynamics,
        )
        right = [[t - b] for t, b in zip(tau, h, strict=True)]
        return [x for [x] in solve_symmetric(M, right, owners_of(skeleton, range(len(M))))]
    layout = skeleton.layout
    base = base_of(layout, q, velocity)
    joints = joint_poses(skeleton, q)
    _, w = base.twist(nu)
    # h is computed with the origin of the base at rest, where nu_dot of the base need not be 0
    motion = body_motion(w, ZERO, base.R.T @ -gravity)
    moving = motions(skeleton, joints, nu, None, motion)
    bias = forces_of_motion(skeleton, base, joints, moving, wrenches or {})
    first = 6 if layout.floating else 0
    joint_bias = [bias.joint.get(k, 0.0) for k in range(layout.nv)]
    joint_bias = with_joint_dynamics(joint_bias, joint_dynamics, nu, None)
    driving = [tau[k] - joint_bias[k] if k >= first else 0.0 for k in range(layout.nv)]
    push = base.wrench_in(tau) - bias.base if layout.floating else None
    A, joint_accelerations = accelerations(skeleton, joints, driving, push, joint_dynamics)
    start: list[Scalar] = []
    if layout.floating:
        linear, angular = base.derivative(nu, A)
        start = [*linear, *angular]
    return start + [joint_accelerations[k] for k in range(first, layout.nv)]


def accelerations(
    skeleton: Skeleton,
    joints: dict[int, JointPose],
    torques: Sequence[Scalar],
    base_wrench: Force | None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[Motion, dict[int, Scalar]]:
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
    inertia = {number: body.inertia.articulated() for number, body in enumerate(skeleton.bodies)}
    push = dict.fromkeys(inertia, ZERO_FORCE)
    solved: dict[int, _JointSolution] = {}
    for number in reversed(joints):
        parent, pose = skeleton.bodies[number].parent, joints[number]
        rotors = [
            joint_dynamics[k].armature if k in joint_dynamics else 0.0
            for k in pose.mount.nu_indices
        ]
        joint = _solve_joint(pose, inertia[number], push[number], torques, rotors=rotors)
        solved[number] = joint
        remaining = without_joint(
            inertia[number],
            pose.columns,
            joint.U,
            joint.inverse,
            is_free=all(map(is_zero, rotors)),
        )
        share = combined(_times(joint.inverse, joint.torque), joint.U, push[number])
        inertia[parent] = inertia[parent] + pose.articulated_inward(remaining)
        push[parent] = push[parent] + pose.inward(share)
    base = ZERO_MOTION
    if base_wrench is not None:
        base = solve_base(inertia[0], base_wrench - push[0])
    return base, _outward(skeleton, joints, solved, base)


def _outward(
    skeleton: Skeleton,
    joints: dict[int, JointPose],
    solved: dict[int, _JointSolution],
    base: Motion,
) -> dict[int, Scalar]:
    """Return the accelerations of the joints, by index in nu, from the base's outward."""
    bodies = {0: base}
    accelerations: dict[int, Scalar] = {}
    for number, pose in joints.items():
        joint = solved[number]
        carried = pose.outward(bodies[skeleton.bodies[number].parent])
        needed = [torque - U.dot(carried) for torque, U in zip(joint.torque, joint.U, strict=True)]
        values = _times(joint.inverse, needed)
        accelerations.update(zip(pose.mount.nu_indices, values, strict=True))
        bodies[number] = combined(values, pose.columns, carried)
    return accelerations


def _solve_joint(
    pose: JointPose,
    inertia: ArticulatedInertia,
    push: Force,
    torques: Sequence[Scalar],
    *,
    rotors: Sequence[float],
) -> _JointSolution:
    U = tuple(inertia @ column for column in pose.columns)
    block = [[pose.force(wrench)[row] for wrench in U] for row in range(len(U))]
    for k, rotor in enumerate(rotors):
        block[k][k] = block[k][k] + rotor
    along = zip(pose.mount.nu_indices, pose.force(push), strict=True)
    torque = tuple(torques[k] - x for k, x in along)
    inverse = _inverse(block, pose.mount.joint.name, summands(pose.columns[0], inertia))
    return _JointSolution(U, inverse, torque)


def solve_base(inertia: ArticulatedInertia, wrench: Force) -> Motion:
    """Return the acceleration of a free body under a wrench: the 6 x 6 system, by L^T D L."""
    right = [[x] for vector in wrench for x in vector]
    return Motion.of([x for [x] in solve_symmetric(inertia.matrix, right, ["the base"] * 6)])


def _inverse(
    block: Sequence[Sequence[Scalar]], joint: str, scale: float
) -> tuple[tuple[Scalar, ...], ...]:
    """Return the inverse of the inertia that a joint moves against, a small symmetric matrix."""
    n = len(block)
    owner = f"joint {joint!r}"
    if n == 1:
        return ((reciprocal(block[0][0], owner, scale),),)
    identity = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    inverse = solve_symmetric(block, identity, [owner] * n)
    return tuple(tuple(inverse[max(i, j)][min(i, j)] for j in range(n)) for i in range(n))


def without_joint(
    inertia: ArticulatedInertia,
    columns: Sequence[Motion],
    U: Sequence[Force],
    inverse: Sequence[Sequence[Scalar]],
    *,
    is_free: bool,
) -> ArticulatedInertia:
    """Return I - U (S^T U)^-1 U^T; entries along a joint without rotor are set to exactly 0.

    Args:
        inertia: I.
        columns: of S.
        U: I S, column by column.
        inverse: (S^T U)^-1, with rotors if there are any.
        is_free: whether there is no rotor.
    """
    shares = [combined(row, U, ZERO_FORCE) for row in inverse]  # (S^T U)^-1 U^T, row by row
    lost = NO_INERTIA
    for (F, N), (G, K) in zip(U, shares, strict=True):
        A, D = Sym.outer(F, G), Sym.outer(N, K)
        lost = lost + ArticulatedInertia(A, F.outer(K), D)
    remaining = inertia - lost
    return remaining.without(*axes_gone(columns)) if is_free else remaining


def axes_gone(columns: Sequence[Motion]) -> tuple[list[int], list[int]]:
    """Return the coordinate axes along which, and about which, a joint moves freely by itself."""
    linear = [_constant_axis(v) for v, w in columns if w.is_zero]
    angular = [_constant_axis(w) for v, w in columns if v.is_zero]
    return [k for k in linear if k is not None], [k for k in angular if k is not None]


def _constant_axis(vector: Vec) -> int | None:
    """Return 0, 1 or 2 for a constant vector along that coordinate axis, else None."""
    if not all(isinstance(x, float) for x in vector):
        return None
    along = [k for k, x in enumerate(vector) if x]
    return along[0] if len(along) == 1 else None


def summands(column: Motion, inertia: ArticulatedInertia) -> float:
    """Return the largest constant product that s^T I s is summed up from, for a column s."""
    v, w = column
    A, B, D = inertia.A.full, inertia.B, inertia.D.full
    products = [
        x[i] * m[i][j] * y[j]
        for m, x, y in ((A, v, v), (B, v, w), (D, w, w))
        for i in range(3)
        for j in range(3)
    ]
    return largest_constant([products])


def _times(matrix: Sequence[Sequence[Scalar]], vector: Sequence[Scalar]) -> list[Scalar]:
    return [inner(row, vector) for row in matrix]
