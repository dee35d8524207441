"""`Call` where the C extension could not be built: through ctypes, on one thread, 10 us slower."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from linkwork.engine.kernel.norms import normalized
from linkwork.engine.kernel.rollout_slow import Step, Tracks, roll, roll_back
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import warn_once

CHUNK_ROWS = 512  # Python handles signals after each chunk
_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p
)
DONE, NOT_UNIT_NORM, NOT_FINITE_OUTPUT = range(3)  # how a call ended
_WARNING = (
    "linkwork was installed without its C extension, so each call takes some 10 microseconds more, "
    "and large batches use one thread; install a C compiler and then linkwork again, or a wheel"
)


class _Code:
    """Machine code for one row and for `width` rows at a time, replaced together."""

    def __init__(self, one: int, many: int, width: int, keep: object) -> None:
        self.one, self.many = _FUNCTION(one), _FUNCTION(many) if many else None
        self.width, self.keep = width, keep
        self.one_bytes = self.one(None, None, None, 0, None)
        self.bytes = max(self.one_bytes, self.many(None, None, None, 0, None) if self.many else 0)

    def workspace(self, size: int) -> tuple[Any, int | None]:
        """Memory, and the first address in it that is aligned to a cache line."""
        if not size:
            return None, None
        memory = ctypes.create_string_buffer(size + 64)
        return memory, -(-ctypes.addressof(memory) // 64) * 64


class Call:
    """Calls a compiled function on NumPy arrays."""

    def __init__(  # noqa: PLR0917 - as the C extension
        self,
        in_shapes: tuple[tuple[int, ...], ...],
        out_shapes: tuple[tuple[int, ...], ...],
        unit_norms: tuple[tuple[int, int, int], ...],
        norm_limits: tuple[float, float],
        single_precision: bool,
        check_inputs: bool,
        check_outputs: bool,
        result: type[tuple[Any, ...]] | None,
        slow: Callable[..., Any],
    ) -> None:
        self._shapes = in_shapes
        self._out_shapes = out_shapes
        self._out_shape = out_shapes[0] if len(out_shapes) == 1 else None
        self._unit_norms, self._noise = unit_norms, norm_limits[0]
        self._type = np.dtype(np.float32 if single_precision else np.float64)
        self._checks = check_inputs, check_outputs
        self._slow = slow
        del result  # calls with several outputs are left to `slow`
        self._ins = ctypes.c_void_p * len(in_shapes)
        self._no_strides = (ctypes.c_int64 * (len(in_shapes) + 1))()  # of one row; only read
        self._machine_code: _Code | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled function."""
        warn_once("C extension", _WARNING)
        if not kwargs and self._machine_code and self._out_shape is not None:
            result = self._call_row(self._machine_code, self._out_shape, args)
            if result is not None:
                return result
        return self._slow(*args, **kwargs)

    def _call_row(
        self, code: _Code, out_shape: tuple[int, ...], args: tuple[Any, ...]
    ) -> Array | None:
        """One row of arrays that need no conversion; None for all other arguments."""
        if len(args) != len(self._shapes) or any(self._checks):
            return None
        addresses: list[int] = []
        for value, shape in zip(args, self._shapes, strict=True):
            if type(value) is not np.ndarray or value.shape != shape or value.dtype != self._type:
                return None
            flags = value.flags
            if not (flags.c_contiguous and flags.aligned):
                return None
            addresses.append(value.__array_interface__["data"][0])
        for index, offset, count in self._unit_norms:
            numbers: list[float] = args[index][offset : offset + count].tolist()
            if abs(sum([x * x for x in numbers]) - 1.0) > self._noise:
                return None
        result = np.empty(out_shape, self._type)
        out = ctypes.c_void_p(result.__array_interface__["data"][0])
        memory, workspace = code.workspace(code.one_bytes)
        code.one(self._ins(*addresses), ctypes.byref(out), self._no_strides, 1, workspace)
        del memory
        return result

    def _use(self, one: int, many: int, width: int, keep: object) -> None:
        """Call the functions at these addresses from now on."""
        self._machine_code = _Code(one, many, width, keep) if one else None

    def _run(
        self,
        inputs: tuple[Array, ...],
        outputs: tuple[Array, ...],
        rows: int,
        threads: int | None,
    ) -> int:
        """Compute rows of prepared arrays on the calling thread; returns the status."""
        del threads
        code = self._machine_code
        assert code
        prepared = normalized(inputs, self._unit_norms, self._type)
        if prepared is None:
            return NOT_UNIT_NORM
        step = max(code.width, CHUNK_ROWS // code.width * code.width)
        memory, workspace = code.workspace(code.bytes)
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            middle = stop - (stop - start) % code.width if code.many else start
            for function, first, last in ((code.many, start, middle), (code.one, middle, stop)):
                if function and last > first:
                    _run_range(function, prepared, outputs, (first, last), workspace)
        del memory
        is_finite = not self._checks[1] or all(np.isfinite(array).all() for array in outputs)
        return DONE if is_finite else NOT_FINITE_OUTPUT

    def _roll(  # noqa: PLR0917 - as the C extension
        self,
        starts: tuple[Array, ...],
        others: tuple[Array, ...],
        results: tuple[Array, ...],
        rows: int,
        steps: int,
        threads: int | None,
    ) -> None:
        """Steps from states to states, on the calling thread; arrays of (rows, steps, size)."""
        warn_once("C extension", _WARNING)
        del threads, rows
        roll(_step(self), Tracks(starts, others, results=results), steps)

    def _roll_back(  # noqa: PLR0917 - as the C extension
        self,
        vjp: Call,
        starts: tuple[Array, ...],
        others: tuple[Array, ...],
        states: tuple[Array, ...],
        cotangents: tuple[Array, ...],
        finals: tuple[Array, ...],
        gradients: tuple[Array, ...],
        rows: int,
        steps: int,
        threads: int | None,
        most_bytes: int,
    ) -> None:
        """Cotangents from the last step to the first, on the calling thread."""
        warn_once("C extension", _WARNING)
        del threads, rows
        tracks = Tracks(starts, others, states, cotangents, finals, gradients)
        roll_back(_step(self), _step(vjp).run, tracks, steps, most_bytes)


def _step(call: Call) -> Step:
    run = partial(call._run, threads=None)  # pyright: ignore[reportPrivateUsage]
    return Step(run, call._unit_norms, len(call._out_shapes), call._type)  # pyright: ignore[reportPrivateUsage]


def _run_range(
    function: Any,
    inputs: tuple[Array, ...],
    outputs: tuple[Array, ...],
    rows: tuple[int, int],
    workspace: int | None,
) -> None:
    first, last = rows
    strides = [array.shape[1] if len(array) > 1 else 0 for array in inputs]
    ins = [
        array.ctypes.data + first * stride * array.itemsize
        for array, stride in zip(inputs, strides, strict=True)
    ]
    outs = [array.ctypes.data + first * array.shape[1] * array.itemsize for array in outputs]
    function(
        (ctypes.c_void_p * len(ins))(*ins),
        (ctypes.c_void_p * len(outs))(*outs),
        (ctypes.c_int64 * (len(strides) + 1))(*strides, 0),
        last - first,
        workspace,
    )
