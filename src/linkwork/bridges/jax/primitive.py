"""The JAX primitive behind every function: a call of a kernel, and its transformation rules.

    call_p.bind(*arrays, kernel=kernel, backend="cpu")

Arrays     one for each input, (*batch, *shape) in the kernel's dtype; where all rows of a batch are
           equal, each batch axis has length 1
vmap       one more batch axis in front: one call of the kernel computes all rows
jvp        a call of the jvp kernel with respect to the inputs that have a tangent. It is linear in
           the tangents. Where a kernel is linear in an input, the kernel is its own derivative
transpose  of a jvp kernel with respect to its tangents: a call of the vjp kernel; and vice versa.
           Reverse mode uses it

This module also checks the arguments of a call and arranges them for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching

from linkwork.bridges.derived_kernels import UnitTangents, unit_tangents
from linkwork.engine.kernel.kernel import Derivative, Kernel
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ShapeError, shown

Shape: TypeAlias = tuple[Any, ...]  # lengths may be symbolic, in `jax.export`
Value: TypeAlias = Any  # a JAX array, or a tracer

call_p: Any = Primitive("linkwork")
call_p.multiple_results = True


def call_kernel(kernel: Kernel, values: Sequence[Value], backend: str) -> list[Value]:
    """Call a kernel on arrays in the form that the primitive takes."""
    return call_p.bind(*values, kernel=kernel, backend=backend)


def batch_of(value: Any, port: Port) -> Shape:
    """Return the batch axes of an array."""
    return tuple(value.shape[: len(value.shape) - len(port.shape)])


def is_one_row(batch: Shape) -> bool:
    """Return whether all batch axes have length 1."""
    return all(length == 1 for length in batch)


def common_batch(values: Sequence[Any], kernel: Kernel) -> Shape:
    """Return the batch axes of the results."""
    batches = [batch_of(*pair) for pair in zip(values, kernel.signature.inputs, strict=True)]
    return next((batch for batch in batches if not is_one_row(batch)), batches[0])


def _result_types(*values: Any, kernel: Kernel, backend: str) -> list[Any]:
    del backend
    batch = common_batch(values, kernel)
    shapes = [(*batch, *port.shape) for port in kernel.signature.outputs]
    return [ShapedArray(shape, kernel.dtype) for shape in shapes]


def _batched(
    values: Sequence[Value], dims: Sequence[Any], *, kernel: Kernel, backend: str
) -> tuple[list[Value], list[int]]:
    """Add a batch axis in front. Only arrays that vary along some of the axes are copied."""
    ports = kernel.signature.inputs
    size = next(x.shape[d] for x, d in zip(values, dims, strict=True) if d is not None)
    moved = [
        x[None] if dim is None else jnp.moveaxis(x, dim, 0)
        for x, dim in zip(values, dims, strict=True)
    ]
    inner = [batch_of(x, port)[1:] for x, port in zip(moved, ports, strict=True)]
    batch = (
        size,
        *next((batch_axes for batch_axes in inner if not is_one_row(batch_axes)), inner[0]),
    )
    full = [
        x if is_one_row(batch_of(x, port)) else jnp.broadcast_to(x, (*batch, *port.shape))
        for x, port in zip(moved, ports, strict=True)
    ]
    results = call_kernel(kernel, full, backend)
    return results, [0] * len(results)


def _jvp(
    values: Sequence[Value], tangents: Sequence[Any], *, kernel: Kernel, backend: str
) -> tuple[list[Value], list[Value]]:
    """Sum two terms: inputs in which the kernel is linear, and the others."""
    results, linear = call_kernel(kernel, values, backend), linear_inputs(kernel)
    ports = kernel.signature.inputs
    moving = {
        port.name: _unit_tangent(kernel, index, values[index], tangent, backend)
        for index, (port, tangent) in enumerate(zip(ports, tangents, strict=True))
        if not isinstance(tangent, ad.Zero)
    }
    terms: list[list[Value]] = []
    if any(name in linear for name in moving):  # the same kernel, applied to the tangents
        arguments = [
            ad.instantiate_zeros(tangent) if port.name in linear else value
            for port, value, tangent in zip(ports, values, tangents, strict=True)
        ]
        terms.append(call_kernel(kernel, arguments, backend))
    others = {name: tangent for name, tangent in moving.items() if name not in linear}
    if others:
        arguments = [*values, *others.values()]
        terms.append(call_kernel(kernel.jvp(*others), arguments, backend))
    return results, [sum(parts[1:], parts[0]) for parts in zip(*terms, strict=True)]


def _unit_tangent(kernel: Kernel, index: int, value: Value, tangent: Value, backend: str) -> Value:
    """Return the tangent of an input after normalizing its quaternions and (cos, sin) pairs."""
    normalization = unit_tangents(kernel, index)
    return call_kernel(normalization, [value, tangent], backend)[0] if normalization else tangent


def linear_inputs(kernel: Kernel) -> tuple[str, ...]:
    """Return the inputs in which a kernel is jointly linear: tangents or cotangents."""
    if isinstance(kernel, UnitTangents):
        return ("dx",)
    if not isinstance(kernel, Derivative):
        return ()
    function, kind, _ = kernel.__reduce__()[1]
    names = [port.name for port in kernel.signature.inputs]
    return tuple(names[len(function.signature.inputs) :]) if kind in ("jvp", "vjp") else ()


def _transposed(
    cotangents: Sequence[Any], *values: Any, kernel: Kernel, backend: str
) -> list[Value | None]:
    names = [port.name for port in kernel.signature.inputs]
    is_linear = [ad.is_undefined_primal(value) for value in values]
    linear = linear_inputs(kernel)
    if any(flag and name not in linear for name, flag in zip(names, is_linear, strict=True)):
        message = f"{kernel.signature.name} is not linear in {', '.join(names)}"
        raise ArgumentError(f"{message}, so it has no transpose; use jax.vjp")
    n, other = len(names) - len(linear), _transpose_of(kernel)
    full_cotangents = [ad.instantiate_zeros(cotangent) for cotangent in cotangents]
    products = call_kernel(other, [*values[:n], *full_cotangents], backend)
    input_cotangents: list[Value | None] = [None] * n
    for value, needed, product in zip(values[n:], is_linear[n:], products, strict=True):
        summed = _summed(product, tuple(value.aval.shape)) if needed else None
        input_cotangents.append(summed)
    return input_cotangents


def _transpose_of(kernel: Kernel) -> Kernel:
    """Return the kernel that takes cotangents in place of its linear inputs."""
    if isinstance(kernel, UnitTangents):
        return kernel
    assert isinstance(kernel, Derivative)
    function, kind, wrt = kernel.__reduce__()[1]
    return function.vjp(*wrt) if kind == "jvp" else function.jvp(*wrt)


def _summed(product: Value, shape: Shape) -> Value:
    """Sum over the rows that share one row of an input."""
    if tuple(product.shape) == shape:
        return product
    axes = tuple(k for k, length in enumerate(shape) if product.shape[k] != length)
    return jnp.sum(product, axis=axes, keepdims=True)


def _evaluated(*values: Value, kernel: Kernel, backend: str) -> list[Value]:
    if jax.config.jax_disable_jit:  # pyright: ignore[reportAttributeAccessIssue]
        with jax.disable_jit(False):  # the call itself is always an XLA program
            return _jitted(*values, kernel=kernel, backend=backend)
    return _jitted(*values, kernel=kernel, backend=backend)


_jitted = jax.jit(call_p.bind, static_argnames=("kernel", "backend"))
call_p.def_impl(_evaluated)
call_p.def_abstract_eval(_result_types)
batching.primitive_batchers[call_p] = _batched
ad.primitive_jvps[call_p] = _jvp
ad.primitive_transposes[call_p] = _transposed


# Arguments.


def array_of(value: Any, port: Port, meaning: str = "") -> Value:
    """Convert an argument to an array of real numbers, (..., *shape).

    Args:
        value: a JAX or NumPy array, a number, or nested lists of numbers.
        port: its name, and the shape of a row.
        meaning: description of the elements, for the error message about a wrong shape.
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
        expected = ", ".join(["...", *map(str, port.shape)])
        message = f"{port.name}: expected ({expected}), got {tuple(array.shape)}"
        raise ShapeError(f"{message}; {meaning}" if meaning else message)
    return array


def precision(kernel: Kernel, arrays: Sequence[Value]) -> np.dtype[Any]:
    """Return float64 if the kernel and an argument have it, else float32."""
    common = jnp.result_type(*arrays, float)
    return np.dtype(np.float64 if common == kernel.dtype == np.float64 else np.float32)


def broadcast(arrays: Sequence[Value], ports: Sequence[Port]) -> Shape:
    """Return the broadcast batch axes of all arguments."""
    batches = [batch_of(array, port) for array, port in zip(arrays, ports, strict=True)]
    try:
        return tuple(jnp.broadcast_shapes(*batches))
    except ValueError:
        pairs = zip(ports, batches, strict=True)
        listed = ", ".join(f"{port.name} {batch}" for port, batch in pairs)
        raise ShapeError(f"batch axes cannot be broadcast: {listed}") from None


def laid_out(arrays: Sequence[Value], ports: Sequence[Port], dtype: Any) -> list[Value]:
    """Convert arguments to the form of the primitive: common batch axes, or one row."""
    batch = broadcast(arrays, ports)
    rows: list[Value] = []
    for array, port in zip(arrays, ports, strict=True):
        converted = jnp.asarray(array, dtype)
        if is_one_row(batch_of(array, port)):
            rows.append(jnp.reshape(converted, (*[1] * len(batch), *port.shape)))
        else:
            rows.append(jnp.broadcast_to(converted, (*batch, *port.shape)))
    return rows
