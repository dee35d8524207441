"""The arguments of functions of JAX arrays: checked, and laid out for the primitive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from linkwork.bridges.jax.primitive import Shape, Value, batch_of, is_one_row
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ShapeError, shown


def array_of(value: Any, port: Port, meaning: str = "") -> Value:
    """An argument as an array of real numbers, (..., *shape).

    Args:
        value: an array of JAX or NumPy, a number, or nested lists of them.
        port: its name, and the shape of a row.
        meaning: of its numbers, for the message about a wrong shape.
    """
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{port.name}: expected numbers, got {shown(value)}") from None
    if not any(
        jnp.issubdtype(array.dtype, kind) for kind in (jnp.floating, jnp.integer, jnp.bool_)
    ):
        raise ArgumentError(f"{port.name}: expected real numbers, got {array.dtype}")
    axes = array.ndim - len(port.shape)
    if axes < 0 or tuple(array.shape[axes:]) != port.shape:
        wanted = ", ".join(["...", *map(str, port.shape)])
        text = f"{port.name}: expected ({wanted}), got {tuple(array.shape)}"
        raise ShapeError(f"{text}; {meaning}" if meaning else text)
    return array


def precision(kernel: Kernel, arrays: Sequence[Value]) -> np.dtype[Any]:
    """The type to compute with: float64 if the kernel does and an argument has it, else float32."""
    given = jnp.result_type(*arrays, float)
    return np.dtype(np.float64 if given == kernel.dtype == np.float64 else np.float32)


def broadcast(arrays: Sequence[Value], ports: Sequence[Port]) -> Shape:
    """The batch axes of all arguments together."""
    batches = [batch_of(array, port) for array, port in zip(arrays, ports, strict=True)]
    try:
        return tuple(jnp.broadcast_shapes(*batches))
    except ValueError:
        pairs = zip(ports, batches, strict=True)
        listed = ", ".join(f"{port.name} {batch}" for port, batch in pairs)
        raise ShapeError(f"batch axes do not fit each other: {listed}") from None


def laid_out(arrays: Sequence[Value], ports: Sequence[Port], dtype: Any) -> list[Value]:
    """Arguments as the primitive takes them: with the same batch axes, or one row."""
    batch = broadcast(arrays, ports)
    found: list[Value] = []
    for array, port in zip(arrays, ports, strict=True):
        numbers = jnp.asarray(array, dtype)
        if is_one_row(batch_of(array, port)):
            found.append(jnp.reshape(numbers, (*[1] * len(batch), *port.shape)))
        else:
            found.append(jnp.broadcast_to(numbers, (*batch, *port.shape)))
    return found
