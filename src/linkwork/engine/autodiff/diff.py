"""Derivatives of programs, as programs.

jacobian   d output / d input, of shape (*output.shape, *input.shape)
gradient   the Jacobian of a scalar
hessian    the second derivatives of a scalar
jvp        the Jacobian times a tangent of the inputs, in forward mode
hvp        the Hessian times a tangent of the inputs
vjp        a cotangent of the outputs times the Jacobian, in reverse mode

Zeros      the derivative of an output with respect to an input that it does not depend on is the
           constant 0
Unit norm  some inputs contain vectors x of norm 1. The program is treated as a function of the
           normalized vector n = x / |x|, so its derivatives with respect to x have no component
           along n: an adjoint g becomes g - n (n.g), and so do tangents and the rows of a Jacobian.
           Derivatives are taken at |x| = 1, and are again functions of n

See `ports.py` for names and shapes of inputs and outputs, `symbolic/operations.py` for derivatives
where a function is not differentiable, and `loops.py` for loops. Derivatives are simplified as they
are built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from linkwork.engine.autodiff.forward import forward
from linkwork.engine.autodiff.jacobian_size import Mode, cheaper_mode
from linkwork.engine.autodiff.loops import Derivatives
from linkwork.engine.autodiff.ports import Kind, derived_ports
from linkwork.engine.autodiff.primal import Primal
from linkwork.engine.autodiff.reverse import reverse
from linkwork.engine.symbolic.node import Expr, Graph
from linkwork.engine.symbolic.program import Port, Program, per_port
from linkwork.engine.symbolic.rules import RULES
from linkwork.engine.symbolic.tracing import program_of

Units: TypeAlias = Sequence[Sequence[int]]
"""Vectors of norm 1 among the inputs, each as the indices of its elements among all inputs."""


def jacobian(
    program: Program, wrt: str | Sequence[str], *, mode: Mode | None = None, units: Units = ()
) -> Program:
    """Differentiate all outputs.

    Args:
        program: the program to differentiate.
        wrt: the input to differentiate with respect to, or several.
        mode: "forward" or "reverse"; by default the one that is estimated to take less work.
        units: the vectors of norm 1 among the inputs.

    Returns:
        A program with the same inputs. It has an output "d output / d input" of shape
        (*output.shape, *input.shape) for each output and each input of `wrt`.
    """
    return _jacobian("jacobian", program, wrt, mode, units)


def gradient(program: Program, wrt: str | Sequence[str], *, units: Units = ()) -> Program:
    """Differentiate a scalar; the result has an output for each input of `wrt`, of its shape.

    Args:
        program: the program to differentiate; its only output is a scalar.
        wrt: the input to differentiate with respect to, or several.
        units: the vectors of norm 1 among the inputs.
    """
    return _jacobian("gradient", program, wrt, "reverse", units)


def hessian(program: Program, wrt: str | Sequence[str], *, units: Units = ()) -> Program:
    """Differentiate a scalar twice.

    Args:
        program: the program to differentiate; its only output is a scalar.
        wrt: the input to differentiate with respect to, or several.
        units: the vectors of norm 1 among the inputs.

    Returns:
        A program with the same inputs, and for each pair of inputs of `wrt` an output
        "d d output / d first / d second" of shape (*first.shape, *second.shape).
    """
    _, outputs = derived_ports("hessian", program.inputs, program.outputs, _names(wrt))
    builder = _DerivativeBuilder(gradient(program, wrt, units=units), wrt, units)
    rows = [builder.projected(row) for row in builder.rows(None)]
    for unit, k in builder.in_units():
        # The gradient is G(n) / |x|, and the derivative of 1 / |x| at |x| = 1 is -n.
        for other in unit:
            radial = builder.primal.results[k] * builder.input(other)
            rows[k][other] = rows[k][other] - radial if other in rows[k] else -radial
    return builder.program_of_rows(outputs, rows)


def jvp(program: Program, wrt: str | Sequence[str], *, units: Units = ()) -> Program:
    """Compute the product of the Jacobian and a tangent.

    Args:
        program: the program to differentiate.
        wrt: the input to differentiate with respect to, or several.
        units: the vectors of norm 1 among the inputs.

    Returns:
        A program with the same inputs, followed by a tangent "d_input" for each input of `wrt`. It
        has an output "d_output" for each output.
    """
    ports = derived_ports("jvp", program.inputs, program.outputs, _names(wrt))
    builder = _DerivativeBuilder(program, wrt, units)
    tangents = {k: builder.primal.graph.input() for k in builder.indices}
    return program_of(*ports, builder.along(tangents), builder.primal.graph)


def hvp(program: Program, wrt: str | Sequence[str], *, units: Units = ()) -> Program:
    """Multiply the Hessian of a scalar by a tangent; inputs as `jvp`, outputs as `gradient`."""
    ports = derived_ports("hvp", program.inputs, program.outputs, _names(wrt))
    builder = _DerivativeBuilder(gradient(program, wrt, units=units), wrt, units)
    tangents = {k: builder.primal.graph.input() for k in builder.indices}
    results = builder.along(tangents)
    for unit, k in builder.in_units():  # as in `hessian`
        radial = _dot([builder.input(other) for other in unit], [tangents[other] for other in unit])
        results[k] = results[k] - builder.primal.results[k] * radial
    return program_of(*ports, results, builder.primal.graph)


def vjp(program: Program, wrt: str | Sequence[str], *, units: Units = ()) -> Program:
    """Multiply a cotangent by the Jacobian.

    Args:
        program: the program to differentiate.
        wrt: the input to differentiate with respect to, or several.
        units: the vectors of norm 1 among the inputs.

    Returns:
        A program with the same inputs, followed by a cotangent "ct_output" for each output. It has
        an output "ct_input" for each input of `wrt`.
    """
    ports = derived_ports("vjp", program.inputs, program.outputs, _names(wrt))
    builder = _DerivativeBuilder(program, wrt, units)
    seeds: dict[int, list[Expr]] = {}
    for step in program.results:
        seeds.setdefault(step, []).append(builder.primal.graph.input())
    adjoints = builder.projected(reverse(builder.primal, seeds))
    zero = builder.primal.graph.constant(0.0)
    results = [adjoints.get(k, zero) for k in builder.indices]
    return program_of(*ports, results, builder.primal.graph)


def _names(wrt: str | Sequence[str]) -> list[str]:
    return [wrt] if isinstance(wrt, str) else list(wrt)


def _jacobian(
    kind: Kind, program: Program, wrt: str | Sequence[str], mode: Mode | None, units: Units
) -> Program:
    _, outputs = derived_ports(kind, program.inputs, program.outputs, _names(wrt))
    builder = _DerivativeBuilder(program, wrt, units)
    return builder.program_of_rows(outputs, [builder.projected(row) for row in builder.rows(mode)])


@dataclass(frozen=True, init=False)
class _DerivativeBuilder:
    """The derivatives of one program, in a new graph."""

    primal: Primal
    columns: list[list[int]]  # for each input of `wrt`: indices of its elements among all inputs
    units: Units

    def __init__(self, program: Program, wrt: str | Sequence[str], units: Units) -> None:
        total = sum(port.size for port in program.inputs)
        by_name = {port.name: list(k) for port, k in per_port(program.inputs, range(total))}
        columns = [by_name[name] for name in _names(wrt)]
        active = frozenset(k for column in columns for k in column)
        graph = Graph(RULES)
        inputs = [graph.input() for _ in range(total)]
        object.__setattr__(self, "primal", Primal(program, graph, inputs, active))
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "units", units)

    @property
    def indices(self) -> list[int]:
        """Indices of all elements of the inputs of `wrt`, in order."""
        return [k for column in self.columns for k in column]

    def input(self, index: int) -> Expr:
        """Return the node of an input element."""
        return self.primal.inputs[index]

    def rows(self, mode: Mode | None) -> list[Derivatives]:
        """Return the rows of the Jacobian: derivatives of each output element, by input element."""
        distinct = dict.fromkeys(self.primal.program.results)
        one = self.primal.graph.constant(1.0)
        if mode is None:
            mode, _ = cheaper_mode(self.primal.program, self.primal.active)
        if mode == "forward":
            return forward(self.primal, {k: {k: one} for k in self.primal.active})
        rows = {result: reverse(self.primal, {result: [one]}) for result in distinct}
        return [rows[result] for result in self.primal.program.results]

    def along(self, tangents: Derivatives) -> list[Expr]:
        """Return the derivative of each output element along a tangent of the inputs."""
        zero = self.primal.graph.constant(0.0)
        seeds = {k: {0: seed} for k, seed in self.projected(tangents).items()}
        return [derivatives.get(0, zero) for derivatives in forward(self.primal, seeds)]

    def projected(self, row: Derivatives) -> Derivatives:
        """Remove the components along the vectors of norm 1 from a row of the Jacobian."""
        result = dict(row)
        for unit in self.units:
            nonzero = [k for k in unit if k in row]
            if not nonzero:
                continue
            radial = _dot([self.input(k) for k in nonzero], [row[k] for k in nonzero])
            for k in unit:
                along = self.input(k) * radial
                result[k] = row[k] - along if k in row else -along
        return result

    def in_units(self) -> Iterator[tuple[Sequence[int], int]]:
        """Yield the vector and the index in `indices` of each element of a vector of norm 1."""
        for unit in self.units:
            for k, index in enumerate(self.indices):
                if index in unit:
                    yield unit, k

    def program_of_rows(self, outputs: tuple[Port, ...], rows: Sequence[Derivatives]) -> Program:
        """Build the program that computes the rows of the Jacobian."""
        program, zero = self.primal.program, self.primal.graph.constant(0.0)
        results = [
            row.get(k, zero)
            for _, port_rows in per_port(program.outputs, rows)
            for column in self.columns
            for row in port_rows
            for k in column
        ]
        return program_of(program.inputs, outputs, results, self.primal.graph)


def _dot(a: Sequence[Expr], b: Sequence[Expr]) -> Expr:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total
