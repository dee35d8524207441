"""The function `ik`, for one target or batches of targets, and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.collision.model import CollisionModel
from linkwork.collision.obstacles import Obstacles
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.inverse_kinematics.avoidance import surroundings_of
from linkwork.inverse_kinematics.search import Accept, Effort, Problems, Solutions, solve
from linkwork.inverse_kinematics.settings import Request, settings_of
from linkwork.inverse_kinematics.tasks import Task, as_floats, check_mapping, goal_of
from linkwork.kindyn import ConstrainedKinDyn, KinDyn
from linkwork.kindyn.constrained.assembly import TOLERANCE, assembler_of
from linkwork.kindyn.core import cached
from linkwork.kindyn.gauss_newton import Bounds, bounds_of
from linkwork.kindyn.loops import free_coordinates
from linkwork.model.geometry import Shape

ROUNDING = 1e-15  # change of a unit quaternion by normalizing it


def ik(
    kd: KinDyn | ConstrainedKinDyn,
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
    avoid: CollisionModel | None = None,
    margin: float = 0.02,
    obstacles: Obstacles | Iterable[Shape] | None = None,
    accept: Callable[[Array, Array], ArrayLike] | None = None,
    tolerance: float | Sequence[float] = 1e-6,
    max_iterations: int = 96,
    restarts: int = 64,
    seed: int = 0,
) -> IkResult:
    """Compute configurations in which frames reach their targets.

    Args:
        kd: the robot; a `ConstrainedKinDyn` if contacts with a target are constraints, too.
        targets: for each frame, by name, a pose (..., 4, 4) or a position (..., 3) in the world.
            Optional if `com` is passed.
        q0: (..., nq) start of the search; default neutral. Positions outside of the limits are
            clamped, and closed loops are closed by `assemble`. All leading axes are broadcast
            against each other.
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
        avoid: collision model of the robot, whose pairs of links are kept apart. All of its
            distances need closed forms, see `CollisionModel`.
        margin: the smallest distance [m] of these pairs, and of links to obstacles.
        obstacles: `Obstacles`, or shapes whose poses are those in the world. Batch axes are
            broadcast against those of the targets. Links that no joint moves are not compared
            with them, so a robot may stand on an obstacle.
        accept: a function of configurations (n, nq) that reach the targets, and of the rows (n,) of
            the flattened batch that they belong to. It returns (n,) whether they are acceptable; if
            not, the search starts again.
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

    Closed loops are equality constraints: a row has converged only if they are closed to the
    tolerance of `assemble`. They are also closed where a target cannot be reached, unless they
    cannot be closed at all.

    With `avoid`, a row has converged only if all distances are at least the margin. If no such
    configuration is found, the result is a compromise between the targets and the distances. With
    `accept`, a row has converged only if its configuration is accepted.

    Model parameters of `kd`, if any, have their nominal values. All computations are in float64.

    The method is Levenberg-Marquardt; the residual of a rotation is its rotation vector. All steps
    of a batch run in compiled code, on all cores.
    """
    kd, loops = _internal_robots(kd)
    targets = {} if targets is None else targets
    check_mapping(
        "targets", targets, "poses or positions by frame, as in {'tool': [0.5, 0.2, 0.6]}"
    )
    start = kd.neutral() if q0 is None else _configurations(kd, q0, "q0")
    held_joints = _names("hold", hold)
    if loops is not None:
        start = _assembled(loops, start, held_joints, bool(limits))
    held = {frame: kd.transform(frame, start) for frame in _names("fixed", fixed)}
    goal = goal_of(kd, targets, com, held)
    preferred = None if posture is None else _configurations(kd, posture, "posture")
    effort = Effort(
        _count("max_iterations", max_iterations),
        _count("restarts", restarts),
        _count("seed", seed),
        None if accept is None else _checked(accept),
    )
    surroundings = surroundings_of(kd, avoid, margin, obstacles)
    check_mapping("weights", weights or {}, "weights by frame, as in {'tool': 2.0}")
    request = Request(
        *(loops, goal.tasks, bool(limits), preferred is not None),
        None if surroundings is None else surroundings.avoidance,
        *(tuple(held_joints), tuple((weights or {}).items()), tolerance),
    )
    settings = settings_of(kd, request)
    arrays = [array for array in (start, goal.values, preferred) if array is not None]
    of_obstacles = () if surroundings is None else (surroundings.batch,)
    batch = _batch(*(array.shape[:-1] for array in arrays), *of_obstacles)
    if surroundings is not None:
        surroundings = surroundings.flat(batch)
    starts = _flat(start, batch)
    postures = None if preferred is None else _flat(preferred, batch)
    problems = Problems(
        settings,
        starts if postures is None else postures,
        _flat(goal.values, batch),
        postures,
        0.0 if preferred is None else (_weight(posture_weight) / settings.largest_weight) ** 2,
        surroundings,
    )
    solutions = solve(problems, settings.functions.bounds.clamped(starts), effort)
    return _result(problems, goal.tasks, batch, solutions, accept is not None)


def _internal_robots(kd: Any) -> tuple[KinDyn, ConstrainedKinDyn | None]:
    """Return the robot, mixed and in float64, and the same with equality constraints, if any."""
    if not isinstance(kd, (KinDyn, ConstrainedKinDyn)):
        raise ArgumentError(f"ik: expected a KinDyn, got {shown(kd)}")
    if kd.representation != "mixed" or kd.dtype != np.float64:
        kd = cached(kd, _converted)
    if isinstance(kd, KinDyn):
        return kd, kd.constrained() if kd.problem.equations else None
    for contact in kd.contacts:
        if contact.kind == "rolling":
            raise ArgumentError(f"ik: the contact of {contact.frame!r} rolls, which has no pose")
        if contact.target is None:
            hint = f"pass lw.Contact({contact.frame!r}, target=...), or fixed=[{contact.frame!r}]"
            raise ArgumentError(f"ik: the contact of {contact.frame!r} has no target; {hint}")
    return kd.kindyn, kd if kd.m else None


Robot = TypeVar("Robot", KinDyn, ConstrainedKinDyn)


def _converted(kd: Robot) -> Robot:
    return kd.replace(representation="mixed", dtype=np.float64)


def _assembled(loops: ConstrainedKinDyn, q: Array, hold: Sequence[str], limits: bool) -> Array:
    """Return configurations (..., nq) whose loops are closed as far as possible."""
    rows = bounds_of(loops.layout, limits).clamped(q.reshape(-1, q.shape[-1]))
    closed, _ = assembler_of(loops, limits).close(rows, free_coordinates(loops.problem, hold))
    return closed.reshape(q.shape)


def _result(
    problems: Problems,
    tasks: Sequence[Task],
    batch: tuple[int, ...],
    solutions: Solutions,
    has_condition: bool,
) -> IkResult:
    q = solutions.q
    errors, _, excess = problems.evaluate(q)
    reached = excess <= 1.0
    if has_condition:  # the search knows which rows it accepted
        reached &= solutions.excess <= 1.0
    errors, converged = errors.reshape(*batch, len(tasks), 2), reached.reshape(batch)
    clearance = None
    if problems.surroundings is not None:
        clearance = problems.surroundings.clearance(q).reshape(batch)
        converged = converged & (clearance >= problems.surroundings.margin)
    return IkResult(
        q.reshape(*batch, q.shape[-1]),
        np.asarray(converged),
        {task.frame: errors[..., k, 0] for k, task in enumerate(tasks)},
        {task.frame: errors[..., k, 1] for k, task in enumerate(tasks) if task.kind == "pose"},
        solutions.iterations.reshape(batch),
        _loop_errors(problems.settings.functions.loops, q, batch),
        clearance,
        problems.settings.functions.bounds,
    )


def _loop_errors(
    loops: ConstrainedKinDyn | None, q: Array, batch: tuple[int, ...]
) -> dict[str, Array]:
    if loops is None:
        return {}
    errors = np.abs(loops.error(q)).reshape(*batch, loops.m)
    return {name: errors[..., span].max(axis=-1) for name, span in loops.rows.items()}


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


def _checked(accept: Callable[[Array, Array], ArrayLike]) -> Accept:
    """Return a condition that rejects results of a user's function with another shape."""
    if not callable(accept):
        raise ArgumentError(f"accept: expected a function of (q, rows), got {shown(accept)}")

    def accepts(q: Array, rows: Array) -> Array:
        result = np.asarray(accept(q, rows))
        if result.dtype != bool or result.shape != rows.shape:
            expected = f"booleans of shape {rows.shape}"
            raise ArgumentError(f"accept: expected {expected}, got {shown(result)}")
        return result

    return accepts


def _weight(value: Any) -> float:
    weight = as_floats(value, "posture_weight")
    if weight.shape or not 0 <= weight < np.inf:
        raise ValueRangeError(f"posture_weight: expected a number >= 0, got {shown(value)}")
    return float(weight)


def _names(argument: str, value: object) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ArgumentError(f"{argument}: expected a list of names, got {shown(value)}")
    return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _batch(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Broadcast the batch axes of all arguments."""
    if len(set(shapes)) == 1:
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        message = f"batch axes of q0, targets, posture and obstacles do not broadcast: {listed}"
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
        converged: (...,) whether every target is reached within the tolerances, with closed loops
            and all distances at least the margin.
        position_errors: by frame, or "com": (...,) distance to the target [m].
        rotation_errors: by frame with a pose as target: (...,) angle to the target [rad].
        limits: by joint with limits: (...,) -1 at its lower limit, 1 at its upper limit, else 0; -1
            where both are the same.
        iterations: (...,) number of steps, from all starts together.
        loop_errors: by closed loop, constraint or contact: (...,) largest error of its equations
            [m] or [rad].
        clearance: with `avoid`: (...,) the smallest distance of links to each other and to
            obstacles [m]; else None.
        bounds: the limits that were used.
    """

    q: Array
    converged: Array
    position_errors: Mapping[str, Array]
    rotation_errors: Mapping[str, Array]
    iterations: Array
    loop_errors: Mapping[str, Array]
    clearance: Array | None
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
        return f"<IkResult: {summary(self.converged, self.position_errors, self.loop_errors)}>"


def summary(
    converged: Array, position_errors: Mapping[str, Array], loop_errors: Mapping[str, Array]
) -> str:
    """Describe how many rows have converged, and the largest errors."""
    n, good = converged.size, int(np.count_nonzero(converged))
    text = f"{good} of {n} converged" if n != 1 else f"converged={bool(good)}"
    text += f", largest distance {_largest(position_errors):.2g} m"
    is_open = _largest(loop_errors) > TOLERANCE
    return f"{text}, largest loop error {_largest(loop_errors):.2g}" if is_open else text


def _largest(errors: Mapping[str, Array]) -> float:
    return max((float(np.max(error, initial=0.0)) for error in errors.values()), default=0.0)
