"""Collision meshes in any position: hulls, triangles, flat and degenerate ones."""

from __future__ import annotations

import re
import struct
import subprocess
import sys

import numpy as np
import pytest
import trimesh
from scipy.optimize import nnls

import linkwork as lw
from linkwork.collision.exact.queries import Placed, ShapeQueries
from linkwork.io.mesh_files import read_mesh
from linkwork.model.geometry import joined
from linkwork.spatial import so3

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
    lying, standing = (lw.Box(size).surface() for size in ((2.0, 1.0, 0.2), (0.2, 1.0, 2.0)))
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


def random_poses(rng, n, spread):
    H = np.tile(np.eye(4), (n, 1, 1))
    H[:, :3, :3] = so3.exp(rng.normal(size=(n, 3)))
    H[:, :3, 3] = spread * rng.normal(size=(n, 3))
    return H


def test_normals_and_derivatives_of_two_meshes_of_triangles(tmp_path):
    """coal leaves the normal of two meshes undefined."""
    mesh = bracket(tmp_path)
    pair = robot(mesh, mesh, meshes="triangles")
    q = pair.kindyn.random(30, seed=0)
    q[:, :3] *= 4.0
    d = pair.distances(q)[:, 0]
    first, second, n = (points[:, 0] for points in pair.witness_points(q))
    free = d > 1e-3
    assert free.sum() > 10
    np.testing.assert_allclose(np.linalg.norm(n[free], axis=-1), 1.0, atol=1e-12)
    np.testing.assert_allclose((second - first)[free], (d[:, None] * n)[free], atol=1e-8)
    J, h = pair.distance_jacobian(q)[:, 0], 1e-4
    for k in range(6):
        velocity = np.zeros((1, 6))
        velocity[0, k] = 1.0
        ends = [pair.kindyn.integrate(q, velocity, t) for t in (h, -h)]
        change = (pair.distances(ends[0]) - pair.distances(ends[1]))[:, 0] / (2.0 * h)
        np.testing.assert_allclose(J[free, k], change[free], atol=1e-4)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_triangles_that_are_a_small_gap_apart_do_not_intersect(tmp_path, size):
    surface = bracket(tmp_path)
    mesh = lw.Mesh(surface.filename, (size, size, size), path=surface.path)
    rng, shapes = np.random.default_rng(3), ShapeQueries("triangles")
    for other in (lw.Box((0.6 * size, 0.9 * size, 0.5 * size)), mesh):
        first = Placed(lw.Shape(mesh), random_poses(rng, 150, 0.0), "a")
        second = Placed(lw.Shape(other), random_poses(rng, 150, 1.5 * size), "b")
        d = shapes.nearest(first, second)
        free = np.isfinite(d[:, 0])
        first, second = (one._replace(poses=one.poses[free]) for one in (first, second))
        second.poses[:, :3, 3] += (3e-7 * size - d[free, :1]) * d[free, 7:]
        assert free.sum() > 50
        near = shapes.nearest(first, second)[:, 0]
        assert (near >= 2.9e-7 * size).mean() > 0.9  # in other rows, other triangles are near
        assert not shapes.overlap(first, second)[near >= 2.9e-7 * size].any()
        assert shapes.overlap(first, second)[np.isnan(near)].all()
        second.poses[:, :3, 3] -= 3e-7 * size * d[free, 7:]  # touching
        near = shapes.nearest(first, second)
        near = near[np.isfinite(near[:, 0])]
        between = near[:, 4:7] - near[:, 1:4]
        np.testing.assert_allclose(between, near[:, :1] * near[:, 7:], atol=1e-8 * size)


def test_a_convex_mesh_has_depths_in_both_ways_and_no_warning(tmp_path):
    cube = lw.Box((1.0, 1.0, 1.0)).surface()
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


def test_meshes_that_are_points_have_the_distance_of_the_points(tmp_path):
    meshes = [write_stl(tmp_path / f"{name}.stl", POINT) for name in "ab"]
    both = robot(*meshes)
    np.testing.assert_allclose(both.distances(at(3.0, 4.0, 0.0)), [5.0], rtol=1e-12)
    assert not both.in_collision(at(3.0, 4.0, 0.0))


@pytest.mark.parametrize("size", [1e-100, 1e-170])
def test_meshes_in_a_tiny_unit_are_points(tmp_path, size):
    rng = np.random.default_rng(4)
    path = tmp_path / "tiny.obj"
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in (size * rng.normal(size=(12, 3))).tolist()]
    path.write_text("\n".join([*lines, "f 1 2 3", "f 4 5 6", "f 7 8 9", "f 10 11 12"]))
    mesh = lw.Mesh(path.name, path=str(path))
    for meshes in ("hull", "triangles"):
        d = robot(mesh, mesh, meshes=meshes).distances(at(3.0, 4.0, 0.0))
        np.testing.assert_allclose(d, [5.0], rtol=1e-12)


def test_meshes_of_one_name_in_different_folders_are_different(tmp_path):
    """As those of two robots in one workcell: `==` of meshes ignores the folder."""
    meshes = []
    for name, size in (("small", 0.2), ("large", 1.0)):
        (tmp_path / name).mkdir()
        surface = lw.Box((size, size, size)).surface()
        meshes.append(write_stl(tmp_path / name / "part.stl", surface.triangles))
    assert meshes[0] == meshes[1]
    np.testing.assert_allclose(robot(*meshes).distances(at(2.0, 0.0, 0.0)), [1.4], rtol=1e-7)


SMALL = [(-0.397293, -0.00646636, 0), (-0.237014, 0.238551, 0), (-0.0969867, -0.165066, 0)]
SMALL += [(0.0658312, 0.254981, 0), (0.197935, -0.0729374, 0)]
LARGE = [
    (-44.7555, -86.6948, 0),
    (2.4589, -74.9471, 0),
    (106.603, 102.328, 0),
    (39.7168, 72.7599, 0),
]


def test_polygons_that_gjk_takes_for_overlapping_have_a_distance(tmp_path):
    """A corner of one is projected to the other, against non-negative least squares."""
    parts = (SMALL, [(0, 1, 2), (1, 2, 3), (2, 3, 4)]), (LARGE, [(0, 1, 2), (0, 2, 3)])
    small, large = (
        write_stl(tmp_path / f"{k}.stl", [[points[i] for i in face] for face in faces])
        for k, (points, faces) in enumerate(parts)
    )
    both = robot(small, large)
    q = np.array([0.0, 0.0, 0.0, 0.724558, 0.429195, 0.405928, -0.355006])
    q[3:] /= np.linalg.norm(q[3:])
    H = both.kindyn.transform("free", q)
    a, b = np.float32(SMALL).astype(float), np.float32(LARGE) @ H[:3, :3].T
    weights = np.zeros((2, len(a) + len(b)))
    weights[0, : len(a)] = weights[1, len(a) :] = 1e7
    x, _ = nnls(np.vstack([np.hstack([a.T, -b.T]), weights]), [0.0, 0.0, 0.0, 1e7, 1e7])
    expected = np.linalg.norm(a.T @ x[: len(a)] - b.T @ x[len(a) :])
    first, second, _ = both.witness_points(q)
    np.testing.assert_allclose(both.distances(q), [expected], rtol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(second - first, axis=-1), [expected], rtol=1e-8)


TRIANGLE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
GRID = [[[x, y, 0], [x + 1, y, 0], [x, y + 1, 0]] for x in range(4) for y in range(4)]
ODD_MESHES = {
    "triangle": [TRIANGLE],
    "huge triangle": [np.array(TRIANGLE) * 1e8],
    "square": SQUARE,
    "grid": GRID,
    "line": LINE,
    "point": POINT,
    "copies": [TRIANGLE] * 50,
    "almost flat": [TRIANGLE, [[0.0, 0.0, 1e-9], [1.0, 0.0, 1e-9], [0.0, 1.0, 2e-9]]],
    "too large": [np.array(TRIANGLE) * 1e30],
    "too large for a float": [np.array(TRIANGLE) * 1e38],
    "tiny": [np.array(TRIANGLE) * 1e-30],
    "no areas": [[[0, 0, 0], [1, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 1, 1], [0, 1, 1]]],
    "not a number": [[[np.nan, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]],
    "infinite": [[[np.inf, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]],
    "empty": np.zeros((0, 3, 3)),
}
CHILD = """
import sys, warnings
import numpy as np
import linkwork as lw
from linkwork.io.mesh_files import read_mesh
from linkwork.io.solids import with_shape_inertias
from linkwork.viewer.drawing import drawing_of

warnings.simplefilter("ignore")


def pair(other, shape):
    b = lw.ModelBuilder("pair")
    b.add_link("fixed", collisions=[lw.Shape(shape)])
    b.add_link("free", inertia=lw.point_mass(1.0), collisions=[lw.Shape(other)])
    b.add_joint("move", "floating", "fixed", "free")
    return b.build()


def collisions(mesh, other, meshes):
    pairs = [("fixed", "free")]
    robot = lw.CollisionModel(pair(other, mesh), floating=False, meshes=meshes, pairs=pairs)
    q = robot.kindyn.random(4, seed=0)
    d = robot.distances(q)
    assert meshes == "triangles" or np.isfinite(d).all(), d
    robot.in_collision(q)
    robot.distances_to(q, lw.Obstacles([[0, 0, 0, 1]], half_spaces=[[0, 0, 1, 0]]))


def cell(mesh, other):
    cell = lw.WorkCell("cell").with_frame("odd", collisions=[lw.Shape(mesh)])
    cell = cell.with_frame("other", movable=True, collisions=[lw.Shape(other)])
    for meshes in ("hull", "triangles"):
        cell.collisions(cell.state(), meshes=meshes)


def attempt(function, *arguments):
    try:
        function(*arguments)
        return "right"
    except lw.LinkworkError as error:
        assert str(error)
        return type(error).__name__


def inverse_kinematics(mesh):
    model = pair(lw.Sphere(0.1), mesh)
    cover, kd = lw.spherize(model, max_spheres=4), lw.KinDyn(model, floating=False)
    robot = lw.CollisionModel(kd, shapes=cover, pairs=[("fixed", "free")])
    result = lw.ik(kd, {"free": [3.0, 0.0, 0.0]}, avoid=robot, restarts=1)
    assert np.isfinite(result.q).all()


def spheres(mesh):
    cover = lw.spherize(pair(lw.Sphere(0.1), mesh), max_spheres=4)
    assert all(np.isfinite(one.protrusion) and one.coverage == 1.0 for one in cover.links)


def inertia(mesh):
    model, findings = with_shape_inertias(pair(lw.Sphere(0.1), mesh), 1000.0)
    assert model.link("fixed").inertia.mass > 0.0 or [f for f in findings if f.severity == "error"]


def drawing(mesh):
    drawn = drawing_of(pair(lw.Sphere(0.1), mesh))
    for part in drawn.parts["fixed"]:
        assert np.isfinite(part.surface.vertices).all() and len(part.surface.faces)


for path in sys.argv[1:]:
    print(path, flush=True)
    mesh = lw.Mesh("odd.stl", path=path)
    others = [mesh, lw.Sphere(0.1), lw.Cylinder(0.1, 0.3), lw.Box((0.0, 1.0, 1.0))]
    others += [lw.Capsule(0.0, 0.0), lw.Sphere(1e200), lw.Cylinder(1e-300, 1.0)]
    words = [attempt(collisions, mesh, one, m) for one in others for m in ("hull", "triangles")]
    words += [attempt(cell, mesh, one) for one in others]
    words += [attempt(read_mesh, mesh)]
    words += [attempt(one, mesh) for one in (inverse_kinematics, spheres, inertia, drawing)]
    print("done", *words, flush=True)
"""


def test_odd_meshes_have_distances_or_an_error_and_do_not_end_the_process(tmp_path):
    """All in one process, which prints each mesh before it uses it."""
    with np.errstate(over="ignore"):
        paths = [
            write_stl(tmp_path / f"{number}.stl", triangles).path
            for number, triangles in enumerate(ODD_MESHES.values())
        ]
    command = [sys.executable, "-c", CHILD, *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"{list(ODD_MESHES)[len(lines) // 2]}: {done.stderr[-2000:]}"
    assert lines[::2] == paths
    for name, line in zip(ODD_MESHES, lines[1::2], strict=True):
        words = line.split()
        assert words[0] == "done"
        is_bad = name in ("too large", "too large for a float", "not a number", "infinite", "empty")
        expected = {"MissingFileError", "ModelError", "ValueRangeError"} if is_bad else {"right"}
        assert set(words[1:5]) <= expected, name
        assert words[-3] in expected, name  # spheres
        assert words[-4] in {*expected, "ValueRangeError"}, name  # no margin to a huge mesh


@pytest.mark.parametrize("ending", ["stl", "obj", "ply", "off", "glb", "dae"])
def test_a_mesh_in_a_tiny_unit_keeps_its_vertices_or_is_rejected(tmp_path, ending):
    """trimesh merges vertices that are nearer than 1e-8, whatever the size of a mesh."""
    cube = lw.Box((1.0, 2.0, 3.0)).surface()
    tiny = trimesh.Trimesh(cube.vertices * 1e-9, cube.faces, process=False)
    options = {"digits": 18} if ending in ("obj", "off") else {}
    data = tiny.export(file_type=ending, **options)
    path = tmp_path / f"tiny.{ending}"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    mesh = lw.Mesh(path.name, (1e9, 1e9, 1e9), path=str(path))
    pieces, reason = read_mesh(mesh)
    if ending == "dae":
        assert re.search("too small.*unit", reason)
        return
    ((surface, _),) = pieces
    assert len(surface.vertices) == 8
    np.testing.assert_allclose(surface.extents, [1.0, 2.0, 3.0], rtol=1e-6)
    d = robot(mesh, lw.Sphere(0.1)).distances(at(2.0, 0.0, 0.0))
    assert d[0] == pytest.approx(1.4, abs=1e-6)


def test_a_floor_needs_some_hundred_spheres(tmp_path):
    """Each of ten thousand cells had a sphere of its own, which took minutes."""
    a, b, c, d = 50.0 * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    floor = write_stl(tmp_path / "floor.stl", [[a, b, c], [a, c, d]])
    builder = lw.ModelBuilder("world")
    builder.add_link("floor", collisions=[lw.Shape(floor)])
    (cover,) = lw.spherize(builder.build()).links
    assert cover.n_shapes < 1000
    assert cover.coverage == 1.0
    assert cover.protrusion < 5.0
