"""Statements of C: a value is one number, or a vector of numbers with one lane for each row.

Both forms give the statements that load inputs, compute steps, pass values through the workspace
and store outputs. Vectors are those of GCC and Clang (`__attribute__((vector_size))`), which any
target has; where it has no such registers, the compiler uses smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from linkwork.engine.codegen.c.operations import C_FORM
from linkwork.engine.symbolic.node import ARITHMETIC, Op
from linkwork.export.function import Real
from linkwork.export.pairs import Fused

_COMPARED = {Op.LESS: "<", Op.LESS_EQUAL: "<="}


class Form(Protocol):
    """How values are written."""

    real: Real
    lanes: int
    type: str

    def load(self, array: str, size: int, index: int) -> str:
        """A number of an input whose rows have `size` numbers, as the value of a definition."""
        ...

    def fetch(self, slot: int) -> str:
        """A value that another part kept in the workspace, as the value of a definition."""
        ...

    def keep(self, slot: int, value: str) -> str:
        """The statement that puts a value into the workspace."""
        ...

    def store(self, array: str, size: int, index: int, value: str, *, constant: bool) -> str:
        """The statement that writes a number of an output whose rows have `size` numbers."""
        ...

    def compute(
        self, step: int, op: Op, args: Sequence[int], values: dict[int, str], constants: set[int]
    ) -> Iterator[str]:
        """The statements of a step; they put its name into `values`."""
        ...


class Scalars:
    """One row at a time."""

    lanes = 1

    def __init__(self, real: Real) -> None:
        self.real = real
        self.type = real.name
        zero, one = real.literal(0.0), real.literal(1.0)
        listed: dict[Op | Fused, str] = {**C_FORM, Fused.FMA: "fma({}, {}, {})"}
        self._forms = {
            op: form.replace("1.0", one).replace("0.0", zero) for op, form in listed.items()
        }
        for op, form in listed.items():
            if form[0].isalpha():  # a function of libm
                self._forms[op] = form.replace("(", f"{real.suffix}(", 1)

    def load(self, array: str, size: int, index: int) -> str:
        del size
        return f"{array}[{index}]"

    def fetch(self, slot: int) -> str:
        return f"work[{slot}]"

    def keep(self, slot: int, value: str) -> str:
        return f"work[{slot}] = {value};"

    def store(self, array: str, size: int, index: int, value: str, *, constant: bool) -> str:
        del size, constant
        return f"{array}[{index}] = {value};"

    def compute(
        self, step: int, op: Op, args: Sequence[int], values: dict[int, str], constants: set[int]
    ) -> Iterator[str]:
        del constants
        text = self._forms[op].format(*(values[arg] for arg in args))
        values[step] = f"t{step}"
        yield f"const {self.type} t{step} = {text};"


class Vectors:
    """As many rows at a time as there are lanes. `vector_support` defines what is used here."""

    type = "lw_vec"

    def __init__(self, real: Real, lanes: int) -> None:
        self.real, self.lanes = real, lanes
        self._angles: set[str] = set()  # whose sine and cosine are there
        self.calls: set[str] = set()  # what is used of `vector_support`

    def load(self, array: str, size: int, index: int) -> str:
        return f"LW_ROWS({array} + {index}, {size})"

    def fetch(self, slot: int) -> str:
        return f"*(const lw_loose *)(work + {slot * self.lanes})"

    def keep(self, slot: int, value: str) -> str:
        return f"*(lw_loose *)(work + {slot * self.lanes}) = {value};"

    def store(self, array: str, size: int, index: int, value: str, *, constant: bool) -> str:
        macro = "LW_SET" if constant else "LW_STORE"
        return f"{macro}({array} + {index}, {size}, {value});"

    def start(self) -> None:
        """Begin another C function, where values of the previous one are not defined."""
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
            if arg in constants:  # the rest takes vectors only
                copies = ", ".join([texts[k]] * self.lanes)
                texts[k] = f"k{step}_{k}"
                yield f"const lw_vec {texts[k]} = {{{copies}}};"
        if op in (Op.SIN, Op.COS):
            angle = texts[0]
            values[step] = f"{'s' if op is Op.SIN else 'c'}_{angle}"
            if angle not in self._angles:
                self._angles.add(angle)
                self.calls.add("sincos")
                yield f"lw_vec s_{angle}, c_{angle};"
                yield f"lw_sincos(&{angle}, &s_{angle}, &c_{angle});"
        elif op in _COMPARED:
            self.calls.add("one")
            a, b = texts
            yield f"const lw_mask m{step} = (lw_mask)({a} {_COMPARED[op]} {b});"
            yield f"const lw_vec {name} = (lw_vec)(m{step} & (lw_mask)lw_one);"
        elif op is Op.SELECT:
            self.calls.add("zero")
            c, a, b = texts
            yield f"const lw_mask m{step} = (lw_mask)({c} != lw_zero);"
            chosen = f"(m{step} & (lw_mask){a}) | (~m{step} & (lw_mask){b})"
            yield f"const lw_vec {name} = (lw_vec)({chosen});"
        else:
            function = op.name.lower()
            self.calls.add(function)
            given = ", ".join(f"&{text}" for text in texts)
            yield f"lw_vec {name};"
            yield f"lw_{function}({given}, &{name});"
