"""Inertias in block form: of a rigid body, and of a body whose outer joints are free to move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.spatial.blocks import ZERO, ZERO_MATRIX, Force, Mat, Motion, Scalar, Sym, Vec


@dataclass(frozen=True, slots=True)
class RigidInertia:
    """Inertia of one body, or of several that move as one, about an origin, in some axes."""

    __array_priority__ = 1.0  # an array times an inertia is computed here, not by NumPy

    mass: Scalar
    first_moment: Vec  # mass times center of mass
    tensor: Sym

    def __matmul__(self, velocity: Motion) -> Force:
        """Return the momentum at a velocity (v of the origin, w): m v + w x h, and h x v + I w."""
        (v, w), h = velocity, self.first_moment
        return Force(self.mass * v - h.cross(w), h.cross(v) + self.tensor @ w)

    def __add__(self, other: RigidInertia) -> RigidInertia:
        """Return the inertia of both as one body."""
        return RigidInertia(
            self.mass + other.mass,
            self.first_moment + other.first_moment,
            self.tensor + other.tensor,
        )

    def __rmul__(self, factor: Scalar) -> RigidInertia:
        """Return the inertia of a body that is `factor` times as dense."""
        return RigidInertia(factor * self.mass, factor * self.first_moment, factor * self.tensor)

    def rotated(self, R: Mat) -> RigidInertia:
        """Return this inertia in axes in which the present ones have the rotation R."""
        return RigidInertia(self.mass, R @ self.first_moment, self.tensor.rotated(R))

    def shifted(self, p: Vec) -> RigidInertia:
        """Return this inertia about an origin from which the present one is at p."""
        tensor = self.tensor.shifted(p, self.mass, self.first_moment)
        return RigidInertia(self.mass, self.first_moment + self.mass * p, tensor)

    def tensor_about_com(self, c: Vec) -> Sym:
        """Return the tensor about the center of mass c."""
        return self.tensor.about_com(self.first_moment, c)

    def articulated(self) -> ArticulatedInertia:
        """Return the articulated inertia of a body that carries no joints."""
        m = self.mass
        B = (-self.first_moment).wedge
        return ArticulatedInertia(Sym(m, 0.0, 0.0, m, 0.0, m), B, self.tensor)


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

    def __matmul__(self, acceleration: Motion) -> Force:
        """Return force and moment at an acceleration (a of the origin, u angular)."""
        a, u = acceleration
        return Force(self.A @ a + self.B @ u, self.B.T @ a + self.D @ u)

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        """Return the inertia of both as one body."""
        return ArticulatedInertia(self.A + other.A, self.B + other.B, self.D + other.D)

    def __sub__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.A - other.A, self.B - other.B, self.D - other.D)

    def rotated(self, R: Mat) -> ArticulatedInertia:
        """Return this inertia in axes in which the present ones have the rotation R."""
        B = R @ self.B @ R.T
        return ArticulatedInertia(self.A.rotated(R), B, self.D.rotated(R))

    def shifted(self, p: Vec) -> ArticulatedInertia:
        """Return this inertia about an origin from which the present one is at p."""
        P = p.wedge
        B = self.B - self.A @ P
        # it is symmetric: D - B^T [p] + [p] (B - A [p])
        shift = -(self.B.T @ P) + P @ B
        return ArticulatedInertia(self.A, B, self.D + shift.upper)

    def without(self, linear: Sequence[int], angular: Sequence[int]) -> ArticulatedInertia:
        """Return this inertia with no resistance along and about some coordinate axes."""
        B = Mat(*(ZERO if k in linear else row.without(angular) for k, row in enumerate(self.B)))
        return ArticulatedInertia(self.A.without(linear), B, self.D.without(angular))

    @property
    def matrix(self) -> list[list[Scalar]]:
        """(6, 6) rows."""
        A, B, D = self.A.full, self.B, self.D.full
        return [[*A[i], *B[i]] for i in range(3)] + [[*B.T[i], *D[i]] for i in range(3)]


NO_INERTIA = ArticulatedInertia(ZERO_MATRIX.upper, ZERO_MATRIX, ZERO_MATRIX.upper)
