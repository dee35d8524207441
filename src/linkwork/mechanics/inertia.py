"""Inertias in block form: of a rigid body, and of a body whose outer joints are free to move."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.spatial.blocks import (
    UPPER,
    Mat,
    Scalar,
    Sym,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    full,
    mat_add,
    mat_sub,
    matmul,
    minus,
    neg,
    plus,
    rotate_sym,
    scale,
    shift_sym,
    sub,
    sym_add,
    sym_apply,
    times,
    transpose,
    wedge,
)


@dataclass(frozen=True, slots=True)
class RigidInertia:
    """Inertia of one body, or of several that move as one, about an origin, in some axes."""

    mass: float
    first_moment: Vec  # mass times center of mass
    tensor: Sym

    def momentum(self, v: Vec, w: Vec) -> Twist:
        """Momentum at a velocity (v of the origin, w angular): m v + w x h, and h x v + I w."""
        linear = sub(scale(self.mass, v), cross(self.first_moment, w))
        return linear, add(cross(self.first_moment, v), sym_apply(self.tensor, w))

    def plus(self, other: RigidInertia) -> RigidInertia:
        """The inertia of both as one body."""
        return RigidInertia(
            self.mass + other.mass,
            add(self.first_moment, other.first_moment),
            sym_add(self.tensor, other.tensor),
        )

    def times(self, factor: float) -> RigidInertia:
        """The inertia of a body that is `factor` times as dense."""
        xx, xy, xz, yy, yz, zz = (times(factor, entry) for entry in self.tensor)
        first = scale(factor, self.first_moment)
        return RigidInertia(factor * self.mass, first, (xx, xy, xz, yy, yz, zz))

    def rotated(self, R: Mat) -> RigidInertia:
        """This inertia in axes in which the present ones have the rotation R."""
        return RigidInertia(self.mass, apply(R, self.first_moment), rotate_sym(R, self.tensor))

    def shifted(self, p: Vec) -> RigidInertia:
        """This inertia about an origin from which the present one is at p."""
        tensor = shift_sym(self.tensor, self.mass, self.first_moment, p)
        return RigidInertia(self.mass, add(self.first_moment, scale(self.mass, p)), tensor)

    def tensor_about_com(self, c: Vec) -> Sym:
        """Tensor about the center of mass c: I - m (c.c 1 - c c^T)."""
        h = self.first_moment
        x, y, z = (times(a, b) for a, b in zip(h, c, strict=True))
        xx, xy, xz, yy, yz, zz = self.tensor
        return (
            minus(xx, plus(y, z)),
            plus(xy, times(h[0], c[1])),
            plus(xz, times(h[0], c[2])),
            minus(yy, plus(x, z)),
            plus(yz, times(h[1], c[2])),
            minus(zz, plus(x, y)),
        )

    def articulated(self) -> ArticulatedInertia:
        """This inertia as that of a body without joints beyond it."""
        m = self.mass
        B = wedge(neg(self.first_moment))
        return ArticulatedInertia((m, 0.0, 0.0, m, 0.0, m), B, self.tensor)


@dataclass(frozen=True, slots=True)
class ArticulatedInertia:
    """Inertia felt at a body while the joints beyond it are free to move.

        force  = A a + B u          A, D symmetric
        moment = B^T a + D u

    Featherstone (2008), section 7.2.
    """

    A: Sym
    B: Mat
    D: Sym

    def wrench(self, a: Vec, u: Vec) -> Twist:
        """Force and moment at an acceleration (a of the origin, u angular)."""
        force = add(apply(full(self.A), a), apply(self.B, u))
        return force, add(apply_t(self.B, a), apply(full(self.D), u))

    def plus(self, other: ArticulatedInertia) -> ArticulatedInertia:
        """The inertia of both as one body."""
        A, D = sym_add(self.A, other.A), sym_add(self.D, other.D)
        return ArticulatedInertia(A, mat_add(self.B, other.B), D)

    def rotated(self, R: Mat) -> ArticulatedInertia:
        """This inertia in axes in which the present ones have the rotation R."""
        B = matmul(matmul(R, self.B), transpose(R))
        return ArticulatedInertia(rotate_sym(R, self.A), B, rotate_sym(R, self.D))

    def shifted(self, p: Vec) -> ArticulatedInertia:
        """This inertia about an origin from which the present one is at p."""
        P = wedge(p)
        B = mat_sub(self.B, matmul(full(self.A), P))
        # D - B^T [p] + [p] (B - A [p]), which is symmetric: the upper triangle is enough
        left, right = matmul(transpose(self.B), P), matmul(P, B)
        shift = [plus(minus(0.0, left[i][j]), right[i][j]) for i, j in UPPER]
        return ArticulatedInertia(self.A, B, sym_add(self.D, tuple(shift)))  # pyright: ignore[reportArgumentType]

    @property
    def matrix(self) -> list[list[Scalar]]:
        """(6, 6) rows."""
        A, B, D = full(self.A), transpose(self.B), full(self.D)
        return [[*A[i], *self.B[i]] for i in range(3)] + [[*B[i], *D[i]] for i in range(3)]
