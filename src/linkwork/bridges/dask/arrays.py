"""Calls with dask arrays: the result is a dask array, computed when dask computes it.

Every kernel and every method of `linkwork.KinDyn` accepts dask arrays, also mixed with NumPy
arrays. A call only inspects shapes and types. It adds to the graph

    kernel      once, under a name derived from its content, so each worker receives it once
    block       one task for each block of the batch axes: the kernel called with NumPy arrays
    output      if the kernel has several outputs, one task for each that selects it

Blocks     those of the inputs along the batch axes. The axes of a row form one block; inputs that
           are split there are merged first
Code       a block waits for the optimized code, so all blocks are computed by the same code
Threads    see `threads_of_block`
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import isnan, prod
from typing import Any, NoReturn

import dask.array as da
import numpy as np
from dask import config
from dask.delayed import delayed
from dask.utils import parse_bytes

from linkwork.engine.kernel.arguments import (
    available_cores,
    constants_of,
    environment_threads,
    reject_shape,
)
from linkwork.engine.kernel.compile import CompiledFunction
from linkwork.engine.kernel.kernel import Derivative, Kernel
from linkwork.engine.symbolic import serialization
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ShapeError, warn

# A warning is issued for blocks of a result larger than this multiple of dask's `array.chunk-size`.
MOST_CHUNK_SIZES = 8


def call_later(kernel: Kernel, values: Sequence[Any], *, out: Any, threads: int | None) -> Any:
    """Return the results of a call as dask arrays.

    Args:
        kernel: the called kernel.
        values: one argument for each input of the kernel, a dask or NumPy array.
        out: must be None.
        threads: number of threads for a block; see `threads_of_block` if not given.
    """
    if out is not None:
        message = "out: not supported with dask arrays, which are computed later"
        raise ArgumentError(f"{message}; store the result, for example with result.to_zarr(path)")
    inputs = _inputs(kernel, values)
    ports = kernel.signature.inputs
    n_axes = max(array.ndim - len(port.shape) for array, port in zip(inputs, ports, strict=True))
    batch = tuple(f"batch {k}" for k in range(n_axes))
    pairs: list[Any] = []
    for array, port in zip(inputs, ports, strict=True):
        row_axes = tuple(f"input {port.name} {k}" for k in range(len(port.shape)))
        first = n_axes - (array.ndim - len(port.shape))
        pairs += [array, (*batch[first:], *row_axes)]
    return _results(kernel, batch, [*pairs, threads, None])


def _results(kernel: Kernel, batch: tuple[str, ...], arguments: list[Any]) -> Any:
    """Return the outputs; each is a dask array with the blocks of the broadcast arguments."""
    outputs, dtype = kernel.signature.outputs, kernel.dtype
    names = [tuple(f"output {port.name} {k}" for k in range(len(port.shape))) for port in outputs]
    label = kernel.signature.name.replace(" ", "")  # shown on dask's dashboard
    kernel_once = delayed(Sent(kernel), pure=True, traverse=False)
    if len(outputs) == 1:
        result = da.blockwise(
            _compute, (*batch, *names[0]), kernel_once, None, *arguments, token=label,
            **_metadata(batch, names[0], outputs[0], dtype),
        )  # fmt: skip
        results = [result]
    else:
        together = da.blockwise(
            _compute, batch, kernel_once, None, *arguments,
            token=label, meta=np.empty((0,) * len(batch), object), concatenate=False,
        )  # fmt: skip
        results = [
            da.blockwise(
                _selected, (*batch, *row_axes), together, batch, k, None, token=port.name,
                **_metadata(batch, row_axes, port, dtype),
            )
            for k, (row_axes, port) in enumerate(zip(names, outputs, strict=True))
        ]  # fmt: skip
    _warn_about_large_blocks(kernel, results)
    return kernel._returned(results)  # pyright: ignore[reportPrivateUsage]


def _metadata(
    batch: tuple[str, ...], row_axes: tuple[str, ...], port: Port, dtype: np.dtype[Any]
) -> dict[str, Any]:
    """Return the metadata of a result, which dask would otherwise infer by calling the kernel."""
    return {
        "new_axes": dict(zip(row_axes, port.shape, strict=True)),
        "dtype": dtype,
        "meta": np.empty((0,) * (len(batch) + len(row_axes)), dtype),
        "concatenate": False,
    }


# Inside a task.


def _compute(sent: Sent, *arguments: Any) -> Any:
    """Compute one block: an array, or a tuple of arrays."""
    *blocks, threads = arguments
    kernel = sent.kernel
    kernel.warmup()
    return kernel(*map(_only_block, blocks), threads=threads_of_block(threads))


def _selected(together: tuple[Array, ...], index: int) -> Array:
    """Select one output of a block."""
    return together[index]


def _only_block(block: Any) -> Array:
    """Unwrap a block: dask passes blocks along the axes of a row as nested lists of one block."""
    while isinstance(block, list):
        (block,) = block
    return block


# Arguments.


def _inputs(kernel: Kernel, values: Sequence[Any]) -> list[da.Array]:
    """Convert arguments to dask arrays with rows in one block; NumPy arrays are split alike."""
    signature = kernel.signature
    arrays: list[Any] = []
    for port, value in zip(signature.inputs, values, strict=True):
        if isinstance(value, da.Array):
            arrays.append(_checked(value, port, signature.meanings.get(port.name, "")))
        elif _is_of_dask(value):
            _reject_type(value, port)
        else:
            arrays.append(constants_of(signature, port, value).astype(kernel.dtype, copy=False))
    _check_batch(signature.inputs, arrays)
    chunks = _chunks_from_the_end(signature.inputs, arrays)
    return [
        array if isinstance(array, da.Array) else _split(array, port, chunks)
        for port, array in zip(signature.inputs, arrays, strict=True)
    ]


def _checked(array: da.Array, port: Port, meaning: str) -> da.Array:
    """Check the type and shape of a dask array; merge the blocks along the axes of a row."""
    if array.dtype.kind not in "fiub":
        message = f"{port.name}: expected real numbers, got a dask array of {array.dtype}"
        raise ArgumentError(message)
    n = len(port.shape)
    row_shape: tuple[Any, ...] = array.shape[array.ndim - n :] if array.ndim >= n else ()
    if row_shape != port.shape:
        hint = "; call compute_chunk_sizes() first: dask does not know all sizes"
        reject_shape(array.shape, port, meaning + hint * any(map(isnan, row_shape)))
    one_block: Any = dict.fromkeys(range(array.ndim - n, array.ndim), -1)
    is_split = any(count > 1 for count in array.numblocks[array.ndim - n :])
    return array.rechunk(one_block) if is_split else array


def _check_batch(ports: Sequence[Port], arrays: Sequence[Any]) -> None:
    """Raise if batch axes cannot be broadcast; sizes unknown to dask are accepted."""
    batches = [a.shape[: a.ndim - len(port.shape)] for a, port in zip(arrays, ports, strict=True)]
    sizes = [tuple(1 if isnan(size) else size for size in batch) for batch in batches]
    try:
        np.broadcast_shapes(*sizes)
    except ValueError:
        names = [port.name for port in ports]
        listed = ", ".join(f"{name} {batch}" for name, batch in zip(names, batches, strict=True))
        raise ShapeError(f"batch axes cannot be broadcast: {listed}") from None


def _chunks_from_the_end(ports: Sequence[Port], arrays: Sequence[Any]) -> list[tuple[int, ...]]:
    """Return the finest chunks of the dask arrays along each batch axis, the last axis first."""
    chunks: list[tuple[int, ...]] = []
    for array, port in zip(arrays, ports, strict=True):
        if not isinstance(array, da.Array):
            continue
        batch_chunks = array.chunks[: array.ndim - len(port.shape)]
        chunks += [()] * (len(batch_chunks) - len(chunks))
        for axis, sizes in enumerate(reversed(batch_chunks)):
            chunks[axis] = max(chunks[axis], sizes, key=len)
    return chunks


def _split(array: Array, port: Port, chunks: Sequence[tuple[int, ...]]) -> da.Array:
    """Convert a NumPy array to a dask array, with blocks like those of the other arguments."""
    batch = array.shape[: array.ndim - len(port.shape)]
    array_chunks: list[tuple[int, ...]] = [(size,) for size in array.shape]
    for axis, sizes in zip(reversed(range(len(batch))), chunks, strict=False):
        if batch[axis] > 1 and sum(sizes) == batch[axis]:
            array_chunks[axis] = sizes
    from_array: Any = da.from_array  # its stubs declare chunks as str
    return from_array(array, chunks=tuple(array_chunks))


def _is_of_dask(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "dask"


def _reject_type(value: Any, port: Port) -> NoReturn:
    message = f"{port.name}: expected a dask array, got dask's {type(value).__name__}"
    raise ArgumentError(f"{message}; convert it with da.from_delayed or to_dask_array()")


def _warn_about_large_blocks(kernel: Kernel, results: Sequence[da.Array]) -> None:
    """Warn if blocks are so large that a worker may run out of memory."""
    usual = parse_bytes(config.get("array.chunk-size"))
    n_axes = results[0].ndim - len(kernel.signature.outputs[0].shape)
    rows = prod(max(sizes, default=0) for sizes in results[0].chunks[:n_axes])
    width = sum(port.size for port in kernel.signature.outputs) * kernel.dtype.itemsize
    if not isnan(rows) and rows * width > MOST_CHUNK_SIZES * usual:
        size = f"{rows * width / 1e9:.1f} GB"
        suggested = max(16, usual // width // 16 * 16)
        message = f"{kernel.signature.name}: the result of a block of {rows:,} rows has {size}"
        warn(f"{message}; rechunk the inputs to about {suggested:,} rows")


# Kernels in tasks.


class Sent:
    """A kernel that is sent to workers by its content.

    A kernel of a robot is pickled as the robot and the quantity. A function of `linkwork.compile`
    is normally pickled by name, as functions are, but a worker cannot import what a notebook
    defines: it is sent as its program instead.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __reduce__(self) -> Any:
        return _received, (_recipe(self.kernel),)

    def __dask_tokenize__(self) -> Any:
        return self.kernel.__dask_tokenize__()


def _recipe(kernel: Kernel) -> Any:
    """Return what a kernel can be rebuilt from, without names of the user's modules."""
    if isinstance(kernel, Derivative):
        function, kind, wrt = kernel.__reduce__()[1]
        return "derivative", _recipe(function), kind, wrt
    if isinstance(kernel, CompiledFunction):
        name, program = kernel.signature.name, serialization.to_bytes(kernel.program)
        return "function", name, program, kernel.dtype.name
    return "kernel", kernel


def _received(recipe: Any) -> Sent:
    return Sent(_kernel_of(recipe))


def _kernel_of(recipe: Any) -> Kernel:
    kind, *parts = recipe
    if kind == "derivative":
        return _kernel_of(parts[0]).derivative(*parts[1:])
    if kind == "kernel":
        return parts[0]
    name, data, dtype = parts
    program = serialization.from_bytes(data)
    if program is None:
        message = f"{name}: sent by another version of linkwork"
        raise ArgumentError(f"{message}; install the same one on the client and on all workers")
    return CompiledFunction(name, program, np.dtype(dtype).type)


def threads_of_block(requested: int | None = None) -> int:
    """Return the number of threads that linkwork uses for one block.

    It is one, as dask computes several blocks at a time, unless the call has `threads=` or the
    worker's environment has LINKWORK_THREADS. In a worker of `distributed`, its threads times those
    of linkwork do not exceed the cores available to it.

    Args:
        requested: the number that was passed to the call.
    """
    worker_threads = _threads_of_worker()
    if worker_threads is None:
        return requested or 1
    count = requested or environment_threads() or 1
    return max(1, min(count, available_cores() // worker_threads))


def _threads_of_worker() -> int | None:
    """Return how many tasks the worker runs at a time; None outside a worker of `distributed`."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        return max(1, get_worker().state.nthreads)
    except ValueError:
        return None
