"""The partial derivatives of each operation.

Where a function is not differentiable, its derivative is defined as:

    a < b, a <= b     0 everywhere
    floor(a)          0 everywhere
    select(c, a, b)   the derivative of the selected branch, even if that of the other is NaN
                      (bounds.py states the assumptions on inputs)
    sqrt(a)           a' / (2 sqrt(a)); at a = 0 this is 0 if a' is 0, and infinite otherwise. So
                      the derivative of the norm of a vector is 0 at the zero vector
    atan2(y, x)       undefined at the origin, where it is NaN
    hypot(a, b)       0 at the origin
    pow(a, b)         the derivative with respect to b is 0 at a = 0, and NaN for a < 0
    copysign(a, b)    at a = 0, that of the side of its sign: 1 or -1
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from linkwork.engine.symbolic.node import Expr, Op

_LARGEST = 3e38  # finite in float32, too


def partial_derivatives(op: Op, args: Sequence[Expr], value: Expr) -> tuple[Expr | float, ...]:
    """Return the partial derivatives of an operation, except select, for each argument.

    Args:
        op: the operation.
        args: its arguments.
        value: its result.
    """
    return _PARTIALS[op](args[0], args[-1], value)


def masked(entry: Expr, partial: Expr | float) -> Expr:
    """The product of a derivative and a partial derivative, where 0 times infinity or NaN is 0.

    If the partial derivative is finite, the result is the unmasked product, so that second
    derivatives are correct even where the first factor is 0.
    """
    if not isinstance(partial, Expr) or partial.op is Op.CONST:
        return entry * partial
    product = entry * partial
    return _is_finite(partial).select(product, entry.select(product, 0.0))


def mask_infinite_adjoint(term: Expr, entry: Expr, partial: Expr) -> Expr:
    """Replace the product of an infinite adjoint and a partial derivative of 0 by 0.

    Args:
        term: the product.
        entry: the adjoint, which may be infinite, as that of sqrt(0).
        partial: the partial derivative.
    """
    return _is_finite(entry).select(term, partial.select(term, 0.0))


def _is_finite(value: Expr) -> Expr:
    """Return 1 where a value is finite in float32 and float64, else 0."""
    return (value <= _LARGEST).select(value >= -_LARGEST, 0.0)


def is_zero(node: Expr) -> bool:
    """Return whether a derivative is a structural zero."""
    return node.op is Op.CONST and node.args[0] == 0.0


def _atan2_partials(y: Expr, x: Expr, value: Expr) -> tuple[Expr | float, ...]:
    del value
    inverse = 1.0 / (x * x + y * y)
    return x * inverse, -(y * inverse)


def _div_partials(a: Expr, b: Expr, value: Expr) -> tuple[Expr | float, ...]:
    del a
    inverse = 1.0 / b
    return inverse, -(value * inverse)


def _pow_partials(a: Expr, b: Expr, value: Expr) -> tuple[Expr | float, ...]:
    """Return b a^(b - 1) and a^b log(a), where 0 times infinity is 0."""
    lowered = (b == 0.0).select(1.0, b) - 1.0
    return b * a**lowered, value * (a == 0.0).select(1.0, a).log()


def _hypot_partials(a: Expr, b: Expr, value: Expr) -> tuple[Expr | float, ...]:
    inverse = 1.0 / (value == 0.0).select(1.0, value)
    return a * inverse, b * inverse


def _copysign_partials(a: Expr, b: Expr, value: Expr) -> tuple[Expr | float, ...]:
    del value
    one = a.like(1.0)
    return one.copysign(a) * one.copysign(b), 0.0


_PARTIALS: dict[Op, Callable[[Expr, Expr, Expr], tuple[Expr | float, ...]]] = {
    Op.ADD: lambda a, b, value: (1.0, 1.0),
    Op.SUB: lambda a, b, value: (1.0, -1.0),
    Op.MUL: lambda a, b, value: (b, a),
    Op.DIV: _div_partials,
    Op.NEG: lambda a, b, value: (-1.0,),
    Op.SQRT: lambda a, b, value: (0.5 * (1.0 / value),),
    Op.SIN: lambda a, b, value: (a.cos(),),
    Op.COS: lambda a, b, value: (-a.sin(),),
    Op.ATAN2: _atan2_partials,
    Op.LESS: lambda a, b, value: (0.0, 0.0),
    Op.EXP: lambda a, b, value: (value,),
    Op.LOG: lambda a, b, value: (1.0 / a,),
    Op.LESS_EQUAL: lambda a, b, value: (0.0, 0.0),
    Op.FLOOR: lambda a, b, value: (0.0,),
    Op.EXPM1: lambda a, b, value: (a.exp(),),
    Op.LOG1P: lambda a, b, value: (1.0 / (1.0 + a),),
    Op.EXP2: lambda a, b, value: (math.log(2.0) * value,),
    Op.POW: _pow_partials,
    Op.HYPOT: _hypot_partials,
    Op.FMOD: lambda a, b, value: (1.0, (value - a) / b),
    Op.COPYSIGN: _copysign_partials,
}
