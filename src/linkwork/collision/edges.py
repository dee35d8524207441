"""Tests of whole motions: configurations on the straight line between two configurations."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.collision.closest import TOUCHING
from linkwork.collision.obstacles import Obstacles
from linkwork.engine.kernel.arguments import thread_number
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown

if TYPE_CHECKING:
    from linkwork.collision.model import CollisionModel
    from linkwork.collision.motions import Motions

MOST_TESTS = 1e6  # configurations that are tested on one motion
MOST_PAD = 1e-3  # bound of the rounding errors of single precision in `motions.h` [m]
ROWS = 4096  # configurations that are tested at a time without the C extension


def motions_of(model: CollisionModel, caller: str) -> Motions:
    """The spheres of a robot, compiled; raise if its motions cannot be tested in C."""
    motions = model._motions  # pyright: ignore[reportPrivateUsage]
    if isinstance(motions, str):
        raise ArgumentError(f"{caller}: {motions}")
    return motions


class EdgeSettings(NamedTuple):
    """What motions are tested for."""

    obstacles: Obstacles | None
    resolution: float
    margin: float
    threads: int | None


def edges_are_free(
    model: CollisionModel, q_start: Any, q_end: Any, settings: EdgeSettings
) -> Array:
    """(...) whether straight motions are free."""
    obstacles, resolution, margin, threads = settings
    if model.closing_joints or model.model.constraints:
        text = "straight motions do not keep closed loops closed; test configurations with"
        raise ArgumentError(f"check_edges: {text} in_collision instead")
    starts, ends = configurations(model, "q_start", q_start), configurations(model, "q_end", q_end)
    try:
        batch = np.broadcast_shapes(starts.shape[:-1], ends.shape[:-1])
    except ValueError:
        text = f"q_start {starts.shape} and q_end {ends.shape}"
        raise ShapeError(f"check_edges: batch axes of {text} do not broadcast") from None
    starts, ends = (
        np.ascontiguousarray(np.broadcast_to(q, (*batch, model.nq)).reshape(-1, model.nq))
        for q in (starts, ends)
    )
    out = np.ones(len(starts), dtype=bool)
    if not len(out):
        return out.reshape(batch)
    motions = model._motions  # pyright: ignore[reportPrivateUsage]
    if isinstance(motions, str):
        out = _test_in_python(model, starts, ends, settings)
    else:
        check_resolution(resolution, float(np.linalg.norm(ends - starts, axis=-1).max()))
        workers, world = thread_number(threads), motions.world(obstacles)
        motions.run("free", starts, ends, world, resolution, margin, out, workers, False)
        left = np.flatnonzero(~out)
        if left.size and obstacles is not None and fixed_links_are_free(model, obstacles, margin):
            some = np.empty(len(left), dtype=bool)
            ends_left, starts_left = ends[left], starts[left]
            motions.run(
                "free", starts_left, ends_left, world, resolution, margin, some, workers, True
            )
            out[left] = some
    return out.reshape(batch) if batch else out[0]


def configurations_collide(
    model: CollisionModel, q: Any, obstacles: Obstacles | None, threads: int | None
) -> Array:
    """(...) whether links overlap each other or obstacles; True where q is not finite.

    For robots made of spheres, the C extension finds configurations that are free, and those that
    collide with certainty, in single precision. Only the others are tested in double precision.
    """
    q = configurations(model, "q", q, is_finite=False)
    rows = np.ascontiguousarray(q.reshape(-1, model.nq))
    out = np.ones(len(rows), dtype=bool)
    motions, workers = model._motions, thread_number(threads)  # pyright: ignore[reportPrivateUsage]
    doubtful = out.copy()
    if not isinstance(motions, str):
        try:
            world = motions.world(obstacles)
            motions.run("test", rows, world, 0.0, out, workers)
            flagged, certain = np.flatnonzero(out), np.empty(int(out.sum()), dtype=bool)
            band = 2.0 * MOST_PAD + 2.0 * (obstacles.rounding if obstacles is not None else 0.0)
            motions.run("test", rows[flagged], world, -band, certain, workers)
            doubtful[:] = False
            doubtful[flagged[~certain]] = True
        except ValueRangeError:  # too large for single precision
            doubtful[:] = True
    if doubtful.any():
        out[doubtful] = collides(model, rows[doubtful], obstacles, 0.0, threads)
    return out.reshape(q.shape[:-1])[()]  # a bool for one row


def _test_in_python(
    model: CollisionModel, starts: Array, ends: Array, settings: EdgeSettings
) -> Array:
    """Test the configurations of all motions in batches, coarse ones first."""
    obstacles, resolution, margin, threads = settings
    kd, out = model.kindyn, np.ones(len(starts), dtype=bool)
    velocity = np.asarray(kd.difference(starts, ends), np.float64)
    lengths = np.linalg.norm(velocity, axis=-1)
    check_resolution(resolution, float(lengths.max()))
    counts = np.ceil(lengths / resolution).astype(np.intp) + 1
    n, done = 1, np.zeros(0)
    while True:  # 2, 3, 5, 9, ... configurations of each motion, then all that are left
        n = min(2 * n - 1, int(counts.max())) if n > 1 else min(2, int(counts.max()))
        is_last = n >= counts.max()
        fractions = np.linspace(0.0, 1.0, max(n, 2))
        fractions = fractions if is_last else np.setdiff1d(fractions, done)
        for start in range(0, len(fractions), max(1, ROWS // len(out))):
            part = fractions[start : start + max(1, ROWS // len(out))]
            left = np.flatnonzero(out)
            for rows in np.array_split(left, max(1, -(-len(left) // ROWS))):
                if len(rows):
                    steps = part[:, None, None] * velocity[rows]
                    q = np.asarray(kd.integrate(starts[rows], steps, 1.0))
                    out[rows] &= ~collides(model, q, obstacles, margin, threads).any(axis=0)
        done = np.union1d(done, fractions)
        if is_last or not out.any():
            return out


def collides(
    model: CollisionModel,
    q: Array,
    obstacles: Obstacles | None,
    margin: float,
    threads: int | None = None,
) -> Array:
    """(...) whether configurations collide, in double precision."""
    if margin == 0.0:
        overlap = model._overlap(q, threads=threads)  # pyright: ignore[reportPrivateUsage]
        result = np.asarray(overlap) > 0.5
    else:
        distances = np.asarray(model.distances(q, threads=threads))
        result = np.asarray(~(distances >= margin - TOUCHING).all(axis=-1))
    if obstacles is not None and obstacles.n:
        distances = np.asarray(model.distances_to(q, obstacles, threads=threads))
        result = result | ~(distances >= margin - TOUCHING).all(axis=(-2, -1))
    return np.asarray(result)


def fixed_links_are_free(model: CollisionModel, obstacles: Obstacles | None, margin: float) -> bool:
    """Whether no link that is fixed to the world collides with obstacles, in double precision.

    Such a link may stand on an obstacle, which is nearer than single precision can decide.
    """
    fixed = [k for k, link in enumerate(model.links) if len(model.tree.path(link)) == 1]
    if obstacles is None or not obstacles.n or not fixed:
        return True
    distances = np.asarray(model.distances_to(model.kindyn.neutral(), obstacles))[:, fixed]
    return bool((distances >= margin - TOUCHING).all())


def configurations(
    model: CollisionModel,
    name: str,
    value: Any,
    axes: int | None = None,
    *,
    is_finite: bool = True,
) -> Array:
    """Configurations as an array (..., nq) of float64, checked; with at most `axes` axes."""
    try:
        q = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: expected an array of numbers ({error})") from None
    nq = model.nq
    if q.ndim < 1 or q.shape[-1] != nq or (axes is not None and q.ndim > axes):
        expected = f"({nq},)" if axes == 1 else f"(..., {nq})" if axes is None else f"(n, {nq})"
        raise ShapeError(f"{name}: expected shape {expected}, got {q.shape}")
    if is_finite and not np.isfinite(q).all():
        raise ValueRangeError(f"{name}: expected finite numbers, got NaN or infinity")
    return q


def number(name: str, value: Any, least: float | None = None) -> float:
    """A finite number above 0, or of at least `least`."""
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
