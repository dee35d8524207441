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
from linkwork.engine.symbolic.program import Program, per_port


class NumpyCode:
    """Computes the outputs of a program from the columns of its inputs."""

    def __init__(self, program: Program) -> None:
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
