"""Conversion and checks of the arguments of a call in Python, and arrays for the results."""

from __future__ import annotations

import operator
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any, NoReturn

import numpy as np

from linkwork.engine import BRIDGES
from linkwork.engine.kernel.extension import empty
from linkwork.engine.kernel.norms import TOLERANCE, Span, norms
from linkwork.engine.symbolic.arrays import (
    Array,
    ObjectArray,
    as_array,
    batch_of,
    check_axes,
    is_masked,
)
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.traced import foreign_package, is_traced, unwrapped
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, nearest, shown, warn_once

# Arrays of other libraries: a description, and how to convert `{0}` to NumPy.
_FOREIGN = {
    "torch": ("a torch tensor", "{0}.detach().cpu().numpy()"),
    "jax": ("a jax array", "np.asarray({0})"),
    "casadi": ("a casadi matrix", "{0}.full().ravel()"),
    "dask": ("a dask array", "{0}.compute(), or apply the function with map_blocks"),
}


@dataclass(frozen=True, slots=True)
class UnitNorm:
    """Elements of an input whose norm must be 1: a quaternion, or cosine and sine of an angle."""

    input: int  # index of the input
    offset: int  # of the first element in a row
    count: int
    owner: str  # for messages, such as "the quaternion"

    @property
    def span(self) -> Span:
        """Input, offset and count."""
        return self.input, self.offset, self.count


@dataclass(frozen=True, slots=True)
class Signature:
    """The inputs and outputs of a kernel."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    unit_norms: tuple[UnitNorm, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    """Descriptions of the elements of inputs, by name, for messages about a wrong shape."""
    defaults: Mapping[str, Array] = field(default_factory=dict[str, Array], compare=False)
    """Default rows of inputs, by name."""

    def __post_init__(self) -> None:
        for port in (*self.inputs, *self.outputs):
            check_axes(port.shape, port.name)


def in_order(
    signature: Signature, args: Sequence[Any], named: dict[str, Any], options: Sequence[str] = ()
) -> list[Any]:
    """Return positional and named arguments in the order of the inputs.

    Args:
        signature: the inputs.
        args: positional arguments.
        named: keyword arguments that are inputs.
        options: further keyword arguments of the call, for messages.
    """
    ports = signature.inputs
    values = dict(zip((port.name for port in ports), args, strict=False))
    names = ", ".join(port.name for port in ports)
    if len(args) > len(ports):
        text = f"{signature.name} takes {len(ports)} arguments ({names}), got {len(args)}"
        raise ArgumentError(text)
    for name, value in named.items():
        if name in values or name not in {port.name for port in ports}:
            known = [*(port.name for port in ports), *options]
            hint = nearest(name, known)
            hint = f"{hint} " if hint.startswith("did you mean") else ""
            unknown = f"is unknown; {hint}known: {', '.join(known)}"
            why = "is passed twice" if name in values else unknown
            raise ArgumentError(f"{signature.name}: argument {name!r} {why}")
        values[name] = value
    for name, default in signature.defaults.items():
        values.setdefault(name, default)
    missing = [port.name for port in ports if port.name not in values]
    if missing:
        text = f"{signature.name} takes the arguments {names}"
        raise ArgumentError(f"{text}; missing: {', '.join(missing)}")
    return [values[port.name] for port in ports]


def as_rows(
    signature: Signature, values: Sequence[Any], dtype: np.dtype[Any]
) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    """Convert arguments to (rows, size) arrays, or (1, size) if broadcast; return the batch too."""
    ports = signature.inputs
    with memory_hint():
        arrays = [
            _array(value, port, dtype, signature.meanings.get(port.name, ""))
            for value, port in zip(values, ports, strict=True)
        ]
        batch = batch_of([port.name for port in ports], [port.shape for port in ports], arrays)
        rows = [_rows(array, batch, port) for array, port in zip(arrays, ports, strict=True)]
    return tuple(rows), batch


@contextmanager
def memory_hint() -> Generator[None, None, None]:
    """Add a hint to errors about arrays that do not fit into memory."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"{error}; compute fewer rows at a time") from None


def constants_of(signature: Signature, port: Port, value: Any) -> Array:
    """Convert a numeric argument to (..., *shape) of float64."""
    return _array(value, port, np.dtype(np.float64), signature.meanings.get(port.name, ""))


def traced_array(signature: Signature, port: Port, value: Any) -> ObjectArray:
    """Convert an argument with traced values to (..., *shape)."""
    reject_foreign(value, port.name)
    array = unwrapped(as_array(value, port.name)).view(ObjectArray)
    _check_shape(array, port, signature.meanings.get(port.name, ""))
    return array


def outputs_for(
    signature: Signature,
    batch: tuple[int, ...],
    out: Any,
    rows: Sequence[Array],
    dtype: np.dtype[Any],
) -> tuple[list[Array], list[Array]]:
    """Return arrays to compute into, and arrays to return; `out` may need a copy at the end."""
    ports = signature.outputs
    shapes = [(*batch, *port.shape) for port in ports]
    for port, shape in zip(ports, shapes, strict=True):
        check_axes(shape, port.name)
    if out is None:
        with memory_hint():
            arrays = [empty(shape, dtype) for shape in shapes]
        return arrays, arrays
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(outs) != len(ports):
        raise ArgumentError(f"out: expected {len(ports)} arrays, got {len(outs)}")
    targets: list[Array] = []
    for array, shape, port in zip(outs, shapes, ports, strict=True):
        _check_out(array, shape, port, dtype)
        is_direct = array.flags.c_contiguous and array.flags.aligned
        overlaps = any(np.may_share_memory(array, other) for other in rows)
        targets.append(array if is_direct and not overlaps else empty(shape, dtype))
    for k, array in enumerate(outs):
        if any(_share_memory(array, other) for other in outs[:k]):
            raise ValueRangeError("out: two of the arrays share memory")
    return targets, outs


def thread_number(threads: Any) -> int | None:
    """Convert a number of threads; None for LINKWORK_THREADS, or one thread per core."""
    if threads is None:
        environment_threads()  # which warns about a wrong value
        return None
    try:
        count = operator.index(threads)
    except TypeError:
        count = 0
    if count < 1:
        raise ArgumentError(f"threads: expected a positive integer or None, got {shown(threads)}")
    return count


def environment_threads() -> int | None:
    """Return the value of LINKWORK_THREADS; None if it is unset, or not a positive integer."""
    setting = os.environ.get("LINKWORK_THREADS", "")
    is_number = setting.isascii() and setting.isdigit() and setting.strip("0") != ""
    if setting and not is_number:
        text = f"LINKWORK_THREADS: expected a positive integer, got {shown(setting)}"
        warn_once("threads", f"{text}; using one thread per core")
    return int(setting) if is_number else None


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_norms(signature: Signature, rows: Sequence[Array]) -> None:
    """Raise an error for the first row with a norm that must be 1 and is not."""
    for unit in signature.unit_norms:
        norm = norms(rows[unit.input], unit.span)
        with np.errstate(invalid="ignore"):
            wrong = np.abs(norm - 1) > TOLERANCE
        if wrong.any():
            row = int(np.argmax(wrong))
            name = signature.inputs[unit.input].name
            text = f"{name}: {unit.owner} has norm {norm[row]:.6g}, not 1"
            raise ValueRangeError(text + (f" (row {row})" if len(norm) > 1 else ""))


def _array(value: Any, port: Port, dtype: np.dtype[Any], meaning: str) -> Array:
    reject_foreign(value, port.name)
    array = None
    try:
        array_value = np.asarray(value)
        if isinstance(value, ObjectArray) and not is_traced(value):  # such as np.zeros_like returns
            array_value = np.array(value.tolist(), np.float64).reshape(value.shape)
        if array_value.dtype.kind in "fiub":  # not complex numbers, strings or objects
            with np.errstate(over="ignore"):  # a value too large for the type becomes infinite
                array = np.require(array_value, dtype, ["C", "A"]).reshape(array_value.shape)
    except (TypeError, ValueError):
        pass
    if array is None:
        dtype_text = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
        text = f"{port.name}: expected numbers, got {type(value).__name__}{dtype_text}"
        raise ArgumentError(text)
    if is_masked(value):
        text = f"{port.name}: masked elements have no value; set one with filled()"
        raise ArgumentError(text)
    _check_shape(array, port, meaning)
    return array


def _check_shape(array: Array, port: Port, meaning: str) -> None:
    first = array.ndim - len(port.shape)
    if first < 0 or array.shape[first:] != port.shape:
        reject_shape(array.shape, port, meaning)


def reject_shape(shape: tuple[Any, ...], port: Port, meaning: str = "") -> NoReturn:
    """Raise the error for an argument whose shape does not match its input."""
    expected = ", ".join(["...", *map(str, port.shape)])
    text = f"{port.name}: expected ({expected}), got {shape}"
    if len(shape) == 2 and shape[:1] == port.shape and shape[1] != 1:
        text += "; its transpose (.T) has a matching shape"
    raise ShapeError(f"{text}; {meaning}" if meaning else text)


def reject_foreign(value: Any, name: str) -> None:
    """Raise an error for arrays of other libraries, which NumPy converts slowly or not at all."""
    if isinstance(value, (list, tuple)):
        for part in value:  # pyright: ignore[reportUnknownVariableType]
            if type(part) is not float:
                reject_foreign(part, name)
        return
    library = foreign_package(value)
    if library is not None:
        what, conversion = _FOREIGN.get(library, (f"an array of {library}", "np.asarray({0})"))
        text = f"{name}: expected a NumPy array, got {what}; pass {conversion.format(name)}"
        hint = f", or use {BRIDGES[library]}" if library in BRIDGES else ""
        raise ArgumentError(text + hint)


def _rows(array: Array, batch: tuple[int, ...], port: Port) -> Array:
    """Reshape an array to (rows, size), of one row if its batch has one row."""
    array_batch = array.shape[: array.ndim - len(port.shape)]
    if prod(array_batch) == 1:
        return array.reshape(1, port.size)
    if array_batch != batch:
        array = np.ascontiguousarray(np.broadcast_to(array, (*batch, *port.shape)))
    return array.reshape(prod(batch), port.size)


def _share_memory(a: Array, b: Array) -> bool:
    """Return whether two arrays share memory; True if that is too hard to determine."""
    try:
        return bool(np.shares_memory(a, b, max_work=10_000))  # pyright: ignore
    except np.exceptions.TooHardError:
        return True


def _check_out(array: Any, shape: tuple[int, ...], port: Port, dtype: np.dtype[Any]) -> None:
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"out: expected an array for {port.name}, got {type(array).__name__}")
    if array.shape != shape:
        raise ShapeError(f"out: expected {shape} for {port.name}, got {array.shape}")
    if array.dtype != dtype:
        raise ArgumentError(f"out: expected {dtype} for {port.name}, got {array.dtype}")
    if not array.flags.writeable:
        raise ArgumentError(f"out: the array for {port.name} is read-only")
    if is_masked(array):
        raise ArgumentError(f"out: the array for {port.name} has masked elements")
