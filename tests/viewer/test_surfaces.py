"""Shapes as triangles: closed, facing outwards, of the right size."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest

import linkwork as lw

SHAPES = {
    "box": (lw.Box((0.2, 0.3, 0.5)), 0.03, (0.2, 0.3, 0.5)),
    "cylinder": (lw.Cylinder(0.1, 0.4), pi * 0.01 * 0.4, (0.2, 0.2, 0.4)),
    "sphere": (lw.Sphere(0.2), 4 / 3 * pi * 0.008, (0.4, 0.4, 0.4)),
    "capsule": (lw.Capsule(0.1, 0.4), pi * 0.01 * 0.4 + 4 / 3 * pi * 0.001, (0.2, 0.2, 0.6)),
}


def volume(surface):
    """By the divergence theorem: positive only if the triangles face outwards."""
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    return float((a * np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize("name", SHAPES)
def test_a_surface_encloses_the_volume_of_its_shape(name):
    shape, expected, extents = SHAPES[name]
    surface = shape.surface()

    assert volume(surface) == pytest.approx(expected, rel=0.02)
    np.testing.assert_allclose(surface.extents, extents, rtol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_a_surface_is_closed(name):
    """The areas of a closed surface add up to zero as vectors; edges meet in pairs."""
    surface = SHAPES[name][0].surface()
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    areas = np.cross(b - a, c - a)

    np.testing.assert_allclose(areas.sum(axis=0), 0, atol=1e-12)
    assert (np.linalg.norm(areas, axis=1) > 0).all()
    points = np.round(surface.vertices, 9) + 0.0
    faces = np.array([[tuple(points[k]) for k in face] for face in surface.faces])
    edges = [(tuple(f[i]), tuple(f[(i + 1) % 3])) for f in faces for i in range(3)]
    assert len(set(edges)) == len(edges)
    assert {(b, a) for a, b in edges} == set(edges)


def test_a_mirrored_surface_still_faces_outwards():
    mirrored = lw.Box((1, 2, 3)).surface().scaled((-1.0, 2.0, 1.0))

    assert volume(mirrored) == pytest.approx(12)


@pytest.mark.parametrize("shape", [lw.Sphere(0.0), lw.Cylinder(0.0, 0.0), lw.Box((0, 0, 0))])
def test_a_shape_of_no_size_is_drawn_all_the_same(shape):
    np.testing.assert_array_equal(shape.surface().extents, 0)


def test_a_capsule_without_length_is_a_ball():
    assert volume(lw.Capsule(0.1, 0.0).surface()) == pytest.approx(4 / 3 * pi * 1e-3, rel=0.02)
