"""Forward mode: the derivatives of each step along some directions, from the first to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.engine.autodiff.loops import Row, loop_tangents
from linkwork.engine.autodiff.partials import is_zero, masked, partial_derivatives
from linkwork.engine.autodiff.primal import Primal
from linkwork.engine.symbolic.node import Expr, Graph, Op


def forward(at: Primal, seeds: Mapping[int, Row]) -> list[Row]:
    """The derivatives of each number of the outputs.

    Args:
        at: the program.
        seeds: for each input number to differentiate with respect to, its own derivatives.
    """
    rows: list[Any] = []  # a `LoopValue` of rows for a LOOP
    rotations = at.rotations
    for step, (op, *args) in enumerate(at.program.steps):
        if op is Op.INPUT:
            rows.append(seeds.get(args[0], {}))
        elif not at.depends[step]:
            rows.append({})
        elif op is Op.LOOP:
            rows.append(loop_tangents(at, step, [rows[arg] for arg in args[1:]], forward))
        elif op is Op.LOOP_RESULT:
            rows.append(rows[args[1]].results[args[0]])
        elif op is Op.LOOP_STACK:
            rows.append(rows[args[1]].stacks[args[0]])
        else:
            known = [rows[arg] for arg in args]
            if step in rotations.absorbed_factor:
                known[rotations.absorbed_factor[step]] = {}
            row = _row(at, step, known)
            if step in rotations.by_angle:  # a number of a rotated vector, and the angle
                angle, sign, other = rotations.by_angle[step]
                by_angle = _scaled(at.graph, rows[angle], at.nodes[other])
                row = (_sum if sign > 0 else _difference)(at.graph, row, by_angle)
            rows.append(row)
    return [rows[step] for step in at.program.results]


def _row(at: Primal, step: int, rows: Sequence[Row]) -> Row:
    """The derivatives of a step, from those of its arguments."""
    op, *args = at.program.steps[step]
    graph, nodes = at.graph, at.nodes
    match op:
        case Op.ADD:
            return _sum(graph, *rows)
        case Op.SUB:
            return _difference(graph, *rows)
        case Op.MUL:
            a, b = args
            return _sum(graph, _scaled(graph, rows[0], nodes[b]), _scaled(graph, rows[1], nodes[a]))
        case Op.SELECT:
            condition, (_, yes, no) = nodes[args[0]], rows
            keys = dict.fromkeys((*yes, *no))
            return {k: condition.select(yes.get(k, 0.0), no.get(k, 0.0)) for k in keys}
        case _:
            is_guarded = op is Op.SQRT and at.steep[step][0]
            partials = partial_derivatives(op, [nodes[arg] for arg in args], nodes[step])
            return _row_of_any(graph, partials, rows, is_guarded)


def _row_of_any(
    graph: Graph, partials: Sequence[Expr | float], rows: Sequence[Row], is_guarded: bool
) -> Row:
    """The same for any operation but select, from its partial derivatives."""
    total = Row()
    for partial, row in zip(partials, rows, strict=True):
        product = masked if is_guarded else _product
        terms = {k: product(entry, partial) for k, entry in row.items()}
        total = _sum(graph, total, {k: term for k, term in terms.items() if not is_zero(term)})
    return total


def _product(entry: Expr, partial: Expr | float) -> Expr:
    return entry * partial


def _scaled(graph: Graph, row: Row, factor: Expr) -> Row:
    mul = graph.operations[Op.MUL]
    return {} if is_zero(factor) else {k: mul(entry, factor) for k, entry in row.items()}


def _sum(graph: Graph, a: Row, b: Row) -> Row:
    total, add = dict(a), graph.operations[Op.ADD]
    for k, entry in b.items():
        if k in total:
            total[k] = add(total[k], entry)
            if is_zero(total[k]):
                del total[k]
        else:
            total[k] = entry
    return total


def _difference(graph: Graph, a: Row, b: Row) -> Row:
    total, sub, neg = dict(a), graph.operations[Op.SUB], graph.operations[Op.NEG]
    for k, entry in b.items():
        if k in total:
            total[k] = sub(total[k], entry)
            if is_zero(total[k]):
                del total[k]
        else:
            total[k] = neg(entry)
    return total
