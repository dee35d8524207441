"""The functions of a batch, as they are written on a command line: mass_matrix,jacobian:l_sole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError
from linkwork.kindyn import KinDyn
from linkwork.kindyn.requests import request_of_text


@dataclass(frozen=True)
class Function:
    """One quantity of a robot, and the arrays that it gives."""

    kd: KinDyn
    text: str  # such as "jacobian:l_sole"

    @cached_property
    def kernel(self) -> Kernel:
        """What computes it."""
        request: Any = request_of_text(self.text)
        return self.kd.function(request)

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What it takes, without numbers of the robot that have a default."""
        return tuple(p for p in self.kernel.signature.inputs if p.name not in self._defaults)

    @property
    def arrays(self) -> tuple[Port, ...]:
        """Name and shape of a row of each array that it gives: the names of `Kernel.named`."""
        outputs = self.kernel.signature.outputs
        return tuple(Port(port.name.replace("/", "_"), port.shape) for port in outputs)

    @property
    def _defaults(self) -> Any:
        return self.kernel.signature.defaults


def parsed(kd: KinDyn, text: str) -> tuple[Function, ...]:
    """Functions from a text with commas between them; names that are unknown raise here.

    Args:
        kd: the robot.
        text: names of quantities; the frames that one is of follow it, each after a colon.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise ArgumentError(f"--function: expected names with commas between them, got {text!r}")
    functions = tuple(Function(kd, word) for word in words)
    seen: dict[str, str] = {}
    for function in functions:
        for port in function.arrays:
            if port.name in seen:
                what = f"{seen[port.name]!r} and {function.text!r}"
                raise ArgumentError(f"--function: {what} both give an array named {port.name!r}")
            seen[port.name] = function.text
    return functions


def inputs_of(functions: Sequence[Function]) -> tuple[Port, ...]:
    """What all functions take together, each input once."""
    found = {port.name: port for function in functions for port in function.inputs}
    return tuple(found.values())
