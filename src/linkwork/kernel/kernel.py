"""Kernels: programs that NumPy users call.

Rows     each argument is a row, or rows with any leading batch axes, broadcast as NumPy does
First    the first call uses code that is made quickly; fast code takes over when it is ready
Threads  large batches are shared out over threads, without the GIL, chunk by chunk
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.arrays import Array
from linkwork.expr.program import Port, Program
from linkwork.kernel.arguments import Signature, as_rows, in_order, normalized, outputs_for
from linkwork.kernel.sharing import share_out, thread_count
from linkwork.llvm.emit import emit_llvm
from linkwork.llvm.lanes import Lanes
from linkwork.machine import cache
from linkwork.machine.background import Background, background, background_mode
from linkwork.machine.compiler import FAST, LOCK, QUICK, RELOCATION, Code, compiled
from linkwork.machine.notices import warn_once
from linkwork.machine.numpy_code import NumpyCode
from linkwork.machine.processor import NoMachineCodeError, this_machine
from linkwork.machine.sources import source_digest
from linkwork.version import __version__

if TYPE_CHECKING:
    from linkwork.kernel._call import Call
else:
    try:
        from linkwork.kernel._call import Call
    except ImportError:  # no compiler when linkwork was installed
        from linkwork.kernel.call_slow import Call

CHUNKS = 8  # a thread works on about so many parts of a batch, one after the other
FEWEST_ROWS, MOST_ROWS = 64, 16384  # of a part; after each one, an interrupt may land
CHUNK_BYTES, CHUNK_ROWS = 4 << 20, 4096  # of a part that NumPy computes, at most
SHARED_ROWS = 2048  # batches larger than this are shared out over threads


class Kernel(Call):
    """A compiled function of arrays.

    Call it with one array for each input, in order or by name. `out` takes an array to write to, or
    a tuple of them; `threads` the number of threads to use for a large batch.
    """

    def __init__(
        self,
        signature: Signature,
        make_program: Callable[[], Program],
        *,
        key: str | None = None,
        dtype: type[np.floating[Any]] = np.float64,
        plain: Callable[..., Sequence[Any]] | None = None,
        check_input: Callable[[Sequence[Port], Sequence[Array]], None] | None = None,
        check_result: Callable[[Kernel, Sequence[Array], Sequence[Array]], None] | None = None,
    ) -> None:
        """Prepare a kernel; nothing is traced or compiled before it is needed.

        Args:
            signature: names and shapes.
            make_program: traces the program.
            key: a name for the program that is known without tracing it, for the cache.
            dtype: float64 or float32.
            plain: computes the outputs from the columns of the inputs, as flat sequences, with
            NumPy;
                used instead of compiled code if given, for what is too large to compile.
            check_input: looks at the rows of every call, and raises if they are no good.
            check_result: looks at outputs that are not finite, and raises if that is no good.
        """
        super().__init__(
            tuple(port.shape for port in signature.inputs),
            tuple(port.shape for port in signature.outputs),
            tuple((unit.input, unit.offset, unit.count) for unit in signature.units),
            dtype == np.float32,
            check_result is not None,
            -2 if check_input else SHARED_ROWS,
            self._call,
        )
        self.signature = signature
        self.dtype = np.dtype(dtype)
        self._make_program = make_program
        self._key = key
        self._plain = plain
        self._check_input = check_input
        self._check_result = check_result
        self._program: Program | None = None
        self._process = 0  # whose background makes the fast code
        self._code: tuple[Code | None, Code | None] = None, None  # for one row, and for several
        self._level = -1  # of the code in use; -1 for none
        self._wide = False  # whether there is code for several rows at a time, which is made last

    def __repr__(self) -> str:
        takes = ", ".join(f"{port.name} {port.shape}" for port in self.signature.inputs)
        gives = ", ".join(f"{port.name} {port.shape}" for port in self.signature.outputs)
        return f"<Kernel {self.signature.name}: {takes} -> {gives}>"

    @property
    def program(self) -> Program:
        """The program behind it."""
        if self._program is None:
            self._program = self._make_program()
        return self._program

    @property
    def key(self) -> str | None:
        """A name for the program that is known without tracing it, if it was given one."""
        return self._key

    def warmup(self) -> None:
        """Wait until the code that runs fast is in use."""
        if self._plain is None:
            self._prepare(FAST)

    # What happens in a call that the C extension does not take.

    def _call(self, *args: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        signature = self.signature
        rows, batch = as_rows(signature, in_order(signature, args, named), self.dtype)
        n = prod(batch)
        strides = tuple(array.shape[1] if array.shape[0] != 1 or n == 1 else 0 for array in rows)
        if not self._is_unit(rows, strides, n):
            rows = normalized(signature, rows, self.dtype)
        if self._check_input:
            self._check_input(signature.inputs, rows)
        outputs, given = outputs_for(signature, batch, out, rows, self.dtype)
        if not self._wide and self._plain is None:
            self._prepare(QUICK)
        flat = tuple(
            array.reshape(n, port.size)
            for array, port in zip(outputs, signature.outputs, strict=True)
        )
        if n:
            self._run(rows, strides, flat, n, threads)
        if self._check_result:
            self._check_result(self, rows, flat)
        results = [
            target if target is array else _copied(target, array)
            for target, array in zip(given, outputs, strict=True)
        ]
        return tuple(results) if len(results) > 1 else results[0]

    # Machine code.

    def _prepare(self, level: int) -> None:
        """Have code of at least this level in use, from the cache or made now; else use NumPy."""
        if self._is_ready(level):
            return
        with LOCK:
            try:
                if not self._is_ready(level) and not self._from_cache():
                    self._make_code(level)
            except NoMachineCodeError as error:
                instead = "the code of the first call stays in use"
                if self._code[0] is None:
                    self._plain, instead = NumpyCode(self.program), "NumPy computes instead, slower"
                warn_once("machine code", f"no machine code here: {error}; {instead}")

    def _make_code(self, level: int) -> None:
        if level == FAST or background_mode() == "off":
            self._compile_fast()
            return
        one, _ = self._code
        if one is None:
            ir = emit_llvm(self.program, "f", Lanes(1, self._scalar))
            self._take(Code(compiled(ir, QUICK)), None, QUICK)
        else:  # in a forked child, where `_reset_after_fork` took it out of use
            self._take(one, None, self._level)
        self._submit()
        self._process = os.getpid()

    def _is_ready(self, level: int) -> bool:
        """Whether there is such code; while it is not the best, whether that is on its way."""
        return self._wide or (level == QUICK and self._process == os.getpid())

    def _submit(self) -> None:
        own, reference = background(), weakref.ref(self)

        def job() -> None:
            kernel = reference()
            if kernel is not None:  # else nobody needs it any more
                kernel._compile_later(own)

        own.submit(job)

    def _compile_later(self, own: Background) -> None:
        """Compile for speed beside the calls; each piece is taken over when it is ready."""
        if self._level < FAST:
            one = self._compile(1, own.compiled)
            with LOCK:
                own.check_open()
                if self._level < FAST:
                    self._take(Code(one), None, FAST)
        if not self._wide:
            many = self._compile(self._width, own.compiled)
            with LOCK:
                own.check_open()
                if not self._wide:
                    self._take(self._code[0], Code(many), FAST)

    def _compile_fast(self) -> None:
        one = self._code[0] if self._level == FAST else Code(self._compile(1, compiled))
        self._take(one, Code(self._compile(self._width, compiled)), FAST)

    def _reset_after_fork(self) -> None:
        """In a forked child: let the next call go to `_prepare`, which has fast code made here."""
        self._use(0, 0, 1, self._code)

    def _compile(self, width: int, compiler: Callable[[str], bytes]) -> bytes:
        data = compiler(emit_llvm(self.program, "f", Lanes(width, self._scalar)))
        cache.keep(self._cache_key(width), data)
        return data

    def _from_cache(self) -> bool:
        one, many = cache.fetch(self._cache_key(1)), cache.fetch(self._cache_key(self._width))
        if one is None or many is None:
            return False
        self._take(Code(one), Code(many), FAST)
        return True

    def _take(self, one: Code | None, many: Code | None, level: int) -> None:
        assert one
        self._code = one, many
        many_address = many.address("f") if many else 0
        self._use(one.address("f"), many_address, self._width if many else 1, self._code)
        self._level, self._wide = level, many is not None
        if self._wide:
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
        content = self._key or f"{self.program.digest}|{source_digest()}"
        machine = (this_machine().name, *RELOCATION.values())
        text = "|".join((__version__, *machine, self._scalar, str(width), content))
        return hashlib.sha256(text.encode()).hexdigest()

    # Rows.

    def _run(
        self,
        rows: tuple[Array, ...],
        strides: tuple[int, ...],
        outputs: tuple[Array, ...],
        n: int,
        threads: int | None,
    ) -> None:
        workers = thread_count(threads) if n > SHARED_ROWS // 2 else 1
        if self._plain is None:
            most = MOST_ROWS if workers == 1 else min(n // (CHUNKS * workers), MOST_ROWS)
            run = self._rows
        else:  # each step makes an array of so many rows
            width = sum(port.size for port in (*self.signature.inputs, *self.signature.outputs))
            most = min(CHUNK_ROWS, CHUNK_BYTES // (max(width, 1) * self.dtype.itemsize))
            run = self._plain_rows
        chunk = max(FEWEST_ROWS, most // FEWEST_ROWS * FEWEST_ROWS)
        share_out(lambda start, stop: run(rows, strides, outputs, start, stop), n, chunk, workers)

    def _plain_rows(
        self,
        rows: tuple[Array, ...],
        strides: tuple[int, ...],
        outputs: tuple[Array, ...],
        start: int,
        stop: int,
    ) -> None:
        """What `_rows` does, with NumPy."""
        assert self._plain
        columns = [
            tuple((array[start:stop] if stride else array).T)
            for array, stride in zip(rows, strides, strict=True)
        ]
        with np.errstate(all="ignore"):  # compiled code says nothing either
            for array, numbers in zip(outputs, self._plain(*columns), strict=True):
                if isinstance(numbers, np.ndarray) and numbers.dtype != object:  # one row for all
                    array[start:stop] = numbers
                    continue
                for place, number in enumerate(numbers):
                    array[start:stop, place] = number


def _copied(target: Array, array: Array) -> Array:
    target[...] = array
    return target


_unfinished: weakref.WeakSet[Kernel] = weakref.WeakSet()  # changed while LOCK is held


def _reset_after_fork() -> None:
    for kernel in list(_unfinished):
        kernel._reset_after_fork()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
