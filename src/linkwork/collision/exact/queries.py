"""Distances of two shapes at many poses: closed forms with NumPy, all others by the package `coal`.

A mesh stands for its convex hull, or for its triangles. Triangles of a mesh that is not convex have
no penetration depth: where they intersect another shape, the distance is NaN. A mesh that is convex
is its hull, and so is one that is a segment or a point.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from linkwork.collision.closest import TOUCHING, closest
from linkwork.collision.exact.hulls import (
    Hull,
    areas,
    hull_of,
    triangles_of,
    vectors,
)
from linkwork.collision.exact.search import HUGE, Search, distance, distance_request
from linkwork.collision.shapes import is_compiled, placed
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    ArgumentError,
    MissingFileError,
    ValueRangeError,
    listed,
    missing_package,
    nearest,
    shown,
    warn_once,
)
from linkwork.io.mesh_files import read_surface
from linkwork.model.geometry import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Mesh,
    Primitive,
    Shape,
    Sphere,
    Support,
    row_of,
)
from linkwork.spatial.blocks import as_mat, as_vec

Meshes: TypeAlias = Literal["hull", "triangles"]

MOST_DOUBLINGS = 20  # of sizes: what is still tiny then is almost a point
SIZES = (1e-2, 10.0)  # of the smaller shape [m]; others are scaled to 1, because coal has lengths
TRIANGLE_TOLERANCE = 3e-8  # of GJK [m],
INTERSECTION_TOLERANCE = 1e-8  # and where triangles are tested for intersections
CONTACT = 1e-6  # by which the distance of closest points may be larger than the distance [m]
LARGEST = 1e9  # size of a shape [m]
POINT = 1e-60  # size below which a mesh is a point [m]: squares of areas would underflow
CONVEX = 1e-5  # depth of a point inside the hull of a convex mesh, relative to its size
SIMILAR = 1e-2  # the same of a mesh that its hull replaces without a warning
# The classes of coal, which are created from the sizes of a shape.
COAL_SHAPES: dict[type[Geometry], str] = {
    Sphere: "Sphere",
    Box: "Box",
    Capsule: "Capsule",
    Cylinder: "Cylinder",
}


def import_coal() -> Any:
    """Import `coal`, or raise an error that explains how to install it."""
    try:
        return import_module("coal")
    except ImportError as error:
        what = "the distance of meshes, or of boxes and cylinders with each other,"
        raise missing_package(what, "coal") from error


def check_meshes(meshes: Any) -> None:
    """Reject an unknown value of the option `meshes`."""
    if meshes not in get_args(Meshes):
        hint = nearest(meshes, get_args(Meshes))
        raise ArgumentError(f"meshes: unknown kind {shown(meshes)}; {hint}")


@dataclass(frozen=True, eq=False)
class CoalShape:
    """A shape, as `coal` takes it."""

    geometry: Geometry
    support: Support  # of the shape or its hull, about `center`
    center: Array  # (3,) in the axes of the shape
    convex: Any  # the same for coal
    surface: Any = None  # the triangles of a mesh that is not convex, if they are used

    def at(self, poses: Array) -> Array:
        """(rows, 4, 4) poses of the center, of poses of the shape."""
        moved = poses.copy()
        moved[:, :3, 3] += poses[:, :3, :3] @ self.center
        return moved


class Placed(NamedTuple):
    """A shape of a link or frame at poses."""

    shape: Shape
    poses: Array  # (rows, 4, 4) of what it is fixed to
    owner: str  # what messages call that, such as `link 'hand'`


class ShapeQueries:
    """Distances of shapes, which are converted once."""

    def __init__(self, meshes: Meshes = "hull") -> None:
        """Prepare nothing: `coal` is imported when a distance needs it.

        Args:
            meshes: what meshes stand for.
        """
        check_meshes(meshes)
        self.meshes = meshes
        self.replaced: list[str] = []  # owners of meshes that are not convex, replaced by hulls
        self._coal_shapes: dict[tuple[Geometry, str | None, float], CoalShape] = {}

    @cached_property
    def coal(self) -> Any:
        """The package."""
        return import_coal()

    def coal_shape(self, geometry: Geometry, owner: str, factor: float = 1.0) -> CoalShape:
        """A shape for coal.

        Args:
            geometry: the shape.
            owner: what messages call it, such as `link 'hand'`.
            factor: scale of its size.

        Raises:
            MissingFileError: its mesh cannot be read.
            ValueRangeError: it is too large.
        """
        path = geometry.path if isinstance(geometry, Mesh) else None  # which `==` ignores
        key = geometry, path, factor
        if key not in self._coal_shapes:
            self._coal_shapes[key] = self._converted(geometry, owner, factor)
        return self._coal_shapes[key]

    def warn_of_hulls(self, name: str) -> None:
        """Warn, once for each robot, of meshes that are not convex and that hulls stand for."""
        if self.replaced:
            owners = listed(list(dict.fromkeys(self.replaced)))
            text = (
                f"{name}: meshes that are not convex are replaced by their convex hulls: {owners}"
            )
            hint = "meshes='triangles' uses their triangles"
            warn_once(f"hulls of {name}: {owners}", f"{text}; {hint}")

    def nearest(self, first: Placed, second: Placed) -> Array:
        """(rows, 10) distances, closest points on both shapes and normals, in the world."""
        if is_compiled(first.shape.geometry, second.shape.geometry):
            with np.errstate(all="ignore"):
                result = closest(_with_arrays(first), _with_arrays(second))
            columns = [result.distance, *result.first, *result.second, *result.normal]
            return np.stack(np.broadcast_arrays(*columns), axis=-1)
        factor = self._factor(first, second)
        (a, at_a), (b, at_b) = (self._placed(x, factor) for x in (first, second))
        results = self._in_world(a, at_a, b, at_b, factor)
        results[:, :7] /= factor
        return results

    def overlap(self, first: Placed, second: Placed) -> Array:
        """(rows,) whether shapes overlap by more than `TOUCHING`."""
        if is_compiled(first.shape.geometry, second.shape.geometry):
            return ~(self.nearest(first, second)[:, 0] >= -TOUCHING)
        factor = self._factor(first, second)
        (a, at_a), (b, at_b) = (self._placed(x, factor) for x in (first, second))
        H = _relative(at_a, at_b)
        with np.errstate(all="ignore"):
            between = np.linalg.norm(H[:, :3, 3], axis=-1)
        far = (between > a.support.radius + b.support.radius) & (between < HUGE)
        overlaps = ~far
        limit = -TOUCHING * factor
        overlaps[~far] = ~(self._convex(a, b, H[~far], limit)[:, 0] >= limit)
        if a.surface is not None or b.surface is not None:
            return self._intersecting(a, b, H, overlaps)
        return overlaps

    def _factor(self, first: Placed, second: Placed) -> float:
        """A power of 2, which changes no digits, that scales the smaller shape to size 1."""
        radii = [self.coal_shape(x.shape.geometry, x.owner).support.radius for x in (first, second)]
        size = min(radii) or max(radii)
        if SIZES[0] <= size <= SIZES[1] or not size:
            return 1.0
        return 2.0 ** min(-round(np.log2(size)), MOST_DOUBLINGS)

    def _placed(self, placed: Placed, factor: float = 1.0) -> tuple[CoalShape, Array]:
        shape = self.coal_shape(placed.shape.geometry, placed.owner, factor)
        poses = placed.poses @ placed.shape.link_H_shape.matrix()
        poses[:, :3, 3] *= factor
        return shape, shape.at(poses)

    def to_half_spaces(self, placed: Placed, planes: Array) -> Array:
        """(rows, 10) as `nearest`, of a shape to half-spaces (rows, 4)."""
        shape, H = self._placed(placed)
        n, R = planes[:, :3], H[:, :3, :3]
        lowest = shape.support.farthest(-(n[:, None, :] @ R)[:, 0])
        lowest = (R @ lowest[..., None])[..., 0] + H[:, :3, 3] - shape.support.ball * n
        distance = (n * lowest).sum(axis=-1) - planes[:, 3]
        below = lowest - distance[:, None] * n
        return np.concatenate([distance[:, None], lowest, below, -n], axis=-1)

    def _in_world(
        self, a: CoalShape, at_a: Array, b: CoalShape, at_b: Array, factor: float
    ) -> Array:
        H = _relative(at_a, at_b)
        results = self._convex(a, b, H)
        if a.surface is not None or b.surface is not None:
            results = self._of_triangles(a, b, H, results, -TOUCHING * factor)
        R, o = at_a[:, :3, :3], at_a[:, :3, 3]
        for k in (1, 4, 7):
            results[:, k : k + 3] = (R @ results[:, k : k + 3, None])[..., 0]
        results[:, 1:4] += o
        results[:, 4:7] += o
        return results

    # In the axes of the first shape.

    def _convex(
        self, a: CoalShape, b: CoalShape, H: Array, threshold: float | None = None
    ) -> Array:
        """(rows, 10) of convex shapes."""
        shapes, supports = (a.convex, b.convex), (a.support, b.support)
        return Search(self.coal, shapes, supports, H, threshold).best

    def _of_triangles(
        self, a: CoalShape, b: CoalShape, H: Array, results: Array, limit: float
    ) -> Array:
        """Return the same of triangles, given the results of hulls: NaN where they intersect."""
        intersecting = self._intersecting(a, b, H, ~(results[:, 0] >= limit))
        results[intersecting] = np.nan
        first, second = a.surface or a.convex, b.surface or b.convex
        request = distance_request(self.coal, TRIANGLE_TOLERANCE)
        for k in (_is_usable(H) & ~intersecting).nonzero()[0]:
            row = distance(self.coal, (first, second), H[k], request)
            if not row[0] <= results[k, 0]:  # else hulls touch, and triangles with them
                between = row[4:7] - row[1:4]
                length = np.linalg.norm(between)
                if 0.0 < length <= row[0] + CONTACT:  # coal has no normal of two meshes
                    row[7:] = between / length
                else:  # and, where these touch, no second point
                    row[7:] = results[k, 7:]
                    row[4:7] = row[1:4] + row[0] * row[7:]
                results[k] = row
        return results

    def _intersecting(self, a: CoalShape, b: CoalShape, H: Array, rows: Array) -> Array:
        """(rows,) whether triangles intersect, among the rows in which hulls do."""
        coal, result = self.coal, rows.copy()
        first, second = a.surface or a.convex, b.surface or b.convex
        for k in (rows & _is_usable(H)).nonzero()[0]:
            at_b = coal.Transform3s(H[k, :3, :3], H[k, :3, 3])
            answer = coal.CollisionResult()
            request, identity = coal.CollisionRequest(), coal.Transform3s.Identity()
            request.gjk_tolerance = request.epa_tolerance = INTERSECTION_TOLERANCE
            result[k] = coal.collide(first, identity, second, at_b, request, answer) > 0
        return result

    # Conversion.

    def _converted(self, geometry: Geometry, owner: str, factor: float) -> CoalShape:
        if isinstance(geometry, Mesh):
            return self._mesh(geometry, owner, factor)
        assert isinstance(geometry, Primitive)
        support = geometry.support().scaled(factor)
        if factor == 1.0:
            _check_size(support.radius, owner)
        kind = getattr(self.coal, row_of(COAL_SHAPES, geometry, "coal"))
        sizes = (factor * one for one in geometry.sizes)
        return CoalShape(geometry, support, np.zeros(3), kind(*sizes))

    def _mesh(self, mesh: Mesh, owner: str, factor: float) -> CoalShape:
        coal = self.coal
        surface, reason = read_surface(mesh)
        if surface is None:
            raise MissingFileError(f"collision shape of {owner}: {reason}")
        corners = surface.triangles
        low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
        with np.errstate(over="ignore"):
            _check_size(float(np.abs([low, high]).max()), owner)
        center = 0.5 * (low + high)
        corners = factor * (corners - center)
        center = factor * center
        if np.abs(corners).max() < POINT:
            corners[:] = 0.0
        hull = hull_of(corners.reshape(-1, 3), coal)
        normals = hull.planes()[0] if hull.rank > 1 else np.zeros((0, 3))
        support = Support(hull.points, normals, np.zeros(len(hull.points)))
        convex = coal.Convex(vectors(hull.points, coal), triangles_of(hull.triangles, coal))
        shape = CoalShape(mesh, support, center, convex)
        if hull.rank < 2 or is_convex(corners, hull, CONVEX):
            return shape
        if self.meshes == "hull":
            if not is_convex(corners, hull, SIMILAR):
                self.replaced.append(owner)
            return shape
        return CoalShape(mesh, support, center, convex, self._surface(corners))  # None without area

    def _surface(self, corners: Array) -> Any:
        coal = self.coal
        size = np.abs(corners).max()
        corners = corners[areas(corners / size) > np.finfo(float).tiny]
        if not len(corners):
            return None
        points, indices = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
        indices = indices.reshape(-1, 3)
        model = coal.BVHModelOBBRSS()
        model.beginModel(len(indices), len(points))
        model.addSubModel(vectors(points, coal), triangles_of(indices, coal))
        model.endModel()
        return model


def is_convex(corners: Array, hull: Hull, tolerance: float) -> bool:
    """Whether triangles (n, 3, 3) are the surface of their hull, to a relative tolerance."""
    flat = np.unique(corners.reshape(-1, 9), axis=0).reshape(-1, 3, 3)
    n_sides = 2 if hull.rank < 3 else 1
    if areas(flat).sum() * n_sides < (1.0 - 10.0 * tolerance) * hull.area:  # parts are missing
        return False
    if n_sides == 2:
        return True
    middles = flat.mean(axis=1)
    points = np.concatenate([np.unique(flat.reshape(-1, 3), axis=0), middles])
    return not hull.contains_deeper(points, tolerance * hull.size)


def smallest(results: Iterable[Array]) -> Array:
    """(rows, 10) of several results of `nearest` the one with the smallest distance, or NaN."""
    first, *others = results
    best = first.copy()
    for points in others:
        is_nearer = ~(points[:, 0] >= best[:, 0]) & ~np.isnan(best[:, 0])  # NaN stays
        best[is_nearer] = points[is_nearer]
    return best


def _check_size(radius: float, owner: str) -> None:
    if not radius <= LARGEST:
        text = f"its size is {radius:.3g} m, expected at most {LARGEST:g} m"
        raise ValueRangeError(f"collision shape of {owner}: {text}")


def _is_usable(H: Array) -> Array:
    """(rows,) whether poses are finite, and squares of positions, too."""
    return np.asarray((np.abs(H) < HUGE).all(axis=(1, 2)))


def _relative(at_a: Array, at_b: Array) -> Array:
    """(rows, 4, 4) poses of b in the axes of a."""
    H = np.zeros_like(at_a)
    back = at_a[:, :3, :3].swapaxes(1, 2)
    with np.errstate(invalid="ignore", over="ignore"):
        H[:, :3, :3] = back @ at_b[:, :3, :3]
        H[:, :3, 3] = (back @ (at_b[:, :3, 3] - at_a[:, :3, 3])[..., None])[..., 0]
    return H


def _with_arrays(one: Placed) -> Any:
    """A shape at poses, with arrays as scalars."""
    H = one.poses
    R = as_mat([[H[:, i, j] for j in range(3)] for i in range(3)])
    return placed(one.shape, R, as_vec([H[:, i, 3] for i in range(3)]))
