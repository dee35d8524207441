"""Collision meshes in any position: hulls, triangles, flat and degenerate ones."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import linkwork as lw
from linkwork.io.surfaces import box, joined

pytestmark = pytest.mark.peers  # which need coal


def write_stl(path, triangles):
    """A binary file of triangles (n, 3, 3)."""
    triangles = np.asarray(triangles, np.float32)
    rows = [struct.pack("<12fH", 0, 0, 0, *triangle.reshape(-1), 0) for triangle in triangles]
    path.write_bytes(bytes(80) + struct.pack("<I", len(rows)) + b"".join(rows))
    return lw.Mesh(path.name, path=str(path))


def robot(mesh, other, **options):
    """A mesh that is fixed, and a shape that moves freely."""
    b = lw.ModelBuilder("pair")
    b.add_link("fixed", collisions=[lw.Shape(mesh)])
    b.add_link("free", inertia=lw.point_mass(1.0), collisions=[lw.Shape(other)])
    b.add_joint("move", "floating", "fixed", "free")
    return lw.CollisionModel(b.build(), floating=False, pairs=[("fixed", "free")], **options)


def at(*xyz):
    return np.array([*xyz, 1.0, 0.0, 0.0, 0.0])


def bracket(tmp_path):
    """An L of two boxes: the corner between its arms is empty."""
    lying, standing = box((2.0, 1.0, 0.2)), box((0.2, 1.0, 2.0))
    standing = type(standing)(standing.vertices + np.array([-0.9, 0.0, 1.0]), standing.faces)
    whole = joined([lying, standing])
    return write_stl(tmp_path / "bracket.stl", whole.vertices[whole.faces])


def test_triangles_leave_the_corner_of_a_bracket_free(tmp_path):
    mesh, ball = bracket(tmp_path), lw.Sphere(0.3)
    surface = robot(mesh, ball, meshes="triangles")
    with pytest.warns(UserWarning, match="'fixed'"):
        hull = robot(mesh, ball)
    q = np.array([at(0.0, 0.0, 0.6), at(0.0, 0.0, 0.3), at(0.0, 0.0, 3.0), at(-0.5, 0.0, 1.0)])
    np.testing.assert_array_equal(hull.in_collision(q), [True, True, False, True])
    np.testing.assert_array_equal(surface.in_collision(q), [False, True, False, False])
    expected = [0.2, np.nan, np.linalg.norm([-0.8, 0.0, 1.0]) - 0.3, 0.0]
    np.testing.assert_allclose(surface.distances(q)[:3, 0], expected[:3], atol=1e-7)
    assert surface.distances(q)[3, 0] == pytest.approx(0.0, abs=1e-7)


def test_a_convex_mesh_has_depths_in_both_ways_and_no_warning(tmp_path):
    cube = box((1.0, 1.0, 1.0))
    mesh = write_stl(tmp_path / "cube.stl", cube.vertices[cube.faces])
    q = np.array([at(0.0, 0.0, 0.6), at(0.0, 0.3, 0.2), at(2.0, 0.0, 0.0)])
    for meshes in ("hull", "triangles"):
        one = robot(mesh, lw.Sphere(0.3), meshes=meshes)
        np.testing.assert_allclose(one.distances(q)[:, 0], [-0.2, -0.5, 1.2], atol=1e-7)


def test_cells_use_triangles_on_request(tmp_path):
    ball = lw.Shape(lw.Sphere(0.3))
    cell = lw.WorkCell("shelf").with_frame("bracket", collisions=[lw.Shape(bracket(tmp_path))])
    pose = lw.Pose((0.0, 0.0, 0.6))
    cell = cell.with_frame("ball", parent_H_frame=pose, movable=True, collisions=[ball])
    assert cell.collisions(cell.state(), meshes="triangles") == []
    with pytest.warns(UserWarning, match="'bracket'"):
        assert cell.in_collision(cell.state())
    with pytest.raises(lw.ArgumentError, match="triangles"):
        cell.collisions(cell.state(), meshes="triangle")


SQUARE = [[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]]
LINE = [[[0, 0, 0], [1, 0, 0], [0.5, 0, 0]]]
POINT = [[[0, 0, 0], [0, 0, 0], [0, 0, 0]]]


@pytest.mark.parametrize("meshes", ["hull", "triangles"])
@pytest.mark.parametrize(
    ("triangles", "x", "distance"),
    [
        (SQUARE, (0.5, 0.25, 0.75), 0.65),
        (SQUARE, (0.5, 0.25, 0.05), -0.05),
        (SQUARE, (1.0, 2.0, 0.0), 0.9),
        (LINE, (0.3, 0.4, 0.0), 0.3),
        (LINE, (0.3, 0.0, 0.04), -0.06),
        (np.array(SQUARE) * 1e8, (1e7, 2e7, 0.4), 0.3),
    ],
)
def test_a_mesh_without_volume_is_a_polygon_or_a_segment(tmp_path, triangles, x, distance, meshes):
    mesh = write_stl(tmp_path / "flat.stl", triangles)
    for other in (lw.Sphere(0.1), lw.Box((0.2, 0.2, 0.2))):
        d = robot(mesh, other, meshes=meshes).distances(at(*x))[0]
        expected = distance
        if isinstance(other, lw.Box) and x == (0.3, 0.0, 0.04):
            expected = -0.06
        assert d == pytest.approx(expected, abs=2e-7)
