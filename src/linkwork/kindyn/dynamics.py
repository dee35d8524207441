"""Dynamics of a robot: M nu_dot + h = tau + sum J^T f."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.methods import quantity


class DynamicsMethods(KinDynCore):
    """Forces and accelerations, and the matrices between them."""

    @quantity
    def mass_matrix(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Mass matrix M: the kinetic energy is `nu @ M @ nu / 2`.

        Returns:
            (..., nv, nv), symmetric.
        """
        ...

    @quantity
    def mass_matrix_dot(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Time derivative of the mass matrix.

        Returns:
            (..., nv, nv), symmetric.
        """
        ...

    @quantity
    def coriolis_matrix(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Coriolis matrix C: `C @ nu` is the Coriolis force, and Mdot = C + C^T.

        Returns:
            (..., nv, nv).
        """
        ...

    @quantity
    def inverse_dynamics(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Forces behind a motion: tau = M nu_dot + h - sum J^T f.

        Args:
            q, nu, nu_dot: rows, or batches of rows.
            wrenches: (..., 6) on frames by name, dual to the frame's velocity.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.
            threads: how many to use for a large batch.

        Returns:
            (..., nv): wrench on the base (6), then joint torques and forces.
        """
        ...

    @quantity
    def forward_dynamics(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Motion behind forces: nu_dot = M^-1 (tau + sum J^T f - h).

        Args:
            q, nu, tau: rows, or batches of rows.
            wrenches: (..., 6) on frames by name, dual to the frame's velocity.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.
            threads: how many to use for a large batch.

        Returns:
            (..., nv).
        """
        ...

    @quantity
    def bias_force(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Bias forces h = C nu + g: the forces at nu_dot = 0.

        Args:
            q, nu: rows, or batches of rows.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.
            threads: how many to use for a large batch.

        Returns:
            (..., nv).
        """
        ...

    @quantity
    def coriolis_force(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """C nu: the forces at nu_dot = 0 without gravity.

        Returns:
            (..., nv).
        """
        ...

    @quantity
    def gravity_force(
        self,
        q: ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Gravity forces g: what holds the robot still.

        Args:
            q: rows, or batches of rows.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.
            threads: how many to use for a large batch.

        Returns:
            (..., nv).
        """
        ...

    @quantity
    def external_force(
        self,
        q: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike],
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """What wrenches on frames do along nu: sum J^T f.

        Args:
            q: rows, or batches of rows.
            wrenches: (..., 6) on frames by name, dual to the frame's velocity.
            out: array to write to.
            threads: how many to use for a large batch.

        Returns:
            (..., nv).
        """
        ...

    @quantity
    def joint_wrenches(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The wrench through each joint, fixed joints too.

        Of the two links of a joint, the one nearer to the base acts on the other; the wrench is
        written as one on the other's frame.

        Args:
            q, nu, nu_dot: rows, or batches of rows.
            wrenches: (..., 6) on frames by name, dual to the frame's velocity.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.
            threads: how many to use for a large batch.

        Returns:
            (..., joints, 6), in the order of `model.joints`.
        """
        ...

    @quantity
    def regressor(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Inverse dynamics per unit of the inertial parameters: tau = Y phi.

        What joints themselves add (armature, damping, friction) is not part of it.

        Args:
            q, nu, nu_dot: rows, or batches of rows.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.
            threads: how many to use for a large batch.

        Returns:
            (..., nv, 10 links), columns as `inertial_parameters`.
        """
        ...

    def inertial_parameters(self) -> Array:
        """The numbers phi in which the dynamics is linear.

        Returns:
            (10 links,): for each link of the model its mass, mass times centre of mass (3), and
            the tensor's xx, xy, xz, yy, yz, zz about the origin of the link, in its axes.
        """
        each = [link.inertia.parameters() for link in self.model.links]
        return np.concatenate([np.zeros(0), *each]).astype(self.dtype)
