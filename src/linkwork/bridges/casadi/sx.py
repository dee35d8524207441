"""A kernel as a CasADi function of SX: its program, replayed on CasADi's symbols.

Shapes   CasADi has matrices only: a number is (1, 1), a vector (n, 1), and an array (a, b, c) is
         (a b, c), its matrices one below the other
Zeros    entries that are always zero are structural zeros of the CasADi matrix
Norms    quaternions and (cos, sin) pairs are divided by their norm, whatever it is
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
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Port, Program, per_port
from linkwork.errors import ArgumentError, missing_package, shown


def casadi_package() -> Any:
    """CasADi itself, which is optional."""
    try:
        import casadi
    except ImportError as error:
        raise missing_package("linkwork.casadi", "casadi") from error
    return casadi


def sx_function(kernel: Kernel) -> Any:
    """The `casadi.Function` that computes the same as a kernel, by SX operations."""
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
    """Raise if a kernel is computed by NumPy because its program would be too long."""
    if not kernel.is_unrolled:
        text = f"{kernel.signature.name} has too many operations to be a CasADi function"
        raise ArgumentError(f"{text}; call it with NumPy")


def name_of(text: str) -> str:
    """A name that CasADi takes: letters, digits and single underscores, a letter first."""
    name = re.sub(r"[^a-zA-Z0-9]+", "_", text).strip("_")
    return name if name[:1].isalpha() else f"f_{name}"


def matrix_shape(port: Port) -> tuple[int, int]:
    """The rows and columns of a port in CasADi."""
    if len(port.shape) < 2:
        return port.size, 1
    columns = port.shape[-1]
    return (port.size // columns if columns else 0), columns


def column_order(port: Port) -> list[int]:
    """For each number of a port, row by row as NumPy has them: its place column by column."""
    n_rows, n_columns = matrix_shape(port)
    return [row + n_rows * column for row in range(n_rows) for column in range(n_columns)]


def as_matrix(port: Port, value: Any) -> Any:
    """An argument as SX, MX or DM; numbers become DM, a list of symbols a column."""
    ca = casadi_package()
    kinds = ca.SX, ca.MX, ca.DM
    if isinstance(value, kinds):
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(entry, kinds) for entry in value):
        value = np.array([*value, None], dtype=object)[:-1]  # so that NumPy does not look inside
    try:
        array = np.asarray(value)
        if array.dtype.kind in "fiub":
            return ca.DM(array.astype(float))
        if array.ndim == 1 and any(isinstance(entry, kinds) for entry in array):
            return ca.vertcat(*array)
    except (TypeError, ValueError, NotImplementedError):
        pass
    text = f"{port.name}: expected SX, MX, DM or numbers"
    raise ArgumentError(f"{text}, got {shown(value)}")


def normalized_part(values: Sequence[Any], root: Any) -> list[Any]:
    """Numbers divided by their norm."""
    inverse = 1.0 / root(reduce(add, [value * value for value in values]))
    return [value * inverse for value in values]


def _in_row_order(port: Port, symbol: Any) -> list[Any]:
    elements = symbol.elements()
    return [elements[place] for place in column_order(port)]


def _normalized(rows: Sequence[list[Any]], unit_norms: Sequence[UnitNorm]) -> list[list[Any]]:
    ca = casadi_package()
    found = [list(row) for row in rows]
    for unit in unit_norms:
        span = slice(unit.offset, unit.offset + unit.count)
        found[unit.input][span] = normalized_part(found[unit.input][span], ca.sqrt)
    return found


def _matrix(port: Port, entries: Sequence[Any], steps: Sequence[int], program: Program) -> Any:
    """The entries of an output as a matrix, without those that are always zero."""
    ca = casadi_package()
    n_rows, n_columns = matrix_shape(port)
    kept: list[tuple[int, int, Any]] = []  # column by column, as CasADi keeps them
    for column in range(n_columns):
        for row in range(n_rows):
            at = row * n_columns + column
            if not program.is_zero(steps[at]):
                kept.append((row, column, entries[at]))
    sparsity = ca.Sparsity.triplet(n_rows, n_columns, [k[0] for k in kept], [k[1] for k in kept])
    return ca.SX(sparsity, ca.vertcat(*[ca.SX(entry) for *_, entry in kept]))


def _functions(ca: Any) -> dict[Op, Any]:
    """How CasADi computes each operation."""
    return {
        Op.ADD: lambda a, b: a + b,
        Op.SUB: lambda a, b: a - b,
        Op.MUL: lambda a, b: a * b,
        Op.DIV: lambda a, b: a / b,
        Op.NEG: lambda a: -a,
        Op.SQRT: ca.sqrt,
        Op.SIN: ca.sin,
        Op.COS: ca.cos,
        Op.ATAN2: ca.atan2,
        Op.LESS: lambda a, b: a < b,
        Op.SELECT: ca.if_else,
        Op.EXP: ca.exp,
        Op.LOG: ca.log,
        Op.LESS_EQUAL: lambda a, b: a <= b,
        Op.FLOOR: ca.floor,
        Op.EXPM1: ca.expm1,
        Op.LOG1P: ca.log1p,
        Op.EXP2: lambda a: 2.0**a,
    }
