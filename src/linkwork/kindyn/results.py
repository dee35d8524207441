"""Named tuples of arrays: what methods with several results return.

A field has the name of the input that the derivative is taken with respect to. Derivatives with
respect to q are taken in the tangent space of `KinDyn.integrate`: column k is the derivative along
`integrate(q, e_k)`, while the entries of all other inputs are held constant.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.engine.symbolic.arrays import Array


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of inverse dynamics."""

    q: Array  # (..., nv, nv)
    nu: Array  # (..., nv, nv)
    nu_dot: Array  # (..., nv, nv) the mass matrix


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of forward dynamics."""

    q: Array  # (..., nv, nv)
    nu: Array  # (..., nv, nv)
    tau: Array  # (..., nv, nv) the inverse of the mass matrix
    wrenches: Array  # (..., n, nv, 6) with respect to each of the n wrenches, in their order


class VelocityDerivatives(NamedTuple):
    """Derivatives of the velocity of a frame."""

    q: Array  # (..., 6, nv)
    nu: Array  # (..., 6, nv) the Jacobian


class AccelerationDerivatives(NamedTuple):
    """Derivatives of the acceleration of a frame."""

    q: Array  # (..., 6, nv)
    nu: Array  # (..., 6, nv)
    nu_dot: Array  # (..., 6, nv) the Jacobian


class ComVelocityDerivatives(NamedTuple):
    """Derivatives of the velocity of the center of mass."""

    q: Array  # (..., 3, nv)
    nu: Array  # (..., 3, nv) the Jacobian


class CentroidalMomentumDerivatives(NamedTuple):
    """Derivatives of the centroidal momentum."""

    q: Array  # (..., 6, nv)
    nu: Array  # (..., 6, nv) the centroidal momentum matrix


class CentroidalMomentumRateDerivatives(NamedTuple):
    """Derivatives of the rate of the centroidal momentum."""

    q: Array  # (..., 6, nv)
    nu: Array  # (..., 6, nv)
    nu_dot: Array  # (..., 6, nv) the centroidal momentum matrix


class IntegrateDerivatives(NamedTuple):
    """Derivatives of `integrate`, in the tangent space of the configuration that is reached."""

    q: Array  # (..., nv, nv)
    nu: Array  # (..., nv, nv)


class DifferenceDerivatives(NamedTuple):
    """Derivatives of `difference`."""

    q_start: Array  # (..., nv, nv)
    q_end: Array  # (..., nv, nv)


class ConstrainedForwardDynamics(NamedTuple):
    """Result of constrained forward dynamics."""

    nu_dot: Array  # (..., nv)
    forces: Array  # (..., m) one for each constraint equation
    residual: Array  # (..., m) constraint accelerations less their target; 0 if they are consistent


class ConstrainedInverseDynamics(NamedTuple):
    """Result of constrained inverse dynamics."""

    torques: Array  # (..., n) of the actuated coordinates, in the order of nu
    forces: Array  # (..., m) one for each constraint equation
    residual: Array  # (..., nv - n) generalized forces that neither can provide; 0 if all can be


class ConstrainedForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of constrained forward dynamics: of nu_dot, then of the forces."""

    q: Array  # (..., nv, nv)
    nu: Array  # (..., nv, nv)
    tau: Array  # (..., nv, nv)
    forces_q: Array  # (..., m, nv)
    forces_nu: Array  # (..., m, nv)
    forces_tau: Array  # (..., m, nv)


class ConstrainedInverseDynamicsDerivatives(NamedTuple):
    """Derivatives of constrained inverse dynamics: of the torques, then of the forces."""

    q: Array  # (..., n, nv)
    nu: Array  # (..., n, nv)
    nu_dot: Array  # (..., n, nv)
    forces_q: Array  # (..., m, nv)
    forces_nu: Array  # (..., m, nv)
    forces_nu_dot: Array  # (..., m, nv)


class Impact(NamedTuple):
    """Result of an impact."""

    nu: Array  # (..., nv) velocity after it
    impulses: Array  # (..., m)


class ImpactDerivatives(NamedTuple):
    """Derivatives of an impact: of the velocity after it, then of the impulses."""

    q: Array  # (..., nv, nv)
    nu: Array  # (..., nv, nv)
    impulses_q: Array  # (..., m, nv)
    impulses_nu: Array  # (..., m, nv)


class ConstrainedState(NamedTuple):
    """A configuration and a velocity."""

    q: Array  # (..., nq)
    nu: Array  # (..., nv)


class ClosingStep(NamedTuple):
    """A step toward a configuration that satisfies the constraints."""

    q: Array  # (..., nq) after the step
    error: Array  # (..., m) before it
