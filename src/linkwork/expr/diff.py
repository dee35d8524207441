"""Derivatives of programs, as programs.

Shape     d output / d input has the shape (*output.shape, *input.shape)
Zeros     what does not depend on an input has the constant 0 as derivative
Forward   each step carries its derivatives by the numbers it depends on; one pass
Reverse   each number of the outputs is followed back to the inputs; one pass for each

Steps are made by the graph of the program, so the rules of algebra apply to derivatives too. Reverse
is used where there are fewer numbers to differentiate than numbers to differentiate by.

Where a function has a corner, its derivative is that of one side:

    a < b, a <= b     0 everywhere
    select(c, a, b)   the derivative of what is selected, whatever the other does: it may be NaN
    sqrt(a)           a' / (2 sqrt(a)); at a = 0 this is 0 where a' is 0, and infinite elsewhere. So
                      the length of a vector has the derivative 0 at the zero vector
    atan2(y, x)       undefined at the origin, where it is NaN
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from linkwork.errors import ShapeError, name_not_found
from linkwork.expr.node import Expr, Graph, Op
from linkwork.expr.program import Port, Program, program_of, replayed

Mode: TypeAlias = Literal["forward", "reverse"]
_Row: TypeAlias = dict[int, Expr]  # derivatives by the numbers of the inputs; absent where 0


def jacobian(program: Program, wrt: str | Sequence[str], *, mode: Mode | None = None) -> Program:
    """The derivatives of all outputs.

    Args:
        program: what to differentiate.
        wrt: the input to differentiate with respect to, or several.
        mode: "forward" or "reverse"; the better one if not given.

    Returns:
        A program with the same inputs. For each output, and for each input of `wrt`, it has the
        output "d output / d input" of shape (*output.shape, *input.shape).
    """
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    columns = [_numbers_of(program, name) for name in names]
    graph = Graph()
    inputs = [graph.input() for port in program.inputs for _ in range(port.size)]
    nodes = replayed(program, graph, inputs)
    active = {k for column in columns for k in column}
    if mode is None:
        mode = "reverse" if len(program.results) < len(active) else "forward"
    rows = (_reverse if mode == "reverse" else _forward)(program, graph, nodes, active)
    zero = graph.constant(0.0)
    by_name = {port.name: port for port in program.inputs}
    outputs: list[Port] = []
    results: list[Expr] = []
    start = 0
    for port in program.outputs:
        own = rows[start : start + port.size]
        start += port.size
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


def _numbers_of(program: Program, name: str) -> range:
    """Where the numbers of an input stand among those of all inputs."""
    start = 0
    for port in program.inputs:
        if port.name == name:
            return range(start, start + port.size)
        start += port.size
    raise name_not_found("input", name, [port.name for port in program.inputs])


# Forward.


def _forward(program: Program, graph: Graph, nodes: Sequence[Expr], active: set[int]) -> list[_Row]:
    one = graph.constant(1.0)
    rows: list[_Row] = []
    for step, (op, *args) in enumerate(program.steps):
        if op is Op.INPUT:
            rows.append({args[0]: one} if args[0] in active else {})
        elif op is Op.CONST:
            rows.append({})
        else:
            at, known = [nodes[arg] for arg in args], [rows[arg] for arg in args]
            rows.append(_forward_step(graph, op, at, nodes[step], known))
    return [rows[step] for step in program.results]


def _forward_step(
    graph: Graph, op: Op, at: Sequence[Expr], value: Expr, rows: Sequence[_Row]
) -> _Row:
    zero = graph.constant(0.0)
    if op is Op.SELECT:
        yes, no = rows[1:]
        return {k: at[0].select(yes.get(k, zero), no.get(k, zero)) for k in _union((yes, no))}
    total: _Row = {}
    for slope, row in zip(_slopes(graph, op, at, value), rows, strict=True):
        for k, entry in row.items():
            term = _guarded_product(entry, slope) if op is Op.SQRT else entry * slope
            total[k] = total[k] + term if k in total else term
    return total


def _union(rows: Iterable[_Row]) -> list[int]:
    """All keys, each once, in a fixed order."""
    return list(dict.fromkeys(k for row in rows for k in row))


# Reverse.


def _reverse(program: Program, graph: Graph, nodes: Sequence[Expr], active: set[int]) -> list[_Row]:
    reached = _reached(program, active)
    hidden = _hidden(program)
    found: dict[int, _Row] = {}  # outputs that are one step have one row
    for result in program.results:
        if result not in found:
            found[result] = _reverse_row(program, graph, nodes, result, reached, hidden)
    return [found[result] for result in program.results]


def _reverse_row(
    program: Program,
    graph: Graph,
    nodes: Sequence[Expr],
    result: int,
    reached: Sequence[bool],
    hidden: Sequence[bool],
) -> _Row:
    """Follow one number back: `adjoint` holds its derivatives by the steps still to be followed."""
    adjoint = {result: graph.constant(1.0)}
    row: _Row = {}
    for step in range(result, -1, -1):
        entry = adjoint.pop(step, None)
        if entry is None or not reached[step]:
            continue
        op, *args = program.steps[step]
        if op is Op.INPUT:
            row[args[0]] = entry
            continue
        at = [nodes[arg] for arg in args]
        terms = _reverse_terms(graph, op, at, nodes[step], entry, hidden=hidden[step])
        for arg, term in zip(args, terms, strict=True):
            if term is not None and reached[arg]:
                adjoint[arg] = adjoint[arg] + term if arg in adjoint else term
    return row


def _reverse_terms(
    graph: Graph, op: Op, at: Sequence[Expr], value: Expr, entry: Expr, *, hidden: bool
) -> list[Expr | None]:
    """What a step passes on to each of its arguments; None for nothing."""
    if op is Op.SELECT:
        return [None, at[0].select(entry, 0.0), at[0].select(0.0, entry)]
    if op in (Op.LESS, Op.LESS_EQUAL):
        return [None, None]
    # A step that is not selected has the adjoint 0, and passes on 0 even if its slope is NaN.
    guarded = op is Op.SQRT or hidden
    return [
        _guarded_product(entry, slope) if guarded and slope.op is not Op.CONST else entry * slope
        for slope in _slopes(graph, op, at, value)
    ]


def _reached(program: Program, active: set[int]) -> list[bool]:
    """Which steps depend on the numbers to differentiate by."""
    reached: list[bool] = []
    for op, *args in program.steps:
        if op is Op.INPUT:
            reached.append(args[0] in active)
        else:
            reached.append(op is not Op.CONST and any(reached[arg] for arg in args))
    return reached


def _hidden(program: Program) -> list[bool]:
    """Which steps a select may drop."""
    hidden = [False] * len(program.steps)
    for step in reversed(range(len(program.steps))):
        op, *args = program.steps[step]
        if op not in (Op.CONST, Op.INPUT) and (hidden[step] or op is Op.SELECT):
            for arg in args:
                hidden[arg] = True
    return hidden


# Both.


def _guarded_product(entry: Expr, slope: Expr) -> Expr:
    """The product of a derivative and a slope, where 0 times infinity or NaN is 0."""
    return entry.select(entry * slope, 0.0)


def _slopes(graph: Graph, op: Op, at: Sequence[Expr], value: Expr) -> tuple[Expr, ...]:
    """The derivatives of a step by each of its arguments; `at` are these, `value` is the step."""
    one = graph.constant(1.0)
    a, b = at[0], at[-1]
    match op:
        case Op.ADD:
            return one, one
        case Op.SUB:
            return one, -one
        case Op.NEG:
            return (-one,)
        case Op.MUL:
            return b, a
        case Op.DIV:
            return one / b, -(value / b)
        case Op.SQRT:
            return (0.5 / value,)
        case Op.SIN:
            return (a.cos(),)
        case Op.COS:
            return (-a.sin(),)
        case Op.EXP:
            return (value,)
        case Op.LOG:
            return (one / a,)
        case Op.ATAN2:  # of (a, b): the angle of the point (b, a)
            square = a * a + b * b
            return b / square, -(a / square)
        case _:  # comparisons
            return tuple(graph.constant(0.0) for _ in at)
