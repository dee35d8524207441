"""Calls with arrays of dask: the result is a dask array, computed when dask computes it.

Any kernel and any method of `linkwork.KinDyn` takes dask arrays in place of NumPy's, or mixed with
them; there is no other class to learn. A call looks at shapes and types only, and adds to the graph

    kernel      once, under a name made from its content, so each worker gets it once
    block       one task for each block of the batch axes: the kernel called with NumPy arrays
    output      if the kernel gives several arrays, one task that takes one of them out

Blocks     those of the inputs along the batch axes. Axes of a row are one block; inputs that are
           cut there are joined first
Code       a block waits for the fast code, so all blocks are computed by the same code
Threads    see `threads_of_block`
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from math import isnan, prod
from typing import Any, NoReturn

import dask.array as da
import numpy as np
from dask import config
from dask.delayed import delayed
from dask.utils import parse_bytes

from linkwork.engine.kernel.arguments import constants_of, reject_shape
from linkwork.engine.kernel.compile import CompiledFunction
from linkwork.engine.kernel.derive import Derivative
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic import serialization
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ShapeError, warn

# A block of a result that is more than this many times dask's `array.chunk-size` gets a warning.
MOST_CHUNK_SIZES = 8


def call_later(kernel: Kernel, values: Sequence[Any], *, out: Any, threads: int | None) -> Any:
    """What a call gives, as dask arrays.

    Args:
        kernel: what is called.
        values: an argument for each input of the kernel, dask's or NumPy's.
        out: must be None.
        threads: how many of them a block may use; see `threads_of_block` if not given.
    """
    if out is not None:
        text = "out: a dask array is computed later, so there is nothing to write yet"
        raise ArgumentError(f"{text}; store the result, such as by result.to_zarr(path)")
    inputs = _inputs(kernel, values)
    ports = kernel.signature.inputs
    n_axes = max(array.ndim - len(port.shape) for array, port in zip(inputs, ports, strict=True))
    batch = tuple(f"batch {k}" for k in range(n_axes))
    pairs: list[Any] = []
    for array, port in zip(inputs, ports, strict=True):
        own = tuple(f"input {port.name} {k}" for k in range(len(port.shape)))
        first = n_axes - (array.ndim - len(port.shape))
        pairs += [array, (*batch[first:], *own)]
    return _results(kernel, batch, [*pairs, threads, None])


def _results(kernel: Kernel, batch: tuple[str, ...], arguments: list[Any]) -> Any:
    """The outputs, each a dask array of the blocks that the arguments have together."""
    outputs, dtype = kernel.signature.outputs, kernel.dtype
    names = [tuple(f"output {port.name} {k}" for k in range(len(port.shape))) for port in outputs]
    label = kernel.signature.name.replace(" ", "")  # what dask's dashboard shows
    kernel_once = delayed(Sent(kernel), pure=True, traverse=False)
    if len(outputs) == 1:
        found = da.blockwise(
            _compute, (*batch, *names[0]), kernel_once, None, *arguments, token=label,
            **_described(batch, names[0], outputs[0], dtype),
        )  # fmt: skip
        results = [found]
    else:
        together = da.blockwise(
            _compute, batch, kernel_once, None, *arguments,
            token=label, meta=np.empty((0,) * len(batch), object), concatenate=False,
        )  # fmt: skip
        results = [
            da.blockwise(
                _taken, (*batch, *own), together, batch, k, None, token=port.name,
                **_described(batch, own, port, dtype),
            )
            for k, (own, port) in enumerate(zip(names, outputs, strict=True))
        ]  # fmt: skip
    _warn_of_large_blocks(kernel, results)
    return kernel._returned(results)  # pyright: ignore[reportPrivateUsage]


def _described(
    batch: tuple[str, ...], own: tuple[str, ...], port: Port, dtype: np.dtype[Any]
) -> dict[str, Any]:
    """What dask need not find out about a result by calling the kernel."""
    return {
        "new_axes": dict(zip(own, port.shape, strict=True)),
        "dtype": dtype,
        "meta": np.empty((0,) * (len(batch) + len(own)), dtype),
        "concatenate": False,
    }


# In a task.


def _compute(sent: Sent, *arguments: Any) -> Any:
    """The results for one block: an array, or a tuple of arrays."""
    *blocks, threads = arguments
    kernel = sent.kernel
    kernel.warmup()
    return kernel(*map(_only_block, blocks), threads=threads_of_block(threads))


def _taken(together: tuple[Array, ...], index: int) -> Array:
    """One of the arrays that a kernel gave for a block."""
    return together[index]


def _only_block(block: Any) -> Array:
    """Dask gives blocks along the axes of a row as lists, here of one block each."""
    while isinstance(block, list):
        (block,) = block
    return block


# Arguments.


def _inputs(kernel: Kernel, values: Sequence[Any]) -> list[da.Array]:
    """The arguments as dask arrays with rows in one block; NumPy's are cut as dask's are."""
    signature = kernel.signature
    found: list[Any] = []
    for port, value in zip(signature.inputs, values, strict=True):
        if isinstance(value, da.Array):
            found.append(_checked(value, port, signature.meanings.get(port.name, "")))
        elif _is_of_dask(value):
            _refuse_kind(value, port)
        else:
            found.append(constants_of(signature, port, value).astype(kernel.dtype, copy=False))
    _check_batch(signature.inputs, found)
    chunks = _chunks_from_the_end(signature.inputs, found)
    return [
        array if isinstance(array, da.Array) else _cut(array, port, chunks)
        for port, array in zip(signature.inputs, found, strict=True)
    ]


def _checked(array: da.Array, port: Port, meaning: str) -> da.Array:
    """A dask array whose numbers and shape fit an input."""
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"{port.name}: expected numbers, got a dask array of {array.dtype}")
    n = len(port.shape)
    own: tuple[Any, ...] = array.shape[array.ndim - n :] if array.ndim >= n else ()
    if own != port.shape:
        hint = "; compute_chunk_sizes() finds sizes that dask does not know"
        reject_shape(array.shape, port, meaning + hint * any(map(isnan, own)))
    in_one: Any = dict.fromkeys(range(array.ndim - n, array.ndim), -1)
    is_cut = any(count > 1 for count in array.numblocks[array.ndim - n :])
    return array.rechunk(in_one) if is_cut else array


def _check_batch(ports: Sequence[Port], arrays: Sequence[Any]) -> None:
    """Refuse batch axes that do not fit each other; sizes that dask does not know fit any."""
    own = [a.shape[: a.ndim - len(port.shape)] for a, port in zip(arrays, ports, strict=True)]
    known = [tuple(1 if isnan(size) else size for size in batch) for batch in own]
    try:
        np.broadcast_shapes(*known)
    except ValueError:
        names = [port.name for port in ports]
        listed = ", ".join(f"{name} {batch}" for name, batch in zip(names, own, strict=True))
        raise ShapeError(f"batch axes do not fit each other: {listed}") from None


def _chunks_from_the_end(ports: Sequence[Port], arrays: Sequence[Any]) -> list[tuple[int, ...]]:
    """How dask arrays are cut along the batch axes, the last axis first: the finest cut of each."""
    chunks: list[tuple[int, ...]] = []
    for array, port in zip(arrays, ports, strict=True):
        if not isinstance(array, da.Array):
            continue
        own = array.chunks[: array.ndim - len(port.shape)]
        chunks += [()] * (len(own) - len(chunks))
        for axis, sizes in enumerate(reversed(own)):
            chunks[axis] = max(chunks[axis], sizes, key=len)
    return chunks


def _cut(array: Array, port: Port, chunks: Sequence[tuple[int, ...]]) -> da.Array:
    """A NumPy array as one of dask, with blocks like those of the others."""
    batch = array.shape[: array.ndim - len(port.shape)]
    cuts: list[tuple[int, ...]] = [(size,) for size in array.shape]
    for axis, sizes in zip(reversed(range(len(batch))), chunks, strict=False):
        if batch[axis] > 1 and sum(sizes) == batch[axis]:
            cuts[axis] = sizes
    chunked: Any = da.from_array  # its stubs know texts only
    return chunked(array, chunks=tuple(cuts))


def _is_of_dask(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "dask"


def _refuse_kind(value: Any, port: Port) -> NoReturn:
    text = f"{port.name}: expected a dask array, got {type(value).__name__} of dask"
    raise ArgumentError(f"{text}; da.from_delayed and to_dask_array() make arrays")


def _warn_of_large_blocks(kernel: Kernel, results: Sequence[da.Array]) -> None:
    """Say if blocks become so large that a worker may not have the memory for them."""
    usual = parse_bytes(config.get("array.chunk-size"))
    n_axes = results[0].ndim - len(kernel.signature.outputs[0].shape)
    rows = prod(max(sizes, default=0) for sizes in results[0].chunks[:n_axes])
    width = sum(port.size for port in kernel.signature.outputs) * kernel.dtype.itemsize
    if not isnan(rows) and rows * width > MOST_CHUNK_SIZES * usual:
        size = f"{rows * width / 1e9:.1f} GB"
        wanted = max(16, usual // width // 16 * 16)
        text = f"{kernel.signature.name}: a block of {rows:,} rows gives {size}"
        warn(f"{text}; rechunk the inputs to about {wanted:,} rows")


# Kernels in tasks.


class Sent:
    """A kernel that goes to workers by its content.

    A kernel of a robot is pickled as the robot and what is computed. A function of
    `linkwork.compile` is pickled by its name otherwise, as functions are, but a worker does not
    have what a notebook defines: here it goes as its program.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __reduce__(self) -> Any:
        return _received, (_recipe(self.kernel),)

    def __dask_tokenize__(self) -> Any:
        return self.kernel.__dask_tokenize__()


def _recipe(kernel: Kernel) -> Any:
    """What a kernel is made from again, without names of the user's modules."""
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
        text = f"{name}: sent by another version of linkwork"
        raise ArgumentError(f"{text}; install the same one on the client and on all workers")
    return CompiledFunction(name, program, np.dtype(dtype).type)


def threads_of_block(asked: int | None = None) -> int:
    """How many threads linkwork uses for one block.

    One, as dask computes several blocks at a time, unless the call says `threads=` or the worker's
    environment has LINKWORK_THREADS. In a worker of `distributed`, its threads times those of
    linkwork are no more than the cores that it may use.

    Args:
        asked: the number that the call was given.
    """
    worker_threads = _threads_of_worker()
    if worker_threads is None:
        return asked or 1
    given = os.environ.get("LINKWORK_THREADS", "")
    wanted = asked or (int(given) if given.isascii() and given.isdigit() else 1)
    return max(1, min(wanted, _cores() // worker_threads))


def _threads_of_worker() -> int | None:
    """How many tasks the worker runs at a time; None outside of a worker of `distributed`."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        return max(1, get_worker().state.nthreads)
    except ValueError:
        return None


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
