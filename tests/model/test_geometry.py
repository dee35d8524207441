"""Shapes: surfaces, support functions, inertias and depths agree with each other."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.io.solids import solid_surface
from linkwork.model.geometry import row_of

SHAPES = {
    "box": lw.Box((0.2, 0.3, 0.5)),
    "cylinder": lw.Cylinder(0.1, 0.4),
    "flat cylinder": lw.Cylinder(0.3, 0.02),
    "sphere": lw.Sphere(0.2),
    "capsule": lw.Capsule(0.1, 0.4),
    "short capsule": lw.Capsule(0.2, 0.0),
}
of_shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def directions(n, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(n, 3))
    vectors[:6] = np.concatenate([np.eye(3), -np.eye(3)])
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@of_shapes
def test_vertices_of_the_surface_are_in_the_shape_and_those_of_the_outer_one_enclose_it(shape):
    n = directions(300)
    heights = shape.support().heights(n)
    inner, outer = (shape.surface(outer=outer).vertices @ n.T for outer in (False, True))
    assert (inner.max(axis=0) <= heights + 1e-12).all()
    assert (outer.max(axis=0) >= heights - 1e-12).all()
    np.testing.assert_allclose(outer.max(axis=0), heights, rtol=0.02)


@of_shapes
def test_the_farthest_points_reach_the_support_function(shape):
    n, support = directions(300), shape.support()
    reach = (support.farthest(n) * n).sum(axis=-1) + support.ball
    np.testing.assert_allclose(reach, support.heights(n), rtol=0, atol=1e-12)
    assert support.heights(n).max() <= support.radius + 1e-12
    farthest = np.linalg.norm(support.farthest(directions(5000)), axis=-1).max() + support.ball
    assert farthest == pytest.approx(support.radius, rel=0.02)


@of_shapes
def test_depths_are_the_least_distance_to_a_supporting_plane(shape):
    """Of a convex shape, the depth of a point inside is the least h(n) - n . x."""
    rng, n = np.random.default_rng(1), directions(20_000)
    x = rng.uniform(-1.0, 1.0, (300, 3)) * np.abs(shape.surface().vertices).max(axis=0)
    planes = shape.support().heights(n) - x @ n.T
    depth = shape.depth(x)
    is_inside = depth > 0.0
    assert is_inside.any()
    assert (planes[is_inside] > 0.0).all()
    assert not (planes[depth < -0.02] > 0.0).all(axis=-1).any()
    assert (depth[is_inside] <= planes[is_inside].min(axis=-1) + 1e-12).all()
    np.testing.assert_allclose(planes[is_inside].min(axis=-1), depth[is_inside], atol=0.01)
    y = rng.permutation(x)
    step = np.linalg.norm(x - y, axis=-1)
    assert (np.abs(shape.depth(x) - shape.depth(y)) <= step + 1e-12).all()
    surface = shape.surface()
    if not np.isclose(shape.support().ball, 0.0):  # vertices of round shapes are on them
        np.testing.assert_allclose(shape.depth(surface.vertices), 0.0, atol=1e-12)


@pytest.mark.peers
@pytest.mark.parametrize("shape", [*SHAPES.values()][:-1], ids=[*SHAPES][:-1])
def test_inertias_are_those_of_the_surface(shape):
    exact, (sampled, warning) = shape.inertia(1000.0), solid_surface(shape.surface(), 1000.0, "x")
    assert not warning
    assert exact.mass == pytest.approx(1000.0 * shape.volume)
    assert exact == shape.solid(exact.mass)
    assert sampled.mass == pytest.approx(exact.mass, rel=0.03)
    np.testing.assert_allclose(np.diag(sampled.matrix()), np.diag(exact.matrix()), rtol=0.05)


def test_a_capsule_is_a_cylinder_and_a_ball_in_its_limits():
    assert lw.Capsule(0.2, 0.0).solid(3.0).matrix() == pytest.approx(
        lw.Sphere(0.2).solid(3.0).matrix()
    )
    long, rod = lw.Capsule(1e-6, 2.0).solid(3.0), lw.Cylinder(1e-6, 2.0).solid(3.0)
    np.testing.assert_allclose(long.matrix(), rod.matrix(), rtol=1e-5)
    assert lw.Capsule(0.0, 0.0).solid(2.0).mass == 2.0


@pytest.mark.peers
def test_a_surface_in_a_tiny_or_huge_unit_has_the_same_inertia():
    surface = lw.Box((0.2, 0.3, 0.5)).surface()
    expected, _ = solid_surface(surface, 1.0, "box")
    for scale in (1e-9, 1e-4, 1e6):
        scaled = surface.scaled((scale, scale, scale))
        inertia, warning = solid_surface(scaled, 1.0, "box")
        assert not warning
        assert inertia.mass == pytest.approx(expected.mass * scale**3)
        np.testing.assert_allclose(inertia.matrix(), expected.matrix() * scale**5, rtol=1e-9)


@of_shapes
def test_scaling_scales_the_support_function(shape):
    n, support = directions(50), shape.support()
    scaled = support.scaled(2.5)
    np.testing.assert_allclose(scaled.heights(n), 2.5 * support.heights(n))
    np.testing.assert_allclose(scaled.radius, 2.5 * support.radius)
    assert scaled.normals is support.normals


def test_a_table_has_rows_for_classes_and_what_extends_them_and_no_others():
    class Brick(lw.Box):
        """A box by another name."""

    table = {lw.Box: "box", lw.Sphere: "sphere"}
    assert row_of(table, Brick((1.0, 1.0, 1.0)), "a format") == "box"
    with pytest.raises(lw.ModelError, match=r"a format.*'capsule'"):
        row_of(table, lw.Capsule(1.0, 1.0), "a format")
