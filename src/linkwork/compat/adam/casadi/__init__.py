"""What adam's users import from `adam.casadi`."""

from linkwork.compat.adam.casadi.computations import KinDynComputations as KinDynComputations
