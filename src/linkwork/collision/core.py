"""A robot and its pairs of links: what functions of collisions are computed for."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.collision import distances as algorithms
from linkwork.collision.exact.queries import Meshes, ShapeQueries
from linkwork.collision.shapes import CollisionProblem, LinkPairs
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn import KinDyn, as_kindyn
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.inputs import Q
from linkwork.kindyn.kernels import QuantityKernel
from linkwork.kindyn.options import CallOptions, methods_of
from linkwork.kindyn.quantities import Quantity, quantity, with_context
from linkwork.model.model import Model

if TYPE_CHECKING:
    from typing_extensions import Unpack


class WitnessPoints(NamedTuple):
    """Closest points of pairs of links, in the world."""

    first: Array  # (..., n, 3) on the first link
    second: Array  # (..., n, 3) on the second link
    normal: Array  # (..., n, 3) unit vectors from the first to the second


def _n_pairs(problem: CollisionProblem) -> int:
    return len(problem.pairs)


@methods_of("CollisionModel")
class CollisionCore(KinDynCore):
    """The fields of a `CollisionModel`, and the quantities of its pairs."""

    pairs: tuple[tuple[str, str], ...]
    meshes: Meshes
    shape_queries: ShapeQueries  # distances of shapes that have no closed form

    _OPTIONS = (*KinDynCore._OPTIONS, "pairs", "meshes")
    _FURTHER_QUANTITIES = (
        Quantity("in_collision", (Q,), ((),), with_context(algorithms.in_collision)),
    )

    def __init__(
        self, model: Model, *, pairs: LinkPairs, shape_queries: ShapeQueries, **options: Any
    ) -> None:
        super().__init__(model, **options)
        meshes = shape_queries.meshes
        self.__dict__.update(pairs=pairs, meshes=meshes, shape_queries=shape_queries)

    @cached_property
    def kindyn(self) -> KinDyn:
        """The same robot as a `KinDyn`."""
        return as_kindyn(self)

    @cached_property
    def kindyn_for_queries(self) -> KinDyn:
        """The same robot as a `KinDyn` in float64, in which shapes are compared."""
        return self.kindyn.replace(dtype=np.float64)

    @cached_property
    def problem(self) -> CollisionProblem:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The tree of the robot and the pairs of links, as algorithms take them."""
        return CollisionProblem(self.tree, self.layout, pairs=self.pairs)

    @property
    def links(self) -> tuple[str, ...]:
        """The links with collision shapes: columns of `distances_to`."""
        return self.problem.links

    @cached_property
    def fixed_links(self) -> Array:
        """(links,) whether each link with shapes is fixed to the world."""
        is_fixed = [not self.floating and len(self.tree.path(link)) == 1 for link in self.links]
        return np.array(is_fixed, dtype=bool)

    def with_pairs(self, pairs: LinkPairs) -> CollisionCore:
        """Return a robot with other pairs, all of which have closed forms."""
        options = {k: v for k, v in self.options.items() if k not in ("pairs", "meshes")}
        return CollisionCore(self.model, pairs=pairs, shape_queries=self.shape_queries, **options)

    @cached_property
    def _digest(self) -> str:
        shapes = [(link.name, link.collisions) for link in self.model.links]
        text = repr((self._robot_digest(), shapes, self.problem.pairs))
        return hashlib.sha256(text.encode()).hexdigest()

    @quantity(algorithms.distances, (_n_pairs,), "[m]", derivatives="distance_jacobian")
    def distances(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., n) signed distances [m] of the links of each pair."""
        ...

    @quantity(algorithms.distance_jacobian, (_n_pairs, "nv"), "columns as in nu [m/m, m/rad]")
    def distance_jacobian(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., n, nv) derivatives of the distances: their rate is J nu."""
        ...

    @quantity(algorithms.closest_points, [(_n_pairs, 3)] * 3, ("[m]", "[m]", "unit vectors"))
    def witness_points(self, q: ArrayLike, **options: Unpack[CallOptions]) -> WitnessPoints:
        """The closest points of each pair, the deepest ones where links overlap.

        Returns:
            first, second (..., n, 3), points on the two links in the world; normal (..., n, 3),
            from the first to the second: second - first = distance normal.
        """
        ...

    @quantity(algorithms.minimum_distance, (), "[m]")
    def minimum_distance(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(...) the smallest distance of all pairs [m]; infinite without pairs."""
        ...


def kernel_of(robot: CollisionCore, name: str) -> QuantityKernel[Any]:
    """Return the kernel of a quantity of collisions."""
    return robot._of(name)  # pyright: ignore[reportPrivateUsage]


def rates(
    kd: KinDyn, link: str, q: Array, line: tuple[Array, Array], options: dict[str, Any]
) -> Array:
    """(..., nv) velocity of a point of a link along a line, per unit of nu.

    Args:
        kd: the robot.
        link: its name.
        q: (..., nq) configurations.
        line: (..., 3) the point and the direction of the line, in the world.
        options: of calls.
    """
    p, n = line
    J = np.asarray(kd.jacobian(link, q, **options))
    H = np.asarray(kd.transform(link, q, **options))
    arm, force = p - H[..., :3, 3], n
    if kd.representation == "body":
        back = np.swapaxes(H[..., :3, :3], -1, -2)
        arm, force = ((back @ v[..., None])[..., 0] for v in (arm, force))
    elif kd.representation == "inertial":
        arm = p
    wrench = np.concatenate([force, np.cross(arm, force)], axis=-1)
    return (wrench[..., None, :] @ J)[..., 0, :]
