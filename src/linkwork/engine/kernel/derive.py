"""The derivatives of kernels.

A derivative is a kernel with a signature of its own; its program is that of the function,
differentiated. It is named on disk by the key of the function, its kind and its inputs, so another
process neither traces nor differentiates. The program is kept there too, for derivatives of it.

The Jacobian of a long program would be too long to compile. It is computed from the product with a
tangent, or a cotangent, for each unit vector instead: see `ColumnwiseJacobian`.
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

# A Jacobian or Hessian with more steps than this is not unrolled, but computed column by column.
MOST_UNROLLED_STEPS = 80_000
# A program with more steps is not made at all, as that would take minutes.
MOST_STEPS = 1_000_000
# Products are computed for at most this many bytes of results at a time.
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
    """A derivative of a kernel; pickled as that kernel and the names of its inputs."""

    def __init__(self, function: Kernel, kind: Kind, wrt: tuple[str, ...]) -> None:
        """Prepare a derivative; nothing is differentiated before it is needed.

        Args:
            function: what to differentiate.
            kind: of the derivative.
            wrt: names of the inputs to differentiate with respect to.
        """
        if not function.is_unrolled:
            text = f"{function.signature.name}: its program is too long to compile"
            raise ArgumentError(f"{text}, so it has no {kind}; use a smaller robot, or differences")
        Kernel.__init__(
            self,
            _signature(function.signature, kind, wrt),
            self._derived_program,
            key=_key(function, kind, wrt),
            dtype=function.dtype.type,
            check_input=_input_check(function.check_input, len(function.signature.inputs)),
            check_result=function.check_result,
        )
        self.__name__ = self.__qualname__ = self.signature.name
        self.__doc__ = (
            f"The {_TITLES.get(kind, kind)} of {function.signature.name} by {', '.join(wrt)}."
        )
        self._function, self._wrt = function, wrt
        self._kind: Kind = kind
        self._columnwise: ColumnwiseJacobian | None = None
        self._is_known_short = kind not in ("jacobian", "hessian")

    def __reduce__(self) -> Any:
        return _unpickle, (self._function, self._kind, self._wrt)

    @property
    def status(self) -> str:
        """Which code a call uses now, as of every `Kernel`."""
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
        """From the program of the function."""
        program = self._analytic_program()
        if program is None:
            if self._find_columnwise() is not None and self._steps() > MOST_STEPS:
                text = f"{self.signature.name} has some {self._steps():,} operations, too many for"
                raise ArgumentError(f"{text} one program; use jvp or vjp")
            make = PROGRAMS[self._kind]
            units = unit_indices(self._function.signature)
            program = make(self._function.program, self._wrt, units=units)
        if self._columnwise is None:
            self.code.keep_program(serialization.to_bytes(program))
        return program

    def _analytic_program(self) -> Program | None:
        analytic = self._function.analytic
        return None if analytic is None else analytic(self._kind, self._wrt)

    # Long Jacobians.

    @property
    def is_columnwise(self) -> bool:
        """Whether it is computed column by column, by another kernel."""
        return self._find_columnwise() is not None

    def _find_columnwise(self) -> ColumnwiseJacobian | None:
        """What computes the derivative column by column, if it is too long to be unrolled."""
        if self.code.is_fast or self._is_known_short or self._columnwise is not None:
            return self._columnwise
        with LOCK:
            kept = self.code.kept_program()
            is_long = kept == _TOO_LONG
            if kept is None and self.code.cached_program is None:
                program = self.code.cached_program = self._analytic_program()
                is_long = program is None and self._steps() > MOST_UNROLLED_STEPS
                if is_long:
                    self.code.keep_program(_TOO_LONG)
            self._is_known_short = not is_long
            self._columnwise = self._build_columnwise() if is_long else None
            return self._columnwise

    def _build_columnwise(self) -> ColumnwiseJacobian:
        function, own = self._function, self._function.signature
        n_outputs = sum(port.size for port in own.outputs)
        n_inputs = sum(port.size for port in own.inputs if port.name in self._wrt)
        kind: Kind = "vjp" if n_outputs < n_inputs else "jvp"
        kind = "hvp" if self._kind == "hessian" else kind
        return ColumnwiseJacobian(function.derivative(kind, self._wrt), kind, own, self._wrt)

    def _steps(self) -> int:
        """About how many steps it has."""
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
        """Compute n rows of arrays that were checked; whether all results are finite."""
        columnwise = self._find_columnwise()
        if columnwise is None:
            return super().run_rows(rows, outputs, n, threads)
        return columnwise(rows, outputs, n, threads)


_TITLES: dict[Kind, str] = {"jacobian": "Jacobian", "hessian": "Hessian"}
_TOO_LONG = b"too long"  # kept in place of the program


def unit_indices(signature: Signature) -> list[list[int]]:
    """For each part of the inputs whose norm is 1 the indices of its numbers among all."""
    starts = np.cumsum([0, *(port.size for port in signature.inputs)])
    return [
        [int(starts[unit.input]) + unit.offset + k for k in range(unit.count)]
        for unit in signature.unit_norms
    ]


def _unpickle(function: Kernel, kind: Kind, wrt: tuple[str, ...]) -> Kernel:
    return function.derivative(kind, wrt)


def _signature(own: Signature, kind: Kind, wrt: tuple[str, ...]) -> Signature:
    inputs, outputs = derived_ports(kind, own.inputs, own.outputs, wrt)
    given = ", ".join(wrt)
    name = f"d {own.name} / d {given}" if kind == "jacobian" else f"{kind} of {own.name} by {given}"
    more = inputs[len(own.inputs) :]
    of = own.outputs if kind == "vjp" else [p for w in wrt for p in own.inputs if p.name == w]
    what = "cotangent" if kind == "vjp" else "tangent"
    meanings = {
        port.name: f"the {what} of {other.name} has its shape"
        for port, other in zip(more, of, strict=False)
    }
    texts = {**own.meanings, **meanings}
    return Signature(name, inputs, outputs, own.unit_norms, texts, own.defaults)


def _key(function: Kernel, kind: Kind, wrt: tuple[str, ...]) -> str:
    parts: tuple[Any, ...] = function.identity, kind, wrt
    if function.key is None and function.analytic is not None:
        # users' code may define the derivative apart from the function
        program = function.analytic(kind, wrt)
        parts += (None if program is None else program.digest,)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _input_check(of_function: InputCheck | None, known: int) -> InputCheck | None:
    """The check of the function's inputs, and of tangents and cotangents, if there is one."""
    if of_function is None:
        return None

    def check(ports: Sequence[Port], rows: Sequence[Array]) -> None:
        of_function(ports[:known], rows[:known])
        for port, array in zip(ports[known:], rows[known:], strict=True):
            bad = np.argwhere(~np.isfinite(array))
            if len(bad):
                row, index = bad[0].tolist()
                where = f" (row {row})" if len(array) > 1 else ""
                raise ValueRangeError(f"{port.name}: entry {index} is {array[row, index]}{where}")

    return check


class ColumnwiseJacobian:
    """Computes a Jacobian, or a Hessian, from a kernel of products: a row of a batch for each.

    jvp and hvp give one column of the Jacobian for each unit tangent of the inputs, vjp one row for
    each unit cotangent of the outputs.
    """

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
    ) -> bool:
        """Write the Jacobian of each row; whether all entries are finite.

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
        return all(bool(np.isfinite(array).all()) for array in outputs)

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
