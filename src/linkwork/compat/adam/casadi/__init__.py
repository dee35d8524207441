"""The classes of `adam.casadi`."""

from linkwork.compat.adam.casadi.computations import KinDynComputations as KinDynComputations
from linkwork.compat.adam.casadi.inverse_kinematics import InverseKinematics as InverseKinematics
from linkwork.compat.adam.casadi.inverse_kinematics import TargetType as TargetType
