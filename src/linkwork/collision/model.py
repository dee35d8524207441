"""`CollisionModel`: distances of a robot's links to each other and to obstacles."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.collision import distances as algorithms
from linkwork.collision.obstacles import Obstacles, as_obstacles, in_blocks
from linkwork.collision.pair_queries import PairQueries, distances_to
from linkwork.collision.pairs import (
    LinkPairs,
    check_spheres,
    excluded_pairs,
    link_pairs,
    named_pairs,
    pairs_by_shapes,
    refined_spheres,
    without_constant_overlap,
)
from linkwork.collision.queries import Meshes, ShapeQueries
from linkwork.collision.shapes import (
    CLOSED_FORMS,
    CollisionProblem,
    links_with_shapes,
    uncompiled,
)
from linkwork.collision.to_obstacles import DISTANCES_TO
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array, ObjectArray, as_array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.io.srdf.reader import load_srdf
from linkwork.kindyn import KinDyn
from linkwork.kindyn.core import KinDynCore, options_of_call
from linkwork.kindyn.inputs import INPUTS
from linkwork.kindyn.kernels import KernelRequest, QuantityKernel
from linkwork.kindyn.quantities import COLLISION, TABLES, Quantity, quantity, with_context
from linkwork.model.geometry import Shape
from linkwork.model.model import Model

if TYPE_CHECKING:
    from os import PathLike

    from linkwork.collision.motions import Motions
    from linkwork.collision.spheres import Spherization

NEAREST_SPHERES = f"{COLLISION}nearest_spheres"  # a quantity of robots that consist of spheres
MANY_ROWS = 1000  # for which robots made of spheres are tested in single precision first
_TRUE, _FALSE = np.bool_(True), np.bool_(False)
Pairs: TypeAlias = Literal["all", "srdf"] | Iterable[tuple[str, str]]


class WitnessPoints(NamedTuple):
    """Closest points of pairs of links, in the world."""

    first: Array  # (..., n, 3) on the first link
    second: Array  # (..., n, 3) on the second link
    normal: Array  # (..., n, 3) unit vectors from the first to the second


def _candidates(model: Model, pairs: Any, srdf: Any) -> LinkPairs:
    """The pairs that the argument `pairs` names, and for "all" also those that always overlap."""
    if not isinstance(pairs, str):
        return named_pairs(pairs, model)
    if pairs not in ("all", "srdf"):
        text = "expected 'all', 'srdf' or a list of pairs of links"
        raise ArgumentError(f"pairs: {text}, got {shown(pairs)}")
    if pairs == "all" and srdf is not None:
        raise ArgumentError("srdf: only with pairs='srdf'")
    if pairs == "srdf":
        srdf = model.srdf if srdf is None else srdf
        if srdf is None:
            raise ArgumentError("pairs='srdf': the model was loaded without one; pass srdf=path")
    candidates = link_pairs(model, links_with_shapes(model))
    if srdf is None:
        return candidates
    disabled = load_srdf(srdf, model).disabled_pairs
    return tuple(pair for pair in candidates if frozenset(pair) not in disabled)


def _prepared(
    kd: KinDyn, shapes: Any, pairs: Any, srdf: Any, queries: ShapeQueries
) -> tuple[Model, LinkPairs]:
    """The robot with the shapes that are compared, and its pairs of links."""
    candidates, is_selected = _candidates(kd.model, pairs, srdf), isinstance(pairs, str)
    if isinstance(shapes, str) and shapes == "collision":
        if is_selected and pairs == "all":
            return kd.model, without_constant_overlap(kd, candidates, queries)
        return kd.model, candidates
    from linkwork.collision.spheres import Spherization

    is_refined = isinstance(shapes, str) and shapes == "spheres"
    if is_refined:
        shapes = refined_spheres(kd, candidates)
    elif not isinstance(shapes, Spherization):
        text = "expected 'collision', 'spheres' or the result of lw.spherize"
        raise ArgumentError(f"shapes: {text}, got {shown(shapes)}")
    check_spheres(shapes, kd.model)
    if is_selected and pairs == "all":
        candidates = pairs_by_shapes(kd, shapes, candidates, is_refined=is_refined)
    return shapes.model, candidates


def _n_pairs(problem: CollisionProblem) -> int:
    return len(problem.pairs)


class CollisionModel(KinDynCore):
    """The collision shapes of a robot, as compiled functions of q.

    Calling rules, arguments and representations are those of `KinDyn`. Distances are signed: where
    shapes overlap, they are the negative of the penetration depth. The distance of two links is the
    smallest of those of their shapes.

    Spheres, capsules, boxes and cylinders are compiled where a closed form exists (spheres and
    capsules with each other and with boxes, cylinders with spheres). Other pairs, and meshes, which
    stand for their convex hulls, are computed by the package `coal`, one row after another.

    Args:
        model: a `Model`, or a `KinDyn` whose options are used.
        base: as of `KinDyn`.
        shapes: "collision" for the collision shapes of the links; "spheres" for spheres that cover
            them and protrude by up to 2 cm, less where links would otherwise seem to overlap; or
            spheres that `spherize` returned.
        meshes: what a mesh of a collision shape stands for: "hull" for its convex hull, with a
            warning if it is not convex, "triangles" for its surface. Triangles of meshes that are
            not convex have no penetration depth: distances are NaN where they intersect.
        pairs: the links that are checked against each other. "all" are those that a joint moves
            relative to each other, except links that a joint connects and those that overlap in
            all of many random configurations; "srdf" are those that an SRDF file does not disable;
            or a list of pairs of names. Spheres do not change the pairs: the shapes that they
            cover are compared.
        exclude: pairs of names that are not checked, whatever `pairs` selects.
        srdf: path of the SRDF file; default that of the model, `model.srdf`.
        options: as of `KinDyn`.
    """

    pairs: tuple[tuple[str, str], ...]
    meshes: Meshes
    shape_queries: ShapeQueries  # distances of shapes that have no closed form
    _pair_queries: PairQueries | None  # of pairs that have none; chosen when the model is created

    _PREFIX = COLLISION
    _OPTIONS = (*KinDynCore._OPTIONS, "pairs", "meshes")

    def __init__(
        self,
        model: Model | KinDynCore,
        base: str | None = None,
        *,
        shapes: Literal["collision", "spheres"] | Spherization = "collision",
        meshes: Meshes = "hull",
        pairs: Pairs = "all",
        exclude: Iterable[tuple[str, str]] = (),
        srdf: str | PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        if isinstance(model, KinDynCore):
            names = [name for name in KinDynCore._OPTIONS if name != "base"]
            options = {**{name: getattr(model, name) for name in names}, **options}
            base = model.base if base is None else base
            model = model.model
        queries = ShapeQueries(meshes)
        kd = KinDyn(model, base, **options)
        model, selected = _prepared(kd, shapes, pairs, srdf, queries)
        left_out = excluded_pairs(exclude, model)
        selected = tuple(pair for pair in selected if frozenset(pair) not in left_out)
        super().__init__(model, **kd.options)
        self.__dict__.update(pairs=selected, meshes=meshes, shape_queries=queries)
        is_compiled = not uncompiled(model, selected)
        self.__dict__["_pair_queries"] = None if is_compiled else PairQueries(self, queries)

    def _new_kernel(self, request: KernelRequest) -> QuantityKernel[Any]:
        if self._pair_queries is not None and self._pair_queries.covers(request):
            return self._pair_queries.kernel(request)
        return super()._new_kernel(request)

    @cached_property
    def kindyn(self) -> KinDyn:
        """The same robot as a `KinDyn`."""
        return self._as_kindyn()

    @cached_property
    def problem(self) -> CollisionProblem:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The tree of the robot and the pairs of links, as algorithms take them."""
        return CollisionProblem(self.tree, self.layout, pairs=self.pairs)

    @property
    def links(self) -> tuple[str, ...]:
        """The links with collision shapes: columns of `distances_to`."""
        return self.problem.links

    @cached_property
    def _digest(self) -> str:
        shapes = [(link.name, link.collisions) for link in self.model.links]
        text = repr((self._robot_digest(), shapes, self.problem.pairs))
        return hashlib.sha256(text.encode()).hexdigest()

    @quantity(
        algorithms.distances, shape=(_n_pairs,), prefix=COLLISION, derivatives="distance_jacobian"
    )
    def distances(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(..., n) signed distances [m] of the links of each pair."""
        ...

    @quantity(algorithms.distance_jacobian, shape=(_n_pairs, "nv"), prefix=COLLISION)
    def distance_jacobian(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(..., n, nv) derivatives of the distances: their rate is J nu."""
        ...

    @quantity(algorithms.closest_points, shape=[(_n_pairs, 3)] * 3, prefix=COLLISION)
    def witness_points(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> WitnessPoints:
        """The closest points of each pair, the deepest ones where links overlap.

        Returns:
            first, second (..., n, 3), points on the two links in the world; normal (..., n, 3),
            from the first to the second: second - first = distance normal.
        """
        ...

    @quantity(algorithms.minimum_distance, shape=(), prefix=COLLISION)
    def minimum_distance(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(...) the smallest distance of all pairs [m]; infinite without pairs."""
        ...

    @quantity(algorithms.smooth_minimum_distance, shape=(), prefix=COLLISION, has_body=True)
    def smooth_minimum_distance(
        self,
        q: ArrayLike,
        width: ArrayLike = 0.01,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(...) a smooth lower bound of the smallest distance [m].

        It is -width log(sum exp(-d / width)), at most width log(n) below the smallest distance.

        Args:
            q: (..., nq) configurations.
            width: (...) over which distances are blended [m].
            parameters, out, threads: as of every function.
        """
        if isinstance(width, (int, float)) and not width > 0:
            raise ValueRangeError(f"width: expected a length above 0 [m], got {width}")
        options = options_of_call(parameters=parameters, out=out, threads=threads)
        kernel = self._of(COLLISION + "smooth_minimum_distance")
        return kernel(q, self._number(width), **options)

    @quantity(algorithms.in_collision, shape=(), prefix=COLLISION, has_body=True)
    def in_collision(
        self,
        q: ArrayLike,
        *,
        obstacles: Obstacles | Iterable[Shape] | None = None,
        parameters: ArrayLike | None = None,
        threads: int | None = None,
    ) -> Array:
        """(...) bool, whether links of any pair overlap by more than 1e-9 m.

        So links that touch are free. It is True where q, or a distance, is not a finite number.

        Args:
            q: (..., nq) configurations.
            obstacles: what links must not overlap either.
            parameters, threads: as of every function.
        """
        if obstacles is not None:
            if parameters is not None:
                raise ArgumentError("in_collision: parameters cannot be combined with obstacles")
            from linkwork.collision.edges import configurations_collide

            return configurations_collide(self, q, as_obstacles(obstacles), threads)
        if parameters is None and isinstance(q, np.ndarray) and q.ndim == 2 and self._is_large(q):
            from linkwork.collision.edges import configurations_collide

            return configurations_collide(self, q, None, threads)
        if parameters is None and threads is None:
            overlap = self._overlap(q)
            if type(overlap) is np.ndarray and not overlap.ndim:  # a comparison takes longer
                return _TRUE if overlap else _FALSE  # pyright: ignore[reportReturnType]
            return overlap > 0.5
        options = options_of_call(parameters=parameters, threads=threads)
        return np.asarray(self._overlap(q, **options)) > 0.5

    def _is_large(self, q: Array) -> bool:
        return len(q) >= MANY_ROWS and q.shape[1] == self.nq and q.dtype.kind == "f"

    @cached_property
    def _overlap(self) -> Any:
        """The compiled function of `in_collision`, which returns 1.0 for True."""
        return self._of(COLLISION + "in_collision")

    def distances_to(
        self, q: ArrayLike, obstacles: Obstacles | Iterable[Shape], *, threads: int | None = None
    ) -> Array:
        """(..., n_obstacles, n_links) signed distances [m] of the links to obstacles.

        Obstacles are inputs: nothing is compiled when they change. Rows are in the order of the
        fields of `Obstacles`, columns in that of `links`.

        Args:
            q: (..., nq) configurations.
            obstacles: `Obstacles`, or shapes whose poses are those in the world.
            threads: as of every function.
        """
        return self._to_obstacles("", q, obstacles, threads)

    def distances_to_jacobian(
        self, q: ArrayLike, obstacles: Obstacles | Iterable[Shape], *, threads: int | None = None
    ) -> Array:
        """(..., n_obstacles, n_links, nv) derivatives of `distances_to`: their rate is J nu."""
        return self._to_obstacles("_jacobian", q, obstacles, threads)

    def check_edges(
        self,
        q_start: ArrayLike,
        q_end: ArrayLike,
        *,
        resolution: float = 0.03,
        obstacles: Obstacles | Iterable[Shape] | None = None,
        margin: float = 0.0,
        threads: int | None = None,
    ) -> Array:
        """(...) bool, whether straight motions are free of collisions.

        Configurations on the motion, including both ends, are tested; nothing is known about those
        in between. A robot made of spheres is tested in C, in single precision with an allowance
        for rounding: some micrometers before a contact count as a collision. Robots with other
        shapes, or with quaternions in q, are tested by the functions above, which takes longer.

        Args:
            q_start, q_end: (..., nq) both ends of the motions.
            resolution: largest distance, in the space of q, of two configurations that are tested.
            obstacles: `Obstacles`, or shapes whose poses are those in the world.
            margin: smallest distance [m] of links to obstacles, and of the links of each pair.
            threads: as of every function.
        """
        from linkwork.collision.edges import EdgeSettings, edges_are_free, number

        settings = EdgeSettings(
            None if obstacles is None else as_obstacles(obstacles),
            number("resolution", resolution),
            number("margin", margin, least=0.0),
            threads,
        )
        return edges_are_free(self, q_start, q_end, settings)

    @cached_property
    def _motions(self) -> Motions | str:
        """The spheres of the robot, compiled for motions; or why that is not possible."""
        from linkwork.collision.motions import Motions, obstruction

        reason = obstruction(self)
        if reason is not None:
            return reason
        motions = Motions(self)
        return motions if motions.prepare() else f"no machine code is available ({motions.failure})"

    def _to_obstacles(self, suffix: str, q: Any, obstacles: Any, threads: int | None) -> Array:
        """Distances or their derivatives: all kinds of obstacles, one after the other."""
        obstacles = as_obstacles(obstacles)
        if isinstance(q, ObjectArray):
            return self._traced_to_obstacles(suffix, q, obstacles)
        q = q if isinstance(q, np.ndarray) else as_array(q, "q", (self.nq,))
        width = self.nv if suffix else 1  # derivatives of a distance, or the distance itself
        parts = [np.empty((*q.shape[:-1], 0, len(self.links), width), self.dtype)]
        for kind in DISTANCES_TO:
            rows = obstacles.rows(kind)
            if rows.shape[-2]:
                parts.append(self._to_kind(kind, suffix, q, rows, threads))
        batch = np.broadcast_shapes(*(part.shape[:-3] for part in parts))
        parts = [np.broadcast_to(part, (*batch, *part.shape[-3:])) for part in parts]
        values = parts[1] if len(parts) == 2 else np.concatenate(parts, axis=-3)
        return values if suffix else values[..., 0]

    def _to_kind(self, kind: str, suffix: str, q: Array, rows: Array, threads: int | None) -> Array:
        """(..., n, n_links, width) distances to all obstacles of a kind, or their derivatives."""
        n, links = rows.shape[-2], self.links
        batch = np.broadcast_shapes(q.shape[:-1], rows.shape[:-2])
        width = self.nv if suffix else 1
        compiled = self.problem.compiled_links[kind]
        values = np.empty((*batch, n, len(links), width), self.dtype)
        if compiled:
            blocks = in_blocks(rows)
            kernel = self._of(DISTANCES_TO[kind] + suffix)
            results = kernel(q[..., None, :], blocks.astype(self.dtype), threads=threads)
            n_filled = blocks.shape[-3] * blocks.shape[-2]
            results = np.asarray(results).reshape(*batch, n_filled, len(compiled), width)
            if len(compiled) == len(links):
                return results[..., :n, :, :]
            columns = [links.index(link) for link in compiled]
            values[..., columns, :] = results[..., :n, :, :]
        for column, link in enumerate(links):
            if link not in compiled:
                exact = distances_to(self, link, q, kind, rows, jacobian=bool(suffix))
                values[..., column, :] = exact.reshape(*batch, n, width)
        return values

    def _traced_to_obstacles(self, suffix: str, q: Any, obstacles: Obstacles) -> Any:
        """The same inside a function that is being compiled; the obstacles are constants."""
        parts: list[Any] = []
        for kind in DISTANCES_TO:
            rows = obstacles.rows(kind)
            n = rows.shape[-2]
            if not n:
                continue
            if rows.ndim > 2:
                text = f"expected (n, {rows.shape[-1]}) inside a compiled function"
                raise ShapeError(f"{kind}: {text}, got batch axes {rows.shape[:-2]}")
            if self.problem.compiled_links[kind] != self.links:
                text = f"distances of these links to {kind.replace('_', '-')} have no closed form"
                raise ArgumentError(f"{text}, and cannot be compiled; {CLOSED_FORMS}")
            kernel: Any = self._of(DISTANCES_TO[kind] + suffix)
            parts.append(np.concatenate([kernel(q, block) for block in in_blocks(rows)])[:n])
        if not parts:
            return np.empty((0, len(self.links), *((self.nv,) if suffix else ())))
        return np.concatenate(parts)


TABLES[COLLISION][NEAREST_SPHERES] = Quantity(
    (INPUTS["q"],), ((_n_pairs, 7),), with_context(algorithms.nearest_spheres)
)
