"""Parts of the derivatives of kernels: signatures, checks, and long Jacobians.

The Jacobian of a long program would be too long to compile. It is computed by products with unit
tangents or cotangents instead: see `ColumnwiseJacobian`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.autodiff import diff
from linkwork.engine.autodiff.ports import Kind, derived_ports
from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program
from linkwork.errors import ValueRangeError

# The maximum size of the results of products that are computed at a time.
CHUNK_BYTES = 8 << 20

InputCheck: TypeAlias = Callable[[Sequence[Port], Sequence[Array]], None]

PROGRAMS: dict[Kind, Callable[..., Program]] = {
    "jacobian": diff.jacobian,
    "gradient": diff.gradient,
    "hessian": diff.hessian,
    "jvp": diff.jvp,
    "hvp": diff.hvp,
    "vjp": diff.vjp,
}


def unit_indices(signature: Signature) -> list[list[int]]:
    """Return the indices among all input elements of each vector whose norm is 1."""
    starts = np.cumsum([0, *(port.size for port in signature.inputs)])
    return [
        [int(starts[unit.input]) + unit.offset + k for k in range(unit.count)]
        for unit in signature.unit_norms
    ]


def signature_of_derivative(function: Signature, kind: Kind, wrt: tuple[str, ...]) -> Signature:
    """Return the names and shapes of a derivative with respect to some inputs."""
    inputs, outputs = derived_ports(kind, function.inputs, function.outputs, wrt)
    names = ", ".join(wrt)
    name = f"{kind} of {function.name} with respect to {names}"
    if kind == "jacobian":
        name = f"d {function.name} / d {names}"
    tangents = inputs[len(function.inputs) :]
    wrt_ports = [port for name in wrt for port in function.inputs if port.name == name]
    what = "cotangent" if kind == "vjp" else "tangent"
    meanings = {
        port.name: f"the {what} of {other.name} has its shape"
        for port, other in zip(
            tangents, function.outputs if kind == "vjp" else wrt_ports, strict=False
        )
    }
    meanings = {**function.meanings, **meanings}
    return Signature(name, inputs, outputs, function.unit_norms, meanings, function.defaults)


def extended_input_check(function_check: InputCheck | None, n_inputs: int) -> InputCheck | None:
    """Extend the check of the function's inputs, if any, to tangents and cotangents."""
    if function_check is None:
        return None

    def check(ports: Sequence[Port], rows: Sequence[Array]) -> None:
        function_check(ports[:n_inputs], rows[:n_inputs])
        for port, array in zip(ports[n_inputs:], rows[n_inputs:], strict=True):
            bad = np.argwhere(~np.isfinite(array))
            if len(bad):
                row, index = bad[0].tolist()
                where = f" (row {row})" if len(array) > 1 else ""
                raise ValueRangeError(f"{port.name}: entry {index} is {array[row, index]}{where}")

    return check


class ColumnwiseJacobian:
    """Computes a Jacobian or Hessian by a batch of products with unit vectors.

    jvp and hvp compute a column of the Jacobian for each unit tangent of the inputs, vjp a row for
    each unit cotangent of the outputs.
    """

    def __init__(self, kernel: Any, kind: Kind, function: Signature, wrt: Sequence[str]) -> None:
        """Prepare the unit vectors.

        Args:
            kernel: the kernel of the products: a jvp, vjp or hvp.
            kind: its kind.
            function: the signature of the function that is differentiated.
            wrt: the inputs to differentiate with respect to.
        """
        self.kernel = kernel
        self._by_rows = kind == "vjp"
        self._inputs = function.inputs
        wrt_ports = [port for name in wrt for port in function.inputs if port.name == name]
        ports = function.outputs if self._by_rows else wrt_ports
        self._units = _unit_vectors(ports, kernel.dtype)
        ends = np.cumsum([0, *(port.size for port in ports)]).tolist()
        self._spans = [slice(start, stop) for start, stop in pairwise(ends)]  # of each port

    def __call__(
        self, rows: Sequence[Array], outputs: Sequence[Array], n: int, threads: int | None
    ) -> bool:
        """Compute the Jacobian of each row; return whether all entries are finite.

        Args:
            rows: (n, size) of each input, or (1, size) if one row is broadcast.
            outputs: (n, size) of each output, which are written.
            n: number of rows.
            threads: number of threads.
        """
        count = max(len(self._units[0]), 1) if self._units else 1
        width = sum(port.size for port in self.kernel.signature.outputs)
        chunk = max(1, CHUNK_BYTES // max(count * width * self.kernel.dtype.itemsize, 1))
        for start in range(0, n, chunk):
            stop = min(start + chunk, n)
            pieces = [array[start:stop] if len(array) > 1 else array for array in rows]
            arguments = [
                piece.reshape(len(piece), 1, *port.shape)
                for piece, port in zip(pieces, self._inputs, strict=True)
            ]
            products = self.kernel(*arguments, *self._units, threads=threads)
            parts = products if isinstance(products, tuple) else (products,)
            self._write(parts, [array[start:stop] for array in outputs])
        return all(bool(np.isfinite(array).all()) for array in outputs)

    def _write(self, parts: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Write products to the outputs, one for each output and input of the function."""
        targets = iter(outputs)
        if self._by_rows:  # parts: by input, (rows, outputs, *input)
            for span in self._spans:
                for part in parts:
                    target = next(targets)
                    target[...] = part[:, span].reshape(target.shape)
            return
        for part in parts:  # by output, (rows, inputs, *output)
            flat = np.moveaxis(part.reshape(*part.shape[:2], -1), 1, 2)
            for span in self._spans:
                target = next(targets)
                target[...] = flat[:, :, span].reshape(target.shape)


def _unit_vectors(ports: Sequence[Port], dtype: Any) -> list[Array]:
    """Return the unit vectors of the elements of all ports, as (vectors, *shape) of each port."""
    eye = np.eye(sum(port.size for port in ports), dtype=dtype)
    vectors: list[Array] = []
    start = 0
    for port in ports:
        vectors.append(eye[:, start : start + port.size].reshape(len(eye), *port.shape))
        start += port.size
    return vectors
