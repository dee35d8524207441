"""Kernels inside a function that is being traced: their programs become part of its graph.

Shared   the rules of algebra apply again, so that kernels called with the same arguments share all
         common work, and numbers among the arguments are folded
Norms    quaternions and (cos, sin) pairs are divided by their norm, as in a compiled call; so
         derivatives have no component along them
Batches  a traced function sees one row; arguments with leading axes are computed row by row
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.engine.kernel.arguments import Signature, check_norms, constants_of, traced_array
from linkwork.engine.symbolic.arrays import Array, ObjectArray, batch_of
from linkwork.engine.symbolic.node import Expr, Graph, innermost_graph
from linkwork.engine.symbolic.program import Program
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ArgumentError


def inlined(
    signature: Signature, program: Callable[[], Program], values: Sequence[object]
) -> list[Array]:
    """The results of a program as arrays of traced values.

    Args:
        signature: of the kernel.
        program: gives its program; called once all arguments are found good.
        values: an argument for each input, at least one of them traced.

    Returns:
        For each output (*batch, *shape).
    """
    ports = signature.inputs
    arrays = [
        (traced_array if is_traced(value) else constants_of)(signature, port, value)
        for port, value in zip(ports, values, strict=True)
    ]
    graph = _graph_of(signature, arrays)
    batch = batch_of([port.name for port in ports], [port.shape for port in ports], arrays)
    check_norms(signature, [_known_rows(a, p.size) for a, p in zip(arrays, ports, strict=True)])
    full = [
        np.broadcast_to(a, (*batch, *port.shape)) for a, port in zip(arrays, ports, strict=True)
    ]
    own = program()
    rows: list[list[Expr]] = []
    for index in np.ndindex(batch):
        inputs = _row(signature, graph, [array[index] for array in full])
        nodes = own.replay(graph, inputs)
        rows.append([nodes[step] for step in own.results])
    return _results(signature, rows, batch)


def _graph_of(signature: Signature, arrays: Sequence[Array]) -> Graph:
    """The graph of the function, or of the body of a loop, that is being traced."""
    nodes: list[Expr] = []
    for port, array in zip(signature.inputs, arrays, strict=True):
        for node in array.flat if isinstance(array, ObjectArray) else ():
            if isinstance(node, Expr):
                if node.graph.is_finished:
                    text = f"{port.name}: a traced value was kept after its function was traced"
                    raise ArgumentError(f"{text}; keep what the compiled function returns")
                nodes.append(node)
    return innermost_graph(nodes)


def _known_rows(array: Array, size: int) -> Array:
    """(rows, size) of an argument that is given in numbers; no rows of a traced one."""
    is_known = size and not isinstance(array, ObjectArray)
    return array.reshape(-1, size) if is_known else np.empty((0, size))


def _row(signature: Signature, graph: Graph, arrays: Sequence[Array]) -> list[Expr]:
    """The nodes of the numbers of all inputs, flattened; with unit norms where they must be."""
    nodes = [[_node(graph, entry) for entry in array.flat] for array in arrays]
    for unit in signature.unit_norms:
        span = slice(unit.offset, unit.offset + unit.count)
        nodes[unit.input][span] = _normalized(nodes[unit.input][span])
    return [node for own in nodes for node in own]


def _node(graph: Graph, entry: Any) -> Expr:
    """The node of an entry; in the body of a loop, what is not of the body stays outside."""
    is_within = isinstance(entry, Expr) and entry.graph.root is graph.root
    return entry if is_within else graph.root.lifted(entry)


def _normalized(nodes: Sequence[Expr]) -> list[Expr]:
    """Numbers divided by their norm."""
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
        numbers = np.empty((len(rows), port.size), dtype=object)
        for row, nodes in enumerate(rows):
            numbers[row] = nodes[start : start + port.size]
        results.append(numbers.reshape((*batch, *port.shape)).view(ObjectArray))
        start += port.size
    return results
