"""spherize: nothing of a shape is left uncovered, and the report is true, by other means."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.collision.spheres import spherize as spheres

TOLERANCE = 0.03
POSE = lw.Pose(xyz=(0.1, -0.05, 0.2), rpy=(0.4, -0.3, 1.0))

PRIMITIVES = {
    "box": lw.Box((0.2, 0.1, 0.15)),
    "thin box": lw.Box((0.15, 0.1, 0.001)),
    "cylinder": lw.Cylinder(0.06, 0.2),
    "capsule": lw.Capsule(0.05, 0.2),
    "sphere": lw.Sphere(0.07),
    "small box": lw.Box((0.01, 0.008, 0.005)),
}


def robot(*shapes):
    return lw.Model(name="body", links=(lw.Link(name="body", collisions=shapes),))


def primitive_samples(geometry, pose, rng, count=20_000):
    """Random points in a shape, at least every second one on its surface, in the link."""
    on_surface = np.arange(count) % 2 == 0
    if isinstance(geometry, lw.Box):
        x = rng.uniform(-1, 1, (count, 3))
        side = rng.integers(3, size=count)
        x[on_surface, side[on_surface]] = rng.choice([-1, 1], on_surface.sum())
        return moved(x * np.array(geometry.size) / 2, pose)
    radius, length = geometry.radius, getattr(geometry, "length", 0.0)
    scale = radius * np.where(on_surface, 1.0, rng.random(count))[:, None]
    if isinstance(geometry, lw.Cylinder):
        angle, along = rng.uniform(0, 2 * np.pi, count), rng.uniform(-1, 1, count)
        along[rng.random(count) < 0.3] = 1.0  # an end, with its rim
        x = scale * np.stack([np.cos(angle), np.sin(angle), np.zeros(count)], axis=1)
        x[:, 2] = along * length / 2
    else:
        direction = rng.normal(size=(count, 3))
        x = scale * direction / np.linalg.norm(direction, axis=1)[:, None]
        x[:, 2] += rng.uniform(-1, 1, count) * length / 2
    return moved(x, pose)


def moved(points, pose):
    H = pose.matrix()
    return points @ H[:3, :3].T + H[:3, 3]


def outside(shapes, points):
    """(n,) how far points are outside a union of spheres and capsules; negative inside."""
    distances = []
    for shape in shapes:
        H = np.linalg.inv(shape.link_H_shape.matrix())
        x = points @ H[:3, :3].T + H[:3, 3]
        half = getattr(shape.geometry, "length", 0.0) / 2
        x[:, 2] -= np.clip(x[:, 2], -half, half)
        distances.append(np.linalg.norm(x, axis=1) - shape.geometry.radius)
    return np.min(distances, axis=0)


def cover_samples(shapes, rng, count=2000):
    """Random points on the surfaces of spheres and capsules."""
    points = []
    for shape in shapes:
        x = rng.normal(size=(count, 3))
        x *= shape.geometry.radius / np.linalg.norm(x, axis=1)[:, None]
        x[:, 2] += rng.uniform(-0.5, 0.5, count) * getattr(shape.geometry, "length", 0.0)
        points.append(moved(x, shape.link_H_shape))
    return np.concatenate(points)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_points_of_primitives_are_covered(name):
    rng = np.random.default_rng(1)
    geometry = PRIMITIVES[name]
    result = lw.spherize(robot(lw.Shape(geometry, POSE)), tolerance=TOLERANCE)
    shapes = result.model.links[0].collisions
    (report,) = result.links

    assert outside(shapes, primitive_samples(geometry, POSE, rng)).max() <= 1e-12
    assert report.coverage == 1.0
    assert report.n_shapes == len(shapes) == result.n_shapes
    assert report.n_radii == len({shape.geometry.radius for shape in shapes})
    assert report.protrusion <= TOLERANCE * (1 + 1e-6)
    assert {type(shape.geometry) for shape in shapes} == {lw.Sphere}


def test_a_sphere_is_kept():
    sphere = lw.Shape(lw.Sphere(0.07), POSE)

    (kept,) = lw.spherize(robot(sphere)).model.links[0].collisions
    np.testing.assert_allclose(kept.link_H_shape.xyz, POSE.xyz, atol=1e-9)
    assert kept.geometry.radius == pytest.approx(0.07, rel=1e-6)


def test_report_is_true_and_spheres_are_few_and_sorted():
    """Protrusion and volume of a box, measured by random points and an exact distance."""
    rng = np.random.default_rng(2)
    size = np.array([0.3, 0.1, 0.15])
    result = lw.spherize(robot(lw.Shape(lw.Box(size))), tolerance=TOLERANCE)
    shapes, (report,) = result.model.links[0].collisions, result.links

    apart = np.linalg.norm(np.maximum(np.abs(cover_samples(shapes, rng)) - size / 2, 0), axis=1)
    assert 0.9 * report.protrusion <= apart.max() <= report.protrusion
    points = rng.uniform(-0.5, 0.5, (200_000, 3)) * (size + 2 * TOLERANCE)
    volume = (outside(shapes, points) <= 0).mean() * (size + 2 * TOLERANCE).prod()
    assert report.excess_volume == pytest.approx(volume / size.prod() - 1, abs=0.05)
    radii = [shape.geometry.radius for shape in shapes]
    assert radii == sorted(radii)
    assert len(shapes) <= 24  # 44 without the search; no cover has fewer than 16
    assert "body" in str(result)
    assert str(report.n_shapes) in str(result)


def test_max_spheres_limits_the_number_and_reports_a_larger_protrusion():
    shape = lw.Shape(lw.Box((0.2, 0.1, 0.1)))
    free = lw.spherize(robot(shape), tolerance=TOLERANCE).links[0]
    limited = lw.spherize(robot(shape), tolerance=TOLERANCE, max_spheres=4)

    assert limited.links[0].n_shapes <= 4 < free.n_shapes
    assert limited.links[0].protrusion > TOLERANCE
    corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    covered = outside(limited.model.links[0].collisions, corners * [0.1, 0.05, 0.05])
    assert covered.max() <= 1e-12


# Meshes


@pytest.fixture(scope="module")
def trimesh():
    return pytest.importorskip("trimesh")


def mesh_shape(mesh, path, scale=(1.0, 1.0, 1.0)):
    mesh.export(path)
    return lw.Shape(lw.Mesh(path.name, scale, str(path)), POSE)


def mesh_of(trimesh, name):
    creation = trimesh.creation
    if name == "torus":
        return creation.torus(0.1, 0.03, 24, 12)
    if name == "bent":  # not convex, two overlapping closed pieces
        long = creation.box((0.3, 0.05, 0.05))
        across = creation.box((0.05, 0.05, 0.25)).apply_translation((0.12, 0, 0.1))
        return trimesh.util.concatenate([long, across])
    if name == "open":  # no inside
        box = creation.box((0.2, 0.15, 0.1))
        box.update_faces(box.triangles_center[:, 2] < 0.049)
        return box
    return creation.icosphere(3, 0.08)  # many small triangles


def box_distance(x, size, center=(0.0, 0.0, 0.0)):
    return np.linalg.norm(np.maximum(np.abs(x - center) - np.array(size) / 2, 0), axis=1)


# Distance to each mesh from outside; the hole of the open one counts as closed.
DISTANCES = {
    "torus": lambda x: np.hypot(np.hypot(x[:, 0], x[:, 1]) - 0.1, x[:, 2]) - 0.03,
    "bent": lambda x: np.minimum(
        box_distance(x, (0.3, 0.05, 0.05)), box_distance(x, (0.05, 0.05, 0.25), (0.12, 0, 0.1))
    ),
    "open": lambda x: box_distance(x, (0.2, 0.15, 0.1)),
    "ball": lambda x: np.linalg.norm(x, axis=1) - 0.08,
}


@pytest.mark.peers
@pytest.mark.parametrize("name", ["torus", "bent", "open", "ball"])
def test_surfaces_of_meshes_are_covered(trimesh, tmp_path, name):
    mesh = mesh_of(trimesh, name)
    model = robot(mesh_shape(mesh, tmp_path / "mesh.stl"), lw.Shape(lw.Sphere(0.02)))
    result = lw.spherize(model, tolerance=TOLERANCE)
    shapes, (report,) = result.model.links[0].collisions, result.links

    samples, _ = trimesh.sample.sample_surface(mesh, 20_000, seed=3)
    points = np.concatenate([samples, mesh.vertices])
    assert outside(shapes, moved(points, POSE)).max() <= 1e-7  # STL has single precision
    assert report.coverage == 1.0
    assert report.protrusion <= TOLERANCE * (1 + 1e-6)
    back = lw.Pose.from_matrix(np.linalg.inv(POSE.matrix()))
    x = moved(cover_samples(shapes, np.random.default_rng(4)), back)
    tool = np.linalg.norm(x - moved(np.zeros((1, 3)), back), axis=1) - 0.02
    assert np.minimum(DISTANCES[name](x), tool).max() <= report.protrusion + 1e-7


@pytest.mark.peers
def test_result_is_deterministic_and_survives_a_file(trimesh, tmp_path):
    shape = mesh_shape(mesh_of(trimesh, "bent"), tmp_path / "mesh.stl", (0.5, -1.0, 2.0))
    first, second = (lw.spherize(robot(shape), tolerance=0.05) for _ in range(2))

    assert first == second
    path = tmp_path / "spheres.urdf"
    lw.dump_urdf(first.model, path)
    assert lw.load(path) == first.model


@pytest.mark.peers
def test_panda_has_few_spheres():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        panda = lw.load("panda")
    link = lw.Model(name="link", links=(panda.link("panda_link4"),))

    report = lw.spherize(link, tolerance=TOLERANCE).links[0]

    assert report.n_shapes <= 6
    assert report.protrusion <= TOLERANCE * (1 + 1e-6)


# Bad input


def test_missing_meshes_are_listed_with_the_paths_that_were_searched():
    meshes = [lw.Mesh(f"{name}.stl", searched=(f"/robots/{name}.stl",)) for name in "ab"]
    with pytest.raises(lw.ModelError) as caught:
        lw.spherize(robot(*map(lw.Shape, meshes)))
    for fact in ("link 'body'", "'a.stl'", "/robots/a.stl", "'b.stl'", "/robots/b.stl"):
        assert fact in str(caught.value)


@pytest.mark.parametrize(
    ("options", "error", "fact"),
    [
        ({"tolerance": 0}, lw.ValueRangeError, "tolerance"),
        ({"tolerance": -0.1}, lw.ValueRangeError, "-0.1"),
        ({"tolerance": np.nan}, lw.ValueRangeError, "nan"),
        ({"tolerance": "2 cm"}, lw.ArgumentError, "'2 cm'"),
        ({"max_spheres": 0}, lw.ValueRangeError, "max_spheres"),
        ({"max_spheres": 2.5}, lw.ArgumentError, "2.5"),
    ],
)
def test_bad_arguments_are_rejected(options, error, fact):
    with pytest.raises(error, match=fact):
        lw.spherize(robot(lw.Shape(lw.Sphere(0.1))), **options)


def test_robot_without_collision_shapes_is_rejected():
    with pytest.raises(lw.ModelError, match="collision shapes"):
        lw.spherize(robot())
    with pytest.raises(lw.ArgumentError, match="Model"):
        lw.spherize("panda")


def test_everything_but_collision_shapes_stays():
    arm = lw.load("arm").with_configuration("home", {})
    hand = replace(arm.link("hand"), collisions=(lw.Shape(lw.Sphere(0.05)),))
    links = [replace(link, collisions=()) for link in arm.links]
    links[arm.link_index("hand")] = hand
    arm = replace(arm, links=tuple(links))

    result = lw.spherize(arm)

    assert [report.link for report in result.links] == ["hand"]
    links[arm.link_index("hand")] = result.model.link("hand")
    assert result.model == replace(arm, links=tuple(links))
    assert replace(result.model.link("hand"), collisions=hand.collisions) == hand


def test_spheres_are_computed_once_and_again_if_the_shape_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path))
    computed = []
    original = spheres.target_of

    def counted(*arguments):
        computed.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(spheres, "target_of", counted)

    def cover(length, **options):
        b = lw.ModelBuilder("rod")
        b.add_link("rod", collisions=[lw.Shape(lw.Cylinder(0.05, length))])
        return lw.spherize(b.build(), **options)

    first = cover(0.2)
    assert cover(0.2) == first
    assert len(computed) == 1
    assert cover(0.3) != first
    assert cover(0.2, tolerance=0.03) != first
    assert len(computed) == 3
    for file in tmp_path.rglob("*.data"):  # a damaged file is not used
        file.write_bytes(file.read_bytes()[:-1])
    assert cover(0.2) == first
    assert len(computed) == 4
