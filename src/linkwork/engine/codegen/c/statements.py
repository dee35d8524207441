"""C statements that define values and pass them through the workspace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.engine.symbolic.operations import OPERATIONS, Op


def c_form(op: Op) -> str:
    """Return an operation as a C expression, with functions of libm in double precision."""
    row, name = OPERATIONS[op], op.name.lower()
    if op is Op.SELECT:
        return "{} != 0.0 ? {} : {}"
    if op in (Op.FMA, Op.SIN, Op.COS):  # macros of `rounding`
        return f"LW_{op.name}({', '.join(['{}'] * row.arity)})"
    if not row.symbol:
        return f"{name}({', '.join(['{}'] * row.arity)})"
    if row.arity == 1:
        return f"{row.symbol}{{}}"
    return f"{{}} {row.symbol} {{}}" + (" ? 1.0 : 0.0" if row.is_comparison else "")


C_FORM = {op: c_form(op) for op in OPERATIONS}


@dataclass(frozen=True, slots=True)
class Real:
    """A floating-point type of C."""

    name: str  # "double" or "float"

    @property
    def suffix(self) -> str:
        """Suffix of literals and of functions of libm."""
        return "" if self.name == "double" else "f"

    @property
    def bytes(self) -> int:
        """Size of one value."""
        return 8 if self.name == "double" else 4

    def literal(self, value: float) -> str:
        """Print a literal with this exact value, in parentheses if it is negative."""
        text = _shortest(value, single=self.name == "float")
        if text is None:
            return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "(-INFINITY)"
        return f"({text}{self.suffix})" if text.startswith("-") else f"{text}{self.suffix}"


DOUBLE, FLOAT = Real("double"), Real("float")


def _shortest(value: float, *, single: bool) -> str | None:
    """Return the shortest digits that identify a value in its type; None if it is not finite."""
    if not math.isfinite(value):
        return None
    if not single:
        return repr(float(value))
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    return str(rounded) if np.isfinite(rounded) else None  # too large for the type


class Statements:
    """Prints values and statements in a floating-point type."""

    def __init__(self, real: Real) -> None:
        self.real = real
        zero, one = real.literal(0.0), real.literal(1.0)
        self._forms = {
            op: form.replace("1.0", one).replace("0.0", zero) for op, form in C_FORM.items()
        }
        for op, form in C_FORM.items():
            if form[0].islower():  # a function of libm
                self._forms[op] = form.replace("(", f"{real.suffix}(", 1)

    def fetch(self, slot: int, stride: int = 0) -> str:
        """Print the expression of a value in the workspace, in slot + stride k."""
        return f"work[{slot}{_times_k(stride)}]"

    def keep(self, slot: int, value: str, stride: int = 0) -> str:
        """Print the statement that stores a value in the workspace."""
        return f"{self.fetch(slot, stride)} = {value};"

    def define(self, step: int, expression: str) -> str:
        """Print the definition of the value of a step."""
        return f"const {self.real.name} t{step} = {expression};"

    def compute(self, step: int, op: Op, operands: Sequence[str]) -> str:
        """Print the definition of the value of a step by its operation."""
        return self.define(step, self._forms[op].format(*operands))


def _times_k(stride: int) -> str:
    """Print the term that iteration k adds to an index."""
    return f" + {stride} * k" if stride else ""
