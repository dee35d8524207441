"""What adam's users import from `adam.jax`."""

from linkwork.compat.adam.jax.computations import KinDynComputations as KinDynComputations
