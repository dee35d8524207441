"""The derivatives of loops, which are loops again.

Forward mode   one loop carries the values and their tangents
Reverse mode   the loop also writes its carry to stacks, one item each iteration. A loop in the
               other direction reads them, computes the body again, and carries the adjoints of the
               carry and the sums of the adjoints of the invariants. It writes the adjoints of the
               items that the first loop has read
Zeros          a tangent or an adjoint that is 0 in every iteration is not carried
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from linkwork.engine.autodiff.bounds import LARGEST, LARGEST_INPUT
from linkwork.engine.autodiff.primal import Primal, Surroundings
from linkwork.engine.symbolic.loops import BodyGraph, loop_nodes
from linkwork.engine.symbolic.node import Expr, Op
from linkwork.engine.symbolic.program import Loop, LoopValue

Row: TypeAlias = dict[int, Expr]  # by index of a direction: the derivative, if not 0


def loop_tangents(
    at: Primal,
    step: int,
    rows: Sequence[Row],
    forward: Callable[[Primal, Mapping[int, Row]], list[Row]],
) -> LoopValue:
    """The derivatives of the values of a LOOP: a `Row` for each of them.

    The values of the step become those of the loop that carries tangents too.

    Args:
        at: the program.
        step: the step.
        rows: the derivatives of each operand; those of a stack are stacks.
        forward: forward mode on the body.
    """
    loop, operands = _loop(at, step)
    n_carry, n_read = loop.n_carry, loop.n_read
    graph = at.graph
    directions = list(dict.fromkeys(k for row in rows for k in row))
    bit = {k: 1 << position for position, k in enumerate(directions)}
    patterns = [sum(bit[k] for k in row) for row in rows]
    reached = loop.dependencies(patterns).results
    carried = [(c, k) for c in range(n_carry) for k in directions if reached[c] & bit[k]]
    read = [(c, k) for c in range(loop.n_inputs - n_read, loop.n_inputs) for k in rows[c]]

    own = BodyGraph(graph, n_carry + len(carried), n_read + len(read))
    seeds: dict[int, Row] = {c: {} for c in range(loop.n_inputs)}
    for (c, k), node in zip(carried, own.carry[n_carry:], strict=True):
        seeds[c][k] = node
    for (c, k), node in zip(read, own.items[n_read:], strict=True):
        seeds[c][k] = node
    for c in range(n_carry, loop.n_inputs - n_read):
        seeds[c] = rows[c]
    active = {c for c in seeds if seeds[c]}
    inner = _body(at, step, own, [*own.carry[:n_carry], *own.items[:n_read]], active)
    results = forward(inner, seeds)
    zero = graph.root.constant(0.0)
    following = [results[c].get(k, zero) for c, k in carried]
    written = [(c, k) for c in range(n_carry, len(results)) for k in results[c]]
    values = _loop_as_long(
        at,
        step,
        own,
        [*operands[:n_carry], *(rows[c].get(k, zero) for c, k in carried)],
        [*inner.results[:n_carry], *following],
        read=[*operands[loop.n_inputs - n_read :], *(rows[c][k] for c, k in read)],
        written=[*inner.results[n_carry:], *(results[c][k] for c, k in written)],
    )
    at.set_loop(step, LoopValue(values.results[:n_carry], values.stacks[: loop.n_written]))
    tangents = LoopValue([{} for _ in range(n_carry)], [{} for _ in range(loop.n_written)])
    for (c, k), node in zip(carried, values.results[n_carry:], strict=True):
        tangents.results[c][k] = node
    for (c, k), node in zip(written, values.stacks[loop.n_written :], strict=True):
        tangents.stacks[c - n_carry][k] = node
    return tangents


def keep_carries(at: Primal) -> None:
    """Let each loop that is differentiated write its carry to stacks."""
    for step, (op, *_) in enumerate(at.program.steps):
        if op is not Op.LOOP or not at.depends[step] or step in at.carry_stacks:
            continue
        loop, operands = _loop(at, step)
        n_carry, n_read, n_written = loop.n_carry, loop.n_read, loop.n_written
        own = BodyGraph(at.graph, n_carry, n_read)
        invariants = operands[n_carry : loop.n_inputs - n_read]
        nodes = loop.body.replay(own, [*own.carry, *invariants, *own.items])
        results = [nodes[k] for k in loop.body.results]
        values = _loop_as_long(
            at,
            step,
            own,
            operands[:n_carry],
            results[:n_carry],
            read=operands[loop.n_inputs - n_read :],
            written=[*results[n_carry:], *own.carry],
        )
        at.carry_stacks[step] = values.stacks[n_written:]
        at.set_loop(step, LoopValue(values.results, values.stacks[:n_written]))


def loop_adjoints(
    at: Primal,
    step: int,
    results: Mapping[int, Expr],
    stacks: Mapping[int, Sequence[Expr]],
    reverse: Callable[[Primal, Mapping[int, Sequence[Expr]]], dict[int, Expr]],
) -> dict[int, Expr]:
    """The adjoints of the operands of a LOOP, by position, where not 0; those of stacks are stacks.

    Args:
        at: the program, after `keep_carries`.
        step: the step.
        results: the adjoints of its results.
        stacks: for each stack that it writes the stacks whose sum is the adjoint.
        reverse: reverse mode on the body.
    """
    loop, operands = _loop(at, step)
    n_carry, n_inputs = loop.n_carry, loop.n_inputs
    first_read = n_inputs - loop.n_read
    active = _active_inputs(at, step, loop)
    reaching = _reaching_inputs(loop, {*results, *(n_carry + k for k in stacks)})
    sought = [k for k in range(n_inputs) if k in active and k in reaching]
    carried = [k for k in sought if k < n_carry]
    summed = [k for k in sought if n_carry <= k < first_read]
    written = [k for k in sought if k >= first_read]
    cotangents = [(k, stack) for k, own in stacks.items() for stack in own]

    own = BodyGraph(at.graph, len(carried) + len(summed), n_carry + loop.n_read + len(cotangents))
    items = iter(own.items)
    inner = _body(at, step, own, list(islice(items, n_carry + loop.n_read)), active)
    seeds: dict[int, list[Expr]] = {}
    for k, node in zip(carried, own.carry, strict=False):
        seeds.setdefault(loop.body.results[k], []).append(node)
    for (k, _), node in zip(cotangents, items, strict=True):
        seeds.setdefault(loop.body.results[n_carry + k], []).append(node)
    found = reverse(inner, seeds)
    zero = at.graph.root.constant(0.0)
    totals = zip(summed, own.carry[len(carried) :], strict=True)
    values = _loop_as_long(
        at,
        step,
        own,
        [results.get(k, zero) for k in carried] + [zero] * len(summed),
        [found.get(k, zero) for k in carried] + [total + found.get(k, zero) for k, total in totals],
        read=[*at.carry_stacks[step], *operands[first_read:], *(stack for _, stack in cotangents)],
        written=[found.get(k, zero) for k in written],
        is_reversed=not loop.is_reversed,
    )
    adjoints = dict(zip([*carried, *summed], values.results, strict=True))
    return adjoints | dict(zip(written, values.stacks, strict=True))


def _loop(at: Primal, step: int) -> tuple[Loop, list[Expr]]:
    """The loop of a step, and the nodes of its operands."""
    operands = [at.nodes[operand] for operand in at.program.operands[step]]
    return at.program.loops[at.program.steps[step][1]], operands


def _body(
    at: Primal,
    step: int,
    graph: BodyGraph,
    own: Sequence[Expr],
    active: set[int],
) -> Primal:
    """The body of a LOOP in the graph of another body.

    Args:
        at, step: the LOOP.
        graph: the graph.
        own: the nodes of the carry, then of the items.
        active: the indices of the inputs of the body to differentiate with respect to.
    """
    loop, operands = _loop(at, step)
    n_carry, n_inputs = loop.n_carry, loop.n_inputs
    inputs = [*own[:n_carry], *operands[n_carry : n_inputs - loop.n_read], *own[n_carry:]]
    operations = loop.body.operations
    discarded = at.under_select[step]
    feed_sqrt = at.feeds_sqrt[step] or Op.SQRT in operations
    # A carry is taken to be of the size of an input if its initial value is. It may be infinite
    # where a select after the loop discards it, or where it is the adjoint of a root of 0.
    may_grow = discarded or feed_sqrt
    sizes = [at.bounds.most[operand] for operand in at.program.operands[step]]
    sizes[:n_carry] = [LARGEST_INPUT if size <= LARGEST else size for size in sizes[:n_carry]]
    sizes[n_inputs - loop.n_read :] = [LARGEST_INPUT] * loop.n_read
    if may_grow:
        sizes[:n_carry] = [math.inf] * n_carry
        sizes[n_inputs - loop.n_read :] = [math.inf] * loop.n_read
    around = Surroundings(discarded or Op.SELECT in operations, feed_sqrt, sizes)
    return Primal(loop.body, graph, inputs, frozenset(active), around)


def _loop_as_long(
    at: Primal,
    step: int,
    graph: BodyGraph,
    initial: Sequence[Expr],
    following: Sequence[Expr],
    *,
    read: Sequence[Expr],
    written: Sequence[Expr],
    is_reversed: bool | None = None,
) -> LoopValue:
    """The values of a loop with another body, as long as that of a step."""
    loop, _ = _loop(at, step)
    made, operands = graph.loop(
        loop.n,
        initial,
        following,
        read=read,
        written=written,
        is_reversed=loop.is_reversed if is_reversed is None else is_reversed,
    )
    return loop_nodes(at.graph, made, operands)


def _active_inputs(at: Primal, step: int, loop: Loop) -> set[int]:
    """The inputs of the body that depend on the numbers to differentiate with respect to."""
    bits = [int(at.depends[operand]) for operand in at.program.operands[step]]
    carry = loop.dependencies(bits).results
    return {k for k, bit in enumerate([*carry, *bits[loop.n_carry :]]) if bit}


def _reaching_inputs(loop: Loop, outputs: set[int]) -> set[int]:
    """The inputs of the body that some of its outputs depend on, also in later iterations."""
    body = loop.body
    each = body.dependencies([1 << k for k in range(loop.n_inputs)])
    bits = [each[step] for step in body.results]
    reached = set(outputs)
    while True:
        union = 0
        for k in reached:
            union |= bits[k]
        inputs = {k for k in range(loop.n_inputs) if union >> k & 1}
        added = {k for k in inputs if k < loop.n_carry} - reached
        if not added:
            # the adjoint of a result is carried even if no iteration uses that carry
            return inputs | {k for k in outputs if k < loop.n_carry}
        reached |= added
