"""Tracing: a function is run on expressions, and the nodes of its results become a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.node import Expr, Graph
from linkwork.engine.symbolic.operations import Op, operands_of
from linkwork.engine.symbolic.program import Loop, Port, Program, pruned
from linkwork.engine.symbolic.rules import RULES


def trace(
    function: Callable[..., Any],
    inputs: Iterable[Port],
    output_names: Sequence[str] | str,
    *,
    follows_numpy: bool = False,
) -> Program:
    """Run a function on arrays of expressions and record its operations.

    Args:
        function: a function of one array for each input; returns an array or a tuple of arrays.
        inputs: names and shapes of its arguments.
        output_names: the names of the returned arrays; or one name, to which an index is appended
            if the function returns a tuple.
        follows_numpy: see `Graph.follows_numpy` and `Program.follows_numpy`.
    """
    ports = tuple(inputs)
    graph = Graph(RULES)
    graph.follows_numpy = follows_numpy
    with graph.being_traced():
        returned = function(*(_input_array(graph, port) for port in ports))
    arrays = returned if isinstance(returned, tuple) else (returned,)
    if isinstance(output_names, str):
        numbered = [f"{output_names}[{k}]" for k, _ in enumerate(arrays)]
        output_names = numbered if isinstance(returned, tuple) else [output_names]
    flat = [graph.lifted(value) for array in arrays for value in np.asarray(array, object).flat]
    outputs = tuple(
        Port(name, tuple(np.shape(array))) for name, array in zip(output_names, arrays, strict=True)
    )
    graph.is_finished = True
    return program_of(ports, outputs, flat, graph)


def _input_array(graph: Graph, port: Port) -> Array:
    array = np.empty(port.size, dtype=object)
    array[:] = [graph.input() for _ in range(port.size)]
    return array.reshape(port.shape)


def program_of(
    inputs: tuple[Port, ...], outputs: tuple[Port, ...], results: Sequence[Expr], graph: Graph
) -> Program:
    """Build the program that computes some nodes, without nodes that they do not depend on.

    Args:
        inputs: names and shapes; their elements are the inputs of the graph, in order.
        outputs: names and shapes.
        results: the node of each element of all outputs, flattened.
        graph: the graph of the nodes.
    """
    needed = bytearray(len(graph.nodes))
    for node in results:
        needed[node.index] = 1
    for node in reversed(graph.nodes):
        if needed[node.index]:
            for arg in operands_of(node.op, node.args):
                needed[arg.index] = 1
    step_of = [0] * len(graph.nodes)  # by index of the node
    steps: list[tuple[Any, ...]] = []
    loops: dict[str, tuple[int, Loop]] = {}  # by digest
    for node in graph.nodes:
        if not needed[node.index]:
            continue
        op, args = node.op, node.args
        step_of[node.index] = len(steps)
        if op.row is not None:
            steps.append((op, *[step_of[arg.index] for arg in args]))
        else:
            first = args[0]
            if op is Op.LOOP:
                first, _ = loops.setdefault(first.digest, (len(loops), first))
            steps.append((op, first, *[step_of[arg.index] for arg in args[1:]]))
    result_steps = tuple(step_of[node.index] for node in results)
    unique_loops = tuple(loop for _, loop in loops.values())
    program = Program(
        inputs, outputs, tuple(steps), result_steps, unique_loops, graph.follows_numpy
    )
    return pruned(program) if loops else program
