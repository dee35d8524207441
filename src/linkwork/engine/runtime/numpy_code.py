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

from linkwork.engine.codegen.c.statements import C_FORM
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import NUMPY_FUNCTIONS, Program, per_port
from linkwork.engine.symbolic.rules import FLOAT_FUNCTIONS

# Operations as Python expressions; functions have the names of libm.
_FORMATS = {op: form.replace(" ", "") for op, form in C_FORM.items()} | {
    Op.LESS: "({}<{})*1.0",
    Op.LESS_EQUAL: "({}<={})*1.0",
    Op.SELECT: "select({},{},{})",
}


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


def python_source(program: Program, *, is_body: bool = False) -> str:
    """Print a function `f` from the elements of all inputs to those of all outputs.

    Variables are reused when their value is no longer needed, so that few arrays exist at a time.

    Args:
        program: the program.
        is_body: whether it is the body of a loop, whose inputs may be Python floats.
    """
    lines = ["def f(x):"]
    texts: list[str] = []  # the variable or constant of each step
    floats: set[int] = set()  # steps that may be Python floats in a call on arrays
    free: list[str] = []  # variables that can be reused
    last_uses = _last_uses(program)
    for step, (op, *args) in enumerate(program.steps):
        if op is Op.CONST:
            texts.append(repr(float(args[0])))
            floats.add(step)
            continue
        operands = program.operands[step]
        arguments = [texts[operand] for operand in operands]
        if op is Op.INPUT:
            value = f"x[{args[0]}]"
            if is_body:
                floats.add(step)
        elif op is Op.LOOP:
            value = f"loop{args[0]}([{','.join(arguments)}])"
        elif op is Op.LOOP_RESULT or op is Op.LOOP_STACK:
            value = f"{arguments[0]}.{'results' if op is Op.LOOP_RESULT else 'stacks'}[{args[0]}]"
            floats.add(step)
        else:
            form = _FORMATS[op]
            if floats.issuperset(args):
                floats.add(step)
                form = "div({},{})" if op is Op.DIV else form  # NumPy returns inf for c / 0
            value = form.format(*arguments)
        unused = [texts[operand] for operand in {*operands} if last_uses[operand] == step]
        free += [text for text in unused if text.startswith("v")]
        texts.append(free.pop() if free else f"v{len(texts)}")
        lines.append(f" {texts[step]}={value}")
    lines.append(f" return [{','.join(texts[result] for result in program.results)}]")
    return "\n".join(lines)


def _last_uses(program: Program) -> list[int]:
    """Return the last step that uses each step."""
    last_uses = [0] * len(program.steps)
    for step, operands in enumerate(program.operands):
        for operand in operands:
            last_uses[operand] = step
    for result in program.results:
        last_uses[result] = len(program.steps)
    return last_uses


def python_function(
    program: Program, functions: Mapping[Op, Any], *, is_body: bool = False
) -> Callable[[list[Any]], list[Any]]:
    """Compile a function from the elements of all inputs to those of all outputs.

    Args:
        program: the program.
        functions: compute the operations for which Python has no operators.
        is_body: as in `python_source`.
    """
    source = python_source(program, is_body=is_body)
    code = compile(source, f"<program {program.digest[:8]}>", "exec")
    namespace: dict[str, Any] = {op.name.lower(): function for op, function in functions.items()}
    namespace.update(inf=math.inf, nan=math.nan)
    for k, loop in enumerate(program.loops):
        body = python_function(loop.body, functions, is_body=True)
        namespace[f"loop{k}"] = partial(loop.run_body, body=body)
    exec(code, namespace)
    return namespace["f"]
