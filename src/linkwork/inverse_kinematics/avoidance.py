"""Distances that a search keeps: between links, and from links to obstacles.

Each pair of links, and each link with each obstacle, adds a residual to the cost:

    r = WEIGHT max(0, margin + SLACK - d)

with its distance d. The search aims a little farther than the margin, so that it arrives there
after finitely many steps. A solution counts only if all distances are at least the margin.

Obstacles are inputs of the compiled step, in blocks of four of a kind. A step takes up to
MAX_OBSTACLES of a kind. If there are more, each row of a batch takes those nearest to its robot,
which are selected again every few steps. In the same way, a step takes one sphere of each link of a
pair if links consist of many spheres. The last check is that of all obstacles and spheres.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.collision.closest import TINY, TOUCHING
from linkwork.collision.distances import NEAREST_SPHERES
from linkwork.collision.model import CollisionModel
from linkwork.collision.obstacles import BLOCK, WIDTHS, Obstacles, as_obstacles
from linkwork.collision.shapes import CLOSED_FORMS, uncompiled
from linkwork.collision.to_obstacles import DISTANCES_TO
from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ValueRangeError, counted, shown
from linkwork.inverse_kinematics.tasks import as_floats
from linkwork.kindyn import KinDyn
from linkwork.kindyn.core import cached
from linkwork.model.geometry import Shape, Sphere

if TYPE_CHECKING:
    from linkwork.kindyn.core import KinDynCore

WEIGHT = 2.0  # of a distance in the cost, in which targets have weight 1 per meter and radian
SLACK = 5e-4  # the search aims at distances this much above the margin [m]
MAX_OBSTACLES = 8  # of a kind that a step takes
MAX_SPHERES = 300  # pairs of spheres that a step takes without a selection
SAMPLES = 500  # random configurations in which a margin that cannot be kept is found
# Obstacles that fill the last block: too far away to matter.
_FAR = {
    "spheres": (1e9, 0.0, 0.0, 0.0),
    "capsules": (1e9, 0.0, 0.0, 1e9, 0.0, 0.0, 0.0),
    "boxes": (1e9, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0),
    "half_spaces": (0.0, 0.0, 1.0, -1e9),
}


@dataclass(frozen=True)
class AvoidingRobot:
    """A collision model in the mixed representation and float64, and what is known about it."""

    model: CollisionModel

    @cached_property
    def n_spheres(self) -> int:
        """The number of values of the spheres that are nearest; 0 if a step takes all shapes."""
        model = self.model
        shapes = {link.name: [s.geometry for s in link.collisions] for link in model.model.links}
        of_pairs = [shapes[link] for pair in model.pairs for link in pair]
        if not all(isinstance(geometry, Sphere) for group in of_pairs for geometry in group):
            return 0
        n_pairs = sum(len(shapes[a]) * len(shapes[b]) for a, b in model.pairs)
        return 7 * len(model.pairs) if n_pairs > MAX_SPHERES else 0

    @cached_property
    def moving(self) -> tuple[int, ...]:
        """Indices of the links that joints can move: steps keep these away from obstacles."""
        kd = self.model.kindyn
        return tuple(
            k
            for k, link in enumerate(self.model.links)
            if kd.floating or np.any(kd.jacobian(link, kd.random(seed=0)))
        )

    @cached_property
    def largest_distances(self) -> Array:
        """(pairs,) the largest distances in random configurations."""
        q = self.model.kindyn.random(SAMPLES, seed=0)
        return np.asarray(self.model.distances(q)).max(axis=0)

    @cached_property
    def penalty_kernels(self) -> dict[Avoidance, Kernel]:
        """The compiled functions of `penalty_kernel`."""
        return {}


class Avoidance(NamedTuple):
    """The pairs of links and the number of obstacles that a compiled step considers.

    Its values are one array for each row: the margin, the nearest spheres of each pair if links
    consist of many, then the obstacles kind by kind.
    """

    robot: AvoidingRobot
    counts: tuple[tuple[str, int], ...] = ()  # obstacles of a kind, a multiple of BLOCK

    @property
    def size(self) -> int:
        """The number of values."""
        return 1 + self.robot.n_spheres + sum(n * WIDTHS[kind] for kind, n in self.counts)

    def residuals(self, q: Any, values: Any) -> tuple[Any, Any]:
        """Return the residuals (n,), and the Jacobian (n, nv) that lowers them, traced."""
        d, J = self._all("", q, values), self._all("_jacobian", q, values)
        r = self._of(d, values)
        return r, np.where(r > 0.0, WEIGHT, 0.0)[:, None] * J

    def penalty(self, q: Any, values: Any) -> tuple[Any, Any]:
        """Return the sum of squares of the residuals, and the smallest distance, traced."""
        d = self._all("", q, values)
        r = self._of(d, values)
        least: Any = np.inf
        for entry in d:
            least = np.where(entry >= least, least, entry)
        return r @ r, least

    def excess(self, excess: Any, least: Any, values: Any) -> Any:
        """Return the excess; at least 2 where the smallest distance is below the margin."""
        return np.where(least >= values[..., 0] - TOUCHING, excess, np.maximum(excess, 2.0))

    def _of(self, d: Any, values: Any) -> Any:
        return WEIGHT * np.maximum(values[0] + SLACK - d, 0.0)

    def _all(self, suffix: str, q: Any, values: Any) -> Any:
        """Return distances (n,), or with the suffix of derivatives (n, nv)."""
        robot, start = self.robot.model, 1 + self.robot.n_spheres
        parts: list[Any] = []
        if self.robot.n_spheres:
            parts.append(self._of_spheres(suffix, q, values[1:start].reshape(-1, 7)))
        elif robot.pairs:
            parts.append(robot.distance_jacobian(q) if suffix else robot.distances(q))
        for kind, n in self.counts:
            kernel = robot.function(f"distances_to_{kind}{suffix}")  # pyright: ignore[reportArgumentType]
            width = BLOCK * WIDTHS[kind]
            for _ in range(n // BLOCK):
                block = values[start : start + width].reshape(BLOCK, WIDTHS[kind])
                start += width
                links = kernel(q, block)[:, list(self.robot.moving)]
                parts.append(links.reshape(-1, *links.shape[2:]))
        return np.concatenate(parts)

    def _of_spheres(self, suffix: str, q: Any, spheres: Any) -> Any:
        """Return distances of one sphere of each link of a pair, or their derivatives."""
        kd = self.robot.model.kindyn
        rows: list[Any] = []
        for (first, second), sphere in zip(self.robot.model.pairs, spheres, strict=True):
            H, G = kd.transform(first, q), kd.transform(second, q)
            a, b = H[:3, :3] @ sphere[:3], G[:3, :3] @ sphere[3:6]  # from the origins of the links
            between = G[:3, 3] + b - H[:3, 3] - a
            distance = np.sqrt(np.maximum(between @ between, TINY))
            if not suffix:
                rows.append(distance - sphere[6])
                continue
            n = between / distance
            J, K = kd.jacobian(first, q), kd.jacobian(second, q)
            row = n @ (K[:3] - J[:3]) + np.cross(b, n) @ K[3:] - np.cross(a, n) @ J[3:]
            rows.append(row)
        return np.stack(rows)


def penalty_kernel(avoidance: Avoidance) -> Kernel:
    """Return a function from q and the values to the cost and the smallest distance."""
    kernels = avoidance.robot.penalty_kernels
    if avoidance not in kernels:

        @compile_function(q=avoidance.robot.model.nq, values=avoidance.size)
        def penalty(q: Any, values: Any) -> Any:
            return avoidance.penalty(q, values)

        kernels[avoidance] = penalty
    return kernels[avoidance]


@dataclass(frozen=True)
class Surroundings:
    """What the rows of a batch keep away from."""

    avoidance: Avoidance
    margin: float
    obstacles: dict[str, Array]  # by kind: (n, width), or (rows, n, width)
    fixed: Array  # () or (rows,) overlap of links that no joint moves with obstacles, else infinity

    def select(self, rows: Array) -> Surroundings:
        """Select some rows, which may be repeated."""
        some = {k: x[rows] if x.ndim == 3 else x for k, x in self.obstacles.items()}
        fixed = self.fixed[rows] if self.fixed.ndim else self.fixed
        return Surroundings(self.avoidance, self.margin, some, fixed)

    @property
    def is_selected(self) -> bool:
        """Whether there are more obstacles or spheres than a step takes."""
        return self.avoidance.robot.n_spheres > 0 or any(
            self.obstacles[kind].shape[-2] > n for kind, n in self.avoidance.counts
        )

    def values(self, q: Array) -> Array:
        """Return the values (size,) or (rows, size) of a step at configurations (rows, nq)."""
        parts = [np.array([self.margin])]
        if self.avoidance.robot.n_spheres:
            kernel = self.avoidance.robot.model.function(NEAREST_SPHERES.name)  # pyright: ignore[reportArgumentType]
            parts.append(np.asarray(kernel(q)).reshape(len(q), self.avoidance.robot.n_spheres))
        for kind, n in self.avoidance.counts:
            rows = self.obstacles[kind]
            if rows.shape[-2] > n:
                rows = self._nearest(kind, q, n)
            far = np.broadcast_to(_FAR[kind], (*rows.shape[:-2], n - rows.shape[-2], WIDTHS[kind]))
            rows = np.concatenate([rows, far], axis=-2)
            parts.append(rows.reshape(*rows.shape[:-2], n * WIDTHS[kind]))
        batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
        parts = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts]
        return np.concatenate(parts, axis=-1)

    def penalties(self, q: Array) -> Array:
        """Return costs of configurations (m, nq) or (rows, m, nq), which broadcast to (rows, m)."""
        kernel = penalty_kernel(self.avoidance)
        if not self.is_selected:
            values = self.values(q)
            return kernel(q, values[:, None] if values.ndim == 2 else values)[0]
        each = self
        for rows in (len(x) for x in self.obstacles.values() if x.ndim == 3):
            q = np.broadcast_to(q, (rows, *q.shape[-2:]))
            each = self.select(np.repeat(np.arange(rows), q.shape[-2]))
        flat = q.reshape(-1, q.shape[-1])
        return kernel(flat, each.values(flat))[0].reshape(q.shape[:-1])

    def _nearest(self, kind: str, q: Array, n: int) -> Array:
        """Return the obstacles (rows, n, width) nearest to the robot in each row."""
        d = self._to_obstacles(kind, q).min(axis=-1)
        indices = np.argpartition(d, n - 1, axis=-1)[..., :n]
        rows = np.broadcast_to(self.obstacles[kind], (*d.shape, WIDTHS[kind]))
        return np.take_along_axis(rows, indices[..., None], axis=-2)

    def _to_obstacles(self, kind: str, q: Array) -> Array:
        """Return distances (rows, n, links) of the moving links to all obstacles of a kind."""
        rows: Any = {kind: self.obstacles[kind]}
        world = Obstacles(**rows)
        return self.avoidance.robot.model.distances_to(q, world)[
            ..., list(self.avoidance.robot.moving)
        ]

    def clearance(self, q: Array) -> Array:
        """Return the smallest distance (rows,) [m] at configurations (rows, nq)."""
        robot = self.avoidance.robot.model
        least = np.broadcast_to(self.fixed, len(q))
        if robot.pairs:
            least = np.minimum(least, robot.distances(q).min(axis=-1))
        for kind in self.obstacles:
            least = np.minimum(
                least, self._to_obstacles(kind, q).min(axis=(-2, -1), initial=np.inf)
            )
        return least

    def keeps_margin(self, q: Array) -> Array:
        """Return whether all distances are at least the margin, (rows,)."""
        return self.clearance(q) >= self.margin - TOUCHING

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch axes of the obstacles."""
        return np.broadcast_shapes(*(x.shape[:-2] for x in self.obstacles.values()))

    def flat(self, batch: tuple[int, ...]) -> Surroundings:
        """Return the same surroundings for a batch in one axis."""
        flat: dict[str, Array] = {}
        for kind, rows in self.obstacles.items():
            flat[kind] = rows
            if rows.ndim > 2:
                tail = rows.shape[-2:]
                flat[kind] = np.broadcast_to(rows, (*batch, *tail)).reshape(-1, *tail)
        fixed = np.broadcast_to(self.fixed, batch).reshape(-1) if self.fixed.ndim else self.fixed
        return Surroundings(self.avoidance, self.margin, flat, fixed)


# Arguments.


def surroundings_of(
    kd: KinDyn, avoid: Any, margin: Any, obstacles: Obstacles | Iterable[Shape] | None
) -> Surroundings | None:
    """Check the arguments of `ik` about collisions.

    Args:
        kd: the robot, in the mixed representation and float64.
        avoid: its collision model, or None.
        margin: the smallest distance [m].
        obstacles: `Obstacles`, shapes or None.
    """
    if avoid is None:
        if obstacles is not None:
            text = "obstacles: they are compared with the shapes of a robot"
            raise ArgumentError(f"{text}; pass avoid=lw.CollisionModel(kd), too")
        return None
    if not isinstance(avoid, CollisionModel):
        raise ArgumentError(f"avoid: expected a CollisionModel, got {shown(avoid)}")
    _check_same_robot(kd, avoid)
    value = as_floats(margin, "margin")
    if value.shape or not 0.0 <= value < np.inf:
        raise ValueRangeError(f"margin: expected a number >= 0 [m], got {shown(margin)}")
    robot, world = cached(avoid, _avoiding), as_obstacles(() if obstacles is None else obstacles)
    _check_margin(robot, float(value))
    rows: dict[str, Array] = {}
    for kind in DISTANCES_TO:
        listed = world.rows(kind)
        if listed.shape[-2]:
            _check_compiled(robot, kind)
            rows[kind] = listed
    if not robot.model.pairs and not rows:
        raise ArgumentError("avoid: the collision model has no pairs, and there are no obstacles")
    counts = tuple((kind, _count(x.shape[-2])) for kind, x in rows.items())
    fixed = _fixed_overlap(robot, world)
    return Surroundings(Avoidance(robot, counts), float(value), rows, fixed)


def _fixed_overlap(robot: AvoidingRobot, obstacles: Obstacles) -> Array:
    """Return the distance (...) of links that no joint moves to obstacles; infinite if free.

    Raises:
        ValueRangeError: one overlaps an obstacle without batch axes.
    """
    fixed = [k for k in range(len(robot.model.links)) if k not in robot.moving]
    if not fixed or not obstacles.n:
        return np.array(np.inf)
    distances = robot.model.distances_to(robot.model.kindyn.neutral(), obstacles)[..., fixed]
    if distances.ndim == 2 and not (distances >= -TOUCHING).all():
        row, column = np.unravel_index(np.argmin(distances), distances.shape)
        link, obstacle = robot.model.links[fixed[int(column)]], obstacles.name_of(int(row))
        text = f"{link!r}, which no joint moves, overlaps {obstacle}"
        raise ValueRangeError(f"obstacles: {text} by {-distances.min():.3g} m")
    least = distances.min(axis=(-2, -1))
    return np.where(least >= -TOUCHING, np.inf, least)


def _count(n: int) -> int:
    """Return the number of obstacles of a kind in a step that considers n of them."""
    return BLOCK if n <= BLOCK else MAX_OBSTACLES


def _check_same_robot(kd: KinDynCore, avoid: CollisionModel) -> None:
    """Reject a collision model whose configurations are not those of the robot."""
    same = ("base", "floating", "base_pose", "cut")
    for name in same:
        if getattr(kd, name) != getattr(avoid, name):
            values = f"{shown(getattr(avoid, name))}, the robot {shown(getattr(kd, name))}"
            raise ArgumentError(f"avoid: the collision model has {name} {values}")
    if kd.model.joints != avoid.model.joints:
        text = f"avoid: the joints of {avoid.model.name!r} differ from those of {kd.model.name!r}"
        raise ArgumentError(f"{text}; create it from the same model: lw.CollisionModel(kd)")


def _check_compiled(robot: AvoidingRobot, kind: str) -> None:
    """Reject links whose distances to a kind of obstacles have no closed form."""
    model = robot.model
    compiled = model.problem.compiled_links[kind]
    others = [model.links[k] for k in robot.moving if model.links[k] not in compiled]
    if others:
        what = f"the distance of {others[0]!r} to {kind.replace('_', '-')}"
        raise ArgumentError(f"avoid: {what} has no closed form; {CLOSED_FORMS}")


def _avoiding(avoid: CollisionModel) -> AvoidingRobot:
    """Convert a collision model; reject pairs without a closed form."""
    exact = uncompiled(avoid.model, avoid.pairs)
    if exact:
        a, b = exact[0]
        n = counted(len(exact), "pair")
        text = f"avoid: the distances of {n} have no closed form, such as {a!r} and {b!r}"
        raise ArgumentError(f"{text}; {CLOSED_FORMS}")
    if avoid.representation == "mixed" and avoid.dtype == np.float64:
        return AvoidingRobot(avoid)
    return AvoidingRobot(avoid.replace(representation="mixed", dtype=np.float64))


def _check_margin(robot: AvoidingRobot, margin: float) -> None:
    """Reject a margin that some pair never keeps."""
    pairs = robot.model.pairs
    largest = robot.largest_distances.tolist() if pairs else []
    for (a, b), distance in zip(pairs, largest, strict=True):
        if distance < margin - TOUCHING:
            text = f"margin: {a!r} and {b!r} are at most {distance:.3g} m apart"
            hint = "reduce the margin, or omit the pair: lw.CollisionModel(kd, pairs=...)"
            raise ValueRangeError(f"{text} in {SAMPLES} random configurations; {hint}")
