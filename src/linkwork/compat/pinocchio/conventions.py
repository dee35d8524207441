"""Maps between linkwork's vectors and Pinocchio's.

With T the matrix of v = T nu, everything follows: a = T nu_dot + T_dot nu, tau_here = T^T tau,
J_here = J T, M_here = T^T M T, h_here = T^T (h + M T_dot nu). T_dot nu is not zero in the mixed
representation only: (-R^T (w x v); 0) for the base.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.pinocchio.order import JointSlices, expected_slices, given_slices
from linkwork.compat.pinocchio.positions import (
    Blocks,
    blocks_here,
    position_here,
    position_there,
)
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array, as_array, cross, matvec, transpose
from linkwork.errors import ArgumentError, ShapeError, shown
from linkwork.kindyn import KinDyn

REFERENCE_FRAMES: Mapping[str, str] = {
    "mixed": "LOCAL_WORLD_ALIGNED",
    "body": "LOCAL",
    "inertial": "WORLD",
}


@dataclass(frozen=True)
class Conventions:
    """How the vectors of a KinDyn read in Pinocchio.

    What goes `to` Pinocchio is given in linkwork's numbers altogether, what comes `from` it in
    Pinocchio's altogether, the q and v beside it too. Any leading batch axes, as everywhere.

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
        _ = self.slices  # what does not fit is said now

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
        here = self._taken(q, "q", self.kd.nq)
        there = np.empty((*here.shape[:-1], self.nq), here.dtype)
        for at in self.slices:
            there[..., at.q_there] = position_there(at, here[..., at.q])
        return there

    def q_from_pinocchio(self, q: ArrayLike) -> Array:
        """(..., nq) configuration; an angle that is (cos, sin) there comes back in [-pi, pi]."""
        there = self._taken(q, "q", self.nq)
        here = np.empty((*there.shape[:-1], self.kd.nq), there.dtype)
        for at in self.slices:
            here[..., at.q] = position_here(at, there[..., at.q_there])
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
        """(..., nv) generalised forces: T^-T tau, of the same power."""
        return self._forwards(_dual(self._blocks(q).inverse), self._row(tau, "tau"))

    def tau_from_pinocchio(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """(..., nv) generalised forces: T^T tau, of the same power."""
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
        more = matvec(self._row(M, "M", rows=self.nv), drift)
        return self.tau_to_pinocchio(q, self._row(h, "h") - more)

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
        """The parts of T that are no permutation, at a configuration of ours."""
        return blocks_here(self.slices, self._taken(q, "q", self.kd.nq), self.kd.representation)

    def _drift(self, nu: Array) -> Array:
        """(..., nv) T^-1 T_dot nu, which only the mixed representation has: (-(w x v); 0)."""
        drift = np.zeros_like(nu)
        if self.kd.floating and self.kd.representation == "mixed":
            drift[..., :3] = -cross(nu[..., 3:6], nu[..., :3])
        return drift

    def _forwards(self, blocks: Mapping[int, Array], x: Array) -> Array:
        """From our order to Pinocchio's, then blocks."""
        return _multiplied(self._v_slices, blocks, x[..., self._order])

    def _backwards(self, blocks: Mapping[int, Array], x: Array) -> Array:
        """Blocks, then from Pinocchio's order to ours."""
        return _multiplied(self._v_slices, blocks, x)[..., np.argsort(self._order)]

    @cached_property
    def _order(self) -> Array:
        """(nv,) index here of each of Pinocchio's velocities."""
        indices = [np.arange(at.nu.start or 0, at.nu.stop) for at in self.slices]
        return np.concatenate([np.zeros(0, dtype=int), *indices])

    @cached_property
    def _v_slices(self) -> tuple[slice, ...]:
        return tuple(at.v_there for at in self.slices)

    def _row(self, value: ArrayLike, what: str, *, rows: int | str | None = None) -> Array:
        return self._taken(value, what, self.nv, rows)

    def _taken(
        self, value: ArrayLike, what: str, size: int, rows: int | str | None = None
    ) -> Array:
        """Take an array, or say what shape is wanted."""
        array = as_array(value)
        least = 1 if rows is None else 2
        fits = array.ndim >= least and array.shape[-1] == size
        if fits and isinstance(rows, int):
            fits = array.shape[-2] == rows
        if not fits:
            wanted = f"(..., {size})" if rows is None else f"(..., {rows}, {size})"
            raise ShapeError(f"{what}: expected {wanted}, got {array.shape}")
        return array


def _multiplied(slices: tuple[slice, ...], blocks: Mapping[int, Array], x: Array) -> Array:
    """Multiply some parts of vectors with matrices."""
    batches = [block.shape[:-2] for block in blocks.values()]
    batch = np.broadcast_shapes(x.shape[:-1], *batches)
    found = np.array(np.broadcast_to(x, (*batch, x.shape[-1])))
    for number, block in blocks.items():
        found[..., slices[number]] = matvec(block, x[..., slices[number]])
    return found


def _dual(blocks: Mapping[int, Array]) -> Mapping[int, Array]:
    return {number: transpose(block) for number, block in blocks.items()}


def _for_rows(blocks: Mapping[int, Array]) -> Mapping[int, Array]:
    """Blocks that multiply each row of a matrix."""
    return {number: block[..., None, :, :] for number, block in blocks.items()}
