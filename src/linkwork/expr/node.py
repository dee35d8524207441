"""Scalar expressions. Equal expressions of one graph are one object.

A `Graph` owns its nodes and makes each distinct expression once; the rules of algebra in `rules.py`
are applied as nodes are made. A node is numbered after its arguments, so the numbers are a valid
order of evaluation.

NumPy arrays of dtype object hold `Expr` entries: its operators and functions such as `np.sin` call
the methods here. A truth is the number 1 or 0, and `==` still asks whether two nodes are one.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NoReturn

from linkwork.errors import ArgumentError


class Op(IntEnum):
    """What a node computes."""

    CONST = 0
    INPUT = 1
    ADD = 2
    SUB = 3
    MUL = 4
    DIV = 5
    NEG = 6
    SQRT = 7
    SIN = 8
    COS = 9
    ATAN2 = 10
    LESS = 11  # 1 where a < b, else 0
    SELECT = 12  # b where a is not 0, else c
    EXP = 13
    LOG = 14
    LESS_EQUAL = 15  # 1 where a <= b, else 0


ARITHMETIC = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG)  # what operation counts count
UNARY = (Op.NEG, Op.SQRT, Op.SIN, Op.COS, Op.EXP, Op.LOG)
ARGUMENTS = dict.fromkeys(Op, 2) | dict.fromkeys((*UNARY, Op.CONST, Op.INPUT), 1) | {Op.SELECT: 3}


class Expr:
    """A scalar value in an expression graph."""

    __slots__ = ("args", "graph", "index", "op")

    def __init__(self, graph: Graph, index: int, op: Op, args: tuple[Any, ...]) -> None:
        self.graph = graph
        self.index = index
        self.op = op
        self.args = args  # nodes; the value of a CONST; the number of an INPUT

    def __add__(self, other: Any) -> Expr:
        return self._binary(Op.ADD, self, other)

    def __radd__(self, other: Any) -> Expr:
        return self._binary(Op.ADD, other, self)

    def __sub__(self, other: Any) -> Expr:
        return self._binary(Op.SUB, self, other)

    def __rsub__(self, other: Any) -> Expr:
        return self._binary(Op.SUB, other, self)

    def __mul__(self, other: Any) -> Expr:
        return self._binary(Op.MUL, self, other)

    def __rmul__(self, other: Any) -> Expr:
        return self._binary(Op.MUL, other, self)

    def __truediv__(self, other: Any) -> Expr:
        return self._binary(Op.DIV, self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        return self._binary(Op.DIV, other, self)

    def __lt__(self, other: Any) -> Expr:
        return self._binary(Op.LESS, self, other)

    def __gt__(self, other: Any) -> Expr:
        return self._binary(Op.LESS, other, self)

    def __le__(self, other: Any) -> Expr:
        return self._binary(Op.LESS_EQUAL, self, other)

    def __ge__(self, other: Any) -> Expr:
        return self._binary(Op.LESS_EQUAL, other, self)

    def __neg__(self) -> Expr:
        return self.graph.apply(Op.NEG, self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return (self < 0.0).select(-self, self)

    def __pow__(self, power: Any) -> Expr:
        """A whole power by multiplications, halves by the root, any other as exp(power log(x))."""
        number = power if isinstance(power, Expr) else self.graph.lift(power)
        if number is None:
            return NotImplemented
        twice = 2.0 * number.args[0] if number.op is Op.CONST else 0.5
        if not twice.is_integer() or abs(twice) > 2 * MOST_FACTORS:
            return (number * self.log()).exp()
        whole, half = divmod(abs(int(twice)), 2)
        result = _whole_power(self, whole) * (self.sqrt() if half else 1.0)
        return result if twice >= 0 else 1.0 / result

    def __rpow__(self, base: Any) -> Expr:
        lifted = self.graph.lift(base)
        return NotImplemented if lifted is None else lifted**self

    # Truths: what comparisons give, and what is made of them.

    def __and__(self, other: Any) -> Expr:
        a, b = self._truths(other)
        return a * b

    def __or__(self, other: Any) -> Expr:
        a, b = self._truths(other)
        return a.select(1.0, b)

    def __invert__(self) -> Expr:
        return 1.0 - self._truths(True)[0]

    __rand__, __ror__ = __and__, __or__

    def select(self, yes: Any, no: Any) -> Expr:
        """`yes` where this is not 0, else `no`; both may be numbers."""
        nodes = [self.graph.lifted(value) for value in (yes, no)]
        return self.graph.apply(Op.SELECT, self, *nodes)

    def like(self, value: Any) -> Expr:
        """A number as an expression beside this one."""
        return self.graph.lifted(value)

    # Functions: NumPy's, which calls them.

    def sin(self) -> Expr:
        """Sine; `np.sin` calls it."""
        return self.graph.apply(Op.SIN, self)

    def cos(self) -> Expr:
        """Cosine; `np.cos` calls it."""
        return self.graph.apply(Op.COS, self)

    def sqrt(self) -> Expr:
        """Square root; `np.sqrt` calls it."""
        return self.graph.apply(Op.SQRT, self)

    def tan(self) -> Expr:
        """Tangent; `np.tan` calls it."""
        return self.sin() / self.cos()

    def arctan(self) -> Expr:
        """Angle from -pi/2 to pi/2 with this tangent; `np.arctan` calls it."""
        return self.arctan2(1.0)

    def arcsin(self) -> Expr:
        """Angle from -pi/2 to pi/2 with this sine; `np.arcsin` calls it."""
        return self.arctan2(((1.0 - self) * (1.0 + self)).sqrt())

    def arccos(self) -> Expr:
        """Angle from 0 to pi with this cosine; `np.arccos` calls it."""
        return ((1.0 - self) * (1.0 + self)).sqrt().arctan2(self)

    def hypot(self, other: Any) -> Expr:
        """Length of the vector (self, other); `np.hypot` calls it."""
        return (self * self + other * other).sqrt()

    def exp(self) -> Expr:
        """Exponential; `np.exp` calls it."""
        return self.graph.apply(Op.EXP, self)

    def log(self) -> Expr:
        """Natural logarithm; `np.log` calls it."""
        return self.graph.apply(Op.LOG, self)

    def conjugate(self) -> Expr:
        """Itself; `np.vdot` calls it."""
        return self

    def arctan2(self, other: Any) -> Expr:
        """Angle of the point (other, self); `np.arctan2` calls it."""
        return self._binary(Op.ATAN2, self, other)

    def __bool__(self) -> bool:
        text = (
            "the truth of a traced value is not known yet, so if, and, or, max cannot use it; use"
        )
        more = "compare arrays made by np.array after linkwork.arrays.as_array"
        raise ArgumentError(f"{text} linkwork.arrays.where(condition, yes, no), and {more}")

    def __float__(self) -> NoReturn:
        text = "a traced value is no number yet; use NumPy's functions in place of math's"
        raise ArgumentError(f"{text}, and np.stack in place of writing into an array of floats")

    __int__ = __index__ = __float__

    def __repr__(self) -> str:
        return f"<Expr {self.index}: {self.op.name}>"

    def _binary(self, op: Op, a: Any, b: Any) -> Expr:
        graph = self.graph
        if not isinstance(a, Expr):
            a = graph.lift(a)
        if not isinstance(b, Expr):
            b = graph.lift(b)
        if a is None or b is None:
            return NotImplemented
        if a.graph is not b.graph:
            raise ArgumentError("an expression of one traced function is used in another")
        return graph.apply(op, a, b)

    def _truths(self, other: Any) -> tuple[Expr, Expr]:
        nodes = (self, self.graph.lifted(other))
        if not all(map(_is_truth, nodes)):
            raise ArgumentError("&, | and ~ join comparisons, not numbers")
        return nodes


MOST_FACTORS = 64  # a larger power is taken by exp and log


def _whole_power(x: Expr, power: int) -> Expr:
    """x to a whole power, by squaring."""
    result = x.graph.constant(1.0)
    while power:
        if power & 1:
            result = result * x
        power >>= 1
        if power:
            x = x * x
    return result


def _is_truth(node: Expr) -> bool:
    """Whether a node can only be 0 or 1."""
    if node.op is Op.CONST:
        return node.args[0] in (0.0, 1.0)
    if node.op in (Op.MUL, Op.SUB, Op.SELECT):  # and, not, or
        one_minus = node.op is not Op.SUB or node.args[0].op is Op.CONST
        return one_minus and all(map(_is_truth, node.args))
    return node.op in (Op.LESS, Op.LESS_EQUAL)


class Graph:
    """Owns the nodes of one traced function."""

    def __init__(self) -> None:
        self.nodes: list[Expr] = []
        self._known: dict[tuple[Any, ...], Expr] = {}
        self.n_inputs = 0

    def constant(self, value: float) -> Expr:
        """The node of a number."""
        value = float(value) + 0.0  # no negative zero
        return self._node(Op.CONST, (value,), (Op.CONST, value))

    def input(self) -> Expr:
        """A new input."""
        number = self.n_inputs
        self.n_inputs += 1
        return self._node(Op.INPUT, (number,), (Op.INPUT, number))

    def lift(self, value: Any) -> Expr | None:
        """A number as a node; None for what is no number."""
        if type(value) is float:
            return self.constant(value)
        if isinstance(value, (str, bytes, bytearray)) or getattr(value, "ndim", 0):
            return None
        try:
            return self.constant(value)
        except (TypeError, ValueError):
            return None

    def lifted(self, value: Any) -> Expr:
        """A node of this graph, or a number as one; either may stand in an array of no axes."""
        if getattr(value, "shape", None) == ():
            value = value.item()
        node = value if isinstance(value, Expr) else self.lift(value)
        if node is None:
            raise ArgumentError(f"expected a number, got {type(value).__name__}")
        if node.graph is not self:
            raise ArgumentError("an expression of one traced function is used in another")
        return node

    def apply(self, op: Op, *args: Expr) -> Expr:
        """The node of an operation, simplified."""
        from linkwork.expr.rules import simplified

        return simplified(self, op, args)

    def make(self, op: Op, *args: Expr) -> Expr:
        """The node of an operation as it stands; the same one for the same arguments."""
        return self._node(op, args, (op, *[arg.index for arg in args]))

    def known(self, op: Op, *args: Expr) -> Expr | None:
        """The node of an operation if it was made before."""
        return self._known.get((op, *[arg.index for arg in args]))

    def _node(self, op: Op, args: tuple[Any, ...], key: tuple[Any, ...]) -> Expr:
        found = self._known.get(key)
        if found is None:
            found = Expr(self, len(self.nodes), op, args)
            self.nodes.append(found)
            self._known[key] = found
        return found
