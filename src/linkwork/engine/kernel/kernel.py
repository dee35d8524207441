"""Kernels: programs that NumPy users call.

Rows     each argument is a row, or rows with any leading batch axes, broadcast as NumPy does
Fast     `Call`, in C, takes most calls: it converts and normalises rows, and computes them chunk by
         chunk on several threads without the GIL; between two chunks it handles signals
Slow     `Kernel._call`, in Python, takes all other calls, and raises all errors
Code     `CompiledProgram` has the code that computes the rows
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.engine.codegen.llvm.finite import SMALL_MATRIX
from linkwork.engine.kernel import norms
from linkwork.engine.kernel.arguments import (
    Signature,
    as_rows,
    check_norms,
    in_order,
    lazy_bridge,
    outputs_for,
    thread_number,
)
from linkwork.engine.kernel.differentiable import Differentiable
from linkwork.engine.kernel.extension import Call
from linkwork.engine.kernel.inline import inlined
from linkwork.engine.runtime.compiled_program import FAST, QUICK, CompiledProgram
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ArgumentError, ValueRangeError
from linkwork.version import __version__

if TYPE_CHECKING:
    from linkwork.engine.autodiff.ports import Kind

# With more rows than this, a rollout waits for the fast code rather than use that of a first call.
MANY_ROWS = 10_000
# A function of columns computes at most this many bytes of inputs and outputs, and this many rows,
# at a time, so that the arrays of intermediate values stay in the cache.
COLUMN_BYTES, COLUMN_ROWS = 4 << 20, 4096


class Kernel(Differentiable, Call):
    """A compiled function of arrays.

    Call it with one array for each input, in order or by name. `out` takes an array to write to, or
    a tuple of them; `threads` the number of threads to use for a large batch. `jacobian`, `jvp`,
    `vjp`, `gradient` and `hessian` give its derivatives, which are kernels too.
    """

    # The program of a derivative that is known without differentiating, by its kind and inputs; or
    # None. It has the inputs of the kernel, and the outputs of `autodiff.ports.derived_ports`.
    analytic: Callable[[Kind, tuple[str, ...]], Program | None] | None = None

    def __init__(
        self,
        signature: Signature,
        make_program: Callable[[], Program],
        *,
        key: str | None = None,
        dtype: type[np.floating[Any]] = np.float64,
        numpy_path: Callable[..., Sequence[Any]] | None = None,
        check_input: Callable[[Sequence[Port], Sequence[Array]], None] | None = None,
        check_result: Callable[[Kernel, Sequence[Array], Sequence[Array]], None] | None = None,
        result: type[tuple[Any, ...]] | None = None,
    ) -> None:
        """Prepare a kernel; nothing is traced or compiled before it is needed.

        Args:
            signature: names and shapes.
            make_program: traces the program.
            key: identifies the program in the disk cache, so that it need not be traced.
            dtype: float64 or float32.
            numpy_path: if given, used instead of compiled code, for programs that are too long to
                compile: NumPy code from the columns of the inputs to those of the outputs.
            check_input: if given, inputs must be finite, and this raises the error.
            check_result: if given, called with outputs that are not finite; raises if that is an
                error.
            result: the named tuple to return several outputs in; a plain tuple if not given.
        """
        super().__init__(
            tuple(port.shape for port in signature.inputs),
            tuple(port.shape for port in signature.outputs),
            tuple(unit.span for unit in signature.unit_norms),
            norms.limits(dtype),
            dtype == np.float32,
            check_input is not None,
            check_result is not None,
            SMALL_MATRIX,
            result,
            self._call,
        )
        self.signature = signature
        self.dtype = np.dtype(dtype)
        self.code = CompiledProgram(
            signature.name,
            make_program,
            self._use,
            key=key,
            scalar="double" if dtype == np.float64 else "float",
            has_checks=check_result is not None,
            function=numpy_path,
        )
        self.is_unrolled = numpy_path is None  # whether its program is short enough to be used
        self.check_input = check_input
        self.check_result = check_result
        self._result = result
        self._derivatives = {}

    def __repr__(self) -> str:
        takes = ", ".join(f"{port.name} {port.shape}" for port in self.signature.inputs)
        gives = ", ".join(f"{port.name} {port.shape}" for port in self.signature.outputs)
        return f"<Kernel {self.signature.name}: {takes} -> {gives}>"

    @property
    def program(self) -> Program:
        """The program behind it: from the disk, else traced."""
        return self.code.program

    @property
    def key(self) -> str | None:
        """What identifies the program in the disk cache, if it was given."""
        return self.code.key

    @property
    def identity(self) -> str:
        """The key, or a digest of the program where none was given."""
        return self.code.identity

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """What dask names results by: the content of the kernel, the same in every process."""
        is_checked = self.check_input is not None
        return type(self).__qualname__, __version__, self.identity, self.dtype.name, is_checked

    @property
    def status(self) -> str:
        """Which code a call uses now.

        `none` before anything was compiled or loaded; `quick` while the fast code is being
        compiled; `fast`; `NumPy: ...` with the reason why there is no machine code; `failed: ...`
        with the reason why the quick code stays in use.
        """
        return self.code.status

    def warmup(self) -> None:
        """Wait until the fast code is in use."""
        self.code.prepare(FAST)

    def prepare(self, rows: int) -> bool:
        """Have code in use that is worth it for so many rows; False if NumPy has to compute."""
        self.code.prepare(FAST if rows > MANY_ROWS else QUICK)
        return self.code.function is None

    def run_rows(
        self,
        rows: tuple[Array, ...],
        outputs: tuple[Array, ...],
        n: int,
        threads: int | None = None,
    ) -> bool:
        """Compute n rows of arrays that were checked; whether all results are finite.

        Results are checked only where the kernel has `check_result`.
        """
        self.code.prepare(QUICK)
        if self.code.function is not None:
            return _run_columns(self.signature, self.code.function, rows, outputs)
        is_finite = self._run(rows, outputs, n, threads)
        if is_finite is None:
            raise ValueRangeError("an input was changed by another thread during the call")
        return is_finite

    # Calls that the C extension leaves to Python.

    def _call(self, *args: Any, out: Any = None, threads: Any = None, **named: Any) -> Any:
        signature = self.signature
        workers = thread_number(threads)
        values = in_order(signature, args, named)
        if any(map(is_traced, values)):
            return self._call_traced(values, out)
        bridge = lazy_bridge(values)
        if bridge:
            return bridge.call_later(self, values, out=out, threads=workers)
        rows, batch = as_rows(signature, values, self.dtype)
        check_norms(signature, rows)
        if self.check_input:
            self.check_input(signature.inputs, rows)
        outputs, given = outputs_for(signature, batch, out, rows, self.dtype)
        n = prod(batch)
        flat = tuple(
            array.reshape(n, port.size)
            for array, port in zip(outputs, signature.outputs, strict=True)
        )
        is_finite = self.run_rows(rows, flat, n, workers)
        if self.check_result and not is_finite:
            self.check_result(self, rows, flat)
        for target, array in zip(given, outputs, strict=True):
            if target is not array:
                target[...] = array
        return self._returned(given)

    def _returned(self, arrays: Sequence[Array]) -> Any:
        """The outputs as a call returns them: one array, a tuple, or the named tuple."""
        if len(arrays) == 1:
            return arrays[0]
        return tuple(arrays) if self._result is None else tuple.__new__(self._result, arrays)

    def _call_traced(self, values: Sequence[Any], out: Any) -> Any:
        """A call inside a function that is being traced: the program becomes part of that."""
        if out is not None:
            raise ArgumentError("out: there is nothing to write yet while a function is traced")
        if not self.is_unrolled:
            text = f"{self.signature.name} has too many operations to be part of a traced function"
            raise ArgumentError(f"{text}; call it outside, and give the result as an argument")
        return self._returned(inlined(self.signature, lambda: self.program, values))


def _run_columns(
    signature: Signature,
    compute: Callable[..., Sequence[Any]],
    rows: tuple[Array, ...],
    outputs: tuple[Array, ...],
) -> bool:
    """Compute rows by a function of columns, chunk by chunk; whether all results are finite.

    Args:
        signature: the inputs and outputs, and which inputs have norm 1.
        compute: returns the columns of each output for those of each input.
        rows: (n, size) of each input, or (1, size) for one that all rows share.
        outputs: (n, size) of each output.
    """
    dtype, n = outputs[0].dtype, len(outputs[0])
    spans = tuple(unit.span for unit in signature.unit_norms)
    rows = norms.normalized(rows, spans, dtype) or rows
    width = sum(port.size for port in (*signature.inputs, *signature.outputs))
    chunk = COLUMN_BYTES // (max(width, 1) * dtype.itemsize)
    chunk = max(64, min(COLUMN_ROWS, chunk))
    for start in range(0, n, chunk):
        columns = [tuple((a[start : start + chunk] if len(a) > 1 else a).T) for a in rows]
        with np.errstate(all="ignore"):  # compiled code gives no warnings either
            for array, results in zip(outputs, compute(*columns), strict=True):
                if _is_row(results):
                    array[start : start + chunk] = results
                    continue
                for index, column in enumerate(results):
                    array[start : start + chunk, index] = column
    return all(bool(np.isfinite(array).all()) for array in outputs)


def _is_row(results: Any) -> bool:
    """Whether these are the entries of one row, rather than a column for each entry."""
    return isinstance(results, np.ndarray) and results.ndim == 1 and results.dtype != object
