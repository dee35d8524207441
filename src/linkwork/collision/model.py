"""`CollisionModel`: distances of a robot's links to each other and to obstacles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork.collision import distances as algorithms
from linkwork.collision.colliders import (
    Collider,
    EdgeSettings,
    configurations_collide,
    edges_are_free,
    number,
)
from linkwork.collision.core import CollisionCore
from linkwork.collision.exact.pair_queries import PairQueries
from linkwork.collision.exact.queries import Meshes, ShapeQueries
from linkwork.collision.motions import CENTERS, Spheres, obstruction_of
from linkwork.collision.obstacles import Obstacles, as_obstacles
from linkwork.collision.pairs import Pairs, select_pairs
from linkwork.collision.shapes import uncompiled
from linkwork.collision.spheres.spherize import Spherization
from linkwork.collision.to_obstacles import TO_OBSTACLES, distances_to
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ArgumentError, ValueRangeError, shown
from linkwork.kindyn import KinDyn
from linkwork.kindyn.core import KinDynCore, options_of_call
from linkwork.kindyn.inputs import Q, array_input
from linkwork.kindyn.kernels import QuantityKernel
from linkwork.kindyn.options import CallOptions
from linkwork.kindyn.quantities import quantity
from linkwork.kindyn.requests import KernelRequest
from linkwork.model.geometry import Shape
from linkwork.model.model import Model

if TYPE_CHECKING:
    from os import PathLike

    from typing_extensions import Unpack

MANY_ROWS = 1000  # for which robots made of spheres are tested in single precision first
WIDTH = array_input("width", (), "is one length a row")
_TRUE, _FALSE = np.bool_(True), np.bool_(False)


def _collider_of(robot: CollisionCore) -> Collider:
    """Choose how the collisions of a robot are computed."""
    obstruction = obstruction_of(robot)
    if uncompiled(robot.model, robot.pairs):
        return PairQueries(robot, obstruction)
    return Collider(robot, obstruction) if obstruction else Spheres(robot)


class CollisionModel(CollisionCore):
    """The collision shapes of a robot, as compiled functions of q.

    Calling rules, arguments and representations are as in `KinDyn`. Distances are signed: where
    shapes overlap, they are the negative of the penetration depth. The distance of two links is the
    smallest distance of their shapes.

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
        srdf: path of the SRDF file; by default `model.srdf`.
        options: as of `KinDyn`.
    """

    _collider: Collider

    _FURTHER_QUANTITIES = (
        *CollisionCore._FURTHER_QUANTITIES,
        algorithms.NEAREST_SPHERES,
        CENTERS,
        *TO_OBSTACLES,
    )

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
            options = {**{name: model.options[name] for name in names}, **options}
            base = model.base if base is None else base
            model = model.model
        queries = ShapeQueries(meshes)
        kd = KinDyn(model, base, **options)
        model, selected = select_pairs(
            kd, queries, shapes=shapes, pairs=pairs, exclude=exclude, srdf=srdf
        )
        super().__init__(model, pairs=selected, shape_queries=queries, **kd.options)
        self.__dict__["_collider"] = _collider_of(self)

    def _new_kernel(self, request: KernelRequest) -> QuantityKernel[Any]:
        return self._collider.kernel(request)

    @quantity(algorithms.smooth_minimum_distance, (), "[m]", inputs=(Q, WIDTH), has_body=True)
    def smooth_minimum_distance(
        self, q: ArrayLike, width: ArrayLike = 0.01, **options: Unpack[CallOptions]
    ) -> Array:
        """(...) a smooth lower bound of the smallest distance [m].

        It is -width log(sum exp(-d / width)), at most width log(n) below the smallest distance.

        Args:
            q: (..., nq) configurations.
            width: (...) over which distances are blended [m].
            options: as of every function.
        """
        widths = np.ones(1) if is_traced(width) else np.asarray(width)
        if widths.dtype.kind in "iuf" and not np.all((widths > 0) & (widths < np.inf)):
            raise ValueRangeError(f"width: expected a length above 0 [m], got {shown(width)}")
        return self._of("smooth_minimum_distance")(q, self._number(width), **options)

    def in_collision(
        self,
        q: ArrayLike,
        *,
        obstacles: Obstacles | Iterable[Shape] | None = None,
        parameters: ArrayLike | None = None,
        threads: int | None = None,
    ) -> Array:
        """(...) bool, whether links of any pair overlap by more than 1e-9 m.

        So links that touch are free. It is True where q is not finite, or a distance is NaN.

        Args:
            q: (..., nq) configurations.
            obstacles: what links must not overlap either.
            parameters, threads: as of every function.
        """
        if obstacles is not None or (parameters is None and self._has_many_rows(q)):
            if parameters is not None:
                raise ArgumentError("in_collision: parameters cannot be combined with obstacles")
            world = None if obstacles is None else as_obstacles(obstacles)
            return configurations_collide(self, self._collider, q, world, threads)
        if parameters is None and threads is None:
            overlap = self._overlap(q)
        else:
            overlap = self._overlap(q, **options_of_call(parameters=parameters, threads=threads))
        if type(overlap) is np.ndarray and not overlap.ndim:  # a comparison takes longer
            return _TRUE if overlap else _FALSE  # pyright: ignore[reportReturnType]
        return overlap > 0.5

    def _has_many_rows(self, q: Any) -> bool:
        is_batch = isinstance(q, np.ndarray) and q.ndim == 2 and len(q) >= MANY_ROWS
        return is_batch and q.shape[1] == self.nq and q.dtype.kind == "f"

    @cached_property
    def _overlap(self) -> Any:
        """The compiled function of `in_collision`, which returns 1.0 for True."""
        return self._of("in_collision")

    def distances_to(
        self, q: ArrayLike, obstacles: Obstacles | Iterable[Shape], *, threads: int | None = None
    ) -> Array:
        """(..., n_obstacles, n_links) signed distances [m] of the links to obstacles.

        Obstacles are inputs: nothing is compiled when they change. Rows are in the order of the
        fields of `Obstacles`, columns in the order of `links`.

        Args:
            q: (..., nq) configurations.
            obstacles: `Obstacles`, or shapes whose poses are those in the world.
            threads: as of every function.
        """
        return distances_to(self, q, obstacles, threads)

    def distances_to_jacobian(
        self, q: ArrayLike, obstacles: Obstacles | Iterable[Shape], *, threads: int | None = None
    ) -> Array:
        """(..., n_obstacles, n_links, nv) derivatives of `distances_to`: their rate is J nu."""
        return distances_to(self, q, obstacles, threads, jacobian=True)

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
            margin: smallest distance [m] of moving links to obstacles, and of links of pairs.
            threads: as of every function.
        """
        settings = EdgeSettings(
            None if obstacles is None else as_obstacles(obstacles),
            number("resolution", resolution),
            number("margin", margin, least=0.0),
            threads,
        )
        return edges_are_free(self, self._collider, q_start, q_end, settings)
