"""Kinematics of constrained robots: error, Jacobian, projection, independent velocities."""

from __future__ import annotations

from linkwork.algorithms.constraints.dynamics import rows_at, system_of
from linkwork.algorithms.constraints.equations import State, constraint_rows
from linkwork.algorithms.constraints.pseudo_inverse import STEP, STEP_SINGLE, PseudoInverse, mean
from linkwork.algorithms.constraints.sizes import row_sizes
from linkwork.algorithms.constraints.sparse import columns_of, dense, gram, transposed_product
from linkwork.algorithms.dynamics.crba import mass_matrix
from linkwork.algorithms.dynamics.factor import sparse_dot
from linkwork.algorithms.kinematics.frames import Matrix, Scalars
from linkwork.algorithms.kinematics.manifold import integrate
from linkwork.engine.symbolic.elimination import SparseRow, solved_positive_definite
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.problem import Problem
from linkwork.spatial.blocks import Scalar, inner, is_zero


def constraint_error(problem: Problem, q: Scalars) -> list[Scalar]:
    """(m,) what is zero where the constraints are satisfied."""
    return [row.error for row in constraint_rows(problem, State(q))]


def constraint_jacobian(problem: Problem, q: Scalars, *, velocity: Representation) -> Matrix:
    """(m, nv) J: constraints allow velocities with J nu = 0."""
    rows = _jacobian_rows(problem, q, velocity)
    return [dense(row, problem.layout.nv) for row in rows]


def constraint_bias(
    problem: Problem, q: Scalars, nu: Scalars, *, velocity: Representation
) -> list[Scalar]:
    """(m,) Jdot nu: constraints allow accelerations with J nu_dot = -Jdot nu."""
    return [row.bias for row in rows_at(problem, q, nu, velocity=velocity)]


def delassus_matrix(
    problem: Problem, q: Scalars, *, joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS
) -> Matrix:
    """(m, m) J M^-1 J^T."""
    rows = rows_at(problem, q, velocity="mixed")
    return system_of(problem, q, rows, velocity="mixed", joint_dynamics=joint_dynamics).delassus


def closing_step(
    problem: Problem, q: Scalars, free: Scalars, damping: Scalars, *, velocity: Representation
) -> tuple[list[Scalar], list[Scalar]]:
    """One step of Gauss and Newton toward a configuration that satisfies the constraints.

    Args:
        problem: the robot and its constraints.
        q: configuration to start from.
        free: (nv,) 1 for coordinates that may move, 0 for others, or weights between.
        damping: (1,) added to the diagonal of J J^T, relative to its mean.
        velocity: in which a step of a floating base is written.

    Returns:
        (nq,) the configuration after the step, and (m,) the error before it.
    """
    rows = rows_at(problem, q, velocity=velocity)
    jacobian = [row.jacobian for row in rows]
    weighted = [{k: x * free[k] for k, x in row.items()} for row in jacobian]
    G = gram(jacobian, weighted)
    added = damping[0] * mean([row[k] for k, row in enumerate(G)])
    for k, row in enumerate(G):
        row[k] = row[k] if is_zero(row[k]) else row[k] + added
    regularization = STEP_SINGLE if problem.single else STEP
    inverse = PseudoInverse(G, row_sizes(problem, jacobian), regularization)
    y = inverse.solve([row.error for row in rows])
    step = dense(transposed_product(weighted, y), problem.layout.nv)
    change = [-x for x in step]
    q_next = integrate(problem.skeleton, q, change, (1.0,), velocity=velocity)
    return q_next, [row.error for row in rows]


def independent_velocities(problem: Problem, q: Scalars, *, velocity: Representation) -> Matrix:
    """(nv, n) G with nu = G nu_i: all velocities from the independent ones.

    With J_i and J_d the columns of J of independent and dependent coordinates, nu_d = -J_d^+ J_i
    nu_i, where J_d^+ = (J_d^T J_d)^-1 J_d^T also takes redundant rows.
    """
    independent, nv = problem.independent_indices, problem.layout.nv
    rows = _jacobian_rows(problem, q, velocity)
    dependent = [k for k in range(nv) if k not in independent]
    columns = columns_of(rows, range(nv))
    of_dependent = [columns[k] for k in dependent]
    right = [[sparse_dot(a, columns[k]) for k in independent] for a in of_dependent]
    solution = solved_positive_definite(gram(of_dependent, of_dependent), right)
    G: Matrix = [[0.0] * len(independent) for _ in range(nv)]
    for column, k in enumerate(independent):
        G[k][column] = 1.0
    for k, row in zip(dependent, solution, strict=True):
        G[k] = [-x for x in row]
    return G


def independent_mass_matrix(
    problem: Problem,
    q: Scalars,
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> Matrix:
    """(n, n) mass matrix of the independent velocities, G^T M G."""
    G = independent_velocities(problem, q, velocity=velocity)
    M = mass_matrix(problem.skeleton, q, velocity=velocity, joint_dynamics=joint_dynamics)
    columns = [[row[k] for row in G] for k in range(len(G[0]) if G else 0)]
    moved = [[inner(row, column) for row in M] for column in columns]
    n = len(columns)
    entries: Matrix = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            entries[i][j] = entries[j][i] = inner(columns[j], moved[i])
    return entries


def _jacobian_rows(problem: Problem, q: Scalars, velocity: Representation) -> list[SparseRow]:
    return [row.jacobian for row in rows_at(problem, q, velocity=velocity)]
