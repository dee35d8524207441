"""What adam's users import from `adam.parametric.jax`."""

from linkwork.compat.adam.parametric.jax.computations_parametric import (
    KinDynComputationsParametric as KinDynComputationsParametric,
)
