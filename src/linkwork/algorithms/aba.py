"""Forward dynamics: the motion behind forces, by the articulated body algorithm.

The equation of motion is  M nu_dot = tau - h,  with h from inverse dynamics at nu_dot = 0. M is
never built: inward, each body gets its articulated inertia, which is what resists a push on it
while the joints beyond are free to give way,

    force  = A a + B u          A, D symmetric
    moment = B^T a + D u

and the part of the torques that this push has to make up for; outward, each joint yields its
acceleration.

Featherstone (2008), chapter 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.errors import SingularJointError
from linkwork.mechanics.blocks import (
    IDENTITY,
    PLACE,
    UPPER,
    ZERO,
    Mat,
    Scalar,
    Sym,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    dot,
    full,
    mat_add,
    matmul,
    minus,
    neg,
    plus,
    scale,
    sub,
    sym_add,
    times,
    transpose,
    wedge,
)
from linkwork.mechanics.joint_dynamics import NO_DRIVES, Drives
from linkwork.mechanics.joints import JointPose, joint_force
from linkwork.mechanics.skeleton import Body, Skeleton


@dataclass(frozen=True, slots=True)
class Articulated:
    """Inertia of a body whose joints beyond are free: force = A a + B u, moment = B^T a + D u."""

    A: Sym
    B: Mat
    D: Sym

    def wrench(self, a: Vec, u: Vec) -> tuple[Vec, Vec]:
        """Force and moment at an acceleration (a of the origin, u angular)."""
        force = add(apply(full(self.A), a), apply(self.B, u))
        return force, add(apply_t(self.B, a), apply(full(self.D), u))


@dataclass(frozen=True, slots=True)
class _Give:
    """How a joint gives way: U = I S, the inverse of S^T U, and the torques left over for it."""

    U: tuple[tuple[Vec, Vec], ...]
    inverse: tuple[tuple[Scalar, ...], ...]
    rest: tuple[Scalar, ...]


def accelerations(
    skeleton: Skeleton,
    joints: dict[int, JointPose],
    torques: Sequence[Scalar],
    base_wrench: tuple[Vec, Vec] | None,
    drives: Drives = NO_DRIVES,
) -> tuple[tuple[Vec, Vec], dict[int, Scalar]]:
    """Solve M nu_dot = torques.

    Args:
        skeleton: the robot; no joint depends on another.
        joints: where its joints are.
        torques: tau - h by place in nu.
        base_wrench: force and moment on a floating base, in its axes; None if the base is fixed.
        drives: of the joints; their armatures resist too.

    Returns:
        acceleration of the base's origin and its angular acceleration, in the base's axes, and the
        accelerations of the joints by place in nu.

    Raises:
        SingularJointError: nothing resists the motion of a joint.
    """
    inertia = {number: rigid(body) for number, body in enumerate(skeleton.bodies)}
    push = dict.fromkeys(inertia, (ZERO, ZERO))
    gives: dict[int, _Give] = {}
    for number in reversed(joints):
        body, pose = skeleton.bodies[number], joints[number]
        rotors = [drives[place].armature if place in drives else 0.0 for place in body.nu]
        give = _give(body, pose, inertia[number], push[number], torques, rotors=rotors)
        gives[number] = give
        left = _without_joint(inertia[number], pose, give, is_free=not any(rotors))
        force, moment = push[number]
        for (F, N), share in zip(give.U, _times(give.inverse, give.rest), strict=True):
            force, moment = add(force, scale(share, F)), add(moment, scale(share, N))
        inertia[body.parent] = _sum(inertia[body.parent], _moved(left, pose))
        force, moment = pose.inward(force, moment)
        known = push[body.parent]
        push[body.parent] = add(known[0], force), add(known[1], moment)
    base = (ZERO, ZERO)
    if base_wrench is not None:
        force, moment = sub(base_wrench[0], push[0][0]), sub(base_wrench[1], push[0][1])
        base = _solve_base(inertia[0], force, moment)
    return base, _outward(skeleton, joints, gives, base)


def rigid(body: Body) -> Articulated:
    """Inertia of a body by itself."""
    m = body.mass
    return Articulated((m, 0.0, 0.0, m, 0.0, m), wedge(neg(body.first_moment)), body.tensor)


def _outward(
    skeleton: Skeleton,
    joints: dict[int, JointPose],
    gives: dict[int, _Give],
    base: tuple[Vec, Vec],
) -> dict[int, Scalar]:
    found = {0: base}
    accelerations: dict[int, Scalar] = {}
    for number, pose in joints.items():
        body, give = skeleton.bodies[number], gives[number]
        a_parent, u_parent = found[body.parent]
        a = apply_t(pose.E, add(a_parent, cross(u_parent, pose.p)))
        u = apply_t(pose.E, u_parent)
        needed = [
            minus(rest, plus(dot(F, a), dot(N, u)))
            for rest, (F, N) in zip(give.rest, give.U, strict=True)
        ]
        for place, value, (lin, ang) in zip(
            body.nu, _times(give.inverse, needed), pose.columns, strict=True
        ):
            accelerations[place] = value
            a, u = add(a, scale(value, lin)), add(u, scale(value, ang))
        found[number] = a, u
    return accelerations


def _give(
    body: Body,
    pose: JointPose,
    inertia: Articulated,
    push: tuple[Vec, Vec],
    torques: Sequence[Scalar],
    *,
    rotors: Sequence[float],
) -> _Give:
    U = tuple(inertia.wrench(*column) for column in pose.columns)
    block = [[joint_force(pose, *wrench)[row] for wrench in U] for row in range(len(U))]
    for k, rotor in enumerate(rotors):
        block[k][k] = plus(block[k][k], rotor)
    along = joint_force(pose, *push)
    rest = tuple(minus(torques[place], x) for place, x in zip(body.nu, along, strict=True))
    assert body.mount is not None
    facts = _largest_fact([inertia.A, *inertia.B, inertia.D])
    return _Give(U, _inverse(block, body.mount.joint.name, facts), rest)


def _without_joint(
    inertia: Articulated, pose: JointPose, give: _Give, *, is_free: bool
) -> Articulated:
    """I - U (S^T U)^-1 U^T. Along a joint without rotor nothing is left, which is made exact."""
    shares = [_combined(row, give.U) for row in give.inverse]  # (S^T U)^-1 U^T, row by row
    lost_A, lost_B, lost_D = _no_entries(6), _no_entries(9), _no_entries(6)
    for (F, N), (G, K) in zip(give.U, shares, strict=True):
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
            D[PLACE[axis][other]] = 0.0
            B[other][axis] = 0.0
    for axis in gone_lin:
        for other in range(3):
            A[PLACE[axis][other]] = 0.0
            B[axis][other] = 0.0
    rows = tuple(tuple(row) for row in B)
    return Articulated(tuple(A), rows, tuple(D))  # pyright: ignore[reportArgumentType]


def _axes_gone(pose: JointPose) -> tuple[list[int], list[int]]:
    """Coordinate axes along which, and about which, the joint moves freely by itself."""
    units = [tuple(abs(x) if isinstance(x, float) else x for x in row) for row in IDENTITY]

    def axis_of(vector: Vec) -> int | None:
        plain = tuple(abs(x) if isinstance(x, float) else None for x in vector)
        return units.index(plain) if plain in units else None

    linear = [axis_of(lin) for lin, ang in pose.columns if _is_zero(ang)]
    angular = [axis_of(ang) for lin, ang in pose.columns if _is_zero(lin)]
    return [k for k in linear if k is not None], [k for k in angular if k is not None]


def _is_zero(vector: Vec) -> bool:
    return all(isinstance(x, float) and x == 0.0 for x in vector)


def _moved(inertia: Articulated, pose: JointPose) -> Articulated:
    """The same inertia seen from the parent: turned by E, then shifted by p."""
    A, B, D = pose.turned_sym(inertia.A), pose.turned(inertia.B), pose.turned_sym(inertia.D)
    P = wedge(pose.p)
    B_shifted = _mat_sub(B, matmul(full(A), P))
    # D - B^T [p] + [p] (B - A [p]), which is symmetric: the upper triangle will do
    left, right = matmul(transpose(B), P), matmul(P, B_shifted)
    shift = [plus(minus(0.0, left[i][j]), right[i][j]) for i, j in UPPER]
    return Articulated(A, B_shifted, sym_add(D, tuple(shift)))  # pyright: ignore[reportArgumentType]


def _solve_base(inertia: Articulated, force: Vec, moment: Vec) -> tuple[Vec, Vec]:
    """Acceleration of a free body under a wrench: the 6 x 6 system, by L D L^T."""
    A, B, D = full(inertia.A), inertia.B, full(inertia.D)
    top = [[*A[i], *B[i]] for i in range(3)]
    bottom = [[*(B[k][i] for k in range(3)), *D[i]] for i in range(3)]
    x = solve_symmetric(top + bottom, [*force, *moment], ["the base"] * 6)
    return (x[0], x[1], x[2]), (x[3], x[4], x[5])


def solve_symmetric(
    matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar], owners: Sequence[str]
) -> list[Scalar]:
    """Solve a symmetric positive definite system by L D L^T, unrolled; facts of 0 are free."""
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
        inverse.append(_reciprocal(pivot, owners[j], _largest_fact(matrix)))
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
        return ((_reciprocal(block[0][0], owner, scale),),)
    columns = [
        solve_symmetric(block, [1.0 if i == k else 0.0 for i in range(n)], [owner] * n)
        for k in range(n)
    ]
    return tuple(tuple(columns[max(i, j)][min(i, j)] for j in range(n)) for i in range(n))


SINGULAR = 1e-14  # a pivot this small beside the largest entry is what rounding leaves of 0


def _largest_fact(matrix: Sequence[Sequence[Scalar]]) -> float:
    facts = [abs(x) for row in matrix for x in row if isinstance(x, float)]
    return max(facts, default=0.0)


def _reciprocal(pivot: Scalar, owner: str, scale: float = 0.0) -> Scalar:
    if isinstance(pivot, float) and pivot <= SINGULAR * scale:
        raise SingularJointError(f"{owner}: nothing resists its motion, so it has no acceleration")
    return 1.0 / pivot


def _times(matrix: Sequence[Sequence[Scalar]], vector: Sequence[Scalar]) -> list[Scalar]:
    found: list[Scalar] = []
    for row in matrix:
        total: Scalar = 0.0
        for entry, value in zip(row, vector, strict=True):
            total = plus(total, times(entry, value))
        found.append(total)
    return found


def _combined(row: Sequence[Scalar], wrenches: Sequence[tuple[Vec, Vec]]) -> tuple[Vec, Vec]:
    force, moment = ZERO, ZERO
    for share, (F, N) in zip(row, wrenches, strict=True):
        force, moment = add(force, scale(share, F)), add(moment, scale(share, N))
    return force, moment


def _no_entries(count: int) -> list[Scalar]:
    return [0.0] * count


def _mat_sub(a: Mat, b: Mat) -> Mat:
    return (sub(a[0], b[0]), sub(a[1], b[1]), sub(a[2], b[2]))


def _sum(a: Articulated, b: Articulated) -> Articulated:
    return Articulated(sym_add(a.A, b.A), mat_add(a.B, b.B), sym_add(a.D, b.D))
