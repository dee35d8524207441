"""Lowering of kernel calls to XLA programs.

On the CPU    a foreign function call. The handler in the C extension `_xla` looks up the kernel by
              its key and computes all rows with machine code, on several threads, without the GIL
Fallback      a callback to Python, where XLA's interface has another version, the C extension was
              not built, or NumPy computes
Elsewhere     on other devices, and with backend="xla": the operations of the kernel's program
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from math import prod
from operator import attrgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters import mlir

from linkwork.bridges.jax.primitive import Value, batch_of, call_p, common_batch
from linkwork.engine.kernel.extension import Call
from linkwork.engine.kernel.kernel import Derivative, Kernel
from linkwork.engine.symbolic.operations import OPERATIONS, Op, Operation
from linkwork.engine.symbolic.program import Loop, LoopValue, Program, per_port
from linkwork.errors import ArgumentError, ValueRangeError, warn_once
from linkwork.version import __version__

TARGET = "linkwork_call"
"""The name of the handler in XLA; pass it to `jax.export` in `disabled_checks`."""

_SLOWER = "calls from JAX go through Python, about 100 microseconds slower"


class _Handler:
    """The handler in the C extension; it is registered on the first query."""

    def __init__(self) -> None:
        self._is_usable: bool | None = None
        self.most_axes = 0  # largest number of axes of an input or output that it supports
        self.share: Any = None  # share(kernel, key): register a kernel with the handler

    def is_usable(self) -> bool:
        """Register the handler if the version of XLA's interface is supported."""
        if self._is_usable is None:
            try:
                extension = import_module("linkwork.bridges.jax._xla")
            except ImportError as error:
                self._is_usable = False
                has_code = Call._use is not None  # pyright: ignore[reportPrivateUsage]
                if has_code:  # else NumPy computes, with a warning
                    warn_once("XLA", f"no foreign function calls ({error}); {_SLOWER}")
            else:
                self._is_usable = self._registered(extension)
                self.most_axes = extension.MOST_AXES
                self.share = extension.share
        return self._is_usable

    @staticmethod
    def _registered(extension: Any) -> bool:
        jax.devices("cpu")  # otherwise XLA rejects a bad handler later and starts no backend
        try:
            jax.ffi.register_ffi_target(TARGET, extension.handler(), platform="cpu")
            atexit.register(extension.close)
            reason = "unsupported memory layout" if not extension.interface()[2] else ""
        except Exception as error:  # noqa: BLE001 - the type depends on the version of jax
            reason = str(error).partition("\n")[0]
        if reason:
            message = f"jax {jax.__version__}: foreign function calls are not possible ({reason})"
            warn_once("XLA", f"{message}; {_SLOWER}")
        return not reason


HANDLER = _Handler()


def key_of(kernel: Kernel) -> str:
    """Return the key of a kernel in XLA programs: a digest of all that its results depend on."""
    signature = kernel.signature
    options = kernel.dtype.name, kernel.check_input is None, kernel.check_result is None
    ports = signature.inputs, signature.outputs, [unit.span for unit in signature.unit_norms]
    content = repr((__version__, kernel.identity, options, ports))
    return hashlib.sha256(content.encode()).hexdigest()


def _has_code(kernel: Kernel, results: Sequence[Any]) -> bool:
    """Prepare machine code for the rows of these results; return whether there is any."""
    ports = (*kernel.signature.inputs, *kernel.signature.outputs)
    if any(len(port.shape) > HANDLER.most_axes for port in ports):
        return False
    if isinstance(kernel, Derivative) and kernel.is_columnwise:
        return False
    port, shape = kernel.signature.outputs[0], results[0].shape
    batch = shape[: len(shape) - len(port.shape)]
    is_known = all(isinstance(length, int) for length in batch)  # not in `jax.export`
    return kernel.prepare(prod(batch) if is_known else 1)


def _lowered_on_cpu(ctx: Any, *operands: Any, kernel: Kernel, backend: str) -> Any:
    if backend == "xla":
        return _lowered_elsewhere(ctx, *operands, kernel=kernel, backend=backend)
    call = partial(jax.pure_callback, lambda *arrays: _computed(kernel, arrays))
    if HANDLER.is_usable() and _has_code(kernel, ctx.avals_out):
        key = key_of(kernel)
        HANDLER.share(kernel, key)  # stays in memory: XLA may call it at any time
        call = partial(_call_handler, key)
    if jax.__version_info__ < (0, 7, 2):
        call = partial(_call_reshaped, call)
    types = [jax.ShapeDtypeStruct(result.shape, result.dtype) for result in ctx.avals_out]
    return mlir.lower_fun(partial(call, types), multiple_results=True)(ctx, *operands)


def _call_handler(key: str, types: Sequence[Any], *values: Value) -> Any:
    return jax.ffi.ffi_call(TARGET, types)(*values, kernel=key)


def _call_reshaped(call: Callable[..., Any], types: Sequence[Any], *values: Value) -> Any:
    """Call with another axis of length 1, added to each argument by an operation of its own.

    XLA of jax 0.7.1 and earlier ends the process if an argument is the result of a concatenation.
    """
    longer = [jax.ShapeDtypeStruct((1, *result.shape), result.dtype) for result in types]
    results = call(longer, *(jnp.reshape(value, (1, *jnp.shape(value))) for value in values))
    return [jnp.reshape(result, jnp.shape(result)[1:]) for result in results]


def _computed(kernel: Kernel, values: Sequence[Any]) -> list[Any]:
    try:
        results = kernel(*map(np.asarray, values))
    except ValueRangeError as error:
        results = error.results
        if results is None:
            raise  # an invalid input; results that overflow are infinite or NaN, as in JAX
    return list(results) if len(kernel.signature.outputs) > 1 else [results]


def _lowered_elsewhere(ctx: Any, *operands: Any, kernel: Kernel, backend: str) -> Any:
    del backend

    def replayed(*values: Value) -> list[Value]:
        return replay(kernel, values)

    return mlir.lower_fun(replayed, multiple_results=True)(ctx, *operands)


# Operations of a program on arrays with one element for each row.


def _jax_function(op: Op, row: Operation) -> Callable[..., Value]:
    path = row.jax or f"lax.{op.name.lower()}"
    try:
        function = attrgetter(path)(jax)
    except AttributeError:
        assert row.on_any is not None
        function = row.on_any
    if row.is_comparison:
        return lambda a, b: lax.convert_element_type(function(a, b), a.dtype)
    return function


JAX_FUNCTIONS: dict[Op, Callable[..., Value]] = {
    op: _jax_function(op, row) for op, row in OPERATIONS.items() if op is not Op.SELECT
} | {Op.SELECT: lambda c, a, b: lax.select(lax.ne(c, lax.full_like(c, 0)), a, b)}


def replay(kernel: Kernel, values: Sequence[Value]) -> list[Value]:
    """Compute a kernel with JAX operations; quaternions and (cos, sin) pairs are normalized.

    Args:
        kernel: the kernel to compute.
        values: arguments in the form of the primitive.
    """
    if not kernel.is_unrolled:
        message = f"{kernel.signature.name} has too many operations for an XLA program"
        raise ArgumentError(f"{message}; use backend='cpu'")
    batch = common_batch(values, kernel)
    columns: list[Value] = []
    spans = [unit.span for unit in kernel.signature.unit_norms]
    for index, (value, port) in enumerate(zip(values, kernel.signature.inputs, strict=True)):
        flat = jnp.reshape(value, (*batch_of(value, port), port.size))
        flat = jnp.broadcast_to(flat, (*batch, port.size))
        elements = [flat[..., k] for k in range(port.size)]
        for _, offset, count in (span for span in spans if span[0] == index):
            part = slice(offset, offset + count)
            norm = jnp.sqrt(sum(x * x for x in elements[part]))
            elements[part] = [x / norm for x in elements[part]]
        columns += elements

    def constant(number: float) -> Value:
        return lax.full(batch, number, kernel.dtype)

    elements = _run(kernel.program, columns, constant)
    return [
        jnp.reshape(jnp.stack(part, axis=-1), (*batch, *port.shape))
        if part
        else jnp.zeros((*batch, *port.shape), kernel.dtype)
        for port, part in per_port(kernel.signature.outputs, elements)
    ]


def _run(
    program: Program, elements: Sequence[Value], constant: Callable[[float], Value]
) -> list[Value]:
    """Compute the elements of all outputs from those of all inputs; loops become `lax.scan`."""
    values = program.values(elements, JAX_FUNCTIONS, constant, partial(_scan, constant=constant))
    return [values[step] for step in program.results]


def _scan(loop: Loop, operands: Sequence[Value], constant: Callable[[float], Value]) -> LoopValue:
    """Compute a loop; a stack is an array whose first axis is the iteration."""
    n_carry, first_read = loop.n_carry, loop.n_inputs - loop.n_read
    invariants = operands[n_carry:first_read]

    def body(carry: list[Value], items: list[Value]) -> tuple[list[Value], list[Value]]:
        results = _run(loop.body, [*carry, *invariants, *items], constant)
        return results[:n_carry], results[n_carry:]

    initial, read = list(operands[:n_carry]), list(operands[first_read:])
    carry, stacks = lax.scan(body, initial, read, length=loop.n, reverse=loop.is_reversed)
    return LoopValue(carry, stacks)


mlir.register_lowering(call_p, _lowered_elsewhere)
mlir.register_lowering(call_p, _lowered_on_cpu, platform="cpu")
