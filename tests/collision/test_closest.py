"""Closest points of two shapes against coal, and where shapes are degenerate."""

from __future__ import annotations

import coal
import numpy as np
import pytest
from tests.support.collision import coal_distance

import linkwork as lw
from linkwork.collision.closest import (
    HalfSpace,
    PlacedBox,
    PlacedCapsule,
    PlacedCylinder,
    PlacedSphere,
    closest,
    has_closed_form,
)
from linkwork.spatial.blocks import IDENTITY, ZERO, Mat, Vec
from linkwork.spatial.source import so3

N = 400


def columns(array):
    return Vec(*(array[..., k] for k in range(3)))


def rows(R):
    return Mat(*(columns(R[:, i]) for i in range(3)))


def random_solids(kind, rng, n=N):
    """Shapes here and in coal, with their poses."""
    R = so3.exp(rng.uniform(-2.0, 2.0, size=(n, 3)))
    o, s = 0.7 * rng.normal(size=(n, 3)), rng.uniform(0.05, 0.6, size=(n, 3))
    H = np.broadcast_to(np.eye(4), (n, 4, 4)).copy()
    H[:, :3, :3], H[:, :3, 3] = R, o
    r, half = s[:, 0], s[:, 1]
    if kind is PlacedSphere:
        return PlacedSphere(columns(o), r), [coal.Sphere(x) for x in r], H
    if kind is PlacedCapsule:
        d = R[..., 2] * half[:, None]
        there = [coal.Capsule(0.3 * x, 2 * y) for x, y in zip(r, half, strict=True)]
        return PlacedCapsule(columns(o - d), columns(o + d), 0.3 * r), there, H
    if kind is PlacedBox:
        return PlacedBox(rows(R), columns(o), columns(s)), [coal.Box(*(2 * x)) for x in s], H
    if kind is PlacedCylinder:
        there = [coal.Cylinder(x, 2 * y) for x, y in zip(r, half, strict=True)]
        return PlacedCylinder(rows(R), columns(o), r, half), there, H
    n_, offset = R[..., 2], rng.normal(size=n)
    there = [coal.Halfspace(a, b) for a, b in zip(n_, offset, strict=True)]
    return HalfSpace(columns(n_), offset), there, np.broadcast_to(np.eye(4), (n, 4, 4))


def vectors(v, n=N):
    return np.stack(np.broadcast_arrays(*v, np.zeros(n))[:3], axis=-1)


SOLIDS = (PlacedSphere, PlacedCapsule, PlacedBox, PlacedCylinder, HalfSpace)
PAIRS = [(a, b) for a in SOLIDS for b in SOLIDS if has_closed_form(a, b)]


@pytest.mark.peers
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_distances_and_points_agree_with_coal(first, second):
    rng = np.random.default_rng(7)
    a, a_there, a_poses = random_solids(first, rng)
    b, b_there, b_poses = random_solids(second, rng)
    result = closest(a, b)
    there = [coal_distance(*x) for x in zip(a_there, a_poses, b_there, b_poses, strict=True)]
    distance = np.array([x[0] for x in there])
    apart = distance > 0
    assert apart.any()
    assert not apart.all()
    np.testing.assert_allclose(result.distance[apart], distance[apart], atol=1e-9)
    points = np.array([x[1] for x in there])
    np.testing.assert_allclose(vectors(result.first)[apart], points[apart], atol=1e-8)
    # coal separates a ball inside a cylinder only sideways: its depth may be larger
    assert (result.distance[~apart] >= distance[~apart] - 1e-9).all()
    if PlacedCylinder not in (first, second):
        np.testing.assert_allclose(result.distance, distance, atol=1e-9)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_points_are_apart_along_the_normal_and_a_translation_separates(first, second):
    rng = np.random.default_rng(8)
    a, _, _ = random_solids(first, rng)
    b, _, _ = random_solids(second, rng)
    result = closest(a, b)
    n = vectors(result.normal)
    np.testing.assert_allclose(np.linalg.norm(n, axis=-1), 1.0, atol=1e-12)
    between = vectors(result.second) - vectors(result.first)
    np.testing.assert_allclose(between, result.distance[:, None] * n, atol=1e-12)
    moved = closest(a, translated(b, -result.distance[:, None] * n))
    np.testing.assert_allclose(moved.distance, 0.0, atol=1e-9)


def translated(solid, by):
    step = columns(by)
    if isinstance(solid, PlacedCapsule):
        return PlacedCapsule(solid.a + step, solid.b + step, solid.radius)
    if isinstance(solid, HalfSpace):
        return HalfSpace(solid.normal, solid.offset + solid.normal.dot(step))
    center = solid.center + step
    if isinstance(solid, PlacedSphere):
        return PlacedSphere(center, solid.radius)
    if isinstance(solid, PlacedBox):
        return PlacedBox(solid.R, center, solid.half)
    return PlacedCylinder(solid.R, center, solid.radius, solid.half_length)


BLOCK = PlacedBox(IDENTITY, ZERO, Vec(0.1, 0.2, 0.3))


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        (PlacedSphere(ZERO, 0.1), PlacedSphere(ZERO, 0.2), -0.3),
        (PlacedSphere(Vec(0.0, 0.0, 0.1), 0.1), PlacedCapsule(ZERO, Vec(0.0, 0.0, 1.0), 0.2), -0.3),
        (
            PlacedCapsule(ZERO, Vec(1.0, 0.0, 0.0), 0.1),
            PlacedCapsule(Vec(0.5, 0.0, 0.0), Vec(2.0, 0.0, 0.0), 0.1),
            -0.2,
        ),
        (
            PlacedCapsule(ZERO, Vec(1.0, 0.0, 0.0), 0.1),
            PlacedCapsule(Vec(0.0, 1.0, 0.0), Vec(1.0, 1.0, 0.0), 0.1),
            0.8,
        ),
        (
            PlacedCapsule(ZERO, ZERO, 0.1),
            PlacedCapsule(Vec(0.0, 0.0, 1.0), Vec(0.0, 0.0, 1.0), 0.1),
            0.8,
        ),
        (PlacedSphere(ZERO, 0.1), PlacedCapsule(ZERO, ZERO, 0.2), -0.3),
        (PlacedCapsule(ZERO, ZERO, 0.1), PlacedCapsule(ZERO, Vec(0.0, 0.0, 1.0), 0.2), -0.3),
        (PlacedCapsule(ZERO, Vec(0.0, 0.0, 1.0), 0.2), PlacedCapsule(ZERO, ZERO, 0.1), -0.3),
        (BLOCK, PlacedSphere(ZERO, 0.1), -0.2),
        (BLOCK, PlacedCapsule(Vec(-1.0, 0.0, 0.0), Vec(1.0, 0.0, 0.0), 0.0), -0.2),
        (BLOCK, PlacedCapsule(Vec(0.0, 0.0, 0.5), Vec(0.0, 0.0, 2.0), 0.1), 0.1),
        (BLOCK, PlacedCapsule(Vec(-1.0, 0.0, 0.4), Vec(1.0, 0.0, 0.4), 0.1), 0.0),
        (PlacedCylinder(IDENTITY, ZERO, 0.2, 0.1), PlacedSphere(ZERO, 0.05), -0.15),
        (HalfSpace(Vec(0.0, 0.0, 1.0), 0.0), BLOCK, -0.3),
        (
            HalfSpace(Vec(0.0, 0.0, 1.0), 0.0),
            PlacedCylinder(IDENTITY, Vec(0.0, 0.0, 1.0), 0.2, 0.1),
            0.9,
        ),
    ],
)
def test_degenerate_cases_are_finite_and_right(first, second, distance):
    result = closest(first, second)
    np.testing.assert_allclose(float(result.distance), distance, atol=1e-12)
    assert np.isfinite(np.array([*result.first, *result.second, *result.normal], float)).all()
    np.testing.assert_allclose(np.linalg.norm(np.array(result.normal, float)), 1.0, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 3e-3])
def test_the_normal_of_segments_that_cross_separates_them(angle):
    d = np.array([0.0, 0.0, 0.02])
    e = np.array([4e-4 * np.sin(angle), 0.0, 4e-4 * np.cos(angle)])
    result = closest(*(PlacedCapsule(Vec(*-v), Vec(*v), 0.001) for v in (d, e)))
    n = np.array(result.normal, float)
    assert abs(n @ d) + abs(n @ e) < 2e-6 * 0.02
    np.testing.assert_allclose(float(result.distance), -0.002, atol=1e-15)


def test_deepest_points_of_a_segment_parallel_to_a_face_are_in_the_box():
    """Past a corner of the face, the depth is the same, and the points of both are not."""
    a, d = np.array([-0.08, -0.14, 0.05]), np.array([0.166, 0.302, 0.0])
    for tilt in (0.0, 1e-17, -1e-17, 1e-14):
        rod = PlacedCapsule(Vec(*a), Vec(*(a + d + [0.0, 0.0, tilt])), 0.01)
        result = closest(PlacedBox(IDENTITY, ZERO, Vec(0.01, 0.02, 0.06)), rod)
        first, n = (np.array(v, float) for v in (result.first, result.normal))
        assert (np.abs(first) <= [0.01 + 1e-12, 0.02 + 1e-12, 0.06 + 1e-12]).all()
        second = np.array(result.second, float) + 0.01 * n
        t = (second - a) @ d / (d @ d)
        np.testing.assert_allclose(a + t * d, second, atol=1e-12)
        assert 0.0 <= t <= 1.0


def test_derivatives_are_finite_where_cores_coincide():
    @lw.compile(x=3)
    def distance(x):
        return closest(PlacedSphere(Vec(*x), 0.1), PlacedCapsule(ZERO, IDENTITY[2], 0.1)).distance

    x = np.array([0.0, 0.0, 0.5])
    np.testing.assert_allclose(distance(x), -0.2)
    assert np.isfinite(distance.gradient("x")(x)).all()


def test_normals_are_across_segments_that_meet_far_from_the_origin():
    """Rounding errors of positions are larger there than those of the segments."""
    rng = np.random.default_rng(6)
    R, o = so3.exp(rng.uniform(-2.0, 2.0, size=(N, 3))), 1e4 * rng.normal(size=(N, 3))
    axis, other = R[..., 2], R[..., 0]
    point = o + 0.02 * rng.uniform(-0.9, 0.9, size=(N, 1)) * axis
    rod = PlacedCapsule(columns(o - 0.02 * axis), columns(o + 0.02 * axis), 0.05)
    crossing = PlacedCapsule(columns(point - 0.01 * other), columns(point + 0.02 * other), 0.05)
    for second, axes in ((PlacedSphere(columns(point), 0.05), [axis]), (crossing, [axis, other])):
        points = closest(rod, second)
        np.testing.assert_allclose(points.distance, -0.1, atol=1e-10)
        for one in axes:
            np.testing.assert_allclose((vectors(points.normal) * one).sum(axis=-1), 0.0, atol=1e-6)
