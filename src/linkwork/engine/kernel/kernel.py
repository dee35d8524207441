"""Kernels: programs that NumPy users call.

Rows     each argument is a row, or rows with any leading batch axes, broadcast as NumPy does
First    the first call uses code that is made quickly; fast code takes over when it is ready
Fast     `Call`, in C, takes most calls: it converts and normalises rows, and computes them chunk by
         chunk on several threads without the GIL; between two chunks it handles signals
Slow     `Kernel._call`, in Python, takes all other calls, and raises all errors
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.llvm.finite import checked_results
from linkwork.engine.kernel import norms
from linkwork.engine.kernel.arguments import (
    Signature,
    as_rows,
    check_norms,
    in_order,
    outputs_for,
    thread_number,
)
from linkwork.engine.kernel.differentiable import Differentiable
from linkwork.engine.kernel.extension import DONE, NOT_FINITE_OUTPUT, Call
from linkwork.engine.kernel.inline import inlined
from linkwork.engine.kernel.lazy_arrays import bridge_of
from linkwork.engine.kernel.numpy_rows import run_with_numpy
from linkwork.engine.runtime import cache
from linkwork.engine.runtime.background import Background, background, background_mode
from linkwork.engine.runtime.compiler import FAST, LOCK, QUICK, RELOCATION, Code, compiled
from linkwork.engine.runtime.numpy_code import NumpyCode
from linkwork.engine.runtime.processor import (
    NoMachineCodeError,
    has_short_offsets,
    this_machine,
)
from linkwork.engine.runtime.sources import source_digest
from linkwork.engine.symbolic import serialization as stored
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ArgumentError, SlowCompileWarning, ValueRangeError, warn_once
from linkwork.version import __version__

if TYPE_CHECKING:
    from linkwork.engine.autodiff.ports import Kind

# With more rows than this, a rollout waits for the fast code rather than use that of a first call.
MANY_ROWS = 10_000
# What compiling took on a core of an AMD EPYC, for each step of a program: quick code of one row;
# fast code of one row and of several.
SECONDS_PER_STEP = {QUICK: 30e-6, FAST: 100e-6}
LONG = 2.0  # [s] a call that waits longer for a compiler warns first


class Kernel(Differentiable, Call):
    """A compiled function of arrays.

    Call it with one array for each input, in order or by name. `out` takes an array to write to, or
    a tuple of them; `threads` the number of threads to use for a large batch. `jacobian`, `jvp`,
    `vjp`, `gradient` and `hessian` give its derivatives, which are kernels too.
    """

    # The program of a derivative that is known without differentiating, by its kind and inputs; or
    # None. It has the inputs of the kernel, and the outputs that `expr.derived_ports` gives.
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
            result,
            self._call,
        )
        self.signature = signature
        self.dtype = np.dtype(dtype)
        self._make_program = make_program
        self._key = key
        self._numpy_path = numpy_path
        self.is_unrolled = numpy_path is None  # whether its program is short enough to be used
        self.check_input = check_input
        self.check_result = check_result
        self._result = result
        self._derivatives = {}
        self._program: Program | None = None
        self._process = 0  # id of the process whose background job makes the fast code
        self._code: tuple[Code | None, Code | None] = None, None  # of one row, and of W rows
        self._level = -1  # of the code in use: QUICK or FAST; -1 for none
        self._has_simd_code = (
            False  # whether there is code for W rows at a time, which is made last
        )
        self._failure = ""  # why there is no fast code, or no machine code at all

    def __repr__(self) -> str:
        takes = ", ".join(f"{port.name} {port.shape}" for port in self.signature.inputs)
        gives = ", ".join(f"{port.name} {port.shape}" for port in self.signature.outputs)
        return f"<Kernel {self.signature.name}: {takes} -> {gives}>"

    @property
    def program(self) -> Program:
        """The program behind it: from the disk, else traced."""
        if self._program is None:
            kept = cache.fetch(self._program_key, cache.PROGRAM) if self._key else None
            self._program = stored.from_bytes(kept or b"") or self._make_program()
        return self._program

    @property
    def key(self) -> str | None:
        """What identifies the program in the disk cache, if it was given."""
        return self._key

    @property
    def identity(self) -> str:
        """The key, or a digest of the program where none was given."""
        return self._key or f"{self.program.digest}|{source_digest()}"

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
        if self._has_simd_code:
            return "fast"
        if self._numpy_path is not None:
            return f"NumPy: {self._failure or 'the program is too long to compile'}"
        if self._failure:
            return f"failed: {self._failure}"
        return "none" if self._level < 0 else "quick"

    def warmup(self) -> None:
        """Wait until the fast code is in use."""
        if self._numpy_path is None:
            self._prepare(FAST)

    def prepare(self, rows: int) -> bool:
        """Have code in use that is worth it for so many rows; False if NumPy has to compute."""
        if not self._has_simd_code and self._numpy_path is None:
            self._prepare(FAST if rows > MANY_ROWS else QUICK)
        return self._numpy_path is None

    def run_rows(
        self,
        rows: tuple[Array, ...],
        outputs: tuple[Array, ...],
        n: int,
        threads: int | None = None,
    ) -> int:
        """Compute n rows of arrays that were checked, by machine code or NumPy; the status."""
        if not self._has_simd_code and self._numpy_path is None:
            self._prepare(QUICK)  # sets `_numpy_path` if there can be no machine code
        if self._numpy_path is not None:
            is_finite = run_with_numpy(self.signature, self._numpy_path, rows, outputs)
            return DONE if is_finite else NOT_FINITE_OUTPUT
        status = self._run(rows, outputs, n, threads)
        if status not in (DONE, NOT_FINITE_OUTPUT):
            raise ValueRangeError("an input was changed by another thread during the call")
        return status

    # Calls that the C extension leaves to Python.

    def _call(self, *args: Any, out: Any = None, threads: Any = None, **named: Any) -> Any:
        signature = self.signature
        workers = thread_number(threads)
        values = in_order(signature, args, named)
        if any(map(is_traced, values)):
            return self._call_traced(values, out)
        bridge = bridge_of(values)
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
        status = self.run_rows(rows, flat, n, workers)
        if self.check_result and status == NOT_FINITE_OUTPUT:
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

    # Machine code.

    def _prepare(self, level: int) -> None:
        """Have code of at least this level in use, cached or compiled now; else use NumPy."""
        if self._is_ready(level):
            return
        with LOCK:
            try:
                if not self._is_ready(level) and not self._from_cache():
                    self._make_code(level)
            except NoMachineCodeError as error:
                self._failure = str(error)
                instead = "the code of the first call stays in use"
                if self._code[0] is None:
                    self._numpy_path = NumpyCode(self.program)
                    instead = "NumPy computes instead, slower"
                warn_once("machine code", f"no machine code here: {error}; {instead}")

    def _make_code(self, level: int) -> None:
        if level == FAST or background_mode() == "off":
            self._announce(FAST)
            self._compile_fast()
            return
        one, level = self._code[0], self._level
        if one is None:
            one, level = self._first_code()
        self._install(one, None, level)  # in a forked child, `_reset_after_fork` took it out of use
        self._submit()
        self._process = os.getpid()

    def _first_code(self) -> tuple[Code, int]:
        """Code of one row to begin with, and its level.

        Quick code is kept too, until there is fast code, and so is the program: a process that
        ended before that has spared the next one the time to trace and to compile.
        """
        key = self._cache_key(1)
        fast = cache.fetch(key)
        if fast is not None:
            return Code(fast), FAST
        quick = cache.fetch(key, cache.QUICK_CODE)
        if quick is None:
            self._announce(QUICK)
            quick = compiled(self._llvm_ir(1), QUICK)
            cache.keep(key, quick, cache.QUICK_CODE)
            cache.keep(self._program_key, stored.to_bytes(self.program), cache.PROGRAM)
        return Code(quick), QUICK

    def _announce(self, level: int) -> None:
        """Warn, once per process, before code is compiled that takes long."""
        steps = self.program.n_steps
        seconds = {one: rate * steps for one, rate in SECONDS_PER_STEP.items()}
        if seconds[level] < LONG:
            return
        text = f"compiling {self.signature.name} ({steps:,} operations) takes about"
        text += f" {seconds[level]:.0f} s"
        if level == QUICK:
            text += f", then {seconds[FAST]:.0f} s in the background for faster code"
        text += "; a shorter function, such as the cost of one stage that is called with a batch of"
        text += " stages, compiles faster; warmup() compiles before time matters"
        if cache.cache_folder() is None:
            text += "; the disk cache, which would keep the code for the next process, is off"
        else:
            text += "; the disk cache keeps the code for the next process"
        warn_once("slow compile", text, SlowCompileWarning)

    def _is_ready(self, level: int) -> bool:
        """Whether code of this level is in use, and fast code is in use or being made."""
        return self._has_simd_code or (level == QUICK and self._process == os.getpid())

    def _submit(self) -> None:
        own, reference = background(), weakref.ref(self)

        def job() -> None:
            kernel = reference()
            if kernel is not None:  # else nobody needs it any more
                kernel._compile_or_fail(own)

        own.submit(job)

    def _compile_or_fail(self, own: Background) -> None:
        """In the background: compile fast code; `status` has the reason of a failure."""
        try:
            self._compile_later(own)
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise

    def _compile_later(self, own: Background) -> None:
        """In the background: compile fast code, of one row first; each is used once it is ready."""
        if self._level < FAST:
            one = self._compile(1, own.compiled)
            with LOCK:
                own.check_open()
                if self._level < FAST:
                    self._install(Code(one), None, FAST)
        if not self._has_simd_code:
            many = self._compile(self._width, own.compiled)
            with LOCK:
                own.check_open()
                if not self._has_simd_code:
                    self._install(self._code[0], Code(many), FAST)

    def _compile_fast(self) -> None:
        one = self._code[0] if self._level == FAST else Code(self._compile(1, compiled))
        self._install(one, Code(self._compile(self._width, compiled)), FAST)

    def _reset_after_fork(self) -> None:
        """In a forked child: make the next call go to `_prepare`, which submits the job again."""
        self._use(0, 0, 1, None)

    def _compile(self, width: int, compiler: Callable[[str], bytes]) -> bytes:
        data = compiler(self._llvm_ir(width))
        cache.keep_fast(self._cache_key(width), data, width)
        return data

    def _llvm_ir(self, width: int) -> str:
        """LLVM IR of a function `f` that computes so many rows at a time."""
        has_checks = self.check_result is not None and width > 1
        checked = checked_results(self.program) if has_checks else ()
        lanes = Lanes(width, self._scalar, has_short_offsets())
        return emit_llvm(self.program, "f", lanes, checked=checked)

    def _from_cache(self) -> bool:
        one, many = cache.fetch(self._cache_key(1)), cache.fetch(self._cache_key(self._width))
        if one is None or many is None:
            return False
        self._install(Code(one), Code(many), FAST)
        return True

    def _install(self, one: Code | None, many: Code | None, level: int) -> None:
        """Use this code from now on."""
        assert one
        self._code = one, many
        many_address = many.address("f") if many else 0
        leases = one.lease, many.lease if many else None
        self._use(one.address("f"), many_address, self._width if many else 1, leases)
        self._level, self._has_simd_code = level, many is not None
        if self._has_simd_code:
            _unfinished.discard(self)
        else:
            _unfinished.add(self)

    @property
    def _scalar(self) -> str:
        return "double" if self.dtype == np.float64 else "float"

    @property
    def _width(self) -> int:
        lanes = this_machine().lanes
        return lanes if self.dtype == np.float64 else 2 * lanes

    def _cache_key(self, width: int) -> str:
        machine = (this_machine().name, *RELOCATION.values())
        text = "|".join((__version__, *machine, self._scalar, str(width), self.identity))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def _program_key(self) -> str:
        return hashlib.sha256(f"{__version__}|{self.identity}".encode()).hexdigest()


_unfinished: weakref.WeakSet[Kernel] = weakref.WeakSet()  # without code of W rows; needs LOCK


def _reset_after_fork() -> None:
    for kernel in list(_unfinished):
        kernel._reset_after_fork()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
