"""How collisions of a robot are computed: three strategies, of which a robot has one from birth.

`Collider`      all distances are compiled (this module)
`PairQueries`   some pairs have no closed form, and are compared by `coal` (`exact/pair_queries.py`)
`Spheres`       the robot consists of spheres: many configurations, and motions, are tested in C
                first (`motions.py`)
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from linkwork.collision.closest import TOUCHING
from linkwork.collision.core import CollisionCore, kernel_of
from linkwork.collision.obstacles import Obstacles, batch_with, check_one_world
from linkwork.collision.to_obstacles import distances_to
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.kernels import QuantityKernel
from linkwork.kindyn.requests import KernelRequest

MOST_TESTS = 1e6  # configurations that are tested on one motion
ROWS = 4096  # configurations that are tested at a time without the C extension


class EdgeSettings(NamedTuple):
    """What motions are tested for."""

    obstacles: Obstacles | None
    resolution: float
    margin: float
    threads: int | None


class Collider:
    """Computes the collisions of one robot; here, all distances are compiled."""

    def __init__(self, robot: CollisionCore, obstruction: str) -> None:
        """Keep the robot; nothing is compiled before it is needed.

        Args:
            robot: the robot.
            obstruction: why motions cannot be tested in C.
        """
        self.robot = robot
        self._obstruction = obstruction

    @property
    def obstruction(self) -> str:
        """Why motions cannot be tested in C."""
        return self._obstruction

    def kernel(self, request: KernelRequest) -> QuantityKernel[Any]:
        """Build the kernel of quantities, which compiles them."""
        return KinDynCore._new_kernel(self.robot, request)  # pyright: ignore[reportPrivateUsage]

    def in_collision(self, q: Array, obstacles: Obstacles | None, threads: int | None) -> Array:
        """(rows,) whether configurations (rows, nq) collide, in double precision."""
        return collides(self.robot, q, obstacles, 0.0, threads)

    def are_free(self, starts: Array, ends: Array, settings: EdgeSettings) -> Array:
        """(rows,) whether motions are free: all configurations in batches, coarse ones first."""
        obstacles, resolution, margin, threads = settings
        kd, out = self.robot.kindyn, np.ones(len(starts), dtype=bool)
        velocity = np.asarray(kd.difference(starts, ends), np.float64)
        lengths = np.linalg.norm(velocity, axis=-1)
        check_resolution(resolution, float(lengths.max()))
        counts = np.ceil(lengths / resolution).astype(np.intp) + 1
        for fractions in _fractions(int(counts.max())):
            size = max(1, ROWS // len(out))
            for start in range(0, len(fractions), size):
                part, left = fractions[start : start + size], np.flatnonzero(out)
                for rows in np.array_split(left, max(1, -(-len(left) // ROWS))):
                    if len(rows):
                        steps = part[:, None, None] * velocity[rows]
                        q = np.asarray(kd.integrate(starts[rows], steps, 1.0))
                        is_hit = collides(self.robot, q, obstacles, margin, threads)
                        out[rows] &= ~is_hit.any(axis=0)
            if not out.any():
                break
        return out


def _fractions(count: int) -> Iterator[Array]:
    """Yield the fractions of motions that are tested: coarse ones first, and at last all others.

    Args:
        count: the largest number of configurations of a motion.
    """
    n, done = 1, np.zeros(0)
    while n < count or not len(done):  # 2, 3, 5, 9, ... configurations, then all that are left
        n = min(2 * n - 1 if n > 1 else 2, count)
        fractions = np.linspace(0.0, 1.0, max(n, 2))
        yield fractions if n >= count else np.setdiff1d(fractions, done)
        done = np.union1d(done, fractions)


def collides(
    robot: CollisionCore,
    q: Array,
    obstacles: Obstacles | None,
    margin: float,
    threads: int | None = None,
) -> Array:
    """(...) whether configurations collide, in double precision."""
    if margin == 0.0:
        result = np.asarray(kernel_of(robot, "in_collision")(q, threads=threads)) > 0.5
    else:
        distances = np.asarray(kernel_of(robot, "distances")(q, threads=threads))
        result = np.asarray(~(distances >= margin - TOUCHING).all(axis=-1))
    if obstacles is not None and obstacles.n:
        distances = distances_to(robot, q, obstacles, threads)
        margins = np.where(robot.fixed_links, 0.0, margin)  # these may stand on an obstacle
        result = result | ~(distances >= margins - TOUCHING).all(axis=(-2, -1))
    return np.asarray(result)


def configurations_collide(
    robot: CollisionCore,
    collider: Collider,
    q: Any,
    obstacles: Obstacles | None,
    threads: int | None,
) -> Array:
    """(...) whether configurations (..., nq) collide."""
    q = configurations(robot, "q", q, is_finite=False)
    if obstacles is not None and batch_with(obstacles, ()):  # one world for each configuration
        return collides(robot, q, obstacles, 0.0, threads)[()]
    rows = np.ascontiguousarray(q.reshape(-1, robot.nq))
    result = collider.in_collision(rows, obstacles, threads)
    return result.reshape(q.shape[:-1])[()]  # a bool for one row


def edges_are_free(
    robot: CollisionCore, collider: Collider, q_start: Any, q_end: Any, settings: EdgeSettings
) -> Array:
    """(...) whether straight motions are free."""
    if robot.closing_joints or robot.model.constraints:
        text = "straight motions do not keep closed loops closed; test configurations with"
        raise ArgumentError(f"check_edges: {text} in_collision instead")
    if settings.obstacles is not None:
        check_one_world(settings.obstacles)
    starts, ends = configurations(robot, "q_start", q_start), configurations(robot, "q_end", q_end)
    try:
        batch = np.broadcast_shapes(starts.shape[:-1], ends.shape[:-1])
    except ValueError:
        text = f"q_start {starts.shape} and q_end {ends.shape}"
        raise ShapeError(f"check_edges: batch axes of {text} do not broadcast") from None
    starts, ends = (
        np.ascontiguousarray(np.broadcast_to(q, (*batch, robot.nq)).reshape(-1, robot.nq))
        for q in (starts, ends)
    )
    if not len(starts):
        return np.ones(batch, dtype=bool)
    return collider.are_free(starts, ends, settings).reshape(batch)[()]


# Arguments.


def configurations(
    robot: CollisionCore,
    name: str,
    value: Any,
    axes: int | None = None,
    *,
    is_finite: bool = True,
) -> Array:
    """Convert configurations to an array (..., nq) of float64 with at most `axes` axes."""
    try:
        q = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: expected an array of numbers ({error})") from None
    nq = robot.nq
    if q.ndim < 1 or q.shape[-1] != nq or (axes is not None and q.ndim > axes):
        expected = f"({nq},)" if axes == 1 else f"(..., {nq})" if axes is None else f"(n, {nq})"
        raise ShapeError(f"{name}: expected shape {expected}, got {q.shape}")
    if is_finite and not np.isfinite(q).all():
        raise ValueRangeError(f"{name}: expected finite numbers, got NaN or infinity")
    return q


def number(name: str, value: Any, least: float | None = None) -> float:
    """Convert a finite number above 0, or of at least `least`."""
    is_number = isinstance(value, (float, int, np.integer, np.floating))
    if is_number and isfinite(value) and (value > 0.0 if least is None else value >= least):
        return float(value)
    expected = "a number above 0" if least is None else f"a number of at least {least:g}"
    raise ValueRangeError(f"{name}: expected {expected}, got {shown(value)}")


def check_resolution(resolution: float, length: float) -> None:
    """Raise if a motion of a length would be tested at too many configurations."""
    if not length <= MOST_TESTS * resolution:
        text = (
            f"a motion of length {length:g} would be tested at more than {MOST_TESTS:,.0f} points"
        )
        raise ValueRangeError(f"resolution: {resolution:g} is too small; {text}")
