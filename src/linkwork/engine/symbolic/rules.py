"""Algebraic simplification, applied as nodes are created. A comment states each rule.

A rule holds for all finite numbers, up to rounding, and adds no operation except a negation.
Structural zeros stay zero even where x is infinite, NaN or zero: 0 x = 0 and 0 / x = 0. So does
x - x, except in functions of users (`Graph.follows_numpy`). The sign of a zero may change. Factors
are combined only while the constant keeps full precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from linkwork.engine.symbolic.node import Expr, Graph
from linkwork.engine.symbolic.operations import FLOAT_FUNCTIONS, OPERATIONS, Op

# The range of normal float32 numbers: programs may be compiled for float32, where constants outside
# of this range lose digits or overflow.
SMALLEST, LARGEST = 1.2e-38, 3.4e38

_CONST, _NEG, _MUL = Op.CONST, Op.NEG, Op.MUL  # avoids attribute lookups: rules run for every node
_ADD, _SUB, _DIV = Op.ADD, Op.SUB, Op.DIV


def _folded(graph: Graph, op: Op, *args: Expr) -> Expr | None:
    """Return the constant result of an operation on constants; None if it is not finite."""
    if any(arg.op is not _CONST for arg in args):
        return None
    try:
        value = FLOAT_FUNCTIONS[op](*[arg.args[0] for arg in args])
    except (ArithmeticError, ValueError):
        return None
    return graph.constant(value) if math.isfinite(value) else None


def _is_normal(value: float) -> bool:
    """Return whether a constant is in the range of normal float32 numbers."""
    return SMALLEST <= abs(value) <= LARGEST


def _is(node: Expr, value: float) -> bool:
    return node.op is Op.CONST and node.args[0] == value


def _negated(node: Expr) -> Expr | None:
    """Return x for -x, -c for a negative constant c, and None otherwise."""
    if node.op is Op.NEG:
        return node.args[0]
    if node.op is Op.CONST and node.args[0] < 0:
        return node.graph.constant(-node.args[0])
    return None


def _add(graph: Graph, a: Expr, b: Expr) -> Expr:
    op_a, op_b = a.op, b.op
    if op_a is _CONST or op_b is _CONST or op_a is _NEG or op_b is _NEG:
        simplified = _add_signed(graph, a, b)
        if simplified is not None:
            return simplified
    if a.index > b.index:  # a + b = b + a
        a, b = b, a
    return graph.make_binary(_ADD, a, b)


def _add_signed(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    """Simplify a sum with a constant or with -x; None if no rule applies."""
    folded = _folded(graph, _ADD, a, b)
    if folded is not None:
        return folded
    if _is(a, 0.0):  # 0 + b = b
        return b
    if _is(b, 0.0):  # a + 0 = a
        return a
    minus_b = _negated(b)
    if minus_b is not None:  # a + (-b) = a - b
        return _sub(graph, a, minus_b)
    minus_a = _negated(a)
    if minus_a is not None:  # (-a) + b = b - a
        return _sub(graph, b, minus_a)
    return None


def _sub(graph: Graph, a: Expr, b: Expr) -> Expr:
    if a is b and not graph.follows_numpy:  # a - a = 0
        return graph.constant(0.0)
    op_a, op_b = a.op, b.op
    if op_a is _CONST or op_b is _CONST or op_a is _NEG or op_b is _NEG:
        simplified = _sub_signed(graph, a, b)
        if simplified is not None:
            return simplified
    mirrored = graph.existing(_SUB, b, a)
    if mirrored is not None:  # a - b = -(b - a), if b - a exists
        return graph.make(_NEG, mirrored)
    return graph.make_binary(_SUB, a, b)


def _sub_signed(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    """Simplify a difference with a constant or with -x; None if no rule applies."""
    folded = _folded(graph, _SUB, a, b)
    if folded is not None:
        return folded
    if _is(b, 0.0):  # a - 0 = a
        return a
    if _is(a, 0.0):  # 0 - b = -b
        return _neg(graph, b)
    minus_b = _negated(b)
    if minus_b is not None:  # a - (-b) = a + b
        return _add(graph, a, minus_b)
    if a.op is _NEG:  # (-a) - b = -(a + b)
        return _neg(graph, _add(graph, a.args[0], b))
    return None


def _mul(graph: Graph, a: Expr, b: Expr) -> Expr:
    op_a, op_b = a.op, b.op
    if op_a is _CONST:
        return _scaled(graph, a, b)
    if op_b is _CONST:
        return _scaled(graph, b, a)
    if op_a is _NEG:  # (-a) b = -(a b)
        return _neg(graph, _mul(graph, a.args[0], b))
    if op_b is _NEG:  # a (-b) = -(a b)
        return _neg(graph, _mul(graph, a, b.args[0]))
    if a.index > b.index:  # a b = b a
        a, b = b, a
    return graph.make_binary(_MUL, a, b)


def _scaled(graph: Graph, a: Expr, b: Expr) -> Expr:  # noqa: PLR0911 - one for each rule
    """Return the product of a constant `a` and `b`."""
    folded = _folded(graph, _MUL, a, b)
    if folded is not None:
        return folded
    value = a.args[0]
    if value == 0.0:  # 0 b = 0
        return a
    if value == 1.0:  # 1 b = b
        return b
    if value < 0:  # (-c) b = -(c b)
        return _neg(graph, _mul(graph, graph.constant(-value), b))
    if b.op is _MUL and b.args[0].op is _CONST:  # c (d b) = (c d) b
        product = value * b.args[0].args[0]
        if _is_normal(product):
            return _scaled(graph, graph.constant(product), b.args[1])
    if b.op is _NEG:  # c (-b) = -(c b)
        return _neg(graph, _scaled(graph, a, b.args[0]))
    return graph.make_binary(_MUL, a, b)


def _div(graph: Graph, a: Expr, b: Expr) -> Expr:
    folded = _folded(graph, _DIV, a, b)
    if folded is not None:
        return folded
    if _is(a, 0.0):  # 0 / b = 0
        return a
    if b.op is _CONST and b.args[0] != 0.0:  # a / c = (1 / c) a
        inverse = 1.0 / b.args[0]
        if _is_normal(inverse):
            return _mul(graph, graph.constant(inverse), a)
    if a.op is _NEG:  # (-a) / b = -(a / b)
        return _neg(graph, _div(graph, a.args[0], b))
    if b.op is _NEG:  # a / (-b) = -(a / b)
        return _neg(graph, _div(graph, a, b.args[0]))
    return graph.make_binary(_DIV, a, b)


def _neg(graph: Graph, a: Expr) -> Expr:
    if a.op is _CONST:
        return graph.constant(-a.args[0])
    if a.op is _NEG:  # -(-a) = a
        return a.args[0]
    if a.op is _SUB:  # -(a - b) = b - a, if b - a exists
        mirrored = graph.existing(_SUB, a.args[1], a.args[0])
        if mirrored is not None:
            return mirrored
    return graph.make(_NEG, a)


def _select(graph: Graph, condition: Expr, yes: Expr, no: Expr) -> Expr:
    if condition.op is _CONST:
        return yes if condition.args[0] else no
    return yes if yes is no else graph.make(Op.SELECT, condition, yes, no)


def _implicit(graph: Graph, value: Expr, other: Expr) -> Expr:
    """Return the node of IMPLICIT; a constant with the derivative of a constant is a constant."""
    is_same = value is other or (value.op is _CONST and other.op is _CONST)
    return value if is_same else graph.make(Op.IMPLICIT, value, other)


def _fold_only(graph: Graph, op: Op, *args: Expr) -> Expr:
    """Return the node of an operation without rules except constant folding."""
    folded = _folded(graph, op, *args)
    return graph.make(op, *args) if folded is None else folded


def _rule(op: Op, parity: int) -> Callable[..., Expr]:
    """Create the rule of an operation that has only a parity, or no rule except folding."""

    def rule(graph: Graph, a: Expr) -> Expr:
        if a.op is not _NEG:
            return _fold_only(graph, op, a)
        result = _fold_only(graph, op, a.args[0])  # f(-a) = f(a), or -f(a)
        return result if parity > 0 else _neg(graph, result)

    return rule if parity else lambda graph, *args: _fold_only(graph, op, *args)


RULES: dict[Op, Callable[..., Expr]] = {
    op: _rule(op, row.parity) for op, row in OPERATIONS.items()
} | {
    Op.ADD: _add,
    Op.SUB: _sub,
    Op.MUL: _mul,
    Op.DIV: _div,
    Op.NEG: _neg,
    Op.SELECT: _select,
    Op.IMPLICIT: _implicit,
}
