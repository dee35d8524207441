"""Articulated inertia: what is felt at a body while the joints beyond are free to move.

    force  = A a + B u          A, D symmetric
    moment = B^T a + D u

Featherstone (2008), section 7.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.algorithms.dynamics.factor import largest_constant
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joints import JointPose, combined
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
    full,
    is_zero_vector,
    mat_add,
    mat_sub,
    matmul,
    minus,
    neg,
    plus,
    rotate_sym,
    sym_add,
    times,
    transpose,
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
        """The inertia of both as one body."""
        A, D = sym_add(self.A, other.A), sym_add(self.D, other.D)
        return Articulated(A, mat_add(self.B, other.B), D)

    def rotated(self, R: Mat) -> Articulated:
        """This inertia in axes in which the present ones are the columns of R."""
        B = matmul(matmul(R, self.B), transpose(R))
        return Articulated(rotate_sym(R, self.A), B, rotate_sym(R, self.D))

    @property
    def matrix(self) -> list[list[Scalar]]:
        """(6, 6) rows."""
        A, B, D = full(self.A), transpose(self.B), full(self.D)
        return [[*A[i], *self.B[i]] for i in range(3)] + [[*B[i], *D[i]] for i in range(3)]


def rigid(body: RigidInertia) -> Articulated:
    """Inertia of a body by itself."""
    m = body.mass
    return Articulated((m, 0.0, 0.0, m, 0.0, m), wedge(neg(body.first_moment)), body.tensor)


def summands(column: Twist, inertia: Articulated) -> float:
    """The largest constant product that s^T I s is summed up from, for a column s."""
    v, w = column
    A, B, D = full(inertia.A), inertia.B, full(inertia.D)
    products = [
        times(times(x[i], m[i][j]), y[j])
        for m, x, y in ((A, v, v), (B, v, w), (D, w, w))
        for i in range(3)
        for j in range(3)
    ]
    return largest_constant([products])


def without_joint(
    inertia: Articulated,
    columns: Sequence[Twist],
    U: Sequence[Twist],
    inverse: Sequence[Sequence[Scalar]],
    *,
    is_free: bool,
) -> Articulated:
    """I - U (S^T U)^-1 U^T; entries along a joint without rotor are set to exactly 0.

    Args:
        inertia: I.
        columns: of S.
        U: I S, column by column.
        inverse: (S^T U)^-1, with rotors if there are any.
        is_free: whether there is no rotor.
    """
    shares = [combined(row, U) for row in inverse]  # (S^T U)^-1 U^T, row by row
    lost_A: list[Scalar] = [0.0] * 6
    lost_B: list[Scalar] = [0.0] * 9
    lost_D: list[Scalar] = [0.0] * 6
    for (F, N), (G, K) in zip(U, shares, strict=True):
        for k, (i, j) in enumerate(UPPER):
            lost_A[k] = plus(lost_A[k], times(F[i], G[j]))
            lost_D[k] = plus(lost_D[k], times(N[i], K[j]))
        for i in range(3):
            for j in range(3):
                lost_B[3 * i + j] = plus(lost_B[3 * i + j], times(F[i], K[j]))
    gone_lin, gone_ang = axes_gone(columns) if is_free else ([], [])
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


def axes_gone(columns: Sequence[Twist]) -> tuple[list[int], list[int]]:
    """Coordinate axes along which, and about which, a joint moves freely by itself."""
    linear = [_constant_axis(v) for v, w in columns if is_zero_vector(w)]
    angular = [_constant_axis(w) for v, w in columns if is_zero_vector(v)]
    return [k for k in linear if k is not None], [k for k in angular if k is not None]


def _constant_axis(vector: Vec) -> int | None:
    """0, 1 or 2 for a constant vector along that coordinate axis."""
    if not all(isinstance(x, float) for x in vector):
        return None
    along = [k for k, x in enumerate(vector) if x]
    return along[0] if len(along) == 1 else None


def moved(inertia: Articulated, pose: JointPose) -> Articulated:
    """This inertia as seen from the parent: rotated by R, then shifted by p."""
    A, B, D = pose.rotated_sym(inertia.A), pose.rotated(inertia.B), pose.rotated_sym(inertia.D)
    return shifted(Articulated(A, B, D), pose.p)


def shifted(inertia: Articulated, p: Vec) -> Articulated:
    """This inertia about an origin from which the present one is at p."""
    A, B, D = inertia.A, inertia.B, inertia.D
    P = wedge(p)
    B_shifted = mat_sub(B, matmul(full(A), P))
    # D - B^T [p] + [p] (B - A [p]), which is symmetric: the upper triangle will do
    left, right = matmul(transpose(B), P), matmul(P, B_shifted)
    shift = [plus(minus(0.0, left[i][j]), right[i][j]) for i, j in UPPER]
    return Articulated(A, B_shifted, sym_add(D, tuple(shift)))  # pyright: ignore[reportArgumentType]
