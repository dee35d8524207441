"""One step of Levenberg-Marquardt on the manifold of configurations, compiled for a robot.

With the weighted residual e, its Jacobian J, and the difference d to a posture:

    (A J^T J A + k) dx = A (J^T e + pull d),    k = damping |e|^2 + pull + FLOOR

A is diagonal: 0 for coordinates that are held, or that are at a limit which the step would exceed,
else 1. The system is solved in the smaller of the two spaces, that of the residuals or that of the
coordinates. A step that lowers the cost is accepted, and the damping decreases; otherwise the
damping increases.
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

INITIAL_DAMPING, MIN_DAMPING, MAX_DAMPING = 0.1, 1e-7, 1e6
# Factors of the damping after a step that was accepted, and after one that was not.
DAMPING_DECREASE, DAMPING_INCREASE = 0.2, 6.0
FLOOR = 1e-11  # keeps the system solvable where the Jacobian is rank deficient


def error_kernel(kd: KinDyn, tasks: Sequence[Task]) -> Kernel:
    """Compile a function from q and the targets to errors (tasks, 2), their cost and the excess.

    Errors are distances [m] and angles [rad]; the angle is 0 for tasks without rotation. The cost
    is the sum of squares of the scaled errors. The excess is the largest error divided by its
    tolerance.
    """
    pairs = len(tasks), 2

    @compile_function(
        q=kd.nq, target=sum(t.target_size for t in tasks), scales=pairs, inverse_tolerances=pairs
    )
    def errors(q: Any, target: Any, scales: Any, inverse_tolerances: Any) -> Any:
        values = _errors(_residuals(kd, tasks, q, target))
        weighted = scales.reshape(-1) * np.stack(values)
        excess = _largest(values, inverse_tolerances.reshape(-1))
        return np.stack(values).reshape(pairs), weighted @ weighted, excess

    return errors


def step_kernel(kd: KinDyn, tasks: Sequence[Task], bounds: Bounds, posture: bool) -> Kernel:
    """Compile a step from (q, damping, cost, excess) to their next values.

    All other inputs stay the same from step to step. The cost is |e|^2 + pull |d|^2. The excess is
    the largest distance or angle divided by its tolerance, so a search can end without evaluating
    the residuals again.

    Args:
        kd: the robot, in the mixed representation.
        tasks: the kinds of the targets.
        bounds: limits of the coordinates.
        posture: whether the step has the additional inputs `posture` (nq,) and `pull`.
    """
    residual_size = sum(task.residual_size for task in tasks)
    shapes: dict[str, Any] = {
        "q": kd.nq,
        "damping": (),
        "cost": (),
        "excess": (),
        "target": sum(task.target_size for task in tasks),
        "weights": residual_size,
        "free": kd.nv,
        "inverse_tolerances": 2 * len(tasks),
    }
    posture_shapes: dict[str, Any] = {"posture": kd.nq, "pull": ()} if posture else {}

    def step(  # noqa: PLR0917
        q: Any,
        damping: Any,
        cost: Any,
        excess: Any,
        target: Any,
        weights: Any,
        free: Any,
        inverse_tolerances: Any,
        posture: Any = None,
        pull: Any = 0.0,
    ) -> Any:
        parts = _residuals(kd, tasks, q, target)
        e = weights * np.concatenate(parts)
        d = None if posture is None else free * kd.difference(q, posture)
        J = weights[:, None] * np.concatenate([_jacobian(kd, task, q) for task in tasks])
        k = damping * (e @ e) + pull + FLOOR
        gradient = e @ J if d is None else e @ J + pull * d
        J = J * (free * _unblocked(bounds, q, gradient))
        dx = _solve(J, e, k) if d is None else _solve_with_pull(J, e, k, pull, d)
        q_new = _clamped(bounds, kd.integrate(q, dx, 1.0))
        parts_new = _residuals(kd, tasks, q_new, target)
        e_new = weights * np.concatenate(parts_new)
        cost_new = e_new @ e_new
        if posture is not None:
            d_new = free * kd.difference(q_new, posture)
            cost_new = cost_new + pull * (d_new @ d_new)
        accepted = cost_new < cost
        decreased = np.maximum(DAMPING_DECREASE * damping, MIN_DAMPING)
        increased = np.minimum(DAMPING_INCREASE * damping, MAX_DAMPING)
        return (
            np.where(accepted, q_new, q),
            np.where(accepted, decreased, increased),
            np.where(accepted, cost_new, cost),
            np.where(accepted, _largest(_errors(parts_new), inverse_tolerances), excess),
        )

    return compile_function(**shapes, **posture_shapes)(step)


def _residuals(kd: KinDyn, tasks: Sequence[Task], q: Any, target: Any) -> list[Any]:
    """For each task, the displacement [m] and the rotation vector [rad] to its target."""
    residuals: list[Any] = []
    start = 0
    for task in tasks:
        task_target = target[start : start + task.target_size]
        start += task.target_size
        if task.kind == "com":
            residuals.append(task_target - kd.com(q))
            continue
        pose = kd.transform(task.frame, q)
        residual = task_target[:3] - pose[:3, 3]
        if task.kind == "pose":
            rotation = so3.log(task_target[3:].reshape(3, 3) @ pose[:3, :3].T)
            residual = np.concatenate([residual, rotation])
        residuals.append(residual)
    return residuals


def _errors(parts: Sequence[Any]) -> list[Any]:
    """The distance and the angle of each task; the angle is 0 for tasks without rotation."""
    pairs = [(linalg.norm(e[:3]), linalg.norm(e[3:]) if len(e) > 3 else 0.0) for e in parts]
    return [error for pair in pairs for error in pair]


def _largest(errors: Sequence[Any], factors: Any) -> Any:
    largest: Any = 0.0
    for k, error in enumerate(errors):
        largest = np.maximum(largest, factors[k] * error)
    return largest


def _jacobian(kd: KinDyn, task: Task, q: Any) -> Any:
    """(rows, nv) Jacobian of the velocity of a task: linear, and angular for a pose."""
    if task.kind == "com":
        return kd.com_jacobian(q)
    J = kd.jacobian(task.frame, q)
    return J if task.kind == "pose" else J[:3]


def _unblocked(bounds: Bounds, q: Any, gradient: Any) -> Any:
    """(nv,) 0 for coordinates at a limit that the gradient pushes against, else 1."""
    flags: list[Any] = [1.0] * len(gradient)
    for q_index, nu_index, lower, upper in zip(
        bounds.q_indices, bounds.nu_indices, bounds.lower, bounds.upper, strict=True
    ):
        push = gradient[nu_index]
        below = np.where(q[q_index] <= lower, np.where(push < 0.0, 0.0, 1.0), 1.0)
        above = np.where(q[q_index] >= upper, np.where(push > 0.0, 0.0, 1.0), 1.0)
        flags[nu_index] = below * above
    return np.stack(flags) if flags else gradient


def _solve(J: Any, e: Any, k: Any) -> Any:
    """(nv,) the solution dx of (J^T J + k) dx = J^T e."""
    n_rows, n_columns = J.shape
    if not n_columns:
        return np.zeros(0)
    if n_rows <= n_columns:
        return linalg.solve(J @ J.T + k * np.eye(n_rows), e, assume="positive definite") @ J
    A = J.T @ J + k * np.eye(n_columns)
    return linalg.solve(A, e @ J, assume="positive definite")


def _solve_with_pull(J: Any, e: Any, k: Any, pull: Any, d: Any) -> Any:
    """(nv,) the solution dx of (J^T J + k) dx = J^T e + pull d."""
    base = (pull / k) * d
    return base + _solve(J, e - J @ base, k)


def _clamped(bounds: Bounds, q: Any) -> Any:
    entries: list[Any] = list(q)
    for index, lower, upper in zip(bounds.q_indices, bounds.lower, bounds.upper, strict=True):
        entries[index] = np.minimum(np.maximum(entries[index], lower), upper)
    return np.stack(entries) if entries else q


def free_coordinates(kd: KinDyn, hold: Sequence[str]) -> Array:
    """(nv,) 0 for the coordinates of joints that are held ("base" for the base), else 1."""
    free = np.ones(kd.nv)
    for name in hold:
        if name == "base" and kd.floating:
            free[:6] = 0.0
        else:
            free[kd.layout.nu[name]] = 0.0
    return free
