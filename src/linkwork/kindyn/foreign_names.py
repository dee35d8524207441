"""Methods of `KinDyn` by the names that they have in other libraries, as in docs/names.md."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from linkwork.errors import nearest

# By name in KinDyn: names in Pinocchio, iDynTree, adam, MuJoCo, Drake and PinnZoo.
_NAMES = {
    "random": "randomConfiguration",
    "transform": (
        "forwardKinematics getWorldTransform forward_kinematics mj_kinematics xpos site_xpos"
        " kinematics"
    ),
    "transforms": "updateFramePlacements framesForwardKinematics",
    "velocity": "getFrameVelocity getFrameVel mj_objectVelocity kinematics_velocity",
    "acceleration": "getFrameClassicalAcceleration getFrameAcc",
    "jacobian": (
        "computeFrameJacobian getFrameJacobian getFrameFreeFloatingJacobian mj_jacBody"
        " mj_jacSite CalcJacobianSpatialVelocity"
    ),
    "jacobian_dot": "getFrameJacobianTimeVariation",
    "inverse_dynamics": "rnea inverseDynamics mj_rne mj_inverse CalcInverseDynamics",
    "mass_matrix": "crba getFreeFloatingMassMatrix mj_fullM CalcMassMatrix M_func",
    "inverse_mass_matrix": "computeMinverse",
    "forward_dynamics": "aba mj_forward qacc",
    "bias_force": "nle nonLinearEffects generalizedBiasForces qfrc_bias C_func",
    "gravity_force": (
        "computeGeneralizedGravity generalizedGravityForces gravity_term"
        " CalcGravityGeneralizedForces"
    ),
    "coriolis_matrix": "computeCoriolisMatrix",
    "inverse_dynamics_derivatives": "computeRNEADerivatives inverse_dynamics_deriv",
    "forward_dynamics_derivatives": "computeABADerivatives mjd_transitionFD forward_dynamics_deriv",
    "gravity_force_derivative": "computeGeneralizedGravityDerivatives",
    "velocity_derivatives": "getFrameVelocityDerivatives",
    "acceleration_derivatives": "getFrameAccelerationDerivatives",
    "com": "centerOfMass getCenterOfMassPosition CoM_position CalcCenterOfMassPositionInWorld",
    "com_jacobian": "jacobianCenterOfMass getCenterOfMassJacobian CoM_jacobian mj_jacSubtreeCom",
    "centroidal_momentum": "computeCentroidalMomentum getCentroidalTotalMomentum",
    "centroidal_momentum_matrix": "computeCentroidalMap getCentroidalTotalMomentumJacobian",
    "centroidal_momentum_rate": "computeCentroidalMomentumTimeVariation",
    "centroidal_momentum_rate_derivatives": "computeCentroidalDynamicsDerivatives",
    "kinetic_energy": "computeKineticEnergy",
    "potential_energy": "computePotentialEnergy",
    "total_mass": "computeTotalMass get_total_mass mj_getTotalmass",
    "regressor": "computeJointTorqueRegressor inverseDynamicsInertialParametersRegressor",
    "integrate_derivatives": "dIntegrate",
    "difference_derivatives": "dDifference",
    "function": "computeAllTerms",
    "limits": "lowerPositionLimit upperPositionLimit",
    "q": "setRobotState",
    "replace": "setFrameVelocityRepresentation setFloatingBase set_frame_velocity_representation",
    "relative_transform": "getRelativeTransform CalcRelativeTransform",
    "bias_acceleration": "getFrameBiasAcc",
    "relative_jacobian": "getRelativeJacobian getRelativeJacobianExplicit",
    "jacobian_sparsity": "getFrameFreeFloatingJacobianSparsityPattern",
    "external_force": "generalizedExternalForces",
    "joint_wrenches": "inverseDynamicsWithInternalJointForceTorques",
    "com_velocity": "getCenterOfMassVelocity",
    "com_bias_acceleration": "getCenterOfMassBiasAcc",
    "momentum": "getLinearAngularMomentum",
    "momentum_jacobian": "getLinearAngularMomentumJacobian",
    "average_velocity": "getAverageVelocity",
    "average_velocity_jacobian": "getAverageVelocityJacobian",
    "locked_inertia": "getRobotLockedInertia",
    "coriolis_force": "coriolis_term CalcBiasTerm",
    "integrate": "mj_integratePos apply_delta_x",
    "difference": "mj_differentiatePos state_error",
    "velocity_kinematics_inverse": "velocity_kinematics_T",
}
FOREIGN_NAMES = {other: name for name, others in _NAMES.items() for other in others.split()}
"""The name in KinDyn, by the name in another library."""


def no_attribute(kindyn: object, name: str) -> AttributeError:
    """Return the error for an unknown attribute of a `KinDyn`; it suggests the name used here."""
    here = FOREIGN_NAMES.get(name)
    text = f"{type(kindyn).__name__} has no attribute {name!r}"
    if here is not None:
        text += f"; here it is kd.{here}, see the page Names side by side"
    elif not name.startswith("_"):
        public = [other for other in dir(type(kindyn)) if not other.startswith("_")]
        if "kindyn" in public and hasattr(sys.modules["linkwork.kindyn"].KinDyn, name):
            text += f"; the same robot as a KinDyn has it: .kindyn.{name}"
        else:
            text += _similar(name, public)
    return AttributeError(text, name=name)  # without obj=, Python adds no suggestion of its own


def no_public_name(name: str, public: Iterable[str]) -> AttributeError:
    """Return the error for an unknown name of the package, with a suggestion."""
    method = FOREIGN_NAMES.get(name, name)
    text = f"module 'linkwork' has no attribute {name!r}"
    if hasattr(sys.modules["linkwork.kindyn"].KinDyn, method.partition("(")[0]):
        text += f"; it is kd.{method} of a robot, kd = lw.KinDyn(model)"
    else:
        text += _similar(name, public)
    return AttributeError(text, name=name)


def _similar(name: str, public: Iterable[str]) -> str:
    hint = nearest(name, public)
    return f"; {hint}" if hint.startswith("did") else ""
