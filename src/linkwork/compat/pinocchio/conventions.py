"""Maps between linkwork's vectors and Pinocchio's.

All maps follow from the matrix T with v = T nu: a = T nu_dot + T_dot nu, tau_here = T^T tau,
J_here = J T, M_here = T^T M T, h_here = T^T (h + M T_dot nu). T_dot nu is nonzero only in the mixed
representation: (-R^T (w x v); 0) for the base.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.pinocchio.order import BASE, JointSlices, expected_slices, slices_in
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import (
    Array,
    as_array,
    cos,
    cross,
    join,
    matvec,
    sin,
    transpose,
)
from linkwork.kindyn import KinDyn
from linkwork.model.numbers import argument
from linkwork.spatial import motion, quat, se3

REFERENCE_FRAMES: Mapping[str, str] = {
    "mixed": "LOCAL_WORLD_ALIGNED",
    "body": "LOCAL",
    "inertial": "WORLD",
}


@dataclass(frozen=True)
class Conventions:
    """Maps between the vectors of a KinDyn and those of Pinocchio.

    A map `to` Pinocchio takes linkwork's arguments, a map `from` it takes Pinocchio's, including q
    and v. Arguments may have any leading batch axes.

    Args:
        kd: the robot, its base and its velocity representation.
        pin_model: a `pinocchio.Model` of the same robot. If not given, the order is that of the
            model that Pinocchio reads from the same URDF.
    """

    kd: KinDyn
    pin_model: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        argument(self.kd, KinDyn, "kd")
        _ = self.slices  # raises here if the models do not match

    @cached_property
    def slices(self) -> tuple[JointSlices, ...]:
        """The coordinates of each joint, here and there, in Pinocchio's order."""
        if self.pin_model is None:
            return expected_slices(self.kd)
        return slices_in(self.kd, self.pin_model)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The moving, independent joints in Pinocchio's order, without that of the base."""
        return tuple(joint.name for joint in self.slices if joint.name)

    @cached_property
    def nq(self) -> int:
        """Length of Pinocchio's q."""
        return self.slices[-1].q_there.stop if self.slices else 0

    @property
    def nv(self) -> int:
        """Length of Pinocchio's v, the same as linkwork's."""
        return self.kd.nv

    @property
    def reference_frame(self) -> str:
        """Name of the `pinocchio.ReferenceFrame` in which frame Jacobians have the same rows."""
        return REFERENCE_FRAMES[self.kd.representation]

    def q_to_pinocchio(self, q: ArrayLike) -> Array:
        """(..., nq there) configuration."""
        here = as_array(q, "q", (self.kd.nq,))
        there = np.empty((*here.shape[:-1], self.nq), here.dtype)
        for joint in self.slices:
            there[..., joint.q_there] = _position(joint, here[..., joint.q], there=True)
        return there

    def q_from_pinocchio(self, q: ArrayLike) -> Array:
        """(..., nq) configuration; an angle that is (cos, sin) there is in [-pi, pi] here."""
        there = as_array(q, "q", (self.nq,))
        here = np.empty((*there.shape[:-1], self.kd.nq), there.dtype)
        for joint in self.slices:
            here[..., joint.q] = _position(joint, there[..., joint.q_there], there=False)
        return here

    def v_to_pinocchio(self, q: ArrayLike, nu: ArrayLike) -> Array:
        """(..., nv) velocity: v = T nu."""
        return matvec(self._map(q), self._row(nu, "nu"))

    def v_from_pinocchio(self, q: ArrayLike, v: ArrayLike) -> Array:
        """(..., nv) velocity: nu = T^-1 v."""
        return matvec(self._inverse_there(q), self._row(v, "v"))

    def a_to_pinocchio(self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike) -> Array:
        """(..., nv) acceleration: a = T nu_dot + T_dot nu = T (nu_dot + T^-1 T_dot nu)."""
        drift = self._drift(self._row(nu, "nu"))
        return matvec(self._map(q), self._row(nu_dot, "nu_dot") + drift)

    def a_from_pinocchio(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """(..., nv) acceleration: nu_dot = T^-1 a - T^-1 T_dot nu."""
        drift = self._drift(self.v_from_pinocchio(q, v))
        return matvec(self._inverse_there(q), self._row(a, "a")) - drift

    def tau_to_pinocchio(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """(..., nv) generalized forces with the same power: T^-T tau."""
        return matvec(transpose(self._map(q, inverse=True)), self._row(tau, "tau"))

    def tau_from_pinocchio(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """(..., nv) generalized forces with the same power: T^T tau."""
        return matvec(transpose(self._map(self.q_from_pinocchio(q))), self._row(tau, "tau"))

    def jacobian_to_pinocchio(self, q: ArrayLike, J: ArrayLike) -> Array:
        """(..., k, nv) any Jacobian, with unchanged rows: J T^-1."""
        return self._row(J, "J") @ self._map(q, inverse=True)

    def jacobian_from_pinocchio(self, q: ArrayLike, J: ArrayLike) -> Array:
        """(..., k, nv) any Jacobian, with unchanged rows: J T.

        A frame Jacobian that Pinocchio computes in `reference_frame` becomes `kd.jacobian`.
        """
        return self._row(J, "J") @ self._map(self.q_from_pinocchio(q))

    def mass_matrix_to_pinocchio(self, q: ArrayLike, M: ArrayLike) -> Array:
        """(..., nv, nv) mass matrix: T^-T M T^-1."""
        inverse = self._map(q, inverse=True)
        return transpose(inverse) @ as_array(M, "M", (self.nv, self.nv)) @ inverse

    def mass_matrix_from_pinocchio(self, q: ArrayLike, M: ArrayLike) -> Array:
        """(..., nv, nv) mass matrix: T^T M T. Pinocchio's must have both triangles."""
        T = self._map(self.q_from_pinocchio(q))
        return transpose(T) @ as_array(M, "M", (self.nv, self.nv)) @ T

    def bias_to_pinocchio(self, q: ArrayLike, nu: ArrayLike, h: ArrayLike, M: ArrayLike) -> Array:
        """(..., nv) bias forces: T^-T (h - M T^-1 T_dot nu)."""
        drift = self._drift(self._row(nu, "nu"))
        correction = matvec(as_array(M, "M", (self.nv, self.nv)), drift)
        return self.tau_to_pinocchio(q, self._row(h, "h") - correction)

    def bias_from_pinocchio(self, q: ArrayLike, v: ArrayLike, h: ArrayLike, M: ArrayLike) -> Array:
        """(..., nv) bias forces: T^T (h + M T_dot nu). They hold at nu_dot = 0, not at a = 0.

        Args:
            q, v: Pinocchio's configuration and velocity.
            h: (..., nv) Pinocchio's bias, its `rnea` at a = 0 or `nle`.
            M: (..., nv, nv) Pinocchio's mass matrix, with both triangles.
        """
        nu = self.v_from_pinocchio(q, v)
        here = self.tau_from_pinocchio(q, h)
        return here + matvec(self.mass_matrix_from_pinocchio(q, M), self._drift(nu))

    def _map(self, q: ArrayLike, *, inverse: bool = False) -> Array:
        """(..., nv, nv) T or its inverse, at a configuration of linkwork."""
        here = as_array(q, "q", (self.kd.nq,))
        T = np.zeros((*here.shape[:-1], self.nv, self.nv), here.dtype)
        for joint in self.slices:
            block = _block(joint, here[..., joint.q], self.kd.representation, inverse=inverse)
            rows, columns = (joint.nu, joint.v_there) if inverse else (joint.v_there, joint.nu)
            T[..., rows, columns] = block
        return T

    def _inverse_there(self, q: ArrayLike) -> Array:
        """(..., nv, nv) the inverse of T, at a configuration of Pinocchio."""
        return self._map(self.q_from_pinocchio(q), inverse=True)

    def _drift(self, nu: Array) -> Array:
        """(..., nv) T^-1 T_dot nu, nonzero only in the mixed representation: (-(w x v); 0)."""
        drift = np.zeros_like(nu)
        if self.kd.floating and self.kd.representation == "mixed":
            drift[..., :3] = -cross(nu[..., 3:6], nu[..., :3])
        return drift

    def _row(self, value: ArrayLike, name: str) -> Array:
        return as_array(value, name, (self.nv,))


def _cos_sin(theta: Array) -> Array:
    return join([cos(theta), sin(theta)])


def _angle(pair: Array) -> Array:
    return np.arctan2(pair[..., 1:], pair[..., :1])


_TO_XYZW, _TO_WXYZ = partial(np.roll, shift=-1, axis=-1), partial(np.roll, shift=1, axis=-1)
# By form: the number of leading coordinates that are the same, and the maps of the others to
# Pinocchio's representation and to linkwork's, inverses up to full rotations.
_FORMS: dict[str, tuple[int, Callable[[Array], Array], Callable[[Array], Array]]] = {
    "same": (0, np.array, np.array),
    "angle_cos_sin": (0, _cos_sin, _angle),
    "cos_sin_angle": (0, _angle, _cos_sin),
    "planar": (2, _cos_sin, _angle),
    "quaternion": (0, _TO_XYZW, _TO_WXYZ),
    "free": (3, _TO_XYZW, _TO_WXYZ),
}


def _position(joint: JointSlices, theta: Array, *, there: bool) -> Array:
    """Convert the position of a joint to Pinocchio's representation, or to linkwork's."""
    same, to_pinocchio, to_linkwork = _FORMS[joint.form]
    others = (to_pinocchio if there else to_linkwork)(theta[..., same:])
    return join([theta[..., :same], others]) if same else others


def _block(joint: JointSlices, theta: Array, velocity: str, *, inverse: bool) -> Array:
    """Return the block of T or of its inverse for one joint at its position here.

    Args:
        joint: the joint.
        theta: its position.
        velocity: representation of the base's velocity.
        inverse: whether the block of the inverse is returned.
    """
    if joint.name == BASE and velocity != "body":
        position = theta[..., :3] if velocity == "inertial" else np.zeros(3)
        world_H_base = se3.pose(quat.to_rotation(theta[..., 3:]), position)
        return motion.motion_transform(world_H_base if inverse else se3.inverse(world_H_base))
    return np.eye(joint.v_there.stop - (joint.v_there.start or 0))
