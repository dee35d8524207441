"""Derivatives of programs, as programs.

jacobian   d output / d input, of shape (*output.shape, *input.shape)
gradient   the same of a single number
hessian    the second derivatives of a single number
jvp        the Jacobian times a tangent of the inputs, in forward mode
hvp        the Hessian times a tangent of the inputs
vjp        a cotangent of the outputs times the Jacobian, in reverse mode

Zeros      an output that does not depend on an input has the constant 0 as derivative
Unit norm  some inputs hold vectors of norm 1. The program means a function of the normalized
           vector n = x / |x|, whose derivatives with respect to x have no component along n: an
           adjoint g becomes g - n (n.g), and so do tangents and the rows of a Jacobian. A
           derivative is taken at |x| = 1, and is again a function of n

`ports.py` has the names and shapes of inputs and outputs; `partials.py` says what the derivative is
where a function has none, and `loops.py` what those of loops are. The rules of algebra apply to
derivatives as they are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from linkwork.engine.autodiff.forward import forward
from linkwork.engine.autodiff.jacobian_size import Mode, cheaper_mode
from linkwork.engine.autodiff.loops import Row
from linkwork.engine.autodiff.ports import Kind, derived_ports
from linkwork.engine.autodiff.primal import Primal
from linkwork.engine.autodiff.reverse import reverse
from linkwork.engine.symbolic.node import Expr, Graph
from linkwork.engine.symbolic.program import Port, Program, per_port, program_of

Units: TypeAlias = Sequence[Sequence[int]]
"""The vectors of norm 1 among the inputs: for each the indices of its numbers among all."""


def jacobian(
    program: Program, wrt: str | Sequence[str], *, mode: Mode | None = None, units: Units = ()
) -> Program:
    """The derivatives of all outputs.

    Args:
        program: what to differentiate.
        wrt: the input to differentiate with respect to, or several.
        mode: "forward" or "reverse"; by default the one that takes fewer steps, as estimated.
        units: the vectors of norm 1 among the inputs.

    Returns:
        A program with the same inputs. For each output, and for each input of `wrt`, it has the
        output "d output / d input" of shape (*output.shape, *input.shape).
    """
    return _of_rows("jacobian", program, wrt, mode, units)


def gradient(program: Program, wrt: str | Sequence[str], *, units: Units = ()) -> Program:
    """The derivatives of one number: for each input of `wrt` an output of its shape.

    Args:
        program: what to differentiate; its only output is a number.
        wrt: the input to differentiate with respect to, or several.
        units: the vectors of norm 1 among the inputs.
    """
    return _of_rows("gradient", program, wrt, "reverse", units)


def hessian(program: Program, wrt: str | Sequence[str], *, units: Units = ()) -> Program:
    """The second derivatives of one number.

    Args:
        program: what to differentiate; its only output is a number.
        wrt: the input to differentiate with respect to, or several.
        units: the vectors of norm 1 among the inputs.

    Returns:
        A program with the same inputs, and for each pair of inputs of `wrt` an output
        "d d output / d first / d second" of shape (*first.shape, *second.shape).
    """
    _, outputs = derived_ports("hessian", program.inputs, program.outputs, _names(wrt))
    of = _Differentiated(gradient(program, wrt, units=units), wrt, units)
    rows = [of.projected(row) for row in of.rows(None)]
    for unit, k in of.in_units():
        # The gradient is G(n) / |x|, and the derivative of 1 / |x| at norm 1 is -n.
        for other in unit:
            radial = of.at.results[k] * of.input(other)
            rows[k][other] = rows[k][other] - radial if other in rows[k] else -radial
    return of.program_of_rows(outputs, rows)


def jvp(program: Program, wrt: str | Sequence[str], *, units: Units = ()) -> Program:
    """The Jacobian times a tangent.

    Args:
        program: what to differentiate.
        wrt: the input to differentiate with respect to, or several.
        units: the vectors of norm 1 among the inputs.

    Returns:
        A program with the inputs of this one, then for each input of `wrt` its tangent "d_input".
        It has one output "d_output" for each output.
    """
    ports = derived_ports("jvp", program.inputs, program.outputs, _names(wrt))
    of = _Differentiated(program, wrt, units)
    tangents = {k: of.at.graph.input() for k in of.own}
    return program_of(*ports, of.along(tangents), of.at.graph)


def hvp(program: Program, wrt: str | Sequence[str], *, units: Units = ()) -> Program:
    """The Hessian of one number times a tangent: inputs as of `jvp`, outputs as of `gradient`."""
    ports = derived_ports("hvp", program.inputs, program.outputs, _names(wrt))
    of = _Differentiated(gradient(program, wrt, units=units), wrt, units)
    tangents = {k: of.at.graph.input() for k in of.own}
    results = of.along(tangents)
    for unit, k in of.in_units():  # as in `hessian`
        radial = _dot([of.input(other) for other in unit], [tangents[other] for other in unit])
        results[k] = results[k] - of.at.results[k] * radial
    return program_of(*ports, results, of.at.graph)


def vjp(program: Program, wrt: str | Sequence[str], *, units: Units = ()) -> Program:
    """A cotangent times the Jacobian.

    Args:
        program: what to differentiate.
        wrt: the input to differentiate with respect to, or several.
        units: the vectors of norm 1 among the inputs.

    Returns:
        A program with the inputs of this one, then for each output its cotangent "ct_output". It
        has one output "ct_input" for each input of `wrt`.
    """
    ports = derived_ports("vjp", program.inputs, program.outputs, _names(wrt))
    of = _Differentiated(program, wrt, units)
    seeds: dict[int, list[Expr]] = {}
    for step in program.results:
        seeds.setdefault(step, []).append(of.at.graph.input())
    row = of.projected(reverse(of.at, seeds))
    zero = of.at.graph.constant(0.0)
    return program_of(*ports, [row.get(k, zero) for k in of.own], of.at.graph)


def _names(wrt: str | Sequence[str]) -> list[str]:
    return [wrt] if isinstance(wrt, str) else list(wrt)


def _of_rows(
    kind: Kind, program: Program, wrt: str | Sequence[str], mode: Mode | None, units: Units
) -> Program:
    _, outputs = derived_ports(kind, program.inputs, program.outputs, _names(wrt))
    of = _Differentiated(program, wrt, units)
    return of.program_of_rows(outputs, [of.projected(row) for row in of.rows(mode)])


@dataclass(frozen=True, init=False)
class _Differentiated:
    """A program in a graph of its own, where its derivatives are made."""

    at: Primal
    columns: list[list[int]]  # for each input of `wrt`: indices of its numbers among all inputs
    units: Units

    def __init__(self, program: Program, wrt: str | Sequence[str], units: Units) -> None:
        total = sum(port.size for port in program.inputs)
        own = {port.name: list(k) for port, k in per_port(program.inputs, range(total))}
        columns = [own[name] for name in _names(wrt)]
        active = frozenset(k for column in columns for k in column)
        graph = Graph()
        inputs = [graph.input() for _ in range(total)]
        object.__setattr__(self, "at", Primal(program, graph, inputs, active))
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "units", units)

    @property
    def own(self) -> list[int]:
        """The indices of all numbers to differentiate with respect to, input after input."""
        return [k for column in self.columns for k in column]

    def input(self, index: int) -> Expr:
        """The node of a number of the inputs."""
        return self.at.inputs[index]

    def rows(self, mode: Mode | None) -> list[Row]:
        """The derivatives of each number of the outputs, by index of a number of the inputs."""
        distinct = dict.fromkeys(self.at.program.results)
        one = self.at.graph.constant(1.0)
        if mode is None:
            mode, _ = cheaper_mode(self.at.program, self.at.active)
        if mode == "forward":
            return forward(self.at, {k: {k: one} for k in self.at.active})
        rows = {result: reverse(self.at, {result: [one]}) for result in distinct}
        return [rows[result] for result in self.at.program.results]

    def along(self, tangents: Row) -> list[Expr]:
        """The derivative of each number of the outputs along a tangent of the inputs."""
        zero = self.at.graph.constant(0.0)
        seeds = {k: {0: seed} for k, seed in self.projected(tangents).items()}
        return [row.get(0, zero) for row in forward(self.at, seeds)]

    def projected(self, row: Row) -> Row:
        """Derivatives of a number without their components along the vectors of norm 1."""
        result = dict(row)
        for unit in self.units:
            own = [k for k in unit if k in row]
            if not own:
                continue
            radial = _dot([self.input(k) for k in own], [row[k] for k in own])
            for k in unit:
                along = self.input(k) * radial
                result[k] = row[k] - along if k in row else -along
        return result

    def in_units(self) -> Iterator[tuple[Sequence[int], int]]:
        """Each number of the vectors of norm 1: its vector, and its index in `own`."""
        for unit in self.units:
            for k, index in enumerate(self.own):
                if index in unit:
                    yield unit, k

    def program_of_rows(self, outputs: tuple[Port, ...], rows: Sequence[Row]) -> Program:
        """The program of the derivatives of each number of the outputs."""
        program, zero = self.at.program, self.at.graph.constant(0.0)
        results = [
            row.get(k, zero)
            for _, own in per_port(program.outputs, rows)
            for column in self.columns
            for row in own
            for k in column
        ]
        return program_of(program.inputs, outputs, results, self.at.graph)


def _dot(a: Sequence[Expr], b: Sequence[Expr]) -> Expr:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total
