"""Configurations and straight motions of robots made of spheres, against NumPy in float64."""

from __future__ import annotations

import gc
import pickle
from itertools import product

import numpy as np
import pytest
from tests.support.linkages import four_bar
from tests.support.sphere_robots import arm, between, clearance

import linkwork as lw
from linkwork.collision import colliders
from linkwork.collision.core import CollisionCore
from linkwork.collision.exact.queries import ShapeQueries
from linkwork.collision.motions import Motions, link_spheres, obstruction_of

TOUCHING = 1e-4  # [m] configurations closer to contact than this may be either


def random_obstacles(seed, n=3):
    rng = np.random.default_rng(seed)
    unit = rng.normal(size=(n, 4))
    unit /= np.linalg.norm(unit, axis=-1, keepdims=True)
    turned = [[0.5, 0.5, 0.5, 0.5], [0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]  # aligned with axes
    normals = np.array([[0.6, 0.0, 0.8], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    place = lambda: rng.uniform(-1.0, 1.0, (n, 3))  # noqa: E731
    return lw.Obstacles(
        spheres=np.hstack([place(), rng.uniform(0.0, 0.2, (n, 1))]),
        capsules=np.vstack(
            [np.hstack([place(), place(), np.full((n, 1), 0.05)]), [0.5] * 6 + [0.1]]
        ),
        boxes=np.hstack(
            [
                np.vstack([place(), place()]),
                np.vstack([unit, turned]),
                rng.uniform(0, 0.3, (2 * n, 3)),
            ]
        ),
        half_spaces=np.hstack([normals, [[-0.9], [-0.7], [-1.0]]]),
        points=rng.uniform(-1.0, 1.0, (11, 3)),
        point_radius=0.03,
    )


@pytest.fixture(scope="module")
def robot():
    return lw.CollisionModel(
        arm(), floating=False, base_pose=lw.Pose((0.1, 0.2, 0.0), (0.0, 0.0, 1.0))
    )


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 7])
def test_configurations_agree_with_numpy(robot, seed):
    obstacles = random_obstacles(seed) if seed else lw.Obstacles()
    q = robot.kindyn.random((7, 101), seed=seed)
    collides = robot.in_collision(q, obstacles=obstacles)
    expected = clearance(robot, q, obstacles if seed else None)
    assert collides.shape == (7, 101)
    assert 0.05 < collides.mean() < 0.95
    assert not (~collides & (expected < 0.0)).any()
    assert not (collides & (expected > TOUCHING)).any()
    np.testing.assert_array_equal(robot.in_collision(q[3, 5], obstacles=obstacles), collides[3, 5])


def test_code_of_one_row_gives_the_same(robot):
    obstacles, q = random_obstacles(1), robot.kindyn.random(50, seed=1)
    expected = robot.in_collision(q, obstacles=obstacles)
    other = Motions(robot)
    other.prepare()
    one = other._program.one
    other.code._use(one.address("f"), 0, 1, 100, one.lease)
    out = np.zeros(50, dtype=bool)
    other.code.test(q, other.world(obstacles), 0.0, out, None)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_motions_agree_with_dense_sampling(robot, margin):
    obstacles, resolution = random_obstacles(7), 0.02
    starts, ends = robot.kindyn.random((2, 20, 8), seed=3)
    ends = starts + 0.3 * (ends - starts)
    is_free = robot.check_edges(
        starts, ends, resolution=resolution, obstacles=obstacles, margin=margin
    )
    dense = clearance(robot, between(starts, ends, 201), obstacles).min(axis=0) - margin
    assert 0.1 < is_free.mean() < 0.9
    assert is_free[dense > TOUCHING].all()
    # between two tested configurations, no point moves by more than half the resolution times 1.5 m
    assert not is_free[dense < -0.75 * resolution].any()
    alone = robot.check_edges(
        starts[4, 4], ends[4, 4], resolution=resolution, obstacles=obstacles, margin=margin
    )
    assert alone.shape == ()
    assert alone == is_free[4, 4]


def test_both_ends_are_tested(robot):
    obstacles = random_obstacles(2)
    q = robot.kindyn.random(400, seed=4)
    collides = clearance(robot, q, obstacles) < 0.0
    free = robot.kindyn.neutral()
    assert clearance(robot, free) > 0.0
    here = robot.check_edges(q, q, obstacles=obstacles)
    np.testing.assert_array_equal(here, ~collides)
    for edges in ((q[collides], free), (free, q[collides])):
        assert not robot.check_edges(*edges, resolution=10.0, obstacles=obstacles).any()
    assert robot.check_edges(np.empty((0, 4)), q[:1]).shape == (0,)


def test_a_link_that_does_not_move_collides(robot):
    at = robot.kindyn.transform("pedestal", robot.kindyn.neutral())[:3, 3]
    ground = lw.Obstacles(half_spaces=[[0.0, 0.0, 1.0, at[2] - 0.15]])
    q = robot.kindyn.neutral()
    assert robot.in_collision(q, obstacles=ground)
    assert not robot.check_edges(q, q, obstacles=ground)


@pytest.mark.parametrize(
    "options",
    [{"last": [lw.Shape(lw.Box((0.04, 0.04, 0.2)), lw.Pose((0.0, 0.0, 0.2)))]}, {"floating": True}],
    ids=["box", "floating base"],
)
def test_other_robots_are_tested_with_compiled_distances(options):
    floating = options.pop("floating", False)
    robot = lw.CollisionModel(
        arm(**options), "pedestal", floating=floating, pairs=[("link1", "link4")]
    )
    assert obstruction_of(robot)
    obstacles = lw.Obstacles(spheres=[[0.3, 0.3, 0.5, 0.1], [-0.4, 0.2, 0.3, 0.2]])
    starts, ends = robot.kindyn.random((2, 40), seed=5)
    settings = {"obstacles": obstacles, "resolution": 0.05}
    is_free = robot.check_edges(starts, ends, **settings)
    nu = robot.kindyn.difference(starts, ends)
    q = robot.kindyn.integrate(starts, np.linspace(0, 1, 200)[:, None, None] * nu, 1.0)
    least = robot.distances_to(q, obstacles).min(axis=(-1, -2))
    least = np.minimum(least, robot.distances(q).min(axis=-1)).min(axis=0)
    assert 0 < is_free.sum() < 40
    assert is_free[least > 0.0].all()
    assert not is_free[least < -0.1].any()
    with_margin = robot.check_edges(starts, ends, margin=0.02, **settings)
    assert not (with_margin & ~is_free).any()
    assert (with_margin != is_free).any()


def test_spheres_around_links_contain_their_spheres(robot):
    for link in robot.links:
        centers, radii = link_spheres(robot.problem, link)
        n = len(robot.model.link(link).collisions)
        assert len(radii) == (1 if n == 1 else n + 1)
        assert (np.linalg.norm(centers - centers[0], axis=-1) + radii <= radii[0] + 1e-12).all()


TURNED = [np.cos(0.4), 0.0, 0.0, np.sin(0.4)]  # about the vertical: not aligned with the axes
BELOW = {  # an obstacle of a size whose highest point is at a height, below the pedestal
    "sphere": lambda size, top: {"spheres": [[0.1, 0.2, top - size, size]]},
    "capsule": lambda size, top: {
        "capsules": [[0.1 - size, 0.2, top - size, 0.1 + size, 0.2, top - size, size]]
    },
    "aligned box": lambda size, top: {
        "boxes": [[0.0, 0.0, top - size / 2, 1.0, 0.0, 0.0, 0.0, size, size, size]]
    },
    "turned box": lambda size, top: {
        "boxes": [[0.0, 0.0, top - size / 2, *TURNED, size, size, size]]
    },
    "half-space": lambda size, top: {"half_spaces": [[0.0, 0.0, 1.0, top]]},
}


@pytest.mark.parametrize("size", [10.0, 1000.0])
@pytest.mark.parametrize("kind", BELOW)
def test_obstacles_far_away_and_large_ones_are_exact_to_their_rounding(robot, kind, size):
    """Single precision rounds coordinates of a large obstacle by more than the gap."""
    q, lowest = robot.kindyn.neutral(), -0.2  # the pedestal reaches down to 0.2 m below the origin
    for gap in (-1e-6, 1e-5 + 1e-5 * size):
        obstacles = lw.Obstacles(**BELOW[kind](size, lowest - gap))
        assert robot.in_collision(q, obstacles=obstacles) == (gap < 0.0)


def test_closed_loops_are_rejected():
    robot = lw.CollisionModel(four_bar(), floating=False, pairs=[])
    with pytest.raises(lw.ArgumentError, match="closed loops"):
        robot.check_edges(np.zeros(robot.nq), np.zeros(robot.nq))


def test_not_finite_configurations_collide(robot):
    q = robot.kindyn.random(5, seed=0)
    q[2, 1], q[4, 0] = np.nan, np.inf
    collides = robot.in_collision(q, obstacles=random_obstacles(0))
    assert collides[2]
    assert collides[4]


@pytest.mark.parametrize(
    ("arguments", "named", "error"),
    [
        (([0.0] * 3, [0.0] * 4), {}, lw.ShapeError),
        (([0.0] * 4, [np.nan] * 4), {}, lw.ValueRangeError),
        (("here", [0.0] * 4), {}, lw.ArgumentError),
        (([0.0] * 4, [1.0] * 4), {"resolution": 0.0}, lw.ValueRangeError),
        (([0.0] * 4, [1.0] * 4), {"resolution": 1e-9}, lw.ValueRangeError),
        (([0.0] * 4, [1.0] * 4), {"margin": -1.0}, lw.ValueRangeError),
        (([0.0] * 4, [1e4] * 4), {"resolution": 1.0}, lw.ValueRangeError),
        (([0.0] * 4, [1.0] * 4), {"obstacles": 3.0}, lw.ArgumentError),
        (([0.0] * 4, [1.0] * 4), {"obstacles": lw.Obstacles(np.ones((2, 3, 4)))}, lw.ShapeError),
        ((np.zeros((2, 4)), np.zeros((3, 4))), {}, ValueError),
    ],
)
def test_wrong_arguments_are_rejected(robot, arguments, named, error):
    with pytest.raises(error):
        robot.check_edges(*arguments, **named)


def test_the_extension_rejects_inconsistent_robots_and_arrays(robot):
    from linkwork.collision import _motions

    links, pairs = np.array([[0, 0, 1, 0]], np.int32), np.zeros((0, 2), np.int32)
    radii, ones = np.ones(1, np.float32), np.ones(2)
    motions = _motions.Motions(2, 1.0, ones, ones, links, pairs, radii)
    wrong = [
        (2, 1.0, ones, ones, np.array([[1, 0, 1, 0]], np.int32), pairs, radii),
        (2, 1.0, ones, ones, np.array([[0, 0, 2, 0]], np.int32), pairs, radii),
        (2, 1.0, ones, ones, np.array([[0, -1, 1, 0]], np.int32), pairs, radii),
        (2, 1.0, ones, ones, links, np.array([[0, 1]], np.int32), radii),
        (2, 1.0, ones, ones, links.astype(np.int64), pairs, radii),
        (2, 1.0, ones, np.ones(3), links, pairs, radii),
        (2, 1.0, ones[:0], ones[:0], links, pairs, radii),
        (2, np.nan, ones, ones, links, pairs, radii),
    ]
    for arguments in wrong:
        with pytest.raises(ValueError, match="unexpected"):
            _motions.Motions(*arguments)
    with pytest.raises(RuntimeError):
        motions.test(np.zeros((1, 2)), None, 0.0, np.zeros(1, dtype=bool), None)
    rows = np.zeros((1, 15), np.float32)
    corner = np.zeros((1, 3), np.float32)
    for kinds in (np.array([99], np.int32), np.zeros(2, np.int32), np.zeros(1)):
        with pytest.raises(ValueError, match="unexpected"):
            _motions.World(kinds, rows, corner, corner)
    code, q = robot._collider.motions.code, np.zeros((3, 4))
    for arguments in (
        (q, None, 0.0, np.zeros(2, bool), None),
        (q[:, :3].copy(), None, 0.0, np.zeros(3, bool), None),
        (q, 5, 0.0, np.zeros(3, bool), None),
        (q, None, np.nan, np.zeros(3, bool), None),
    ):
        with pytest.raises(ValueError, match="unexpected"):
            code.test(*arguments)


def test_copies_and_threads(robot):
    q, obstacles = robot.kindyn.random(3000, seed=9), random_obstacles(3)
    expected = robot.check_edges(q, q[::-1], obstacles=obstacles, threads=1)
    copy = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(copy.check_edges(q, q[::-1], obstacles=obstacles), expected)
    del copy
    gc.collect()
    np.testing.assert_array_equal(
        robot.check_edges(q, q[::-1], obstacles=obstacles, threads=2), expected
    )


def test_a_robot_on_rails_has_a_larger_allowance():
    robot = lw.CollisionModel(
        arm(kinds=("prismatic", "revolute", "prismatic", "revolute"), limits=(-8.0, 8.0)),
        floating=False,
    )
    box = [0.0, 0.0, -6.0, 1.0, 0.0, 0.0, 0.0, 90.0, 90.0, 8.0]
    obstacles = lw.Obstacles(spheres=[[0.0, 0.0, 5.0, 3.0]], boxes=[box])
    q = robot.kindyn.random(2000, seed=1)
    collides, least = robot.in_collision(q, obstacles=obstacles), clearance(robot, q, obstacles)
    np.testing.assert_array_equal(collides, ~(least >= -1e-9))
    far = 100.0 * q  # too far for single precision
    exact = ~(clearance(robot, far, obstacles) >= -1e-9)
    np.testing.assert_array_equal(robot.in_collision(far, obstacles=obstacles), exact)


def test_large_batches_are_exact(robot, monkeypatch):
    """Free rows are found in single precision, those at contact in double precision."""
    q = robot.kindyn.random(4000, seed=3)
    collides = robot.distances(q).min(axis=-1) < -1e-9
    n = min(np.count_nonzero(collides), np.count_nonzero(~collides))
    low, high = q[collides][:n], q[~collides][:n]
    for _ in range(40):  # to the boundary, within 1e-12
        middle = (low + high) / 2.0
        is_in = (robot.distances(middle).min(axis=-1) < -1e-9)[:, None]
        low, high = np.where(is_in, middle, low), np.where(is_in, high, middle)
    q = np.concatenate([q, low, high, np.full((2, robot.nq), np.nan), np.full((2, robot.nq), 1e30)])
    in_double, n_exact = colliders.collides, []

    def counted(robot, rows, *arguments):
        n_exact.append(len(rows))
        return in_double(robot, rows, *arguments)

    monkeypatch.setattr(colliders, "collides", counted)
    actual = robot.in_collision(q)
    np.testing.assert_array_equal(actual[-4:-2], True)
    d = robot.distances(q[:-2]).min(axis=-1)
    is_clear = ~(np.abs(d + 1e-9) < 1e-15)  # of rounding
    np.testing.assert_array_equal(actual[:-2][is_clear], ~(d >= -1e-9)[is_clear])
    np.testing.assert_array_equal(actual, in_double(robot, q, None, 0.0))
    np.testing.assert_array_equal(robot.in_collision(q[:-4].astype(np.float32)).dtype, bool)
    np.testing.assert_array_equal(robot.in_collision(q[:-4]), actual[:-4])
    assert n_exact[0] == len(q)  # angles of 1e30 are too large for single precision
    assert n_exact[-1] < np.count_nonzero(collides) + 2 * n + 100


def test_the_sphere_around_a_link_is_small():
    """At most 2 % larger than the smallest one, around spheres at the corners of a box."""
    size = np.array([0.4, 0.2, 0.1])
    corners = 0.5 * size * np.array(list(product((-1.0, 1.0), repeat=3))) + [0.3, 0.0, 1.0]
    shapes = [lw.Shape(lw.Sphere(0.05), lw.Pose(tuple(xyz))) for xyz in corners.tolist()]
    model = lw.Model(name="link", links=(lw.Link(name="link", collisions=tuple(shapes)),))
    problem = CollisionCore(model, floating=False, pairs=(), shape_queries=ShapeQueries()).problem
    around, smallest = link_spheres(problem, "link"), np.linalg.norm(size) / 2 + 0.05
    assert smallest <= around.radii[0] <= 1.02 * smallest
    reach = np.linalg.norm(around.centers[1:] - around.centers[0], axis=1) + around.radii[1:]
    assert (reach <= around.radii[0] * (1 + 1e-12)).all()
