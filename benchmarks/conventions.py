"""From linkwork's conventions to those of another library and back.

Theirs    nu_theirs = T(q) nu_ours: other axes of the base velocity, another order of the joints
Base      mixed   [velocity of the origin; angular velocity], both in the axes of the world
          body    both in the axes of the base
          mujoco  the first in the axes of the world, the second in those of the base
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

import linkwork as lw
from linkwork.engine.symbolic.arrays import Array
from linkwork.spatial import quat
from robots import State

Base: TypeAlias = Literal["mixed", "body", "mujoco"]


@dataclass(frozen=True)
class Convention:
    """How another library writes the velocities of one robot."""

    kd: lw.KinDyn
    base: Base
    joints: Sequence[str]  # names in the other library's order

    @property
    def order(self) -> list[int]:
        """Where each of their joints is among ours."""
        return [self.kd.joint_names.index(name) for name in self.joints]

    def q(self, q: Array, *, scalar_last: bool = False) -> Array:
        """Our q with their order of joints."""
        wxyz = [4, 5, 6, 3] if scalar_last else [3, 4, 5, 6]
        return np.ascontiguousarray(q[..., [0, 1, 2, *wxyz, *(7 + k for k in self.order)]])

    def pose(self, q: Array) -> Array:
        """Pose of the base, (4, 4)."""
        H = np.eye(4)
        H[:3, :3], H[:3, 3] = quat.to_rotation(q[3:7]), q[:3]
        return H

    def T(self, q: Array) -> Array:
        """(nv, nv): nu_theirs = T nu_ours."""
        R = quat.to_rotation(q[3:7])
        T = np.zeros((self.kd.nv, self.kd.nv))
        T[:3, :3] = R.T if self.base == "body" else np.eye(3)
        T[3:6, 3:6] = np.eye(3) if self.base == "mixed" else R.T
        for theirs, ours in enumerate(self.order):
            T[6 + theirs, 6 + ours] = 1.0
        return T

    def T_dot_nu(self, q: Array, nu: Array) -> Array:
        """(nv,): nu_dot_theirs = T nu_dot_ours + this."""
        rate = np.zeros_like(nu)
        if self.base == "body":
            rate[:3] = -quat.to_rotation(q[3:7]).T @ np.cross(nu[3:6], nu[:3])
        return rate

    def state(self, ours: State) -> State:
        """Velocities, accelerations and forces of one state as they write them; q stays ours."""
        T = self.T(ours.q)
        nu_dot = T @ ours.nu_dot + self.T_dot_nu(ours.q, ours.nu)
        return State(ours.q, T @ ours.nu, nu_dot, np.linalg.solve(T.T, ours.tau))

    def result(self, function: str, theirs: Any, ours: State) -> Array:
        """A result of theirs as linkwork writes it."""
        T, array = self.T(ours.q), np.asarray(theirs, dtype=np.float64)
        if function == "rnea":
            return T.T @ array.reshape(-1)
        if function == "crba":
            return T.T @ array @ T
        if function == "aba":
            return np.linalg.solve(T, array.reshape(-1) - self.T_dot_nu(ours.q, ours.nu))
        return array @ T if function in ("jacobian", "cmm") else array
