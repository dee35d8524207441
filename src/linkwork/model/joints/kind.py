"""What a kind of joint is: how one side of a joint moves relative to the other, and no more.

A joint has a fixed side and a moving side, which coincide at the neutral position. A kind knows

    sizes             nq position coordinates theta, nv velocity coordinates nu
    pose              M(theta), pose of the moving side in the fixed side
    subspace          S(theta): the velocity of the moving side is S nu, in its own axes
    subspace_rate     S_dot at (theta, nu): the bias acceleration is S_dot nu
    bias_jacobian     derivative of S_dot nu in the tangent space of theta
    position_jacobian J(theta): theta_dot = J nu, and its left inverse
    moved, between    theta after one second at constant nu, and the way back
    unit_norm         parts of theta that have norm 1
    factors           M(theta) as a product of rotations, translations and quaternions
    subspace_sides    in the axes of which side each column of S is constant
    closure           the relative motion that the joint prevents, where it closes a loop

and what M always is: whether it rotates, whether it shifts the origin, what it is about the
opposite axis. Everything is written once, on the scalars of `spatial.blocks`: floats, expressions
being traced, or columns of a batch. Algorithms call the kind and never check which kind it is.

Derivatives with respect to theta are taken in its tangent space: along theta_dot = J e for each
unit vector e of nu. Those without a closed form are derived from the other formulas of the kind.

To add a kind, write one class, and put one object of it into `KINDS`; CONTRIBUTING.md lists the
other files. A class defines `pose`, `subspace` and the class variables without a default, and

    subspace_rate         if S depends on theta; then also `subspace_sides`
    position_jacobian     if theta_dot is not nu
    moved, between        if a step is not theta + nu
    unit_norm             if parts of theta have norm 1
    factors               for poses of workcells in C; else NumPy computes them, with a warning
    closure               for joints that close a loop: 6 - nv equations; else they raise an error
    inverse_is_opposite   if that holds; a test checks it for every kind
    takes_angle_offset    if `pose` adds `axis.angle_offset` to the angle

A rotation that `Closure` does not have also needs rows in `algorithms.constraints.equations`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array, sqrt
from linkwork.model.joints.derivatives import Rows, derivatives, identity, left_inverse, product
from linkwork.spatial.blocks import IDENTITY, ZERO_MOTION, Mat, Motion, Scalar, Vec, as_vec, inner

Columns: TypeAlias = tuple[Motion, ...]  # (linear, angular) of each column of S
Rotation: TypeAlias = Literal["none", "about_axis", "free"]
Side: TypeAlias = Literal["fixed", "moving"]


@dataclass(frozen=True, slots=True)
class Axis:
    """The constants of one joint that its kind computes with."""

    direction: Vec = IDENTITY[2]  # unit vector, the same in both sides
    pitch: float = 0.0  # advance along the axis per radian [m/rad]
    angle_offset: float = 0.0  # added to the angle [rad]; for kinds that take one

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", as_vec(self.direction))


@dataclass(frozen=True, slots=True)
class UnitNorm:
    """A part of theta that has norm 1."""

    name: str  # in messages
    start: int
    count: int


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of M(theta), with constant axes.

    rotation      about axes[0], a unit vector, by the angle theta[start]
    cos_sin       the same, with cosine and sine of the angle in theta[start : start + 2]
    translation   theta[start] axes[0] + theta[start + 1] axes[1] + ...
    quaternion    the rotation of the unit quaternion wxyz theta[start : start + 4]
    """

    motion: Literal["rotation", "cos_sin", "translation", "quaternion"]
    start: int
    axes: tuple[Vec, ...] = ()


@dataclass(frozen=True, slots=True)
class Closure:
    """The relative motion that a joint prevents, where it closes a loop.

    Directions are unit vectors in the axes of the fixed side. `rotation` says how the moving side
    can rotate: not at all, about `axis`, about `axis` of the fixed and `second_axis` of the moving
    side, or freely.
    """

    linear: tuple[Vec, ...]  # directions along which the origins coincide
    rotation: Literal["locked", "about_axis", "universal", "free"]
    axis: Vec = IDENTITY[2]
    second_axis: Vec = IDENTITY[0]
    pitch: float | None = None  # of a screw: the origin advances along `axis` per radian [m/rad]

    def __post_init__(self) -> None:
        object.__setattr__(self, "linear", tuple(map(as_vec, self.linear)))
        object.__setattr__(self, "axis", as_vec(self.axis))
        object.__setattr__(self, "second_axis", as_vec(self.second_axis))

    @property
    def size(self) -> int:
        """How many equations it has."""
        angular = {"locked": 3, "about_axis": 2, "universal": 1, "free": 0}[self.rotation]
        return len(self.linear) + angular + (self.pitch is not None)


class JointKind(ABC):
    """How one side of a joint moves relative to the other."""

    name: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    neutral: ClassVar[tuple[float, ...]]  # theta at which both sides coincide
    reach: ClassVar[tuple[float, ...]]  # random positions are within +-reach where nothing limits
    has_axis: ClassVar[bool] = True  # whether the axis of the joint means anything
    has_pitch: ClassVar[bool] = False
    rotation: ClassVar[Rotation]  # of M: none, about the axis of the joint, or any other
    translates: ClassVar[bool]  # whether the origin of the moving side leaves that of the fixed one
    inverse_is_opposite: ClassVar[bool] = False  # M^-1 = M about the opposite axis, same theta
    takes_angle_offset: ClassVar[bool] = False  # R(offset) M is M with the offset in `pose`
    unit_norm: ClassVar[tuple[UnitNorm, ...]] = ()
    position_text: ClassVar[str] = ""  # theta in words, with units
    velocity_text: ClassVar[str] = ""  # nu in words, with units

    @abstractmethod
    def pose(self, axis: Axis, theta: Sequence[Scalar]) -> tuple[Mat, Vec]:
        """Return the rotation and position of the moving side in the fixed side, M(theta)."""

    @abstractmethod
    def subspace(self, axis: Axis, theta: Sequence[Scalar]) -> Columns:
        """Return the nv columns of S, in the axes of the moving side at its origin."""

    def factors(self, axis: Axis) -> tuple[Factor, ...] | None:
        """Return factors with the product M(theta), first one leftmost; None if there are none.

        Workcells compute poses from them in C; without them, they compute `pose` with NumPy, which
        is slower. The angle offset of the axis does not enter.
        """
        return None

    def closure(self, axis: Axis) -> Closure | None:
        """Return the relative motion that the joint prevents; None if it cannot close a loop."""
        return None

    def subspace_sides(self) -> tuple[Side, ...] | None:
        """Return the side in whose axes and at whose origin each column of S is constant.

        None if a column is constant on neither side: then S is evaluated at each position.
        """
        is_constant = type(self).subspace_rate is JointKind.subspace_rate
        return ("moving",) * self.nv if is_constant else None

    def subspace_rate(
        self, axis: Axis, theta: Sequence[Scalar], nu: Sequence[Scalar]
    ) -> Columns | None:
        """Return the rates of the columns of S at the velocity nu; None for a constant S."""
        return None

    def bias_jacobian(
        self, axis: Axis, theta: Sequence[Scalar], nu: Sequence[Scalar]
    ) -> Columns | None:
        """Return derivatives of S_dot nu, column k along velocity k; None for a constant S."""
        if self.subspace_rate(axis, theta, nu) is None:
            return None

        def bias(theta: Sequence[Scalar], nu: Sequence[Scalar]) -> list[Scalar]:
            bias = ZERO_MOTION
            for weight, (v, w) in zip(nu, self.subspace_rate(axis, theta, nu) or (), strict=True):
                bias = bias + weight * Motion(as_vec(v), as_vec(w))
            return [x for vector in bias for x in vector]

        by_theta, _ = derivatives(bias, theta, nu)
        rows = product(by_theta, self.position_jacobian(theta))
        return tuple(Motion.of(column) for column in zip(*rows, strict=True))

    def position_jacobian(self, theta: Sequence[Scalar]) -> Rows:
        """Return rows (nq, nv) of J with theta_dot = J nu."""
        return identity(self.nv)

    def position_jacobian_inverse(self, theta: Sequence[Scalar]) -> Rows:
        """Return rows (nv, nq) of G, nu = G theta_dot: G J = 1, and no rate of a norm enters."""
        return left_inverse(self.position_jacobian(theta))

    def moved(self, theta: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Return theta after one second at the constant velocity `step`."""
        return [x + dx for x, dx in zip(theta, step, strict=True)]

    def between(self, start: Sequence[Scalar], end: Sequence[Scalar]) -> list[Scalar]:
        """Return the step that leads from one theta to another, by the shortest rotation."""
        return [y - x for x, y in zip(start, end, strict=True)]

    def moved_derivatives(
        self, theta: Sequence[Scalar], step: Sequence[Scalar]
    ) -> tuple[Rows, Rows]:
        """Return rows (nv, nv) of the derivatives of `moved` with respect to theta and the step.

        Changes of the result are measured in the tangent space there.
        """
        if type(self).moved is JointKind.moved:
            return identity(self.nv), identity(self.nv)
        by_theta, by_step = derivatives(self.moved, theta, step)
        G = self.position_jacobian_inverse(self.normalized(self.moved(theta, step)))
        by_theta = product(by_theta, self.position_jacobian(theta))
        return product(G, by_theta), product(G, by_step)

    def between_derivatives(
        self, start: Sequence[Scalar], end: Sequence[Scalar]
    ) -> tuple[Rows, Rows]:
        """Return rows (nv, nv) of the derivatives of `between` with respect to start and end."""
        if type(self).between is JointKind.between:
            return identity(self.nv, -1.0), identity(self.nv)
        by_start, by_end = derivatives(self.between, start, end)
        by_start = product(by_start, self.position_jacobian(start))
        return by_start, product(by_end, self.position_jacobian(end))

    def normalized(self, theta: Sequence[Scalar]) -> list[Scalar]:
        """Return theta with its unit-norm parts scaled to norm 1."""
        scaled = list(theta)
        for part in self.unit_norm:
            span = slice(part.start, part.start + part.count)
            norm = sqrt(inner(theta[span], theta[span]))
            scaled[span] = [x / norm for x in theta[span]]
        return scaled


def axes_across(axis: Sequence[float]) -> tuple[Vec, Vec]:
    """Return two unit vectors across an axis: y, z for x; z, x for y; x, y for z.

    For a tilted axis, the first is the coordinate direction that follows the axis' largest
    component, made perpendicular to the axis; the second completes the right-handed frame.
    """
    axis = as_vec(axis)
    largest = max(range(3), key=lambda k: abs(axis[k]))
    direction = IDENTITY[(largest + 1) % 3]
    first = direction - axis.dot(direction) * axis
    first = (1.0 / float(sqrt(first.dot(first)))) * first
    return first, axis.cross(first)


def plane_basis(axis: Array) -> Array:
    """Return the two vectors (3, 2) of `axes_across`, as columns."""
    return np.array(axes_across(axis.tolist())).T
