"""Calls of kernels inside a function that is being traced: their programs join its graph.

Sharing  nodes are simplified again, so that kernels called with the same arguments share all common
         operations, and constant arguments are folded
Norms    quaternions and (cos, sin) pairs are divided by their norm, as in a compiled call, so that
         derivatives have no component along them
Batches  a traced function sees one row; arguments with leading axes are computed row by row
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.engine.kernel.arguments import Signature, check_norms, constants_of, traced_array
from linkwork.engine.symbolic.arrays import Array, ObjectArray, batch_of
from linkwork.engine.symbolic.loops import replay
from linkwork.engine.symbolic.node import Expr, Graph, innermost_graph
from linkwork.engine.symbolic.program import Program
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ArgumentError


def inlined(
    signature: Signature, program: Callable[[], Program], values: Sequence[object]
) -> list[Array]:
    """Return the results of a program as traced arrays.

    Args:
        signature: the signature of the kernel.
        program: returns its program; called after all arguments are checked.
        values: an argument for each input, at least one of them traced.

    Returns:
        An array (*batch, *shape) for each output.
    """
    ports = signature.inputs
    arrays = [
        (traced_array if is_traced(value) else constants_of)(signature, port, value)
        for port, value in zip(ports, values, strict=True)
    ]
    graph = _graph_of(signature, arrays)
    batch = batch_of([port.name for port in ports], [port.shape for port in ports], arrays)
    check_norms(signature, [_numeric_rows(a, p.size) for a, p in zip(arrays, ports, strict=True)])
    full = [
        np.broadcast_to(a, (*batch, *port.shape)) for a, port in zip(arrays, ports, strict=True)
    ]
    called_program = program()
    rows: list[list[Expr]] = []
    for index in np.ndindex(batch):
        inputs = _row(signature, graph, [array[index] for array in full])
        nodes = replay(called_program, graph, inputs)
        rows.append([nodes[step] for step in called_program.results])
    return _results(signature, rows, batch)


def _graph_of(signature: Signature, arrays: Sequence[Array]) -> Graph:
    """Return the graph of the function, or of the loop body, that is being traced."""
    nodes: list[Expr] = []
    for port, array in zip(signature.inputs, arrays, strict=True):
        for node in array.flat if isinstance(array, ObjectArray) else ():
            if isinstance(node, Expr):
                if node.graph.is_finished:
                    text = f"{port.name}: a traced value is used after its function was traced"
                    raise ArgumentError(
                        f"{text}; use the values that the compiled function returns"
                    )
                nodes.append(node)
    return innermost_graph(nodes)


def _numeric_rows(array: Array, size: int) -> Array:
    """Return the rows (rows, size) of a numeric argument; no rows for a traced one."""
    is_numeric = size and not isinstance(array, ObjectArray)
    return array.reshape(-1, size) if is_numeric else np.empty((0, size))


def _row(signature: Signature, graph: Graph, arrays: Sequence[Array]) -> list[Expr]:
    """Return the nodes of the elements of all inputs, flattened and normalized."""
    nodes = [[_node(graph, entry) for entry in array.flat] for array in arrays]
    for unit in signature.unit_norms:
        span = slice(unit.offset, unit.offset + unit.count)
        nodes[unit.input][span] = _normalized(nodes[unit.input][span])
    return [node for input_nodes in nodes for node in input_nodes]


def _node(graph: Graph, entry: Any) -> Expr:
    """Return the node of an entry; inside a loop body, nodes of outer graphs stay outside."""
    is_within = isinstance(entry, Expr) and entry.graph.root is graph.root
    return entry if is_within else graph.root.lifted(entry)


def _normalized(nodes: Sequence[Expr]) -> list[Expr]:
    """Divide elements by their norm."""
    squares = nodes[0] * nodes[0]
    for node in nodes[1:]:
        squares = squares + node * node
    inverse = 1.0 / squares.sqrt()
    return [node * inverse for node in nodes]


def _results(
    signature: Signature, rows: Sequence[list[Expr]], batch: tuple[int, ...]
) -> list[Array]:
    results: list[Array] = []
    start = 0
    for port in signature.outputs:
        entries = np.empty((len(rows), port.size), dtype=object)
        for row, nodes in enumerate(rows):
            entries[row] = nodes[start : start + port.size]
        results.append(entries.reshape((*batch, *port.shape)).view(ObjectArray))
        start += port.size
    return results
