"""Programs as Python functions: what computes where machine code cannot be made or run.

The program is written as Python source once. Batches run it on NumPy arrays, one for each column;
a single row runs it on floats, which takes a tenth of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from linkwork.arrays import Array
from linkwork.expr.node import Op
from linkwork.expr.program import Program

_FORMATS = {
    Op.ADD: "{}+{}",
    Op.SUB: "{}-{}",
    Op.MUL: "{}*{}",
    Op.DIV: "{}/{}",
    Op.NEG: "-{}",
    Op.SQRT: "sqrt({})",
    Op.SIN: "sin({})",
    Op.COS: "cos({})",
    Op.ATAN2: "arctan2({},{})",
    Op.LESS: "({}<{})*1.0",
    Op.LESS_EQUAL: "({}<={})*1.0",
    Op.SELECT: "where({},{},{})",
    Op.EXP: "exp({})",
    Op.LOG: "log({})",
    Op.EXPM1: "expm1({})",
    Op.LOG1P: "log1p({})",
    Op.EXP2: "exp2({})",
    Op.FLOOR: "floor({})",
}
_OF_FLOATS: dict[str, Any] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "arctan2": math.atan2,
    "exp": math.exp,
    "log": math.log,
    "expm1": math.expm1,
    "log1p": math.log1p,
    "exp2": lambda a: 2.0**a,
    "floor": lambda a: float(math.floor(a)),
    "where": lambda c, a, b: a if c else b,
    "divide": lambda a, b: a / b,
}
_OF_ARRAYS: dict[str, Any] = {
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "arctan2": np.arctan2,
    "exp": np.exp,
    "log": np.log,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "exp2": np.exp2,
    "floor": np.floor,
    "where": lambda c, a, b: np.where(np.not_equal(c, 0), a, b),
    "divide": np.divide,
}
_NUMBERS = {"inf": math.inf, "nan": math.nan}


class NumpyCode:
    """Computes the outputs of a program from the columns of its inputs."""

    def __init__(self, program: Program) -> None:
        code = compile(python_source(program), f"<program {program.digest[:8]}>", "exec")
        self._on_floats = _defined(code, _OF_FLOATS)
        self._on_arrays = _defined(code, _OF_ARRAYS)
        sizes = [port.size for port in program.outputs]
        ends = list(accumulate(sizes))
        self._parts = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]

    def __call__(self, *columns: Sequence[Array]) -> list[Any]:
        """For each output a list of its columns; an array of its row if all inputs have one row."""
        flat = [column for port in columns for column in port]
        results: Any = self._row(flat) if all(len(column) == 1 for column in flat) else None
        if results is None:
            results = self._on_arrays(flat)
        return [results[part] for part in self._parts]

    def _row(self, columns: list[Array]) -> Array | None:
        """Computed with floats; None where they raise, and arrays give infinity or NaN."""
        try:
            return np.array(self._on_floats([float(column[0]) for column in columns]))
        except (ArithmeticError, ValueError):
            return None


def python_source(program: Program) -> str:
    """The source of a function `f` from the numbers of all inputs to those of all outputs.

    A variable is used again once its value is not needed any more, so that few arrays live.
    """
    lines = ["def f(x):"]
    texts: list[str] = []  # of each step: its variable, or its constant
    constants: set[int] = set()  # steps that are Python floats in every call
    free: list[str] = []  # variables that may be used again
    last_uses = _last_uses(program)
    for number, (op, *args) in enumerate(program.steps):
        if op is Op.CONST:
            texts.append(repr(float(args[0])))
            constants.add(number)
            continue
        if op is Op.INPUT:
            value = f"x[{args[0]}]"
        else:
            form = _FORMATS[op]
            if constants.issuperset(args):
                constants.add(number)
                form = "divide({},{})" if op is Op.DIV else form
            value = form.format(*(texts[arg] for arg in args))
            ended = [texts[arg] for arg in set(args) if last_uses[arg] == number]
            free += [text for text in ended if text.startswith("v")]
        texts.append(free.pop() if free else f"v{len(texts)}")
        lines.append(f" {texts[number]}={value}")
    lines.append(f" return [{','.join(texts[step] for step in program.results)}]")
    return "\n".join(lines)


def _last_uses(program: Program) -> list[int]:
    """For each step the last one that uses it."""
    last_uses = [0] * len(program.steps)
    for number, (op, *args) in enumerate(program.steps):
        if op not in (Op.CONST, Op.INPUT):
            for arg in args:
                last_uses[arg] = number
    for step in program.results:
        last_uses[step] = len(program.steps)
    return last_uses


def _defined(code: Any, functions: dict[str, Any]) -> Callable[[list[Any]], list[Any]]:
    namespace: dict[str, Any] = {**_NUMBERS, **functions}
    exec(code, namespace)
    return namespace["f"]
