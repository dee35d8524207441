"""The arguments of a call in Python: converted to rows, or refused; and arrays for the results."""

from __future__ import annotations

import operator
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from math import prod
from typing import Any, NoReturn

import numpy as np

from linkwork.engine import BRIDGES, LAZY_BRIDGES
from linkwork.engine.kernel.extension import empty
from linkwork.engine.kernel.norms import TOLERANCE, Span, norms
from linkwork.engine.symbolic.arrays import Array, ObjectArray, as_array, batch_of, is_masked
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.traced import foreign_package, is_traced, unwrapped
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError

MOST_AXES = 32  # of an input or output: the limit of NumPy before version 2

# Arrays of other libraries: what they are called, and how to get numbers out of `{0}`.
_FOREIGN = {
    "torch": ("a torch tensor", "{0}.detach().cpu().numpy()"),
    "jax": ("a jax array", "np.asarray({0})"),
    "casadi": ("a casadi matrix", "{0}.full().ravel()"),
    "dask": ("a dask array", "{0}.compute()"),
}


@dataclass(frozen=True, slots=True)
class UnitNorm:
    """Numbers of an input whose norm must be 1: a quaternion, or cosine and sine of an angle."""

    input: int  # its index
    offset: int  # of the first of them in a row
    count: int
    owner: str  # for messages, such as "the base quaternion"

    @property
    def span(self) -> Span:
        """Which numbers they are."""
        return self.input, self.offset, self.count


@dataclass(frozen=True, slots=True)
class Signature:
    """The inputs and outputs of a kernel."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    unit_norms: tuple[UnitNorm, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    """By the name of an input: what its numbers are, for the message about a wrong shape."""
    defaults: Mapping[str, Array] = field(default_factory=dict[str, Array], compare=False)
    """By the name of an input: its row where a call leaves it out."""

    def __post_init__(self) -> None:
        for port in (*self.inputs, *self.outputs):
            if len(port.shape) > MOST_AXES:
                text = f"{port.name}: at most {MOST_AXES} axes, got {len(port.shape)}"
                raise ArgumentError(text)


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
    for name, default in signature.defaults.items():
        values.setdefault(name, default)
    missing = [port.name for port in ports if port.name not in values]
    if missing:
        raise ArgumentError(f"{signature.name} takes {names}; {', '.join(missing)} missing")
    return [values[port.name] for port in ports]


def as_rows(
    signature: Signature, values: Sequence[Any], dtype: np.dtype[Any]
) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    """Arguments as (rows, size) arrays, of one row where it is broadcast; and the batch shape."""
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
    """Say what to do about arrays that do not fit into memory."""
    try:
        yield
    except MemoryError as error:
        hint = "compute fewer rows at a time, or use `linkwork batch`"
        raise MemoryError(f"{error}; {hint}") from None


def constants_of(signature: Signature, port: Port, value: Any) -> Array:
    """An argument in numbers, (..., *shape) of float64."""
    return _array(value, port, np.dtype(np.float64), signature.meanings.get(port.name, ""))


def traced_array(signature: Signature, port: Port, value: Any) -> ObjectArray:
    """An argument with traced values, (..., *shape)."""
    refuse_foreign(value, port.name)
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
    """Arrays to compute into, and arrays to return: those of `out` may need a copy at the end."""
    ports = signature.outputs
    shapes = [(*batch, *port.shape) for port in ports]
    if out is None:
        with memory_hint():
            made = [empty(shape, dtype) for shape in shapes]
        return made, made
    given = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(given) != len(ports):
        raise ArgumentError(f"out: expected {len(ports)} arrays, got {len(given)}")
    targets: list[Array] = []
    for array, shape, port in zip(given, shapes, ports, strict=True):
        _check_out(array, shape, port, dtype)
        direct = array.flags.c_contiguous and array.flags.aligned
        overlaps = any(np.may_share_memory(array, other) for other in rows)
        targets.append(array if direct and not overlaps else empty(shape, dtype))
    for k, array in enumerate(given):
        if any(_share(array, other) for other in given[:k]):
            raise ValueRangeError("out: two of the arrays share their memory")
    return targets, given


def thread_number(threads: Any) -> int | None:
    """A number of threads that was given; None for as many as there are cores."""
    try:
        return None if threads is None else operator.index(threads)
    except TypeError:
        raise ArgumentError(f"threads: expected a whole number, got {threads!r}") from None


def check_norms(signature: Signature, rows: Sequence[Array]) -> None:
    """Refuse numbers whose norm must be 1 and is not, with the first such row."""
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
    refuse_foreign(value, port.name)
    array = None
    try:
        given = np.asarray(value)
        if isinstance(value, ObjectArray) and not is_traced(value):  # such as np.zeros_like gives
            given = np.array(value.tolist(), np.float64).reshape(value.shape)
        if given.dtype.kind in "fiub":  # complex numbers, texts and objects are no positions
            with np.errstate(over="ignore"):  # too large for the type is infinite
                array = np.require(given, dtype, ["C", "A"]).reshape(given.shape)
    except (TypeError, ValueError):
        pass
    if array is None:
        of = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
        raise ArgumentError(f"{port.name}: expected numbers, got {type(value).__name__}{of}")
    if is_masked(value):
        raise ArgumentError(f"{port.name}: masked elements have no value; use filled() to give one")
    _check_shape(array, port, meaning)
    return array


def _check_shape(array: Array, port: Port, meaning: str) -> None:
    own = array.shape[array.ndim - len(port.shape) :] if array.ndim >= len(port.shape) else None
    if own != port.shape:
        refuse_shape(array.shape, port, meaning)


def refuse_shape(shape: tuple[Any, ...], port: Port, meaning: str = "") -> NoReturn:
    """Raise the error for an argument whose shape does not fit its input."""
    wanted = ", ".join(["...", *map(str, port.shape)])
    text = f"{port.name}: expected ({wanted}), got {shape}"
    if len(shape) == 2 and shape[:1] == port.shape and shape[1] != 1:
        text += "; its transpose (.T) would fit"
    raise ShapeError(f"{text}; {meaning}" if meaning else text)


def refuse_foreign(value: Any, name: str) -> None:
    """Refuse arrays of other libraries: NumPy could convert some of them, slowly or not at all."""
    if isinstance(value, (list, tuple)):
        for part in value:  # pyright: ignore[reportUnknownVariableType]
            if type(part) is not float:
                refuse_foreign(part, name)
        return
    library = foreign_package(value)
    if library is not None:
        what, numbers = _FOREIGN.get(library, (f"an array of {library}", "np.asarray({0})"))
        text = f"{name}: {what}; linkwork takes NumPy arrays, so give {numbers.format(name)}"
        hint = f", or use {BRIDGES[library]}" if library in BRIDGES else ""
        raise ArgumentError(text + hint)


def lazy_bridge(values: Sequence[Any]) -> Any:
    """The module for calls with arrays that are computed later, if there are any; else None."""
    for value in values:
        module = LAZY_BRIDGES.get(foreign_package(value) or "")
        if module is not None:
            return import_module(module)
    return None


def _rows(array: Array, batch: tuple[int, ...], port: Port) -> Array:
    """An array as (rows, size); one row if its batch axes hold only one."""
    own = array.shape[: array.ndim - len(port.shape)]
    if prod(own) == 1:
        return array.reshape(1, port.size)
    if own != batch:
        array = np.ascontiguousarray(np.broadcast_to(array, (*batch, *port.shape)))
    return array.reshape(prod(batch), port.size)


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
    if is_masked(array):
        raise ArgumentError(f"out: the array for {port.name} has masked elements")
