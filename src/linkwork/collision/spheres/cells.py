"""What spheres have to cover of the shapes of a link: cells of surfaces, and points.

Cell      a small piece of a surface: the convex hull of 8 points, perhaps with a radius around it.
          A ball that contains the points contains the cell, so that the surface is covered
          everywhere, not only at samples
Point     of a grid inside the solid. Any ball inside the solid contains one if its radius is half
          the tolerance, or 1/20 of the size of the link if that is more
Depth     of a point in the solid: its distance to the surface, negative outside. A ball with center
          c and radius r protrudes from the solid by at most r - depth(c)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.io.mesh_files import import_trimesh
from linkwork.model.geometry import Geometry, Mesh, Primitive, Surface

SOME_CELLS = 3000  # links that need more have larger cells,
MOST_CELLS = 10_000  # but none with an edge above half the tolerance, up to this number
MOST_POINTS = 6000  # of the grid in the box around a link
CHUNK = 200_000  # elements of a temporary array, which then stay in the cache
MERGED = 1e-7  # vertices of a mesh that are nearer, relative to its size, are one
LEAST_WEIGHT = 1e-6  # of a cell, relative to the largest: degenerate triangles have no area
NO_CAPS = np.zeros((0, 3, 3))
CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))  # (8, 3)


@dataclass(frozen=True, eq=False)
class CoveredShape:
    """A shape in the frame of its link, as triangles or, if it is round, analytically."""

    geometry: Geometry
    link_H_shape: Array  # (4, 4)
    surface: Surface | None  # in the frame of the link; None of a sphere, which is one cell
    caps: Array  # (c, 3, 3) triangles that close the holes of a mesh

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The lower and upper corner of the box around it."""
        if self.surface is not None:
            return self.surface.vertices.min(axis=0), self.surface.vertices.max(axis=0)
        radius, center = self._ball()
        return center - radius, center + radius

    def _ball(self) -> tuple[float, Array]:
        """Radius and center (3,) of a sphere."""
        assert isinstance(self.geometry, Primitive)
        return self.geometry.support().ball, self.link_H_shape[:3, 3]

    def depth(self, points: Array) -> Array:
        """(n,) depth of points, negative outside; of the shape itself, not of its triangles."""
        if isinstance(self.geometry, Primitive):
            R, p = self.link_H_shape[:3, :3], self.link_H_shape[:3, 3]
            return self.geometry.depth((points - p) @ R)
        return mesh_depth(self._closed_triangles, points)

    def contains(self, points: Array) -> Array:
        """(n,) whether points are inside."""
        if isinstance(self.geometry, Primitive):
            return self.depth(points) > 0
        return _inside(self._closed_triangles, points)

    @property
    def _closed_triangles(self) -> Array:
        """(t, 3, 3) triangles of a mesh and the caps on its holes."""
        assert self.surface is not None
        return np.concatenate([self.surface.triangles, self.caps])

    def cells(self, edge: float) -> tuple[Array, Array, Array]:
        """(m, 8, 3) points of the cells, (m,) radii around them, (m,) areas."""
        if self.surface is None:
            radius, center = self._ball()
            area = 4 * np.pi * radius * radius
            return np.tile(center, (1, 8, 1)), np.array([radius]), np.array([area])
        triangles = subdivided(self.surface.triangles, edge)
        corners, areas = _boxes_around(triangles, edge)
        return corners, np.zeros(len(corners)), areas


def covered_shape(
    geometry: Geometry, link_H_shape: Array, surface: Surface | None = None
) -> CoveredShape:
    """Prepare a shape to cover.

    Args:
        geometry: the shape. A round shape has the surface of a polyhedron around it.
        link_H_shape: (4, 4).
        surface: of a mesh, scaled.
    """
    if isinstance(geometry, Primitive):
        support = geometry.support()
        if len(support.points) == 1 and not support.is_curved:
            return CoveredShape(geometry, link_H_shape, None, NO_CAPS)
        surface = geometry.surface(outer=True)
    assert surface is not None
    surface = surface.placed(link_H_shape)
    caps = closing_triangles(surface) if isinstance(geometry, Mesh) else NO_CAPS
    return CoveredShape(geometry, link_H_shape, surface, caps)


@dataclass(frozen=True, eq=False)
class Target:
    """Everything that has to be covered of one link."""

    solids: Sequence[CoveredShape]
    corners: Array  # (m, 8, 3) of the cells
    radii: Array  # (m,) around the cells
    areas: Array  # (m,) of the cells
    points: Array  # (n, 3) of the grid inside
    spacing: float  # of the grid

    def depth(self, points: Array) -> Array:
        """(n,) at least the depth of points in the union of the shapes."""
        return np.max([solid.depth(points) for solid in self.solids], axis=0)

    def contains(self, points: Array) -> Array:
        """(n,) whether points are inside one of the shapes."""
        return np.any([solid.contains(points) for solid in self.solids], axis=0)

    @property
    def weights(self) -> Array:
        """(m + n,) of the cells, and of the points of the grid; none is zero."""
        weights = np.concatenate([self.areas, np.full(len(self.points), self.spacing**2)])
        return np.maximum(weights, LEAST_WEIGHT * weights.max(initial=1e-30))

    def farthest(self, centers: Array) -> Array:
        """(k, m + n) radius of a ball about each center that contains a cell or a point.

        In single precision: it decides which balls are chosen, not how large they are in the end.
        """
        m = len(self.corners)
        middle = self.corners.mean(axis=(0, 1)) if m else centers.mean(axis=0)
        corners = _homogeneous(self.corners.transpose(1, 0, 2) - middle)
        points = _homogeneous(self.points - middle)
        p = (centers - middle).astype(np.float32)
        far = np.empty((len(centers), m + len(self.points)), np.float32)
        rows = max(1, CHUNK // max(far.shape[1], 1))
        for start in range(0, len(p), rows):
            some = p[start : start + rows]
            squares = far[start : start + rows]
            squares[:, m:] = _affine(some, points)
            if m:
                squares[:, :m] = _affine(some, corners[0])
                for corner in corners[1:]:
                    np.maximum(squares[:, :m], _affine(some, corner), out=squares[:, :m])
            squares += (some * some).sum(axis=1)[:, None]
        np.sqrt(np.maximum(far, 0.0, out=far), out=far)
        far[:, :m] += self.radii.astype(np.float32)
        return far

    def members(self, indices: Array) -> tuple[Array, Array]:
        """(k, 3) points of some cells and of the grid, (k,) radii around them."""
        cells = indices[indices < len(self.corners)]
        inside = self.points[indices[indices >= len(self.corners)] - len(self.corners)]
        points = np.concatenate([self.corners[cells].reshape(-1, 3), inside])
        return points, np.concatenate([np.repeat(self.radii[cells], 8), np.zeros(len(inside))])


def _homogeneous(points: Array) -> Array:
    """(..., 4, n) in single precision, for points x (..., n, 3): -2 x and |x|^2, see `_affine`."""
    squares = (points * points).sum(axis=-1, keepdims=True)
    rows = np.concatenate([-2 * points, squares], axis=-1).swapaxes(-1, -2)
    return np.ascontiguousarray(rows, np.float32)


def _affine(p: Array, rows: Array) -> Array:
    """(len(p), n) |x - p|^2 - |p|^2 for points x as `_homogeneous` returns them."""
    result = p[:, 0, None] * rows[0]
    result += rows[3]
    for k in (1, 2):
        result += p[:, k, None] * rows[k]
    return result


def _dots(a: Array, b: Array) -> Array:
    """(len(a), len(b)) products of vectors.

    As sums, not as matrix products: for so few columns, the threads of BLAS mostly wait.
    """
    result = a[:, 0, None] * b[:, 0]
    for k in (1, 2):
        result += a[:, k, None] * b[:, k]
    return result


def _squared(a: Array, b: Array) -> Array:
    """(len(a), len(b)) squared distances."""
    squares = _dots(a, -2 * b)
    squares += (a * a).sum(axis=1)[:, None]
    squares += (b * b).sum(axis=1)
    return np.maximum(squares, 0.0, out=squares)


def target_of(solids: Sequence[CoveredShape], tolerance: float) -> Target:
    """What has to be covered of a link, in cells that suit the tolerance."""
    lows, highs = zip(*(solid.bounds for solid in solids), strict=True)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    extent = np.maximum(high - low, 1e-12)
    edge = _cell_edge(solids, tolerance, float(extent.max()))
    cells = [solid.cells(edge) for solid in solids]
    # Any ball with a radius of half the diagonal of the grid contains one of its points.
    spacing = min(tolerance / np.sqrt(3), float(extent.max()) / 6)
    # at most so many points in a box of any proportions
    longest = np.sort(extent)[::-1]
    limits = [float(longest[:k].prod() / MOST_POINTS) ** (1 / k) for k in (1, 2, 3)]
    spacing = max(spacing, *limits)
    grid = _grid(low, high, spacing)
    target = Target(
        solids,
        np.concatenate([corners for corners, _, _ in cells]),
        np.concatenate([radii for _, radii, _ in cells]),
        np.concatenate([areas for _, _, areas in cells]),
        grid[:0],
        spacing,
    )
    inside = np.zeros(len(grid), dtype=bool)
    for solid in solids:
        if solid.surface is not None:  # the cells of others are not hollow
            inside |= solid.contains(grid)
    return Target(solids, target.corners, target.radii, target.areas, grid[inside], spacing)


def feasible_tolerance(solids: Sequence[CoveredShape], tolerance: float) -> float:
    """Return a tolerance that is not too small for the largest number of cells.

    A cell with an edge of half the tolerance fits in a ball with the tolerance as radius. If cells
    are larger, each of them would need a ball of its own, so the tolerance grows: to twice the edge
    of cells, and to four times the edge for huge links, of which some hundred balls are enough.
    """
    least = 2.0 * float(np.sqrt(_area(solids) / MOST_CELLS))
    return tolerance if least <= tolerance else least * min(least / tolerance, 2.0)


def _area(solids: Sequence[CoveredShape]) -> float:
    """The area of the surfaces that are divided into cells."""
    triangles = [solid.surface.triangles for solid in solids if solid.surface is not None]
    return sum(float(np.linalg.norm(_normals(each), axis=1).sum()) / 2 for each in triangles)


def _cell_edge(solids: Sequence[CoveredShape], tolerance: float, size: float) -> float:
    """The edge of cells: a third of the tolerance, half for large links, more for huge ones."""
    area = _area(solids)
    edge = max(tolerance / 3, min(tolerance / 2, float(np.sqrt(area / SOME_CELLS))))
    return max(min(edge, size / 4), float(np.sqrt(area / MOST_CELLS)), size / MOST_CELLS)


def _normals(triangles: Array) -> Array:
    """(m, 3) normals of triangles, twice as long as their area."""
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])


def _grid(low: Array, high: Array, spacing: float) -> Array:
    """(n, 3) points of a grid in a box, centered in it."""
    counts = np.maximum(np.ceil((high - low) / spacing).astype(int), 1)
    axes = [
        (low[i] + high[i]) / 2 + spacing * (np.arange(counts[i]) - (counts[i] - 1) / 2)
        for i in range(3)
    ]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


# Surfaces.


def subdivided(triangles: Array, edge: float) -> Array:
    """(m, 3, 3) triangles without edges longer than `edge`, by halving their longest edges."""
    finished: list[Array] = []
    while len(triangles):
        lengths = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=-1)
        long = lengths.max(axis=1) > edge
        finished.append(triangles[~long])
        triangles, longest = triangles[long], lengths[long].argmax(axis=1)
        rows = np.arange(len(triangles))
        a, b, c = (triangles[rows, (longest + k) % 3] for k in range(3))  # ab is the longest
        middle = (a + b) / 2
        triangles = np.concatenate([np.stack([a, middle, c], 1), np.stack([middle, b, c], 1)])
    return np.concatenate(finished) if finished else triangles


def _boxes_around(triangles: Array, edge: float) -> tuple[Array, Array]:
    """Boxes around groups of triangles: (m, 8, 3) corners, (m,) areas of the triangles.

    Triangles of a group are near each other and face the same way, so their boxes are thin.
    """
    normals = _normals(triangles)
    areas = np.linalg.norm(normals, axis=1) / 2
    facing = np.abs(normals).argmax(axis=1) * 2 + (
        np.take_along_axis(normals, np.abs(normals).argmax(axis=1)[:, None], 1)[:, 0] > 0
    )
    centers = triangles.mean(axis=1)
    cell = np.floor((centers - centers.min(axis=0)) / edge).astype(int)
    _, group = np.unique(np.column_stack([cell, facing]), axis=0, return_inverse=True)
    group = group.reshape(-1)
    count = int(group.max()) + 1
    points, of_point = triangles.reshape(-1, 3), np.repeat(group, 3)
    middles = np.stack([np.bincount(of_point, points[:, k], count) for k in range(3)], axis=-1)
    middles /= np.bincount(of_point, minlength=count)[:, None]
    away = points - middles[of_point]
    spread = np.zeros((count, 3, 3))
    np.add.at(spread, of_point, away[:, :, None] * away[:, None, :])
    _, axes = np.linalg.eigh(spread)
    along = np.einsum("ni,nij->nj", away, axes[of_point])
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, of_point, along)
    np.maximum.at(high, of_point, along)
    local = ((low + high) / 2)[:, None] + CORNERS * ((high - low) / 2)[:, None]
    corners = middles[:, None] + local @ axes.transpose(0, 2, 1)
    single = np.bincount(group, minlength=count)[group] == 1  # a triangle needs no box
    corners[group[single]] = triangles[single][:, [0, 1, 2, 0, 1, 2, 0, 1]]
    return corners, np.bincount(group, areas, count)


def closing_triangles(surface: Surface) -> Array:
    """(c, 3, 3) triangles that close the holes of a mesh: a cone over the rim of each hole."""
    size = float(surface.extents.max()) or 1.0
    _, merged = np.unique(np.round(surface.vertices / (MERGED * size)), axis=0, return_inverse=True)
    faces = merged.reshape(-1)[surface.faces]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    forward = edges[:, 0] < edges[:, 1]
    pairs, index = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    net = np.bincount(index.reshape(-1), np.where(forward, 1.0, -1.0), len(pairs)).astype(int)
    open_edges = np.repeat(np.where(net[:, None] > 0, pairs[:, ::-1], pairs), np.abs(net), axis=0)
    if not len(open_edges):
        return NO_CAPS
    places = np.empty((int(merged.max()) + 1, 3))
    places[merged.reshape(-1)] = surface.vertices
    rim = _connected(open_edges)
    count = int(rim.max()) + 1
    starts = places[open_edges[:, 0]]
    tips = np.stack([np.bincount(rim, starts[:, k], count) for k in range(3)], axis=-1)
    tips /= np.bincount(rim, minlength=count)[:, None]
    return np.concatenate([places[open_edges], tips[rim][:, None]], axis=1)


def _connected(edges: Array) -> Array:
    """(n,) which connected piece each edge belongs to, counted from zero."""
    label = np.arange(int(edges.max()) + 1)
    while True:
        least = np.minimum(label[edges[:, 0]], label[edges[:, 1]])
        before = label.copy()
        np.minimum.at(label, edges[:, 0], least)
        np.minimum.at(label, edges[:, 1], least)
        label = label[label]
        if (label == before).all():
            return np.unique(label[edges[:, 0]], return_inverse=True)[1].reshape(-1)


def mesh_depth(triangles: Array, points: Array) -> Array:
    """(n,) exact depth of points in a closed mesh; negative outside."""
    distance = np.empty(len(points))
    for chunk in _chunks(len(points), len(triangles)):
        distance[chunk] = _distances(points[chunk], triangles)
    return np.where(_inside(triangles, points), distance, -distance)


def _inside(triangles: Array, points: Array) -> Array:
    """(n,) whether points are inside of a closed mesh.

    The winding number separates inside from outside also where pieces of a mesh overlap.
    """
    inside = np.empty(len(points), dtype=bool)
    for chunk in _chunks(len(points), len(triangles)):
        inside[chunk] = np.abs(_winding_numbers(points[chunk], triangles)) > 0.5
    return inside


def _chunks(n: int, width: int) -> list[slice]:
    """Slices of n rows whose products with `width` columns stay in the cache."""
    rows = max(1, CHUNK // max(width, 1))
    return [slice(start, start + rows) for start in range(0, n, rows)]


def _distances(points: Array, triangles: Array) -> Array:
    """(n,) distance of points to the nearest triangle; only near triangles are looked at."""
    centers = triangles.mean(axis=1)
    radii = np.linalg.norm(triangles - centers[:, None], axis=-1).max(axis=1)
    to_center = np.sqrt(_squared(points, centers))
    nearest = to_center.min(axis=1)  # at least the distance, because centers are on triangles
    rows, columns = np.nonzero(to_center - radii <= nearest[:, None] * (1 + 1e-6) + 1e-9)
    closest = import_trimesh().triangles.closest_point(triangles[columns], points[rows])
    apart = np.linalg.norm(points[rows] - closest, axis=-1)
    result = np.full(len(points), np.inf)
    np.minimum.at(result, rows, apart)
    return result


def _winding_numbers(points: Array, triangles: Array) -> Array:
    """(n,) winding numbers: the solid angles of all triangles at each point, over 4 pi.

    Products of the vectors from a point to the corners, expanded so that matrix products give them.
    """
    middle = triangles.mean(axis=(0, 1))
    p, corners = points - middle, triangles - middle
    squares = (p * p).sum(axis=1)[:, None]
    a, b, c = (corners[:, k] for k in range(3))
    la, lb, lc = (np.sqrt(_squared(p, x)) for x in (a, b, c))
    ab, bc, ca = ((x * y).sum(1) - _dots(p, x + y) + squares for x, y in ((a, b), (b, c), (c, a)))
    volume = (a * np.cross(b, c)).sum(axis=1) - _dots(p, np.cross(b - a, c - a))
    angle = np.arctan2(volume, la * lb * lc + ab * lc + bc * la + ca * lb)
    return angle.sum(axis=1) / (2 * np.pi)
