"""Collisions mean the same in all ways to ask: compiled, by queries of shapes, and in C."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.collision.exact.queries import Placed, ShapeQueries
from linkwork.spatial import so3

pytestmark = pytest.mark.peers  # coal


def sliders(*shapes, parameters=()):
    """Links on three crossed slides, one after another, each with a shape."""
    b = lw.ModelBuilder("sliders")
    b.add_link("rail", collisions=[lw.Shape(shapes[0])])
    previous = "rail"
    for k, axis in enumerate(np.eye(3)):
        name = f"slide{k}"
        ends = [lw.Shape(shapes[1])] if k == 2 else []
        b.add_link(name, inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)), collisions=ends)
        b.add_joint(f"j{k}", "prismatic", previous, name, axis=tuple(axis), lower=-2.0, upper=2.0)
        previous = name
    return lw.CollisionModel(
        b.build(), floating=False, pairs=[("rail", "slide2")], parameters=parameters
    )


PAIRS = {
    "spheres": (lw.Sphere(0.5), lw.Sphere(0.5)),
    "closed form": (lw.Box((1.0, 1.0, 1.0)), lw.Sphere(0.5)),
    "query": (lw.Box((1.0, 1.0, 1.0)), lw.Box((1.0, 1.0, 1.0))),
}
TOUCHING = np.array([1.0, 0.0, 0.0])
CONFIGURATIONS = np.array(
    [
        [1.5, 0.0, 0.0],
        [0.25, 0.0, 0.0],
        TOUCHING,
        TOUCHING - [5e-13, 0.0, 0.0],
        TOUCHING - [1e-8, 0.0, 0.0],
        [np.nan, 0.0, 0.0],
        [0.0, np.inf, 0.0],
        [1.5, 0.0, -np.inf],
    ]
)
COLLIDES = [False, True, False, False, True, True, True, True]


@pytest.mark.parametrize("kind", PAIRS)
def test_every_way_to_ask_gives_the_same_answer(kind):
    robot, q = sliders(*PAIRS[kind]), CONFIGURATIONS
    np.testing.assert_array_equal(robot.in_collision(q), COLLIDES)
    np.testing.assert_array_equal(robot.in_collision(np.tile(q, (200, 1))), COLLIDES * 200)
    np.testing.assert_array_equal([robot.in_collision(row) for row in q], COLLIDES)
    np.testing.assert_array_equal(robot.function("in_collision")(q) > 0.5, COLLIDES)
    empty = lw.Obstacles(spheres=[[50.0, 0.0, 0.0, 0.1]])
    np.testing.assert_array_equal(robot.in_collision(q, obstacles=empty), COLLIDES)
    d = robot.distances(q)[:, 0]
    assert np.isnan(d[5:]).all()
    np.testing.assert_allclose(d[[0, 2, 3, 4]], [0.5, 0.0, -5e-13, -1e-8], atol=1e-12)
    assert d[1] == pytest.approx(-0.75)
    np.testing.assert_array_equal(~(d >= -1e-9), COLLIDES)
    for name in ("distances", "minimum_distance"):
        np.testing.assert_array_equal(robot.function(name)(q), getattr(robot, name)(q))
        assert np.isnan(getattr(robot, name)(q)[5:]).all()
    np.testing.assert_allclose(robot.smooth_minimum_distance(q), d, atol=1e-15)
    to = robot.distances_to(q, empty)
    assert np.isnan(to[5:]).all()
    assert np.isfinite(to[:5]).all()


@pytest.mark.parametrize("kind", PAIRS)
def test_every_function_is_a_kernel(kind):
    robot = sliders(*PAIRS[kind], parameters=[lw.parameters.JointPose("j0")])
    q = robot.kindyn.random(5, seed=0)
    out = np.empty((5, 1))
    d = robot.distances(q)
    assert robot.distances(q, out=out, threads=1) is out
    np.testing.assert_array_equal(out, d)
    values = robot.parameter_values()
    np.testing.assert_array_equal(robot.distances(q, parameters=values), d)
    np.testing.assert_array_equal(robot.in_collision(q, parameters=values), robot.in_collision(q))
    values[0] += 0.1  # the slide is mounted farther along x
    moved = q + np.array([0.1, 0.0, 0.0])
    np.testing.assert_allclose(
        robot.distances(q, parameters=values), robot.distances(moved), atol=1e-12
    )
    np.testing.assert_array_equal(
        robot.in_collision(q, parameters=values), robot.in_collision(moved)
    )
    assert pickle.loads(pickle.dumps(robot)) == robot
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(robot.distances))(q), d)
    J = robot.distance_jacobian(q)
    np.testing.assert_allclose(robot.distances.jacobian("q")(q), J, atol=1e-9)
    weights = np.arange(5.0)[:, None]
    expected = weights * J[:, 0]
    np.testing.assert_allclose(
        robot.distances.vjp("q")(q, ct_distances=weights), expected, atol=1e-9
    )
    tangents = np.ones((5, 3))
    np.testing.assert_allclose(robot.distances.jvp("q")(q, d_q=tangents), J.sum(-1), atol=1e-9)
    np.testing.assert_allclose(robot.minimum_distance.gradient("q")(q), J[:, 0], atol=1e-9)
    smooth = robot.function("smooth_minimum_distance").gradient("q", "width")(q, 0.01)
    np.testing.assert_allclose(smooth[0], J[:, 0], atol=1e-9)
    np.testing.assert_allclose(smooth[1], np.zeros(5), atol=1e-9)
    for width in (0.0, np.array([0.1, -0.1, 0.1, 0.1, 0.1])):
        with pytest.raises(lw.ValueRangeError, match="width"):
            robot.smooth_minimum_distance(q, width)


def test_calls_after_the_first_build_nothing(monkeypatch):
    robot, obstacle = sliders(*PAIRS["query"]), [lw.Shape(lw.Box((1.0, 1.0, 1.0)))]
    q = np.zeros(3)
    expected = robot.distances_to(q, obstacle), robot.distances_to_jacobian(q, obstacle)
    monkeypatch.setattr(lw.KinDyn, "__init__", lambda *_, **__: pytest.fail("a robot is built"))
    actual = robot.distances_to(q, obstacle), robot.distances_to_jacobian(q, obstacle)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_a_query_cannot_do_is_an_error():
    robot = sliders(*PAIRS["query"])
    for attempt in (
        lambda: robot.minimum_distance.hessian("q"),
        lambda: robot.witness_points.jacobian("q"),
        lambda: robot.distances.jacobian("q").jacobian("q"),
        lambda: robot.distances.program,
        lambda: lw.compile(q=3)(robot.distances)(np.zeros(3)),
    ):
        with pytest.raises(lw.ArgumentError, match="closed form"):
            attempt()


def test_gradients_of_queries_pass_through_torch():
    torch = pytest.importorskip("torch")
    from linkwork.torch import wrap

    robot = sliders(*PAIRS["query"])
    q = robot.kindyn.random(4, seed=1)
    tensor = torch.tensor(q, requires_grad=True)
    wrap(robot.distances)(tensor).sum().backward()
    np.testing.assert_allclose(tensor.grad, robot.distance_jacobian(q)[:, 0], atol=1e-9)


def test_several_quantities_share_a_query():
    robot = sliders(*PAIRS["query"])
    q = robot.kindyn.random(3, seed=2)
    d, points, normals, collides = (
        robot.function("distances")(q),
        *robot.witness_points(q)[::2],
        robot.in_collision(q),
    )
    fused = robot.function("distances", "in_collision")(q)
    np.testing.assert_array_equal(fused[0], d)
    np.testing.assert_array_equal(fused[1] > 0.5, collides)
    assert points.shape == normals.shape == (3, 1, 3)


def test_a_collision_model_does_not_change():
    robot = sliders(*PAIRS["query"])
    with pytest.raises(lw.FrozenError):
        robot.pairs = ()
    assert "distances" not in robot.__dict__
    excluded = lw.CollisionModel(robot.model, floating=False, exclude=[("slide2", "rail")])
    assert excluded.pairs == ()
    with pytest.raises(lw.NameNotFoundError, match="rail"):
        lw.CollisionModel(robot.model, floating=False, exclude=[("slide2", "rial")])


def test_the_arm_that_touches_itself_is_free_alone_and_in_a_cell():
    model = lw.load("arm")
    robot = lw.CollisionModel(model, floating=False)
    cell = lw.WorkCell("cell").with_robot("arm", model, end="tool")
    assert not robot.in_collision(robot.kindyn.neutral())
    assert not cell.in_collision(cell.state())
    d = robot.distances(robot.kindyn.neutral())
    assert d.min() == pytest.approx(0.0, abs=1e-9)


def test_a_robot_may_stand_on_the_ground():
    """Static links that touch an obstacle are free for plans, motions, configurations and IK."""
    b = lw.ModelBuilder("crane")
    b.add_link("foot", collisions=[lw.Shape(lw.Sphere(0.2), lw.Pose((0.0, 0.0, 0.2)))])
    b.add_link("boom", inertia=lw.point_mass(1.0), collisions=[lw.Shape(lw.Sphere(0.1))])
    b.add_joint(
        "lift",
        "prismatic",
        "foot",
        "boom",
        first_H_joint=lw.Pose((1.0, 0.0, 1.0)),
        lower=-0.5,
        upper=2.0,
    )
    robot = lw.CollisionModel(b.build(), floating=False)
    ground = lw.Obstacles(half_spaces=[[0.0, 0.0, 1.0, 0.0]])
    start, goal = np.zeros(1), np.array([1.5])
    assert not robot.in_collision(start, obstacles=ground)
    assert lw.plan(robot, start, goal, ground)
    assert robot.check_edges(start, goal, obstacles=ground)
    # a margin is kept by what moves, also without the C extension
    assert robot.check_edges(start, goal, obstacles=ground, margin=0.02)
    assert lw.plan(robot, start, goal, ground, margin=0.02)
    box = [lw.Shape(lw.Box((0.2, 0.2, 0.2)))]
    links = [replace(x, collisions=box) if x.name == "boom" else x for x in b.build().links]
    other = lw.CollisionModel(replace(b.build(), links=tuple(links)), floating=False)
    assert other.check_edges(start, goal, obstacles=ground, margin=0.02)
    assert not other.check_edges(start, goal, obstacles=ground, margin=0.95)
    target = {"boom": np.array([1.0, 0.0, 1.7])}
    assert lw.ik(robot.kindyn, target, avoid=robot, obstacles=ground).converged
    inside = lw.Obstacles(half_spaces=[[0.0, 0.0, 1.0, 1e-6]])
    assert robot.in_collision(start, obstacles=inside)
    assert "'foot'" in lw.plan(robot, start, goal, inside).reason
    assert not robot.check_edges(start, goal, obstacles=inside)
    with pytest.raises(lw.ValueRangeError, match=r"'foot'.*half_spaces\[0\]"):
        lw.ik(robot.kindyn, target, avoid=robot, obstacles=inside)


def test_a_search_without_progress_ends():
    """Steps that single precision cannot represent, and more nodes than memory is meant for."""
    ball = [lw.Shape(lw.Sphere(0.1))]
    b = lw.ModelBuilder("two")
    b.add_link("base", collisions=ball)
    b.add_link("tip", inertia=lw.point_mass(1.0), collisions=ball)
    at = lw.Pose((1.0, 0.0, 0.0))
    b.add_joint("slide", "prismatic", "base", "tip", first_H_joint=at, lower=-2.0, upper=2.0)
    robot = lw.CollisionModel(b.build(), floating=False)
    q = np.array([0.5])
    with pytest.raises(lw.ValueRangeError, match="resolution"):
        lw.plan(robot, q, q + 5e-6, limits=(q, q), resolution=1e-15, step=1e-13)
    wall = lw.Obstacles(spheres=[[1.0, 0.0, 0.5 + 2.5e-6, 1e-9]])
    far, options = np.array([0.5, 0.5 + 1e-5]), {"resolution": 1e-11, "step": 1e-11}
    plan = lw.plan(robot, far[:1], far[1:], wall, limits=(far[:1], far[1:]), **options)
    assert not plan
    assert plan.nodes < 5_000_000


@pytest.mark.parametrize("kind", PAIRS)
def test_each_configuration_may_have_a_world_of_its_own(kind):
    robot, rng = sliders(*PAIRS[kind]), np.random.default_rng(4)
    q = rng.uniform(-2.0, 2.0, size=(4, 5, 3))
    for batch in ((4, 5), (5,), (3, 4, 5)):
        centers = rng.uniform(-3.0, 3.0, size=(*batch, 2, 3))
        spheres = np.concatenate([centers, np.full((*batch, 2, 1), 0.3)], axis=-1)
        world = lw.Obstacles(spheres=spheres, half_spaces=[[0.0, 0.0, 1.0, -2.0]])
        expected = ~(robot.distances_to(q, world) >= -1e-9).all(axis=(-2, -1))
        expected |= robot.in_collision(q)
        assert expected.any()
        assert not expected.all()
        np.testing.assert_array_equal(robot.in_collision(q, obstacles=world), expected)
    assert robot.in_collision(q[0, 0], obstacles=world).shape == (3, 4, 5)
    with pytest.raises(lw.ShapeError, match=r"\(4, 5\), \(7,\)"):
        robot.in_collision(q, obstacles=lw.Obstacles(spheres=np.zeros((7, 2, 4))))
    with pytest.raises(lw.ShapeError, match=r"\(7,\), \(6,\)"):
        lw.Obstacles(spheres=np.zeros((7, 2, 4)), points=np.zeros((6, 2, 3)))
    with pytest.raises(lw.ShapeError, match="one set of obstacles"):
        robot.check_edges(q[0], q[1], obstacles=lw.Obstacles(spheres=np.zeros((5, 2, 4))))


@pytest.mark.parametrize("kind", PAIRS)
def test_widths_are_checked_in_any_form(kind):
    robot, q = sliders(*PAIRS[kind]), np.zeros((3, 3))
    for width in ([0.1, -0.1, 0.1], (0.0, 0.0, 0.0), np.float32(-1.0), np.inf):
        with pytest.raises(lw.ValueRangeError, match="width"):
            robot.smooth_minimum_distance(q, width)


def test_distances_that_overflow_are_nan_in_all_functions():
    rng, shapes, n = np.random.default_rng(2), ShapeQueries(), 40
    A, B = np.tile(np.eye(4), (2, n, 1, 1))
    A[:, :3, :3], B[:, :3, :3] = so3.exp(rng.normal(size=(2, n, 3)))
    B[:, :3, 3] = rng.normal(size=(n, 3))
    B[:, :3, 3] *= 10.0 ** np.tile([90.0, 154.0, 160.0, 200.0], n // 4)[:, None]
    cylinder = lw.Shape(lw.Cylinder(0.5, 1.0))
    first, second = Placed(cylinder, A, "a"), Placed(cylinder, B, "b")
    d = shapes.nearest(first, second)[:, 0]
    assert np.isnan(d).any()
    assert not np.isnan(d[::4]).any()
    np.testing.assert_array_equal(shapes.overlap(first, second), np.isnan(d))
