"""Derivatives of programs, as programs.

Shape     d output / d input has the shape (*output.shape, *input.shape)
Zeros     an output that does not depend on an input has the constant 0 as derivative
Forward   one pass over the steps, with the derivatives of each step by the inputs
Reverse   one backward pass for each number of the outputs, with its adjoints

The rules of algebra apply to derivatives as they are made. Reverse mode is used where the outputs
have fewer numbers than the inputs to differentiate by.

Where a function is not differentiable, its derivative is defined as:

    a < b, a <= b     0 everywhere
    floor(a)          0 everywhere
    select(c, a, b)   the derivative of the selected branch, even where that of the other is NaN
    sqrt(a)           a' / (2 sqrt(a)); at a = 0 this is 0 where a' is 0, and infinite elsewhere. So
                      the length of a vector has the derivative 0 at the zero vector
    atan2(y, x)       undefined at the origin, where it is NaN
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from linkwork.errors import ShapeError, name_not_found
from linkwork.expr.node import Expr, Graph, Op
from linkwork.expr.program import Port, Program, per_port, program_of
from linkwork.lazy import cached_property

Mode: TypeAlias = Literal["forward", "reverse"]
_Row: TypeAlias = dict[int, Expr]  # by index of an input number: the derivative, if not 0


def jacobian(program: Program, wrt: str | Sequence[str], *, mode: Mode | None = None) -> Program:
    """The derivatives of all outputs.

    Args:
        program: what to differentiate.
        wrt: the input to differentiate with respect to, or several.
        mode: "forward" or "reverse"; by default the one with fewer passes.

    Returns:
        A program with the same inputs. For each output, and for each input of `wrt`, it has the
        output "d output / d input" of shape (*output.shape, *input.shape).
    """
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    columns = [_indices_of(program, name) for name in names]
    graph = Graph()
    inputs = [graph.input() for port in program.inputs for _ in range(port.size)]
    active = frozenset(k for column in columns for k in column)
    at = _Inlined(program, graph, program.inlined(graph, inputs), active)
    if mode is None:
        mode = "reverse" if len(set(program.results)) < len(active) else "forward"
    rows = _reverse(at) if mode == "reverse" else _forward(at)
    zero = graph.constant(0.0)
    by_name = {port.name: port for port in program.inputs}
    outputs: list[Port] = []
    results: list[Expr] = []
    for port, own in per_port(program.outputs, rows):
        for name, column in zip(names, columns, strict=True):
            outputs.append(Port(f"d {port.name} / d {name}", port.shape + by_name[name].shape))
            results += [row.get(k, zero) for row in own for k in column]
    return program_of(program.inputs, tuple(outputs), results, graph)


def gradient(program: Program, wrt: str | Sequence[str]) -> Program:
    """The derivatives of one number.

    Args:
        program: what to differentiate; its only output is a number.
        wrt: the input to differentiate with respect to, or several.

    Returns:
        A program with the same inputs, and for each input of `wrt` an output of its shape.
    """
    shapes = [port.shape for port in program.outputs]
    if shapes != [()]:
        raise ShapeError(f"a gradient is that of one number, got outputs of shapes {shapes}")
    return jacobian(program, wrt)


def _indices_of(program: Program, name: str) -> Sequence[int]:
    """Indices of the numbers of an input among those of all inputs, flattened."""
    total = sum(port.size for port in program.inputs)
    for port, indices in per_port(program.inputs, range(total)):
        if port.name == name:
            return indices
    raise name_not_found("input", name, [port.name for port in program.inputs])


@dataclass(frozen=True)
class _Inlined:
    """A program inlined into a graph, and the input numbers to differentiate by."""

    program: Program
    graph: Graph
    nodes: Sequence[Expr]  # of each step
    active: frozenset[int]  # indices of those numbers

    @cached_property
    def depends(self) -> list[bool]:
        """Which steps depend on the numbers to differentiate by."""
        depends: list[bool] = []
        for (op, *args), operands in zip(self.program.steps, self.program.operands, strict=True):
            is_active = op is Op.INPUT and args[0] in self.active
            depends.append(is_active or any(depends[operand] for operand in operands))
        return depends

    @cached_property
    def optional(self) -> list[bool]:
        """Which steps a select may discard."""
        return self._used_by(Op.SELECT)

    @cached_property
    def rooted(self) -> list[bool]:
        """Which steps a square root depends on."""
        return self._used_by(Op.SQRT)

    def _used_by(self, user: Op) -> list[bool]:
        """Which steps an operation of this kind depends on, directly or not."""
        used = [False] * len(self.program.steps)
        for step in reversed(range(len(used))):
            if used[step] or self.program.steps[step][0] is user:
                for operand in self.program.operands[step]:
                    used[operand] = True
        return used


def _forward(at: _Inlined) -> list[_Row]:
    """Forward mode: the derivatives of each number of the outputs."""
    rows: list[_Row] = []
    for step, (op, *args) in enumerate(at.program.steps):
        if op is Op.INPUT:
            rows.append({args[0]: at.graph.constant(1.0)} if args[0] in at.active else {})
        elif at.depends[step]:
            nodes, known = [at.nodes[arg] for arg in args], [rows[arg] for arg in args]
            rows.append(_forward_step(op, nodes, at.nodes[step], known))
        else:
            rows.append({})
    return [rows[step] for step in at.program.results]


def _forward_step(op: Op, args: Sequence[Expr], value: Expr, rows: Sequence[_Row]) -> _Row:
    if op is Op.SELECT:
        _, yes, no = rows
        keys = dict.fromkeys((*yes, *no))
        return {k: args[0].select(yes.get(k, 0.0), no.get(k, 0.0)) for k in keys}
    total: _Row = {}
    for slope, row in zip(_slopes(op, args, value), rows, strict=True):
        for k, entry in row.items():
            term = _masked(entry, slope) if op is Op.SQRT else entry * slope
            total[k] = total[k] + term if k in total else term
    return {k: entry for k, entry in total.items() if not _is_zero(entry)}


def _reverse(at: _Inlined) -> list[_Row]:
    """Reverse mode: the derivatives of each number of the outputs; equal numbers share a pass."""
    rows = {result: _reverse_row(at, result) for result in dict.fromkeys(at.program.results)}
    return [rows[result] for result in at.program.results]


def _reverse_row(at: _Inlined, result: int) -> _Row:
    adjoint = {result: at.graph.constant(1.0)}  # of the steps that are still to be visited
    row: _Row = {}
    for step in range(result, -1, -1):
        entry = adjoint.pop(step, None)
        if entry is None or not at.depends[step]:
            continue
        op, *args = at.program.steps[step]
        if op is Op.INPUT:
            row[args[0]] = entry
            continue
        for arg, term in zip(args, _reverse_terms(at, step, entry), strict=True):
            if not _is_zero(term):
                adjoint[arg] = adjoint[arg] + term if arg in adjoint else term
    return row


def _reverse_terms(at: _Inlined, step: int, entry: Expr) -> list[Expr]:
    """The terms that a step with adjoint `entry` adds to the adjoints of its arguments."""
    op, *indices = at.program.steps[step]
    args = [at.nodes[index] for index in indices]
    if op is Op.SELECT:
        zero = at.graph.constant(0.0)
        return [zero, args[0].select(entry, zero), args[0].select(zero, entry)]
    terms: list[Expr] = []
    for slope in _slopes(op, args, at.nodes[step]):
        # A step that is not selected has the adjoint 0, and adds 0 even if its slope is NaN.
        guarded = op is Op.SQRT or at.optional[step]
        term = _masked(entry, slope) if guarded else entry * slope
        # The adjoint of an argument of sqrt(0) is infinite; where the slope is 0, it adds 0.
        if at.rooted[step] and isinstance(slope, Expr):
            term = slope.select(term, 0.0)
        terms.append(term)
    return terms


def _masked(entry: Expr, slope: Expr | float) -> Expr:
    """The product of a derivative and a slope, where 0 times infinity or NaN is 0."""
    if not isinstance(slope, Expr) or slope.op is Op.CONST:
        return entry * slope
    return entry.select(entry * slope, 0.0)


def _is_zero(node: Expr) -> bool:
    return node.op is Op.CONST and node.args[0] == 0.0


def _slopes(op: Op, args: Sequence[Expr], value: Expr) -> tuple[Expr | float, ...]:
    """The partial derivatives of a step, whose result is `value`, by each of its arguments."""
    return _SLOPES[op](args[0], args[-1], value)


def _atan2_slopes(y: Expr, x: Expr, value: Expr) -> tuple[Expr | float, ...]:
    del value
    square = x * x + y * y
    return x / square, -(y / square)


def _div_slopes(a: Expr, b: Expr, value: Expr) -> tuple[Expr | float, ...]:
    del a
    inverse = 1.0 / b
    return inverse, -(value * inverse)


_SLOPES: dict[Op, Callable[[Expr, Expr, Expr], tuple[Expr | float, ...]]] = {
    Op.ADD: lambda a, b, value: (1.0, 1.0),
    Op.SUB: lambda a, b, value: (1.0, -1.0),
    Op.MUL: lambda a, b, value: (b, a),
    Op.DIV: _div_slopes,
    Op.NEG: lambda a, b, value: (-1.0,),
    Op.SQRT: lambda a, b, value: (0.5 / value,),
    Op.SIN: lambda a, b, value: (a.cos(),),
    Op.COS: lambda a, b, value: (-a.sin(),),
    Op.ATAN2: _atan2_slopes,
    Op.LESS: lambda a, b, value: (0.0, 0.0),
    Op.EXP: lambda a, b, value: (value,),
    Op.LOG: lambda a, b, value: (1.0 / a,),
    Op.LESS_EQUAL: lambda a, b, value: (0.0, 0.0),
    Op.FLOOR: lambda a, b, value: (0.0,),
    Op.EXPM1: lambda a, b, value: (a.exp(),),
    Op.LOG1P: lambda a, b, value: (1.0 / (1.0 + a),),
    Op.EXP2: lambda a, b, value: (math.log(2.0) * value,),
}
