"""Forward mode: the derivatives of each step along some directions, from the first to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from linkwork.expr.inlined import Inlined
from linkwork.expr.node import Expr, Op
from linkwork.expr.slopes import is_zero, masked, slopes

Row: TypeAlias = dict[int, Expr]  # by index of a direction: the derivative, if not 0


def forward(at: Inlined, seeds: Mapping[int, Row]) -> list[Row]:
    """The derivatives of each number of the outputs.

    Args:
        at: the program.
        seeds: for each input number to differentiate by, its own derivatives.
    """
    rows: list[Row] = []
    for step, (op, *args) in enumerate(at.program.steps):
        if op is Op.INPUT:
            rows.append(seeds.get(args[0], {}))
        elif at.depends[step]:
            nodes, known = [at.nodes[arg] for arg in args], [rows[arg] for arg in args]
            if step in at.turns.moved:
                known[at.turns.moved[step]] = {}
            row = _forward_step(op, nodes, at.nodes[step], known)
            rows.append(_turned(at, step, row, rows) if step in at.turns.slope else row)
        else:
            rows.append({})
    return [rows[step] for step in at.program.results]


def _forward_step(op: Op, args: Sequence[Expr], value: Expr, rows: Sequence[Row]) -> Row:
    if op is Op.SELECT:
        _, yes, no = rows
        keys = dict.fromkeys((*yes, *no))
        return {k: args[0].select(yes.get(k, 0.0), no.get(k, 0.0)) for k in keys}
    total: Row = {}
    for slope, row in zip(slopes(op, args, value), rows, strict=True):
        for k, entry in row.items():
            term = masked(entry, slope) if op is Op.SQRT else entry * slope
            total[k] = total[k] + term if k in total else term
    return {k: entry for k, entry in total.items() if not is_zero(entry)}


def _turned(at: Inlined, step: int, row: Row, rows: Sequence[Row]) -> Row:
    """Add the derivative of a rotated vector by the angle of the rotation."""
    angle, sign, other = at.turns.slope[step]
    total = dict(row)
    for k, entry in rows[angle].items():
        term = entry * at.nodes[other]
        term = term if sign > 0 else -term
        total[k] = total[k] + term if k in total else term
    return total
