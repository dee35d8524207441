"""Forward mode: the derivatives of each step along some directions, from the first to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from linkwork.engine.autodiff.inlined import Inlined
from linkwork.engine.autodiff.partials import is_zero, masked, slopes
from linkwork.engine.symbolic.node import Expr, Graph, Op
from linkwork.engine.symbolic.rules import RULES

Row: TypeAlias = dict[int, Expr]  # by index of a direction: the derivative, if not 0

_add, _sub, _mul, _neg = (RULES[op] for op in (Op.ADD, Op.SUB, Op.MUL, Op.NEG))


def forward(at: Inlined, seeds: Mapping[int, Row]) -> list[Row]:
    """The derivatives of each number of the outputs.

    Args:
        at: the program.
        seeds: for each input number to differentiate by, its own derivatives.
    """
    rows: list[Row] = []
    rotations = at.rotations
    for step, (op, *args) in enumerate(at.program.steps):
        if op is Op.INPUT:
            rows.append(seeds.get(args[0], {}))
        elif at.depends[step]:
            known = [rows[arg] for arg in args]
            if step in rotations.absorbed_factor:
                known[rotations.absorbed_factor[step]] = {}
            row = _row(at, step, known)
            if step in rotations.slope:  # a number of a rotated vector, and the angle
                angle, sign, other = rotations.slope[step]
                by_angle = _scaled(at.graph, rows[angle], at.nodes[other])
                row = (_sum if sign > 0 else _difference)(at.graph, row, by_angle)
            rows.append(row)
        else:
            rows.append({})
    return [rows[step] for step in at.program.results]


def _row(at: Inlined, step: int, rows: Sequence[Row]) -> Row:
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
            return _row_of_any(op, [nodes[arg] for arg in args], nodes[step], rows, is_guarded)


def _row_of_any(
    op: Op, args: Sequence[Expr], value: Expr, rows: Sequence[Row], is_guarded: bool
) -> Row:
    """The same for any operation but select."""
    graph, total = value.graph, Row()
    for slope, row in zip(slopes(op, args, value), rows, strict=True):
        product = masked if is_guarded else _product
        terms = {k: product(entry, slope) for k, entry in row.items()}
        total = _sum(graph, total, {k: term for k, term in terms.items() if not is_zero(term)})
    return total


def _product(entry: Expr, slope: Expr | float) -> Expr:
    return entry * slope


def _scaled(graph: Graph, row: Row, factor: Expr) -> Row:
    return {} if is_zero(factor) else {k: _mul(graph, entry, factor) for k, entry in row.items()}


def _sum(graph: Graph, a: Row, b: Row) -> Row:
    total = dict(a)
    for k, entry in b.items():
        if k in total:
            total[k] = _add(graph, total[k], entry)
            if is_zero(total[k]):
                del total[k]
        else:
            total[k] = entry
    return total


def _difference(graph: Graph, a: Row, b: Row) -> Row:
    total = dict(a)
    for k, entry in b.items():
        if k in total:
            total[k] = _sub(graph, total[k], entry)
            if is_zero(total[k]):
                del total[k]
        else:
            total[k] = _neg(graph, entry)
    return total
