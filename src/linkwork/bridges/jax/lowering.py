"""What a call of a kernel becomes in a program of XLA.

On the CPU    a foreign function call. The handler in the C extension `_xla` finds the kernel by its
              key, and computes all rows with machine code, on several threads, without the GIL
Without it    where XLA's interface is another, without the C extension, and where NumPy computes:
              a callback to Python
Elsewhere     on other devices, and with backend="xla": the operations of the kernel's program
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters import mlir

from linkwork.bridges.jax.primitive import Value, batch_of, call_p, common_batch
from linkwork.engine.kernel.derive import Derivative
from linkwork.engine.kernel.extension import Call
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Loop, LoopValue, Program, per_port
from linkwork.errors import ArgumentError, warn_once
from linkwork.version import __version__

TARGET = "linkwork_call"
"""The name under which XLA knows the handler; `jax.export` wants to be told of it."""

_SLOWER = "calls from JAX go through Python, some 100 microseconds slower"


class _Handler:
    """Whether the handler can be used; it is registered when that is first asked."""

    def __init__(self) -> None:
        self._is_usable: bool | None = None
        self.most_axes = 0  # of an input or output of a kernel that it can call
        self.share: Any = None  # (kernel, key): have the handler find a kernel by its key

    def is_usable(self) -> bool:
        """Register the handler, if XLA's interface is the one it was written for."""
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
        jax.devices("cpu")  # before this XLA would refuse a handler too late, and start no backend
        try:
            jax.ffi.register_ffi_target(TARGET, extension.handler(), platform="cpu")
            atexit.register(extension.close)
            reason = "its layout is another one" if not extension.interface()[2] else ""
        except Exception as error:  # noqa: BLE001 - of several kinds, by the version of jax
            reason = str(error).partition("\n")[0]
        if reason:
            text = f"jax {jax.__version__}: no foreign function calls are possible ({reason})"
            warn_once("XLA", f"{text}; {_SLOWER}")
        return not reason


HANDLER = _Handler()


def key_of(kernel: Kernel) -> str:
    """What programs of XLA call a kernel: a digest of all that its results depend on."""
    signature = kernel.signature
    options = kernel.dtype.name, kernel.check_input is None, kernel.check_result is None
    ports = signature.inputs, signature.outputs, [unit.span for unit in signature.unit_norms]
    text = repr((__version__, kernel.identity, options, ports))
    return hashlib.sha256(text.encode()).hexdigest()


def _has_code(kernel: Kernel) -> bool:
    """Whether machine code computes the kernel; it is in use after this, or on its way."""
    ports = (*kernel.signature.inputs, *kernel.signature.outputs)
    if any(len(port.shape) > HANDLER.most_axes for port in ports):
        return False
    if isinstance(kernel, Derivative) and kernel.is_columnwise:
        return False
    return kernel.prepare(1)


def _lowered_on_cpu(ctx: Any, *operands: Any, kernel: Kernel, backend: str) -> Any:
    if backend == "xla":
        return _lowered_elsewhere(ctx, *operands, kernel=kernel, backend=backend)
    if HANDLER.is_usable() and _has_code(kernel):
        key = key_of(kernel)
        HANDLER.share(kernel, key)  # stays in memory: XLA may call it at any time
        return jax.ffi.ffi_lowering(TARGET)(ctx, *operands, kernel=key)

    def through_python(*values: Value) -> Any:
        return jax.pure_callback(lambda *given: _computed(kernel, given), ctx.avals_out, *values)

    return mlir.lower_fun(through_python, multiple_results=True)(ctx, *operands)


def _computed(kernel: Kernel, values: Sequence[Any]) -> list[Any]:
    results = kernel(*map(np.asarray, values))
    return list(results) if len(kernel.signature.outputs) > 1 else [results]


def _lowered_elsewhere(ctx: Any, *operands: Any, kernel: Kernel, backend: str) -> Any:
    del backend

    def replayed(*values: Value) -> list[Value]:
        return replay(kernel, values)

    return mlir.lower_fun(replayed, multiple_results=True)(ctx, *operands)


# Operations of a program on arrays with one number for each row.


def _number(condition: Value, like: Value) -> Value:
    return lax.convert_element_type(condition, like.dtype)


JAX_FUNCTIONS: dict[Op, Callable[..., Value]] = {
    Op.ADD: lax.add,
    Op.SUB: lax.sub,
    Op.MUL: lax.mul,
    Op.DIV: lax.div,
    Op.NEG: lax.neg,
    Op.SQRT: lax.sqrt,
    Op.SIN: lax.sin,
    Op.COS: lax.cos,
    Op.ATAN2: lax.atan2,
    Op.LESS: lambda a, b: _number(lax.lt(a, b), a),
    Op.SELECT: lambda c, a, b: lax.select(lax.ne(c, lax.full_like(c, 0)), a, b),
    Op.EXP: lax.exp,
    Op.LOG: lax.log,
    Op.LESS_EQUAL: lambda a, b: _number(lax.le(a, b), a),
    Op.FLOOR: lax.floor,
    Op.EXPM1: lax.expm1,
    Op.LOG1P: lax.log1p,
    Op.EXP2: lax.exp2,
}


def replay(kernel: Kernel, values: Sequence[Value]) -> list[Value]:
    """The results of a kernel, by operations of JAX; what should have norm 1 is normalised.

    Args:
        kernel: what to compute.
        values: as the primitive takes them.
    """
    if not kernel.is_unrolled:
        text = f"{kernel.signature.name} has too many operations to be part of a program of XLA"
        raise ArgumentError(f"{text}; use backend='cpu'")
    batch = common_batch(values, kernel)
    columns: list[Value] = []
    spans = [unit.span for unit in kernel.signature.unit_norms]
    for index, (value, port) in enumerate(zip(values, kernel.signature.inputs, strict=True)):
        flat = jnp.reshape(value, (*batch_of(value, port), port.size))
        flat = jnp.broadcast_to(flat, (*batch, port.size))
        own = [flat[..., k] for k in range(port.size)]
        for _, offset, count in (span for span in spans if span[0] == index):
            part = slice(offset, offset + count)
            norm = jnp.sqrt(sum(x * x for x in own[part]))
            own[part] = [x / norm for x in own[part]]
        columns += own

    def constant(number: float) -> Value:
        return lax.full(batch, number, kernel.dtype)

    numbers = _run(kernel.program, columns, constant)
    return [
        jnp.reshape(jnp.stack(own, axis=-1), (*batch, *port.shape))
        if own
        else jnp.zeros((*batch, *port.shape), kernel.dtype)
        for port, own in per_port(kernel.signature.outputs, numbers)
    ]


def _run(
    program: Program, numbers: Sequence[Value], constant: Callable[[float], Value]
) -> list[Value]:
    """The numbers of all outputs of a program from those of all inputs; loops stay loops."""
    values = program.values(numbers, JAX_FUNCTIONS, constant, partial(_scan, constant=constant))
    return [values[step] for step in program.results]


def _scan(loop: Loop, operands: Sequence[Value], constant: Callable[[float], Value]) -> LoopValue:
    """The values of a loop; a stack is an array whose first axis are the iterations."""
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
