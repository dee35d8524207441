"""Jacobians of quantities whose derivatives are written as algorithms of their own.

Differentiating the program of a long quantity gives many more operations. The algorithms give the
derivative in the tangent space of the configuration; with nu = E_T q_dot, its product with E_T is
the derivative with respect to the entries of q. It has no component along a quaternion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.engine.autodiff.ports import Kind, derived_ports
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.tracing import trace
from linkwork.kindyn.quantities import quantity_named
from linkwork.kindyn.requests import Spec
from linkwork.spatial.blocks import Scalar, is_zero, plus, times

_E_T = Spec("velocity_kinematics_inverse")


def derivative_specs(
    specs: Sequence[Spec], kind: Kind, wrt: Sequence[str]
) -> tuple[Spec, ...] | None:
    """What gives a derivative, and E_T; None if the program has to be differentiated.

    Args:
        specs: the quantities of the function.
        kind: of the derivative.
        wrt: names of the inputs to differentiate with respect to.
    """
    name = specs[0].quantity.derivatives if len(specs) == 1 else None
    if name is None or kind != "jacobian" or not set(wrt) <= set(_fields(name)):
        return None
    return Spec(name, specs[0].frames), _E_T


def jacobian_program(
    compute: Callable[..., Sequence[Array]],
    specs: Sequence[Spec],
    ports: tuple[tuple[Port, ...], tuple[Port, ...]],
    wrt: Sequence[str],
) -> Program:
    """The program of a Jacobian.

    Args:
        compute: gives the derivatives and E_T from the arrays of the inputs.
        specs: as `derivative_specs` gives them.
        ports: inputs and outputs of the function.
        wrt: names of the inputs to differentiate with respect to.
    """
    fields = _fields(specs[0].name)

    def run(*arrays: Array) -> tuple[Array, ...]:
        *partials, E_T = compute(*arrays)
        by = dict(zip(fields, partials, strict=True))
        return tuple(_product(by[name], E_T) if name == "q" else by[name] for name in wrt)

    outputs = derived_ports("jacobian", *ports, wrt)[1]
    return trace(run, ports[0], [port.name for port in outputs])


def _fields(name: str) -> tuple[str, ...]:
    return quantity_named(name).fields or ("q",)


def _product(a: Array, b: Array) -> Array:
    """The matrix a b, where b has few numbers that are not 0."""
    columns: list[list[tuple[int, Scalar]]] = [
        [(k, x) for k, x in enumerate(column) if not is_zero(x)] for column in b.T
    ]

    def entry(row: Any, column: list[tuple[int, Scalar]]) -> Scalar:
        value: Scalar = 0.0
        for k, factor in column:
            value = plus(value, times(row[k], factor))
        return value

    return np.array([[entry(row, column) for column in columns] for row in a], dtype=object)
