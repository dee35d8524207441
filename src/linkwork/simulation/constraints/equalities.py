"""Equations between bodies, and between joints, as soft rows: MuJoCo's connect, weld and joint.

Their cost is quadratic in every state, so they change the mass matrix and the forces of the contact
problem and are no rows of its solver. The position of a row is its error; the impedance of a
connect or a weld is that of the norm of all its errors. The rate of J is part of a_ref there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from linkwork.algorithms.kinematics.frames import frame_acceleration, frame_velocity
from linkwork.engine.symbolic.entries import FUNCTIONS, select
from linkwork.model.layout import Layout
from linkwork.model.pose import Pose
from linkwork.simulation.constraints.softness import gains, impedance, inverse_regularization
from linkwork.simulation.constraints.weights import Weights
from linkwork.simulation.scene import Equality, Scene
from linkwork.simulation.world import State, World, matrix_of
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    ZERO_MOTION,
    Force,
    Mat,
    Motion,
    Scalar,
    Vec,
    inner,
    total,
)


@dataclass(frozen=True, slots=True)
class EqualityRow:
    """A row with the force D (a_ref - J a) in every state."""

    J: Mapping[int, Scalar]  # by index in nu
    reference: Scalar
    D: Scalar

    def force(self, a: Sequence[Scalar]) -> Scalar:
        """Return the force."""
        return self.D * (self.reference - total(*(c * a[k] for k, c in self.J.items())))


@dataclass(frozen=True, slots=True)
class _Error:
    """Some scalar errors of an equation."""

    values: tuple[Scalar, ...]
    rows: tuple[dict[int, Scalar], ...]
    biases: tuple[Scalar, ...]  # (dJ/dt) nu
    weights: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class _Anchor:
    """One side of an equation between bodies."""

    body: int  # -1: the world
    R: Mat
    r: Vec  # from the base's origin
    velocity: Motion  # of the point
    bias: Motion  # (dJ/dt) nu of the point


def equality_rows(
    world: World, scene: Scene, state: State, weights: Weights
) -> Iterator[EqualityRow]:
    """Yield the rows of all equations."""
    options, nu = scene.options, state.nu
    for one in scene.equalities:
        if one.kind == "joint":
            error = _of_joints(world.skeleton.layout, one, state.q, weights.joints)
            norm = error.values[0]
        else:
            error = _of_bodies(world, one, state, weights)
            square = inner(error.values, error.values)
            norm = FUNCTIONS["sqrt"](square)
        own, d = gains(one.softness.solref, one.softness, options), impedance(one.softness, norm)
        for value, row, bias, weight in zip(
            error.values, error.rows, error.biases, error.weights, strict=True
        ):
            rate = total(*(c * nu[k] for k, c in row.items()))
            reference = -(own.b * rate) - own.k * (d * value) - bias
            yield EqualityRow(row, reference, inverse_regularization(d, weight))


def _of_joints(
    layout: Layout, one: Equality, q: Sequence[Scalar], weights: Mapping[str, Sequence[Scalar]]
) -> _Error:
    """Return theta_first - polynomial(theta_second)."""
    (first,) = q[layout.q[one.first]]
    row: dict[int, Scalar] = {layout.nu[one.first].start: 1.0}
    weight = weights[one.first][0]
    x: Scalar = 0.0
    if one.second is not None:
        (x,) = q[layout.q[one.second]]
        weight = weight + weights[one.second][0]
    value: Scalar = 0.0
    slope: Scalar = 0.0
    for coefficient in reversed(one.coefficients):  # Horner's scheme
        slope = slope * x + value
        value = value * x + coefficient
    if one.second is not None:
        row[layout.nu[one.second].start] = -slope
    return _Error((first - value,), (row,), (0.0,), (weight,))


def _of_bodies(world: World, one: Equality, state: State, weights: Weights) -> _Error:
    """Return the distance of two points, and the vector part of the relative quaternion."""
    a = _anchor(world, one.first, one.first_H_anchor, state)
    b = _anchor(world, one.second, one.second_H_anchor, state)
    both = [weights.links[name] for name in (one.first, one.second) if name is not None]
    moving, turning = (total(*(pair[k] for pair in both)) for k in (0, 1))
    values: list[Scalar] = [*(a.r - b.r)]
    rows = [_row(world, a, b, axis, ZERO) for axis in IDENTITY]
    biases: list[Scalar] = [*(a.bias[0] - b.bias[0])]
    if one.kind == "connect":
        return _Error(tuple(values), tuple(rows), tuple(biases), (moving,) * 3)
    # With the relative quaternion e and w = R_b^T (w_a - w_b), it changes by e' = 1/2 w e
    scale = one.torque_scale
    e, v = quaternion_of(b.R.T @ a.R)
    w = b.R.T @ (a.velocity[1] - b.velocity[1])
    w_dot = b.R.T @ (a.bias[1] - b.bias[1] - b.velocity[1].cross(a.velocity[1] - b.velocity[1]))
    e_dot, v_dot = -0.5 * w.dot(v), 0.5 * (e * w + w.cross(v))
    bias = (0.5 * scale) * (e_dot * w + e * w_dot + w_dot.cross(v) + w.cross(v_dot))
    for k, axis in enumerate(IDENTITY):  # row k of 1/2 (e w + w x v), as a moment
        moment = (0.5 * scale) * (b.R @ (e * axis + v.cross(axis)))
        rows.append(_row(world, a, b, ZERO, moment))
        values.append(scale * v[k])
        biases.append(bias[k])
    return _Error(tuple(values), tuple(rows), tuple(biases), (moving,) * 3 + (turning,) * 3)


def _anchor(world: World, name: str | None, pose: Pose, state: State) -> _Anchor:
    R_own, p = matrix_of(pose.matrix())
    if name is None:
        return _Anchor(-1, R_own, p - world.base.o, ZERO_MOTION, ZERO_MOTION)
    index = world.skeleton.layout.model.frame_index(name)
    body, R, r = world.frame(index)
    arm, q, nu = R @ p, state.q, state.nu
    velocity = Motion.of(frame_velocity(world.skeleton, q, nu, index, velocity="mixed"))
    bias = Motion.of(frame_acceleration(world.skeleton, q, nu, None, index, velocity="mixed"))
    w = velocity[1]
    linear = bias[0] + bias[1].cross(arm) + w.cross(w.cross(arm))
    return _Anchor(body, R @ R_own, r + arm, velocity.at(arm), Motion(linear, bias[1]))


def _row(world: World, a: _Anchor, b: _Anchor, force: Vec, moment: Vec) -> dict[int, Scalar]:
    """Return the difference of J^T f for a force and a moment at both anchors."""
    wrenches: dict[int, Force] = {}
    for side, sign in ((a, 1.0), (b, -1.0)):
        if side.body >= 0:
            wrench = Force(sign * force, sign * moment).shifted(side.r)
            wrenches[side.body] = wrenches[side.body] + wrench if side.body in wrenches else wrench
    return world.forces(wrenches)


def quaternion_of(R: Mat) -> tuple[Scalar, Vec]:
    """Return real and vector part of a quaternion of a rotation, whose sign does not matter.

    The largest of the four numbers is computed from the diagonal, the others with it.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    x, y, z = zy - yz, xz - zx, yx - xy
    rows = (
        (1.0 + xx + yy + zz, x, y, z),
        (x, 1.0 + xx - yy - zz, yx + xy, xz + zx),
        (y, yx + xy, 1.0 - xx + yy - zz, zy + yz),
        (z, xz + zx, zy + yz, 1.0 - xx - yy + zz),
    )
    largest, chosen = rows[0][0], rows[0]
    for k, row in enumerate(rows[1:], 1):
        is_larger = row[k] > largest
        largest = select(is_larger, row[k], largest)
        chosen = tuple(select(is_larger, a, b) for a, b in zip(row, chosen, strict=True))
    scale = 0.5 / FUNCTIONS["sqrt"](largest)
    return scale * chosen[0], scale * Vec(*chosen[1:])
