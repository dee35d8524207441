"""Derivatives of loops, which are loops again.

Forward mode   one loop carries the values and their tangents
Reverse mode   the loop also writes its carry to stacks, one item per iteration. A loop in the
               opposite direction reads these stacks, computes the body again, and carries the
               adjoints of the carry and the sums of the adjoints of the invariants. It writes the
               adjoints of the items that the first loop reads
Zeros          a tangent or adjoint that is 0 in every iteration is not carried
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from linkwork.engine.autodiff.guards import LARGEST_INPUT
from linkwork.engine.autodiff.primal import LoopContext, Primal
from linkwork.engine.symbolic.loops import BodyGraph, loop_nodes, replay
from linkwork.engine.symbolic.node import Expr
from linkwork.engine.symbolic.operations import LARGEST, Op
from linkwork.engine.symbolic.program import Loop, LoopValue

# The derivatives of one value along directions, by index of the direction; structural zeros are
# omitted. A direction is a tangent of all inputs: in a Jacobian, a unit vector.
Derivatives: TypeAlias = dict[int, Expr]


def loop_tangents(
    primal: Primal,
    step: int,
    tangents: Sequence[Derivatives],
    forward: Callable[[Primal, Mapping[int, Derivatives]], list[Derivatives]],
) -> LoopValue:
    """Return the derivatives of the values of a LOOP: `Derivatives` of each value.

    The values of the step in `primal` are replaced by those of the new loop, which also carries
    tangents.

    Args:
        primal: the program.
        step: the LOOP step.
        tangents: the derivatives of each operand; those of a stack are stacks.
        forward: applies forward mode to the body.
    """
    loop, operands = _loop(primal, step)
    n_carry, n_read = loop.n_carry, loop.n_read
    graph = primal.graph
    directions = list(dict.fromkeys(k for tangent in tangents for k in tangent))
    bit = {k: 1 << position for position, k in enumerate(directions)}
    patterns = [sum(bit[k] for k in tangent) for tangent in tangents]
    reached = loop.dependencies(patterns).results
    carried = [(c, k) for c in range(n_carry) for k in directions if reached[c] & bit[k]]
    read = [(c, k) for c in range(loop.n_inputs - n_read, loop.n_inputs) for k in tangents[c]]

    body_graph = BodyGraph(graph, n_carry + len(carried), n_read + len(read))
    seeds: dict[int, Derivatives] = {c: {} for c in range(loop.n_inputs)}
    for (c, k), node in zip(carried, body_graph.carry[n_carry:], strict=True):
        seeds[c][k] = node
    for (c, k), node in zip(read, body_graph.items[n_read:], strict=True):
        seeds[c][k] = node
    for c in range(n_carry, loop.n_inputs - n_read):
        seeds[c] = tangents[c]
    active = {c for c in seeds if seeds[c]}
    carry_and_items = [*body_graph.carry[:n_carry], *body_graph.items[:n_read]]
    inner = _body(primal, step, body_graph, carry_and_items, active)
    results = forward(inner, seeds)
    zero = graph.root.constant(0.0)
    next_tangents = [results[c].get(k, zero) for c, k in carried]
    written = [(c, k) for c in range(n_carry, len(results)) for k in results[c]]
    values = _add_loop(
        primal,
        step,
        body_graph,
        [*operands[:n_carry], *(tangents[c].get(k, zero) for c, k in carried)],
        [*inner.results[:n_carry], *next_tangents],
        read=[*operands[loop.n_inputs - n_read :], *(tangents[c][k] for c, k in read)],
        written=[*inner.results[n_carry:], *(results[c][k] for c, k in written)],
    )
    primal.set_loop(step, LoopValue(values.results[:n_carry], values.stacks[: loop.n_written]))
    value = LoopValue([{} for _ in range(n_carry)], [{} for _ in range(loop.n_written)])
    for (c, k), node in zip(carried, values.results[n_carry:], strict=True):
        value.results[c][k] = node
    for (c, k), node in zip(written, values.stacks[loop.n_written :], strict=True):
        value.stacks[c - n_carry][k] = node
    return value


def keep_carries(primal: Primal) -> None:
    """Make each loop that is differentiated write its carry to stacks."""
    for step, (op, *_) in enumerate(primal.program.steps):
        if op is not Op.LOOP or not primal.depends[step] or step in primal.carry_stacks:
            continue
        loop, operands = _loop(primal, step)
        n_carry, n_read, n_written = loop.n_carry, loop.n_read, loop.n_written
        body_graph = BodyGraph(primal.graph, n_carry, n_read)
        invariants = operands[n_carry : loop.n_inputs - n_read]
        nodes = replay(loop.body, body_graph, [*body_graph.carry, *invariants, *body_graph.items])
        results = [nodes[k] for k in loop.body.results]
        values = _add_loop(
            primal,
            step,
            body_graph,
            operands[:n_carry],
            results[:n_carry],
            read=operands[loop.n_inputs - n_read :],
            written=[*results[n_carry:], *body_graph.carry],
        )
        primal.carry_stacks[step] = values.stacks[n_written:]
        primal.set_loop(step, LoopValue(values.results, values.stacks[:n_written]))


def loop_adjoints(
    primal: Primal,
    step: int,
    results: Mapping[int, Expr],
    stacks: Mapping[int, Sequence[Expr]],
    reverse: Callable[[Primal, Mapping[int, Sequence[Expr]]], dict[int, Expr]],
) -> dict[int, Expr]:
    """Return the adjoints of the operands of a LOOP, by position, without structural zeros.

    The adjoint of a stack is a stack.

    Args:
        primal: the program, after `keep_carries`.
        step: the LOOP step.
        results: the adjoints of its results.
        stacks: for each stack that it writes, the stacks whose sum is its adjoint.
        reverse: applies reverse mode to the body.
    """
    loop, operands = _loop(primal, step)
    n_carry, n_inputs = loop.n_carry, loop.n_inputs
    first_read = n_inputs - loop.n_read
    active = _active_inputs(primal, step, loop)
    reaching = _reaching_inputs(loop, {*results, *(n_carry + k for k in stacks)})
    nonzero = [k for k in range(n_inputs) if k in active and k in reaching]
    carried = [k for k in nonzero if k < n_carry]
    summed = [k for k in nonzero if n_carry <= k < first_read]
    written = [k for k in nonzero if k >= first_read]
    cotangents = [(k, stack) for k, terms in stacks.items() for stack in terms]

    n_items = n_carry + loop.n_read + len(cotangents)
    body_graph = BodyGraph(primal.graph, len(carried) + len(summed), n_items)
    items = iter(body_graph.items)
    inner = _body(primal, step, body_graph, list(islice(items, n_carry + loop.n_read)), active)
    seeds: dict[int, list[Expr]] = {}
    for k, node in zip(carried, body_graph.carry, strict=False):
        seeds.setdefault(loop.body.results[k], []).append(node)
    for (k, _), node in zip(cotangents, items, strict=True):
        seeds.setdefault(loop.body.results[n_carry + k], []).append(node)
    adjoints = reverse(inner, seeds)
    zero = primal.graph.root.constant(0.0)
    totals = zip(summed, body_graph.carry[len(carried) :], strict=True)
    values = _add_loop(
        primal,
        step,
        body_graph,
        [results.get(k, zero) for k in carried] + [zero] * len(summed),
        [
            *[adjoints.get(k, zero) for k in carried],
            *[total + adjoints.get(k, zero) for k, total in totals],
        ],
        read=[
            *primal.carry_stacks[step],
            *operands[first_read:],
            *[stack for _, stack in cotangents],
        ],
        written=[adjoints.get(k, zero) for k in written],
        is_reversed=not loop.is_reversed,
    )
    operand_adjoints = dict(zip([*carried, *summed], values.results, strict=True))
    return operand_adjoints | dict(zip(written, values.stacks, strict=True))


def _loop(primal: Primal, step: int) -> tuple[Loop, list[Expr]]:
    """Return the loop of a step, and the nodes of its operands."""
    operands = [primal.nodes[operand] for operand in primal.program.operands[step]]
    return primal.program.loops[primal.program.steps[step][1]], operands


def _body(
    primal: Primal,
    step: int,
    graph: BodyGraph,
    carry_and_items: Sequence[Expr],
    active: set[int],
) -> Primal:
    """Replay the body of a LOOP in the graph of another body.

    Args:
        primal, step: the LOOP.
        graph: the graph.
        carry_and_items: the nodes of the carry, followed by those of the items.
        active: the indices of the inputs of the body to differentiate with respect to.
    """
    loop, operands = _loop(primal, step)
    n_carry, n_inputs = loop.n_carry, loop.n_inputs
    invariants = operands[n_carry : n_inputs - loop.n_read]
    inputs = [*carry_and_items[:n_carry], *invariants, *carry_and_items[n_carry:]]
    operations = loop.body.operations
    discarded = primal.under_select[step]
    feed_sqrt = primal.feeds_sqrt[step] or Op.SQRT in operations
    # A carry is assumed to be as bounded as an input if its initial value is bounded. It may be
    # infinite if a select after the loop discards it, or if it is the adjoint of sqrt(0).
    may_grow = discarded or feed_sqrt
    sizes = [primal.bounds[operand].most for operand in primal.program.operands[step]]
    sizes[:n_carry] = [LARGEST_INPUT if size <= LARGEST else size for size in sizes[:n_carry]]
    sizes[n_inputs - loop.n_read :] = [LARGEST_INPUT] * loop.n_read
    if may_grow:
        sizes[:n_carry] = [math.inf] * n_carry
        sizes[n_inputs - loop.n_read :] = [math.inf] * loop.n_read
    context = LoopContext(discarded or Op.SELECT in operations, feed_sqrt, sizes)
    return Primal(loop.body, graph, inputs, frozenset(active), context)


def _add_loop(
    primal: Primal,
    step: int,
    graph: BodyGraph,
    initial: Sequence[Expr],
    next_carry: Sequence[Expr],
    *,
    read: Sequence[Expr],
    written: Sequence[Expr],
    is_reversed: bool | None = None,
) -> LoopValue:
    """Add a loop with another body and the number of iterations of the loop of a step."""
    loop, _ = _loop(primal, step)
    new_loop, operands = graph.loop(
        loop.n,
        initial,
        next_carry,
        read=read,
        written=written,
        is_reversed=loop.is_reversed if is_reversed is None else is_reversed,
    )
    return loop_nodes(primal.graph, new_loop, operands)


def _active_inputs(primal: Primal, step: int, loop: Loop) -> set[int]:
    """Return the inputs of the body that depend on the active inputs of the program."""
    bits = [int(primal.depends[operand]) for operand in primal.program.operands[step]]
    carry = loop.dependencies(bits).results
    return {k for k, bit in enumerate([*carry, *bits[loop.n_carry :]]) if bit}


def _reaching_inputs(loop: Loop, outputs: set[int]) -> set[int]:
    """Return the inputs of the body that some of its outputs depend on, in any iteration."""
    body = loop.body
    dependencies = body.dependencies([1 << k for k in range(loop.n_inputs)])
    bits = [dependencies[step] for step in body.results]
    reached = set(outputs)
    while True:
        union = 0
        for k in reached:
            union |= bits[k]
        inputs = {k for k in range(loop.n_inputs) if union >> k & 1}
        added = {k for k in inputs if k < loop.n_carry} - reached
        if not added:
            # The adjoint of a result is carried even if no iteration uses that carry entry.
            return inputs | {k for k in outputs if k < loop.n_carry}
        reached |= added
