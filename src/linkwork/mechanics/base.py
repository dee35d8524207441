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
    ZERO_MOTION,
    Force,
    Mat,
    Motion,
    Scalar,
    Vec,
    as_mat,
    as_vec,
)

Representation = Literal["mixed", "body", "inertial"]
REPRESENTATIONS: tuple[Representation, ...] = ("mixed", "body", "inertial")


@dataclass(frozen=True, slots=True)
class Base:
    """The pose of the base, and the representation of its velocity."""

    R: Mat  # world_R_base
    o: Vec  # of its origin, in the world
    velocity: Representation
    floating: bool

    def own_part(self, values: Sequence[Scalar] | None) -> Motion:
        """Return the base's six entries of nu or nu_dot; zeros if it is fixed, or for None."""
        return Motion.of(values) if self.floating and values is not None else ZERO_MOTION

    def twist(self, nu: Sequence[Scalar] | None) -> Motion:
        """Return (v, w) in the base's axes: velocity of its origin, and angular velocity."""
        V = self.own_part(nu)
        if self.velocity == "body":
            return V
        return self.R.T @ (V.at(self.o) if self.velocity == "inertial" else V)

    def acceleration(
        self, nu: Sequence[Scalar] | None, nu_dot: Sequence[Scalar] | None, gravity: Vec
    ) -> Motion:
        """Return (a, u) in the base's axes: acceleration of its origin less gravity, and angular.

        None for nu or nu_dot stands for zero.
        """
        if not self.floating:
            return Motion(self.R.T @ -gravity, ZERO)
        (linear, angular), (v, w) = self.own_part(nu_dot), self.own_part(nu)
        if self.velocity == "body":
            return Motion(linear + w.cross(v) - self.R.T @ gravity, angular)
        if self.velocity == "inertial":
            # o_ddot = v_dot + w_dot x o + w x o_dot
            linear = linear + angular.cross(self.o) + w.cross(v + w.cross(self.o))
        return self.R.T @ Motion(linear - gravity, angular)

    def derivative(self, nu: Sequence[Scalar] | None, acceleration: Motion) -> Motion:
        """Return the first six entries of nu_dot, from the acceleration (a, u) in its axes."""
        v, w = self.own_part(nu)
        if self.velocity == "body":
            a, u = acceleration
            return Motion(a - w.cross(v), u)
        linear, angular = self.R @ acceleration
        if self.velocity == "inertial":
            linear = linear - angular.cross(self.o) - w.cross(v + w.cross(self.o))
        return Motion(linear, angular)

    def wrench_out(self, wrench: Force) -> Force:
        """Return a wrench in the base's axes about its origin as the first six entries of tau."""
        if self.velocity == "body":
            return wrench
        wrench = self.R @ wrench
        return wrench.shifted(self.o) if self.velocity == "inertial" else wrench

    def wrench_in(self, tau: Sequence[Scalar]) -> Force:
        """Return the first six entries of tau as a wrench in the base's axes about its origin."""
        wrench = Force.of(tau)
        if self.velocity == "body":
            return wrench
        if self.velocity == "inertial":
            force, moment = wrench
            wrench = Force(force, moment - self.o.cross(force))
        return self.R.T @ wrench

    @property
    def columns(self) -> list[Motion]:
        """The twist of the base, in its axes, per unit of each of its velocities; none if fixed."""
        if not self.floating:
            return []
        # the rows of R are the axes of the world, written in the base
        axes = IDENTITY if self.velocity == "body" else self.R
        arm = self.R.T @ self.o if self.velocity == "inertial" else ZERO
        rotations = [Motion(axis.cross(arm), axis) for axis in axes]
        return [Motion(axis, ZERO) for axis in axes] + rotations

    @property
    def expressed_at(self) -> tuple[Mat, Vec]:
        """Pose of the base in the frame that its velocity is written in."""
        if self.velocity == "body":
            return IDENTITY, ZERO
        return self.R, self.o if self.velocity == "inertial" else ZERO


def base_of(layout: Layout, q: Sequence[Scalar], velocity: Representation) -> Base:
    """Return the base at a configuration."""
    if not layout.floating:
        R, o = layout.base_pose.matrix()[:3, :3].tolist(), layout.base_pose.xyz
        return Base(as_mat(R), as_vec(o), velocity, floating=False)
    return Base(as_mat(layout.base_rotation(q)), Vec(*q[:3]), velocity, floating=True)
