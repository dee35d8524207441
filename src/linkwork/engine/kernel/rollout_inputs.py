"""The arguments of a rollout: assignment to the inputs of a step, and conversion of arrays.

State      the first inputs of the step, one for each output: an output is the state's next value
Control    an input with a value for each step
Parameter  an input that is constant; the caller passes it by name
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from linkwork.engine.kernel import norms
from linkwork.engine.kernel.arguments import Signature, as_rows, check_norms
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array, batch_of
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ShapeError, name_not_found, shown

_NONE: Mapping[str, str] = {}


@dataclass(frozen=True)
class Inputs:
    """The converted inputs of a rollout."""

    batch: tuple[int, ...]
    steps: int
    starts: tuple[Array, ...]  # (rows, 1, size) for each state
    others: tuple[Array, ...]  # (rows, steps, size) for each other input of the step
    controls: tuple[str, ...]  # names of the inputs that have a value for each step

    @property
    def rows(self) -> int:
        """The number of rollouts."""
        return prod(self.batch)


@dataclass(frozen=True)
class Part:
    """An array with any batch axes, and its port; the elements of a row are contiguous."""

    port: Port  # the shape with the axis of steps, if it has one
    array: Array
    steps: int | None = None  # length of the axis of steps; None without such an axis

    def track(self, batch: tuple[int, ...], steps: int) -> Array:
        """Reshape the array to (rows, steps, size), without a copy if possible."""
        array_batch = self.array.shape[: self.array.ndim - len(self.port.shape)]
        size = prod(self.port.shape[0 if self.steps is None else 1 :])
        flat = self.array.reshape(*array_batch, 1 if self.steps is None else self.steps, size)
        if prod(array_batch) == 1:
            return np.broadcast_to(flat.reshape(1, *flat.shape[-2:]), (prod(batch), steps, size))
        flat = np.broadcast_to(flat, (*batch, *flat.shape[-2:]))
        flat = flat.reshape(prod(batch), *flat.shape[-2:])
        return np.broadcast_to(flat, (prod(batch), steps, size))


def check_step(step: Any) -> Kernel:
    """Raise an error unless the outputs of a step can be its first inputs."""
    if not isinstance(step, Kernel):
        text = f"rollout: expected a compiled function as the step, got {shown(step)}"
        raise ArgumentError(f"{text}; decorate it with @linkwork.compile")
    signature = step.signature
    inputs, outputs = signature.inputs, signature.outputs
    rule = "a step returns the next values of its first inputs, in the same order"
    if len(outputs) > len(inputs):
        text = f"{signature.name} has {len(outputs)} outputs and {len(inputs)} inputs"
        raise ArgumentError(f"rollout: {text}; {rule}")
    for k, (source, result) in enumerate(zip(inputs, outputs, strict=False)):
        if source.shape != result.shape:
            text = f"output {k} of {signature.name} has shape {result.shape}, its input"
            text = f"{text} {source.name!r} has {source.shape}"
            raise ShapeError(f"rollout: {text}; {rule}")
    return step


def read_inputs(  # noqa: PLR0917 - as a call of a rollout
    step: Kernel,
    x0: Any,
    controls: Any,
    params: Mapping[str, Any] | None,
    steps: Any,
    more: Callable[[int], Sequence[Part]] = lambda steps: (),
) -> tuple[Inputs, tuple[Array, ...]]:
    """Convert the inputs of a rollout, and the arrays of `more`, which are broadcast with them.

    `more` returns further arrays of a rollout with this many steps.
    """
    signature = step.signature
    n = len(signature.outputs)
    assigned = assign(signature, x0, controls, params, steps)
    count = assigned.steps
    first = [
        Part(port, _checked(step, k, port, value))
        for k, (port, value) in enumerate(zip(signature.inputs[:n], assigned.starts, strict=True))
    ]
    others: dict[str, Part] = {}
    for index, port in enumerate(signature.inputs[n:], start=n):
        if port.name in assigned.params:
            others[port.name] = Part(port, _checked(step, index, port, assigned.params[port.name]))
        else:
            timed = Port(port.name, (count, *port.shape))
            array = _checked(step, index, timed, assigned.controls[port.name])
            others[port.name] = Part(timed, array, count)
    added = more(count)
    parts = [*first, *others.values(), *added]
    batch = batch_of(
        [p.port.name for p in parts], [p.port.shape for p in parts], [p.array for p in parts]
    )
    inputs = Inputs(
        batch,
        count,
        tuple(part.track(batch, 1) for part in first),
        tuple(part.track(batch, count) for part in others.values()),
        tuple(assigned.controls),
    )
    return inputs, tuple(part.track(batch, part.steps or 1) for part in added)


@dataclass(frozen=True)
class Assigned:
    """The arguments of a rollout before conversion, assigned to the inputs of the step."""

    starts: Sequence[Any]  # for each state
    controls: Mapping[str, Any]  # by name, in the order of the step
    params: Mapping[str, Any]  # by name
    steps: int


def assign(
    signature: Signature,
    x0: Any,
    controls: Any,
    params: Mapping[str, Any] | None,
    steps: Any,
) -> Assigned:
    """Assign the arguments of a rollout to the inputs of its step."""
    n = len(signature.outputs)
    states, others = signature.inputs[:n], signature.inputs[n:]
    constants = _named(signature, others, params)
    free = [port for port in others if port.name not in constants]
    starts = split("x0", states, x0)
    by_name = _controls(signature, free, controls)
    return Assigned(starts, by_name, constants, _steps(signature, free, by_name, steps))


def split(what: str, ports: Sequence[Port], value: Any) -> Sequence[Any]:
    """Split a tuple into one value for each port; a single port may have the value itself."""
    if len(ports) == 1:
        return value if isinstance(value, tuple) and len(value) == 1 else (value,)  # pyright: ignore
    names = ", ".join(port.name for port in ports)
    if not isinstance(value, (tuple, list)):
        text = f"{what}: expected a tuple of {len(ports)} arrays ({names})"
        raise ArgumentError(f"{text}, got {type(value).__name__}")
    if len(value) != len(ports):  # pyright: ignore[reportUnknownArgumentType]
        text = f"{what}: expected {len(ports)} arrays ({names})"
        raise ArgumentError(f"{text}, got {len(value)}")  # pyright: ignore[reportUnknownArgumentType]
    return value  # pyright: ignore[reportUnknownVariableType]


def as_packed(
    value: Any, port: Port, dtype: np.dtype[Any], packed: int, meanings: Mapping[str, str] = _NONE
) -> Array:
    """Convert a value to a numeric array with the shape of a port after any batch axes.

    The value itself is returned if machine code can read it: if it has the type, and its last
    `packed` axes are contiguous.
    """
    if type(value) is np.ndarray and value.dtype == dtype and value.flags.aligned:
        axes = len(port.shape)
        is_shaped = value.ndim >= axes and value.shape[value.ndim - axes :] == port.shape
        if is_shaped and _is_packed(value, packed):
            return value
    (rows,), batch = as_rows(Signature(port.name, (port,), (), meanings=meanings), [value], dtype)
    return rows.reshape((*batch, *port.shape))


def _is_packed(array: Array, axes: int) -> bool:
    expected = item = array.itemsize
    for length, stride in zip(array.shape[::-1][:axes], array.strides[::-1][:axes], strict=True):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return all(stride % item == 0 for stride in array.strides)


def _checked(step: Kernel, index: int, port: Port, value: Any) -> Array:
    """Convert an input and check its norms; normalize it if it is not a state."""
    signature = step.signature
    packed = len(signature.inputs[index].shape)
    array = as_packed(value, port, step.dtype, packed, signature.meanings)
    units = [unit for unit in signature.unit_norms if unit.input == index]
    if not units:
        return array
    size = signature.inputs[index].size
    alone = Signature(signature.name, (port,), (), tuple(replace(unit, input=0) for unit in units))
    rows = array.reshape(-1, size) if array.size else np.empty((0, size), step.dtype)
    check_norms(alone, [rows])
    if index < len(signature.outputs):
        return array  # the rollout normalizes states before each step
    unit_rows = norms.normalized([rows], [unit.span for unit in alone.unit_norms], step.dtype)
    return (unit_rows or (rows,))[0].reshape(array.shape)


def _named(
    signature: Signature, others: Sequence[Port], params: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Check and return the constant inputs, by name."""
    if params is None:
        return {}
    if not isinstance(params, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"params: expected values by name, got {shown(params)}")
    names = [port.name for port in others]
    for name in params:
        if name in [port.name for port in signature.inputs[: len(signature.outputs)]]:
            text = f"params: {name!r} is a state of {signature.name}"
            raise ArgumentError(f"{text}; pass its initial value as x0")
        if name not in names:
            kind = f"input of {signature.name} after its states"
            raise ArgumentError(f"params: {name_not_found(kind, name, names)}")
    return dict(params)


def _controls(signature: Signature, free: Sequence[Port], controls: Any) -> dict[str, Any]:
    """Return the inputs that have a value for each step, by name."""
    names = ", ".join(port.name for port in free)
    if not free:
        if controls is not None:
            text = f"{signature.name} has no further input that takes a value for each step"
            raise ArgumentError(f"controls: {text}; pass steps= instead of controls")
        return {}
    if controls is None:
        text = f"controls: {signature.name} takes {names} in addition to its states"
        raise ArgumentError(f"{text}; pass a value for each step, or a constant value in params=")
    values = split("controls", free, controls)
    return dict(zip((port.name for port in free), values, strict=True))


def _steps(
    signature: Signature, free: Sequence[Port], controls: Mapping[str, Any], steps: Any
) -> int:
    """Return the number of steps, from `steps` or from the first of the controls."""
    try:
        count = None if steps is None else operator.index(steps)
    except TypeError:
        count = -1
    if count is not None and count < 0:
        raise ArgumentError(f"steps: expected a non-negative integer, got {shown(steps)}")
    if not free:
        if count is None:
            text = f"steps: expected the number of steps, since {signature.name} has no controls"
            raise ArgumentError(text)
        return count
    port = free[0]
    try:
        shape = np.shape(controls[port.name])
    except ValueError:  # rows of different lengths, which `as_packed` rejects
        shape = (0, *port.shape)
    axes = len(port.shape) + 1
    if len(shape) < axes or shape[len(shape) - axes + 1 :] != port.shape:
        expected = ", ".join(["...", "steps", *map(str, port.shape)])
        raise ShapeError(f"{port.name}: expected ({expected}), got {shape}")
    length = shape[len(shape) - axes]
    if count is not None and count != length:
        raise ShapeError(f"steps: expected {length}, the steps of {port.name}, got {count}")
    return length
