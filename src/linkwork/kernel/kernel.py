"""Kernels: programs that NumPy users call.

Rows     each argument is a row, or rows with any leading batch axes, broadcast as NumPy does
First    the first call uses code that is made quickly; fast code takes over when it is ready
Threads  large batches are shared out over threads, without the GIL, chunk by chunk
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError
from linkwork.expr.emit_llvm import Lanes, emit_llvm
from linkwork.expr.program import Port, Program
from linkwork.kernel import cache
from linkwork.kernel.background import background
from linkwork.kernel.jit import FAST, QUICK, Code, compiled, this_machine

if TYPE_CHECKING:
    from linkwork.kernel._call import Call
else:
    try:
        from linkwork.kernel._call import Call
    except ImportError:  # no compiler when linkwork was installed
        from linkwork.kernel.call_slow import Call

CHUNK_BYTES = 256 * 1024  # what a thread works on at a time, about the size of a second-level cache
NOT_UNIT = 1e-3  # a quaternion further than this from norm 1 is a mistake, not rounding
SHARED_ROWS = 2048  # batches larger than this are shared out over threads


@dataclass(frozen=True, slots=True)
class Unit:
    """Numbers of an input whose norm must be 1: a quaternion, or cosine and sine of an angle."""

    input: int
    offset: int
    count: int
    owner: str  # for messages, such as "base quaternion"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a kernel takes and gives."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    units: tuple[Unit, ...] = ()


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
        check_input: Callable[[Sequence[Port], Sequence[Array]], None] | None = None,
        check_result: Callable[[Kernel, Sequence[Array], Sequence[Array]], None] | None = None,
    ) -> None:
        """Prepare a kernel; nothing is traced or compiled before it is needed.

        Args:
            signature: names and shapes.
            make_program: traces the program.
            key: a name for the program that is known without tracing it, for the cache.
            dtype: float64 or float32.
            check_input: looks at the rows of every call, and raises if they are no good.
            check_result: looks at outputs that are not finite, and raises if that is no good.
        """
        super().__init__(
            tuple(port.size for port in signature.inputs),
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
        self._check_input = check_input
        self._check_result = check_result
        self._program: Program | None = None
        self._lock = threading.Lock()
        self._level = -1  # of the code in use; -1 for none
        self._wide = False  # whether there is code for several rows at a time

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

    def warmup(self) -> None:
        """Wait until the code that runs fast is in use."""
        self._prepare(FAST)

    # What happens in a call that the C extension does not take.

    def _call(self, *args: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        rows, batch = self._rows(self._arguments(args, named))
        if self._check_input:
            self._check_input(self.signature.inputs, rows)
        outputs, given = self._outputs(batch, out, rows)
        if self._level < FAST:
            self._prepare(QUICK)
        n = int(np.prod(batch))
        flat = tuple(array.reshape(n, -1) for array in outputs)
        strides = tuple(array.shape[1] if array.shape[0] != 1 or n == 1 else 0 for array in rows)
        if n:
            self._run(rows, strides, flat, n, threads)
        if self._check_result:
            self._check_result(self, rows, flat)
        results = [
            target if target is array else _copied(target, array)
            for target, array in zip(given, outputs, strict=True)
        ]
        return tuple(results) if len(results) > 1 else results[0]

    def _arguments(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        ports = self.signature.inputs
        values = dict(zip((port.name for port in ports), args, strict=False))
        names = ", ".join(port.name for port in ports)
        if len(args) > len(ports):
            text = f"{self.signature.name} takes {len(ports)} arguments ({names}), got {len(args)}"
            raise ArgumentError(text)
        for name, value in named.items():
            if name in values or name not in {port.name for port in ports}:
                why = "is given twice" if name in values else f"is unknown; known: {names}"
                raise ArgumentError(f"{self.signature.name}: argument {name!r} {why}")
            values[name] = value
        missing = [port.name for port in ports if port.name not in values]
        if missing:
            text = f"{self.signature.name} takes {names}; {', '.join(missing)} missing"
            raise ArgumentError(text)
        return [values[port.name] for port in ports]

    def _rows(self, values: Sequence[Any]) -> tuple[tuple[Array, ...], tuple[int, ...]]:
        """Arguments as (rows, size) arrays, one row where it is shared; and the batch shape."""
        arrays = [
            self._array(value, port)
            for value, port in zip(values, self.signature.inputs, strict=True)
        ]
        batches = [
            array.shape[: array.ndim - len(port.shape)]
            for array, port in zip(arrays, self.signature.inputs, strict=True)
        ]
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            listed = ", ".join(
                f"{port.name} {own}"
                for port, own in zip(self.signature.inputs, batches, strict=True)
            )
            raise ShapeError(f"batch axes do not fit each other: {listed}") from None
        rows = tuple(
            _as_rows(array, own, batch, port)
            for array, own, port in zip(arrays, batches, self.signature.inputs, strict=True)
        )
        return self._normalized(rows), batch

    def _array(self, value: Any, port: Port) -> Array:
        try:
            array = np.asarray(value)
            if array.dtype.kind not in "fiub":
                raise TypeError  # noqa: TRY301 - complex numbers, texts and objects are no positions
            array = np.ascontiguousarray(array, dtype=self.dtype)
        except (TypeError, ValueError):
            text = f"{port.name}: expected numbers, got {type(value).__name__}"
            raise ArgumentError(text) from None
        own = array.shape[array.ndim - len(port.shape) :] if array.ndim >= len(port.shape) else None
        if own != port.shape:
            wanted = ", ".join(["...", *map(str, port.shape)])
            raise ShapeError(f"{port.name}: expected ({wanted}), got {np.shape(value)}")
        return array

    def _normalized(self, rows: tuple[Array, ...]) -> tuple[Array, ...]:
        """Scale what must have norm 1 and nearly has; refuse what has not."""
        found = list(rows)
        noise = 4 * np.finfo(self.dtype).eps
        for unit in self.signature.units:
            where = slice(unit.offset, unit.offset + unit.count)
            part = found[unit.input][:, where]
            norm = np.sqrt((part.astype(np.float64) ** 2).sum(axis=1))
            off = np.abs(norm - 1)
            if (off > NOT_UNIT).any():
                worst = int(np.argmax(off > NOT_UNIT))
                name = self.signature.inputs[unit.input].name
                text = f"{name}: {unit.owner} has norm {norm[worst]:.6g}, not 1"
                raise ValueRangeError(text + (f" (row {worst})" if len(norm) > 1 else ""))
            if (off > noise).any():
                copy = found[unit.input].copy()
                copy[:, where] = part / norm[:, None]
                found[unit.input] = copy
        return tuple(found)

    def _outputs(
        self, batch: tuple[int, ...], out: Any, rows: Sequence[Array]
    ) -> tuple[list[Array], list[Array]]:
        """Arrays to write to, and the ones to return."""
        ports = self.signature.outputs
        shapes = [(*batch, *port.shape) for port in ports]
        if out is None:
            made = [np.empty(shape, self.dtype) for shape in shapes]
            return made, made
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(ports):
            raise ArgumentError(f"out: expected {len(ports)} arrays, got {len(given)}")
        targets: list[Array] = []
        for array, shape, port in zip(given, shapes, ports, strict=True):
            _check_out(array, shape, port, self.dtype)
            direct = array.flags.c_contiguous and array.flags.aligned
            overlaps = any(np.may_share_memory(array, other) for other in rows)
            targets.append(array if direct and not overlaps else np.empty(shape, self.dtype))
        return targets, given

    # Machine code.

    def _prepare(self, level: int) -> None:
        """Have code of at least this level in use, from the cache or made now."""
        with self._lock:
            if self._level >= level and (level == QUICK or self._wide):
                return
            if self._from_cache():
                return
            if level == FAST:
                self._compile_fast()
                return
            code = Code(compiled(emit_llvm(self.program, "f", Lanes(1, self._scalar)), QUICK))
            self._take(code, None, QUICK)
            background().submit(self._compile_later)

    def _compile_later(self) -> None:
        """Compile for speed beside the calls; each piece is taken over when it is ready."""
        one = self._compile(1, background().compiled)
        with self._lock:
            if self._level < FAST:
                self._take(Code(one), None, FAST)
        many = self._compile(self._width, background().compiled)
        with self._lock:
            if not self._wide:
                self._take(Code(one), Code(many), FAST)

    def _compile_fast(self) -> None:
        one, many = self._compile(1, compiled), self._compile(self._width, compiled)
        self._take(Code(one), Code(many), FAST)

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

    def _take(self, one: Code, many: Code | None, level: int) -> None:
        many_address = many.address("f") if many else 0
        self.use(one.address("f"), many_address, self._width if many else 1, (one, many))
        self._level, self._wide = level, many is not None

    @property
    def _scalar(self) -> str:
        return "double" if self.dtype == np.float64 else "float"

    @property
    def _width(self) -> int:
        lanes = this_machine().lanes
        return lanes if self.dtype == np.float64 else 2 * lanes

    def _cache_key(self, width: int) -> str:
        import hashlib

        from linkwork.version import __version__

        content = self._key or self.program.digest
        text = "|".join((__version__, this_machine().name, self._scalar, str(width), content))
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
        width = sum(port.size for port in (*self.signature.inputs, *self.signature.outputs))
        chunk = max(64, CHUNK_BYTES // (max(width, 1) * self.dtype.itemsize) // 64 * 64)
        workers = _thread_count(threads) if n > max(chunk, SHARED_ROWS // 2) else 1
        starts = iter(range(0, n, chunk))

        def work(turns: Iterator[int]) -> None:
            for start in turns:
                self.rows(rows, strides, outputs, start, min(start + chunk, n))

        shared = _Shared(starts)
        others = [threading.Thread(target=work, args=(shared,)) for _ in range(workers - 1)]
        for thread in others:
            thread.start()
        try:
            work(shared)
        finally:
            shared.stop()
            for thread in others:
                thread.join()


class _Shared:
    """An iterator that several threads draw from."""

    def __init__(self, items: Iterator[int]) -> None:
        self._items = items
        self._lock = threading.Lock()
        self._stopped = False

    def __iter__(self) -> _Shared:
        return self

    def __next__(self) -> int:
        with self._lock:
            if self._stopped:
                raise StopIteration
            return next(self._items)

    def stop(self) -> None:
        """Give out nothing more."""
        self._stopped = True


def _thread_count(threads: int | None) -> int:
    if threads is None:
        given = os.environ.get("LINKWORK_THREADS", "")
        threads = int(given) if given.isdigit() else len(os.sched_getaffinity(0))
    return max(1, threads)


def _as_rows(array: Array, own: tuple[int, ...], batch: tuple[int, ...], port: Port) -> Array:
    """(rows, size), with one row where all share it."""
    if int(np.prod(own)) == 1:
        return array.reshape(1, port.size)
    if own != batch:
        array = np.ascontiguousarray(np.broadcast_to(array, (*batch, *port.shape)))
    return array.reshape(-1, port.size) if port.size else array.reshape(int(np.prod(batch)), 0)


def _check_out(array: Any, shape: tuple[int, ...], port: Port, dtype: np.dtype[Any]) -> None:
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"out: expected an array for {port.name}, got {type(array).__name__}")
    if array.shape != shape:
        raise ShapeError(f"out: expected {shape} for {port.name}, got {array.shape}")
    if array.dtype != dtype:
        raise ArgumentError(f"out: expected {dtype} for {port.name}, got {array.dtype}")
    if not array.flags.writeable:
        raise ArgumentError(f"out: the array for {port.name} is read-only")


def _copied(target: Array, array: Array) -> Array:
    target[...] = array
    return target
