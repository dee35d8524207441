"""Kinds of joints with at most one velocity coordinate, along or about the axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

from linkwork.engine.symbolic.arrays import atan2, cos, sin
from linkwork.model.joints.derivatives import Rows, identity
from linkwork.model.joints.kind import (
    Axis,
    Closure,
    Columns,
    Factor,
    JointKind,
    UnitNorm,
    axes_across,
)
from linkwork.spatial.blocks import IDENTITY, ZERO, Mat, Motion, Scalar, Vec, rotation_about


@final
class Fixed(JointKind):
    """Two links that are one body."""

    name, nq, nv, neutral, reach = "fixed", 0, 0, (), ()
    rotation, translates = "none", False
    has_axis = False

    def pose(self, axis: Axis, theta: Sequence[Scalar]) -> tuple[Mat, Vec]:
        return IDENTITY, ZERO

    def subspace(self, axis: Axis, theta: Sequence[Scalar]) -> Columns:
        return ()

    def factors(self, axis: Axis) -> tuple[Factor, ...]:
        return ()

    def closure(self, axis: Axis) -> Closure:
        return Closure(IDENTITY, "locked")


@final
class Revolute(JointKind):
    """Rotation about the axis by an angle, limited or not."""

    name, nq, nv, neutral, reach = "revolute", 1, 1, (0.0,), (math.pi,)
    position_text, velocity_text = "angle [rad]", "[rad/s]"
    rotation, translates = "about_axis", False
    inverse_is_opposite = takes_angle_offset = True

    def pose(self, axis: Axis, theta: Sequence[Scalar]) -> tuple[Mat, Vec]:
        angle = theta[0] + axis.angle_offset
        return rotation_about(axis.direction, cos(angle), sin(angle)), ZERO

    def subspace(self, axis: Axis, theta: Sequence[Scalar]) -> Columns:
        return (Motion(ZERO, axis.direction),)

    def factors(self, axis: Axis) -> tuple[Factor, ...]:
        return (Factor("rotation", 0, (axis.direction,)),)

    def closure(self, axis: Axis) -> Closure:
        return Closure(IDENTITY, "about_axis", axis.direction)


@final
class RevoluteCosSin(JointKind):
    """Rotation about the axis, its position kept as the cosine and sine of the angle."""

    name, nq, nv, neutral, reach = "revolute_cos_sin", 2, 1, (1.0, 0.0), (1.0, 1.0)
    position_text, velocity_text = "cosine and sine of the angle", "[rad/s]"
    rotation, translates = "about_axis", False
    inverse_is_opposite = True
    unit_norm = (UnitNorm("(cos, sin)", 0, 2),)

    def pose(self, axis: Axis, theta: Sequence[Scalar]) -> tuple[Mat, Vec]:
        return rotation_about(axis.direction, *theta), ZERO

    def subspace(self, axis: Axis, theta: Sequence[Scalar]) -> Columns:
        return (Motion(ZERO, axis.direction),)

    def factors(self, axis: Axis) -> tuple[Factor, ...]:
        return (Factor("cos_sin", 0, (axis.direction,)),)

    def closure(self, axis: Axis) -> Closure:
        return Closure(IDENTITY, "about_axis", axis.direction)

    def position_jacobian(self, theta: Sequence[Scalar]) -> Rows:
        c, s = theta
        return [[-s], [c]]

    def position_jacobian_inverse(self, theta: Sequence[Scalar]) -> Rows:
        c, s = theta
        return [[-s, c]]

    def moved(self, theta: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        (x, y), c, s = theta, cos(step[0]), sin(step[0])
        return [c * x - s * y, s * x + c * y]

    def moved_derivatives(
        self, theta: Sequence[Scalar], step: Sequence[Scalar]
    ) -> tuple[Rows, Rows]:
        return identity(1), identity(1)

    def between(self, start: Sequence[Scalar], end: Sequence[Scalar]) -> list[Scalar]:
        (x, y), (x_end, y_end) = start, end
        return [atan2(x * y_end - y * x_end, x * x_end + y * y_end)]

    def between_derivatives(
        self, start: Sequence[Scalar], end: Sequence[Scalar]
    ) -> tuple[Rows, Rows]:
        return identity(1, -1.0), identity(1)


@final
class Prismatic(JointKind):
    """Translation along the axis."""

    name, nq, nv, neutral, reach = "prismatic", 1, 1, (0.0,), (1.0,)
    position_text, velocity_text = "displacement [m]", "[m/s]"
    rotation, translates = "none", True
    inverse_is_opposite = True

    def pose(self, axis: Axis, theta: Sequence[Scalar]) -> tuple[Mat, Vec]:
        return IDENTITY, theta[0] * axis.direction

    def subspace(self, axis: Axis, theta: Sequence[Scalar]) -> Columns:
        return (Motion(axis.direction, ZERO),)

    def factors(self, axis: Axis) -> tuple[Factor, ...]:
        return (Factor("translation", 0, (axis.direction,)),)

    def closure(self, axis: Axis) -> Closure:
        return Closure(axes_across(axis.direction), "locked")


@final
class Helical(JointKind):
    """A screw: rotation about the axis with a proportional translation along it."""

    name, nq, nv, neutral, reach = "helical", 1, 1, (0.0,), (math.pi,)
    position_text, velocity_text = "angle [rad]", "[rad/s]"
    rotation, translates = "about_axis", True
    has_pitch = inverse_is_opposite = takes_angle_offset = True

    def pose(self, axis: Axis, theta: Sequence[Scalar]) -> tuple[Mat, Vec]:
        angle = theta[0] + axis.angle_offset
        advance = axis.pitch * axis.direction  # per radian
        return rotation_about(axis.direction, cos(angle), sin(angle)), theta[0] * advance

    def subspace(self, axis: Axis, theta: Sequence[Scalar]) -> Columns:
        return (Motion(axis.pitch * axis.direction, axis.direction),)

    def factors(self, axis: Axis) -> tuple[Factor, ...]:
        advance = axis.pitch * axis.direction
        return (
            Factor("rotation", 0, (axis.direction,)),
            Factor("translation", 0, (advance,)),
        )

    def closure(self, axis: Axis) -> Closure:
        across = axes_across(axis.direction)
        return Closure(across, "about_axis", axis.direction, pitch=axis.pitch)
