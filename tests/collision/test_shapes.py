"""Distances of shapes at any pose and scale, and a shape that linkwork does not have: a cone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import pi

import numpy as np
import pytest

import linkwork as lw
from linkwork.collision.closest import HalfSpace, closest
from linkwork.collision.exact import queries
from linkwork.collision.shapes import axes_along
from linkwork.model.geometry import Primitive, Support, revolved
from linkwork.spatial import so3
from linkwork.spatial.blocks import as_vec

pytestmark = pytest.mark.peers  # which need coal

SHAPES = [lw.Sphere(0.2), lw.Capsule(0.1, 0.3), lw.Box((0.2, 0.3, 0.5)), lw.Cylinder(0.15, 0.4)]


@dataclass(frozen=True, slots=True)
class Cone(Primitive):
    """A cone along z, with its apex above: a class, and one row for coal."""

    radius: float
    length: float

    @property
    def volume(self):
        return pi / 3 * self.radius**2 * self.length

    def solid(self, mass):
        across = mass * (0.15 * self.radius**2 + 0.0375 * self.length**2)
        along = 0.3 * mass * self.radius**2
        return lw.Inertia(mass, (0, 0, -self.length / 4), (across, 0, 0, across, 0, along))

    def surface(self, *, outer=False):
        r = self.radius / (np.cos(pi / 32) if outer else 1.0)
        return revolved([0.0, r, 0.0], [-self.length / 2, -self.length / 2, self.length / 2])

    def support(self):
        points = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]) * self.length / 2
        return Support(points, np.array([[0.0, 0.0, -1.0]]), np.array([self.radius, 0.0]))

    def depth(self, points):
        rho, z = np.hypot(points[:, 0], points[:, 1]), points[:, 2] + self.length / 2
        x, side = np.stack([rho, z], axis=-1), np.array([-self.radius, self.length])
        t = np.clip((x - [self.radius, 0.0]) @ side / (side @ side), 0.0, 1.0)
        to_side = np.linalg.norm(x - [self.radius, 0.0] - t[:, None] * side, axis=-1)
        to_base = np.hypot(np.maximum(rho - self.radius, 0.0), z)
        is_inside = (z > 0.0) & (rho * self.length < self.radius * (self.length - z))
        least = np.minimum(to_side, to_base)
        return np.where(is_inside, least, -least)


def placed(shape, poses):
    return queries.Placed(lw.Shape(shape), poses, "a test")


def random_poses(rng, n, spread=0.5):
    H = np.tile(np.eye(4), (n, 1, 1))
    H[:, :3, :3] = so3.exp(rng.normal(size=(n, 3)))
    H[:, :3, 3] = rng.normal(size=(n, 3)) * spread
    return H


@pytest.fixture
def cone(monkeypatch):
    monkeypatch.setitem(queries.COAL_SHAPES, Cone, "Cone")
    return Cone(0.2, 0.5)


def test_a_new_shape_needs_a_class_and_a_row(cone):
    """Distances to a small ball are depths of its center; the viewer and spheres need no row."""
    rng = np.random.default_rng(0)
    at, world = random_poses(rng, 60, 0.2), np.tile(np.eye(4), (60, 1, 1))
    d = queries.ShapeQueries().nearest(placed(cone, world), placed(lw.Sphere(1e-3), at))[:, 0]
    np.testing.assert_allclose(d, -cone.depth(at[:, :3, 3]) - 1e-3, atol=1e-6)
    b = lw.ModelBuilder("cone")
    b.add_link("body", inertia=cone.inertia(1000.0), collisions=[lw.Shape(cone)])
    model = b.build()
    (cover,) = lw.spherize(model).links
    assert cover.coverage == 1.0
    assert cover.protrusion <= 0.02
    for format_, dump in (("URDF", lw.dump_urdf), ("SDF", lw.dump_sdf), ("MJCF", lw.dump_mjcf)):
        with pytest.raises(lw.ModelError, match=rf"{format_}.*cone"):
            dump(model)


def test_a_shape_without_a_row_is_rejected():
    world = np.eye(4)[None]
    with pytest.raises(lw.ModelError, match=r"coal.*cone"):
        queries.ShapeQueries().nearest(placed(Cone(0.2, 0.5), world), placed(SHAPES[2], world))


@pytest.mark.parametrize("pair", [*combinations_with_replacement(range(5), 2)])
def test_distances_are_symmetric_invariant_and_change_no_faster_than_poses(cone, pair):
    first, second = ([*SHAPES, cone][k] for k in pair)
    rng, n, shapes = np.random.default_rng(3), 12, queries.ShapeQueries()
    A, B, C = (random_poses(rng, n, 0.3) for _ in range(3))
    here = shapes.nearest(placed(first, A), placed(second, B))
    back = shapes.nearest(placed(second, B), placed(first, A))
    moved = shapes.nearest(placed(first, C @ A), placed(second, C @ B))
    np.testing.assert_allclose(back[:, 0], here[:, 0], atol=2e-7)
    np.testing.assert_allclose(moved[:, 0], here[:, 0], atol=2e-7)
    # the separation along any direction is at most the distance, and equal along the normal
    a, b = first.support(), second.support()
    for normal, is_nearest in ((here[:, 7:], True), (random_poses(rng, n)[:, :3, 0], False)):
        along_a, along_b = ((normal[:, None, :] @ H[:, :3, :3])[:, 0] for H in (A, B))
        apart = (normal * (B - A)[:, :3, 3]).sum(axis=-1)
        separation = apart - a.heights(along_a) - b.heights(-along_b)
        assert (separation <= here[:, 0] + 2e-7).all()
        assert not is_nearest or separation == pytest.approx(here[:, 0], abs=2e-7)
    step = rng.normal(size=(n, 3)) * 0.01
    B[:, :3, 3] += step
    there = shapes.nearest(placed(first, A), placed(second, B))[:, 0]
    assert (np.abs(there - here[:, 0]) <= np.linalg.norm(step, axis=-1) + 4e-7).all()


def test_parallel_cylinders_are_rectangles_in_the_plane_of_their_axes():
    a, b = lw.Cylinder(0.3, 0.6), lw.Cylinder(0.2, 0.5)
    rng, shapes = np.random.default_rng(0), queries.ShapeQueries()
    A, B = random_poses(rng, 40), np.tile(np.eye(4), (40, 1, 1))
    B[:, :2, 3], B[:, 2, 3] = rng.normal(size=(40, 2)) * 0.3, rng.normal(size=40) * 0.4
    B[:4, :2, 3], B[:2, 2, 3] = 0.0, 0.0  # coaxial, and concentric
    B[1::2, :3, :3] = np.diag([1.0, -1.0, -1.0])
    gaps = np.stack([np.hypot(*B[:, :2, 3].T) - 0.5, np.abs(B[:, 2, 3]) - 0.55], axis=-1)
    apart = np.linalg.norm(np.maximum(gaps, 0.0), axis=-1)
    expected = np.where(apart > 0.0, apart, gaps.max(axis=-1))
    results = shapes.nearest(placed(a, A), placed(b, A @ B))
    d, first, second, n = results[:, 0], results[:, 1:4], results[:, 4:7], results[:, 7:]
    np.testing.assert_allclose(d, expected, atol=1e-9)
    np.testing.assert_allclose(second - first, d[:, None] * n, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(n, axis=-1), 1.0, atol=1e-12)
    for shape, poses, points in ((a, A, first), (b, A @ B, second)):
        local = (np.linalg.inv(poses) @ np.c_[points, np.ones(40)][..., None])[:, :3, 0]
        np.testing.assert_allclose(shape.depth(local), 0.0, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4, 1e8])
def test_distances_scale_with_the_shapes(scale):
    rng = np.random.default_rng(5)
    A, B = random_poses(rng, 10), random_poses(rng, 10)
    expected = queries.ShapeQueries().nearest(placed(SHAPES[3], A), placed(SHAPES[2], B))[:, 0]
    A[:, :3, 3] *= scale
    B[:, :3, 3] *= scale
    cylinder, box = (
        lw.Cylinder(0.15 * scale, 0.4 * scale),
        lw.Box((0.2 * scale, 0.3 * scale, 0.5 * scale)),
    )
    d = queries.ShapeQueries().nearest(placed(cylinder, A), placed(box, B))[:, 0]
    np.testing.assert_allclose(d / scale, expected, atol=1e-6)


@pytest.mark.parametrize("other", [lw.Capsule(0.05, 0.5), lw.Sphere(0.05)])
def test_shapes_whose_axes_meet_are_separated_along_the_normal(other):
    """The difference of points that meet is a rounding error, which is no direction."""
    rng, shapes = np.random.default_rng(0), queries.ShapeQueries()
    A, B = (random_poses(rng, 1000, 1.0) for _ in range(2))
    A[:, :3, 3] = B[:, :3, 3] + 0.1 * A[:, :3, 2]  # a point of the axis of the first
    here = shapes.nearest(placed(lw.Capsule(0.05, 0.3), A), placed(other, B))
    np.testing.assert_allclose(here[:, 0], -0.1, atol=1e-12)
    B[:, :3, 3] -= 1.001 * here[:, :1] * here[:, 7:]
    apart = shapes.nearest(placed(lw.Capsule(0.05, 0.3), A), placed(other, B))[:, 0]
    assert (apart > 0.0).all()


@pytest.mark.parametrize("size", [1.0, 100.0, 1e6])
def test_shapes_of_any_size_touch_within_the_same_depth(size):
    shapes, A = queries.ShapeQueries(), np.tile(np.eye(4), (2, 1, 1))
    box, B = lw.Box((size, size, size)), A.copy()
    B[:, 2, 3] = size * (1.0 - 1e-9), size + 1e-9
    overlap = shapes.overlap(placed(box, A), placed(box, B))
    assert overlap.tolist() == [size > 1.0, False]


@pytest.mark.parametrize("geometry", SHAPES, ids=lambda one: type(one).__name__)
def test_half_spaces_are_as_far_by_queries_as_by_closed_forms(geometry):
    """Beside a mesh, any shape of a link is compared with half-spaces by a query."""
    rng = np.random.default_rng(5)
    poses, normals = random_poses(rng, 20), rng.normal(size=(20, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    planes = np.column_stack([normals, rng.normal(size=20)])
    shape = lw.Shape(geometry, lw.Pose((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
    one = queries.Placed(shape, poses, "a shape")
    actual = queries.ShapeQueries().to_half_spaces(one, planes)

    plane = HalfSpace(as_vec(list(normals.T)), planes[:, 3])
    expected = closest(plane, queries._with_arrays(one))
    np.testing.assert_allclose(actual[:, 0], expected.distance, atol=1e-14)
    np.testing.assert_allclose(actual[:, 1:4], np.stack([*expected.second], axis=1), atol=1e-13)
    np.testing.assert_allclose(actual[:, 4:7], np.stack([*expected.first], axis=1), atol=1e-13)
    np.testing.assert_allclose(actual[:, 7:], -normals, atol=1e-14)


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, -1, 0), (1, 0, 0), (0.6, 0.0, 0.8), (2, -1, 2)])
def test_axes_along_a_vector_are_a_rotation(axis):
    axis = np.array(axis) / np.linalg.norm(axis)
    R = axes_along(axis)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) > 0.0
    np.testing.assert_array_equal(R[:, 2], axis)
