"""What adam's users import from `adam.parametric.pytorch`."""

from linkwork.compat.adam.parametric.pytorch.computations_parametric import (
    KinDynComputationsParametric as KinDynComputationsParametric,
)
