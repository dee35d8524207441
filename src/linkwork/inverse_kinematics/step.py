"""One step of Levenberg-Marquardt on the manifold of configurations, compiled for a robot.

With the weighted residual e, its Jacobian J, and the difference d to a posture:

    (A J^T J A + k) dx = A (J^T e + pull d),    k = damping |e|^2 + pull + FLOOR

A is diagonal: 0 for coordinates that are held, or that are at a limit which the step would exceed,
else 1. The system is solved in the smaller of the two spaces, that of the residuals or that of the
coordinates. A step that lowers the cost is accepted, and the damping decreases; otherwise the
damping increases.

Distances to keep, see `avoidance`, add rows to e and J.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic import linalg
from linkwork.inverse_kinematics.avoidance import Avoidance
from linkwork.inverse_kinematics.tasks import Task
from linkwork.kindyn import KinDyn
from linkwork.kindyn.bounds import Bounds
from linkwork.spatial.source import so3

INITIAL_DAMPING, MIN_DAMPING, MAX_DAMPING = 0.1, 1e-7, 1e6
# Factors of the damping after a step that was accepted, and after one that was not.
DAMPING_DECREASE, DAMPING_INCREASE = 0.2, 6.0
FLOOR = 1e-11  # keeps the system solvable where the Jacobian is rank deficient


def error_kernel(kd: KinDyn, tasks: Sequence[Task]) -> Kernel:
    """Compile a function from q and the targets to errors (tasks, 2), their cost and the excess.

    Errors are distances [m] and angles [rad]; the angle is 0 for tasks without rotation. The cost
    is the sum of squares of the scaled errors, and a penalty. The excess is the largest error
    divided by its tolerance.
    """
    pairs = len(tasks), 2

    @compile_function(
        q=kd.nq,
        target=sum(t.target_size for t in tasks),
        scales=pairs,
        inverse_tolerances=pairs,
        penalty=(),
    )
    def errors(q: Any, target: Any, scales: Any, inverse_tolerances: Any, penalty: Any) -> Any:
        values = errors_of(residuals_of(kd, tasks, q, target))
        weighted = scales.reshape(-1) * np.stack(values)
        excess = largest_of(values, inverse_tolerances.reshape(-1))
        return np.stack(values).reshape(pairs), weighted @ weighted + penalty, excess

    return errors


def step_kernel(
    kd: KinDyn,
    tasks: Sequence[Task],
    bounds: Bounds,
    posture: bool,
    avoidance: Avoidance | None,
) -> Kernel:
    """Compile a step from (q, damping, cost, excess) to their next values.

    All other inputs stay the same from step to step. The cost is |e|^2 + pull |d|^2. The excess is
    the largest distance or angle divided by its tolerance, so a search can end without evaluating
    the residuals again.

    Args:
        kd: the robot, in the mixed representation.
        tasks: the kinds of the targets.
        bounds: limits of the coordinates.
        posture: whether the step has the additional inputs `posture` (nq,) and `pull`.
        avoidance: the distances to keep, whose values are an additional input, or None.
    """

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
        surroundings: Any = None,
    ) -> Any:
        e, J = weighted_rows(kd, tasks, (q, target, weights), avoidance, surroundings)
        d = None if posture is None else free * kd.difference(q, posture)
        k = damping * (e @ e) + pull + FLOOR
        gradient = e @ J if d is None else e @ J + pull * d
        J = J * (free * _unblocked(bounds, q, gradient))
        dx = solved(J, e, k, pull, d)
        q_new = clamped(bounds, kd.integrate(q, dx, 1.0))
        d_new = None if posture is None else free * kd.difference(q_new, posture)
        from_posture = None if d_new is None else pull * (d_new @ d_new)
        inputs = q_new, target, weights, inverse_tolerances
        cost_new, excess_new = cost_and_excess(
            kd, tasks, inputs, from_posture, avoidance, surroundings
        )
        accepted = cost_new < cost
        return (
            np.where(accepted, q_new, q),
            next_damping(damping, accepted),
            np.where(accepted, cost_new, cost),
            np.where(accepted, excess_new, excess),
        )

    return compile_function(**step_shapes(kd, tasks, posture, avoidance))(step)


def weighted_rows(
    kd: KinDyn,
    tasks: Sequence[Task],
    inputs: tuple[Any, Any, Any],
    avoidance: Avoidance | None,
    surroundings: Any,
) -> tuple[Any, Any]:
    """The weighted residual e (rows,) and its Jacobian (rows, nv): distances after the tasks.

    Args:
        kd: the robot.
        tasks: the kinds of the targets.
        inputs: q, the targets and the weights of the rows.
        avoidance: the distances to keep, or None.
        surroundings: the values of these.
    """
    q, target, weights = inputs
    e = weights * np.concatenate(residuals_of(kd, tasks, q, target))
    J = weights[:, None] * np.concatenate([jacobian_of(kd, task, q) for task in tasks])
    if avoidance is None:
        return e, J
    r, J_r = avoidance.residuals(q, surroundings)
    return np.concatenate([e, r]), np.concatenate([J, J_r])


def cost_and_excess(  # noqa: PLR0917
    kd: KinDyn,
    tasks: Sequence[Task],
    inputs: tuple[Any, Any, Any, Any],
    from_posture: Any,
    avoidance: Avoidance | None,
    surroundings: Any,
) -> tuple[Any, Any]:
    """The cost of a configuration, and its largest error divided by the tolerance.

    Args:
        kd: the robot.
        tasks: the kinds of the targets.
        inputs: q, the targets, the weights of the rows and the inverse tolerances.
        from_posture: the part of the cost that a posture adds, or None.
        avoidance: the distances to keep, or None.
        surroundings: the values of these.
    """
    q, target, weights, inverse_tolerances = inputs
    parts = residuals_of(kd, tasks, q, target)
    e = weights * np.concatenate(parts)
    cost = e @ e if from_posture is None else e @ e + from_posture
    excess = largest_of(errors_of(parts), inverse_tolerances)
    if avoidance is None:
        return cost, excess
    penalty, least = avoidance.penalty(q, surroundings)
    return cost + penalty, avoidance.excess(excess, least, surroundings)


def step_shapes(
    kd: KinDyn, tasks: Sequence[Task], posture: bool, avoidance: Avoidance | None
) -> dict[str, Any]:
    """The shapes of the inputs of a step."""
    shapes: dict[str, Any] = {
        "q": kd.nq,
        "damping": (),
        "cost": (),
        "excess": (),
        "target": sum(task.target_size for task in tasks),
        "weights": sum(task.residual_size for task in tasks),
        "free": kd.nv,
        "inverse_tolerances": 2 * len(tasks),
    }
    if posture:
        shapes |= {"posture": kd.nq, "pull": ()}
    if avoidance is not None:
        shapes["surroundings"] = avoidance.size
    return shapes


def next_damping(damping: Any, accepted: Any) -> Any:
    """The damping after a step that was accepted or not."""
    decreased = np.maximum(DAMPING_DECREASE * damping, MIN_DAMPING)
    increased = np.minimum(DAMPING_INCREASE * damping, MAX_DAMPING)
    return np.where(accepted, decreased, increased)


def residuals_of(kd: KinDyn, tasks: Sequence[Task], q: Any, target: Any) -> list[Any]:
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


def errors_of(parts: Sequence[Any]) -> list[Any]:
    """The distance and the angle of each task; the angle is 0 for tasks without rotation."""
    pairs = [(linalg.norm(e[:3]), linalg.norm(e[3:]) if len(e) > 3 else 0.0) for e in parts]
    return [error for pair in pairs for error in pair]


def largest_of(errors: Sequence[Any], factors: Any) -> Any:
    """The largest of errors that are each multiplied by a factor."""
    largest: Any = 0.0
    for k, error in enumerate(errors):
        largest = np.maximum(largest, factors[k] * error)
    return largest


def jacobian_of(kd: KinDyn, task: Task, q: Any) -> Any:
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


def solved(J: Any, e: Any, k: Any, pull: Any, d: Any) -> Any:
    """(nv,) the solution dx of (J^T J + k) dx = J^T e + pull d; d is None without a posture."""
    if d is None:
        return _solve(J, e, k)
    base = (pull / k) * d
    return base + _solve(J, e - J @ base, k)


def clamped(bounds: Bounds, q: Any) -> Any:
    """(nq,) the nearest configuration within the limits."""
    entries: list[Any] = list(q)
    for index, lower, upper in zip(bounds.q_indices, bounds.lower, bounds.upper, strict=True):
        entries[index] = np.minimum(np.maximum(entries[index], lower), upper)
    return np.stack(entries) if entries else q
