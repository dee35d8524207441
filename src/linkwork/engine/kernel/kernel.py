"""Kernels: programs that are called with NumPy arrays.

Rows     each argument is a row, or rows with any leading batch axes, broadcast as in NumPy
Fast     `Call`, in C, handles most calls: it converts and normalizes rows, and computes them in
         chunks on several threads without the GIL; between two chunks it handles signals
Slow     `Kernel._call`, in Python, handles all other calls, and raises all errors
Code     `CompiledProgram` compiles and loads the code that computes the rows
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from linkwork.engine.autodiff.jacobian_size import jacobian_steps
from linkwork.engine.autodiff.ports import Kind
from linkwork.engine.codegen.llvm.finite import SMALL_MATRIX
from linkwork.engine.kernel import norms
from linkwork.engine.kernel.arguments import (
    Signature,
    as_rows,
    available_cores,
    check_norms,
    environment_threads,
    in_order,
    outputs_for,
    thread_number,
)
from linkwork.engine.kernel.derive import (
    PROGRAMS,
    ColumnwiseJacobian,
    extended_input_check,
    signature_of_derivative,
    unit_indices,
)
from linkwork.engine.kernel.extension import Call, usual_mode
from linkwork.engine.kernel.inline import inlined
from linkwork.engine.runtime.backends import ColumnFunction
from linkwork.engine.runtime.compiled_program import FAST, QUICK, CompiledProgram
from linkwork.engine.runtime.compiler import LOCK
from linkwork.engine.runtime.numpy_code import run_columns
from linkwork.engine.symbolic import serialization
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ArgumentError, ValueRangeError
from linkwork.version import __version__

OPTIONS = ("out", "threads")  # keyword arguments of every call
# A Jacobian or Hessian with more steps is not unrolled, but computed column by column.
MOST_UNROLLED_STEPS = 80_000
# A program with more steps is not built at all, since that would take minutes.
MOST_STEPS = 1_000_000
# Measured time of quick code for one operation of a row, on one thread of an AMD EPYC; fast code
# takes a tenth of it or less.
QUICK_SECONDS = 0.8e-9
# [s] A call that would take longer than this with quick code waits for the fast code, for at most
# PATIENCE times as long. C passes such calls to Python: see LONG_WORK in call.c.
SHORT, PATIENCE = 0.05, 2.0


class Kernel(Call):
    """A compiled function of arrays.

    Call it with one array for each input, by position or by name. `out` is an array to write to, or
    a tuple of them; `threads` is the number of threads for a large batch. `jacobian`, `jvp`, `vjp`,
    `gradient` and `hessian` return its derivatives with respect to some of its inputs, by default
    all. A derivative is a kernel too: it is created once, compiled and stored on disk as its
    function is. Quaternions and (cos, sin) pairs in an input are treated as normalized: derivatives
    have no component along them.
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
            usual_mode(make_program),
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
        self._derivatives: dict[tuple[Kind, tuple[str, ...]], Kernel] = {}

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

    @usual_mode
    def warmup(self) -> None:
        """Wait until the fast code is in use."""
        self.code.prepare(FAST)

    @usual_mode
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
            spans = [unit.span for unit in self.signature.unit_norms]
            unit_rows = norms.normalized(rows, spans, self.dtype) or rows
            return run_columns(self.code.column_function, unit_rows, outputs)
        is_finite = self._run(rows, outputs, n, threads)
        if is_finite is None:
            raise ValueRangeError("another thread changed an input during the call")
        return is_finite

    # Derivatives.

    def jacobian(self, *wrt: str) -> Kernel:
        """Return the function that computes the derivatives of the outputs.

        Args:
            wrt: names of the inputs to differentiate with respect to; all by default.

        Returns:
            A function with the same inputs. It returns d output / d input as an array of shape
            (..., *output.shape, *input.shape). For several outputs or inputs it returns a tuple,
            with the derivatives of the first output first.
        """
        return self.derivative("jacobian", wrt)

    def gradient(self, *wrt: str) -> Kernel:
        """Return the function that computes the derivatives of a scalar output.

        Args:
            wrt: names of the inputs to differentiate with respect to; all by default.

        Returns:
            A function with the same inputs, which returns an array of shape (..., *input.shape) for
            each input of `wrt`.
        """
        return self.derivative("gradient", wrt)

    def hessian(self, *wrt: str) -> Kernel:
        """Return the function that computes the second derivatives of a scalar output.

        Args:
            wrt: names of the inputs to differentiate with respect to; all by default.

        Returns:
            A function with the same inputs. It returns an array of shape
            (..., *first.shape, *second.shape) for each pair of inputs of `wrt`, in the order
            (first, first), (first, second), and so on.
        """
        return self.derivative("hessian", wrt)

    def jvp(self, *wrt: str) -> Kernel:
        """Return the function that computes the product of the Jacobian and a tangent.

        The Jacobian itself is not computed.

        Args:
            wrt: names of the inputs to differentiate with respect to; all by default.

        Returns:
            A function of the inputs, followed by a tangent `d_<input>` for each input of `wrt`. It
            returns the tangent of each output.
        """
        return self.derivative("jvp", wrt)

    def vjp(self, *wrt: str) -> Kernel:
        """Return the function that computes the product of a cotangent and the Jacobian.

        The Jacobian itself is not computed.

        Args:
            wrt: names of the inputs to differentiate with respect to; all by default.

        Returns:
            A function of the inputs, followed by a cotangent `ct_<output>` for each output. It
            returns an array of shape (..., *input.shape) for each input of `wrt`.
        """
        return self.derivative("vjp", wrt)

    def derivative(self, kind: Kind, wrt: tuple[str, ...] = ()) -> Kernel:
        """Return the derivative of a kind, created on first use.

        Args:
            kind: "jacobian", "gradient", "hessian", "jvp" or "vjp"; or "hvp", the Hessian times a
                tangent, with the inputs of jvp and the outputs of gradient.
            wrt: names of the inputs to differentiate with respect to; all by default.
        """
        names = wrt or tuple(port.name for port in self.signature.inputs)
        try:
            derivative = self._derivatives.get((kind, names))
        except TypeError:  # not a name; `Derivative` raises the error
            derivative = None
        if derivative is None:
            new = self._make_derivative(kind, names)
            derivative = self._derivatives.setdefault((kind, names), new)
        return derivative

    def _make_derivative(self, kind: Kind, wrt: tuple[str, ...]) -> Kernel:
        return Derivative(self, kind, wrt)

    # Calls that the C extension does not handle.

    def _call(self, *args: Any, out: Any = None, threads: Any = None, **named: Any) -> Any:
        signature = self.signature
        workers = thread_number(threads)
        values = in_order(signature, args, named, self.options)
        if any(map(is_traced, values)):
            return self._call_traced(values, out)
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


_TITLES: dict[Kind, str] = {"jacobian": "Jacobian", "hessian": "Hessian"}
_TOO_LONG = b"too long"  # stored in place of the program


class Derivative(Kernel):
    """A derivative of a kernel: its program is the differentiated program of the function.

    Its key on disk consists of the key of the function, the kind and the inputs, so that another
    process neither traces nor differentiates. The program is stored too, for higher derivatives. It
    is pickled as the kernel, the kind and the names of the inputs.
    """

    def __init__(self, function: Kernel, kind: Kind, wrt: tuple[str, ...]) -> None:
        """Prepare a derivative; the program is differentiated when it is first needed.

        Args:
            function: the kernel to differentiate.
            kind: the kind of derivative.
            wrt: names of the inputs to differentiate with respect to.
        """
        if not function.is_unrolled:
            text = f"{function.signature.name}: its program is too long to compile"
            hint = "use a shorter function, or finite differences"
            raise ArgumentError(f"{text}, so it has no {kind}; {hint}")
        Kernel.__init__(
            self,
            signature_of_derivative(function.signature, kind, wrt),
            self._derived_program,
            key=_key(function, kind, wrt),
            dtype=function.dtype.type,
            check_input=extended_input_check(function.check_input, len(function.signature.inputs)),
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

    @usual_mode
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
                elif program is not None:
                    self.code.store_program(serialization.to_bytes(program))
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


def _unpickle(function: Kernel, kind: Kind, wrt: tuple[str, ...]) -> Kernel:
    return function.derivative(kind, wrt)


def _key(function: Kernel, kind: Kind, wrt: tuple[str, ...]) -> str:
    parts: tuple[Any, ...] = function.identity, kind, wrt
    if function.key is None and function.analytic is not None:
        # users may define the derivative independently of the function
        program = function.analytic(kind, wrt)
        parts += (None if program is None else program.digest,)
    return hashlib.sha256(repr(parts).encode()).hexdigest()
