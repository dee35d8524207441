"""The base of a robot in each velocity representation: the meaning of the first six entries of nu.

With R and o the rotation and position of the base in the world, v and w its velocity:

    mixed      nu = [o_dot; w]                both in the axes of the world
    body       nu = [R^T o_dot; R^T w]        in the axes of the base
    inertial   nu = [o_dot - w x o; w]        of the point of the base at the world's origin

The derivative of nu and the wrench on the base follow: accelerations are derivatives of these
entries, and a wrench is dual to them. Algorithms work in the axes of the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from linkwork.model.layout import Layout
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Scalar,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    halves,
    sub,
)

Representation = Literal["mixed", "body", "inertial"]
REPRESENTATIONS: tuple[Representation, ...] = ("mixed", "body", "inertial")


@dataclass(frozen=True, slots=True)
class Base:
    """Where the base is, and how its velocity is written."""

    R: Mat  # world_R_base
    o: Vec  # of its origin, in the world
    velocity: Representation
    floating: bool

    def own_part(self, numbers: Sequence[Scalar] | None) -> Twist:
        """The base's six entries of nu or nu_dot, unchanged; zeros if the base is fixed."""
        return halves(numbers) if self.floating and numbers is not None else (ZERO, ZERO)

    def twist(self, nu: Sequence[Scalar] | None) -> Twist:
        """(v, w) in the base's axes: velocity of its origin, and angular velocity."""
        if not self.floating or nu is None:
            return ZERO, ZERO
        linear, angular = halves(nu)
        if self.velocity == "body":
            return linear, angular
        if self.velocity == "inertial":
            linear = add(linear, cross(angular, self.o))
        return apply_t(self.R, linear), apply_t(self.R, angular)

    def acceleration(
        self, nu: Sequence[Scalar] | None, nu_dot: Sequence[Scalar] | None, gravity: Vec
    ) -> Twist:
        """(a, u) in the base's axes: acceleration of its origin less gravity, and angular."""
        if not self.floating:
            return apply_t(self.R, sub(ZERO, gravity)), ZERO
        linear, angular = halves(nu_dot) if nu_dot is not None else (ZERO, ZERO)
        v, w = halves(nu) if nu is not None else (ZERO, ZERO)
        if self.velocity == "body":
            a = add(linear, cross(w, v))
            return sub(a, apply_t(self.R, gravity)), angular
        if self.velocity == "inertial":
            # o_ddot = v_dot + w_dot x o + w x o_dot
            o_dot = add(v, cross(w, self.o))
            linear = add(add(linear, cross(angular, self.o)), cross(w, o_dot))
        return apply_t(self.R, sub(linear, gravity)), apply_t(self.R, angular)

    def derivative(self, nu: Sequence[Scalar] | None, a: Vec, u: Vec) -> Twist:
        """First six entries of nu_dot, from the acceleration (a, u) in the base's axes."""
        v, w = halves(nu) if nu is not None else (ZERO, ZERO)
        if self.velocity == "body":
            return sub(a, cross(w, v)), u
        linear, angular = apply(self.R, a), apply(self.R, u)
        if self.velocity == "inertial":
            o_dot = add(v, cross(w, self.o))
            linear = sub(sub(linear, cross(angular, self.o)), cross(w, o_dot))
        return linear, angular

    def wrench_out(self, force: Vec, moment: Vec) -> Twist:
        """A wrench in the base's axes about its origin, as the first six entries of tau."""
        if self.velocity == "body":
            return force, moment
        force, moment = apply(self.R, force), apply(self.R, moment)
        if self.velocity == "inertial":
            moment = add(moment, cross(self.o, force))
        return force, moment

    def wrench_in(self, tau: Sequence[Scalar]) -> Twist:
        """The first six entries of tau as a wrench in the base's axes about its origin."""
        force, moment = halves(tau)
        if self.velocity == "body":
            return force, moment
        if self.velocity == "inertial":
            moment = sub(moment, cross(self.o, force))
        return apply_t(self.R, force), apply_t(self.R, moment)

    @property
    def columns(self) -> list[Twist]:
        """Twist of the base, in its axes, per unit of each of its six velocities; none if fixed."""
        if not self.floating:
            return []
        # the rows of R are the axes of the world, written in the base
        axes = IDENTITY if self.velocity == "body" else self.R
        arm = apply_t(self.R, self.o) if self.velocity == "inertial" else ZERO
        rotations = [(cross(axis, arm), axis) for axis in axes]
        return [(axis, ZERO) for axis in axes] + rotations

    @property
    def expressed_at(self) -> tuple[Mat, Vec]:
        """Pose of the base in the frame that its velocity is written in."""
        if self.velocity == "body":
            return IDENTITY, ZERO
        return self.R, self.o if self.velocity == "inertial" else ZERO


def base_of(layout: Layout, q: Sequence[Scalar], velocity: Representation) -> Base:
    """The base at a configuration."""
    if not layout.floating:
        rows, o = layout.base_pose.matrix()[:3, :3].tolist(), layout.base_pose.xyz
        return Base((tuple(rows[0]), tuple(rows[1]), tuple(rows[2])), o, velocity, floating=False)
    return Base(layout.base_rotation(q), (q[0], q[1], q[2]), velocity, floating=True)
