"""Inverse kinematics of a robot, for one target or for batches of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, name_not_found, shown
from linkwork.kernel.kernel import Kernel
from linkwork.kernel.rollout import Rollout
from linkwork.kindyn import KinDyn
from linkwork.kinematics.bounds import Bounds, bounds_of
from linkwork.kinematics.result import IkResult
from linkwork.kinematics.step import FIRST_DAMPING, as_free, error_kernel, step_kernel
from linkwork.kinematics.tasks import Goal, Task, goal_of
from linkwork.model.layout import BASE_NQ, BASE_NV

BLOCK = 12  # steps between two looks at which rows have converged
FEWEST_STARTS, MOST_STARTS = 2, 16  # random starts of a row that are tried together
ROUNDING = 1e-15  # by which normalising may change a quaternion that is normalised


def ik(
    kd: KinDyn,
    targets: Mapping[str, ArrayLike],
    q0: ArrayLike | None = None,
    *,
    com: ArrayLike | None = None,
    fixed: Sequence[str] = (),
    hold: Sequence[str] = (),
    posture: ArrayLike | None = None,
    posture_weight: float = 1e-2,
    weights: Mapping[str, Any] | None = None,
    limits: bool = True,
    tolerance: float = 1e-6,
    max_iterations: int = 96,
    restarts: int = 32,
    seed: int = 0,
) -> IkResult:
    """Configurations in which frames are at their targets.

    Args:
        kd: the robot.
        targets: by frame, a pose (..., 4, 4) or a position (..., 3) in the world.
        q0: (..., nq) where to start; neutral if not given. What is outside of the limits is moved
            to the nearest one. All leading axes are broadcast against each other.
        com: (..., 3) target of the centre of mass.
        fixed: frames that stay in the pose that they have at q0, such as feet on the ground.
        hold: joints that keep their position, and "base" for a floating base.
        posture: (..., nq) a configuration to stay near to, as far as the targets allow.
        posture_weight: of the difference to it, beside 1 for each metre and radian.
        weights: of targets, by frame or "com": a number, or two for position and rotation. They
            matter where targets cannot all be reached.
        limits: whether the result stays within the limits of the joints.
        tolerance: the largest distance [m] and angle [rad] of a target that counts as reached.
        max_iterations: steps from one start.
        restarts: how many random configurations to start from where q0 did not lead to a target.
            Only joints that are not held are random; a floating base starts as in q0.
        seed: of the random starts; the same seed gives the same result.

    Returns:
        The result, for each row of the batch.

    The method is Levenberg-Marquardt; the residual of a rotation is its rotation vector. All steps
    of a batch run in compiled code, on all cores.
    """
    kd = kd if kd.representation == "mixed" else kd.replace(representation="mixed")
    start = _configurations(kd, q0, "q0", kd.neutral())
    held = {frame: kd.transform(frame, start) for frame in _names("fixed", fixed)}
    goal = goal_of(kd, targets, com, held, weights or {})
    near = None if posture is None else _configurations(kd, posture, "posture", start)
    for name, value in (("tolerance", tolerance), ("posture_weight", posture_weight)):
        if not np.isfinite(value) or value < 0:
            raise ValueRangeError(f"{name}: expected a number, not negative, got {shown(value)}")
    for name, count in (("max_iterations", max_iterations), ("restarts", restarts)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueRangeError(f"{name}: expected a count, got {shown(count)}")
    search = _search(kd, goal.tasks, bool(limits), near is not None)
    batch = _batch(start, goal.numbers, near)
    rows = _Rows(
        search,
        _flat(start, batch),
        _flat(goal.numbers, batch),
        goal.weights,
        goal.scales,
        as_free(kd, _held_joints(kd, hold)),
        None if near is None else _flat(near, batch),
        float(posture_weight) ** 2,
    )
    q, errors, iterations = _solve(rows, tolerance, max_iterations, restarts, seed)
    return _result(search, goal, batch, q, errors, iterations, tolerance)


@dataclass(frozen=True)
class _Search:
    """The compiled functions of a kind of problem."""

    kd: KinDyn
    bounds: Bounds
    errors: Kernel
    rollout: Rollout


@dataclass(frozen=True)
class _Rows:
    """A batch of problems."""

    search: _Search
    q: Array  # (n, nq) where to start
    target: Array  # (n, numbers)
    weights: Array  # (rows of the residual,)
    scales: Array  # (tasks, 2) the same for distances and angles
    free: Array  # (nv,)
    posture: Array | None  # (n, nq)
    pull: float

    def taken(self, rows: Any, q: Array | None = None) -> _Rows:
        """Some of the rows, perhaps with other starts."""
        near = None if self.posture is None else self.posture[rows]
        start = self.q[rows] if q is None else q
        own = self.weights, self.scales, self.free
        return _Rows(self.search, start, self.target[rows], *own, near, self.pull)

    def errors(self, q: Array) -> Array:
        """(n, tasks, 2) distances and angles."""
        return self.search.errors(q, self.target)

    def badness(self, errors: Array, tolerance: float) -> Array:
        """(n,) the weighted sum of squares of errors; 0 where all targets are reached."""
        weighted = (errors * self.scales) ** 2
        return np.where(_reached(errors, tolerance), 0.0, weighted.sum(axis=(1, 2)))

    def stepped(self, q: Array, damping: Array, steps: int, pull: float) -> tuple[Array, Array]:
        """Configurations and damping after some steps."""
        params: dict[str, Any] = {
            "target": self.target,
            "weights": self.weights,
            "free": self.free,
        }
        if self.posture is not None:
            params |= {"posture": self.posture, "pull": np.array(pull)}
        return self.search.rollout((q, damping), params=params, steps=steps, final=True)


_known: WeakKeyDictionary[KinDyn, dict[Any, _Search]] = WeakKeyDictionary()


def _search(kd: KinDyn, tasks: tuple[Task, ...], limits: bool, posture: bool) -> _Search:
    """The functions for some tasks, made once for each robot."""
    made = _known.setdefault(kd, {})
    key = tasks, limits, posture
    if key not in made:
        bounds = bounds_of(kd.layout)
        if not limits:
            none = np.zeros(0, dtype=np.intp)
            bounds = Bounds(none, none, np.zeros(0), np.zeros(0), ())
        step = step_kernel(kd, tasks, bounds, posture)
        made[key] = _Search(kd, bounds, error_kernel(kd, tasks), Rollout(step))
    return made[key]


def _solve(
    rows: _Rows, tolerance: float, max_iterations: int, restarts: int, seed: int
) -> tuple[Array, Array, Array]:
    """The best configurations (n, nq), their errors (n, tasks, 2), and how many steps it took."""
    first = rows.search.bounds.clamped(rows.q)
    q, errors, iterations = _searched(rows, first, tolerance, max_iterations)
    rng = np.random.default_rng(seed)
    tried, together = 0, FEWEST_STARTS
    while tried < restarts:
        left = np.flatnonzero(~_reached(errors, tolerance))
        if not left.size:
            break
        count = min(together, restarts - tried)
        tried, together = tried + count, min(2 * together, MOST_STARTS)
        again = np.repeat(left, count)
        starts = _random_starts(rows, again, rng)
        # the later ones without the pull of a posture, which may keep them from the target
        some = rows.taken(again) if 2 * tried <= restarts else replace(rows.taken(again), pull=0.0)
        q_new, errors_new, steps = _searched(some, starts, tolerance, max_iterations)
        best = _best(rows, errors_new, q_new, left, count, tolerance)
        better = rows.badness(errors_new[best], tolerance) < rows.badness(errors[left], tolerance)
        q[left[better]], errors[left[better]] = q_new[best][better], errors_new[best][better]
        iterations[left] += steps.reshape(left.size, count).sum(axis=1)
    for span in _held_spans(rows):  # free of what normalising quaternions rounds
        q[:, span] = first[:, span]
    return q, errors, iterations


def _searched(
    rows: _Rows, q: Array, tolerance: float, max_iterations: int
) -> tuple[Array, Array, Array]:
    """Search from one start for each row, first with the posture and then without it."""
    q, iterations = q.copy(), np.zeros(len(q), dtype=np.int64)
    stages = [rows.pull, 0.0] if rows.posture is not None and rows.pull else [0.0]
    for pull in stages:
        damping = np.full(len(q), FIRST_DAMPING)
        # a posture pulls away from the targets: with it, all steps are made
        open_rows = (
            np.arange(len(q)) if pull else np.flatnonzero(~_reached(rows.errors(q), tolerance))
        )
        for done in range(0, max_iterations, BLOCK):
            if not open_rows.size:
                break
            steps = min(BLOCK, max_iterations - done)
            some = rows.taken(open_rows)
            q[open_rows], damping[open_rows] = some.stepped(
                q[open_rows], damping[open_rows], steps, pull
            )
            iterations[open_rows] += steps
            if not pull:
                open_rows = open_rows[~_reached(some.errors(q[open_rows]), tolerance)]
    return q, rows.errors(q), iterations


def _reached(errors: Array, tolerance: float) -> Array:
    """(n,) whether all targets are reached."""
    return np.asarray((errors <= tolerance).all(axis=(1, 2)))


def _best(  # noqa: PLR0917
    rows: _Rows, errors: Array, q: Array, left: Array, count: int, tolerance: float
) -> Array:
    """The index of the best start of each row: it reaches the targets, and is near the first q."""
    badness = rows.badness(errors, tolerance).reshape(left.size, count)
    near = rows.q if rows.posture is None else rows.posture
    away = np.linalg.norm(rows.search.kd.difference(near[np.repeat(left, count)], q), axis=-1)
    away = away.reshape(left.size, count)
    least = badness.min(axis=1, keepdims=True)
    chosen = np.where(badness <= least, away, np.inf).argmin(axis=1)
    return np.arange(left.size) * count + chosen


def _random_starts(rows: _Rows, again: Array, rng: np.random.Generator) -> Array:
    """Joints at random, as far as they are free; a floating base as it is."""
    kd = rows.search.kd
    random = kd.random(len(again), seed=int(rng.integers(2**63)))
    starts = rows.search.bounds.clamped(rows.q[again])
    for name, span in kd.layout.q.items():
        if rows.free[kd.layout.nu[name]].all():
            starts[:, span] = random[:, span]
    return rows.search.bounds.clamped(starts)


def _held_spans(rows: _Rows) -> list[slice]:
    """The numbers of q that do not move."""
    layout = rows.search.kd.layout
    spans = [layout.q[name] for name, at in layout.nu.items() if not rows.free[at].any()]
    if layout.floating and not rows.free[:BASE_NV].any():
        spans.append(slice(0, BASE_NQ))
    return spans


def _result(  # noqa: PLR0917
    search: _Search,
    goal: Goal,
    batch: tuple[int, ...],
    q: Array,
    errors: Array,
    iterations: Array,
    tolerance: float,
) -> IkResult:
    bounds, tasks = search.bounds, goal.tasks
    at = q[:, bounds.at_q]
    sides = (at >= bounds.upper).astype(np.int8) - (at <= bounds.lower).astype(np.int8)
    return IkResult(
        q.reshape(*batch, q.shape[-1]),
        _reached(errors, tolerance).reshape(batch),
        {task.frame: errors[:, k, 0].reshape(batch) for k, task in enumerate(tasks)},
        {
            task.frame: errors[:, k, 1].reshape(batch)
            for k, task in enumerate(tasks)
            if task.kind == "pose"
        },
        {name: sides[:, k].reshape(batch) for k, name in enumerate(bounds.names)},
        iterations.reshape(batch),
    )


# Arguments.


def _configurations(kd: KinDyn, given: ArrayLike | None, name: str, otherwise: Array) -> Array:
    if given is None:
        return otherwise
    q = np.asarray(given, dtype=float)
    if q.shape[-1:] != (kd.nq,):
        raise ShapeError(f"{name}: expected (..., {kd.nq}), got {q.shape}")
    if not np.isfinite(q).all():
        raise ValueRangeError(f"{name}: is not finite")
    unit = kd.normalize(q)
    return np.where(abs(unit - q) <= ROUNDING, q, unit)


def _names(what: str, given: object) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(f"{what}: expected a list of names, got {shown(given)}")
    return list(given)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _held_joints(kd: KinDyn, given: object) -> list[str]:
    names = _names("hold", given)
    known = [*["base"] * kd.floating, *kd.joint_names]
    for name in names:
        if name not in known:
            raise name_not_found("joint", name, known)
    return names


def _batch(*arrays: Array | None) -> tuple[int, ...]:
    shapes = [array.shape[:-1] for array in arrays if array is not None]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise ShapeError(f"batch axes of q0, targets and posture do not fit: {listed}") from None


def _flat(array: Array, batch: tuple[int, ...]) -> Array:
    n = array.shape[-1]
    return np.ascontiguousarray(np.broadcast_to(array, (*batch, n)).reshape(-1, n))
