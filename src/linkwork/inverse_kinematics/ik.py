"""The function `ik`, for one target or batches of targets, and its result."""

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
from linkwork.inverse_kinematics.search import Effort, Problems, Solutions, solve
from linkwork.inverse_kinematics.settings import CACHE_SIZE, settings_of
from linkwork.inverse_kinematics.tasks import Task, as_floats, check_mapping, goal_of
from linkwork.kindyn import KinDyn

ROUNDING = 1e-15  # change of a unit quaternion by normalizing it


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
    """Compute configurations in which frames reach their targets.

    Args:
        kd: the robot.
        targets: for each frame, by name, a pose (..., 4, 4) or a position (..., 3) in the world.
            Optional if `com` is passed.
        q0: (..., nq) start of the search; default neutral. Positions outside of the limits are
            clamped. All leading axes are broadcast against each other.
        com: (..., 3) target of the center of mass.
        fixed: frames that keep their pose at q0, such as feet on the ground.
        hold: joints that keep their position, and "base" for a floating base.
        posture: (..., nq) preferred configuration: the result is as close to it as the targets
            allow.
        posture_weight: weight of the difference from the posture; targets have weight 1 per meter
            and radian.
        weights: weights of targets, by frame or "com": one number, or two for position and
            rotation. They matter if the targets cannot all be reached. A weight of 0 ignores that
            part: with (1, 0), only the position of a pose is a target.
        limits: whether the result stays within the joint limits.
        tolerance: the largest distance [m] and angle [rad] at which a target counts as reached: one
            number for both, or two.
        max_iterations: largest number of iterations from one start.
        restarts: number of random configurations to start from if the search from q0 fails; those
            nearest to the target are tried first. Joints that are held and a floating base start as
            in q0.
        seed: seed of the random starts; the same seed returns the same result.

    Returns:
        An `IkResult` with one entry for each row of the batch, such as `q` (..., nq) and
        `converged` (...). A row has the same result as in a call of its own, up to rounding.

    Model parameters of `kd`, if any, have their nominal values. All computations are in float64.

    The method is Levenberg-Marquardt; the residual of a rotation is its rotation vector. All steps
    of a batch run in compiled code, on all cores.
    """
    kd = _internal_robot(kd)
    targets = {} if targets is None else targets
    check_mapping(targets)
    start = kd.neutral() if q0 is None else _configurations(kd, q0, "q0")
    held = {frame: kd.transform(frame, start) for frame in _names("fixed", fixed)}
    goal = goal_of(kd, targets, com, held)
    preferred = None if posture is None else _configurations(kd, posture, "posture")
    effort = Effort(
        _count("max_iterations", max_iterations),
        _count("restarts", restarts),
        _count("seed", seed),
    )
    settings = settings_of(
        *(kd, goal.tasks, bool(limits), preferred is not None),
        *(_names("hold", hold), {} if weights is None else weights, tolerance),
    )
    batch = _batch(start, goal.values, preferred)
    starts = _flat(start, batch)
    postures = None if preferred is None else _flat(preferred, batch)
    problems = Problems(
        settings,
        starts if postures is None else postures,
        _flat(goal.values, batch),
        postures,
        0.0 if preferred is None else (_weight(posture_weight) / settings.largest_weight) ** 2,
    )
    solutions = solve(problems, settings.functions.bounds.clamped(starts), effort)
    return _result(problems, goal.tasks, batch, solutions)


def _internal_robot(kd: KinDyn) -> KinDyn:
    """The robot in the mixed representation and float64; equal robots share one object."""
    if not isinstance(kd, KinDyn):
        raise ArgumentError(f"ik: expected a KinDyn, got {shown(kd)}")
    if kd.representation == "mixed" and kd.dtype == np.float64:
        return kd
    return _converted(kd)


@lru_cache(maxsize=CACHE_SIZE)
def _converted(kd: KinDyn) -> KinDyn:
    return kd.replace(representation="mixed", dtype=np.float64)


def _result(
    problems: Problems, tasks: Sequence[Task], batch: tuple[int, ...], solutions: Solutions
) -> IkResult:
    q = solutions.q
    errors, _, excess = problems.evaluate(q)
    errors = errors.reshape(*batch, len(tasks), 2)
    return IkResult(
        q.reshape(*batch, q.shape[-1]),
        np.asarray(excess.reshape(batch) <= 1.0),
        {task.frame: errors[..., k, 0] for k, task in enumerate(tasks)},
        {task.frame: errors[..., k, 1] for k, task in enumerate(tasks) if task.kind == "pose"},
        solutions.iterations.reshape(batch),
        problems.settings.functions.bounds,
    )


# Arguments.


def _configurations(kd: KinDyn, value: ArrayLike, name: str) -> Array:
    q = as_floats(value, name)
    if q.shape[-1:] != (kd.nq,):
        raise ShapeError(f"{name}: expected (..., {kd.nq}), got {q.shape}")
    if not np.isfinite(q).all():
        raise ValueRangeError(f"{name}: is not finite")
    if kd.nq == kd.nv:
        return q  # there is nothing to normalize
    unit = kd.normalize(q)
    return np.where(abs(unit - q) <= ROUNDING, q, unit)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueRangeError(f"{name}: expected an integer >= 0, got {shown(value)}")
    return int(value)


def _weight(value: Any) -> float:
    weight = as_floats(value, "posture_weight")
    if weight.shape or not 0 <= weight < np.inf:
        raise ValueRangeError(f"posture_weight: expected a number >= 0, got {shown(value)}")
    return float(weight)


def _names(argument: str, value: object) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ArgumentError(f"{argument}: expected a list of names, got {shown(value)}")
    return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _batch(*arrays: Array | None) -> tuple[int, ...]:
    shapes = [array.shape[:-1] for array in arrays if array is not None]
    if len(set(shapes)) == 1:
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        message = f"batch axes of q0, targets and posture do not broadcast: {listed}"
        raise ShapeError(message) from None


def _flat(array: Array, batch: tuple[int, ...]) -> Array:
    n = array.shape[-1]
    if array.shape[:-1] != batch:
        array = np.broadcast_to(array, (*batch, n))
    return np.ascontiguousarray(array).reshape(prod(batch), n)


@dataclass(frozen=True)
class IkResult:
    """A configuration for each target of a batch, and its errors.

    Attributes:
        q: (..., nq) the configuration; the best one if none reaches the target.
        converged: (...,) whether every target is reached within the tolerances.
        position_errors: by frame, or "com": (...,) distance to the target [m].
        rotation_errors: by frame with a pose as target: (...,) angle to the target [rad].
        limits: by joint with limits: (...,) -1 at its lower limit, 1 at its upper limit, else 0; -1
            where both are the same.
        iterations: (...,) number of steps, from all starts together.
        bounds: the limits that were used.
    """

    q: Array
    converged: Array
    position_errors: Mapping[str, Array]
    rotation_errors: Mapping[str, Array]
    iterations: Array
    bounds: Bounds = field(repr=False)

    @cached_property
    def limits(self) -> Mapping[str, Array]:
        """By joint with limits: (...,) -1 at its lower limit, 1 at its upper limit, else 0."""
        return self.bounds.sides(self.q)

    @property
    def active_limits(self) -> tuple[str, ...]:
        """Joints that are at a limit in any row."""
        return tuple(name for name, sides in self.limits.items() if np.any(sides))

    def __repr__(self) -> str:
        n, good = self.converged.size, int(np.count_nonzero(self.converged))
        worst = max(
            (float(np.max(e, initial=0.0)) for e in self.position_errors.values()), default=0.0
        )
        summary = f"{good} of {n} converged" if n != 1 else f"converged={bool(good)}"
        return f"<IkResult: {summary}, largest distance {worst:.2g} m>"
