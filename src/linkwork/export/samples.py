"""Inputs to compare at, and what the kernels give there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.kernel.norms import normalized
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import NUMPY_FUNCTIONS, per_port
from linkwork.errors import LinkworkError
from linkwork.export.pairs import Fused, float_fma
from linkwork.export.requests import Exported
from linkwork.kindyn import KinDyn

DIFFERENCE = {"double": 1e-13, "float": 1e-5}
"""Allowed between C and the kernels, relative to the largest number of an output."""
_FACTOR = (
    4.0  # times the error of rounding is allowed as well: it is a matter of luck, and C has its own
)
_TRIES = 4  # times as many states are drawn as are wanted, of which some may give no finite numbers


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of each input and of each output, and how far from them C may be."""

    inputs: tuple[Array, ...]  # (rows, size)
    outputs: tuple[Array, ...]  # (rows, size), in double precision
    allowed: float


Draw: TypeAlias = Callable[[int, np.random.Generator], tuple[Array, ...]]
"""Makes rows of all inputs: how many, and from what random numbers."""


def sample_of(
    kd: KinDyn, one: Exported, real: Real, *, rows: int, seed: int = 0, draw: Draw | None = None
) -> Sample:
    """Random states of a robot, some with quaternions that have drifted, and the results there.

    A result that is sensitive to rounding may differ by more: by four times the error that rounding
    causes anyway (`rounding_errors`). Forward dynamics with an ill-conditioned mass matrix is
    such a result. `draw` makes other inputs than these.
    """
    rng = np.random.default_rng(seed)
    n = rows * _TRIES
    drawn = draw(n, rng) if draw else _inputs(kd, one, real, n, rng)
    wanted = _results(one, drawn)
    finite = np.all([np.isfinite(part).all(axis=1) for part in wanted], axis=0)
    chosen = np.flatnonzero(finite)[:rows]
    if len(chosen) < rows:
        raise LinkworkError(f"{one.kernel.signature.name}: random inputs give infinity or NaN")
    inputs = tuple(part[chosen] for part in drawn)
    outputs = tuple(part[chosen] for part in wanted)
    error = rounding_errors(one, inputs, outputs, real).max()
    return Sample(inputs, outputs, max(DIFFERENCE[real.name], _FACTOR * float(error)))


def rounding_errors(
    one: Exported, inputs: Sequence[Array], outputs: Sequence[Array], real: Real
) -> Array:
    """(rows,) how far rounding in the precision of the C code moves results, relative as above.

    In double precision it is the error of the kernel itself, whose results are compared with those
    of the same operations in NumPy's longdouble. In single precision it is the error of the same
    operations in float32, compared with the kernel. Where longdouble has the digits of double, the
    former is what another order of roundings changes.
    """
    dtype = np.longdouble if real.name == "double" else np.float32
    return np.max([*_differences(_in_numpy(one, inputs, dtype), outputs)], axis=0)


def difference(found: Sequence[Array], wanted: Sequence[Array]) -> float:
    """The largest difference, relative to the largest number of the same row and output."""
    return max((float(part.max()) for part in _differences(found, wanted)), default=0.0)


def _differences(found: Sequence[Array], wanted: Sequence[Array]) -> Iterator[Array]:
    """(rows,) of each output: the largest one, relative to the largest number; NaN is infinite."""
    for got, expected in zip(found, wanted, strict=True):
        largest = np.abs(expected).max(axis=1)
        apart = np.abs(np.asarray(got, np.float64) - expected).max(axis=1)
        apart /= np.where(largest, largest, 1.0)
        yield np.where(np.isnan(apart), np.inf, apart)


def _in_numpy(one: Exported, inputs: Sequence[Array], dtype: Any) -> tuple[Array, ...]:
    """Results of the program, computed by NumPy with numbers of a type."""
    program, spans = one.function.program, [unit.span for unit in one.function.unit_norms]
    given = np.float32 if dtype == np.float32 else np.float64
    rows = normalized([part.astype(given) for part in inputs], spans, given)
    assert rows is not None
    with np.errstate(all="ignore"):
        columns_of_rows = (tuple(part.T.astype(dtype)) for part in rows)
        functions: dict[Any, Any] = NUMPY_FUNCTIONS | {Fused.FMA: float_fma}
        found = program.run(*columns_of_rows, functions=functions, constant=dtype)
    n = len(inputs[0]) if inputs else 1
    columns = [np.broadcast_to(np.asarray(number, np.float64), n) for number in found]
    parts = per_port(program.outputs, columns)
    return tuple(np.array(part).T.reshape(n, -1) for _, part in parts if part)


def _results(one: Exported, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """What the kernel gives, as (rows, size) arrays."""
    ports = zip(inputs, one.kernel.signature.inputs, strict=True)
    results = one.kernel(*(rows.reshape(len(rows), *port.shape) for rows, port in ports), threads=1)
    listed = results if isinstance(results, tuple) else (results,)
    n = len(inputs[0]) if inputs else 1
    parts = [np.array(part, np.float64) for part in listed]
    return tuple(part.reshape(n, -1) for part in parts if part.size)


def _inputs(
    kd: KinDyn, one: Exported, real: Real, rows: int, rng: np.random.Generator
) -> tuple[Array, ...]:
    """Random numbers that the C type holds exactly."""
    found: list[Array] = []
    signature = one.kernel.signature
    for port in signature.inputs:
        if port.name in ("q", "q_start", "q_end") and port.shape == (kd.nq,):
            numbers = kd.random(rows, seed=int(rng.integers(2**31))).astype(np.float64)
        elif port.name == "parameters" and port.shape == (kd.parameters.size,):
            own = kd.parameter_values().astype(np.float64)  # near the model: it stays a robot
            numbers = own + 0.01 * rng.normal(size=(rows, port.size))
        else:
            numbers = rng.normal(size=(rows, port.size))
            numbers = np.abs(numbers) * 0.1 if port.name == "dt" else numbers
        found.append(numbers.reshape(rows, port.size))
    for unit in signature.unit_norms:
        at = slice(unit.offset, unit.offset + unit.count)
        block = found[unit.input][:, at]
        drift = np.where(np.arange(rows) % 3 == 1, 1.0003, 1.0)
        found[unit.input][:, at] = (
            block / np.linalg.norm(block, axis=1, keepdims=True) * drift[:, None]
        )
    dtype = np.float64 if real.name == "double" else np.float32
    return tuple(part.astype(dtype).astype(np.float64) for part in found)
