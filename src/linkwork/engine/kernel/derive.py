"""Derivatives of kernels.

A derivative is a kernel whose program is the differentiated program of a function. Its key on disk
consists of the key of the function, the kind of derivative and the inputs, so that another process
neither traces nor differentiates. The program is stored too, for higher derivatives.

The Jacobian of a long program would be too long to compile. It is computed by products with unit
tangents or cotangents instead: see `ColumnwiseJacobian`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.autodiff import diff
from linkwork.engine.autodiff.jacobian_size import jacobian_steps
from linkwork.engine.autodiff.ports import Kind, derived_ports
from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.compiler import LOCK
from linkwork.engine.symbolic import serialization
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program
from linkwork.errors import ArgumentError, ValueRangeError

# A Jacobian or Hessian with more steps is not unrolled, but computed column by column.
MOST_UNROLLED_STEPS = 80_000
# A program with more steps is not built at all, since that would take minutes.
MOST_STEPS = 1_000_000
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


class Derivative(Kernel):
    """A derivative of a kernel, pickled as that kernel, the kind and the names of the inputs."""

    def __init__(self, function: Kernel, kind: Kind, wrt: tuple[str, ...]) -> None:
        """Prepare a derivative; the program is differentiated when it is first needed.

        Args:
            function: the kernel to differentiate.
            kind: the kind of derivative.
            wrt: names of the inputs to differentiate with respect to.
        """
        if not function.is_unrolled:
            text = f"{function.signature.name}: its program is too long to compile"
            hint = "use a smaller robot, or finite differences"
            raise ArgumentError(f"{text}, so it has no {kind}; {hint}")
        Kernel.__init__(
            self,
            signature_of_derivative(function.signature, kind, wrt),
            self._derived_program,
            key=_key(function, kind, wrt),
            dtype=function.dtype.type,
            check_input=_input_check(function.check_input, len(function.signature.inputs)),
            check_result=function.check_result,
        )
        self.__name__ = self.__qualname__ = self.signature.name
        title, names = _TITLES.get(kind, kind), ", ".join(wrt)
        self.__doc__ = f"The {title} of {function.signature.name} with respect to {names}."
        self._function, self._wrt = function, wrt
        self._kind: Kind = kind
        self._columnwise: ColumnwiseJacobian | None = None
        self._is_known_short = kind not in ("jacobian", "hessian")

    def __reduce__(self) -> Any:
        return _unpickle, (self._function, self._kind, self._wrt)

    @property
    def status(self) -> str:
        """The code that calls use now; see `Kernel.status`."""
        return super().status if self._columnwise is None else self._columnwise.kernel.status

    def warmup(self) -> None:
        """Wait until the fast code is in use."""
        columnwise = self._find_columnwise()
        if columnwise is None:
            super().warmup()
        else:
            columnwise.kernel.warmup()

    # The program.

    def _derived_program(self) -> Program:
        """Differentiate the program of the function."""
        program = self._analytic_program()
        if program is None:
            if self._find_columnwise() is not None and self._steps() > MOST_STEPS:
                text = f"{self.signature.name} has about {self._steps():,} operations"
                raise ArgumentError(f"{text}, too many for one program; use jvp or vjp")
            differentiate = PROGRAMS[self._kind]
            units = unit_indices(self._function.signature)
            program = differentiate(self._function.program, self._wrt, units=units)
        if self._columnwise is None:
            self.code.store_program(serialization.to_bytes(program))
        return program

    def _analytic_program(self) -> Program | None:
        analytic = self._function.analytic
        return None if analytic is None else analytic(self._kind, self._wrt)

    # Long Jacobians.

    @property
    def is_columnwise(self) -> bool:
        """Whether another kernel computes it column by column."""
        return self._find_columnwise() is not None

    def _find_columnwise(self) -> ColumnwiseJacobian | None:
        """Return the columnwise computation, if the program is too long to be unrolled."""
        if self.code.is_fast or self._is_known_short or self._columnwise is not None:
            return self._columnwise
        with LOCK:
            stored = self.code.stored_program()
            is_long = stored == _TOO_LONG
            if stored is None and self.code.cached_program is None:
                program = self.code.cached_program = self._analytic_program()
                is_long = program is None and self._steps() > MOST_UNROLLED_STEPS
                if is_long:
                    self.code.store_program(_TOO_LONG)
            self._is_known_short = not is_long
            self._columnwise = self._build_columnwise() if is_long else None
            return self._columnwise

    def _build_columnwise(self) -> ColumnwiseJacobian:
        function, signature = self._function, self._function.signature
        n_outputs = sum(port.size for port in signature.outputs)
        n_inputs = sum(port.size for port in signature.inputs if port.name in self._wrt)
        kind: Kind = "vjp" if n_outputs < n_inputs else "jvp"
        kind = "hvp" if self._kind == "hessian" else kind
        return ColumnwiseJacobian(function.derivative(kind, self._wrt), kind, signature, self._wrt)

    def _steps(self) -> int:
        """Estimate the number of steps of its program."""
        function = self._function
        if self._kind == "hessian":
            function = function.gradient(*self._wrt)
        return jacobian_steps(function.program, self._wrt)

    def run_rows(
        self,
        rows: tuple[Array, ...],
        outputs: tuple[Array, ...],
        n: int,
        threads: int | None = None,
    ) -> bool:
        """Compute n rows of arrays that were checked; return whether all results are finite."""
        columnwise = self._find_columnwise()
        if columnwise is None:
            return super().run_rows(rows, outputs, n, threads)
        return columnwise(rows, outputs, n, threads)


_TITLES: dict[Kind, str] = {"jacobian": "Jacobian", "hessian": "Hessian"}
_TOO_LONG = b"too long"  # stored in place of the program


def unit_indices(signature: Signature) -> list[list[int]]:
    """Return the indices among all input elements of each vector whose norm is 1."""
    starts = np.cumsum([0, *(port.size for port in signature.inputs)])
    return [
        [int(starts[unit.input]) + unit.offset + k for k in range(unit.count)]
        for unit in signature.unit_norms
    ]


def _unpickle(function: Kernel, kind: Kind, wrt: tuple[str, ...]) -> Kernel:
    return function.derivative(kind, wrt)


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


def _key(function: Kernel, kind: Kind, wrt: tuple[str, ...]) -> str:
    parts: tuple[Any, ...] = function.identity, kind, wrt
    if function.key is None and function.analytic is not None:
        # users may define the derivative independently of the function
        program = function.analytic(kind, wrt)
        parts += (None if program is None else program.digest,)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _input_check(function_check: InputCheck | None, n_inputs: int) -> InputCheck | None:
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
            arguments = [
                (array[start:stop] if len(array) > 1 else array).reshape(-1, 1, *port.shape)
                for array, port in zip(rows, self._inputs, strict=True)
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
