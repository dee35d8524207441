"""Sizes of constraint equations relative to the robot, and equations that are nearly redundant.

An anchor on the axis of a hinge does not move with it, and the entry of the Jacobian is a rounding
error. It is recognized by comparison with the size that the entry has for an anchor elsewhere: the
size of the mechanism for a position, 1 for a rotation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.constraints.equations import (
    Row,
    State,
    anchor_body,
    constraint_rows,
    relative_motion,
)
from linkwork.algorithms.constraints.pseudo_inverse import (
    INDEPENDENT,
    REDUNDANT,
    REDUNDANT_LARGE,
    ROUNDED,
    SINGLE,
    Regularization,
    mean,
)
from linkwork.algorithms.constraints.sparse import dense
from linkwork.algorithms.dynamics.inverse_mass_matrix import mass_factor
from linkwork.algorithms.kinematics.frames import Scalars, joint_poses, path_to
from linkwork.algorithms.kinematics.manifold import integrate
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.elimination import SparseRow
from linkwork.errors import SingularJointError
from linkwork.mechanics.constraints import Coupling, FrameEquations
from linkwork.mechanics.problem import Problem
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import IDENTITY, ZERO, Mat, Scalar, Vec, as_vec, total

REAL_ROW = 1e-4  # squared size of a row from which on it cannot be due to rounding
ROUNDING_ROW = 1e-9  # size of a row up to which it is due to rounding
SMALLEST_MECHANISM = 1e-6  # squared size of a mechanism relative to the robot, at least
# Singular values of constraints that are nearly redundant in every configuration, relative to the
# size of the robot: 1.5708 for pi/2 and 3.1416 for pi cause 4e-6 and 7e-6.
NEARLY_REDUNDANT = 3e-8, 2e-5
N_ORTHOGONAL = 12  # redundant equations up to which the factor is computed from rows
N_SAMPLES = 3  # configurations that show whether constraints are redundant in all of them
# Singular values of constraints that are satisfied only in part, in units of mu^(1/2).
IN_PART = 0.05, 5.0
# Steps of Newton that close the loops of a sample, and errors of loops that are closed.
N_CLOSING, CLOSED = 8, 1e-9


def entry_sizes(problem: Problem) -> list[SparseRow]:
    """For each row, the squares of the sizes of its entries, by index in nu."""
    skeleton, layout = problem.skeleton, problem.layout
    positions = _frame_positions(skeleton)
    whole = mean([p.dot(p) for p in positions])
    sizes: list[SparseRow] = []
    for group in problem.equations:
        if isinstance(group, Coupling):
            joints = [name for name in (group.first, group.second) if name is not None]
            leaders = [layout.followers[n].leader if n in layout.followers else n for n in joints]
            sizes.append({layout.nu[name].start: 1.0 for name in leaders})
            continue
        length2 = _squared_size(skeleton, group, positions) + SMALLEST_MECHANISM * whole
        if isinstance(length2, float) and length2 == 0.0:
            length2 = 1.0
        q = tuple(float(x) for x in layout.zero())
        columns = relative_motion(skeleton, group, State(q)).columns
        angular = {k: w.dot(w) for k, (_, w) in columns.items()}
        linear = {k: v.dot(v) + length2 * angular[k] for k, (v, _) in columns.items()}
        sizes += [linear] * group.n_linear + [angular] * (group.size - group.n_linear)
    return sizes


def row_sizes(
    problem: Problem,
    rows: Sequence[SparseRow],
    mobilities: Mapping[int, Scalar] | None = None,
) -> list[Scalar]:
    """(m,) the diagonal of J B J^T, with a diagonal matrix B, for entries of J of their full size.

    Entries that are zero in every configuration do not count. It is 0 for rows with a constant
    entry that is no rounding error.

    Args:
        problem: the robot and its constraints.
        rows: those of J.
        mobilities: the diagonal of B by index in nu; 1 if not given.
    """
    sizes: list[Scalar] = []
    for row, squares in zip(rows, entry_sizes(problem), strict=True):
        if _constant_size(row, squares) >= REAL_ROW:
            sizes.append(0.0)
        elif mobilities is None:
            sizes.append(total(*(x for k, x in squares.items() if k in row)))
        else:
            sizes.append(total(*(x * mobilities[k] for k, x in squares.items() if k in row)))
    return sizes


def _constant_size(row: SparseRow, squares: SparseRow) -> float:
    """The squared size of the constant entries of a row."""
    pairs = [(x, squares.get(k, 0.0)) for k, x in row.items()]
    return sum(x * x / size for x, size in pairs if _is_number(x) and _is_number(size) and size)


def _is_number(x: Scalar) -> bool:
    return isinstance(x, float)


def _squared_size(skeleton: Skeleton, group: FrameEquations, positions: Sequence[Vec]) -> Scalar:
    """The mean square of the distances between the anchor and the frames that it moves with."""
    moving = path_to(skeleton, anchor_body(skeleton, group.moving))
    fixed = (
        [0]
        if group.reference.frame is None
        else path_to(skeleton, anchor_body(skeleton, group.reference))
    )
    bodies = set(moving) ^ set(fixed)
    model = skeleton.layout.model
    anchor = positions[model.frame_index(group.moving.frame or "")]
    arms = [
        position - anchor
        for (body, _, _), position in zip(skeleton.frames, positions, strict=True)
        if body in bodies
    ]
    offset = as_vec(group.moving.pose.xyz)
    return mean([arm.dot(arm) for arm in arms]) + offset.dot(offset)


def _frame_positions(skeleton: Skeleton) -> list[Vec]:
    """Positions of all frames in the base with all joints at zero."""
    q = tuple(float(x) for x in skeleton.layout.zero())
    poses: dict[int, tuple[Mat, Vec]] = {0: (IDENTITY, ZERO)}
    for number, pose in joint_poses(skeleton, q).items():
        R, o = poses[skeleton.bodies[number].parent]
        poses[number] = R @ pose.R, o + R @ pose.p
    return [poses[body][1] + poses[body][0] @ p for body, _, p in skeleton.frames]


def regularization_of(problem: Problem) -> Regularization:
    """How the dynamics of a robot treat constraints that are redundant or nearly redundant."""
    if problem.single:
        return SINGLE
    rows = constraint_rows(problem, State(tuple(float(x) for x in problem.layout.zero())))
    if not all(map(_is_constant, rows)):  # parameters of the geometry: not known
        return ROUNDED
    if nearly_redundant(problem):
        return ROUNDED
    if _is_independent(problem):
        return INDEPENDENT
    return REDUNDANT if len(rows) <= N_ORTHOGONAL else REDUNDANT_LARGE


def _is_constant(row: Row) -> bool:
    return all(_is_number(x) for x in (row.error, *row.jacobian.values()))


class NearlyRedundant(NamedTuple):
    """Constraints that are redundant but for small numbers."""

    names: tuple[str, ...]  # of the loops and contacts
    size: float  # the largest singular value, relative to the robot


def nearly_redundant(problem: Problem) -> NearlyRedundant | None:
    """Find constraints that are nearly redundant in every configuration; None if there are none."""
    norms = _norms(problem)
    names: set[str] = set()
    largest = 0.0
    for q in _samples(problem):
        near = _between(problem, _scaled(problem, q, norms)[0], NEARLY_REDUNDANT)
        if near is None:
            return None
        names, largest = names | set(near.names), max(largest, near.size)
    return NearlyRedundant(tuple(name for name in problem.rows if name in names), largest)


def redundant_in_part(problem: Problem) -> NearlyRedundant | None:
    """Find constraints that are satisfied only in part in a configuration with closed loops.

    The configurations are the neutral one and some at random, with loops closed if possible.
    """
    norms, regularization = _norms(problem), regularization_of(problem)
    low, high = (x * regularization.mu**0.5 for x in IN_PART)
    zero = tuple(float(x) for x in problem.layout.zero())
    for q in (zero, *_samples(problem)):
        closed, _ = _closed(problem, q, norms)
        near = _between(problem, _compared(problem, closed, regularization), (low, high))
        if near is not None:
            return near
    return None


def _compared(problem: Problem, q: Scalars, regularization: Regularization) -> Array:
    """(m, nv) J M^-1/2, with rows divided by what the solution compares them with."""
    try:
        factor = mass_factor(problem.skeleton, q, velocity="mixed")
    except SingularJointError:  # calls report it
        return np.zeros((problem.n_equations, problem.layout.nv))
    rows = [row.jacobian for row in constraint_rows(problem, State(q))]
    pivots = np.array(factor.inverse_pivots, dtype=float)
    X = [dense(factor.row_product(row), len(pivots)) for row in rows]
    A = np.array(X, dtype=float).reshape(-1, len(pivots)) * np.sqrt(pivots)
    c = row_sizes(problem, rows, dict(zip(factor.order, pivots.tolist(), strict=True)))
    g = np.square(A).sum(axis=1).tolist()
    U = np.array([regularization.added(*one) for one in zip(g, c, strict=True)], dtype=float)
    return A / np.sqrt(np.where(U, U / regularization.mu, 1.0))[:, None]


def _between(problem: Problem, J: Array, limits: tuple[float, float]) -> NearlyRedundant | None:
    """Constraints whose scaled Jacobian has singular values between limits; None without any."""
    U, s, _ = np.linalg.svd(J)
    near = [k for k, x in enumerate(s) if limits[0] < x < limits[1]]
    if not near:
        return None
    shares = np.square(U[:, near]).sum(axis=1)
    names = [name for name, span in problem.rows.items() if shares[span].max() > REAL_ROW]
    return NearlyRedundant(tuple(names), float(s[near[0]]))


def _is_independent(problem: Problem) -> bool:
    """Whether no constraint is redundant in some configuration, closed as far as possible.

    Spatial loops may be redundant only where they are closed.
    """
    norms = _norms(problem)
    for q in _samples(problem):
        J, _ = _scaled(problem, q, norms)
        if _has_full_rank(J) and _has_full_rank(_closed(problem, q, norms)[1]):
            return True
    return False


def _has_full_rank(J: Array) -> bool:
    """Whether no singular value is small, without rows that are zero or due to rounding."""
    J = J[np.linalg.norm(J, axis=1) > ROUNDING_ROW]
    s = np.linalg.svd(J, compute_uv=False)
    return len(J) <= J.shape[1] and bool(s.min(initial=1.0) > NEARLY_REDUNDANT[1])


def _norms(problem: Problem) -> Array:
    """(m,) norms of rows whose entries have their full size."""
    squares = [np.array(list(row.values()), dtype=float).sum() for row in entry_sizes(problem)]
    return np.sqrt(np.maximum(squares, np.finfo(float).tiny))


def _samples(problem: Problem) -> Iterator[Scalars]:
    """Configurations at random; their loops are open."""
    layout, rng = problem.layout, np.random.default_rng(0)
    zero = tuple(float(x) for x in layout.zero())
    for _ in range(N_SAMPLES):
        step = rng.normal(size=layout.nv).tolist()
        yield integrate(problem.skeleton, zero, step, (1.0,), velocity="mixed")


def _closed(problem: Problem, q: Scalars, norms: Array) -> tuple[Scalars, Array]:
    """A configuration with loops closed as far as possible by Newton, and its scaled Jacobian."""
    J, error = _scaled(problem, q, norms)
    for _ in range(N_CLOSING):
        if np.abs(error).max(initial=0.0) < CLOSED:
            break
        step = -np.linalg.lstsq(J, error, rcond=REAL_ROW)[0]
        step /= max(1.0, np.abs(step).max())
        q = integrate(problem.skeleton, q, step.tolist(), (1.0,), velocity="mixed")
        J, error = _scaled(problem, q, norms)
    return q, J


def _scaled(problem: Problem, q: Scalars, norms: Array) -> tuple[Array, Array]:
    """(m, nv) the Jacobian and (m,) the error, divided by the norms of rows."""
    rows, nv = constraint_rows(problem, State(q)), problem.layout.nv
    J = np.array([dense(row.jacobian, nv) for row in rows], dtype=float).reshape(-1, nv)
    error = np.array([row.error for row in rows], dtype=float)
    return J / norms[:, None], error / norms
