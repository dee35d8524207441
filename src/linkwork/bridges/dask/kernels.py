"""Kernels in the tasks of dask: how they are sent, and how many threads they use there."""

from __future__ import annotations

import os
import sys
from typing import Any

from linkwork.engine.kernel.compile import CompiledFunction
from linkwork.engine.kernel.derive import Derivative
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic import serialization as stored
from linkwork.errors import ArgumentError


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
        name, program = kernel.signature.name, stored.to_bytes(kernel.program)
        return "function", name, program, kernel.dtype.name
    return "kernel", kernel


def _received(recipe: Any) -> Sent:
    return Sent(_made(recipe))


def _made(recipe: Any) -> Kernel:
    kind, *parts = recipe
    if kind == "derivative":
        return _made(parts[0]).derivative(*parts[1:])
    if kind == "kernel":
        return parts[0]
    name, data, dtype = parts
    program = stored.from_bytes(data)
    if program is None:
        text = f"{name}: sent by another version of linkwork"
        raise ArgumentError(f"{text}; install the same one on the client and on all workers")
    import numpy as np

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
