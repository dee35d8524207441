"""Kernels: programs that are called with NumPy arrays.

Rows     each argument is a row, or rows with any leading batch axes, broadcast as in NumPy
Fast     `Call`, in C, handles most calls: it converts and normalizes rows, and computes them in
         chunks on several threads without the GIL; between two chunks it handles signals
Slow     `Kernel._call`, in Python, handles all other calls, and raises all errors
Code     `CompiledProgram` compiles and loads the code that computes the rows
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
    available_cores,
    check_norms,
    environment_threads,
    in_order,
    lazy_bridge,
    outputs_for,
    thread_number,
)
from linkwork.engine.kernel.differentiable import Differentiable
from linkwork.engine.kernel.extension import Call
from linkwork.engine.kernel.inline import inlined
from linkwork.engine.runtime.backends import ColumnFunction
from linkwork.engine.runtime.compiled_program import FAST, QUICK, CompiledProgram
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ArgumentError, ValueRangeError
from linkwork.version import __version__

if TYPE_CHECKING:
    from linkwork.engine.autodiff.ports import Kind

OPTIONS = ("out", "threads")  # keyword arguments of every call
# Measured time of quick code for one operation of a row, on one thread of an AMD EPYC; fast code
# takes a tenth of it or less.
QUICK_SECONDS = 0.8e-9
# [s] A call that would take longer than this with quick code waits for the fast code, for at most
# PATIENCE times as long. C passes such calls to Python: see LONG_WORK in call.c.
SHORT, PATIENCE = 0.05, 2.0
# A column function computes at most this many bytes of inputs and outputs, and this many rows, at a
# time, so that the arrays of intermediate values stay in the cache.
COLUMN_BYTES, COLUMN_ROWS = 4 << 20, 4096


class Kernel(Differentiable, Call):
    """A compiled function of arrays.

    Call it with one array for each input, by position or by name. `out` is an array to write to, or
    a tuple of them; `threads` is the number of threads for a large batch. `jacobian`, `jvp`, `vjp`,
    `gradient` and `hessian` return its derivatives, which are kernels too.
    """

    @property
    def options(self) -> tuple[str, ...]:
        """The keyword arguments of a call that are not inputs."""
        return OPTIONS

    # Returns the program of an analytic derivative, by its kind and inputs; or None. The program
    # has the inputs of the kernel, and the outputs of `autodiff.ports.derived_ports`.
    analytic: Callable[[Kind, tuple[str, ...]], Program | None] | None = None

    def __init__(
        self,
        signature: Signature,
        make_program: Callable[[], Program],
        *,
        key: str | None = None,
        dtype: type[np.floating[Any]] = np.float64,
        column_function: ColumnFunction | None = None,
        check_input: Callable[[Sequence[Port], Sequence[Array]], None] | None = None,
        check_result: Callable[[Kernel, Sequence[Array], Sequence[Array]], None] | None = None,
        result: type[tuple[Any, ...]] | None = None,
    ) -> None:
        """Prepare a kernel; it is traced and compiled when it is first needed.

        Args:
            signature: names and shapes.
            make_program: traces the program.
            key: identifies the program in the disk cache, so that it need not be traced.
            dtype: float64 or float32.
            column_function: computes in place of compiled code, for programs that are too long to
                compile.
            check_input: raises an error if an input is not finite; by default, inputs may be NaN.
            check_result: called if an output is not finite; raises if that is an error.
            result: the named tuple type for several outputs; by default a tuple is returned.
        """
        super().__init__(
            in_shapes=tuple(port.shape for port in signature.inputs),
            out_shapes=tuple(port.shape for port in signature.outputs),
            unit_norms=tuple(unit.span for unit in signature.unit_norms),
            norm_limits=norms.limits(dtype),
            single_precision=dtype == np.float32,
            check_inputs=check_input is not None,
            check_outputs=check_result is not None,
            small_matrix=SMALL_MATRIX,
            result=result,
            slow=self._call,
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
            column_function=column_function,
        )
        self.is_unrolled = column_function is None  # whether its program is short enough to use
        self.check_input = check_input
        self.check_result = check_result
        self._result = result
        self._derivatives = {}

    def __repr__(self) -> str:
        inputs = ", ".join(f"{port.name} {port.shape}" for port in self.signature.inputs)
        outputs = ", ".join(f"{port.name} {port.shape}" for port in self.signature.outputs)
        return f"<Kernel {self.signature.name}: {inputs} -> {outputs}>"

    @property
    def program(self) -> Program:
        """The program, from the disk cache or traced."""
        return self.code.program

    @property
    def key(self) -> str | None:
        """The key of the program in the disk cache; None if it has none."""
        return self.code.key

    @property
    def identity(self) -> str:
        """The key, or a digest of the program if there is no key."""
        return self.code.identity

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Identify the content of the kernel for dask, equally in every process."""
        is_checked = self.check_input is not None
        return type(self).__qualname__, __version__, self.identity, self.dtype.name, is_checked

    @property
    def status(self) -> str:
        """The code that calls use now.

        `none` before code is compiled or loaded; `quick` while the fast code is being compiled;
        `fast`; `NumPy: ...` with the reason why there is no machine code; `failed: ...` with the
        reason why the quick code stays in use.
        """
        return self.code.status

    def warmup(self) -> None:
        """Wait until the fast code is in use."""
        self.code.prepare(FAST)

    def prepare(self, rows: int, steps: int = 1, threads: int | None = None) -> bool:
        """Prepare code for a number of rows; return False if there is no machine code.

        If the rows take long, it waits for the fast code, though not longer than the quick code
        takes for them, up to a factor.

        Args:
            rows: the number of rows, which several threads compute.
            steps: the number of evaluations of each row, one after the other.
            threads: the maximum number of threads; default as in calls.
        """
        self.code.prepare(QUICK)
        if self.code.column_function is not None:
            return False
        if not self.code.is_fast:
            workers = min(rows, threads or environment_threads() or available_cores())
            seconds = rows * steps * self.code.operations * QUICK_SECONDS / max(workers, 1)
            if seconds > SHORT:
                self.code.wait_for_fast_code(PATIENCE * seconds)
        return True

    def run_rows(
        self,
        rows: tuple[Array, ...],
        outputs: tuple[Array, ...],
        n: int,
        threads: int | None = None,
    ) -> bool:
        """Compute n rows of arrays that were checked; return whether all results are finite.

        Results are checked only if the kernel has `check_result`.
        """
        if not self.prepare(n, threads=threads):
            assert self.code.column_function is not None
            return _run_columns(self.signature, self.code.column_function, rows, outputs)
        is_finite = self._run(rows, outputs, n, threads)
        if is_finite is None:
            raise ValueRangeError("another thread changed an input during the call")
        return is_finite

    # Calls that the C extension does not handle.

    def _call(self, *args: Any, out: Any = None, threads: Any = None, **named: Any) -> Any:
        signature = self.signature
        workers = thread_number(threads)
        values = in_order(signature, args, named, self.options)
        if any(map(is_traced, values)):
            return self._call_traced(values, out)
        bridge = lazy_bridge(values)
        if bridge:
            return bridge.call_later(self, values, out=out, threads=workers)
        rows, batch = as_rows(signature, values, self.dtype)
        check_norms(signature, rows)
        if self.check_input:
            self.check_input(signature.inputs, rows)
        outputs, targets = outputs_for(signature, batch, out, rows, self.dtype)
        n = prod(batch)
        flat = tuple(
            array.reshape(n, port.size)
            for array, port in zip(outputs, signature.outputs, strict=True)
        )
        is_finite = self.run_rows(rows, flat, n, workers)
        if self.check_result and not is_finite:
            try:
                self.check_result(self, rows, flat)
            except ValueRangeError as error:
                error.results = self._returned(outputs)
                raise
        for target, array in zip(targets, outputs, strict=True):
            if target is not array:
                target[...] = array
        return self._returned(targets)

    def _returned(self, arrays: Sequence[Array]) -> Any:
        """Convert the outputs to the value of a call: one array, a tuple, or the named tuple."""
        if len(arrays) == 1:
            return arrays[0]
        return tuple(arrays) if self._result is None else tuple.__new__(self._result, arrays)

    def _call_traced(self, values: Sequence[Any], out: Any) -> Any:
        """Add the program to the graph of the function that is being traced."""
        if out is not None:
            raise ArgumentError("out: not supported inside a function that is being traced")
        if not self.is_unrolled:
            text = f"{self.signature.name} has too many operations to be part of a traced function"
            raise ArgumentError(f"{text}; call it outside, and pass the result as an argument")
        return self._returned(inlined(self.signature, lambda: self.program, values))


def _run_columns(
    signature: Signature,
    compute: ColumnFunction,
    rows: tuple[Array, ...],
    outputs: tuple[Array, ...],
) -> bool:
    """Compute rows with a column function, in chunks; return whether all results are finite.

    Args:
        signature: the inputs and outputs, and the elements with norm 1.
        compute: the column function.
        rows: (n, size) of each input, or (1, size) if all rows share one.
        outputs: (n, size) of each output, which are written.
    """
    dtype, n = outputs[0].dtype, len(outputs[0])
    spans = tuple(unit.span for unit in signature.unit_norms)
    rows = norms.normalized(rows, spans, dtype) or rows
    width = sum(port.size for port in (*signature.inputs, *signature.outputs))
    chunk = COLUMN_BYTES // (max(width, 1) * dtype.itemsize)
    chunk = max(64, min(COLUMN_ROWS, chunk))
    for start in range(0, n, chunk):
        columns = [tuple((a[start : start + chunk] if len(a) > 1 else a).T) for a in rows]
        with np.errstate(all="ignore"):  # compiled code issues no warnings either
            for array, results in zip(outputs, compute(*columns), strict=True):
                if _is_row(results):
                    array[start : start + chunk] = results
                    continue
                for index, column in enumerate(results):
                    array[start : start + chunk, index] = column
    return all(bool(np.isfinite(array).all()) for array in outputs)


def _is_row(results: Any) -> bool:
    """Return whether these are the entries of one row, not a column for each entry."""
    return isinstance(results, np.ndarray) and results.ndim == 1 and results.dtype != object
