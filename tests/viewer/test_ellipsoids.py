"""Ellipsoids of inertias and of manipulability, and colors."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.viewer.drawing import hexadecimal, linear, load_colors, rgb_of
from linkwork.viewer.overlays import (
    inertia_ellipsoids,
    manipulability,
    manipulability_ellipsoid,
)


def link(inertia, name="a"):
    return lw.Link(name=name, inertia=inertia)


def test_the_ellipsoid_of_a_ball_is_the_ball():
    ((name, ellipsoid, good),) = inertia_ellipsoids([link(lw.solid_sphere(2.0, 0.3, (1, 2, 3)))])

    assert (name, good) == ("a", True)
    np.testing.assert_allclose(ellipsoid.radii, 0.3, rtol=1e-12)
    np.testing.assert_allclose(ellipsoid.pose[:3, 3], [1, 2, 3])


def test_an_ellipsoid_has_the_inertia_it_is_drawn_for(rng):
    """m (r_j^2 + r_k^2) / 5 are the moments of a homogeneous ellipsoid."""
    turned = lw.spatial.so3.exp(rng.normal(size=3))
    moments = np.array([0.02, 0.03, 0.04])
    tensor = turned @ np.diag(moments) @ turned.T
    six = tensor[np.triu_indices(3)]
    ((_, ellipsoid, _),) = inertia_ellipsoids([link(lw.Inertia(2.0, (0, 0, 0), tuple(six)))])
    squares = ellipsoid.radii**2
    R = ellipsoid.pose[:3, :3]
    again = R @ np.diag(2.0 * (squares.sum() - squares) / 5) @ R.T

    np.testing.assert_allclose(again, tensor, rtol=1e-12, atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1)


def test_unphysical_inertias_are_marked_and_massless_links_left_out():
    bad = lw.Inertia(1.0, (0, 0, 0), (1.0, 0, 0, 1.0, 0, 3.0))
    good = lw.solid_box(1.0, (0.1, 0.2, 0.3))
    found = inertia_ellipsoids([link(bad, "bad"), link(good, "good"), link(lw.Inertia(), "none")])

    assert [(name, physical) for name, _, physical in found] == [("bad", False), ("good", True)]
    assert all((e.radii > 0).all() and np.isfinite(e.radii).all() for _, e, _ in found)


def test_a_point_mass_has_an_ellipsoid_that_can_be_drawn():
    ((_, ellipsoid, good),) = inertia_ellipsoids([link(lw.point_mass(1.0))])

    assert good
    assert (ellipsoid.radii > 0).all()


def test_velocities_on_the_ellipsoid_are_those_of_unit_joint_velocities(rng):
    J = rng.normal(size=(6, 7))
    ellipsoid = manipulability_ellipsoid(J, np.array([1.0, 2.0, 3.0]), size=1.0)
    R = ellipsoid.pose[:3, :3]
    again = R @ np.diag(ellipsoid.radii**2) @ R.T

    np.testing.assert_allclose(again, J[:3] @ J[:3].T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ellipsoid.pose[:3, 3], [1, 2, 3])
    expected = np.sqrt(np.linalg.det(J[:3] @ J[:3].T))
    assert manipulability(J) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_a_robot_of_few_joints_has_a_flat_ellipsoid(columns, rng):
    ellipsoid = manipulability_ellipsoid(rng.normal(size=(6, columns)), np.zeros(3))

    assert (ellipsoid.radii > 0).all()
    assert ellipsoid.radii.min() <= max(2e-3 * ellipsoid.radii.max(), 1e-4) * (1 + 1e-9)


def test_loads_go_from_green_to_red_and_no_further():
    none, half, full, beyond = load_colors([0.0, -0.5, 1.0, 7.0]).tolist()

    assert none[1] > none[0]
    assert full[0] > 200 > full[1]
    assert beyond == full
    assert half != none


def test_colors_of_materials():
    assert rgb_of(None) == ((170, 176, 186), 1.0)
    assert rgb_of(lw.Material("m")) == ((170, 176, 186), 1.0)
    assert rgb_of(lw.Material("m", (1.0, 0.5, -3.0, 0.25))) == ((255, 128, 0), 0.25)
    assert hexadecimal((255, 128, 0)) == "#ff8000"
    assert linear([0, 128, 255]).tolist() == [0, 55, 255]
