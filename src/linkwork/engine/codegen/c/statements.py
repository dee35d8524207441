"""C statements in two forms: values are scalars, or vectors with one lane for each row.

Both forms print the statements that load inputs, compute steps, pass values through the workspace
and store outputs. Vectors are those of GCC and Clang (`__attribute__((vector_size))`), which work
on any target; without registers of this size, the compiler uses smaller ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from linkwork.engine.symbolic.operations import ARITHMETIC, OPERATIONS, Op


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


class Form(Protocol):
    """Prints values, as scalars or as vectors."""

    real: Real
    lanes: int
    type: str

    def load(self, array: str, size: int, index: int) -> str:
        """Print the expression of an input element; the rows of the input have `size` elements."""
        ...

    def fetch(self, slot: int, stride: int = 0) -> str:
        """Print the expression of a value in the workspace, in slot + stride k."""
        ...

    def keep(self, slot: int, value: str, stride: int = 0) -> str:
        """Print the statement that stores a value, except constants, in the workspace."""
        ...

    def spread(self, name: str, constant: str) -> tuple[list[str], str]:
        """Convert a constant to a value: the statements that define it, and its expression."""
        ...

    def store(self, array: str, size: int, index: int, value: str, *, constant: bool) -> str:
        """Print the store of an output element; the rows of the output have `size` elements."""
        ...

    def start(self) -> None:
        """Start another C function, where values of the previous one are not defined."""
        ...

    def compute(
        self, step: int, op: Op, args: Sequence[int], values: dict[int, str], constants: set[int]
    ) -> Iterator[str]:
        """Print the statements of a step, and add its name to `values`."""
        ...


class Scalars:
    """One row at a time."""

    lanes = 1

    def __init__(self, real: Real) -> None:
        self.real = real
        self.type = real.name
        zero, one = real.literal(0.0), real.literal(1.0)
        self._forms = {
            op: form.replace("1.0", one).replace("0.0", zero) for op, form in C_FORM.items()
        }
        for op, form in C_FORM.items():
            if form[0].islower():  # a function of libm
                self._forms[op] = form.replace("(", f"{real.suffix}(", 1)

    def load(self, array: str, size: int, index: int) -> str:
        del size
        return f"{array}[{index}]"

    def fetch(self, slot: int, stride: int = 0) -> str:
        return f"work[{slot}{_times_k(stride)}]"

    def keep(self, slot: int, value: str, stride: int = 0) -> str:
        return f"{self.fetch(slot, stride)} = {value};"

    def spread(self, name: str, constant: str) -> tuple[list[str], str]:
        del name
        return [], constant

    def store(self, array: str, size: int, index: int, value: str, *, constant: bool) -> str:
        del size, constant
        return f"{array}[{index}] = {value};"

    def start(self) -> None:
        pass

    def compute(
        self, step: int, op: Op, args: Sequence[int], values: dict[int, str], constants: set[int]
    ) -> Iterator[str]:
        del constants
        text = self._forms[op].format(*(values[arg] for arg in args))
        values[step] = f"t{step}"
        yield f"const {self.type} t{step} = {text};"


class Vectors:
    """One row per lane. `vectors.vector_support` defines the types and functions used here."""

    type = "lw_vec"

    def __init__(self, real: Real, lanes: int) -> None:
        self.real, self.lanes = real, lanes
        self._angles: set[str] = set()  # angles whose sine and cosine are defined
        self.calls: set[str] = set()  # functions and constants of `vector_support` that are used

    def load(self, array: str, size: int, index: int) -> str:
        return f"LW_ROWS({array} + {index}, {size})"

    def fetch(self, slot: int, stride: int = 0) -> str:
        return f"*(const lw_loose *)({self._address(slot, stride)})"

    def keep(self, slot: int, value: str, stride: int = 0) -> str:
        return f"*(lw_loose *)({self._address(slot, stride)}) = {value};"

    def _address(self, slot: int, stride: int) -> str:
        return f"work + {slot * self.lanes}{_times_k(stride * self.lanes)}"

    def spread(self, name: str, constant: str) -> tuple[list[str], str]:
        copies = ", ".join([constant] * self.lanes)
        return [f"const lw_vec {name} = {{{copies}}};"], name

    def store(self, array: str, size: int, index: int, value: str, *, constant: bool) -> str:
        macro = "LW_SET" if constant else "LW_STORE"
        return f"{macro}({array} + {index}, {size}, {value});"

    def start(self) -> None:
        self._angles = set()

    def compute(
        self, step: int, op: Op, args: Sequence[int], values: dict[int, str], constants: set[int]
    ) -> Iterator[str]:
        texts = [values[arg] for arg in args]
        name = values[step] = f"t{step}"
        if op in ARITHMETIC:
            yield f"const lw_vec {name} = {C_FORM[op].format(*texts)};"
            return
        for k, arg in enumerate(args):
            if arg in constants:  # the statements below need vectors
                lines, texts[k] = self.spread(f"k{step}_{k}", texts[k])
                yield from lines
        if op in (Op.SIN, Op.COS):
            angle = texts[0]
            values[step] = f"{'s' if op is Op.SIN else 'c'}_{angle}"
            if angle not in self._angles:
                self._angles.add(angle)
                self.calls.add("sincos")
                yield f"lw_vec s_{angle}, c_{angle};"
                yield f"lw_sincos(&{angle}, &s_{angle}, &c_{angle});"
        elif op is Op.FMA:
            yield f"const lw_vec {name} = LW_FMA_ROWS({', '.join(texts)});"
        elif OPERATIONS[op].is_comparison:
            self.calls.add("one")
            a, b = texts
            yield f"const lw_mask m{step} = (lw_mask)({a} {OPERATIONS[op].symbol} {b});"
            yield f"const lw_vec {name} = (lw_vec)(m{step} & (lw_mask)lw_one);"
        elif op is Op.SELECT:
            self.calls.add("zero")
            c, a, b = texts
            yield f"const lw_mask m{step} = (lw_mask)({c} != lw_zero);"
            selected = f"(m{step} & (lw_mask){a}) | (~m{step} & (lw_mask){b})"
            yield f"const lw_vec {name} = (lw_vec)({selected});"
        else:
            function = op.name.lower()
            self.calls.add(function)
            arguments = ", ".join(f"&{text}" for text in texts)
            yield f"lw_vec {name};"
            yield f"lw_{function}({arguments}, &{name});"


def _times_k(stride: int) -> str:
    """Print the term that iteration k adds to an index."""
    return f" + {stride} * k" if stride else ""
