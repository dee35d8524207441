"""What adam's users import from `adam.pytorch.computation_batch`."""

from linkwork.compat.adam.pytorch.computations import (
    KinDynComputations as KinDynComputationsBatch,
)

__all__ = ["KinDynComputationsBatch"]
