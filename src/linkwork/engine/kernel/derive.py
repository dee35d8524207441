"""The derivatives of kernels.

A derivative is a kernel with a signature of its own; its program is that of the function,
differentiated. It is named on disk by the key of the function, its kind and its inputs, so another
process neither traces nor differentiates. The program is kept there too, for derivatives of it.

The Jacobian of a long program would be too long to compile. It is computed from the product with a
tangent, or a cotangent, for each unit vector instead: see `columnwise_jacobian.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.autodiff import diff
from linkwork.engine.autodiff.jacobian_size import jacobian_steps
from linkwork.engine.autodiff.ports import Kind, derived_ports
from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.columnwise_jacobian import ColumnwiseJacobian
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime import cache
from linkwork.engine.runtime.compiler import LOCK
from linkwork.engine.symbolic import serialization as stored
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program
from linkwork.errors import ArgumentError, ValueRangeError

# A Jacobian or Hessian with more steps than this is not unrolled, but computed column by column.
MOST_UNROLLED_STEPS = 80_000
# A program with more steps is not made at all, as that would take minutes.
MOST_STEPS = 1_000_000

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
            self._made_program,
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

    def _made_program(self) -> Program:
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
            cache.keep(self._program_key, stored.to_bytes(program), cache.PROGRAM)
        return program

    def _analytic_program(self) -> Program | None:
        analytic = self._function.analytic
        return None if analytic is None else analytic(self._kind, self._wrt)

    def _kept(self) -> bytes | None:
        """What is kept on disk: the program, or nothing but that it is too long."""
        return cache.fetch(self._program_key, cache.PROGRAM)

    # Long Jacobians.

    @property
    def is_columnwise(self) -> bool:
        """Whether it is computed column by column, by another kernel."""
        return self._find_columnwise() is not None

    def _find_columnwise(self) -> ColumnwiseJacobian | None:
        """What computes the derivative column by column, if it is too long to be unrolled."""
        if self._has_simd_code or self._is_known_short or self._columnwise is not None:
            return self._columnwise
        with LOCK:
            kept = self._kept()
            is_long = kept == _TOO_LONG
            if kept is None and self._program is None:
                self._program = self._analytic_program()
                is_long = self._program is None and self._steps() > MOST_UNROLLED_STEPS
                if is_long:
                    cache.keep(self._program_key, _TOO_LONG, cache.PROGRAM)
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
    ) -> int:
        """Compute n rows of arrays that were checked; the status."""
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
