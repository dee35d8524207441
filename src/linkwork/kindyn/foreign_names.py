"""Methods of `KinDyn` by the names that they have in other libraries, as in docs/names.md."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from linkwork.errors import nearest

# Names in Pinocchio, iDynTree, adam, MuJoCo, Drake or PinnZoo, and the name in KinDyn.
FOREIGN_NAMES = {
    # Pinocchio
    "randomConfiguration": "random",
    "forwardKinematics": "transform",
    "updateFramePlacements": "transforms",
    "framesForwardKinematics": "transforms",
    "getFrameVelocity": "velocity",
    "getFrameClassicalAcceleration": "acceleration",
    "computeFrameJacobian": "jacobian",
    "getFrameJacobian": "jacobian",
    "getFrameJacobianTimeVariation": "jacobian_dot",
    "rnea": "inverse_dynamics",
    "crba": "mass_matrix",
    "computeMinverse": "inverse_mass_matrix",
    "aba": "forward_dynamics",
    "nle": "bias_force",
    "nonLinearEffects": "bias_force",
    "computeGeneralizedGravity": "gravity_force",
    "computeCoriolisMatrix": "coriolis_matrix",
    "computeRNEADerivatives": "inverse_dynamics_derivatives",
    "computeABADerivatives": "forward_dynamics_derivatives",
    "computeGeneralizedGravityDerivatives": "gravity_force_derivative",
    "getFrameVelocityDerivatives": "velocity_derivatives",
    "getFrameAccelerationDerivatives": "acceleration_derivatives",
    "centerOfMass": "com",
    "jacobianCenterOfMass": "com_jacobian",
    "computeCentroidalMomentum": "centroidal_momentum",
    "computeCentroidalMap": "centroidal_momentum_matrix",
    "computeCentroidalMomentumTimeVariation": "centroidal_momentum_rate",
    "computeCentroidalDynamicsDerivatives": "centroidal_momentum_rate_derivatives",
    "computeKineticEnergy": "kinetic_energy",
    "computePotentialEnergy": "potential_energy",
    "computeTotalMass": "total_mass",
    "computeJointTorqueRegressor": "regressor",
    "dIntegrate": "integrate_derivatives",
    "dDifference": "difference_derivatives",
    "computeAllTerms": "function",
    "lowerPositionLimit": "limits",
    "upperPositionLimit": "limits",
    # iDynTree
    "setRobotState": "q",
    "setFrameVelocityRepresentation": "replace",
    "setFloatingBase": "replace",
    "getWorldTransform": "transform",
    "getRelativeTransform": "relative_transform",
    "getFrameVel": "velocity",
    "getFrameAcc": "acceleration",
    "getFrameBiasAcc": "bias_acceleration",
    "getFrameFreeFloatingJacobian": "jacobian",
    "getRelativeJacobian": "relative_jacobian",
    "getRelativeJacobianExplicit": "relative_jacobian",
    "getFrameFreeFloatingJacobianSparsityPattern": "jacobian_sparsity",
    "getFreeFloatingMassMatrix": "mass_matrix",
    "generalizedBiasForces": "bias_force",
    "generalizedGravityForces": "gravity_force",
    "generalizedExternalForces": "external_force",
    "inverseDynamics": "inverse_dynamics",
    "inverseDynamicsWithInternalJointForceTorques": "joint_wrenches",
    "inverseDynamicsInertialParametersRegressor": "regressor",
    "getCenterOfMassPosition": "com",
    "getCenterOfMassVelocity": "com_velocity",
    "getCenterOfMassBiasAcc": "com_bias_acceleration",
    "getCenterOfMassJacobian": "com_jacobian",
    "getLinearAngularMomentum": "momentum",
    "getLinearAngularMomentumJacobian": "momentum_jacobian",
    "getCentroidalTotalMomentum": "centroidal_momentum",
    "getCentroidalTotalMomentumJacobian": "centroidal_momentum_matrix",
    "getAverageVelocity": "average_velocity",
    "getAverageVelocityJacobian": "average_velocity_jacobian",
    "getRobotLockedInertia": "locked_inertia",
    # adam
    "set_frame_velocity_representation": "replace",
    "forward_kinematics": "transform",
    "coriolis_term": "coriolis_force",
    "gravity_term": "gravity_force",
    "CoM_position": "com",
    "CoM_jacobian": "com_jacobian",
    "get_total_mass": "total_mass",
    # MuJoCo
    "mj_kinematics": "transform",
    "xpos": "transform",
    "site_xpos": "transform",
    "mj_jacBody": "jacobian",
    "mj_jacSite": "jacobian",
    "mj_jacSubtreeCom": "com_jacobian",
    "mj_fullM": "mass_matrix",
    "mj_rne": "inverse_dynamics",
    "mj_inverse": "inverse_dynamics",
    "qfrc_bias": "bias_force",
    "mj_forward": "forward_dynamics",
    "qacc": "forward_dynamics",
    "mj_integratePos": "integrate",
    "mj_differentiatePos": "difference",
    "mj_objectVelocity": "velocity",
    "mj_getTotalmass": "total_mass",
    "mjd_transitionFD": "forward_dynamics_derivatives",
    # Drake
    "CalcMassMatrix": "mass_matrix",
    "CalcBiasTerm": "coriolis_force",
    "CalcGravityGeneralizedForces": "gravity_force",
    "CalcInverseDynamics": "inverse_dynamics",
    "CalcRelativeTransform": "relative_transform",
    "CalcJacobianSpatialVelocity": "jacobian",
    "CalcCenterOfMassPositionInWorld": "com",
    # PinnZoo
    "M_func": "mass_matrix",
    "C_func": "bias_force",
    "forward_dynamics_deriv": "forward_dynamics_derivatives",
    "inverse_dynamics_deriv": "inverse_dynamics_derivatives",
    "kinematics": "transform",
    "kinematics_velocity": "velocity",
    "velocity_kinematics_T": "velocity_kinematics_inverse",
    "state_error": "difference",
    "apply_delta_x": "integrate",
}


def no_attribute(kindyn: object, name: str) -> AttributeError:
    """The error for an unknown attribute of a `KinDyn`; it suggests the name used here."""
    here = FOREIGN_NAMES.get(name)
    text = f"{type(kindyn).__name__} has no attribute {name!r}"
    if here is not None:
        text += f"; here it is kd.{here}, see the page Names side by side"
    elif not name.startswith("_"):
        public = [other for other in dir(type(kindyn)) if not other.startswith("_")]
        if "kindyn" in public and hasattr(sys.modules["linkwork.kindyn"].KinDyn, name):
            text += f"; the robot without contacts has it, `.kindyn.{name}`"
        else:
            text += _similar(name, public)
    return AttributeError(text, name=name)  # without obj=, Python adds no suggestion of its own


def no_public_name(name: str, public: Iterable[str]) -> AttributeError:
    """The error for an unknown name of the package; it suggests a name, or a method of a KinDyn."""
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
