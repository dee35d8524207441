"""What callers give, as rows that compiled code can take; and arrays to write the answers to."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from linkwork.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError
from linkwork.expr.program import Port
from linkwork.traced import is_traced

NOT_UNIT = 1e-3  # a quaternion further than this from norm 1 is a mistake, not rounding


@dataclass(frozen=True, slots=True)
class Unit:
    """Numbers of an input whose norm must be 1: a quaternion, or cosine and sine of an angle."""

    input: int
    offset: int
    count: int
    owner: str  # for messages, such as "the base quaternion"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a kernel takes and gives."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    units: tuple[Unit, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict[str, str])  # of inputs, for messages


def in_order(signature: Signature, args: Sequence[Any], named: dict[str, Any]) -> list[Any]:
    """Arguments by position and by name, in the order of the inputs."""
    ports = signature.inputs
    values = dict(zip((port.name for port in ports), args, strict=False))
    names = ", ".join(port.name for port in ports)
    if len(args) > len(ports):
        text = f"{signature.name} takes {len(ports)} arguments ({names}), got {len(args)}"
        raise ArgumentError(text)
    for name, value in named.items():
        if name in values or name not in {port.name for port in ports}:
            why = "is given twice" if name in values else f"is unknown; known: {names}"
            raise ArgumentError(f"{signature.name}: argument {name!r} {why}")
        values[name] = value
    missing = [port.name for port in ports if port.name not in values]
    if missing:
        raise ArgumentError(f"{signature.name} takes {names}; {', '.join(missing)} missing")
    return [values[port.name] for port in ports]


def as_rows(
    signature: Signature, values: Sequence[Any], dtype: np.dtype[Any]
) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    """Arguments as (rows, size) arrays, one row where all share it; and the batch shape."""
    ports = signature.inputs
    arrays = [
        _array(value, port, dtype, signature.meanings.get(port.name, ""))
        for value, port in zip(values, ports, strict=True)
    ]
    batches = [
        array.shape[: array.ndim - len(port.shape)]
        for array, port in zip(arrays, ports, strict=True)
    ]
    try:
        batch = np.broadcast_shapes(*batches)
    except ValueError:
        listed = ", ".join(f"{p.name} {own}" for p, own in zip(ports, batches, strict=True))
        raise ShapeError(f"batch axes do not fit each other: {listed}") from None
    rows = [
        _rows(array, own, batch, port)
        for array, own, port in zip(arrays, batches, ports, strict=True)
    ]
    return tuple(rows), batch


def outputs_for(
    signature: Signature,
    batch: tuple[int, ...],
    out: Any,
    rows: Sequence[Array],
    dtype: np.dtype[Any],
) -> tuple[list[Array], list[Array]]:
    """Arrays to write to, and the ones to return; they differ where `out` cannot be written to."""
    ports = signature.outputs
    shapes = [(*batch, *port.shape) for port in ports]
    if out is None:
        made = [np.empty(shape, dtype) for shape in shapes]
        return made, made
    given = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(given) != len(ports):
        raise ArgumentError(f"out: expected {len(ports)} arrays, got {len(given)}")
    targets: list[Array] = []
    for array, shape, port in zip(given, shapes, ports, strict=True):
        _check_out(array, shape, port, dtype)
        direct = array.flags.c_contiguous and array.flags.aligned
        overlaps = any(np.may_share_memory(array, other) for other in rows)
        targets.append(array if direct and not overlaps else np.empty(shape, dtype))
    for k, array in enumerate(given):
        if any(_share(array, other) for other in given[:k]):
            raise ValueRangeError("out: two of the arrays share their memory")
    return targets, given


def _array(value: Any, port: Port, dtype: np.dtype[Any], meaning: str) -> Array:
    array = None
    try:
        given = np.asarray(value)
        if given.dtype.kind in "fiub":  # complex numbers, texts and objects are no positions
            with np.errstate(over="ignore"):  # too large for the type is infinite
                array = np.require(given, dtype, ["C", "A"]).reshape(given.shape)
    except (TypeError, ValueError):
        pass
    if array is None and is_traced(value):
        text = f"{port.name}: methods of KinDyn inside a function that is being traced are not"
        raise ArgumentError(f"{text} supported yet; call them outside, and give it the results")
    if array is None:
        of = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
        raise ArgumentError(f"{port.name}: expected numbers, got {type(value).__name__}{of}")
    if _is_masked(value):
        raise ArgumentError(f"{port.name}: masked elements have no value; use filled() to give one")
    own = array.shape[array.ndim - len(port.shape) :] if array.ndim >= len(port.shape) else None
    if own != port.shape:
        wanted = ", ".join(["...", *map(str, port.shape)])
        text = f"{port.name}: expected ({wanted}), got {array.shape}"
        raise ShapeError(f"{text}; {meaning}" if meaning else text)
    return array


def _is_masked(value: Any) -> bool:
    """Whether any element of an array, or of arrays in sequences, is masked."""
    if "numpy.ma" not in sys.modules:  # then nobody has such arrays; loading it takes a while
        return False
    if isinstance(value, (list, tuple)):
        return any(map(_is_masked, value))
    return isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)


def _rows(array: Array, own: tuple[int, ...], batch: tuple[int, ...], port: Port) -> Array:
    if prod(own) == 1:
        return array.reshape(1, port.size)
    if own != batch:
        array = np.ascontiguousarray(np.broadcast_to(array, (*batch, *port.shape)))
    return array.reshape(prod(batch), port.size)


def normalized(
    signature: Signature, rows: Sequence[Array], dtype: np.dtype[Any]
) -> tuple[Array, ...]:
    """Scale what must have norm 1 and nearly has; refuse what has not."""
    found = list(rows)
    noise = 4 * np.finfo(dtype).eps
    for unit in signature.units:
        where = slice(unit.offset, unit.offset + unit.count)
        part = found[unit.input][:, where]
        with np.errstate(over="ignore", invalid="ignore"):  # NaN and infinity pass, as anywhere
            norm = np.sqrt((part.astype(np.float64) ** 2).sum(axis=1))
            off = np.abs(norm - 1)
            wrong = off > NOT_UNIT
        if wrong.any():
            worst = int(np.argmax(wrong))
            name = signature.inputs[unit.input].name
            text = f"{name}: {unit.owner} has norm {norm[worst]:.6g}, not 1"
            raise ValueRangeError(text + (f" (row {worst})" if len(norm) > 1 else ""))
        if (off > noise).any():
            copy = found[unit.input].copy()
            copy[:, where] = part / norm[:, None]
            found[unit.input] = copy
    return tuple(found)


def _share(a: Array, b: Array) -> bool:
    """Whether two arrays have memory in common; in doubt, they have."""
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
    if _is_masked(array):
        raise ArgumentError(f"out: the array for {port.name} has masked elements")
