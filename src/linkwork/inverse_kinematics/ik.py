"""Inverse kinematics of a robot, for one target or for batches of them, and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.inverse_kinematics.bounds import Bounds
from linkwork.inverse_kinematics.search import Effort, Found, Problems, solve
from linkwork.inverse_kinematics.settings import MOST_KEPT, settings_of
from linkwork.inverse_kinematics.tasks import Task, as_numbers, goal_of, need_mapping
from linkwork.kindyn import KinDyn

ROUNDING = 1e-15  # by which normalising may change a quaternion that is normalised


def ik(
    kd: KinDyn,
    targets: Mapping[str, ArrayLike] | None = None,
    q0: ArrayLike | None = None,
    *,
    com: ArrayLike | None = None,
    fixed: Sequence[str] = (),
    hold: Sequence[str] = (),
    posture: ArrayLike | None = None,
    posture_weight: float = 1e-2,
    weights: Mapping[str, Any] | None = None,
    limits: bool = True,
    tolerance: float | Sequence[float] = 1e-6,
    max_iterations: int = 96,
    restarts: int = 64,
    seed: int = 0,
) -> IkResult:
    """Configurations in which frames are at their targets.

    Args:
        kd: the robot.
        targets: by frame, a pose (..., 4, 4) or a position (..., 3) in the world; may be left out
            if there is a `com`.
        q0: (..., nq) where to start; neutral if not given. What is outside of the limits is moved
            to the nearest one. All leading axes are broadcast against each other.
        com: (..., 3) target of the centre of mass.
        fixed: frames that stay in the pose that they have at q0, such as feet on the ground.
        hold: joints that keep their position, and "base" for a floating base.
        posture: (..., nq) a configuration to stay near to, as far as the targets allow.
        posture_weight: of the difference to it, beside 1 for each metre and radian.
        weights: of targets, by frame or "com": a number, or two for position and rotation. They
            matter where targets cannot all be reached. 0 leaves a part out: (1, 0) for a pose asks
            for its position.
        limits: whether the result stays within the limits of the joints.
        tolerance: the largest distance [m] and angle [rad] of a target that counts as reached: one
            number for both, or two.
        max_iterations: steps from one start.
        restarts: how many random configurations to start from where q0 did not lead to a target,
            those nearest to it first. Only joints that are not held are random; a floating base
            starts as in q0.
        seed: of the random starts; the same seed gives the same result. A row of a batch gives
            what it gives alone, up to rounding.

    Returns:
        The result, for each row of the batch.

    Parameters of the robot, if it has any, have their nominal values. All is computed in float64.

    The method is Levenberg-Marquardt; the residual of a rotation is its rotation vector. All steps
    of a batch run in compiled code, on all cores.
    """
    kd = _as_computed(kd)
    targets = {} if targets is None else targets
    need_mapping(targets)
    start = kd.neutral() if q0 is None else _configurations(kd, q0, "q0")
    held = {frame: kd.transform(frame, start) for frame in _names("fixed", fixed)}
    goal = goal_of(kd, targets, com, held)
    near = None if posture is None else _configurations(kd, posture, "posture")
    effort = Effort(
        _count("max_iterations", max_iterations),
        _count("restarts", restarts),
        _count("seed", seed),
    )
    settings = settings_of(
        *(kd, goal.tasks, bool(limits), near is not None),
        *(_names("hold", hold), {} if weights is None else weights, tolerance),
    )
    batch = _batch(start, goal.numbers, near)
    starts = _flat(start, batch)
    postures = None if near is None else _flat(near, batch)
    problems = Problems(
        settings,
        starts if postures is None else postures,
        _flat(goal.numbers, batch),
        postures,
        0.0 if near is None else (_weight(posture_weight) / settings.largest) ** 2,
    )
    found = solve(problems, settings.functions.bounds.clamped(starts), effort)
    return _result(problems, goal.tasks, batch, found)


def _as_computed(kd: KinDyn) -> KinDyn:
    """The robot in the mixed representation and in float64, the same object for the same robot."""
    if not isinstance(kd, KinDyn):
        raise ArgumentError(f"ik: expected a KinDyn, got {shown(kd)}")
    if kd.representation == "mixed" and kd.dtype == np.float64:
        return kd
    return _converted(kd)


@lru_cache(maxsize=MOST_KEPT)
def _converted(kd: KinDyn) -> KinDyn:
    return kd.replace(representation="mixed", dtype=np.float64)


def _result(
    problems: Problems, tasks: Sequence[Task], batch: tuple[int, ...], found: Found
) -> IkResult:
    q = found.q
    errors, _, excess = problems.measured(q)
    errors = errors.reshape(*batch, len(tasks), 2)
    return IkResult(
        q.reshape(*batch, q.shape[-1]),
        np.asarray(excess.reshape(batch) <= 1.0),
        {task.frame: errors[..., k, 0] for k, task in enumerate(tasks)},
        {task.frame: errors[..., k, 1] for k, task in enumerate(tasks) if task.kind == "pose"},
        found.iterations.reshape(batch),
        problems.settings.functions.bounds,
    )


# Arguments.


def _configurations(kd: KinDyn, given: ArrayLike, name: str) -> Array:
    q = as_numbers(given, name)
    if q.shape[-1:] != (kd.nq,):
        raise ShapeError(f"{name}: expected (..., {kd.nq}), got {q.shape}")
    if not np.isfinite(q).all():
        raise ValueRangeError(f"{name}: is not finite")
    if kd.nq == kd.nv:
        return q  # there is nothing to normalise
    unit = kd.normalize(q)
    return np.where(abs(unit - q) <= ROUNDING, q, unit)


def _count(name: str, given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 0:
        raise ValueRangeError(f"{name}: expected a count, got {shown(given)}")
    return int(given)


def _weight(given: Any) -> float:
    weight = as_numbers(given, "posture_weight")
    if weight.shape or not 0 <= weight < np.inf:
        raise ValueRangeError(f"posture_weight: expected a number >= 0, got {shown(given)}")
    return float(weight)


def _names(what: str, given: object) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(f"{what}: expected a list of names, got {shown(given)}")
    return list(given)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _batch(*arrays: Array | None) -> tuple[int, ...]:
    shapes = [array.shape[:-1] for array in arrays if array is not None]
    if len(set(shapes)) == 1:
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise ShapeError(f"batch axes of q0, targets and posture do not fit: {listed}") from None


def _flat(array: Array, batch: tuple[int, ...]) -> Array:
    n = array.shape[-1]
    if array.shape[:-1] != batch:
        array = np.broadcast_to(array, (*batch, n))
    return np.ascontiguousarray(array).reshape(prod(batch), n)


@dataclass(frozen=True)
class IkResult:
    """A configuration for each target of a batch, and how good it is.

    Attributes:
        q: (..., nq) the configuration; the best that was found, if none reaches the target.
        converged: (...,) whether every target is reached within the tolerances.
        position_errors: by frame, or "com": (...,) distance to the target [m].
        rotation_errors: by frame with a pose as target: (...,) angle to the target [rad].
        limits: by joint with limits: (...,) -1 at its lower limit, 1 at its upper one, else 0; -1
            where both are the same.
        iterations: (...,) steps that were made, in all starts together.
        bounds: the limits that were kept.
    """

    q: Array
    converged: Array
    position_errors: Mapping[str, Array]
    rotation_errors: Mapping[str, Array]
    iterations: Array
    bounds: Bounds = field(repr=False)

    @cached_property
    def limits(self) -> Mapping[str, Array]:
        """By joint with limits, at which of them it stands."""
        return self.bounds.sides(self.q)

    @property
    def active_limits(self) -> tuple[str, ...]:
        """Joints that stand at a limit, in any row."""
        return tuple(name for name, sides in self.limits.items() if np.any(sides))

    def __repr__(self) -> str:
        n, good = self.converged.size, int(np.count_nonzero(self.converged))
        worst = max(
            (float(np.max(e, initial=0.0)) for e in self.position_errors.values()), default=0.0
        )
        summary = f"{good} of {n} converged" if n != 1 else f"converged={bool(good)}"
        return f"<IkResult: {summary}, largest distance {worst:.2g} m>"
