"""One step of Levenberg-Marquardt on the manifold of configurations, compiled for a robot.

With the weighted residual e, its Jacobian J, and the difference d to a posture:

    (A J^T J A + k) dx = A (J^T e + pull d),    k = damping |e|^2 + pull + FLOOR

A is diagonal: 0 for coordinates that are held, or that stand at a limit which the step would pass,
else 1. The step is solved in the smaller of the two spaces, that of residuals or of coordinates. It
is taken if it lowers the cost, and the damping falls; else the damping grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic import linalg
from linkwork.engine.symbolic.arrays import Array
from linkwork.inverse_kinematics.bounds import Bounds
from linkwork.inverse_kinematics.tasks import Task
from linkwork.kindyn import KinDyn
from linkwork.spatial.source import so3

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 0.1, 1e-7, 1e6
EASIER, HARDER = 0.2, 6.0  # what the damping is multiplied by after a step that helped, or did not
FLOOR = 1e-11  # keeps the system solvable where the Jacobian has lost rank


def error_kernel(kd: KinDyn, tasks: Sequence[Task]) -> Kernel:
    """From q and the targets to errors (tasks, 2), their cost, and the excess.

    Errors are distances [m], and angles [rad] or 0. The cost is the sum of the squares of errors
    times their scales; the excess the largest of errors times `per_tolerance`.
    """
    pairs = len(tasks), 2

    @compile_function(
        q=kd.nq, target=sum(t.n_numbers for t in tasks), scales=pairs, per_tolerance=pairs
    )
    def errors(q: Any, target: Any, scales: Any, per_tolerance: Any) -> Any:
        found = _errors(_residuals(kd, tasks, q, target))
        weighted = scales.reshape(-1) * np.stack(found)
        excess = _largest(found, per_tolerance.reshape(-1))
        return np.stack(found).reshape(pairs), weighted @ weighted, excess

    return errors


def step_kernel(kd: KinDyn, tasks: Sequence[Task], bounds: Bounds, posture: bool) -> Kernel:
    """From (q, damping, cost, excess) to the next of them; what else it takes stays the same.

    The cost is |e|^2 + pull |d|^2. The excess is the largest distance or angle in units of its
    tolerance, so that a search can end without a look at the residuals.

    Args:
        kd: the robot, in the mixed representation.
        tasks: what to reach.
        bounds: of the coordinates.
        posture: whether it also takes a posture (nq,) and how strongly it pulls.
    """
    n_rows = sum(task.n_rows for task in tasks)
    shapes: dict[str, Any] = {
        "q": kd.nq,
        "damping": (),
        "cost": (),
        "excess": (),
        "target": sum(task.n_numbers for task in tasks),
        "weights": n_rows,
        "free": kd.nv,
        "per_tolerance": 2 * len(tasks),
    }
    more: dict[str, Any] = {"posture": kd.nq, "pull": ()} if posture else {}

    def step(  # noqa: PLR0917
        q: Any,
        damping: Any,
        cost: Any,
        excess: Any,
        target: Any,
        weights: Any,
        free: Any,
        per_tolerance: Any,
        posture: Any = None,
        pull: Any = 0.0,
    ) -> Any:
        parts = _residuals(kd, tasks, q, target)
        e = weights * np.concatenate(parts)
        d = None if posture is None else free * kd.difference(q, posture)
        J = weights[:, None] * np.concatenate([_jacobian(kd, task, q) for task in tasks])
        k = damping * (e @ e) + pull + FLOOR
        gradient = e @ J if d is None else e @ J + pull * d
        J = J * (free * _may_move(bounds, q, gradient))
        dx = _solved(J, e, k) if d is None else _solved_with_pull(J, e, k, pull, d)
        moved = _clamped(bounds, kd.integrate(q, dx, 1.0))
        parts_new = _residuals(kd, tasks, moved, target)
        e_new = weights * np.concatenate(parts_new)
        cost_new = e_new @ e_new
        if posture is not None:
            d_new = free * kd.difference(moved, posture)
            cost_new = cost_new + pull * (d_new @ d_new)
        helps = cost_new < cost
        easier = np.maximum(EASIER * damping, LEAST_DAMPING)
        harder = np.minimum(HARDER * damping, MOST_DAMPING)
        return (
            np.where(helps, moved, q),
            np.where(helps, easier, harder),
            np.where(helps, cost_new, cost),
            np.where(helps, _largest(_errors(parts_new), per_tolerance), excess),
        )

    return compile_function(**shapes, **more)(step)


def _residuals(kd: KinDyn, tasks: Sequence[Task], q: Any, target: Any) -> list[Any]:
    """For each task what is left to its target: a way [m], and a rotation vector [rad]."""
    found: list[Any] = []
    start = 0
    for task in tasks:
        goal = target[start : start + task.n_numbers]
        start += task.n_numbers
        if task.kind == "com":
            found.append(goal - kd.com(q))
            continue
        pose = kd.transform(task.frame, q)
        way = goal[:3] - pose[:3, 3]
        if task.kind == "pose":
            turn = so3.log(goal[3:].reshape(3, 3) @ pose[:3, :3].T)
            way = np.concatenate([way, turn])
        found.append(way)
    return found


def _errors(parts: Sequence[Any]) -> list[Any]:
    """The distance and the angle of each task, or 0 for an angle."""
    pairs = [(linalg.norm(e[:3]), linalg.norm(e[3:]) if len(e) > 3 else 0.0) for e in parts]
    return [error for pair in pairs for error in pair]


def _largest(errors: Sequence[Any], factors: Any) -> Any:
    found: Any = 0.0
    for k, error in enumerate(errors):
        found = np.maximum(found, factors[k] * error)
    return found


def _jacobian(kd: KinDyn, task: Task, q: Any) -> Any:
    """(rows, nv) velocity of what has the target; of rotations, the angular velocity."""
    if task.kind == "com":
        return kd.com_jacobian(q)
    J = kd.jacobian(task.frame, q)
    return J if task.kind == "pose" else J[:3]


def _may_move(bounds: Bounds, q: Any, gradient: Any) -> Any:
    """(nv,) 0 for coordinates at a limit that the gradient pushes against, else 1."""
    flags: list[Any] = [1.0] * len(gradient)
    for at_q, at_nu, lower, upper in zip(
        bounds.at_q, bounds.at_nu, bounds.lower, bounds.upper, strict=True
    ):
        slope = gradient[at_nu]
        below = np.where(q[at_q] <= lower, np.where(slope < 0.0, 0.0, 1.0), 1.0)
        above = np.where(q[at_q] >= upper, np.where(slope > 0.0, 0.0, 1.0), 1.0)
        flags[at_nu] = below * above
    return np.stack(flags) if flags else gradient


def _solved(J: Any, e: Any, k: Any) -> Any:
    """(nv,) dx with (J^T J + k) dx = J^T e."""
    n_rows, n_columns = J.shape
    if not n_columns:
        return np.zeros(0)
    if n_rows <= n_columns:
        return linalg.solve(J @ J.T + k * np.eye(n_rows), e, assume="positive definite") @ J
    A = J.T @ J + k * np.eye(n_columns)
    return linalg.solve(A, e @ J, assume="positive definite")


def _solved_with_pull(J: Any, e: Any, k: Any, pull: Any, d: Any) -> Any:
    """(nv,) dx with (J^T J + k) dx = J^T e + pull d."""
    base = (pull / k) * d
    return base + _solved(J, e - J @ base, k)


def _clamped(bounds: Bounds, q: Any) -> Any:
    entries: list[Any] = list(q)
    for at, lower, upper in zip(bounds.at_q, bounds.lower, bounds.upper, strict=True):
        entries[at] = np.minimum(np.maximum(entries[at], lower), upper)
    return np.stack(entries) if entries else q


def as_free(kd: KinDyn, hold: Sequence[str]) -> Array:
    """(nv,) 0 for the coordinates of joints that are held ("base" for the base), else 1."""
    free = np.ones(kd.nv)
    for name in hold:
        if name == "base" and kd.floating:
            free[:6] = 0.0
        else:
            free[kd.layout.nu[name]] = 0.0
    return free
