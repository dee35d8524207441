"""`linkwork.repeat`: a loop in a function that is being traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import index
from typing import Any, TypeVar

import numpy as np

from linkwork.engine.symbolic.arrays import Array, ObjectArray, as_array
from linkwork.engine.symbolic.loops import BodyGraph, loop_nodes
from linkwork.engine.symbolic.node import (
    Expr,
    Graph,
    graph_being_traced,
    innermost_graph,
    is_condition,
)
from linkwork.engine.symbolic.program import MAX_COUNT
from linkwork.errors import ArgumentError, ShapeError, shown

Carry = TypeVar("Carry")


def repeat(
    n: int,
    body: Callable[[Any], Any],
    carry: Carry,
    *,
    condition: Callable[[Any], Any] | None = None,
) -> Carry:
    """Apply a function n times: body(body(...body(carry))).

    In a function that is being traced, such as one of `linkwork.compile`, the body is traced once
    and compiled as a loop, so that the length of the program does not grow with n. The body may use
    values of the enclosing function. Outside of traced functions, the body is called n times.

    Args:
        n: number of iterations; 0 returns the initial carry.
        body: function of a carry that returns the next one, with the same structure and shapes.
        carry: the initial carry: an array, or a tuple of arrays and tuples.
        condition: function of a carry that returns a comparison. A row of a batch stops when it is
            false, and keeps its carry. Compiled code ends when all rows that are computed at a time
            have stopped, so other rows do not change the result of a row. With n = 1, the body is
            a branch.

    Returns:
        The carry after the last iteration.
    """
    count = _count(n)
    leaves = [_leaf(value, name) for name, value in _leaves(carry, "carry")]
    graph = _enclosing_graph(leaves)
    if graph is not None:
        if condition is not None:
            return _conditional(count, body, carry, condition, graph)
        return _like(carry, _traced_loop(count, body, carry, leaves, graph))
    for _ in range(count):  # copies, since a body may change its carry in place
        if condition is not None and not condition(_like(carry, leaves)):
            break
        leaves = _checked(body(_like(carry, [leaf.copy() for leaf in leaves])), carry, leaves)
    return _like(carry, leaves)


def _conditional(
    n: int,
    body: Callable[[Any], Any],
    carry: Any,
    condition: Callable[[Any], Any],
    graph: Graph,
) -> Any:
    """Trace a loop with a condition, which is the first entry of the carry of another loop."""

    def holds(carry: Any) -> Any:
        value = np.asarray(condition(carry))
        if value.shape != () or not _is_condition(value[()]):
            text = "condition: expected one comparison, such as `error > 1e-9`"
            raise ArgumentError(f"{text}, got {shown(value)}")
        return value

    def step(state: Any) -> Any:
        goes_on, carry = state
        old = [leaf for _, leaf in _leaves(carry, "carry")]
        returned = _checked(body(carry), carry, old)
        kept = [np.where(goes_on, new, leaf) for new, leaf in zip(returned, old, strict=True)]
        next_carry = _like(carry, kept)
        if n == 1:
            return np.zeros((), dtype=bool), next_carry
        return np.where(goes_on, holds(next_carry), np.False_), next_carry

    state = (holds(carry), carry)
    leaves = [_leaf(value, name) for name, value in _leaves(state, "carry")]
    return _like(state, _traced_loop(n, step, state, leaves, graph, is_conditional=True))[1]


def _traced_loop(
    n: int,
    body: Callable[[Any], Any],
    carry: Any,
    leaves: Sequence[Array],
    graph: Graph,
    *,
    is_conditional: bool = False,
) -> list[Array]:
    """Trace the loop and return the arrays of the final carry."""
    entries = _entries(leaves)
    conditions = {k for k, entry in enumerate(entries) if _is_condition(entry)}
    while True:
        body_graph = BodyGraph(graph, len(entries))
        body_graph.conditions.update(body_graph.carry[k] for k in conditions)
        with body_graph.being_traced():
            returned = body(_like(carry, _arrays(body_graph.carry, leaves)))
        next_entries = _entries(_checked(returned, carry, leaves))
        next_carry = [body_graph.lifted(entry) for entry in next_entries]
        numbers = {k for k in conditions if not is_condition(next_carry[k])}
        if not numbers:
            break
        conditions -= numbers  # conditions at first, but other numbers later: trace again
    initial = [graph.lifted(entry) for entry in entries]
    loop, operands = body_graph.loop(n, initial, next_carry, is_conditional=is_conditional)
    results = loop_nodes(graph, loop, operands).results
    for k in conditions:
        results[k].graph.conditions.add(results[k])
    return _arrays(results, leaves)


def _leaf(value: Any, name: str) -> Array:
    """Convert an array of a carry, of numbers, traced values, or booleans."""
    is_boolean = isinstance(value, (bool, np.bool_)) or getattr(value, "dtype", None) == np.bool_
    return np.asarray(value) if is_boolean else as_array(value, name)


def _is_condition(entry: Any) -> bool:
    """Return whether an entry is a boolean, or a comparison of traced values."""
    if isinstance(entry, Expr):
        return entry.number() is None and is_condition(entry)
    return isinstance(entry, np.bool_)


def _count(n: Any) -> int:
    try:
        count = -1 if isinstance(n, (bool, Expr, ObjectArray)) else index(n)
    except TypeError:
        count = -1
    if not 0 <= count <= MAX_COUNT:
        text = f"n: expected the number of iterations as an integer from 0 to {MAX_COUNT}"
        raise ArgumentError(f"{text}, got {shown(n)}")
    return count


def _leaves(carry: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a carry, each with its name in error messages."""
    if isinstance(carry, tuple):
        for k, part in enumerate(carry):
            yield from _leaves(part, f"{name}[{k}]")
    else:
        yield name, carry


def _like(carry: Any, leaves: Sequence[Array]) -> Any:
    """Build a carry of the same structure from other arrays."""
    remaining = iter(leaves)

    def build(part: Any) -> Any:
        if not isinstance(part, tuple):
            return next(remaining)
        parts = [build(child) for child in part]
        return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)

    return build(carry)


def _structure(carry: Any) -> str:
    """Describe the nesting of a carry, for error messages."""
    if isinstance(carry, tuple):
        return f"({', '.join(map(_structure, carry))}{',' if len(carry) == 1 else ''})"
    return "array"


def _checked(returned: Any, carry: Any, leaves: Sequence[Array]) -> list[Array]:
    """Return the arrays returned by the body; raise unless they match those of the carry."""
    structure, expected = _structure(returned), _structure(carry)
    if structure != expected:
        raise ShapeError(
            f"body: expected a returned carry of structure {expected}, got {structure}"
        )
    arrays: list[Array] = []
    for (name, value), leaf in zip(_leaves(returned, "carry"), leaves, strict=True):
        array = _leaf(value, f"{name} returned by the body")
        if array.shape != leaf.shape:
            text = f"{name}: the body receives shape {leaf.shape}, but returns {array.shape}"
            raise ShapeError(f"{text}; shapes must stay the same")
        arrays.append(array)
    return arrays


def _enclosing_graph(leaves: Sequence[Array]) -> Graph | None:
    """Return the graph that the loop belongs to; None if no function is being traced."""
    traced = [entry for entry in _entries(leaves) if isinstance(entry, Expr)]
    current = graph_being_traced()
    if not traced:
        return current
    graph = innermost_graph(traced)
    is_inside = current is not None and current.depth > graph.depth and current.root is graph.root
    return current if is_inside else graph


def _entries(arrays: Sequence[Array]) -> list[Any]:
    return [entry for array in arrays for entry in array.flat]


def _arrays(nodes: Sequence[Expr], leaves: Sequence[Array]) -> list[Array]:
    """Arrange nodes in arrays of the shapes of `leaves`."""
    arrays: list[Array] = []
    start = 0
    for leaf in leaves:
        array = np.empty(leaf.size, dtype=object)
        array[:] = nodes[start : start + leaf.size]
        arrays.append(array.reshape(leaf.shape).view(ObjectArray))
        start += leaf.size
    return arrays
