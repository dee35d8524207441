"""Names and shapes of the inputs and outputs of derivatives.

jacobian   outputs "d output / d input" for each output and each input of `wrt`
gradient   as jacobian, for a scalar output
hessian    outputs "d d output / d first / d second" for each pair of inputs of `wrt`
jvp        additional inputs "d_input" for each input of `wrt`; outputs "d_output"
hvp        inputs as jvp, outputs as gradient
vjp        additional inputs "ct_output" for each output; outputs "ct_input" for each input of `wrt`
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import Literal, TypeAlias

from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ShapeError, name_not_found

Kind: TypeAlias = Literal["jacobian", "gradient", "hessian", "jvp", "hvp", "vjp"]
Ports: TypeAlias = tuple[Port, ...]
OF_SCALARS: tuple[Kind, ...] = ("gradient", "hessian", "hvp")


def derived_ports(
    kind: Kind, inputs: Ports, outputs: Ports, wrt: Sequence[str]
) -> tuple[Ports, Ports]:
    """Return the inputs and outputs of a derivative; raise if there is no such derivative.

    Args:
        kind: the kind of derivative.
        inputs: the inputs of the function.
        outputs: the outputs of the function.
        wrt: names of the inputs to differentiate with respect to.
    """
    _check(kind, inputs, outputs, wrt)
    by_name = {port.name: port for port in inputs}
    names, wrt_ports = list(by_name), [by_name[name] for name in wrt]
    jacobians = _jacobian_ports(outputs, wrt_ports)
    match kind:
        case "jacobian" | "gradient":
            return inputs, jacobians
        case "hessian":
            return inputs, _jacobian_ports(jacobians, wrt_ports)
        case "jvp":
            return (*inputs, *_prefixed("d", wrt_ports, names)), _prefixed("d", outputs, ())
        case "hvp":
            return (*inputs, *_prefixed("d", wrt_ports, names)), jacobians
        case "vjp":
            return (*inputs, *_prefixed("ct", outputs, names)), _prefixed("ct", wrt_ports, ())


def _check(kind: Kind, inputs: Ports, outputs: Ports, wrt: Sequence[str]) -> None:
    names = [port.name for port in inputs]
    for position, name in enumerate(wrt):
        if name not in names:
            raise name_not_found("input", name, names)
        if name in wrt[:position]:
            raise ArgumentError(f"{kind}: input {name!r} occurs twice")
    if kind in OF_SCALARS and [port.shape for port in outputs] != [()]:
        shapes = ", ".join(f"{port.name} {port.shape}" for port in outputs)
        text = f"{kind}: expected one scalar output, got {shapes}"
        raise ShapeError(f"{text}; use jacobian or vjp")


def _jacobian_ports(outputs: Iterable[Port], wrt: Sequence[Port]) -> Ports:
    return tuple(
        Port(f"d {port.name} / d {other.name}", port.shape + other.shape)
        for port in outputs
        for other in wrt
    )


def _prefixed(prefix: str, ports: Iterable[Port], reserved: Container[str]) -> Ports:
    """Return the ports of tangents or cotangents, with names that are valid keywords.

    Args:
        prefix: the prefix of the names.
        ports: the ports that the tangents or cotangents belong to.
        reserved: names of other ports; a number is appended to a name that is among them.
    """
    renamed: list[Port] = []
    for port in ports:
        word = re.sub(r"\W+", "_", port.name).strip("_")
        base = name = f"{prefix}_{word}"
        number = 1
        while name in reserved or any(name == other.name for other in renamed):
            number += 1
            name = f"{base}_{number}"
        renamed.append(Port(name, port.shape))
    return tuple(renamed)
