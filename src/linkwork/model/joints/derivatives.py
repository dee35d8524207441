"""Derivatives that joint kinds need.

Formulas   one that has no derivative in closed form is traced and differentiated as a program, and
           the result is evaluated on the scalars of the caller: floats, columns of a batch, or
           expressions being traced
Steps      a step x in the group of rotations or of poses moves from g to g exp(x). Changes of g,
           and of what is reached, are measured in the moving axes, d as in g exp(d):

               step    g exp(d) exp(x) = g exp(x) exp(Ad(exp(-x)) d)
                       exp(x + d) = exp(x) exp(Jr(x) d)
               log     log(exp(d) exp(x)) = x + Jl(x)^-1 d
                       log(exp(x) exp(d)) = x + Jr(x)^-1 d    up to terms of second order in d

           with Jl, Jr the left and the right Jacobian of exp. The other way round, where a step x
           moves from g to exp(x) g and changes are measured in the fixed axes, the same holds at -x
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.spatial.blocks import Scalar, as_vector, inner, scalars
from linkwork.spatial.source import motion, se3, so3

if TYPE_CHECKING:  # imported where used, because robots are loaded without them
    from linkwork.engine.symbolic.program import Program

Rows: TypeAlias = list[list[Scalar]]


def derivatives(
    function: Callable[..., Sequence[Scalar]],
    *arguments: Sequence[Scalar],
    wrt: Sequence[int] | None = None,
) -> list[Rows]:
    """Return the derivatives of a function of vectors that returns a vector.

    Args:
        function: takes as many sequences of scalars as there are arguments.
        arguments: where to differentiate; none is empty.
        wrt: indices of the arguments to differentiate with respect to; all if not given.

    Returns:
        for each of these arguments the rows (m, n): derivatives of the m results w.r.t. its n
        scalars.
    """
    from linkwork.engine.autodiff import diff
    from linkwork.engine.symbolic.program import Port, per_port
    from linkwork.engine.symbolic.tracing import trace

    names = [f"x{k}" for k in range(len(arguments))]
    ports = [Port(name, (len(own),)) for name, own in zip(names, arguments, strict=True)]

    def traced(*arrays: Any) -> Any:
        return np.array([*function(*map(list, arrays)), None], dtype=object)[:-1]

    program = trace(traced, ports, "y")
    partials = diff.jacobian(program, names if wrt is None else [names[k] for k in wrt])
    values = _computed(partials, [x for own in arguments for x in own])
    rows: list[Rows] = []
    for port, own in per_port(partials.outputs, values):
        width = port.shape[-1]
        rows.append([list(own[k : k + width]) for k in range(0, port.size, width)])
    return rows


def product(a: Sequence[Sequence[Scalar]], b: Sequence[Sequence[Scalar]]) -> Rows:
    """Return the product of two matrices given by rows."""
    columns = list(zip(*b, strict=True))
    return [[inner(row, column) for column in columns] for row in a]


def left_inverse(J: Sequence[Sequence[Scalar]]) -> Rows:
    """Return (J^T J)^-1 J^T of a matrix (m, n) of full rank n <= m.

    It annihilates what is perpendicular to the columns of J.
    """
    from linkwork.engine.symbolic.elimination import solved_positive_definite

    transposed = [list(column) for column in zip(*J, strict=True)]
    return solved_positive_definite(product(transposed, J), transposed)


def identity(n: int, diagonal: float = 1.0) -> Rows:
    """Return rows (n, n) of a multiple of the identity."""
    return [[diagonal if i == j else 0.0 for j in range(n)] for i in range(n)]


def negative(rows: Sequence[Sequence[Scalar]]) -> Rows:
    """Return a matrix with all signs changed."""
    return [[-x for x in row] for row in rows]


def _computed(program: Program, values: Sequence[Scalar]) -> list[Scalar]:
    """Return the results of a program at some scalars; constants of an expression become floats."""
    from linkwork.engine.symbolic.loops import replay
    from linkwork.engine.symbolic.node import Expr, innermost_graph
    from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS, Op

    if not any(isinstance(x, Expr) for x in values):
        return program.run(values, functions=NUMPY_FUNCTIONS)
    graph = innermost_graph(values)
    nodes = replay(program, graph, [graph.lifted(x) for x in values])
    results = [nodes[step] for step in program.results]
    return [node.args[0] if node.op is Op.CONST else node for node in results]


def rotation_step_derivatives(x: Sequence[Scalar]) -> tuple[Rows, Rows]:
    """Return rows (3, 3) of Ad(exp(-x)) and of Jr(x)."""
    phi = as_vector(x)
    return _rows(so3.exp(-phi)), _rows(so3.right_jacobian(phi))


def rotation_log_derivatives(x: Sequence[Scalar]) -> tuple[Rows, Rows]:
    """Return rows (3, 3) of Jl(x)^-1 and of Jr(x)^-1."""
    left = _rows(so3.left_jacobian_inverse(as_vector(x)))
    return left, [list(column) for column in zip(*left, strict=True)]


def pose_step_derivatives(x: Sequence[Scalar]) -> tuple[Rows, Rows]:
    """Return rows (6, 6) of Ad(exp(-x)) and of Jr(x)."""
    xi = as_vector(x)
    return _rows(motion.motion_transform(se3.exp(-xi))), _rows(se3.right_jacobian(xi))


def pose_log_derivatives(x: Sequence[Scalar]) -> tuple[Rows, Rows]:
    """Return rows (6, 6) of Jl(x)^-1 and of Jr(x)^-1 = Jl(x)^-1 + ad(x)."""
    xi = as_vector(x)
    left = se3.left_jacobian_inverse(xi)
    return _rows(left), _rows(left + motion.motion_cross_matrix(xi))


def _rows(matrix: Array) -> Rows:
    return [scalars(matrix[..., i, :]) for i in range(matrix.shape[-2])]
