"""Inverse kinematics with distances to keep: between links, and from links to obstacles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.linkages import closed, five_bar

import linkwork as lw
from linkwork.inverse_kinematics import avoidance

RADIUS, MARGIN = 0.05, 0.02
CENTERS = np.array([(0.1, 0.0, 0.0), (0.2, 0.0, 0.0), (0.3, 0.0, 0.0)])
SPHERES = [lw.Shape(lw.Sphere(RADIUS), lw.Pose(tuple(c))) for c in CENTERS]


@pytest.fixture(scope="module")
def kd():
    b = lw.ModelBuilder("snake")
    b.add_link("ground", inertia=lw.solid_box(1.0, (1.0, 1.0, 1.0)), collisions=SPHERES)
    for k in range(5):
        before = f"l{k - 1}" if k else "ground"
        b.add_link(f"l{k}", inertia=lw.solid_box(1.0, (1.0, 1.0, 1.0)), collisions=SPHERES)
        axis = (0.0, 0.0, 1.0) if k % 2 == 0 else (0.0, 1.0, 0.0)
        ends = f"j{k}", "revolute", before, f"l{k}"
        mount = lw.Pose((0.4, 0.0, 0.0))
        b.add_joint(*ends, axis=axis, first_H_joint=mount, lower=-2.8, upper=2.8)
    return lw.KinDyn(b.build(), floating=False)


@pytest.fixture(scope="module")
def robot(kd):
    return lw.CollisionModel(kd)


def centers(kd, q):
    """(..., links, 3, 3) centers of all spheres in the world, by the poses of the links."""
    H = np.stack([kd.transform(link.name, q) for link in kd.model.links], axis=-3)
    return CENTERS @ H[..., :3, :3].swapaxes(-1, -2) + H[..., None, :3, 3]


def self_distance(kd, q):
    """(...) the smallest distance of links that no joint connects."""
    x = centers(kd, q)
    least = np.full(q.shape[:-1], np.inf)
    for a in range(6):
        for b in range(a + 2, 6):
            between = x[..., a, :, None, :] - x[..., b, None, :, :]
            least = np.minimum(least, np.linalg.norm(between, axis=-1).min(axis=(-1, -2)))
    return least - 2 * RADIUS


def distance_to_spheres(kd, q, spheres):
    """(...) the smallest distance of the links that move to spheres (..., n, 4)."""
    x = centers(kd, q)[..., 1:, :, :].reshape(*q.shape[:-1], -1, 1, 3)
    between = x - spheres[..., None, :, :3]
    d = np.linalg.norm(between, axis=-1) - spheres[..., None, :, 3]
    return d.min(axis=(-1, -2)) - RADIUS


def reachable(kd, n, seed, spheres=None, margin=MARGIN):
    """(n, 3) positions of the tip in configurations that keep the margin."""
    q = kd.random(20 * n, seed=seed)
    kept = self_distance(kd, q) >= margin
    if spheres is not None:
        kept &= distance_to_spheres(kd, q, spheres) >= MARGIN
    return kd.transform("l4", q[kept][:n])[:, :3, 3]


def test_links_keep_their_distance(kd, robot):
    margin = 0.15
    targets = reachable(kd, 200, seed=1, margin=margin)
    folded = 2.7 * np.array([0.0, 1.0, 0.0, 1.0, 0.0])  # links overlap at the start
    without = lw.ik(kd, {"l4": targets}, folded)
    assert without.clearance is None
    assert (self_distance(kd, without.q) < margin).mean() > 0.1
    result = lw.ik(kd, {"l4": targets}, folded, avoid=robot, margin=margin)
    assert result.converged.mean() > 0.99
    kept = self_distance(kd, result.q)
    np.testing.assert_allclose(result.clearance, kept, atol=1e-12)
    assert (kept[result.converged] >= margin).all()
    reached = kd.transform("l4", result.q)[:, :3, 3]
    assert np.abs(reached - targets)[result.converged].max() < 1e-6
    assert (np.abs(result.q) <= 2.8).all()
    again = lw.ik(kd, {"l4": targets}, folded, avoid=robot, margin=margin)
    np.testing.assert_array_equal(result.q, again.q)


def test_obstacles_are_inputs_and_may_differ_from_row_to_row(kd, robot):
    rng = np.random.default_rng(0)
    world = np.concatenate([rng.uniform(-0.8, 0.8, (3, 3)), np.full((3, 1), 0.1)], axis=-1)
    targets = reachable(kd, 100, seed=2, spheres=world)
    assert (distance_to_spheres(kd, lw.ik(kd, {"l4": targets}).q, world) < MARGIN).mean() > 0.02
    options = {"avoid": robot, "margin": MARGIN}
    result = lw.ik(kd, {"l4": targets}, **options, obstacles=lw.Obstacles(world))
    assert result.converged.mean() > 0.95
    kept = np.minimum(distance_to_spheres(kd, result.q, world), self_distance(kd, result.q))
    np.testing.assert_allclose(result.clearance, kept, atol=1e-12)
    kernels = avoidance.surroundings_of(kd, robot, MARGIN, None).avoidance.robot.penalty_kernels
    compiled = len(kernels)

    # another world for each row: a fourth sphere, which the first solution touches
    fourth = np.full((100, 1, 4), RADIUS)
    fourth[:, 0, :3] = centers(kd, result.q)[:, 4, 0] + (0.0, 0.0, 2 * RADIUS)
    worlds = np.concatenate([np.broadcast_to(world, (100, 3, 4)), fourth], axis=1)
    other = lw.ik(kd, {"l4": targets}, result.q, **options, obstacles=lw.Obstacles(worlds))
    assert len(kernels) == compiled > 0
    kept = np.minimum(distance_to_spheres(kd, other.q, worlds), self_distance(kd, other.q))
    np.testing.assert_allclose(other.clearance, kept, atol=1e-12)
    assert (distance_to_spheres(kd, result.q, worlds) < MARGIN).all()
    assert other.converged.mean() > 0.6  # the sphere may be at the target
    assert (kept[other.converged] >= MARGIN).all()
    alone = lw.ik(kd, {"l4": targets[7]}, result.q[7], **options, obstacles=lw.Obstacles(worlds[7]))
    np.testing.assert_allclose(alone.q, other.q[7], atol=1e-9)


def test_many_obstacles(kd, robot):
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (60, 3))
    world = np.concatenate([points, np.full((60, 1), 0.01)], axis=-1)
    targets = reachable(kd, 100, seed=3, spheres=world)
    cloud = lw.Obstacles(points=points, point_radius=0.01)
    result = lw.ik(kd, {"l4": targets}, avoid=robot, margin=MARGIN, obstacles=cloud)
    kept = np.minimum(distance_to_spheres(kd, result.q, world), self_distance(kd, result.q))
    np.testing.assert_allclose(result.clearance, kept, atol=1e-12)
    assert (kept[result.converged] >= MARGIN).all()
    assert result.converged.mean() > 0.95
    # with a posture, and one world for each row
    worlds = lw.Obstacles(np.broadcast_to(world, (100, 60, 4)))
    options = {"avoid": robot, "margin": MARGIN, "posture": result.q}
    again = lw.ik(kd, {"l4": targets}, **options, obstacles=worlds)
    assert (again.converged >= result.converged).all()


def test_links_with_many_spheres(kd):
    """Steps take the nearest spheres of each pair, which are selected every few steps."""
    radii = (0.03, 0.05, 0.04, 0.03, 0.05, 0.04)
    spheres = tuple(
        lw.Shape(lw.Sphere(r), lw.Pose((0.06 + 0.05 * k, 0.02 * (-1) ** k, 0.0)))
        for k, r in enumerate(radii)
    )
    links = tuple(replace(link, collisions=spheres) for link in kd.model.links)
    robot = lw.CollisionModel(replace(kd.model, links=links), floating=False)
    around = avoidance.surroundings_of(kd, robot, 0.4, None)
    assert around.is_selected

    # the residuals of the selected spheres are those of all spheres
    @lw.compile(q=kd.nq, values=around.avoidance.size)
    def residuals(q, values):
        return around.avoidance.residuals(q, values)

    q = kd.random(20, seed=0)
    r, J = residuals(q, around.values(q))
    d = robot.distances(q)
    expected = np.maximum(0.4 + avoidance.SLACK - d, 0.0)
    assert (expected > 0.0).any()
    np.testing.assert_allclose(r, avoidance.WEIGHT * expected, atol=1e-12)
    slopes = np.where(expected > 0.0, avoidance.WEIGHT, 0.0)[..., None] * robot.distance_jacobian(q)
    np.testing.assert_allclose(J, slopes, atol=1e-12)

    margin = 0.15
    q = kd.random(3000, seed=1)
    targets = kd.transform("l4", q[robot.distances(q).min(axis=-1) >= margin][:100])[:, :3, 3]
    folded = 2.7 * np.array([0.0, 1.0, 0.0, 1.0, 0.0])
    result = lw.ik(kd, {"l4": targets}, folded, avoid=robot, margin=margin)
    assert result.converged.mean() > 0.97
    kept = robot.distances(result.q).min(axis=-1)
    np.testing.assert_allclose(result.clearance, kept, atol=1e-12)
    assert (kept[result.converged] >= margin).all()


def test_an_obstacle_at_the_target_prevents_convergence(kd, robot):
    target = reachable(kd, 1, seed=4)[0]
    blocked = [lw.Shape(lw.Sphere(0.3), lw.Pose(tuple(target)))]
    options = {"avoid": robot, "margin": MARGIN, "restarts": 4}
    result = lw.ik(kd, {"l4": target}, **options, obstacles=blocked)
    assert not result.converged
    assert result.clearance < MARGIN


def test_links_that_no_joint_moves_are_compared_with_obstacles_as_in_collision_does(kd, robot):
    target = reachable(kd, 1, seed=4)[0]
    options = {"avoid": robot, "margin": MARGIN, "restarts": 4}
    free = lw.ik(kd, {"l4": target}, **options)
    assert free.converged
    fixed = robot.links[0]
    under = [lw.Shape(lw.Sphere(0.1), lw.Pose(tuple(CENTERS[0])))]
    assert robot.distances_to(free.q, under)[0, 0] < 0.0
    assert robot.in_collision(free.q, obstacles=under)
    with pytest.raises(lw.ValueRangeError, match=rf"'{fixed}'.*spheres\[0\]"):
        lw.ik(kd, {"l4": target}, **options, obstacles=under)
    # of worlds that differ from row to row, only the rows in question fail
    far = [3.0, 3.0, 3.0, 0.1]
    worlds = lw.Obstacles([[[*CENTERS[0], 0.1]], [far]])
    result = lw.ik(kd, {"l4": target}, **options, obstacles=worlds)
    np.testing.assert_array_equal(result.converged, [False, True])
    overlap = robot.distances_to(result.q, worlds)[0, 0, 0]
    assert overlap < 0.0
    assert result.clearance[0] == pytest.approx(overlap)
    assert result.clearance[1] >= MARGIN


def test_closed_loops_stay_closed():
    model = five_bar()
    rod = (lw.Shape(lw.Capsule(0.02, 0.2), lw.Pose((0.15, 0.0, 0.0), (0.0, np.pi / 2, 0.0))),)
    names = ["left_crank", "right_crank", "left_forearm", "right_forearm"]
    links = (replace(x, collisions=rod) if x.name in names else x for x in model.links)
    kd = lw.KinDyn(replace(model, links=tuple(links)), floating=False)
    pairs = [("left_crank", "right_forearm"), ("right_crank", "left_forearm")]
    robot = lw.CollisionModel(kd, pairs=pairs)
    q = closed(kd, 60, seed=3)
    q = q[robot.distances(q).min(axis=-1) > 0.05]
    tip = kd.transform("left_forearm", q)[:, :3, 3]
    ball = lw.Obstacles([[0.0, 0.0, -0.2, 0.03]])
    for options in ({}, {"obstacles": ball}):
        result = lw.ik(kd, {"left_forearm": tip}, avoid=robot, margin=0.01, **options)
        assert result.converged.mean() > 0.5
        kept = robot.distances(result.q).min(axis=-1)
        if options:
            kept = np.minimum(kept, robot.distances_to(result.q, ball).min(axis=(-1, -2)))
        np.testing.assert_allclose(result.clearance, kept, atol=1e-12)
        assert (kept[result.converged] >= 0.01).all()
        errors = np.abs(kd.constrained().error(result.q[result.converged]))
        assert errors.max() <= 1e-10


@pytest.mark.peers  # coal
def test_invalid_arguments_are_rejected(kd, robot):
    target = {"l4": np.array([1.0, 0.2, 0.3])}
    other = lw.CollisionModel(lw.KinDyn(kd.model, "l0", floating=False))
    boxes = [replace(x, collisions=(lw.Shape(lw.Box((0.1, 0.1, 0.1))),)) for x in kd.model.links]
    boxed = lw.CollisionModel(replace(kd.model, links=tuple(boxes)), floating=False)
    cylinder = (lw.Shape(lw.Cylinder(0.1, 0.1)),)
    mixed = [replace(x, collisions=cylinder) if x.name == "l2" else x for x in kd.model.links]
    drum = lw.CollisionModel(replace(kd.model, links=tuple(mixed)), floating=False)
    rod = lw.Obstacles(capsules=[[0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.1]])
    two = lw.Obstacles(np.ones((2, 1, 4)))
    three = {"l4": np.ones((3, 3))}
    for call, error, message in (
        (lambda: lw.ik(kd, target, obstacles=rod), lw.ArgumentError, "avoid="),
        (lambda: lw.ik(kd, target, avoid=kd), lw.ArgumentError, "CollisionModel.*KinDyn"),
        (lambda: lw.ik(kd, target, avoid=other), lw.ArgumentError, "base"),
        (lambda: lw.ik(kd, target, avoid=boxed), lw.ArgumentError, "closed form.*spheres"),
        (
            lambda: lw.ik(kd, target, avoid=drum, obstacles=rod),
            lw.ArgumentError,
            "'l2'.*capsules.*spheres",
        ),
        (lambda: lw.ik(kd, target, avoid=robot, margin=-1.0), lw.ValueRangeError, "margin.*-1"),
        (
            lambda: lw.ik(kd, target, avoid=robot, margin=5.0),
            lw.ValueRangeError,
            "'ground' and 'l1'.*apart",
        ),
        (lambda: lw.ik(kd, target, avoid=robot, obstacles=3), lw.ArgumentError, "obstacles.*3"),
        (lambda: lw.ik(kd, three, avoid=robot, obstacles=two), lw.ShapeError, r"\(3,\).*\(2,\)"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_condition_of_the_user_is_searched_for(kd, robot):
    """Collisions as a condition: every solution is accepted, and rows are those of the batch."""
    rng = np.random.default_rng(5)
    targets = kd.transform("l4", rng.uniform(-2.8, 2.8, (2, 60, kd.nq)))[..., :3, 3]
    ball = lw.Obstacles(spheres=[[1.0, 0.2, 0.1, 0.25]])
    seen: set[int] = set()

    def accept(q, rows):
        seen.update(rows)
        reached = kd.transform("l4", q)[:, :3, 3] - targets.reshape(-1, 3)[rows]
        assert np.linalg.norm(reached, axis=-1).max() <= 1e-6
        return ~robot.in_collision(q, obstacles=ball)

    plain = lw.ik(kd, {"l4": targets})
    hit = plain.converged & robot.in_collision(plain.q, obstacles=ball)
    assert hit.sum() > 5
    solution = lw.ik(kd, {"l4": targets}, accept=accept)
    assert seen == set(range(120))
    assert not robot.in_collision(solution.q[solution.converged], obstacles=ball).any()
    refused = solution.q[plain.converged & ~solution.converged]
    assert robot.in_collision(refused, obstacles=ball).all()
    assert (solution.converged & hit).sum() > hit.sum() // 2
    assert not lw.ik(kd, {"l4": targets[0, 0]}, accept=lambda q, rows: rows > 5).converged
    for wrong in ([True], lambda q, rows: True, lambda q, rows: np.ones(len(rows))):
        with pytest.raises(lw.ArgumentError, match="accept: expected"):
            lw.ik(kd, {"l4": targets[0, 0]}, accept=wrong)
