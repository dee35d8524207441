"""Description of a C function: a program, and the names of its arguments."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.engine.kernel.arguments import UnitNorm
from linkwork.engine.symbolic.program import Port, Program

BATCH_ENDING = "_batch"  # ends the name of a function of many rows


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a C function: an array in C order."""

    name: str  # in C
    port: Port
    description: str = ""  # for the header


@dataclass(frozen=True, slots=True)
class Function:
    """A C function."""

    name: str  # in C
    title: str  # description of what it computes, for the header
    program: Program
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    unit_norms: tuple[UnitNorm, ...] = ()
    corrected: int = 0  # steps of the program whose rounding errors in float are corrected

    @property
    def n_unit(self) -> int:
        """Number of input elements that belong to a quaternion or a (cos, sin) pair."""
        return sum(unit.count for unit in self.unit_norms)
