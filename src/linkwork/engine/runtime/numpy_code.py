"""Programs as Python functions, the fallback where machine code cannot be compiled or run.

The program is printed as Python source. Batches run it on NumPy arrays, one for each column; a
single row runs it on floats, which takes a tenth of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from linkwork.engine.codegen.python import emit_python
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.operations import FLOAT_FUNCTIONS, NUMPY_FUNCTIONS, Op
from linkwork.engine.symbolic.program import Program, per_port, values_of

# A column function computes at most this many bytes of inputs and outputs, and this many rows, at a
# time, so that the arrays of intermediate values stay in the cache.
COLUMN_BYTES, COLUMN_ROWS = 4 << 20, 4096


class NumpyCode:
    """Computes the outputs of a program from the columns of its inputs."""

    def __init__(self, program: Program) -> None:
        program = values_of(program)
        self._on_floats = python_function(program, FLOAT_FUNCTIONS)
        self._on_arrays = python_function(program, NUMPY_FUNCTIONS)
        self._outputs = program.outputs

    def __call__(self, *columns: Sequence[Array]) -> list[Any]:
        """Return for each output a list of its columns, or its row if all inputs have one row."""
        flat = [column for port in columns for column in port]
        results: Any = self._row(flat) if all(len(column) == 1 for column in flat) else None
        if results is None:
            results = self._on_arrays(flat)
        return [part for _, part in per_port(self._outputs, results)]

    def _row(self, columns: list[Array]) -> Array | None:
        """Compute one row with floats, which are double precision.

        Returns None for single precision, and if that raises where arrays return inf or NaN.
        """
        if columns and columns[0].dtype != np.float64:
            return None
        try:
            return np.array(self._on_floats([float(column[0]) for column in columns]))
        except (ArithmeticError, ValueError):
            return None


def python_function(
    program: Program, functions: Mapping[Op, Any], *, is_body: bool = False
) -> Callable[[list[Any]], list[Any]]:
    """Compile a function from the elements of all inputs to those of all outputs.

    Args:
        program: the program.
        functions: compute the operations for which Python has no operators.
        is_body: as in `emit_python`.
    """
    source = emit_python(program, is_body=is_body)
    code = compile(source, f"<program {program.digest[:8]}>", "exec")
    namespace: dict[str, Any] = {op.name.lower(): function for op, function in functions.items()}
    namespace.update(inf=math.inf, nan=math.nan)
    for k, loop in enumerate(program.loops):
        body = python_function(loop.body, functions, is_body=True)
        namespace[f"loop{k}"] = partial(loop.run_body, body=body)
    exec(code, namespace)
    return namespace["f"]


def run_columns(
    compute: Callable[..., Sequence[Any]], rows: Sequence[Array], outputs: Sequence[Array]
) -> bool:
    """Compute rows with a column function, in chunks; return whether all results are finite.

    Args:
        compute: computes the columns of each output from those of each input, or a row.
        rows: (n, size) of each input, or (1, size) if all rows share one.
        outputs: (n, size) of each output, which are written.
    """
    dtype, n = outputs[0].dtype, len(outputs[0])
    width = sum(array.shape[1] for array in (*rows, *outputs))
    chunk = COLUMN_BYTES // (max(width, 1) * dtype.itemsize)
    chunk = max(64, min(COLUMN_ROWS, chunk))
    for start in range(0, n, chunk):
        columns = [tuple((a[start : start + chunk] if len(a) > 1 else a).T) for a in rows]
        with np.errstate(all="ignore"):  # compiled code issues no warnings either
            for array, results in zip(outputs, compute(*columns), strict=True):
                if _is_row(results):
                    array[start : start + chunk] = results
                    continue
                for index, column in enumerate(results):
                    array[start : start + chunk, index] = column
    return all(bool(np.isfinite(array).all()) for array in outputs)


def _is_row(results: Any) -> bool:
    """Return whether these are the entries of one row, not a column for each entry."""
    return isinstance(results, np.ndarray) and results.ndim == 1 and results.dtype != object
