"""The classes of `adam.casadi`."""

from linkwork.compat.adam.casadi.computations import KinDynComputations as KinDynComputations
from linkwork.compat.adam.casadi.inverse_kinematics import InverseKinematics as InverseKinematics
from linkwork.compat.adam.casadi.inverse_kinematics import TargetType as TargetType
from linkwork.compat.adam.core import SpatialMath as SpatialMath
from linkwork.compat.adam.core import add_import_paths as _add_import_paths

_add_import_paths(__name__, "casadi_like")
