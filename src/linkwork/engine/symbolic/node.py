"""Scalar expressions, hash-consed: equal expressions of one graph are the same object.

A `Graph` owns its nodes and creates each distinct expression once. The rules in `rules.py` simplify
nodes as they are created. The index of a node is larger than those of its arguments, so the indices
are a valid order of evaluation.

Traced arrays are NumPy arrays of dtype object with `Expr` entries: NumPy's operators and functions
such as `np.sin` call the methods of `Expr`. The value of a condition is 1 or 0. `==` returns a
condition too; use `is` to check whether two nodes are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NoReturn, TypeAlias

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.entries import Traced
from linkwork.engine.symbolic.operations import OPERATIONS, Op
from linkwork.errors import ArgumentError


def _unary(op: Op) -> Callable[[Expr], Expr]:
    """Create the method of an operation on one value."""
    return lambda a: a.graph.apply(op, a)


def _binary(op: Op) -> tuple[Callable[[Expr, Any], Expr], Callable[[Expr, Any], Expr]]:
    """Create the method of an operation on two values, and its reflected method."""

    def method(a: Expr, b: Any) -> Expr:
        graph = a.graph
        if type(b) is Expr:
            if b.graph is not graph:
                graph = innermost_graph((a, b))
                a, b = graph.lifted(a), graph.lifted(b)
            return graph.apply(op, a, b)
        other = graph.operand(b)
        return NotImplemented if other is None else graph.apply(op, a, other)

    def reflected(b: Expr, a: Any) -> Expr:
        if type(a) is Expr:  # b > a calls the reflected method of <
            return method(a, b)
        other = b.graph.operand(a)
        return NotImplemented if other is None else b.graph.apply(op, other, b)

    return method, reflected


class Expr(Traced):
    """A scalar value in an expression graph."""

    __slots__ = ("args", "graph", "index", "op")

    def __init__(self, graph: Graph, index: int, op: Op, args: tuple[Any, ...]) -> None:
        self.graph = graph
        self.index = index
        self.op = op
        self.args = args  # nodes; for some operations the first one is not, see `operands_of`

    __add__, __radd__ = _binary(Op.ADD)
    __sub__, __rsub__ = _binary(Op.SUB)
    __mul__, __rmul__ = _binary(Op.MUL)
    __truediv__, __rtruediv__ = _binary(Op.DIV)
    __lt__, __gt__ = _binary(Op.LESS)
    __le__, __ge__ = _binary(Op.LESS_EQUAL)
    __neg__ = _unary(Op.NEG)
    __hash__ = object.__hash__  # by identity, for dictionaries of nodes

    def __eq__(self, other: Any) -> Any:
        node = other if type(other) is Expr else self.graph.operand(other)
        return NotImplemented if node is None else (self <= node) & (node <= self)

    def __ne__(self, other: Any) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return self.copysign(1.0)

    def __pow__(self, power: Any) -> Expr:
        """Powers: small integers by multiplication, 1/2 by sqrt, as in NumPy."""
        exponent = power if type(power) is Expr else self.graph.operand(power)
        if exponent is None:
            return NotImplemented
        value = exponent.args[0] if exponent.op is Op.CONST else math.nan
        if value == 0.5:
            return self.sqrt()
        if not value.is_integer() or not SMALLEST_POWER <= value <= LARGEST_POWER:
            return _power(self, exponent)
        # not 1 / x^n, since x^n may overflow where the result is a number
        return _integer_power(self if value > 0 else 1.0 / self, abs(int(value)))

    def __rpow__(self, base: Any) -> Expr:
        node = self.graph.operand(base)
        return NotImplemented if node is None else node**self

    # Conditions: comparisons, and operators that combine them.

    def __and__(self, other: Any) -> Expr:
        a, b = self._conditions(other)
        return a * b

    def __or__(self, other: Any) -> Expr:
        a, b = self._conditions(other)
        return a.select(1.0, b)

    def __invert__(self) -> Expr:
        return 1.0 - self._conditions(True)[0]

    __rand__, __ror__ = __and__, __or__

    def select(self, yes: Any, no: Any) -> Expr:
        """Return `yes` where this is not 0, else `no`; both may be numbers."""
        graph = innermost_graph((self, yes, no))
        return graph.apply(Op.SELECT, *map(graph.lifted, (self, yes, no)))

    def like(self, value: Any) -> Expr:
        """Convert a number to an expression of the same graph."""
        return self.graph.lifted(value)

    def number(self) -> float | None:
        """Return its value if it is a constant, else None."""
        return self.args[0] if self.op is Op.CONST else None

    # Functions: `np.sin` and others call the method of the same name.

    sqrt: Callable[[], Expr]  # these and others are set below, from the table of operations
    copysign: Callable[[Any], Expr]

    def conjugate(self) -> Expr:
        """Return the expression itself; called by `np.vdot`."""
        return self

    def __bool__(self) -> bool:
        text = "a traced value has no numeric value yet, so if, while, and, or, in, min, max"
        instead = "use np.where(condition, yes, no), np.minimum or np.maximum"
        arrays = "with conditions on arrays (x[0] == 2), not on entries of lists or np.array(...)"
        raise ArgumentError(f"{text} cannot depend on it; {instead}, {arrays}")

    def __float__(self) -> NoReturn:
        text = "a traced value has no numeric value yet; use NumPy's functions in place of math's"
        raise ArgumentError(f"{text}, and np.stack in place of writing into an array of floats")

    __int__ = __index__ = __float__

    def __repr__(self) -> str:
        return f"<Expr {self.index}: {self.op.name}>"

    def _conditions(self, other: Any) -> tuple[Expr, Expr]:
        graph = innermost_graph((self, other))
        nodes = (graph.lifted(self), graph.lifted(other))
        if not all(map(is_condition, nodes)):
            raise ArgumentError("&, | and ~ combine comparisons, not numbers")
        return nodes


for _op, _row in OPERATIONS.items():
    if _row.numpy:
        setattr(Expr, _row.numpy, _unary(_op) if _row.arity == 1 else _binary(_op)[0])

# Integer powers that are products, with errors of up to 5 ulp; libm computes others. The error of
# 1 / x counts n times in its power.
SMALLEST_POWER, LARGEST_POWER = -3, 8
_power = _binary(Op.POW)[0]


def _integer_power(x: Expr, power: int) -> Expr:
    """Compute x to a non-negative integer power by repeated squaring."""
    result = x.graph.constant(1.0)
    while power:
        if power & 1:
            result = result * x
        power >>= 1
        if power:
            x = x * x
    return result


def is_condition(node: Expr) -> bool:
    """Return whether a node can only be 0 or 1."""
    if node.op is Op.CONST:
        return node.args[0] in (0.0, 1.0)
    if node.op in (Op.MUL, Op.SUB, Op.SELECT):  # and, not, or
        one_minus = node.op is not Op.SUB or node.args[0].op is Op.CONST
        return one_minus and all(map(is_condition, node.args))
    if node.op is Op.INPUT and node in node.graph.captured:
        return is_condition(node.graph.captured[node])
    return node.op in (Op.LESS, Op.LESS_EQUAL) or node in node.graph.conditions


def innermost_graph(values: Iterable[Any]) -> Graph:
    """Return the graph of an operation on values, at least one of which is an expression.

    The body of a loop may also use expressions of the enclosing function.
    """
    graph: Graph | None = None
    is_mixed = False
    for value in values:
        if isinstance(value, Expr) and value.graph is not graph:
            is_mixed = graph is not None
            graph = value.graph if graph is None or value.graph.depth > graph.depth else graph
    assert graph is not None
    if is_mixed and graph.is_finished:
        raise _wrong_graph_error(graph)
    return graph


def apply_innermost(op: Op, *args: Expr) -> Expr:
    """Apply an operation to nodes of a graph and of enclosing graphs."""
    graph = args[0].graph
    for arg in args:
        if arg.graph is not graph:
            graph = innermost_graph(args)
            args = tuple(map(graph.lifted, args))
            break
    return graph.apply(op, *args)


def _wrong_graph_error(graph: Graph) -> ArgumentError:
    """Build the error for an expression that is used in a graph not enclosed by its own."""
    if graph.parent is not None:
        text = "a value of a loop body is used outside of the loop"
        return ArgumentError(f"{text}; return it as part of the carry")
    text = "an expression of one traced function is used in another"
    return ArgumentError(f"{text}; pass it as an argument")


Rules: TypeAlias = Mapping[Op, Callable[..., Expr]]  # functions of a graph and its nodes


class Graph:
    """Owner of the nodes of one traced function, or of the body of a loop in it.

    An expression of the function that the body uses becomes an input of the body.
    """

    def __init__(self, rules: Rules, parent: Graph | None = None) -> None:
        """Create an empty graph.

        Args:
            rules: return the simplified node of each operation: `rules.RULES`.
            parent: the enclosing graph, if this is the graph of a loop body.
        """
        self.rules = rules
        self.nodes: list[Expr] = []
        self._nodes_by_key: dict[tuple[Any, ...], Expr] = {}
        self.n_inputs = 0
        self.is_finished = False  # whether tracing of its function has ended
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.captured: dict[Expr, Expr] = {}  # expression of the parent, by input of this graph
        self._input_of: dict[Expr, Expr] = {}  # the inverse of `captured`
        self.conditions: set[Expr] = set()  # entries of loop carries that are conditions
        # whether a - a is NaN where a is not finite, as in NumPy, instead of 0
        self.follows_numpy: bool = parent is not None and parent.follows_numpy

    @property
    def root(self) -> Graph:
        """The graph of the function, outside of all loops."""
        return self if self.parent is None else self.parent.root

    @cached_property
    def operations(self) -> Mapping[Op, Callable[..., Expr]]:
        """Each operation as a function of nodes of this graph and of enclosing graphs.

        In the graph of a loop body, a result belongs to the innermost graph of the arguments.
        """
        if self.parent is None:
            return {op: partial(rule, self) for op, rule in self.rules.items()}
        return {op: partial(apply_innermost, op) for op in self.rules}

    @contextmanager
    def being_traced(self) -> Generator[None]:
        """Make this graph the value of `graph_being_traced()` in a context."""
        token = _BEING_TRACED.set(self)
        try:
            yield
        finally:
            _BEING_TRACED.reset(token)

    def constant(self, value: float) -> Expr:
        """Return the node of a constant."""
        value = float(value) + 0.0  # turns -0.0 into 0.0
        return self._node(Op.CONST, (value,), (Op.CONST, value))

    def input(self) -> Expr:
        """Add an input."""
        index = self.n_inputs
        self.n_inputs += 1
        return self._node(Op.INPUT, (index,), (Op.INPUT, index))

    def operand(self, value: Any) -> Expr | None:
        """Convert a number or an expression to a node of this graph; None for other types."""
        if isinstance(value, Expr):
            return value if value.graph is self else self._capture(value)
        if type(value) is float:
            return self.constant(value)
        if isinstance(value, (str, bytes, bytearray)) or getattr(value, "ndim", 0):
            return None
        try:
            return self.constant(value)
        except (TypeError, ValueError):
            return None

    def _capture(self, value: Expr) -> Expr:
        """Return the node that represents an expression of an enclosing graph."""
        if self.parent is None:
            raise _wrong_graph_error(value.graph)
        outer = self.parent.lifted(value)
        if outer.op is Op.CONST:
            return self.constant(outer.args[0])
        if outer not in self._input_of:
            node = self._input_of[outer] = self.input()
            self.captured[node] = outer
        return self._input_of[outer]

    def lifted(self, value: Any) -> Expr:
        """Like `operand`, but accept 0-d arrays and raise for other types."""
        if getattr(value, "shape", None) == ():
            value = value.item()
        node = self.operand(value)
        if node is None:
            raise ArgumentError(f"expected a number, got {type(value).__name__}")
        return node

    def apply(self, op: Op, *args: Expr) -> Expr:
        """Return the simplified node of an operation."""
        return self.rules[op](self, *args)

    def make(self, op: Op, *args: Expr) -> Expr:
        """Return the node of an operation without simplification; equal nodes are shared."""
        return self._node(op, args, (op, *[arg.index for arg in args]))

    def make_loop(self, loop: Any, args: Sequence[Expr]) -> Expr:
        """Return the node of a `Loop`; `loops.loop_nodes` returns the nodes of its values."""
        key = (Op.LOOP, loop.digest, *[arg.index for arg in args])
        return self._node(Op.LOOP, (loop, *args), key)

    def loop_value(self, op: Op, loop: Expr, k: int) -> Expr:
        """Return the LOOP_RESULT or LOOP_STACK node for value k of a loop."""
        return self._node(op, (k, loop), (op, k, loop.index))

    def make_binary(self, op: Op, a: Expr, b: Expr) -> Expr:
        """Like `make` for two arguments, in half the time."""
        key = (op, a.index, b.index)
        node = self._nodes_by_key.get(key)
        if node is None:
            nodes = self.nodes
            node = self._nodes_by_key[key] = Expr(self, len(nodes), op, (a, b))
            nodes.append(node)
        return node

    def existing(self, op: Op, *args: Expr) -> Expr | None:
        """Return the node of an operation if it exists, else None."""
        return self._nodes_by_key.get((op, *[arg.index for arg in args]))

    def _node(self, op: Op, args: tuple[Any, ...], key: tuple[Any, ...]) -> Expr:
        node = self._nodes_by_key.get(key)
        if node is None:
            node = Expr(self, len(self.nodes), op, args)
            self.nodes.append(node)
            self._nodes_by_key[key] = node
        return node


_BEING_TRACED: ContextVar[Graph | None] = ContextVar("graph being traced", default=None)


def graph_being_traced() -> Graph | None:
    """Return the graph of the function or loop body that is being traced, if any."""
    return _BEING_TRACED.get()
