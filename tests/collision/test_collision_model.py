"""Distances of robots: against coal, by differences, with obstacles, and in all ways to call."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from tests.support.collision import link_distance, random_robot

import linkwork as lw

COMPILED = ["sphere", "capsule"]


def random_collision_model(seed, kinds, **options):
    model = random_robot(np.random.default_rng(seed), kinds)
    return lw.CollisionModel(model, pairs="all", **options)


@pytest.fixture(scope="module", params=["fixed", "mixed", "body", "inertial"])
def robot(request):
    floating = request.param != "fixed"
    representation = request.param if floating else "mixed"
    kinds = ["sphere"] if request.param == "body" else COMPILED
    return random_collision_model(3, kinds, floating=floating, representation=representation)


def differences(kd, function, q, step=1e-6):
    """Derivatives on the manifold, as the last axis."""
    columns = []
    for k in range(kd.nv):
        nu = np.zeros(kd.nv)
        nu[k] = 1.0
        ahead, behind = (function(kd.integrate(q, s * nu, step)) for s in (1.0, -1.0))
        columns.append((ahead - behind) / (2.0 * step))
    return np.stack(columns, axis=-1)


OBSTACLES = lw.Obstacles(
    spheres=[[0.5, 0.5, 0.5, 0.2], [1.0, -0.5, 0.0, 0.1]],
    capsules=[[0.0, 1.0, 0.0, 0.5, 1.0, 0.5, 0.1]],
    boxes=[[-1.0, 0.0, 0.5, 0.8, 0.6, 0.0, 0.0, 0.2, 0.4, 0.6]],
    half_spaces=[[0.0, 0.6, 0.8, -1.5]],
    points=[[0.3, 0.2, 0.1], [1.0, 1.0, 1.0], [0.0, 0.0, 2.0]],
    point_radius=0.01,
)


@pytest.mark.peers
def test_distances_agree_with_coal(robot):
    kd = robot.kindyn
    q = kd.random(12, seed=1)
    distances = robot.distances(q)
    assert distances.shape == (12, len(robot.pairs))
    for row in range(12):
        there = [link_distance(kd, pair, q[row]) for pair in robot.pairs]
        np.testing.assert_allclose(distances[row], there, atol=1e-9)
    np.testing.assert_allclose(robot.minimum_distance(q), distances.min(axis=-1), atol=1e-12)
    np.testing.assert_array_equal(robot.in_collision(q), distances.min(axis=-1) < 0.0)


def test_derivatives_agree_with_differences(robot):
    kd = robot.kindyn
    q = kd.random(8, seed=2)
    J = robot.distance_jacobian(q)
    np.testing.assert_allclose(J, differences(kd, robot.distances, q), atol=1e-7)
    J = robot.distances_to_jacobian(q, OBSTACLES)
    expected = differences(kd, lambda q: robot.distances_to(q, OBSTACLES), q)
    np.testing.assert_allclose(J, expected, atol=1e-7)


def test_points_are_on_the_links(robot):
    q = robot.kindyn.random(8, seed=3)
    first, second, normal = robot.witness_points(q)
    distances = robot.distances(q)
    np.testing.assert_allclose(second - first, distances[..., None] * normal, atol=1e-12)
    # the rate of the distance is that of the points along the normal
    J = robot.distance_jacobian(q)
    mixed = lw.KinDyn(robot.model, **{**robot.kindyn.options, "representation": "mixed"})
    nu = np.random.default_rng(0).normal(size=(8, robot.nv))
    rates = np.einsum("rpv,rv->rp", J, nu)
    if robot.representation == "mixed":
        for k, pair in enumerate(robot.pairs):
            motion = 0.0
            for sign, link, p in ((-1.0, pair[0], first), (1.0, pair[1], second)):
                V = mixed.velocity(link, q, nu)
                arm = p[:, k] - mixed.transform(link, q)[:, :3, 3]
                motion = motion + sign * (V[:, :3] + np.cross(V[:, 3:], arm))
            np.testing.assert_allclose(rates[:, k], (motion * normal[:, k]).sum(-1), atol=1e-10)


def test_the_smooth_minimum_is_a_lower_bound(robot):
    q = robot.kindyn.random(8, seed=4)
    least, n = robot.minimum_distance(q), len(robot.pairs)
    for width in (0.1, 0.001):
        smooth = robot.smooth_minimum_distance(q, width)
        assert (smooth <= least + 1e-15).all()
        assert (smooth >= least - width * np.log(n) - 1e-15).all()


def test_kernels_have_derivatives(robot):
    kd = robot.kindyn
    q = kd.random(seed=5)
    # with respect to the entries of q: the product with E_T
    E_T = kd.velocity_kinematics_inverse(q)
    expected = robot.distance_jacobian(q) @ E_T
    np.testing.assert_allclose(robot.distances.jacobian("q")(q), expected, atol=1e-12)
    weights = np.random.default_rng(1).normal(size=len(robot.pairs))
    gradient = robot.distances.vjp("q")(q, weights)
    np.testing.assert_allclose(gradient, weights @ expected, atol=1e-10)
    nearest = int(np.argmin(robot.distances(q)))
    np.testing.assert_allclose(
        robot.minimum_distance.gradient("q")(q), expected[nearest], atol=1e-10
    )


def test_obstacles_are_where_they_are_said_to_be(robot):
    q = robot.kindyn.random(seed=6)
    D = robot.distances_to(q, OBSTACLES)
    assert D.shape == (OBSTACLES.n, len(robot.links))
    # kind by kind, in the order of the fields
    parts = [
        lw.Obstacles(spheres=OBSTACLES.spheres),
        lw.Obstacles(points=OBSTACLES.points, point_radius=0.01),
        lw.Obstacles(capsules=OBSTACLES.capsules),
        lw.Obstacles(boxes=OBSTACLES.boxes),
        lw.Obstacles(half_spaces=OBSTACLES.half_spaces),
    ]
    separate = np.concatenate([robot.distances_to(q, part) for part in parts])
    np.testing.assert_allclose(D, separate, atol=1e-12)
    # growing a sphere brings it nearer, by as much
    grown = OBSTACLES.spheres + np.array([0.0, 0.0, 0.0, 0.05])
    np.testing.assert_allclose(robot.distances_to(q, lw.Obstacles(grown)), D[:2] - 0.05, atol=1e-12)
    shapes = [
        lw.Shape(lw.Sphere(0.2), lw.Pose((0.5, 0.5, 0.5))),
        lw.Shape(lw.Capsule(0.1, 0.6), lw.Pose((0.0, 1.0, 0.0), (0.3, 0.2, 0.1))),
        lw.Shape(lw.Box((0.1, 0.2, 0.3)), lw.Pose((1.0, 0.0, 0.0), (1.0, 2.0, 3.0))),
    ]
    assert robot.distances_to(q, shapes).shape == (3, len(robot.links))
    np.testing.assert_allclose(robot.distances_to(q, shapes)[0], D[0], atol=1e-12)
    assert robot.distances_to(q, lw.Obstacles()).shape == (0, len(robot.links))


def test_batches_of_configurations_and_of_worlds(robot):
    kd = robot.kindyn
    q = kd.random((3, 1), seed=7)
    worlds = lw.Obstacles(np.random.default_rng(2).uniform(0.1, 1.0, size=(5, 6, 4)))
    D = robot.distances_to(q, worlds)
    assert D.shape == (3, 5, 6, len(robot.links))
    one = robot.distances_to(q[2, 0], lw.Obstacles(worlds.spheres[4]))
    np.testing.assert_allclose(D[2, 4], one, atol=1e-12)
    assert robot.distances_to_jacobian(q, worlds).shape == (*D.shape, robot.nv)


@pytest.mark.peers
@pytest.mark.parametrize("base", ["fixed", "mixed", "body", "inertial"])
def test_shapes_without_closed_form_are_computed_by_coal(base):
    kinds = ["sphere", "capsule", "box", "cylinder"]
    options = {} if base == "fixed" else {"representation": base}
    robot = random_collision_model(1, kinds, floating=base != "fixed", **options)
    kd = robot.kindyn
    q = kd.random(3, seed=1)
    D = robot.distances(q)
    for row in range(3):
        there = [link_distance(kd, pair, q[row]) for pair in robot.pairs]
        apart = np.array(there) > 0
        np.testing.assert_allclose(D[row][apart], np.array(there)[apart], atol=1e-7)
    J = robot.distance_jacobian(q)
    np.testing.assert_allclose(J, differences(kd, robot.distances, q, 1e-5), atol=1e-4)
    to = robot.distances_to_jacobian(q, OBSTACLES)
    expected = differences(kd, lambda q: robot.distances_to(q, OBSTACLES), q, 1e-5)
    np.testing.assert_allclose(to, expected, atol=1e-4)
    first, second, normal = robot.witness_points(q)
    np.testing.assert_allclose(second - first, D[..., None] * normal, atol=1e-6)
    np.testing.assert_array_equal(robot.in_collision(q), robot.minimum_distance(q) < 0.0)
    assert (robot.smooth_minimum_distance(q, 0.01) <= robot.minimum_distance(q)).all()


def test_without_coal_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(lw.MissingPackageError, match="coal"):
        random_collision_model(1, ["box"], floating=False)


def two_arms():
    """Two hinged links on a base, which overlap in all configurations or in some."""
    b = lw.ModelBuilder("arms")
    ball = [lw.Shape(lw.Sphere(0.1), lw.Pose((0.5, 0.0, 0.0)))]
    b.add_link("base", inertia=lw.point_mass(1.0), collisions=[lw.Shape(lw.Sphere(0.05))])
    for name, x in (("left", -0.3), ("right", 0.3)):
        b.add_link(name, inertia=lw.point_mass(1.0), collisions=ball)
        b.add_link(f"{name}_tip", collisions=ball)
        b.add_joint(name, "revolute", "base", name, first_H_joint=lw.Pose((x, 0.0, 0.0)))
        b.add_joint(f"{name}_mount", "fixed", name, f"{name}_tip")
    b.add_link("hub", inertia=lw.point_mass(1.0))
    b.add_joint("turn", "revolute", "base", "hub")
    b.add_link("cap", inertia=lw.point_mass(1.0), collisions=[lw.Shape(lw.Sphere(0.2))])
    b.add_joint("cap", "revolute", "hub", "cap")
    return b.build()


def test_pairs_leave_out_rigid_adjacent_and_always_overlapping_links():
    robot = lw.CollisionModel(two_arms(), floating=False)
    pairs = {frozenset(pair) for pair in robot.pairs}
    assert frozenset(("left", "left_tip")) not in pairs  # rigid
    assert frozenset(("base", "left")) not in pairs  # connected by a joint
    assert frozenset(("base", "left_tip")) not in pairs
    assert frozenset(("base", "cap")) not in pairs  # overlap in every configuration
    assert frozenset(("left", "right")) in pairs
    assert frozenset(("left_tip", "cap")) in pairs
    named = lw.CollisionModel(two_arms(), floating=False, pairs=[("right", "left")])
    assert named.pairs == (("right", "left"),)
    q = named.kindyn.random(5, seed=0)
    k = robot.pairs.index(("left", "right"))
    np.testing.assert_allclose(named.distances(q)[:, 0], robot.distances(q)[:, k], atol=1e-14)


@pytest.mark.parametrize(
    ("options", "error", "fact"),
    [
        ({"pairs": [("left", "rigth")]}, lw.NameNotFoundError, "right"),
        ({"pairs": [("left", "hub")]}, lw.ArgumentError, "hub"),
        ({"pairs": [("left", "left_tip")]}, lw.ArgumentError, "left_tip"),
        ({"pairs": [("left", "right"), ("right", "left")]}, lw.ArgumentError, "twice"),
        ({"pairs": "some"}, lw.ArgumentError, "srdf"),
        ({"pairs": 3}, lw.ArgumentError, "pairs"),
        ({"pairs": ["left"]}, lw.ArgumentError, "left"),
        ({"pairs": "srdf"}, lw.ArgumentError, "srdf"),
        ({"shapes": "boxes"}, lw.ArgumentError, "spheres"),
    ],
)
def test_bad_options_are_reported(options, error, fact):
    with pytest.raises(error, match=fact):
        lw.CollisionModel(two_arms(), floating=False, **options)


@pytest.mark.parametrize(
    ("kind", "rows", "error"),
    [
        ("spheres", [[0.0, 0.0, 0.0]], lw.ShapeError),
        ("spheres", [[0.0, 0.0, 0.0, -0.1]], lw.ValueRangeError),
        ("spheres", [[0.0, 0.0, np.nan, 0.1]], lw.ValueRangeError),
        ("boxes", [[0.0] * 3 + [2.0, 0.0, 0.0, 0.0] + [1.0] * 3], lw.ValueRangeError),
        ("half_spaces", [[0.0, 0.0, 2.0, 0.0]], lw.ValueRangeError),
        ("points", "near", lw.ArgumentError),
    ],
)
def test_bad_obstacles_are_reported(kind, rows, error):
    with pytest.raises(error, match=kind):
        lw.Obstacles(**{kind: rows})


def test_configurations_that_are_not_finite_are_never_free():
    robot = lw.CollisionModel(two_arms(), floating=False)
    q = robot.kindyn.random(4, seed=0)
    q[2, 0] = np.nan
    assert robot.in_collision(q)[2]
    assert np.isnan(robot.minimum_distance(q)[2]) or robot.minimum_distance(q)[2] < 0


def test_ways_to_call():
    robot = lw.CollisionModel(two_arms(), floating=False)
    q = robot.kindyn.random(6, seed=0)
    D = robot.distances(q)
    np.testing.assert_allclose(robot.distances(q[::2]), D[::2], atol=1e-15)
    np.testing.assert_allclose(robot.distances(q[0].tolist()), D[0], atol=1e-15)
    out = np.empty_like(D)
    assert robot.distances(q, out=out, threads=1) is out
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    np.testing.assert_array_equal(again.distances(q), D)
    single = lw.CollisionModel(lw.KinDyn(two_arms(), floating=False, dtype=np.float32))
    assert single.pairs == robot.pairs
    assert single.distances(q).dtype == np.float32
    np.testing.assert_allclose(single.distances(q), D, atol=1e-6)
    assert single.distances_to(q, OBSTACLES).dtype == np.float32
    assert "arms" in repr(robot)


@pytest.mark.peers
def test_a_robot_of_spheres_is_nearer_by_at_most_its_protrusion():
    """It is never reported as free where the original shapes collide."""
    b = lw.ModelBuilder("drum_on_a_box")
    b.add_link("box", collisions=[lw.Shape(lw.Box((0.4, 0.3, 0.2)))])
    b.add_link("slider")
    b.add_link("drum", inertia=lw.point_mass(1.0), collisions=[lw.Shape(lw.Cylinder(0.1, 0.3))])
    b.add_joint("slide", "prismatic", "box", "slider", axis=(0.6, 0.0, 0.8))
    b.add_joint("turn", "spherical", "slider", "drum")
    exact = lw.CollisionModel(b.build(), floating=False)
    cover = lw.spherize(exact.model, tolerance=0.06)
    protrusion = sum(link.protrusion for link in cover.links)
    spheres = lw.CollisionModel(cover.model, floating=False, pairs=exact.pairs)
    q = exact.kindyn.random(60, seed=0)
    apart = exact.distances(q)[:, 0] > 0
    assert apart.any()
    assert not apart.all()
    assert spheres.in_collision(q)[~apart].all()
    gap = exact.distances(q)[apart, 0] - spheres.distances(q)[apart, 0]
    assert gap.min() > -1e-9
    assert gap.max() < protrusion + 1e-9


def test_a_robot_without_pairs_has_an_infinite_distance():
    b = lw.ModelBuilder("pair")
    for name in ("a", "b"):
        inertia = lw.solid_box(1.0, (0.1, 0.1, 0.1))
        b.add_link(name, inertia=inertia, collisions=[lw.Shape(lw.Sphere(0.1))])
    b.add_joint("j", "revolute", "a", "b")
    robot = lw.CollisionModel(b.build(), floating=False)
    assert robot.pairs == ()
    q = np.zeros((3, 1))
    assert robot.distances(q).shape == (3, 0)
    np.testing.assert_array_equal(robot.minimum_distance(q), np.full(3, np.inf))
    np.testing.assert_array_equal(robot.smooth_minimum_distance(q), np.full(3, np.inf))
    assert not robot.in_collision(q).any()
    world = [lw.Shape(lw.Sphere(0.1))]
    for one in (robot.in_collision(q[0]), robot.in_collision(q[0], obstacles=world)):
        assert type(one) is np.bool_
    with pytest.raises(lw.ValueRangeError, match="width"):
        robot.smooth_minimum_distance(q, 0.0)
    with pytest.raises(lw.ShapeError, match="do not broadcast"):
        robot.check_edges(np.zeros((2, 1)), np.zeros((3, 1)))
