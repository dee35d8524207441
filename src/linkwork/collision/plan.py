"""`linkwork.plan`: collision-free paths between configurations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.collision.colliders import check_resolution, collides, configurations, number
from linkwork.collision.model import CollisionModel
from linkwork.collision.motions import Spheres
from linkwork.collision.obstacles import Obstacles, as_obstacles
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.model.geometry import Shape


@dataclass(frozen=True, eq=False)
class Plan:
    """The result of `plan`. It is true if there is a path."""

    path: Array | None
    """(n, nq) configurations from the start to a goal, with straight motions between them."""
    reason: str
    """"found", or why there is no path."""
    iterations: int
    """Iterations of the search; 0 if a straight motion was a path."""
    nodes: int
    """Nodes of both trees."""

    def __bool__(self) -> bool:
        return self.path is not None

    def __repr__(self) -> str:
        if self.path is None:
            return f"<Plan: no path, {self.reason}; {self.iterations} iterations>"
        size = f"{len(self.path)} configurations, length {self.length:.3g}"
        return f"<Plan: {size}; {self.iterations} iterations, {self.nodes} nodes>"

    @property
    def length(self) -> float:
        """The length of the path in the space of q; infinite if there is none."""
        if self.path is None:
            return float("inf")
        return float(np.linalg.norm(np.diff(self.path, axis=0), axis=-1).sum())


def plan(
    robot: CollisionModel,
    start: ArrayLike,
    goal: ArrayLike,
    obstacles: Obstacles | Iterable[Shape] = (),
    *,
    resolution: float = 0.03,
    margin: float = 0.0,
    limits: tuple[ArrayLike, ArrayLike] | None = None,
    step: float = 1.0,
    max_iterations: int = 500_000,
    shortcuts: int = 30,
    seed: int = 0,
) -> Plan:
    """Search a path from a start to a goal on which the robot does not collide.

    Args:
        robot: a robot whose shapes are spheres, with a fixed base.
        start: (nq,) configuration.
        goal: (nq,) configuration, or (n, nq): the path ends at any of them.
        obstacles: `Obstacles`, or shapes whose poses are those in the world.
        resolution: largest distance, in the space of q, of two configurations that are tested on a
            straight motion.
        margin: smallest distance [m] of moving links to obstacles, and of the links of each pair.
        limits: (nq,) lower and upper bounds of q; by default the limits of the joints. Start and
            goals may exceed them by 1e-5, as numbers in files are rounded.
        step: length of the edges of the search trees in the space of q, at least `resolution`.
        max_iterations: largest number of random configurations to extend the trees toward. All of
            them take about a second.
        shortcuts: number of random parts of the path that are replaced by straight motions where
            that is possible.
        seed: seed of the random numbers; the same arguments return the same path.

    Returns:
        A `Plan` with the path, or the reason why there is none.

    The method is RRT-Connect. It runs in C without the GIL.
    """
    if not isinstance(robot, CollisionModel):
        hint = "lw.CollisionModel(model, floating=False, shapes='spheres')"
        raise ArgumentError(f"robot: expected a CollisionModel, got {shown(robot)}; {hint}")
    collider = robot._collider  # pyright: ignore[reportPrivateUsage]
    if not isinstance(collider, Spheres) or collider.obstruction:
        raise ArgumentError(f"plan: {collider.obstruction}")
    motions = collider.motions
    settings = (
        number("resolution", resolution),
        number("margin", margin, least=0.0),
        number("step", step),
    )
    if step < resolution:
        raise ValueRangeError(f"step: expected at least the resolution, got {step:g}")
    counts = (
        _count("max_iterations", max_iterations),
        _count("shortcuts", shortcuts),
        _count("seed", seed, 2**64),
    )
    obstacles = as_obstacles(obstacles)
    q, goals = configurations(robot, "start", start, 1), configurations(robot, "goal", goal, 2)
    goals = goals if goals.ndim == 2 else goals[None]
    if not len(goals):
        raise ShapeError("goal: expected at least one configuration")
    if limits is None and motions.limits is not None:
        lower, upper, width = motions.limits
    else:
        lower, upper = _limits(robot, limits, q, goals)
        width = float((upper - lower).max())
    check_resolution(resolution, max(width, float(np.abs(goals - q).max())))

    def search(*, skips_static: bool) -> Any:
        world, options = motions.world(obstacles), (*counts, skips_static)
        return motions.run("plan", q, goals, lower, upper, world, settings, options)

    status, *where, iterations, nodes, path = search(skips_static=False)
    reason = motions.reasons.get(status, "")
    is_blocked = path is None and "start in collision" in reason and where[1] < 0
    if is_blocked and collider.fixed_links_are_free(obstacles):  # one stands on an obstacle
        status, *where, iterations, nodes, path = search(skips_static=True)
        reason = motions.reasons.get(status, "")
    if path is not None:
        return Plan(path, "found", iterations, nodes)
    if "limits" in reason:
        row = q if reason.startswith("start") else goals[0]
        reason = f"{reason}: {_outside(robot, where[0], row, lower, upper)}"
    elif "collision" in reason:
        reason = f"{reason}: {_colliding(robot, obstacles, *where)}"
        row = q if reason.startswith("start") else goals[0]
        if not collides(robot, row, obstacles, margin):
            reason = f"{reason}, nearer than single precision decides"
    else:
        reason = f"{reason} after {iterations:,} iterations"
    return Plan(None, reason, iterations, nodes)


def _colliding(robot: CollisionModel, obstacles: Obstacles, a: int, b: int, index: int) -> str:
    """Name what collides."""
    other = repr(robot.links[b]) if b >= 0 else obstacles.name_of(index)
    return f"{robot.links[a]!r} with {other}"


def _outside(robot: CollisionModel, k: int, q: Array, lower: Array, upper: Array) -> str:
    """Name the joint of a coordinate that is outside of the limits."""
    joint = next(name for name, at in robot.layout.q.items() if at.start <= k < at.stop)
    return f"{joint!r} at {q[k]:g}, limits {lower[k]:g} and {upper[k]:g}"


def _limits(robot: CollisionModel, limits: Any, start: Array, goals: Array) -> tuple[Array, Array]:
    """Finite bounds of q.

    Angles without limits may differ from the angles of start and goals by half a turn.
    """
    if limits is not None:
        if not isinstance(limits, (tuple, list)) or len(limits) != 2:
            text = "expected lower and upper bounds of q"
            raise ArgumentError(f"limits: {text}, got {shown(limits)}")
        lower, upper = (configurations(robot, "limits", bound, 1) for bound in limits)
        if (lower > upper).any():
            raise ValueRangeError("limits: a lower bound is above the upper one")
        return lower, upper
    lower, upper = robot.limits.lower, robot.limits.upper
    is_unlimited = ~np.isfinite(upper - lower)
    for name, at in robot.layout.q.items():
        if robot.model.joint(name).motion_kind.translates and is_unlimited[at].any():
            raise ArgumentError(f"limits: joint {name!r} has none; pass limits=(lower, upper)")
    ends = np.vstack([start, goals])
    nearest, farthest = ends.min(axis=0) - np.pi, ends.max(axis=0) + np.pi
    return np.where(lower > -np.inf, lower, nearest), np.where(upper < np.inf, upper, farthest)


def _count(name: str, value: Any, end: int = 2**31) -> int:
    if isinstance(value, (int, np.integer)) and 0 <= value < end:
        return int(value)
    raise ArgumentError(f"{name}: expected a number from 0 to {end - 1}, got {shown(value)}")
