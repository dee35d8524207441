"""Sizes of constraint equations relative to the robot, and equations that are nearly redundant.

An anchor on the axis of a hinge does not move with it, and the entry of the Jacobian is a rounding
error. It is recognized by comparison with the size that the entry has for an anchor elsewhere: the
size of the mechanism for a position, 1 for a rotation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    EXACT,
    ROUNDED,
    SINGLE,
    Regularization,
    mean,
)
from linkwork.algorithms.constraints.sparse import dense
from linkwork.algorithms.kinematics.frames import joint_poses, path_to
from linkwork.algorithms.kinematics.manifold import integrate
from linkwork.engine.symbolic.elimination import SparseRow
from linkwork.mechanics.constraints import Coupling, FrameEquations
from linkwork.mechanics.problem import Problem
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Scalar,
    Vec,
    add,
    apply,
    dot,
    matmul,
    plus,
    sub,
    times,
    total,
)

REAL_ROW = 1e-4  # squared size of a row from which on it cannot be due to rounding
SMALLEST_MECHANISM = 1e-6  # squared size of a mechanism relative to the robot, at least
# Singular values of constraints that are nearly redundant in every configuration, relative to the
# size of the robot: 1.5708 for pi/2 and 3.1416 for pi cause 4e-6 and 7e-6.
NEARLY_REDUNDANT = 3e-8, 2e-5
N_SAMPLES = 3  # configurations that show whether constraints are nearly redundant in all of them


def entry_sizes(problem: Problem) -> list[SparseRow]:
    """For each row, the squares of the sizes of its entries, by index in nu."""
    skeleton, layout = problem.skeleton, problem.layout
    positions = _frame_positions(skeleton)
    whole = mean([dot(p, p) for p in positions])
    sizes: list[SparseRow] = []
    for group in problem.equations:
        if isinstance(group, Coupling):
            joints = [name for name in (group.first, group.second) if name is not None]
            leaders = [layout.followers[n].leader if n in layout.followers else n for n in joints]
            sizes.append({layout.nu[name].start: 1.0 for name in leaders})
            continue
        length2 = plus(_squared_size(skeleton, group, positions), times(SMALLEST_MECHANISM, whole))
        if isinstance(length2, float) and length2 == 0.0:
            length2 = 1.0
        q = tuple(float(x) for x in layout.zero())
        columns = relative_motion(skeleton, group, State(q)).columns
        angular = {k: dot(w, w) for k, (_, w) in columns.items()}
        linear = {k: plus(dot(v, v), times(length2, angular[k])) for k, (v, _) in columns.items()}
        sizes += [linear] * group.n_linear + [angular] * (group.size - group.n_linear)
    return sizes


def row_sizes(
    problem: Problem,
    rows: Sequence[SparseRow],
    mobilities: Mapping[int, Scalar] | None = None,
) -> list[Scalar]:
    """(m,) the diagonal of J B J^T, with a diagonal matrix B, for entries of J of their full size.

    It is 0 for rows with a constant entry that is no rounding error.

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
            sizes.append(total(*squares.values()))
        else:
            sizes.append(total(*(times(x, mobilities[k]) for k, x in squares.items())))
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
        sub(position, anchor)
        for (body, _, _), position in zip(skeleton.frames, positions, strict=True)
        if body in bodies
    ]
    offset = group.moving.pose.xyz
    return plus(mean([dot(arm, arm) for arm in arms]), dot(offset, offset))


def _frame_positions(skeleton: Skeleton) -> list[Vec]:
    """Positions of all frames in the base with all joints at zero."""
    q = tuple(float(x) for x in skeleton.layout.zero())
    poses: dict[int, tuple[Mat, Vec]] = {0: (IDENTITY, ZERO)}
    for number, pose in joint_poses(skeleton, q).items():
        R, o = poses[skeleton.bodies[number].parent]
        poses[number] = matmul(R, pose.R), add(o, apply(R, pose.p))
    return [add(poses[body][1], apply(poses[body][0], p)) for body, _, p in skeleton.frames]


def regularization_of(problem: Problem) -> Regularization:
    """How the dynamics of a robot treat constraints that are nearly redundant."""
    if problem.single:
        return SINGLE
    rows = constraint_rows(problem, State(tuple(float(x) for x in problem.layout.zero())))
    if not all(map(_is_constant, rows)):  # parameters of the geometry: not known
        return ROUNDED
    return ROUNDED if nearly_redundant(problem) else EXACT


def _is_constant(row: Row) -> bool:
    return all(_is_number(x) for x in row.jacobian.values())


class NearlyRedundant(NamedTuple):
    """Constraints that are redundant but for small numbers, in every configuration."""

    names: tuple[str, ...]  # of the loops and contacts
    size: float  # the largest singular value, relative to the robot


def nearly_redundant(problem: Problem) -> NearlyRedundant | None:
    """Find constraints that are nearly redundant in every configuration; None if there are none."""
    layout = problem.layout
    squares = [np.array(dense(row, layout.nv), dtype=float) for row in entry_sizes(problem)]
    norms = np.sqrt([max(row.sum(), np.finfo(float).tiny) for row in squares])
    rng = np.random.default_rng(0)
    names: set[str] = set()
    largest = 0.0
    for _ in range(N_SAMPLES):
        zero = tuple(float(x) for x in layout.zero())
        step = rng.normal(size=layout.nv).tolist()
        q = integrate(problem.skeleton, zero, step, (1.0,), velocity="mixed")
        rows = constraint_rows(problem, State(q))
        J = np.array([dense(row.jacobian, layout.nv) for row in rows], dtype=float)
        U, s, _ = np.linalg.svd(J.reshape(len(rows), layout.nv) / norms[:, None])
        near = [k for k, x in enumerate(s) if NEARLY_REDUNDANT[0] < x < NEARLY_REDUNDANT[1]]
        if not near:
            return None
        largest = max(largest, float(s[near[0]]))
        shares = np.square(U[:, near]).sum(axis=1)
        names |= {name for name, span in problem.rows.items() if shares[span].max() > REAL_ROW}
    return NearlyRedundant(tuple(name for name in problem.rows if name in names), largest)
