"""Pairs of shapes that are built to have a known distance: a point of each, a gap apart.

If the support function of the first has its maximum along n at one point, and that of the second
along -n at the other, no other points are nearer.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import linkwork as lw
from linkwork.collision.exact.queries import Placed, ShapeQueries
from linkwork.spatial import so3

pytestmark = pytest.mark.peers  # which need coal

ROWS = 24
SHAPES = [lw.Capsule(0.1, 0.3), lw.Box((0.2, 0.3, 0.5)), lw.Cylinder(0.15, 0.4)]
PLATE, DISC = lw.Box((0.5, 0.4, 0.01)), lw.Cylinder(0.3, 0.005)


def scaled(shape, factor):
    sizes = [factor * size for size in shape.sizes]
    return lw.Box(sizes) if isinstance(shape, lw.Box) else type(shape)(*sizes)


def some_normals(support, rng):
    """Unit vectors: across a face, nearly so, across an axis, and in any direction."""
    n = rng.normal(size=(ROWS, 3))
    n[rng.random(ROWS) < 0.2, 2] = 0.0
    if len(support.normals):
        off = n * 10.0 ** rng.uniform(-12.0, -2.0, size=(ROWS, 1)) * rng.integers(2, size=(ROWS, 1))
        faces = support.normals[rng.integers(len(support.normals), size=ROWS)] + off
        n = np.where(rng.random((ROWS, 1)) < 0.5, faces, n)
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


def turned(normals, n, rng):
    """Rotations R, random about n, with R normals = n."""

    def axes(v):
        x = np.cross(v, rng.normal(size=v.shape))
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
        return np.stack([x, np.cross(v, x), v], axis=-1)

    return axes(n) @ axes(normals).swapaxes(1, 2)


def points_along(support, n, rng):
    """A point of the shape that is farthest along each normal: anywhere in a face or edge."""
    points = support.farthest(n) + support.ball * n
    for k, one in enumerate(n):
        heights = support.points @ one
        corners = support.points[heights > heights.max() - 1e-15 * support.radius]
        if not support.is_curved and len(corners) > 1:
            points[k] = rng.dirichlet(np.ones(len(corners))) @ corners + support.ball * one
    return points


def pairs_at(first, second, gaps, rng):
    """Poses of shapes whose distances are the gaps."""
    supports = [shape.support() for shape in (first, second)]
    n = so3.exp(rng.normal(size=(ROWS, 3)))[..., 2]
    n[::4] = np.eye(3)[rng.integers(3, size=len(n[::4]))]
    A, B = np.tile(np.eye(4), (2, ROWS, 1, 1))
    own = [some_normals(support, rng) for support in supports]
    A[:, :3, :3], B[:, :3, :3] = turned(own[0], n, rng), turned(own[1], -n, rng)
    on_a, on_b = (
        (H[:, :3, :3] @ points_along(support, v, rng)[..., None])[..., 0]
        for H, support, v in zip((A, B), supports, own, strict=True)
    )
    B[:, :3, 3] = on_a + gaps[:, None] * n - on_b
    return A, B


def outside(shape, poses, points):
    """How far points are outside of shapes at poses."""
    local = (poses[:, :3, :3].swapaxes(1, 2) @ (points - poses[:, :3, 3])[..., None])[..., 0]
    return np.maximum(-shape.depth(local), 0.0)


@pytest.mark.parametrize("first", [*SHAPES, PLATE, DISC], ids=lambda s: f"{s.kind}{s.sizes}")
@pytest.mark.parametrize(
    ("size", "ratio"), [(1.0, 1.0), (1.0, 1e-3), (1.0, 1e-6), (1e-6, 1.0), (1e5, 1.0), (1e-3, 1e3)]
)
def test_distances_are_the_gaps(first, size, ratio):
    rng, shapes = np.random.default_rng(5), ShapeQueries()
    for other in SHAPES[1:]:
        a, b = scaled(first, size), scaled(other, size * ratio)
        radii = [shape.support().radius for shape in (a, b)]
        gaps = rng.choice(radii, size=ROWS) * 10.0 ** rng.uniform(-9.0, 4.0, size=ROWS)
        gaps[rng.random(ROWS) < 0.4] = 0.0
        A, B = pairs_at(a, b, gaps, rng)
        results = shapes.nearest(Placed(lw.Shape(a), A, "a"), Placed(lw.Shape(b), B, "b"))
        d, first_points, second_points, n = np.split(results, [1, 4, 7], axis=1)
        allowed = max(radii) + gaps
        assert (np.abs(d[:, 0] - gaps) <= 1e-8 * allowed).all()
        np.testing.assert_allclose(second_points, first_points + d * n, atol=1e-14 * allowed.max())
        assert (outside(a, A, first_points) <= 1e-6 * allowed).all()
        assert (outside(b, B, second_points) <= 1e-5 * allowed).all()
        if min(radii) > 1e-4 and max(radii) < 10.0:  # links that touch within 1e-9 m are free
            one = Placed(lw.Shape(a), A, "a")
            assert not shapes.overlap(one, Placed(lw.Shape(b), B, "b")).any()
            into = 0.5 * (A[:, :3, 3] + first_points) - second_points
            B[:, :3, 3] += into  # a point of the second is halfway to the center of the first
            assert shapes.overlap(one, Placed(lw.Shape(b), B, "b")).all()


@pytest.mark.parametrize("ratio", [1e-5, 1e5, 1e6, 1e7])
def test_sizes_may_differ_by_large_factors(ratio):
    rng, shapes = np.random.default_rng(5), ShapeQueries()
    for first in [*SHAPES, PLATE, DISC]:
        for other in [*SHAPES[1:], PLATE, DISC]:
            b = scaled(other, ratio)
            radii = [shape.support().radius for shape in (first, b)]
            gaps = rng.choice(radii, size=ROWS) * 10.0 ** rng.uniform(-9.0, 4.0, size=ROWS)
            gaps[rng.random(ROWS) < 0.4] = 0.0
            A, B = pairs_at(first, b, gaps, rng)
            results = shapes.nearest(Placed(lw.Shape(first), A, "a"), Placed(lw.Shape(b), B, "b"))
            allowed = 1e-8 * (max(radii) + gaps)
            assert (np.abs(results[:, 0] - gaps) <= allowed).all()


@pytest.mark.parametrize("pair", list(combinations_with_replacement(range(3), 2)))
def test_boxes_and_hulls_overlap_by_the_least_of_all_translations(pair):
    """Of polytopes, one of the normals of faces and products of edges is that of the depth."""
    kinds = [lw.Box((0.2, 0.3, 0.5)), lw.Box((0.4, 0.4, 0.4)), lw.Box((0.6, 0.5, 0.02))]
    a, b = (kinds[k] for k in pair)
    rng, shapes = np.random.default_rng(8), ShapeQueries()
    A, B = np.tile(np.eye(4), (2, 60, 1, 1))
    B[:, :3, :3] = so3.exp(rng.normal(size=(60, 3)) * 10.0 ** rng.uniform(-9.0, 0.5, size=(60, 1)))
    B[:, :3, 3] = rng.normal(size=(60, 3)) * 0.1
    B[:6, :3, 3] = 0.0
    B[:3, :3, :3] = np.eye(3)
    R = B[:, :3, :3]
    across = np.cross(np.eye(3)[None, :, None], R.swapaxes(1, 2)[:, None]).reshape(60, 9, 3)
    n = np.concatenate([np.tile(np.eye(3), (60, 1, 1)), R.swapaxes(1, 2), across], axis=1)
    lengths = np.linalg.norm(n, axis=-1, keepdims=True)
    n /= np.where(lengths > 1e-7, lengths, np.inf)
    halves = [0.5 * np.array(shape.size) for shape in (a, b)]
    reach = np.abs(n) @ halves[0] + np.abs(n @ R) @ halves[1]
    separation = np.abs(n @ B[:, :3, 3, None])[..., 0] - reach
    expected = np.where(lengths[..., 0] > 1e-7, separation, -np.inf).max(axis=1)
    d = shapes.nearest(Placed(lw.Shape(a), A, "a"), Placed(lw.Shape(b), B, "b"))[:, 0]
    overlaps = expected < 0.0
    assert overlaps.sum() > 15
    np.testing.assert_allclose(d[overlaps], expected[overlaps], atol=1e-10)
    assert (d[~overlaps] >= expected[~overlaps] - 1e-10).all()


class Polyhedron:
    """The hull of points, as a mesh in a file; the methods are those of a primitive."""

    def __init__(self, points, path):
        self.hull, self.points = ConvexHull(points), points
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
        lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in self.hull.simplices.tolist()]
        path.write_text("\n".join(lines))
        self.geometry = lw.Mesh(path.name, path=str(path))

    def depth(self, points):
        return -(points @ self.hull.equations[:, :3].T + self.hull.equations[:, 3]).max(axis=-1)

    def heights(self, n):
        return (n @ self.points.T).max(axis=-1)


def height(shape, R, n):
    """The support function of a shape along unit vectors in the world."""
    own = shape if isinstance(shape, Polyhedron) else shape.support()
    return own.heights((n[:, None, :] @ R)[:, 0])


@pytest.mark.parametrize("ratio", [1.0, 1e-2, 1e-4])
def test_points_are_in_both_shapes_and_a_plane_between_them_confirms_the_distance(tmp_path, ratio):
    """Apart, touching, overlapping and concentric; the order of the shapes changes nothing."""
    rng, shapes, n_rows = np.random.default_rng(41), ShapeQueries(), 12
    kinds = [
        *(lw.Sphere(0.3), lw.Capsule(0.05, 0.6), PLATE, lw.Cylinder(0.02, 0.5), DISC),
        Polyhedron(rng.normal(size=(40, 3)) * (0.3, 0.2, 1.0), tmp_path / "many.obj"),
        Polyhedron(rng.normal(size=(12, 3)) * (0.5, 0.3, 0.002), tmp_path / "thin.obj"),
    ]
    for a, other in [*product(kinds[3:], kinds), (kinds[1], kinds[2])]:
        if isinstance(other, Polyhedron):
            b = Polyhedron(ratio * other.points, tmp_path / f"{rng.integers(1 << 60)}.obj")
        else:
            b = scaled(other, ratio)
        A, B = np.tile(np.eye(4), (2, n_rows, 1, 1))
        A[:, :3, :3], B[:, :3, :3] = so3.exp(rng.normal(size=(2, n_rows, 3)))
        A[::3, :3, :3] = B[::3, :3, :3] = np.eye(3)
        B[3:, :3, 3] = rng.normal(size=(n_rows - 3, 3)) * 10.0 ** -rng.uniform(
            0, 4, (n_rows - 3, 1)
        )
        first, second = (
            Placed(lw.Shape(getattr(one, "geometry", one)), H, "a") for one, H in ((a, A), (b, B))
        )
        apart = shapes.nearest(first, second)
        gaps = rng.choice([0.0, 1e-6, 1e-3], size=(6, 1)) * ratio
        B[6:, :3, 3] += (gaps - apart[6:, :1]) * apart[6:, 7:]
        result = shapes.nearest(first, second)
        d, p, q, n = (
            part[:, 0] if k == 0 else part
            for k, part in enumerate(np.split(result, [1, 4, 7], axis=1))
        )
        allowed = 1.0 + np.abs(d)
        np.testing.assert_allclose(shapes.nearest(second, first)[:, 0], d, atol=1e-8)
        np.testing.assert_allclose(q, p + d[:, None] * n, atol=1e-12)
        separation = (n * (B[:, :3, 3] - A[:, :3, 3])).sum(axis=-1)
        separation -= height(a, A[:, :3, :3], n) + height(b, B[:, :3, :3], -n)
        np.testing.assert_allclose(d, separation, atol=1e-12)
        assert (outside(a, A, p) <= 1e-6 * allowed).all()
        assert (outside(b, B, q) <= 1e-6 * allowed).all()


def test_a_cylinder_without_radius_is_a_segment():
    rng, shapes = np.random.default_rng(9), ShapeQueries()
    A, B = np.tile(np.eye(4), (2, ROWS, 1, 1))
    A[:, :3, :3], B[:, :3, :3] = so3.exp(rng.normal(size=(2, ROWS, 3)))
    B[:, :3, 3] = rng.normal(size=(ROWS, 3))
    for other in (lw.Cylinder(0.15, 0.4), lw.Box((0.2, 0.3, 0.5)), lw.Cylinder(0.3, 0.0)):
        first = Placed(lw.Shape(other), A, "a")
        kinds = lw.Cylinder(0.0, 0.4), lw.Box((0.0, 0.0, 0.4)), lw.Capsule(0.0, 0.4)
        d = [shapes.nearest(first, Placed(lw.Shape(kind), B, "b"))[:, 0] for kind in kinds[:2]]
        assert np.isfinite(d).all()
        np.testing.assert_allclose(d[0], d[1], atol=1e-9)
        if isinstance(other, lw.Cylinder):
            capsule = shapes.nearest(first, Placed(lw.Shape(kinds[2]), B, "b"))[:, 0]
            np.testing.assert_allclose(d[0], capsule, atol=1e-9)


@pytest.mark.parametrize("size", [1.0, 1e-4])
def test_balls_and_edges_of_thin_hulls(tmp_path, size):
    """Two faces meet at an edge; a ball between their normals is nearest to the edge."""
    rng, shapes = np.random.default_rng(10), ShapeQueries()
    for k in range(40):
        points = size * rng.normal(size=(4, 3)) * (0.1, 0.8, 0.003)
        hull = Polyhedron(points, tmp_path / f"{k}.obj")
        (a, b), (n, m) = hull.hull.simplices[:2], hull.hull.equations[:2, :3]
        edge = points[np.intersect1d(a, b)]
        between = (n + m) / np.linalg.norm(n + m)
        radius = 0.015 * size
        gaps = radius * np.array([-0.9, -0.5, -0.1, -1e-6, 0.0, 1e-6, 0.1, 10.0])
        B = np.tile(np.eye(4), (len(gaps), 1, 1))
        B[:, :3, 3] = edge.mean(axis=0) + (radius + gaps)[:, None] * between
        first = Placed(lw.Shape(hull.geometry), np.tile(np.eye(4), (len(gaps), 1, 1)), "a")
        for ball in (lw.Sphere(radius), lw.Capsule(radius, 0.0)):
            results = shapes.nearest(first, Placed(lw.Shape(ball), B, "b"))
            np.testing.assert_allclose(results[:, 0], gaps, atol=1e-9 * size)


def test_small_hulls_in_large_shapes_have_the_depth_of_the_best_direction(tmp_path):
    rng, shapes = np.random.default_rng(11), ShapeQueries()
    A = np.tile(np.eye(4), (4, 1, 1))
    angles = np.linspace(0.0, 2.0 * np.pi, 20_000)
    around = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=-1)
    faces = np.concatenate([np.eye(3), -np.eye(3)])
    for k in range(20):
        hull = Polyhedron(rng.normal(size=(4, 3)) * (0.04, 0.01, 0.01), tmp_path / f"{k}.obj")
        B = A.copy()
        B[:, :3, :3], B[:, :3, 3] = so3.exp(rng.normal(size=(4, 3))), 1e-3 * rng.normal(size=(4, 3))
        for other, n in (
            (lw.Cylinder(600.0, 4000.0), around),
            (lw.Box((3000.0, 1000.0, 2000.0)), faces),
        ):
            expected = []
            for H in B:
                reach = other.support().heights(n) + hull.heights(-n @ H[:3, :3])
                expected.append((n @ H[:3, 3] - reach).max())
            first, second = Placed(lw.Shape(other), A, "a"), Placed(lw.Shape(hull.geometry), B, "b")
            for pair in ((first, second), (second, first)):
                np.testing.assert_allclose(shapes.nearest(*pair)[:, 0], expected, atol=1e-5)
