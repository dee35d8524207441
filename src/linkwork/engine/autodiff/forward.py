"""Forward mode: the derivatives of each step along directions, from the first to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.engine.autodiff.guards import is_zero, masked, partial_derivatives
from linkwork.engine.autodiff.loops import Derivatives, loop_tangents
from linkwork.engine.autodiff.primal import Primal
from linkwork.engine.symbolic.node import Expr, Graph
from linkwork.engine.symbolic.operations import Op


def forward(primal: Primal, seeds: Mapping[int, Derivatives]) -> list[Derivatives]:
    """Return the derivatives of each output element along some directions.

    Args:
        primal: the program.
        seeds: the derivatives of each active input element along these directions.
    """
    tangents: list[Any] = []  # `Derivatives` of each step; a `LoopValue` of them for a LOOP
    rotations = primal.rotations
    for step, (op, *args) in enumerate(primal.program.steps):
        if op is Op.INPUT:
            tangents.append(seeds.get(args[0], {}))
        elif not primal.depends[step]:
            tangents.append({})
        elif op is Op.LOOP:
            operands = [tangents[arg] for arg in args[1:]]
            tangents.append(loop_tangents(primal, step, operands, forward))
        elif op is Op.LOOP_RESULT:
            tangents.append(tangents[args[1]].results[args[0]])
        elif op is Op.LOOP_STACK:
            tangents.append(tangents[args[1]].stacks[args[0]])
        else:
            operands = [tangents[arg] for arg in args]
            if step in rotations.absorbed_factor:
                operands[rotations.absorbed_factor[step]] = {}
            tangent = _step_derivatives(primal, step, operands)
            if step in rotations.angle_derivative:
                angle, sign, other = rotations.angle_derivative[step]
                term = _scaled(primal.graph, tangents[angle], primal.nodes[other])
                tangent = (_sum if sign > 0 else _difference)(primal.graph, tangent, term)
            tangents.append(tangent)
    return [tangents[step] for step in primal.program.results]


def _step_derivatives(primal: Primal, step: int, tangents: Sequence[Derivatives]) -> Derivatives:
    """Return the derivatives of a step, from those of its arguments."""
    op, *args = primal.program.steps[step]
    graph, nodes = primal.graph, primal.nodes
    match op:
        case Op.ADD:
            return _sum(graph, *tangents)
        case Op.SUB:
            return _difference(graph, *tangents)
        case Op.MUL:
            a, b = args
            term_a = _scaled(graph, tangents[0], nodes[b])
            return _sum(graph, term_a, _scaled(graph, tangents[1], nodes[a]))
        case Op.SELECT:
            condition, (_, yes, no) = nodes[args[0]], tangents
            keys = dict.fromkeys((*yes, *no))
            return {k: condition.select(yes.get(k, 0.0), no.get(k, 0.0)) for k in keys}
        case _:
            is_guarded = op is Op.SQRT and primal.steep[step][0]
            partials = partial_derivatives(op, [nodes[arg] for arg in args], nodes[step])
            return _chain_rule(graph, partials, tangents, is_guarded)


def _chain_rule(
    graph: Graph,
    partials: Sequence[Expr | float],
    tangents: Sequence[Derivatives],
    is_guarded: bool,
) -> Derivatives:
    """Sum the products of partial derivatives and derivatives of the arguments."""
    total = Derivatives()
    for partial, tangent in zip(partials, tangents, strict=True):
        product = masked if is_guarded else _product
        terms = {k: product(entry, partial) for k, entry in tangent.items()}
        total = _sum(graph, total, {k: term for k, term in terms.items() if not is_zero(term)})
    return total


def _product(entry: Expr, partial: Expr | float) -> Expr:
    return entry * partial


def _scaled(graph: Graph, a: Derivatives, factor: Expr) -> Derivatives:
    mul = graph.operations[Op.MUL]
    return {} if is_zero(factor) else {k: mul(entry, factor) for k, entry in a.items()}


def _sum(graph: Graph, a: Derivatives, b: Derivatives) -> Derivatives:
    total, add = dict(a), graph.operations[Op.ADD]
    for k, entry in b.items():
        if k in total:
            total[k] = add(total[k], entry)
            if is_zero(total[k]):
                del total[k]
        else:
            total[k] = entry
    return total


def _difference(graph: Graph, a: Derivatives, b: Derivatives) -> Derivatives:
    total, sub, neg = dict(a), graph.operations[Op.SUB], graph.operations[Op.NEG]
    for k, entry in b.items():
        if k in total:
            total[k] = sub(total[k], entry)
            if is_zero(total[k]):
                del total[k]
        else:
            total[k] = neg(entry)
    return total
