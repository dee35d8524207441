"""PyTorch functions: `KinDyn` and compiled functions of tensors, with gradients.

import linkwork.torch

kd = linkwork.torch.KinDyn(linkwork.load("robot.urdf"))
M = kd.mass_matrix(q)  # a tensor; autograd can differentiate it with respect to q
"""

from __future__ import annotations

from linkwork.errors import missing_package

try:
    from linkwork.bridges.torch.functions import ConstrainedKinDyn, KinDyn, TorchKernel, wrap
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise missing_package("linkwork.torch", "torch") from error

__all__ = ["ConstrainedKinDyn", "KinDyn", "TorchKernel", "wrap"]
