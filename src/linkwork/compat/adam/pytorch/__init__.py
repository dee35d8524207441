"""What adam's users import from `adam.pytorch`."""

from linkwork.compat.adam.pytorch.computations import KinDynComputations as KinDynComputations
from linkwork.compat.adam.pytorch.computations import (
    KinDynComputations as KinDynComputationsBatch,
)

__all__ = ["KinDynComputations", "KinDynComputationsBatch"]
