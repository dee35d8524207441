"""Derivatives that are not those of the algorithm: constants, and solutions of equations.

A solver, such as a loop of `linkwork.repeat`, finds x with r(x, p) = 0. Its iterations need not be
differentiated, because the implicit function theorem states

    dx/dp = - (dr/dx)^-1 dr/dp        at the solution
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, ObjectArray, as_array
from linkwork.engine.symbolic.linalg import solve
from linkwork.engine.symbolic.node import Expr, graph_being_traced, innermost_graph
from linkwork.engine.symbolic.operations import Op
from linkwork.errors import ShapeError


def stop_gradient(x: ArrayLike) -> Array:
    """Return x as a constant of differentiation: the same values, with derivative zero."""
    return with_derivative(x, np.zeros(np.shape(as_array(x, "x"))))


def implicit(
    x: ArrayLike, residual: Callable[[Array], ArrayLike], jacobian: Callable[[Array], ArrayLike]
) -> Array:
    """Return the solution x of an equation with the derivatives of the solution.

    The value is `x`, bit for bit, as any algorithm has found it. Its derivative is that of the
    implicit function theorem, so that the algorithm is not differentiated. Derivatives of these
    derivatives treat the Jacobian as a constant.

    Args:
        x: (n,) solution, or an approximation of it.
        residual: the function r of x that is zero at the solution, and that may use any other
            traced values; the result is differentiable with respect to these.
        jacobian: (n, n) derivative of the residual with respect to x, as a function of x.

    Returns:
        (n,) x.
    """
    solution = as_array(x, "x")
    constant = stop_gradient(solution)
    error = as_array(residual(constant), "residual")
    if solution.ndim != 1 or error.shape != solution.shape:
        text = f"implicit: expected x and residual of shape (n,), got {solution.shape}"
        raise ShapeError(f"{text} and {error.shape}")
    step = solve(stop_gradient(jacobian(constant)), error)
    return with_derivative(solution, constant - step)


def with_derivative(value: ArrayLike, other: ArrayLike) -> Array:
    """Return an array with the values of one array and the derivatives of another."""
    values, others = as_array(value, "value"), as_array(other, "other")
    if object not in (values.dtype, others.dtype):
        return values
    pairs = zip(values.flat, others.flat, strict=True)
    result = np.empty(values.shape, dtype=object)
    result.reshape(-1)[:] = [implicit_entry(a, b) for a, b in pairs]
    return result.view(ObjectArray)


def implicit_entry(value: Any, other: Any) -> Any:
    """Return a scalar with a value, and the derivative of another scalar."""
    if not isinstance(value, Expr) and not isinstance(other, Expr):
        return value
    current = graph_being_traced()
    graph = innermost_graph((value, other))
    if current is not None and current.depth > graph.depth and current.root is graph.root:
        graph = current
    return graph.apply(Op.IMPLICIT, graph.lifted(value), graph.lifted(other))
