"""Numbers of a robot as inputs of its functions.

kd = lw.KinDyn(model, parameters=[lw.parameters.Payload("tool0"), lw.parameters.Gravity()])
kd.parameters                     # which number is what
p = kd.parameter_values()         # those of the model
kd.mass_matrix(q, parameters=p)   # with derivatives by "parameters"
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
from linkwork.parameters.table import ParameterTable as ParameterTable
