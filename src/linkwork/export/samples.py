"""Sample inputs, and the results of the kernels for them, with which C code is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.kernel.norms import normalized
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS
from linkwork.engine.symbolic.program import per_port
from linkwork.errors import LinkworkError
from linkwork.export.requests import Exported
from linkwork.kindyn import ConstrainedKinDyn, KinDyn

DIFFERENCE = {"double": 1e-13, "float": 1e-5}
"""Allowed difference between C and the kernels, relative to the largest element of an output."""
# This multiple of the rounding error is allowed as well, as C code rounds differently.
_FACTOR = 4.0
_TRIES = 4  # times as many states are drawn as needed, because some results may not be finite
SMALL = 1e-3
"""An output that is smaller than this fraction of the largest one is compared with that size.

Else rounding errors would be large relative to an output that is zero in exact arithmetic, such as
the residual of constraints.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of each input and of each output, and how much C may differ from them."""

    inputs: tuple[Array, ...]  # (rows, size)
    outputs: tuple[Array, ...]  # (rows, size), in double precision
    allowed: float


Draw: TypeAlias = Callable[[int, np.random.Generator], tuple[Array, ...]]
"""Draws rows of all inputs, given their number and a random generator."""


def sample_of(
    kd: KinDyn | ConstrainedKinDyn,
    one: Exported,
    real: Real,
    *,
    rows: int,
    seed: int = 0,
    draw: Draw | None = None,
) -> Sample:
    """Draw random states of a robot, some with drifted quaternions, and compute the results.

    A result that is sensitive to rounding may differ by more: by four times the error that rounding
    causes (`rounding_errors`). An example is forward dynamics with an ill-conditioned mass matrix.
    `draw` replaces the random states.
    """
    rng = np.random.default_rng(seed)
    n = rows * _TRIES
    drawn = draw(n, rng) if draw else _inputs(kd, one, real, n, rng)
    expected = _results(one, drawn)
    finite = np.all([np.isfinite(part).all(axis=1) for part in expected], axis=0)
    chosen = np.flatnonzero(finite)[:rows]
    if len(chosen) < rows:
        message = f"{one.kernel.signature.name}: results at random inputs are infinite or NaN"
        raise LinkworkError(message)
    inputs = tuple(part[chosen] for part in drawn)
    outputs = tuple(part[chosen] for part in expected)
    error = rounding_errors(one, inputs, outputs, real).max()
    return Sample(inputs, outputs, max(DIFFERENCE[real.name], _FACTOR * float(error)))


def rounding_errors(
    one: Exported, inputs: Sequence[Array], outputs: Sequence[Array], real: Real
) -> Array:
    """Return the effect of rounding in the type of the C code, relative to the largest element.

    In double precision it is the error of the kernel: its results are compared with those of the
    same operations in NumPy's longdouble. In single precision it is the error of the same
    operations in float32, compared with the kernel. On platforms where longdouble is double, the
    former measures the effect of another order of operations.
    """
    dtype = np.longdouble if real.name == "double" else np.float32
    return np.max([*_differences(_in_numpy(one, inputs, dtype), outputs)], axis=0)


def difference(results: Sequence[Array], expected: Sequence[Array]) -> float:
    """Return the largest difference, relative to the largest element of the same row and output.

    See `SMALL` for small outputs.
    """
    return max((float(part.max()) for part in _differences(results, expected)), default=0.0)


def _differences(results: Sequence[Array], expected: Sequence[Array]) -> Iterator[Array]:
    """Yield the largest relative difference of each row, by output; NaN counts as infinite."""
    sizes = [np.abs(reference).max(axis=1) for reference in expected]
    for result, reference, largest in zip(results, expected, sizes, strict=True):
        size = np.maximum(largest, SMALL * np.max(sizes, axis=0))
        error = np.abs(np.asarray(result, np.float64) - reference).max(axis=1)
        error /= np.where(size, size, 1.0)
        yield np.where(np.isnan(error), np.inf, error)


def _in_numpy(one: Exported, inputs: Sequence[Array], dtype: Any) -> tuple[Array, ...]:
    """Run the program in NumPy with elements of a type."""
    program, spans = one.function.program, [unit.span for unit in one.function.unit_norms]
    input_type = np.float32 if dtype == np.float32 else np.float64
    rows = normalized([part.astype(input_type) for part in inputs], spans, input_type)
    assert rows is not None
    with np.errstate(all="ignore"):
        columns_of_rows = (tuple(part.T.astype(dtype)) for part in rows)
        results = program.run(*columns_of_rows, functions=NUMPY_FUNCTIONS, constant=dtype)
    n = len(inputs[0]) if inputs else 1
    columns = [np.broadcast_to(np.asarray(column, np.float64), n) for column in results]
    parts = per_port(program.outputs, columns)
    return tuple(np.array(part).T.reshape(n, -1) for _, part in parts if part)


def _results(one: Exported, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Return the results of the kernel as (rows, size) arrays."""
    ports = zip(inputs, one.kernel.signature.inputs, strict=True)
    results = one.kernel(*(rows.reshape(len(rows), *port.shape) for rows, port in ports), threads=1)
    listed = results if isinstance(results, tuple) else (results,)
    n = len(inputs[0]) if inputs else 1
    parts = [np.array(part, np.float64) for part in listed]
    return tuple(part.reshape(n, -1) for part in parts if part.size)


def _inputs(
    kd: KinDyn | ConstrainedKinDyn, one: Exported, real: Real, rows: int, rng: np.random.Generator
) -> tuple[Array, ...]:
    """Draw random inputs that the C type represents exactly."""
    inputs: list[Array] = []
    signature = one.kernel.signature
    robot = kd if isinstance(kd, KinDyn) else kd.kindyn
    owners = getattr(one.kernel, "robot", kd), kd
    constrained = next((one for one in owners if isinstance(one, ConstrainedKinDyn)), None)
    for port in signature.inputs:
        if port.name in ("q", "q_start", "q_end") and port.shape == (kd.nq,):
            values = robot.random(rows, seed=int(rng.integers(2**31))).astype(np.float64)
            if constrained is not None and signature.name == "error":  # zero where loops are closed
                step = 0.1 * rng.normal(size=(rows, kd.nv))
                values = robot.integrate(values, step).astype(np.float64)
        elif port.name == "parameters" and port.shape == (kd.parameters.size,):
            nominal = kd.parameter_values().astype(np.float64)  # nearby values are a valid robot
            values = nominal + 0.01 * rng.normal(size=(rows, port.size))
        else:
            values = rng.normal(size=(rows, port.size))
            values = np.abs(values) * 0.1 if port.name == "dt" else values
        inputs.append(values.reshape(rows, port.size))
    for unit in signature.unit_norms:
        span = slice(unit.offset, unit.offset + unit.count)
        block = inputs[unit.input][:, span]
        drift = np.where(np.arange(rows) % 3 == 1, 1.0003, 1.0)
        inputs[unit.input][:, span] = (
            block / np.linalg.norm(block, axis=1, keepdims=True) * drift[:, None]
        )
    names = [port.name for port in signature.inputs]
    if constrained is not None and "nu" in names and "restitution" not in names:
        # velocities that the constraints allow: J nu = 0
        q, nu = (inputs[names.index(name)] for name in ("q", "nu"))
        J = np.asarray(constrained.replace(dtype=np.float64).jacobian(q))
        nu -= np.squeeze(np.linalg.pinv(J) @ (J @ nu[..., None]), -1)
    dtype = np.float64 if real.name == "double" else np.float32
    return tuple(part.astype(dtype).astype(np.float64) for part in inputs)
