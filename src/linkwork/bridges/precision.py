"""The same kernel in another precision: arrays of float32 go through code of float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.engine.kernel.derive import Derivative
from linkwork.engine.kernel.kernel import Kernel
from linkwork.kindyn.kernels import QuantityKernel


def in_precision(kernel: Kernel, dtype: Any) -> Kernel:
    """A kernel that computes with float32 or float64; itself if it does already.

    Args:
        kernel: any kernel: of a robot, of `linkwork.compile`, or a derivative.
        dtype: numpy.float32 or numpy.float64.
    """
    wanted = np.dtype(dtype)
    if kernel.dtype == wanted:
        return kernel
    if isinstance(kernel, QuantityKernel):
        robot = kernel.robot.replace(dtype=wanted.type)
        return robot._kernel(kernel.order)
    if isinstance(kernel, Derivative):
        function, kind, wrt = kernel.__reduce__()[1]
        return in_precision(function, wanted).derivative(kind, wrt)
    other = Kernel(
        kernel.signature,
        lambda: kernel.program,
        key=kernel.key,
        dtype=wanted.type,
        check_input=kernel.check_input,
        check_result=kernel.check_result,
    )
    other.analytic = kernel.analytic
    return other
