"""Kernels that bridges derive from others: other precisions, and tangents of unit vectors.

Quaternions and (cos, sin) pairs x in an input are normalized first: the function is one of
n = x / |x|, with

    dn = (dx - x (x.dx) / |x|^2) / |x|

Kernels of derivatives take the tangent of n. dn is itself a kernel of x and dx with derivatives,
so second derivatives are exact: a Hessian with respect to a quaternion is symmetric.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.kernel import Derivative, Kernel
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.tracing import trace
from linkwork.kindyn.kernels import QuantityKernel


def in_precision(kernel: Kernel, dtype: Any) -> Kernel:
    """Return a kernel in float32 or float64; the same kernel if it has that precision already.

    Args:
        kernel: a kernel of a robot or of `linkwork.compile`, or a derivative of one.
        dtype: numpy.float32 or numpy.float64.
    """
    precision = np.dtype(dtype)
    if kernel.dtype == precision:
        return kernel
    if isinstance(kernel, QuantityKernel):
        robot = kernel.robot.replace(dtype=precision.type)
        return robot._kernel(kernel.request)
    if isinstance(kernel, Derivative):
        function, kind, wrt = kernel.__reduce__()[1]
        return in_precision(function, precision).derivative(kind, wrt)
    other = Kernel(
        kernel.signature,
        lambda: kernel.program,
        key=kernel.key,
        dtype=precision.type,
        check_input=kernel.check_input,
        check_result=kernel.check_result,
    )
    other.analytic = kernel.analytic
    return other


class UnitTangents(Kernel):
    """Compute dn from (x, dx). The map from dx to dn is symmetric: it is its own transpose."""

    def __init__(self, size: int, spans: tuple[tuple[int, int], ...], dtype: Any) -> None:
        """Prepare the kernel.

        Args:
            size: number of elements of x.
            spans: parts of x that are normalized, each (index of the first element, length).
            dtype: float64 or float32.
        """
        x, dx, dn = (Port(name, (size,)) for name in ("x", "dx", "dn"))

        def program() -> Program:
            return trace(lambda x, dx: _unit_tangents(x, dx, spans), (x, dx), ["dn"])

        super().__init__(Signature("unit_tangents", (x, dx), (dn,)), program, dtype=dtype)


def _unit_tangents(x: Array, dx: Array, spans: tuple[tuple[int, int], ...]) -> Array:
    dn = dx.copy()
    for offset, count in spans:
        part, tangent = x[offset : offset + count], dx[offset : offset + count]
        squares = part @ part
        inverse = np.exp(-0.5 * np.log(squares))  # 1 / |x|, smooth; a square root has a kink at 0
        dn[offset : offset + count] = (tangent - part * ((part @ tangent) / squares)) * inverse
    return dn


@lru_cache(maxsize=256)
def _cached(size: int, spans: tuple[tuple[int, int], ...], dtype: Any) -> UnitTangents:
    return UnitTangents(size, spans, dtype)


def unit_tangents(kernel: Kernel, index: int) -> UnitTangents | None:
    """Return the kernel for the tangents of an input; None if nothing in it is normalized."""
    signature = kernel.signature
    units = [unit for unit in signature.unit_norms if unit.input == index]
    if not units:
        return None
    spans = tuple((unit.offset, unit.count) for unit in units)
    return _cached(signature.inputs[index].size, spans, kernel.dtype.type)
