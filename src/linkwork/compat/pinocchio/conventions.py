"""Maps between linkwork's vectors and Pinocchio's.

With T the matrix of v = T nu, everything follows: a = T nu_dot + T_dot nu, tau_here = T^T tau,
J_here = J T, M_here = T^T M T, h_here = T^T (h + M T_dot nu). T_dot nu is not zero in the mixed
representation only: (-R^T (w x v); 0) for the base.

A joint of several coordinates that is read backwards, from its second link to its first, moves in
Pinocchio by the inverse: with M its motion here, the velocity there is -Ad(M) nu. The derivative of
this map along the motion is zero, as a velocity does not change under itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.pinocchio.order import BASE, JointSlices, expected_slices, given_slices
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import (
    Array,
    as_array,
    cos,
    cross,
    join,
    matrix,
    matvec,
    sin,
    stack,
    transpose,
)
from linkwork.errors import ArgumentError, ShapeError, shown
from linkwork.kindyn import KinDyn
from linkwork.spatial import motion, quat, se3

REFERENCE_FRAMES: Mapping[str, str] = {
    "mixed": "LOCAL_WORLD_ALIGNED",
    "body": "LOCAL",
    "inertial": "WORLD",
}


@dataclass(frozen=True, slots=True)
class Blocks:
    """The parts of T that are not the identity, by the number of their joint; and of T^-1."""

    forward: Mapping[int, Array]  # (..., n, n)
    inverse: Mapping[int, Array]


@dataclass(frozen=True)
class Conventions:
    """Maps between the vectors of a KinDyn and those of Pinocchio.

    All arguments of a map `to` Pinocchio are linkwork's, all arguments of a map `from` it are
    Pinocchio's, including q and v. Any leading batch axes.

    Args:
        kd: the robot, its base and its velocity representation.
        pin_model: a `pinocchio.Model` of the same robot. Without one, the order is that of the
            model which Pinocchio reads from the same URDF and which `to_pinocchio` builds.
    """

    kd: KinDyn
    pin_model: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.kd, KinDyn):
            raise ArgumentError(f"kd: expected a KinDyn, got {shown(self.kd)}")
        _ = self.slices  # raises here if the models do not match

    @cached_property
    def slices(self) -> tuple[JointSlices, ...]:
        """The coordinates of each joint, here and there, in Pinocchio's order."""
        if self.pin_model is None:
            return expected_slices(self.kd)
        return given_slices(self.kd, self.pin_model)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The moving, independent joints in Pinocchio's order, without that of the base."""
        return tuple(at.joint for at in self.slices if at.joint)

    @cached_property
    def nq(self) -> int:
        """Length of Pinocchio's q."""
        return self.slices[-1].q_there.stop if self.slices else 0

    @property
    def nv(self) -> int:
        """Length of Pinocchio's v, the same as here."""
        return self.kd.nv

    @property
    def reference_frame(self) -> str:
        """Name of the `pinocchio.ReferenceFrame` in which frame Jacobians have the same rows."""
        return REFERENCE_FRAMES[self.kd.representation]

    def q_to_pinocchio(self, q: ArrayLike) -> Array:
        """(..., nq there) configuration."""
        here = _checked(q, "q", self.kd.nq)
        there = np.empty((*here.shape[:-1], self.nq), here.dtype)
        for at in self.slices:
            there[..., at.q_there] = _position_there(at, here[..., at.q])
        return there

    def q_from_pinocchio(self, q: ArrayLike) -> Array:
        """(..., nq) configuration; an angle that is (cos, sin) there comes back in [-pi, pi]."""
        there = _checked(q, "q", self.nq)
        here = np.empty((*there.shape[:-1], self.kd.nq), there.dtype)
        for at in self.slices:
            here[..., at.q] = _position_here(at, there[..., at.q_there])
        return here

    def v_to_pinocchio(self, q: ArrayLike, nu: ArrayLike) -> Array:
        """(..., nv) velocity: v = T nu."""
        return self._forwards(self._blocks(q).forward, self._row(nu, "nu"))

    def v_from_pinocchio(self, q: ArrayLike, v: ArrayLike) -> Array:
        """(..., nv) velocity: nu = T^-1 v."""
        blocks = self._blocks(self.q_from_pinocchio(q))
        return self._backwards(blocks.inverse, self._row(v, "v"))

    def a_to_pinocchio(self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike) -> Array:
        """(..., nv) acceleration: a = T nu_dot + T_dot nu = T (nu_dot + T^-1 T_dot nu)."""
        nu, nu_dot = self._row(nu, "nu"), self._row(nu_dot, "nu_dot")
        return self._forwards(self._blocks(q).forward, nu_dot + self._drift(nu))

    def a_from_pinocchio(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """(..., nv) acceleration: nu_dot = T^-1 a - T^-1 T_dot nu."""
        blocks = self._blocks(self.q_from_pinocchio(q)).inverse
        nu = self._backwards(blocks, self._row(v, "v"))
        return self._backwards(blocks, self._row(a, "a")) - self._drift(nu)

    def tau_to_pinocchio(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """(..., nv) generalized forces: T^-T tau, of the same power."""
        return self._forwards(_dual(self._blocks(q).inverse), self._row(tau, "tau"))

    def tau_from_pinocchio(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """(..., nv) generalized forces: T^T tau, of the same power."""
        blocks = self._blocks(self.q_from_pinocchio(q))
        return self._backwards(_dual(blocks.forward), self._row(tau, "tau"))

    def jacobian_to_pinocchio(self, q: ArrayLike, J: ArrayLike) -> Array:
        """(..., k, nv) any Jacobian, its rows as they are: J T^-1."""
        blocks = _for_rows(_dual(self._blocks(q).inverse))
        return self._forwards(blocks, self._row(J, "J", rows="k"))

    def jacobian_from_pinocchio(self, q: ArrayLike, J: ArrayLike) -> Array:
        """(..., k, nv) any Jacobian, its rows as they are: J T.

        A frame Jacobian that Pinocchio gives in `reference_frame` becomes `kd.jacobian`.
        """
        blocks = _for_rows(_dual(self._blocks(self.q_from_pinocchio(q)).forward))
        return self._backwards(blocks, self._row(J, "J", rows="k"))

    def mass_matrix_to_pinocchio(self, q: ArrayLike, M: ArrayLike) -> Array:
        """(..., nv, nv) mass matrix: T^-T M T^-1."""
        half = self.jacobian_to_pinocchio(q, self._row(M, "M", rows=self.nv))
        return transpose(self.jacobian_to_pinocchio(q, transpose(half)))

    def mass_matrix_from_pinocchio(self, q: ArrayLike, M: ArrayLike) -> Array:
        """(..., nv, nv) mass matrix: T^T M T. Pinocchio's must be filled on both sides."""
        half = self.jacobian_from_pinocchio(q, self._row(M, "M", rows=self.nv))
        return transpose(self.jacobian_from_pinocchio(q, transpose(half)))

    def bias_to_pinocchio(self, q: ArrayLike, nu: ArrayLike, h: ArrayLike, M: ArrayLike) -> Array:
        """(..., nv) bias forces: T^-T (h - M T^-1 T_dot nu)."""
        drift = self._drift(self._row(nu, "nu"))
        correction = matvec(self._row(M, "M", rows=self.nv), drift)
        return self.tau_to_pinocchio(q, self._row(h, "h") - correction)

    def bias_from_pinocchio(self, q: ArrayLike, v: ArrayLike, h: ArrayLike, M: ArrayLike) -> Array:
        """(..., nv) bias forces, those at nu_dot = 0, which is not a = 0: T^T (h + M T_dot nu).

        Args:
            q, v: Pinocchio's configuration and velocity.
            h: (..., nv) Pinocchio's bias, its `rnea` at a = 0 or `nle`.
            M: (..., nv, nv) Pinocchio's mass matrix, filled on both sides.
        """
        nu = self.v_from_pinocchio(q, v)
        here = self.tau_from_pinocchio(q, h)
        return here + matvec(self.mass_matrix_from_pinocchio(q, M), self._drift(nu))

    def _blocks(self, q: ArrayLike) -> Blocks:
        """The parts of T that are no permutation, at a configuration of linkwork."""
        return _blocks_here(self.slices, _checked(q, "q", self.kd.nq), self.kd.representation)

    def _drift(self, nu: Array) -> Array:
        """(..., nv) T^-1 T_dot nu, which only the mixed representation has: (-(w x v); 0)."""
        drift = np.zeros_like(nu)
        if self.kd.floating and self.kd.representation == "mixed":
            drift[..., :3] = -cross(nu[..., 3:6], nu[..., :3])
        return drift

    def _forwards(self, blocks: Mapping[int, Array], x: Array) -> Array:
        """From linkwork's order to Pinocchio's, then blocks."""
        return _multiplied(self._v_slices, blocks, x[..., self._order])

    def _backwards(self, blocks: Mapping[int, Array], x: Array) -> Array:
        """Blocks, then from Pinocchio's order to linkwork's."""
        return _multiplied(self._v_slices, blocks, x)[..., np.argsort(self._order)]

    @cached_property
    def _order(self) -> Array:
        """(nv,) index here of each of Pinocchio's velocities."""
        indices = [np.arange(at.nu.start or 0, at.nu.stop) for at in self.slices]
        return np.concatenate([np.zeros(0, dtype=int), *indices])

    @cached_property
    def _v_slices(self) -> tuple[slice, ...]:
        return tuple(at.v_there for at in self.slices)

    def _row(self, value: ArrayLike, name: str, *, rows: int | str | None = None) -> Array:
        return _checked(value, name, self.nv, rows)


def _checked(value: ArrayLike, name: str, size: int, rows: int | str | None = None) -> Array:
    """An array of vectors, or of matrices with a number of rows; any number if it is a letter."""
    array = as_array(value)
    fits = array.ndim >= (1 if rows is None else 2) and array.shape[-1] == size
    if fits and isinstance(rows, int):
        fits = array.shape[-2] == rows
    if not fits:
        expected = f"(..., {size})" if rows is None else f"(..., {rows}, {size})"
        raise ShapeError(f"{name}: expected {expected}, got {array.shape}")
    return array


def _multiplied(slices: tuple[slice, ...], blocks: Mapping[int, Array], x: Array) -> Array:
    """Multiply some parts of vectors with matrices."""
    batches = [block.shape[:-2] for block in blocks.values()]
    batch = np.broadcast_shapes(x.shape[:-1], *batches)
    product = np.array(np.broadcast_to(x, (*batch, x.shape[-1])))
    for number, block in blocks.items():
        product[..., slices[number]] = matvec(block, x[..., slices[number]])
    return product


def _dual(blocks: Mapping[int, Array]) -> Mapping[int, Array]:
    return {number: transpose(block) for number, block in blocks.items()}


def _for_rows(blocks: Mapping[int, Array]) -> Mapping[int, Array]:
    """Blocks that multiply each row of a matrix."""
    return {number: block[..., None, :, :] for number, block in blocks.items()}


def _position_there(at: JointSlices, theta: Array) -> Array:
    """Position of a joint as Pinocchio writes it."""
    if at.backwards:
        theta = _reversed(at, theta)
    match at.form:
        case "same" | "two_angles":
            return theta
        case "angle_cos_sin":
            return join([cos(theta), sin(theta)])
        case "cos_sin_angle":
            return np.arctan2(theta[..., 1:], theta[..., :1])
        case "planar":
            return join([theta[..., :2], cos(theta[..., 2:]), sin(theta[..., 2:])])
        case "quaternion":
            return np.roll(theta, -1, axis=-1)
        case "free":
            return join([theta[..., :3], np.roll(theta[..., 3:], -1, axis=-1)])


def _position_here(at: JointSlices, theta: Array) -> Array:
    """Position of a joint as linkwork writes it; undoes `_position_there` up to full turns."""
    match at.form:
        case "same" | "two_angles":
            position = theta
        case "angle_cos_sin":
            position = np.arctan2(theta[..., 1:], theta[..., :1])
        case "cos_sin_angle":
            position = join([cos(theta), sin(theta)])
        case "planar":
            position = join([theta[..., :2], np.arctan2(theta[..., 3:], theta[..., 2:3])])
        case "quaternion":
            position = np.roll(theta, 1, axis=-1)
        case "free":
            position = join([theta[..., :3], np.roll(theta[..., 3:], 1, axis=-1)])
    return _reversed(at, position) if at.backwards else position


def _blocks_here(slices: Sequence[JointSlices], q: Array, velocity: str) -> Blocks:
    """T at a configuration of linkwork's, without the permutation.

    Args:
        slices: of the joints.
        q: (..., nq) configuration.
        velocity: representation of the base's velocity.
    """
    forward: dict[int, Array] = {}
    inverse: dict[int, Array] = {}
    for number, at in enumerate(slices):
        theta = q[..., at.q]
        if at.joint == BASE:
            if velocity != "body":
                forward[number], inverse[number] = _base_blocks(theta, velocity)
        elif at.backwards:
            forward[number] = _backward_block(at, theta)
            inverse[number] = _backward_block(at, _reversed(at, theta))
    return Blocks(forward, inverse)


def _base_blocks(theta: Array, velocity: str) -> tuple[Array, Array]:
    """Base velocity in a representation to that in the base's own axes, and back."""
    rotation = quat.to_rotation(theta[..., 3:])
    position = theta[..., :3] if velocity == "inertial" else np.zeros(3)
    world_H_base = se3.pose(rotation, position)
    back = se3.inverse(world_H_base)
    return motion.motion_transform(back), motion.motion_transform(world_H_base)


def _reversed(at: JointSlices, theta: Array) -> Array:
    """Position of the inverse motion."""
    match at.form:
        case "two_angles":  # about the second axis first
            return -theta[..., ::-1]
        case "planar":
            angle = theta[..., 2]
            position = matvec(transpose(_turn(angle)), theta[..., :2])
            return join([-position, -angle[..., None]])
        case "free":
            wxyz = quat.conjugate(theta[..., 3:])
            return join([-matvec(quat.to_rotation(wxyz), theta[..., :3]), wxyz])
        case _:
            return quat.conjugate(theta)


def _backward_block(at: JointSlices, theta: Array) -> Array:
    """-Ad(M), in the velocity coordinates of the joint."""
    match at.form:
        case "two_angles":
            return np.array([[0.0, -1.0], [-1.0, 0.0]])
        case "planar":
            c, s = cos(theta[..., 2]), sin(theta[..., 2])
            x, y = theta[..., 0], theta[..., 1]
            return -matrix([[c, -s, y], [s, c, -x], [0 * c, 0 * c, 0 * c + 1]])
        case "free":
            pose = se3.pose(quat.to_rotation(theta[..., 3:]), theta[..., :3])
            return -motion.motion_transform(pose)
        case _:
            return -quat.to_rotation(theta)


def _turn(angle: Array) -> Array:
    c, s = cos(angle), sin(angle)
    return stack([stack([c, -s]), stack([s, c])], axis=-2)
