"""What adam's users import from `adam.numpy`, for programs that write it out."""

from linkwork.compat.adam.numpy.computations import KinDynComputations as KinDynComputations
