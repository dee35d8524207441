"""Model parameters: properties of a robot that are inputs of its functions instead of constants.

kd = lw.KinDyn(model, parameters=[lw.parameters.Payload("tool0"), lw.parameters.Gravity()])
kd.parameters                     # the names of the parameters, and their slices of the vector
p = kd.parameter_values()         # the values of the model
kd.mass_matrix(q, parameters=p)   # differentiable with respect to "parameters"
"""

from linkwork.parameters.descriptions import DensityMultiplier as DensityMultiplier
from linkwork.parameters.descriptions import FramePose as FramePose
from linkwork.parameters.descriptions import Gravity as Gravity
from linkwork.parameters.descriptions import JointArmature as JointArmature
from linkwork.parameters.descriptions import JointDamping as JointDamping
from linkwork.parameters.descriptions import JointFriction as JointFriction
from linkwork.parameters.descriptions import JointPose as JointPose
from linkwork.parameters.descriptions import LinkDensity as LinkDensity
from linkwork.parameters.descriptions import LinkInertia as LinkInertia
from linkwork.parameters.descriptions import LinkLength as LinkLength
from linkwork.parameters.descriptions import Parameter as Parameter
from linkwork.parameters.descriptions import Payload as Payload
from linkwork.parameters.log_cholesky import log_cholesky as log_cholesky
from linkwork.parameters.log_cholesky import log_cholesky_inverse as log_cholesky_inverse
from linkwork.parameters.scenes import ActuatorGains as ActuatorGains
from linkwork.parameters.scenes import FrictionMultiplier as FrictionMultiplier
from linkwork.parameters.scenes import Ground as Ground
from linkwork.parameters.table import ParameterTable as ParameterTable
