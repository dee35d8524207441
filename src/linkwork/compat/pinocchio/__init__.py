"""Exact maps between linkwork's vectors and Pinocchio's, and between their models.

              linkwork                                   Pinocchio
q             [position, quaternion w x y z, s]          [position, quaternion x y z w, joints]
velocity      of the base: mixed, body or inertial       of the base: body
acceleration  derivative of that velocity                derivative of the body velocity
joints        in the order of the file                   depth first, siblings by the alphabet
continuous    one angle                                  (cos, sin)
planar        x, y, angle                                x, y, cos, sin

With T the matrix of v = T nu, everything follows: a = T nu_dot + T_dot nu, tau_here = T^T tau,
J_here = J T, M_here = T^T M T, h_here = T^T (h + M T_dot nu). T_dot nu is not zero in the mixed
representation only: (-R^T (w x v); 0) for the base.

`import linkwork.compat.pinocchio` does not import Pinocchio; `to_pinocchio` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array, as_array, cross, matvec, transpose
from linkwork.compat.pinocchio.build import to_pinocchio
from linkwork.compat.pinocchio.order import Place, expected_places, given_places
from linkwork.compat.pinocchio.positions import (
    Blocks,
    blocks_here,
    position_here,
    position_there,
)
from linkwork.compat.pinocchio.read import from_pinocchio
from linkwork.errors import ArgumentError, ShapeError, shown
from linkwork.kindyn import KinDyn
from linkwork.lazy import cached_property

__all__ = ["Conventions", "from_pinocchio", "to_pinocchio"]

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
        _ = self.places  # what does not fit is said now

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Where each joint stands, here and there, in Pinocchio's order."""
        if self.pin_model is None:
            return expected_places(self.kd)
        return given_places(self.kd, self.pin_model)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The moving, independent joints in Pinocchio's order, without that of the base."""
        return tuple(place.joint for place in self.places if place.joint)

    @cached_property
    def nq(self) -> int:
        """Length of Pinocchio's q."""
        return self.places[-1].q_there.stop if self.places else 0

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
        for place in self.places:
            there[..., place.q_there] = position_there(place, here[..., place.q])
        return there

    def q_from_pinocchio(self, q: ArrayLike) -> Array:
        """(..., nq) configuration; an angle that is (cos, sin) there comes back in [-pi, pi]."""
        there = self._taken(q, "q", self.nq)
        here = np.empty((*there.shape[:-1], self.kd.nq), there.dtype)
        for place in self.places:
            here[..., place.q] = position_here(place, there[..., place.q_there])
        return here

    def v_to_pinocchio(self, q: ArrayLike, nu: ArrayLike) -> Array:
        """(..., nv) velocity: v = T nu."""
        return self._forwards(self._blocks(q).plain, self._row(nu, "nu"))

    def v_from_pinocchio(self, q: ArrayLike, v: ArrayLike) -> Array:
        """(..., nv) velocity: nu = T^-1 v."""
        blocks = self._blocks(self.q_from_pinocchio(q))
        return self._backwards(blocks.inverse, self._row(v, "v"))

    def a_to_pinocchio(self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike) -> Array:
        """(..., nv) acceleration: a = T nu_dot + T_dot nu = T (nu_dot + T^-1 T_dot nu)."""
        nu, nu_dot = self._row(nu, "nu"), self._row(nu_dot, "nu_dot")
        return self._forwards(self._blocks(q).plain, nu_dot + self._drift(nu))

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
        return self._backwards(_dual(blocks.plain), self._row(tau, "tau"))

    def jacobian_to_pinocchio(self, q: ArrayLike, J: ArrayLike) -> Array:
        """(..., k, nv) any Jacobian, its rows as they are: J T^-1."""
        blocks = _for_rows(_dual(self._blocks(q).inverse))
        return self._forwards(blocks, self._row(J, "J", rows="k"))

    def jacobian_from_pinocchio(self, q: ArrayLike, J: ArrayLike) -> Array:
        """(..., k, nv) any Jacobian, its rows as they are: J T.

        A frame Jacobian that Pinocchio gives in `reference_frame` becomes `kd.jacobian`.
        """
        blocks = _for_rows(_dual(self._blocks(self.q_from_pinocchio(q)).plain))
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
        return blocks_here(self.places, self._taken(q, "q", self.kd.nq), self.kd.representation)

    def _drift(self, nu: Array) -> Array:
        """(..., nv) T^-1 T_dot nu, which only the mixed representation has: (-(w x v); 0)."""
        drift = np.zeros_like(nu)
        if self.kd.floating and self.kd.representation == "mixed":
            drift[..., :3] = -cross(nu[..., 3:6], nu[..., :3])
        return drift

    def _forwards(self, blocks: Mapping[int, Array], x: Array) -> Array:
        """From our order to Pinocchio's, then blocks."""
        return _multiplied(self._v_places, blocks, x[..., self._order])

    def _backwards(self, blocks: Mapping[int, Array], x: Array) -> Array:
        """Blocks, then from Pinocchio's order to ours."""
        return _multiplied(self._v_places, blocks, x)[..., np.argsort(self._order)]

    @cached_property
    def _order(self) -> Array:
        """(nv,) where each of Pinocchio's velocities stands here."""
        places = [np.arange(place.nu.start or 0, place.nu.stop) for place in self.places]
        return np.concatenate([np.zeros(0, dtype=int), *places])

    @cached_property
    def _v_places(self) -> tuple[slice, ...]:
        return tuple(place.v_there for place in self.places)

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


def _multiplied(places: tuple[slice, ...], blocks: Mapping[int, Array], x: Array) -> Array:
    """Multiply some parts of vectors with matrices."""
    batches = [block.shape[:-2] for block in blocks.values()]
    batch = np.broadcast_shapes(x.shape[:-1], *batches)
    found = np.array(np.broadcast_to(x, (*batch, x.shape[-1])))
    for number, block in blocks.items():
        found[..., places[number]] = matvec(block, x[..., places[number]])
    return found


def _dual(blocks: Mapping[int, Array]) -> Mapping[int, Array]:
    return {number: transpose(block) for number, block in blocks.items()}


def _for_rows(blocks: Mapping[int, Array]) -> Mapping[int, Array]:
    """Blocks that multiply each row of a matrix."""
    return {number: block[..., None, :, :] for number, block in blocks.items()}
