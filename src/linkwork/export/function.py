"""What becomes a C function: a program, and the names of its arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwork.engine.kernel.arguments import UnitNorm
from linkwork.engine.symbolic.program import Port, Program

BATCH_ENDING = "_batch"  # of the name of the function of many rows


@dataclass(frozen=True, slots=True)
class Real:
    """The C type of a number."""

    name: str  # "double" or "float"

    @property
    def suffix(self) -> str:
        """Of literals and of functions of libm."""
        return "" if self.name == "double" else "f"

    @property
    def bytes(self) -> int:
        """Size of one number."""
        return 8 if self.name == "double" else 4

    def literal(self, value: float) -> str:
        """A number as C text that reads back exactly, in parentheses if it is negative."""
        text = _shortest(value, single=self.name == "float")
        if text is None:
            return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "(-INFINITY)"
        return f"({text}{self.suffix})" if text.startswith("-") else f"{text}{self.suffix}"


DOUBLE, FLOAT = Real("double"), Real("float")


def _shortest(value: float, *, single: bool) -> str | None:
    """The shortest digits that read back as the number in its type; None if it is not finite."""
    if not math.isfinite(value):
        return None
    if not single:
        return repr(float(value))
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    return str(rounded) if np.isfinite(rounded) else None  # too large for the type


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a C function: an array of numbers in C order."""

    name: str  # in C
    port: Port
    text: str = ""  # what it is, for the header


@dataclass(frozen=True, slots=True)
class Function:
    """A C function."""

    name: str  # in C
    title: str  # what it computes, for the header
    program: Program
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    unit_norms: tuple[UnitNorm, ...] = ()
    corrected: int = 0  # steps of the program whose roundings to float are corrected

    @property
    def n_unit(self) -> int:
        """How many numbers of the inputs belong to a quaternion or a (cos, sin) pair."""
        return sum(unit.count for unit in self.unit_norms)
