"""Loops in graphs: their construction and simplification.

Invariants  the body of a loop is a graph inside another one. Expressions of the outer graph that
            the body uses become invariants; expressions of invariants are computed once, outside.
            In a branch, what depends on the carry stays inside, also if that part of it is constant
Carry       an entry of the carry that keeps its initial value becomes an invariant
Unrolling   a loop of no iteration is its initial carry; a loop of one iteration is its body, unless
            it is conditional
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from linkwork.engine.symbolic.node import Expr, Graph, innermost_graph
from linkwork.engine.symbolic.operations import FLOAT_FUNCTIONS, Op
from linkwork.engine.symbolic.program import Loop, LoopValue, Program, loop_body, with_inputs
from linkwork.engine.symbolic.tracing import program_of

MOST_FOLDED = 100_000  # loops on constants with more steps are not computed at tracing time


class BodyGraph(Graph):
    """The graph of the body of a loop, inside the graph that the loop belongs to."""

    def __init__(self, parent: Graph, n_carry: int, n_read: int = 0) -> None:
        super().__init__(parent.rules, parent)
        self.carry = [self.input() for _ in range(n_carry)]
        self.items = [self.input() for _ in range(n_read)]  # one item of each stack that it reads

    def loop(
        self,
        n: int,
        initial: Sequence[Expr],
        next_carry: Sequence[Expr],
        *,
        read: Sequence[Expr] = (),
        written: Sequence[Expr] = (),
        is_reversed: bool = False,
        is_conditional: bool = False,
    ) -> tuple[Loop, list[Expr]]:
        """Build the loop with this body; return the loop and its operands.

        Args:
            n: number of iterations.
            initial: the carry before the first iteration; nodes of enclosing graphs.
            next_carry: the carry after an iteration; nodes of this graph.
            read: the stacks to read; nodes of the parent.
            written: one item of each stack to write; nodes of this graph.
            is_reversed: whether the loop starts with the last item of each stack.
            is_conditional: whether it may end early; see `Loop`.
        """
        assert self.parent is not None
        results = [self.lifted(node) for node in (*next_carry, *written)]
        self.is_finished = True
        traced = program_of((), (), results, self)
        used = {step[1] for step in traced.steps if step[0] is Op.INPUT}
        invariants = [node for node in self.captured if node.args[0] in used]
        inputs = [*self.carry, *invariants, *self.items]
        new_index = {node.args[0]: k for k, node in enumerate(inputs)}
        steps = with_inputs(traced, new_index)
        sizes_in = len(self.carry), len(invariants), len(self.items)
        sizes_out = len(next_carry), len(written)
        body = loop_body(sizes_in, sizes_out, replace(traced, steps=steps))
        operands = [*initial, *(self.captured[node] for node in invariants), *read]
        return Loop(body, n, is_reversed, is_conditional), [
            self.parent.lifted(node) for node in operands
        ]


def replay(
    program: Program, graph: Graph, inputs: Sequence[Expr], first_nodes: Sequence[Any] = ()
) -> list[Any]:
    """Create the node of each step of a program in a graph, simplified by its rules.

    Args:
        program: the program.
        graph: the graph. If it is the graph of a loop body, nodes that do not depend on it are
            created in the enclosing graph.
        inputs: the node for each element of all inputs, flattened. It belongs to the graph or
            to an enclosing one.
        first_nodes: nodes of the first steps, which are not created again.

    Returns:
        A node for each step; a `LoopValue` of nodes for a LOOP.
    """
    constant, loop = graph.root.constant, partial(loop_nodes, graph)
    return program.values(inputs, graph.operations, constant, loop, first_nodes)


def loop_nodes(graph: Graph, loop: Loop, operands: Sequence[Expr]) -> LoopValue:
    """Create the nodes of the values of a loop, simplified.

    Args:
        graph: the graph that they belong to. A loop without stacks, all of whose operands belong to
            enclosing graphs, is created in the innermost of those.
        loop: the loop.
        operands: the initial carry, invariants and stacks to read.
    """
    n_carry = loop.n_carry
    if loop.n == 0:  # its stacks are empty
        return LoopValue(list(operands[:n_carry]), [graph.root.constant(0.0)] * loop.n_written)
    first = operands[0] if loop.is_conditional else None
    if first is not None and first.op is Op.CONST and not first.args[0]:
        return LoopValue(list(operands[:n_carry]), [])
    if loop.n == 1 and (first is None or first.op is Op.CONST):  # a stack is its only item
        nodes = replay(loop.body, graph, operands)
        results = [nodes[step] for step in loop.body.results]
        return LoopValue(results[:n_carry], results[n_carry:])
    if not loop.n_read and not loop.n_written:
        folded = _folded(loop, operands)
        if folded is not None:
            return LoopValue([graph.root.constant(value) for value in folded], [])
        graph = innermost_graph(operands) if operands else graph
    results = [graph.lifted(node) for node in operands[:n_carry]]
    changing, loop, operands = _simplified(graph, loop, [graph.lifted(x) for x in operands])
    stacks: list[Expr] = []
    if changing or loop.n_written:
        node = graph.make_loop(loop, operands)
        for position, k in enumerate(changing):
            results[k] = graph.loop_value(Op.LOOP_RESULT, node, position)
        stacks = [graph.loop_value(Op.LOOP_STACK, node, k) for k in range(loop.n_written)]
    return LoopValue(results, stacks)


def _folded(loop: Loop, operands: Sequence[Expr]) -> list[float] | None:
    """Return the values of a loop on constants; None if they are not finite or take too long."""
    if (
        any(node.op is not Op.CONST for node in operands)
        or loop.n * loop.body.n_steps > MOST_FOLDED
    ):
        return None
    try:
        values = loop.run([node.args[0] for node in operands], FLOAT_FUNCTIONS).results
    except (ArithmeticError, ValueError):
        return None
    return values if all(map(math.isfinite, values)) else None


def _simplified(
    graph: Graph, loop: Loop, operands: list[Expr]
) -> tuple[list[int], Loop, list[Expr]]:
    """Remove carry entries that keep their initial values, and invariants that are constants.

    Returns:
        The indices of the remaining carry entries, the loop, and its operands.
    """
    body, n_carry, n_read = loop.body, loop.n_carry, loop.n_read
    start, stop = n_carry, n_carry + loop.n_invariants
    invariants, read = operands[start:stop], operands[stop:]
    unchanged = _unchanged_carries(loop, operands)
    is_simple = len({*invariants}) == len(invariants) and all(
        node.op is not Op.CONST for node in invariants
    )
    if not unchanged and is_simple:
        return list(range(n_carry)), loop, operands
    while True:  # until all entries that are assumed to be unchanged are unchanged
        changing = [k for k in range(n_carry) if k not in unchanged]
        body_graph = BodyGraph(graph, len(changing), n_read)
        inputs = operands[: n_carry + loop.n_invariants]
        if loop.is_conditional and loop.n == 1:  # what a branch computes stays in it
            inputs = [body_graph.lifted(node) for node in inputs]
        for k, node in zip(changing, body_graph.carry, strict=True):
            inputs[k] = node
        carry = inputs[:n_carry]
        nodes = replay(body, body_graph, [*inputs, *body_graph.items])
        results = [nodes[step] for step in body.results]
        changed = {k for k in unchanged if not _is_same(results[k], carry[k])}
        if not changed:
            simplified, simplified_operands = body_graph.loop(
                loop.n,
                [operands[k] for k in changing],
                [results[k] for k in changing],
                read=read,
                written=results[n_carry:],
                is_reversed=loop.is_reversed,
                is_conditional=loop.is_conditional and 0 in changing,
            )
            return changing, simplified, simplified_operands
        unchanged -= changed


def _unchanged_carries(loop: Loop, operands: Sequence[Expr]) -> set[int]:
    """Return candidates for carry entries that keep their initial values, without new nodes."""
    body, n_carry = loop.body, loop.n_carry
    constants = [node.args[0] if node.op is Op.CONST else None for node in operands]
    same = {k for k in range(n_carry) if body.steps[body.results[k]] == (Op.INPUT, k)}
    assumed = {k for k in range(n_carry) if constants[k] is not None} - same
    while assumed:
        values = body.values(constants, _FOLDED, float, _unknown_values)
        changed = {k for k in assumed if values[body.results[k]] != constants[k]}
        if not changed:
            break
        assumed -= changed
        constants = [None if k in changed else value for k, value in enumerate(constants)]
    return same | assumed


def _fold(op: Op, *args: float | None) -> float | None:
    """Compute an operation on constants and unknown values (None); None if it is unknown."""
    if op is Op.MUL and 0.0 in args:
        return 0.0
    if op is Op.DIV and args[0] == 0.0:
        return 0.0
    if op is Op.SELECT and args[0] is not None:
        return args[1] if args[0] else args[2]
    if None in args:
        return None
    try:
        return FLOAT_FUNCTIONS[op](*args)
    except (ArithmeticError, ValueError):
        return None


_FOLDED = {op: partial(_fold, op) for op in FLOAT_FUNCTIONS}


def _unknown_values(loop: Loop, operands: Sequence[Any]) -> LoopValue:
    del operands
    return LoopValue([None] * loop.n_carry, [None] * loop.n_written)


def _is_same(a: Expr, b: Expr) -> bool:
    return a is b or (a.op is b.op is Op.CONST and a.args[0] == b.args[0])
