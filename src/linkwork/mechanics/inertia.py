"""The inertia of rigid bodies in block form: mass, first moment and tensor about an origin."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.spatial.blocks import (
    Mat,
    Sym,
    Twist,
    Vec,
    add,
    apply,
    cross,
    minus,
    plus,
    rotate_sym,
    scale,
    shift_sym,
    sub,
    sym_add,
    sym_apply,
    times,
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
