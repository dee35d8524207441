"""Jacobians by products with unit vectors, one row of a batch each.

jvp, hvp   one column of the Jacobian for each unit tangent of the inputs
vjp        one row of the Jacobian for each unit cotangent of the outputs
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork.engine.autodiff.ports import Kind
from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.extension import DONE, NOT_FINITE_OUTPUT
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port

# Products are computed for at most this many bytes of results at a time.
CHUNK_BYTES = 8 << 20


class ColumnwiseJacobian:
    """Computes a Jacobian, or a Hessian, from a kernel of products."""

    def __init__(self, kernel: Any, kind: Kind, own: Signature, wrt: Sequence[str]) -> None:
        """Prepare the unit vectors.

        Args:
            kernel: of the products: a jvp, vjp or hvp.
            kind: which of these it is.
            own: the signature of the function that is differentiated.
            wrt: the inputs to differentiate with respect to.
        """
        self.kernel = kernel
        self._by_rows = kind == "vjp"
        self._inputs = own.inputs
        chosen = [port for name in wrt for port in own.inputs if port.name == name]
        swept = own.outputs if self._by_rows else chosen
        self._units = _unit_vectors(swept, kernel.dtype)
        ends = np.cumsum([0, *(port.size for port in swept)]).tolist()
        self._spans = [slice(start, stop) for start, stop in pairwise(ends)]  # of each port

    def __call__(
        self, rows: Sequence[Array], outputs: Sequence[Array], n: int, threads: int | None
    ) -> int:
        """Write the Jacobian of each row; returns the status.

        Args:
            rows: (n, size) numbers of each input, or (1, size) where a row is broadcast.
            outputs: (n, size) where to write each output.
            n: how many rows.
            threads: how many threads to use.
        """
        count = max(len(self._units[0]), 1) if self._units else 1
        width = sum(port.size for port in self.kernel.signature.outputs)
        chunk = max(1, CHUNK_BYTES // max(count * width * self.kernel.dtype.itemsize, 1))
        for start in range(0, n, chunk):
            stop = min(start + chunk, n)
            given = [
                (array[start:stop] if len(array) > 1 else array).reshape(-1, 1, *port.shape)
                for array, port in zip(rows, self._inputs, strict=True)
            ]
            products = self.kernel(*given, *self._units, threads=threads)
            parts = products if isinstance(products, tuple) else (products,)
            self._write(parts, [array[start:stop] for array in outputs])
        is_finite = all(np.isfinite(array).all() for array in outputs)
        return DONE if is_finite else NOT_FINITE_OUTPUT

    def _write(self, parts: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Write products to the outputs: for each output of the function, one for each input."""
        wanted = iter(outputs)
        if self._by_rows:  # parts: by input, (rows, outputs, *input)
            for span in self._spans:
                for part in parts:
                    target = next(wanted)
                    target[...] = part[:, span].reshape(target.shape)
            return
        for part in parts:  # by output, (rows, inputs, *output)
            flat = np.moveaxis(part.reshape(*part.shape[:2], -1), 1, 2)
            for span in self._spans:
                target = next(wanted)
                target[...] = flat[:, :, span].reshape(target.shape)


def _unit_vectors(ports: Sequence[Port], dtype: Any) -> list[Array]:
    """For each port (vectors, *shape): the unit vectors of the numbers of all ports."""
    eye = np.eye(sum(port.size for port in ports), dtype=dtype)
    found: list[Array] = []
    start = 0
    for port in ports:
        found.append(eye[:, start : start + port.size].reshape(len(eye), *port.shape))
        start += port.size
    return found
