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

from linkwork.errors import SingularJointError
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.joints import ZERO_TWIST, JointPose, combined
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    SYM_INDEX,
    UPPER,
    Mat,
    Scalar,
    Sym,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    dot,
    full,
    is_zero,
    mat_add,
    mat_sub,
    matmul,
    minus,
    neg,
    plus,
    sub,
    sym_add,
    times,
    total,
    transpose,
    twist_add,
    wedge,
)


@dataclass(frozen=True, slots=True)
class Articulated:
    """Inertia of a body whose joints beyond are free: force = A a + B u, moment = B^T a + D u."""

    A: Sym
    B: Mat
    D: Sym

    def wrench(self, a: Vec, u: Vec) -> Twist:
        """Force and moment at an acceleration (a of the origin, u angular)."""
        force = add(apply(full(self.A), a), apply(self.B, u))
        return force, add(apply_t(self.B, a), apply(full(self.D), u))

    def plus(self, other: Articulated) -> Articulated:
        """Both as one body."""
        A, D = sym_add(self.A, other.A), sym_add(self.D, other.D)
        return Articulated(A, mat_add(self.B, other.B), D)


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
        left = _without_joint(inertia[number], pose, joint, is_free=not any(rotors))
        share = combined(_times(joint.inverse, joint.torque), joint.U, push[number])
        inertia[parent] = inertia[parent].plus(_moved(left, pose))
        push[parent] = twist_add(push[parent], pose.inward(*share))
    base = ZERO_TWIST
    if base_wrench is not None:
        force, moment = sub(base_wrench[0], push[0][0]), sub(base_wrench[1], push[0][1])
        base = _solve_base(inertia[0], force, moment)
    return base, _outward(skeleton, joints, solved, base)


def rigid(body: RigidInertia) -> Articulated:
    """Inertia of a body by itself."""
    m = body.mass
    return Articulated((m, 0.0, 0.0, m, 0.0, m), wedge(neg(body.first_moment)), body.tensor)


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
    inverse = _inverse(block, pose.mount.joint.name, _summands(pose, inertia))
    return _JointSolution(U, inverse, torque)


def _summands(pose: JointPose, inertia: Articulated) -> float:
    """The largest constant product that S^T I S is summed up from, for joints of one column."""
    (v, w), *_ = pose.columns
    A, B, D = full(inertia.A), inertia.B, full(inertia.D)
    products = [
        times(times(x[i], m[i][j]), y[j])
        for m, x, y in ((A, v, v), (B, v, w), (D, w, w))
        for i in range(3)
        for j in range(3)
    ]
    return largest_constant([products])


def _without_joint(
    inertia: Articulated, pose: JointPose, joint: _JointSolution, *, is_free: bool
) -> Articulated:
    """I - U (S^T U)^-1 U^T. Along a joint without rotor nothing is left, which is made exact."""
    shares = [combined(row, joint.U) for row in joint.inverse]  # (S^T U)^-1 U^T, row by row
    lost_A: list[Scalar] = [0.0] * 6
    lost_B: list[Scalar] = [0.0] * 9
    lost_D: list[Scalar] = [0.0] * 6
    for (F, N), (G, K) in zip(joint.U, shares, strict=True):
        for k, (i, j) in enumerate(UPPER):
            lost_A[k] = plus(lost_A[k], times(F[i], G[j]))
            lost_D[k] = plus(lost_D[k], times(N[i], K[j]))
        for i in range(3):
            for j in range(3):
                lost_B[3 * i + j] = plus(lost_B[3 * i + j], times(F[i], K[j]))
    gone_lin, gone_ang = _axes_gone(pose) if is_free else ([], [])
    A = [minus(x, y) for x, y in zip(inertia.A, lost_A, strict=True)]
    D = [minus(x, y) for x, y in zip(inertia.D, lost_D, strict=True)]
    B = [[minus(inertia.B[i][j], lost_B[3 * i + j]) for j in range(3)] for i in range(3)]
    for axis in gone_ang:
        for other in range(3):
            D[SYM_INDEX[axis][other]] = 0.0
            B[other][axis] = 0.0
    for axis in gone_lin:
        for other in range(3):
            A[SYM_INDEX[axis][other]] = 0.0
            B[axis][other] = 0.0
    rows = tuple(tuple(row) for row in B)
    return Articulated(tuple(A), rows, tuple(D))  # pyright: ignore[reportArgumentType]


def _axes_gone(pose: JointPose) -> tuple[list[int], list[int]]:
    """Coordinate axes along which, and about which, the joint moves freely by itself."""
    linear = [_constant_axis(v) for v, w in pose.columns if is_zero(w)]
    angular = [_constant_axis(w) for v, w in pose.columns if is_zero(v)]
    return [k for k in linear if k is not None], [k for k in angular if k is not None]


def _constant_axis(vector: Vec) -> int | None:
    """0, 1 or 2 for a constant vector along that coordinate axis."""
    if not all(isinstance(x, float) for x in vector):
        return None
    along = [k for k, x in enumerate(vector) if x]
    return along[0] if len(along) == 1 else None


def _moved(inertia: Articulated, pose: JointPose) -> Articulated:
    """The same inertia seen from the parent: rotated by R, then shifted by p."""
    A, B, D = pose.rotated_sym(inertia.A), pose.rotated(inertia.B), pose.rotated_sym(inertia.D)
    P = wedge(pose.p)
    B_shifted = mat_sub(B, matmul(full(A), P))
    # D - B^T [p] + [p] (B - A [p]), which is symmetric: the upper triangle will do
    left, right = matmul(transpose(B), P), matmul(P, B_shifted)
    shift = [plus(minus(0.0, left[i][j]), right[i][j]) for i, j in UPPER]
    return Articulated(A, B_shifted, sym_add(D, tuple(shift)))  # pyright: ignore[reportArgumentType]


def _solve_base(inertia: Articulated, force: Vec, moment: Vec) -> Twist:
    """Acceleration of a free body under a wrench: the 6 x 6 system, by L D L^T."""
    A, B, D = full(inertia.A), inertia.B, full(inertia.D)
    top = [[*A[i], *B[i]] for i in range(3)]
    bottom = [[*(B[k][i] for k in range(3)), *D[i]] for i in range(3)]
    x = solve_symmetric(top + bottom, [*force, *moment], ["the base"] * 6)
    return (x[0], x[1], x[2]), (x[3], x[4], x[5])


def solve_symmetric(
    matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar], owners: Sequence[str]
) -> list[Scalar]:
    """Solve a symmetric positive definite system by L D L^T, unrolled; zeros are left out."""
    n = len(right)
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    pivots: list[Scalar] = []
    inverse: list[Scalar] = []
    for j in range(n):
        scaled = [times(L[j][k], pivots[k]) for k in range(j)]
        pivot = matrix[j][j]
        for k in range(j):
            pivot = minus(pivot, times(scaled[k], L[j][k]))
        pivots.append(pivot)
        inverse.append(reciprocal(pivot, owners[j], largest_constant(matrix)))
        for i in range(j + 1, n):
            value = matrix[i][j]
            for k in range(j):
                value = minus(value, times(L[i][k], scaled[k]))
            L[i][j] = times(value, inverse[j])
    x = list(right)
    for i in range(n):
        for k in range(i):
            x[i] = minus(x[i], times(L[i][k], x[k]))
    x = [times(value, inverse[i]) for i, value in enumerate(x)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = minus(x[i], times(L[k][i], x[k]))
    return x


def _inverse(
    block: Sequence[Sequence[Scalar]], joint: str, scale: float
) -> tuple[tuple[Scalar, ...], ...]:
    """Inverse of the inertia that a joint moves against, a small symmetric matrix."""
    n = len(block)
    owner = f"joint {joint!r}"
    if n == 1:
        return ((reciprocal(block[0][0], owner, scale),),)
    columns = [
        solve_symmetric(block, [1.0 if i == k else 0.0 for i in range(n)], [owner] * n)
        for k in range(n)
    ]
    return tuple(tuple(columns[max(i, j)][min(i, j)] for j in range(n)) for i in range(n))


# A constant pivot below this fraction of the largest number it was summed from is a rounded zero.
SINGULAR = 1e-14


def largest_constant(matrix: Sequence[Sequence[Scalar]]) -> float:
    """The largest magnitude of a constant entry; 0 if none is constant."""
    return max((abs(x) for row in matrix for x in row if isinstance(x, float)), default=0.0)


def reciprocal(pivot: Scalar, owner: str, scale: float = 0.0) -> Scalar:
    """1 / pivot, the inertia that its owner moves against, summed up from numbers up to `scale`.

    Raises:
        SingularJointError: it is the constant 0, up to rounding.
    """
    if isinstance(pivot, float) and pivot <= SINGULAR * scale:
        raise SingularJointError(f"{owner}: nothing resists its motion, so it has no acceleration")
    return 1.0 / pivot


def _times(matrix: Sequence[Sequence[Scalar]], vector: Sequence[Scalar]) -> list[Scalar]:
    return [total(*map(times, row, vector)) for row in matrix]
