"""What adam's users import from `adam.parametric.numpy`."""

from linkwork.compat.adam.parametric.numpy.computations_parametric import (
    KinDynComputationsParametric as KinDynComputationsParametric,
)
