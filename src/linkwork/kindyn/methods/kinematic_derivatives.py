"""Derivatives of kinematic and centroidal quantities, and of steps between configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms.centroidal import momentum
from linkwork.algorithms.derivatives import centroidal, frames
from linkwork.algorithms.kinematics import manifold
from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.options import CallOptions, CoordinateOptions, methods_of
from linkwork.kindyn.quantities import quantity
from linkwork.kindyn.results import (
    AccelerationDerivatives,
    CentroidalMomentumDerivatives,
    CentroidalMomentumRateDerivatives,
    ComVelocityDerivatives,
    DifferenceDerivatives,
    IntegrateDerivatives,
    VelocityDerivatives,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


@methods_of("KinDyn")
class KinematicDerivativeMethods(KinDynCore):
    """Derivatives with respect to q are in the tangent space of `integrate`: column k along e_k."""

    @quantity(frames.velocity_derivatives, [(6, "nv")] * 2)
    def velocity_derivatives(
        self, frame: str, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> VelocityDerivatives:
        """Derivatives of `velocity` of a frame.

        Returns:
            q (..., 6, nv), in the tangent space of `integrate`; nu (..., 6, nv), the Jacobian.
            Joints that do not carry the frame have columns of zeros.
        """
        ...

    @quantity(frames.acceleration_derivatives, [(6, "nv")] * 3)
    def acceleration_derivatives(
        self,
        frame: str,
        q: ArrayLike,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        **options: Unpack[CallOptions],
    ) -> AccelerationDerivatives:
        """Derivatives of `acceleration` of a frame.

        Returns:
            q (..., 6, nv), in the tangent space of `integrate`; nu (..., 6, nv); nu_dot
            (..., 6, nv), the Jacobian. Joints that do not carry the frame have columns of zeros.
        """
        ...

    @quantity(centroidal.com_velocity_derivatives, [(3, "nv")] * 2)
    def com_velocity_derivatives(
        self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> ComVelocityDerivatives:
        """Derivatives of `com_velocity`, in the axes of the world.

        Returns:
            q (..., 3, nv), in the tangent space of `integrate`; nu (..., 3, nv), the Jacobian.
        """
        ...

    @quantity(
        momentum.centroidal_momentum_rate,
        (6,),
        "force [N], moment [N m]",
        derivatives="centroidal_momentum_rate_derivatives",
    )
    def centroidal_momentum_rate(
        self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 6) derivative of the centroidal momentum: A nu_dot + A_dot nu.

        In the axes of the world, it is the force on the robot and its moment about the CoM; in the
        body representation, the derivative of the numbers in the axes of the base.
        """
        ...

    @quantity(centroidal.centroidal_momentum_derivatives, [(6, "nv")] * 2)
    def centroidal_momentum_derivatives(
        self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> CentroidalMomentumDerivatives:
        """Derivatives of `centroidal_momentum`.

        Returns:
            q (..., 6, nv), in the tangent space of `integrate`; nu (..., 6, nv), the centroidal
            momentum matrix.
        """
        ...

    @quantity(centroidal.centroidal_momentum_rate_derivatives, [(6, "nv")] * 3)
    def centroidal_momentum_rate_derivatives(
        self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike, **options: Unpack[CallOptions]
    ) -> CentroidalMomentumRateDerivatives:
        """Derivatives of `centroidal_momentum_rate`.

        Returns:
            q (..., 6, nv), in the tangent space of `integrate`; nu (..., 6, nv); nu_dot
            (..., 6, nv), the centroidal momentum matrix.
        """
        ...

    @quantity(
        manifold.velocity_kinematics,
        ("nq", "nv"),
        "rows as in q, columns as in nu",
        ops_per_pair=21,
    )
    def velocity_kinematics(self, q: ArrayLike, **options: Unpack[CoordinateOptions]) -> Array:
        """(..., nq, nv) E: the derivative of q is `E @ nu`.

        With F the derivative of a function with respect to the nq entries of q, `F @ E` is its
        derivative in the tangent space.
        """
        ...

    @quantity(
        manifold.velocity_kinematics_inverse,
        ("nv", "nq"),
        "rows as in nu, columns as in q",
        ops_per_pair=21,
    )
    def velocity_kinematics_inverse(
        self, q: ArrayLike, **options: Unpack[CoordinateOptions]
    ) -> Array:
        """(..., nv, nq) E_T: nu is `E_T @ q_dot`.

        A left inverse of E to which the radial direction of quaternions and of (cos, sin) is zero.
        With F a derivative in the tangent space, `F @ E_T` is the derivative with respect to the
        nq entries of q, of the function of the normalized q.
        """
        ...

    @quantity(manifold.integrate_derivatives, [("nv", "nv")] * 2, ops_per_pair=42, has_body=True)
    def integrate_derivatives(
        self, q: ArrayLike, nu: ArrayLike, dt: ArrayLike = 1.0, **options: Unpack[CoordinateOptions]
    ) -> IntegrateDerivatives:
        """Derivatives of `integrate`: of the tangent at the configuration that is reached.

        Returns:
            q (..., nv, nv), in the tangent space at q; nu (..., nv, nv), with the factor dt.
        """
        if type(dt) is float:  # a number becomes an array here faster than in the kernel
            dt = np.array(dt, self.dtype)
        kernel: Any = self._of("integrate_derivatives")
        return kernel(q, nu, dt, **options)

    @quantity(manifold.difference_derivatives, [("nv", "nv")] * 2, ops_per_pair=42)
    def difference_derivatives(
        self, q_start: ArrayLike, q_end: ArrayLike, **options: Unpack[CoordinateOptions]
    ) -> DifferenceDerivatives:
        """Derivatives of `difference`.

        Returns:
            q_start (..., nv, nv) and q_end (..., nv, nv), by the tangents there.
        """
        ...
