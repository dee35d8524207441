"""What adam's users import from `adam.numpy.computations`."""

from linkwork.compat.adam.kindyn import KinDynComputations

__all__ = ["KinDynComputations"]
