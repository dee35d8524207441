"""Shapes of links: what a viewer draws and a collision checker compares. Dynamics needs none.

A shape is a `Primitive`, which is known by its sizes, or a `Mesh`, which is in a file. Sizes are at
least 0: a capsule of length 0 is a ball, a box with an edge of length 0 a rectangle. All that is
geometry of a primitive is a method of its class, such as the triangles of its surface and its
support function; how a file format writes it is a row of a table of that format, which `row_of`
reads.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import TypeVar

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import model_error, shown
from linkwork.model.inertia import Inertia, solid_box, solid_cylinder, solid_sphere
from linkwork.model.numbers import Triple, finite_numbers, instance, settle, size, text, triple
from linkwork.model.pose import IDENTITY, Pose

SEGMENTS = 32  # around a round shape
RINGS = 16  # from pole to pole of a ball
ROUNDING = 1e-12  # radii below this fraction of the largest are those of a pole
CHUNK = 500_000  # products of vectors and points that are computed at a time


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles, counterclockwise when seen from outside."""

    vertices: Array  # (n, 3) [m]
    faces: Array  # (m, 3) indices of vertices

    def scaled(self, scale: Triple) -> Surface:
        """Scale along the axes; a mirrored surface keeps its outside outside."""
        mirrored = scale[0] * scale[1] * scale[2] < 0
        faces = self.faces[:, ::-1] if mirrored else self.faces
        return Surface(self.vertices * np.array(scale), faces)

    def placed(self, pose: Array) -> Surface:
        """Move the surface to a pose (4, 4)."""
        return Surface(self.vertices @ pose[:3, :3].T + pose[:3, 3], self.faces)

    @property
    def triangles(self) -> Array:
        """(m, 3, 3) corners of the triangles."""
        return self.vertices[self.faces]

    @property
    def extents(self) -> Array:
        """(3,) edges of the box around it [m]."""
        if not len(self.vertices):
            return np.zeros(3)
        return self.vertices.max(axis=0) - self.vertices.min(axis=0)


def joined(surfaces: Sequence[Surface]) -> Surface:
    """Join several surfaces."""
    counts = np.cumsum([0, *(len(s.vertices) for s in surfaces)])
    faces = [s.faces + at for s, at in zip(surfaces, counts[:-1], strict=True)]
    return Surface(np.concatenate([s.vertices for s in surfaces]), np.concatenate(faces))


def revolved(radii: Sequence[float], heights: Sequence[float]) -> Surface:
    """Revolve a polyline about z, from its lower end to its upper one."""
    angle = np.arange(SEGMENTS) * (2 * np.pi / SEGMENTS)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    r, z = np.array(radii), np.array(heights)
    r[np.abs(r) <= ROUNDING * np.abs(r).max()] = 0.0
    rings = np.empty((len(r), SEGMENTS, 3))
    rings[..., :2] = r[:, None, None] * around
    rings[..., 2] = z[:, None]
    here = np.arange(SEGMENTS)
    following = (here + 1) % SEGMENTS
    faces: list[Array] = [np.zeros((0, 3), dtype=np.intp)]
    for ring in range(len(r) - 1):
        low, high = ring * SEGMENTS, (ring + 1) * SEGMENTS
        if r[ring] > 0:
            faces.append(np.stack([low + here, low + following, high + following], axis=-1))
        if r[ring + 1] > 0:
            faces.append(np.stack([low + here, high + following, high + here], axis=-1))
    return Surface(rings.reshape(-1, 3), np.concatenate(faces))


@dataclass(frozen=True, eq=False)
class Support:
    """A convex shape: the convex hull of points and discs across z, grown by a ball.

    Its support function h(n) is the largest n . x of its points x.
    """

    points: Array  # (n, 3) centers of the discs
    normals: Array  # (m, 3) of flat faces
    discs: Array  # (n,) radii of the discs; 0 for points
    ball: float = 0.0  # radius

    def scaled(self, factor: float) -> Support:
        """Scale the shape about the origin by a factor above 0."""
        sizes = factor * self.points, self.normals, factor * self.discs, factor * self.ball
        return Support(*sizes)

    @cached_property
    def is_curved(self) -> bool:
        """Whether it has discs."""
        return bool(self.discs.any())

    @cached_property
    def has_axis(self) -> bool:
        """Whether z is its axis of symmetry, and not the only one."""
        return self.is_curved or bool(self.points.any() and not self.points[:, :2].any())

    @cached_property
    def radius(self) -> float:
        """The radius of the smallest ball about the origin that contains the shape."""
        across = np.linalg.norm(self.points[:, :2], axis=-1) + self.discs
        return float(np.hypot(across, self.points[:, 2]).max()) + self.ball

    def heights(self, n: Array) -> Array:
        """Return the support function (k,) for unit vectors n (k, 3)."""
        rows = max(1, CHUNK // len(self.points))
        parts = [self._along(n[k : k + rows]).max(axis=-1) for k in range(0, len(n), rows)]
        return (np.concatenate(parts) if parts else np.zeros(0)) + self.ball

    def farthest(self, n: Array) -> Array:
        """Return the points (k, 3) of the shape without its ball, farthest along n (k, 3)."""
        index = self._along(n).argmax(axis=-1)
        points = self.points[index].copy()
        across = np.linalg.norm(n[:, :2], axis=-1)
        scale = self.discs[index] / np.maximum(across, 1e-300)
        points[:, :2] += scale[:, None] * n[:, :2]
        return points

    def _along(self, n: Array) -> Array:
        """Return the largest n . x of each disc, (k, points)."""
        heights = n @ self.points.T
        if self.is_curved:
            heights += np.linalg.norm(n[:, :2], axis=-1)[:, None] * self.discs
        return heights


T = TypeVar("T")

UPPER, LOWER = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)


class Geometry(ABC):
    """A shape about its own origin."""

    __slots__ = ()

    @property
    def kind(self) -> str:
        """Its name in files and messages, such as "box"."""
        return type(self).__name__.lower()

    @property
    @abstractmethod
    def sizes(self) -> tuple[float, ...]:
        """Its dimensions [m]; of a mesh its scale."""


class Primitive(Geometry):
    """A convex shape that is known by its sizes, which are at least 0."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for one in fields(self):  # pyright: ignore[reportArgumentType] - a dataclass
            what = f"{self.kind} {one.name}"
            settle(self, **{one.name: size(getattr(self, one.name), what)})

    @property
    def sizes(self) -> tuple[float, ...]:
        """Its dimensions [m]."""
        return tuple(getattr(self, one.name) for one in fields(self))  # pyright: ignore[reportArgumentType]

    @property
    @abstractmethod
    def volume(self) -> float:
        """The volume [m^3]."""

    @abstractmethod
    def solid(self, mass: float) -> Inertia:
        """Return the inertia of a homogeneous solid of a mass [kg] about the origin."""

    @abstractmethod
    def surface(self, *, outer: bool = False) -> Surface:
        """Return the surface as triangles; if `outer`, of a polyhedron that contains the shape."""

    @abstractmethod
    def support(self) -> Support:
        """Return the support function."""

    @abstractmethod
    def depth(self, points: Array) -> Array:
        """Return distances (n,) of points (n, 3) inside to the surface; negative outside."""

    def inertia(self, density: float) -> Inertia:
        """Return the inertia of a homogeneous solid of a density [kg/m^3] about the origin."""
        return self.solid(density * self.volume)


@dataclass(frozen=True, slots=True)
class Box(Primitive):
    """A box about the origin."""

    size: Triple  # edges along x, y, z [m]

    def __post_init__(self) -> None:
        edges = triple(self.size, "box size")
        settle(self, size=tuple(size(edge, "box size") for edge in edges))

    @property
    def sizes(self) -> tuple[float, ...]:
        """The edges along x, y, z [m]."""
        return self.size

    @property
    def volume(self) -> float:
        """The volume [m^3]."""
        return math.prod(self.size)

    def solid(self, mass: float) -> Inertia:
        """Return the inertia of a homogeneous box of a mass [kg]."""
        return solid_box(mass, self.size)

    def surface(self, *, outer: bool = False) -> Surface:
        """Return twelve triangles; sides share no vertices, so that edges look sharp."""
        del outer
        vertices: list[list[float]] = []
        faces: list[list[int]] = []
        for axis in range(3):
            for side in (-1.0, 1.0):
                first, second = (axis + 1) % 3, (axis + 2) % 3
                at = len(vertices)
                for u, v in ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)):
                    corner = [0.0, 0.0, 0.0]
                    corner[axis], corner[first], corner[second] = side, u, v
                    vertices.append(corner)
                order = (0, 1, 2, 3) if side > 0 else (3, 2, 1, 0)
                a, b, c, d = (at + k for k in order)
                faces += [[a, b, c], [a, c, d]]
        return Surface(np.array(vertices) * np.array(self.size) / 2, np.array(faces))

    def support(self) -> Support:
        """Return the corners."""
        corners = np.array(list(product((-0.5, 0.5), repeat=3))) * self.size
        return Support(corners, np.concatenate([np.eye(3), -np.eye(3)]), np.zeros(8))

    def depth(self, points: Array) -> Array:
        """Return distances (n,) of points inside to the nearest face; negative outside."""
        return _depth_between_faces(np.abs(points) - np.array(self.size) / 2)


@dataclass(frozen=True, slots=True)
class Cylinder(Primitive):
    """A cylinder about the origin, along z."""

    radius: float  # [m]
    length: float  # [m]

    @property
    def volume(self) -> float:
        """The volume [m^3]."""
        return math.pi * (self.radius * self.radius) * self.length

    def solid(self, mass: float) -> Inertia:
        """Return the inertia of a homogeneous cylinder of a mass [kg]."""
        return solid_cylinder(mass, self.radius, self.length)

    def surface(self, *, outer: bool = False) -> Surface:
        """Return the side and two caps, which share no vertices."""
        r, z = self.radius, self.length / 2
        r = r / np.cos(np.pi / SEGMENTS) if outer else r
        caps = [revolved([0.0, r], [-z, -z]), revolved([r, 0.0], [z, z])]
        return joined([revolved([r, r], [-z, z]), *caps])

    def support(self) -> Support:
        """Return two discs."""
        return Support(_ends(self.length), np.array([UPPER, LOWER]), np.full(2, self.radius))

    def depth(self, points: Array) -> Array:
        """Return distances (n,) of points inside to the surface; negative outside."""
        across = np.hypot(points[:, 0], points[:, 1]) - self.radius
        along = np.abs(points[:, 2]) - self.length / 2
        return _depth_between_faces(np.stack([across, along], axis=-1))


@dataclass(frozen=True, slots=True)
class Capsule(Primitive):
    """A cylinder along z with a half ball on each end."""

    radius: float  # [m]
    length: float  # of the cylinder alone [m]

    @property
    def volume(self) -> float:
        """The volume [m^3]."""
        return Cylinder(self.radius, self.length).volume + Sphere(self.radius).volume

    def solid(self, mass: float) -> Inertia:
        """Return the inertia of a homogeneous capsule of a mass [kg]."""
        r, length = self.radius, self.length
        parts = 4.0 * r + 3.0 * length
        ball = mass * (4.0 * r / parts if parts else 1.0)  # of both half balls
        tube = solid_cylinder(mass - ball, r, length)
        along, base = 0.4 * ball * r * r, 3 / 8 * r  # a half ball has its center at 3/8 r
        offset = length / 2 + base
        across = tube.tensor[0] + along + ball * (offset * offset - base * base)
        return Inertia(mass, tensor=(across, 0.0, 0.0, across, 0.0, tube.tensor[5] + along))

    def surface(self, *, outer: bool = False) -> Surface:
        """Return a polyhedron with rings of vertices."""
        step = np.pi / (RINGS + 1)
        angles = np.linspace(-np.pi / 2, np.pi / 2, RINGS + 2)
        angles = np.insert(angles, len(angles) // 2, [0.0, 0.0])
        r = self.radius / _shrinking(step) if outer else self.radius
        is_upper = np.arange(len(angles)) >= len(angles) // 2
        heights = r * np.sin(angles) + np.where(is_upper, self.length / 2, -self.length / 2)
        return revolved((r * np.cos(angles)).tolist(), heights.tolist())

    def support(self) -> Support:
        """Return a segment that is grown by a ball."""
        return Support(_ends(self.length), np.zeros((0, 3)), np.zeros(2), ball=self.radius)

    def depth(self, points: Array) -> Array:
        """Return distances (n,) of points inside to the surface; negative outside."""
        half = self.length / 2
        beyond = points[:, 2] - np.clip(points[:, 2], -half, half)
        return self.radius - np.linalg.norm(np.column_stack([points[:, :2], beyond]), axis=-1)


@dataclass(frozen=True, slots=True)
class Sphere(Primitive):
    """A ball about the origin."""

    radius: float  # [m]

    @property
    def volume(self) -> float:
        """The volume [m^3]."""
        # A product, because a power of floats raises OverflowError where a product is infinite,
        # which `Inertia` rejects.
        return 4 / 3 * math.pi * (self.radius * self.radius * self.radius)

    def solid(self, mass: float) -> Inertia:
        """Return the inertia of a homogeneous ball of a mass [kg]."""
        return solid_sphere(mass, self.radius)

    def surface(self, *, outer: bool = False) -> Surface:
        """Return a polyhedron with rings of vertices."""
        angles = np.linspace(-np.pi / 2, np.pi / 2, RINGS + 1)
        r = self.radius / _shrinking(np.pi / RINGS) if outer else self.radius
        return revolved((r * np.cos(angles)).tolist(), (r * np.sin(angles)).tolist())

    def support(self) -> Support:
        """Return a point that is grown by a ball."""
        return Support(np.zeros((1, 3)), np.zeros((0, 3)), np.zeros(1), ball=self.radius)

    def depth(self, points: Array) -> Array:
        """Return distances (n,) of points inside to the surface; negative outside."""
        return self.radius - np.linalg.norm(points, axis=-1)


@dataclass(frozen=True, slots=True)
class Mesh(Geometry):
    """A surface in a file. `filename` is as the file of the robot has it.

    Where a mesh lies on this machine is no property of the robot, so it does not count in `==`.
    """

    filename: str
    scale: Triple = (1.0, 1.0, 1.0)
    path: str | None = field(default=None, compare=False)  # None: not found
    searched: tuple[str, ...] = field(default=(), compare=False, repr=False)  # the paths tried

    def __post_init__(self) -> None:
        settle(
            self,
            filename=text(self.filename, "mesh filename"),
            scale=triple(self.scale, "mesh scale"),
            path=None if self.path is None else text(self.path, "mesh path"),
            searched=tuple(text(path, "searched path") for path in self.searched),
        )

    @property
    def sizes(self) -> tuple[float, ...]:
        """Its scale along x, y, z."""
        return self.scale


def row_of(table: Mapping[type[Geometry], T], geometry: Geometry, what: str) -> T:
    """Return the row of a table for a shape, or for the class that it extends.

    Args:
        table: by class of shapes.
        geometry: the shape.
        what: the format or library of the table, for the message.

    Raises:
        ModelError: the table has no such row.
    """
    for one in type(geometry).__mro__:
        if one in table:
            return table[one]
    raise model_error(f"{what} does not support shapes of kind {geometry.kind!r}")


def _ends(length: float) -> Array:
    return np.array([LOWER, UPPER]) * (0.5 * length)


def _shrinking(step: float) -> float:
    """Return the radius of the ball inside a polyhedron with vertices on a ball of radius 1.

    Args:
        step: angle between rings of vertices.
    """
    return np.cos(np.pi / SEGMENTS) * np.cos(step / 2)


def _depth_between_faces(outside: Array) -> Array:
    """Return depths (n,) of points that are `outside` (n, m) of each pair of opposite faces."""
    beyond = np.linalg.norm(np.maximum(outside, 0.0), axis=-1)
    return -(beyond + np.minimum(outside.max(axis=-1), 0.0))


@dataclass(frozen=True, slots=True)
class Material:
    """Color and texture of a visual."""

    name: str = ""
    rgba: tuple[float, float, float, float] | None = None  # each 0 to 1
    texture: str | None = None

    def __post_init__(self) -> None:
        settle(self, name=text(self.name, "material name"))
        if self.rgba is not None:
            settle(self, rgba=finite_numbers(self.rgba, 4, "rgba"))
        if self.texture is not None:
            settle(self, texture=text(self.texture, "texture"))


@dataclass(frozen=True, slots=True)
class Shape:
    """A piece of a link's visual or collision geometry."""

    geometry: Geometry
    link_H_shape: Pose = IDENTITY
    name: str = ""
    material: Material | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.geometry, Geometry):
            expected = "a Box, Cylinder, Capsule, Sphere or Mesh"
            raise model_error(f"geometry: expected {expected}, got {shown(self.geometry)}")
        instance(self.link_H_shape, Pose, "link_H_shape")
        settle(self, name=text(self.name, "shape name"))
        if self.material is not None:
            instance(self.material, Material, "material")
