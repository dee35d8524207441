"""Distances that have no closed form: meshes, and boxes and cylinders with each other.

The package `coal` computes them by GJK and EPA, one row and one pair after another. A mesh stands
for its convex hull. A query takes one to ten microseconds, and a call in Python about as much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.collision.shapes import CLOSED_FORMS, axes_along, uncompiled
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array, ObjectArray, as_array
from linkwork.errors import ArgumentError, MissingFileError, missing_package
from linkwork.io.surfaces import read_mesh
from linkwork.model.geometry import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere
from linkwork.spatial.source import quat

if TYPE_CHECKING:
    from linkwork.collision.model import CollisionModel

TOLERANCE = 1e-10  # of GJK and EPA [m]


def import_coal() -> Any:
    """Import `coal`, or raise an error that explains how to install it."""
    try:
        return import_module("coal")
    except ImportError as error:
        what = "the distance of meshes, or of boxes and cylinders with each other,"
        raise missing_package(what, "coal") from error


class ConvexShapes:
    """Shapes as `coal` takes them, and their distances."""

    def __init__(self) -> None:
        """Prepare nothing: `coal` is imported when a distance needs it."""
        self._geometries: dict[Geometry, Any] = {}

    @cached_property
    def coal(self) -> Any:
        """The package."""
        return import_coal()

    @cached_property
    def _request(self) -> Any:
        request = self.coal.DistanceRequest()
        request.gjk_tolerance = request.epa_tolerance = TOLERANCE
        request.enable_signed_distance = True
        return request

    def geometry(self, geometry: Geometry, owner: str) -> Any:
        """A shape; `owner` is what messages about its mesh name, such as `link 'hand'`."""
        if geometry not in self._geometries:
            self._geometries[geometry] = self._converted(geometry, owner)
        return self._geometries[geometry]

    def placed(self, shape: Shape, pose: Array, owner: str) -> Any:
        """A shape of a link or frame at a pose (4, 4)."""
        H = pose @ shape.link_H_shape.matrix()
        return self.geometry(shape.geometry, owner), self.coal.Transform3s(H[:3, :3], H[:3, 3])

    def nearest(self, first: Sequence[Any], second: Sequence[Any]) -> Array:
        """(10,) distance, two points and the normal of the nearest shapes of two groups."""
        best: Any = None
        for a, at_a in first:
            for b, at_b in second:
                result = self.coal.DistanceResult()
                distance = self.coal.distance(a, at_a, b, at_b, self._request, result)
                if best is None or not distance >= best[0]:
                    best = distance, result
        distance, result = best
        points = result.getNearestPoint1(), result.getNearestPoint2()
        return np.array([distance, *points[0], *points[1], *result.normal])

    def _converted(self, geometry: Geometry, owner: str) -> Any:
        coal = self.coal
        if isinstance(geometry, Sphere):
            return coal.Sphere(geometry.radius)
        if isinstance(geometry, Box):
            return coal.Box(*geometry.size)
        if isinstance(geometry, (Capsule, Cylinder)):
            kind = coal.Capsule if isinstance(geometry, Capsule) else coal.Cylinder
            return kind(geometry.radius, geometry.length)
        return self._hull(owner, geometry)

    def _hull(self, owner: str, mesh: Mesh) -> Any:
        pieces, reason = read_mesh(mesh)
        if reason:
            raise MissingFileError(f"collision shape of {owner}: {reason}")
        points = self.coal.StdVec_Vec3s()
        for point in np.unique(np.concatenate([piece.vertices for piece, _ in pieces]), axis=0):
            points.append(np.asarray(point, dtype=np.float64))
        return self.coal.Convex.convexHull(points, True, "Qt")


class ExactQueries:
    """The pairs of a robot whose distances `coal` computes, combined with the compiled ones."""

    def __init__(self, robot: CollisionModel) -> None:
        """Prepare the shapes of the links.

        Args:
            robot: the robot.

        Raises:
            MissingPackageError: `coal` is not installed, or a package that reads the meshes.
            MissingFileError: a mesh cannot be read.
        """
        self._convex = ConvexShapes()
        self._coal = self._convex.coal
        self._robot = robot
        exact = uncompiled(robot.model, robot.pairs)
        self._columns = [robot.pairs.index(pair) for pair in exact]
        self._others = [k for k in range(len(robot.pairs)) if k not in self._columns]
        for pair in exact:  # whatever cannot be read is reported at once
            for link in pair:
                self._placed(link, np.eye(4))

    @property
    def methods(self) -> dict[str, Callable[..., Any]]:
        """What takes the place of the compiled functions of the robot."""
        return {
            "distances": self.distances,
            "distance_jacobian": self.distance_jacobian,
            "witness_points": self.witness_points,
            "minimum_distance": self.minimum_distance,
            "smooth_minimum_distance": self.smooth_minimum_distance,
            "in_collision": self.in_collision,
        }

    def distances(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """As `CollisionModel.distances`."""
        q = self._configurations(q)
        return self._merged("distances", q, threads, self._pairs(q)[0])

    def distance_jacobian(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """As `CollisionModel.distance_jacobian`."""
        q = self._configurations(q)
        _, first, second, normal = self._pairs(q)
        robot = self._robot
        J = np.empty((*q.shape[:-1], len(self._columns), robot.nv))
        for k, column in enumerate(self._columns):
            a, b = robot.pairs[column]
            n = normal[..., k, :]
            J[..., k, :] = self._rates(b, q, second[..., k, :], n)
            J[..., k, :] -= self._rates(a, q, first[..., k, :], n)
        return self._merged("distance_jacobian", q, threads, J)

    def witness_points(self, q: ArrayLike, *, threads: int | None = None) -> Any:
        """As `CollisionModel.witness_points`."""
        from linkwork.collision.model import WitnessPoints

        q = self._configurations(q)
        exact = self._pairs(q)[1:]
        if not self._others:
            return WitnessPoints(*exact)
        compiled = self._compiled("witness_points", q, threads)
        axis = q.ndim - 1
        return WitnessPoints(
            *(self._inserted(a, b, axis) for a, b in zip(compiled, exact, strict=True))
        )

    def minimum_distance(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """As `CollisionModel.minimum_distance`."""
        return self.distances(q, threads=threads).min(axis=-1)

    def smooth_minimum_distance(
        self, q: ArrayLike, width: ArrayLike = 0.01, *, threads: int | None = None
    ) -> Array:
        """As `CollisionModel.smooth_minimum_distance`."""
        d = self.distances(q, threads=threads)
        least = d.min(axis=-1)
        scale = np.asarray(width)
        total = np.exp((least[..., None] - d) / scale[..., None]).sum(axis=-1)
        return least - scale * np.log(total)

    def in_collision(self, q: ArrayLike, *, threads: int | None = None) -> Any:
        """As `CollisionModel.in_collision`."""
        free = self.distances(q, threads=threads) >= 0.0
        return np.logical_not(free.all(axis=-1))

    def distances_to(self, link: str, q: Array, kind: str, rows: Array, jacobian: bool) -> Array:
        """(..., n) distances of a link to obstacles, or (..., n, nv) their derivatives.

        Args:
            link: its name.
            q: (..., nq) configurations.
            kind: of the obstacles.
            rows: (..., n, width) the obstacles, with batch axes that broadcast with those of q.
            jacobian: whether derivatives are computed.
        """
        batch = np.broadcast_shapes(q.shape[:-1], rows.shape[:-2])
        q = np.broadcast_to(q, (*batch, q.shape[-1]))
        rows = np.broadcast_to(rows, (*batch, *rows.shape[-2:]))
        poses = np.asarray(self._robot.kindyn.transform(link, q))
        n = rows.shape[-2]
        results = np.empty((*batch, n, 10))
        for index in np.ndindex(*batch):
            placed = self._placed(link, poses[index])
            for k in range(n):
                results[(*index, k)] = self._convex.nearest(
                    placed, [self._obstacle(kind, rows[index][k])]
                )
        if not jacobian:
            return results[..., 0]
        p, normal = results[..., 1:4], results[..., 7:10]
        J = [-self._rates(link, q, p[..., k, :], normal[..., k, :]) for k in range(n)]
        return np.stack(J, axis=-2)

    def _configurations(self, q: ArrayLike) -> Array:
        if isinstance(q, ObjectArray):
            a, b = self._robot.pairs[self._columns[0]]
            text = f"the distance of {a!r} and {b!r} has no closed form, and cannot be compiled"
            raise ArgumentError(f"{text}; {CLOSED_FORMS}")
        return as_array(q, "q", (self._robot.nq,))

    def _compiled(self, name: str, q: Array, threads: int | None) -> Any:
        return self._robot.function(name)(q, threads=threads)  # pyright: ignore[reportArgumentType]

    def _merged(self, name: str, q: Array, threads: int | None, exact: Array) -> Array:
        """Values of all pairs, from those that `coal` computed, along axis q.ndim - 1."""
        if not self._others:
            return exact.astype(self._robot.dtype)
        return self._inserted(self._compiled(name, q, threads), exact, q.ndim - 1)

    def _inserted(self, compiled: Array, exact: Array, axis: int) -> Array:
        values = np.concatenate([compiled, exact.astype(compiled.dtype)], axis=axis)
        return np.take(values, np.argsort([*self._others, *self._columns]), axis=axis)

    def _pairs(self, q: Array) -> tuple[Array, Array, Array, Array]:
        """Distances (..., n), points and normals (..., n, 3) of the pairs of `coal`."""
        pairs = [self._robot.pairs[k] for k in self._columns]
        links = sorted({link for pair in pairs for link in pair})
        poses = np.asarray(self._robot.kindyn.transforms(q, frames=links))
        results = np.empty((*q.shape[:-1], len(pairs), 10))
        for index in np.ndindex(*q.shape[:-1]):
            placed = {link: self._placed(link, poses[index][k]) for k, link in enumerate(links)}
            for k, (a, b) in enumerate(pairs):
                results[(*index, k)] = self._convex.nearest(placed[a], placed[b])
        return results[..., 0], results[..., 1:4], results[..., 4:7], results[..., 7:10]

    def _placed(self, link: str, pose: Array) -> list[Any]:
        """The shapes of a link at a pose, as `coal` takes them."""
        shapes = self._robot.model.link(link).collisions
        return [self._convex.placed(shape, pose, f"link {link!r}") for shape in shapes]

    def _obstacle(self, kind: str, row: Array) -> Any:
        """An obstacle, as `coal` takes it."""
        coal, H = self._coal, np.eye(4)
        if kind == "spheres":
            geometry, H[:3, 3] = coal.Sphere(row[3]), row[:3]
        elif kind == "capsules":
            axis = row[3:6] - row[:3]
            length = float(np.linalg.norm(axis))
            geometry = coal.Capsule(row[6], length)
            z = axis / length if length > 0 else np.array([0.0, 0.0, 1.0])
            H[:3, :3] = axes_along(z)
            H[:3, 3] = 0.5 * (row[:3] + row[3:6])
        elif kind == "boxes":
            geometry = coal.Box(*row[7:10])
            H[:3, :3], H[:3, 3] = quat.to_rotation(row[3:7]), row[:3]
        else:
            geometry = coal.Halfspace(row[:3], row[3])
        return geometry, coal.Transform3s(H[:3, :3], H[:3, 3])

    def _rates(self, link: str, q: Array, p: Array, n: Array) -> Array:
        """(..., nv) velocity along n (..., 3) of the point p (..., 3) of a link, per unit of nu."""
        kd = self._robot.kindyn
        J = np.asarray(kd.jacobian(link, q))
        H = np.asarray(kd.transform(link, q))
        arm, force = p - H[..., :3, 3], n
        if kd.representation == "body":
            back = np.swapaxes(H[..., :3, :3], -1, -2)
            arm, force = ((back @ v[..., None])[..., 0] for v in (arm, force))
        elif kd.representation == "inertial":
            arm = p
        wrench = np.concatenate([force, np.cross(arm, force)], axis=-1)
        return (wrench[..., None, :] @ J)[..., 0, :]
