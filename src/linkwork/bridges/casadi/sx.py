"""A kernel as a CasADi function of SX: its program, replayed on CasADi's symbols.

Shapes   CasADi has matrices only: a scalar is (1, 1), a vector (n, 1), and an array (a, b, c) is
         (a b, c), its matrices stacked vertically
Zeros    entries that are always zero are structural zeros of the CasADi matrix
Norms    quaternions and (cos, sin) pairs are divided by their norm, whatever its value
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from linkwork.engine.kernel.arguments import UnitNorm
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.operations import OPERATIONS, Op
from linkwork.engine.symbolic.program import Port, Program, per_port
from linkwork.errors import ArgumentError, missing_package, shown


def casadi_package() -> Any:
    """Import CasADi, which is optional."""
    try:
        import casadi
    except ImportError as error:
        raise missing_package("linkwork.casadi", "casadi") from error
    return casadi


def sx_function(kernel: Kernel) -> Any:
    """Build the `casadi.Function` that computes a kernel with SX operations."""
    ca = casadi_package()
    check_unrolled(kernel)
    signature, program = kernel.signature, kernel.program
    symbols = [ca.SX.sym(name_of(port.name), *matrix_shape(port)) for port in signature.inputs]
    rows = [_in_row_order(port, x) for port, x in zip(signature.inputs, symbols, strict=True)]
    normalized = _normalized(rows, signature.unit_norms)
    results = program.run(*normalized, functions=_functions(ca))
    outputs = [
        _matrix(port, entries, steps, program)
        for (port, entries), (_, steps) in zip(
            per_port(signature.outputs, results),
            per_port(signature.outputs, program.results),
            strict=True,
        )
    ]
    return ca.Function(
        name_of(signature.name),
        symbols,
        outputs,
        [name_of(port.name) for port in signature.inputs],
        [name_of(port.name) for port in signature.outputs],
    )


def check_unrolled(kernel: Kernel) -> None:
    """Raise if a kernel has no program because it would be too long."""
    if not kernel.is_unrolled:
        message = f"{kernel.signature.name} has too many operations for a CasADi function"
        raise ArgumentError(f"{message}; call it with NumPy arrays")


def name_of(text: str) -> str:
    """Return a valid CasADi name: letters, digits and single underscores, a letter first."""
    name = re.sub(r"[^a-zA-Z0-9]+", "_", text).strip("_")
    return name if name[:1].isalpha() else f"f_{name}"


def matrix_shape(port: Port) -> tuple[int, int]:
    """Return the rows and columns of a port in CasADi."""
    if len(port.shape) < 2:
        return port.size, 1
    columns = port.shape[-1]
    return (port.size // columns if columns else 0), columns


def column_order(port: Port) -> list[int]:
    """For each element of a port in row-major order, return its index in column-major order."""
    n_rows, n_columns = matrix_shape(port)
    return [row + n_rows * column for row in range(n_rows) for column in range(n_columns)]


def as_matrix(port: Port, value: Any) -> Any:
    """Convert an argument to SX, MX or DM; floats become DM, a list of symbols a column."""
    ca = casadi_package()
    kinds = ca.SX, ca.MX, ca.DM
    if isinstance(value, kinds):
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(entry, kinds) for entry in value):
        value = np.array([*value, None], dtype=object)[:-1]  # an array of objects: None prevents
        # NumPy from converting the entries
    try:
        array = np.asarray(value)
        if array.dtype.kind in "fiub":
            return ca.DM(array.astype(float))
        if array.ndim == 1 and any(isinstance(entry, kinds) for entry in array):
            return ca.vertcat(*array)
    except (TypeError, ValueError, NotImplementedError):
        pass
    message = f"{port.name}: expected SX, MX, DM or numbers"
    raise ArgumentError(f"{message}, got {shown(value)}")


def normalized_part(values: Sequence[Any], root: Any) -> list[Any]:
    """Divide values by their Euclidean norm."""
    inverse = 1.0 / root(reduce(add, [value * value for value in values]))
    return [value * inverse for value in values]


def _in_row_order(port: Port, symbol: Any) -> list[Any]:
    elements = symbol.elements()
    return [elements[index] for index in column_order(port)]


def _normalized(rows: Sequence[list[Any]], unit_norms: Sequence[UnitNorm]) -> list[list[Any]]:
    ca = casadi_package()
    normalized = [list(row) for row in rows]
    for unit in unit_norms:
        span = slice(unit.offset, unit.offset + unit.count)
        normalized[unit.input][span] = normalized_part(normalized[unit.input][span], ca.sqrt)
    return normalized


def _matrix(port: Port, entries: Sequence[Any], steps: Sequence[int], program: Program) -> Any:
    """Build the matrix of an output, without the entries that are always zero."""
    ca = casadi_package()
    n_rows, n_columns = matrix_shape(port)
    nonzeros: list[tuple[int, int, Any]] = []  # in column-major order, as CasADi stores them
    for column in range(n_columns):
        for row in range(n_rows):
            index = row * n_columns + column
            if not program.is_zero(steps[index]):
                nonzeros.append((row, column, entries[index]))
    rows, columns = [row for row, *_ in nonzeros], [column for _, column, _ in nonzeros]
    sparsity = ca.Sparsity.triplet(n_rows, n_columns, rows, columns)
    return ca.SX(sparsity, ca.vertcat(*[ca.SX(entry) for *_, entry in nonzeros]))


def _functions(ca: Any) -> dict[Op, Any]:
    """Return CasADi's function for each operation."""
    functions = {
        op: row.on_any or getattr(ca, op.name.lower(), None) for op, row in OPERATIONS.items()
    }
    return functions | {Op.SELECT: ca.if_else}
