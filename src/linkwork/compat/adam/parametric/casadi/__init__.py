"""What adam's users import from `adam.parametric.casadi`."""

from linkwork.compat.adam.parametric.casadi.computations_parametric import (
    KinDynComputationsParametric as KinDynComputationsParametric,
)
