"""Inputs and outputs of the derivatives of a function: names and shapes.

jacobian   for each output and each input of `wrt`: "d output / d input"
gradient   the same, of a single number
hessian    for each two inputs of `wrt`: "d d output / d first / d second"
jvp        one more input "d_input" for each input of `wrt`; "d_output" for each output
hvp        inputs as of jvp, outputs as of gradient
vjp        one more input "ct_output" for each output; "ct_input" for each input of `wrt`
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import Literal, TypeAlias

from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ShapeError, name_not_found

Kind: TypeAlias = Literal["jacobian", "gradient", "hessian", "jvp", "hvp", "vjp"]
Ports: TypeAlias = tuple[Port, ...]
OF_ONE_NUMBER: tuple[Kind, ...] = ("gradient", "hessian", "hvp")


def derived_ports(
    kind: Kind, inputs: Ports, outputs: Ports, wrt: Sequence[str]
) -> tuple[Ports, Ports]:
    """The inputs and the outputs of a derivative; raises where there is no such derivative.

    Args:
        kind: of the derivative.
        inputs: of the function.
        outputs: of the function.
        wrt: names of the inputs to differentiate with respect to.
    """
    _check(kind, inputs, outputs, wrt)
    by_name = {port.name: port for port in inputs}
    names, chosen = list(by_name), [by_name[name] for name in wrt]
    jacobians = _jacobian_ports(outputs, chosen)
    match kind:
        case "jacobian" | "gradient":
            return inputs, jacobians
        case "hessian":
            return inputs, _jacobian_ports(jacobians, chosen)
        case "jvp":
            return (*inputs, *_named_as("d", chosen, names)), _named_as("d", outputs, ())
        case "hvp":
            return (*inputs, *_named_as("d", chosen, names)), jacobians
        case "vjp":
            return (*inputs, *_named_as("ct", outputs, names)), _named_as("ct", chosen, ())


def _check(kind: Kind, inputs: Ports, outputs: Ports, wrt: Sequence[str]) -> None:
    known = [port.name for port in inputs]
    for position, name in enumerate(wrt):
        if name not in known:
            raise name_not_found("input", name, known)
        if name in wrt[:position]:
            raise ArgumentError(f"{kind}: input {name!r} is named twice")
    if kind in OF_ONE_NUMBER and [port.shape for port in outputs] != [()]:
        shapes = ", ".join(f"{port.name} {port.shape}" for port in outputs)
        raise ShapeError(f"a {kind} is that of one number, got {shapes}; use jacobian or vjp")


def _jacobian_ports(outputs: Iterable[Port], chosen: Sequence[Port]) -> Ports:
    return tuple(
        Port(f"d {port.name} / d {other.name}", port.shape + other.shape)
        for port in outputs
        for other in chosen
    )


def _named_as(prefix: str, ports: Iterable[Port], taken: Container[str]) -> Ports:
    """Ports of the same shapes, named after these so that a keyword can name them.

    Args:
        prefix: of the names.
        ports: what they are the tangents or cotangents of.
        taken: names that exist already; what would have one of them gets a number.
    """
    named: list[Port] = []
    for port in ports:
        word = re.sub(r"\W+", "_", port.name).strip("_")
        plain = name = f"{prefix}_{word}"
        number = 1
        while name in taken or any(name == other.name for other in named):
            number += 1
            name = f"{plain}_{number}"
        named.append(Port(name, port.shape))
    return tuple(named)
