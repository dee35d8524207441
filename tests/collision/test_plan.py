"""Paths of the planner, verified by dense sampling in float64, and reasons why there is none."""

from __future__ import annotations

import pickle
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.collision import collides_by_coal
from tests.support.sphere_robots import arm, between, clearance

import linkwork as lw

RESOLUTION = 0.02
LEVER = 1.5  # [m] no point of the robot is farther from an axis


@pytest.fixture(scope="module")
def robot():
    return lw.CollisionModel(arm(), floating=False)


def wall(width, height):
    """A wall in front of the robot, with a window."""
    x, z = 0.35, 0.5
    side = [
        [x, s * (width + 2.0) / 2.0, z, 1.0, 0.0, 0.0, 0.0, 0.05, 2.0, 3.0] for s in (-1.0, 1.0)
    ]
    above = [
        [x, 0.0, z + s * (height + 2.0) / 2.0, 1.0, 0.0, 0.0, 0.0, 0.05, width, 2.0]
        for s in (-1.0, 1.0)
    ]
    return lw.Obstacles(boxes=side + above)


UP = np.zeros(4)
THROUGH = np.array([0.0, 0.9, 0.6, 0.0])  # the arm reaches through the window
WINDOW = wall(0.5, 0.5)


def check_path(robot, plan, ends, obstacles, margin=0.0):
    start, goal = ends
    assert plan
    assert plan.reason == "found"
    path = plan.path
    assert path.dtype == np.float64
    assert path.ndim == 2
    np.testing.assert_array_equal(path[0], start)
    np.testing.assert_array_equal(path[-1], goal)
    assert (path >= robot.limits.lower).all()
    assert (path <= robot.limits.upper).all()
    assert clearance(robot, path, obstacles).min() >= margin
    q = between(path[:-1], path[1:], 400)
    # to the nearest tested configuration, a point moves by at most half the resolution times 1.5 m
    assert clearance(robot, q, obstacles).min() >= margin - 0.5 * RESOLUTION * LEVER
    np.testing.assert_allclose(plan.length, np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("margin", [0.0, 0.02])
def test_paths_are_free(robot, seed, margin):
    assert clearance(robot, THROUGH, WINDOW) > margin
    assert not robot.check_edges(UP, THROUGH, obstacles=WINDOW, margin=margin)
    settings = {"resolution": RESOLUTION, "margin": margin, "seed": seed}
    plan = lw.plan(robot, UP, THROUGH, WINDOW, **settings)
    check_path(robot, plan, (UP, THROUGH), WINDOW, margin)
    assert plan.iterations > 0
    assert plan.nodes > 2
    without = lw.plan(robot, UP, THROUGH, WINDOW, shortcuts=0, **settings)
    check_path(robot, without, (UP, THROUGH), WINDOW, margin)
    assert plan.length <= without.length + 1e-9
    back = lw.plan(robot, THROUGH, UP, WINDOW, **settings)
    check_path(robot, back, (THROUGH, UP), WINDOW, margin)
    assert robot.check_edges(
        plan.path[:-1], plan.path[1:], obstacles=WINDOW, resolution=2.0 * RESOLUTION
    ).all()


def test_the_same_seed_gives_the_same_path(robot):
    first, again, other = (
        lw.plan(robot, UP, THROUGH, WINDOW, seed=seed).path for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or (first != other).any()
    copy = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(lw.plan(copy, UP, THROUGH, WINDOW, seed=5).path, first)
    with ThreadPoolExecutor(4) as pool:
        plans = pool.map(lambda _: lw.plan(robot, UP, THROUGH, WINDOW, seed=5), range(16))
        for plan in plans:
            np.testing.assert_array_equal(plan.path, first)


def test_a_straight_motion_is_a_path(robot):
    for goal in (UP, np.array([2.4, 0.5, -0.5, 0.1])):
        plan = lw.plan(robot, UP, goal)
        np.testing.assert_array_equal(plan.path, [UP, goal])
        assert plan.iterations == 0


def test_any_of_several_goals_is_reached(robot):
    inside = np.array([0.9, 0.9, 0.6, 0.0])  # in the wall
    beyond = np.array([0.0, 9.0, 0.5, 0.0])  # outside of the limits
    assert clearance(robot, inside, WINDOW) < 0.0
    plan = lw.plan(robot, UP, [inside, beyond, THROUGH], WINDOW, resolution=RESOLUTION)
    check_path(robot, plan, (UP, THROUGH), WINDOW)
    near = UP + 0.1
    plan = lw.plan(robot, UP, [THROUGH, near], WINDOW)
    np.testing.assert_array_equal(plan.path, [UP, near])
    assert lw.plan(robot, UP, [inside, beyond], WINDOW).reason.startswith("goal in collision")


def test_reasons_name_what_is_wrong(robot):
    samples = robot.kindyn.random(300, seed=0)
    folded = samples[np.argmin(clearance(robot, samples))]
    assert clearance(robot, folded) < 0.0
    for start, goal, which in ((folded, UP, "start"), (UP, folded, "goal")):
        plan = lw.plan(robot, start, goal)
        assert not plan
        assert plan.path is None
        assert plan.length == np.inf
        overlapping = [
            f"{which} in collision: {first!r} with {second!r}"
            for (first, second), d in zip(robot.pairs, robot.distances(folded), strict=True)
            if d < 0.0
        ]
        assert plan.reason in overlapping
    tip = (robot.kindyn.transform("finger", UP) @ [0.0, 0.05, 0.05, 1.0])[:3]
    there = lw.Obstacles(half_spaces=[[0, 0, 1, -5]], spheres=[[5, 5, 5, 1], [*tip, 0.01]])
    assert (
        lw.plan(robot, UP, THROUGH, there).reason == "start in collision: 'finger' with spheres[1]"
    )
    points = lw.Obstacles(half_spaces=[[0, 0, 1, -5]], points=[[5, 5, 5], tip])
    assert (
        lw.plan(robot, UP, THROUGH, points).reason == "start in collision: 'finger' with points[1]"
    )
    outside = np.array([0.0, 0.0, 0.0, 3.0])
    assert "'joint4'" in lw.plan(robot, outside, UP).reason
    assert lw.plan(robot, UP, outside).reason.startswith("goal outside of limits: 'joint4'")
    rounded = np.array([0.0, 0.0, 0.0, 2.500004])  # the limit is 2.5
    np.testing.assert_array_equal(lw.plan(robot, UP, rounded).path, [UP, rounded])


# with these limits, the arm is horizontal and cannot pass a wall at an angle of 1 rad
SIDES = {"start": np.array([0.0, 1.4, 0.0, 0.0]), "goal": np.array([2.0, 1.4, 0.0, 0.0])}
LEVEL = [-2.5, 1.2, -0.2, -0.2], [2.5, 1.6, 0.2, 0.2]
TURN = [np.cos(0.5), 0.0, 0.0, np.sin(0.5)]
BARRIER = lw.Obstacles(boxes=[[np.cos(1.0), np.sin(1.0), 0.0, *TURN, 1.4, 0.05, 3.0]])


def test_a_problem_without_a_path(robot):
    plan = lw.plan(robot, **SIDES, obstacles=BARRIER, limits=LEVEL, max_iterations=2000)
    assert not plan
    assert plan.reason == "no path after 2,000 iterations"
    assert plan.iterations == 2000
    assert plan.nodes > 2
    over = lw.plan(robot, **SIDES, obstacles=BARRIER, resolution=RESOLUTION)
    check_path(robot, over, (SIDES["start"], SIDES["goal"]), BARRIER)


def test_limits(robot):
    lower, upper = np.array([-0.1, -0.1, -0.5, -0.1]), np.array([2.1, 1.5, 0.5, 0.1])
    plan = lw.plan(robot, **SIDES, obstacles=BARRIER, limits=(lower, upper), resolution=RESOLUTION)
    check_path(robot, plan, (SIDES["start"], SIDES["goal"]), BARRIER)
    assert (plan.path >= lower).all()
    assert (plan.path <= upper).all()
    unlimited = lw.CollisionModel(arm(limits=None), floating=False, pairs=robot.pairs)
    plan = lw.plan(unlimited, UP, THROUGH, WINDOW, resolution=RESOLUTION)
    check_path(unlimited, plan, (UP, THROUGH), WINDOW)
    kinds = ("prismatic", "revolute", "revolute", "revolute")
    rail = lw.CollisionModel(arm(kinds, limits=None), floating=False, pairs=robot.pairs)
    with pytest.raises(lw.ArgumentError, match="joint1"):
        lw.plan(rail, UP, THROUGH, WINDOW)
    assert lw.plan(rail, UP, UP + 0.1, limits=([-1.0] * 4, [1.0] * 4))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"robot": "arm"}, lw.ArgumentError),
        ({"start": [0.0] * 3}, lw.ShapeError),
        ({"start": np.zeros((1, 4))}, lw.ShapeError),
        ({"goal": np.zeros((0, 4))}, lw.ShapeError),
        ({"goal": np.zeros((1, 1, 4))}, lw.ShapeError),
        ({"start": [np.nan] * 4}, lw.ValueRangeError),
        ({"goal": [0.0, np.inf, 0.0, 0.0]}, lw.ValueRangeError),
        ({"resolution": -1.0}, lw.ValueRangeError),
        ({"resolution": 1e-12}, lw.ValueRangeError),
        ({"step": 0.0}, lw.ValueRangeError),
        ({"step": 0.01}, lw.ValueRangeError),
        ({"margin": np.nan}, lw.ValueRangeError),
        ({"max_iterations": -1}, lw.ArgumentError),
        ({"shortcuts": 1.5}, lw.ArgumentError),
        ({"seed": "0"}, lw.ArgumentError),
        ({"limits": [0.0]}, lw.ArgumentError),
        ({"limits": ([1.0] * 4, [0.0] * 4)}, lw.ValueRangeError),
        ({"limits": ([-np.inf] * 4, [0.0] * 4)}, lw.ValueRangeError),
        ({"limits": ([-1e5] * 4, [1e5] * 4), "resolution": 1.0}, lw.ValueRangeError),
        ({"obstacles": "wall"}, lw.ArgumentError),
        ({"obstacles": lw.Obstacles(np.ones((2, 3, 4)))}, lw.ShapeError),
    ],
)
def test_wrong_arguments_are_rejected(robot, changes, error):
    arguments = {"robot": robot, "start": UP, "goal": THROUGH, "obstacles": WINDOW, **changes}
    with pytest.raises(error):
        lw.plan(**arguments)


def test_robots_that_cannot_be_planned_for_are_reported():
    box = [lw.Shape(lw.Box((0.1, 0.1, 0.1)))]
    with pytest.raises(lw.ArgumentError, match="shapes='spheres'"):
        lw.plan(lw.CollisionModel(arm(last=box), floating=False, pairs=[]), UP, UP)
    with pytest.raises(lw.ArgumentError, match="floating=False"):
        lw.plan(lw.CollisionModel(arm(), "pedestal", pairs=[]), UP, UP)


def test_without_machine_code_motions_are_tested_with_numpy(robot, monkeypatch):
    ends = robot.kindyn.random((2, 20), seed=2)
    expected = robot.check_edges(*ends, obstacles=BARRIER, resolution=0.1)
    monkeypatch.setenv("LINKWORK_BACKEND", "numpy")
    other = robot.replace()
    np.testing.assert_array_equal(
        other.check_edges(*ends, obstacles=BARRIER, resolution=0.1), expected
    )
    with pytest.raises(lw.ArgumentError, match="machine code"):
        lw.plan(other, UP, THROUGH)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_a_search_can_be_interrupted(robot):
    class InterruptionError(Exception):
        pass

    def interrupt(*_):
        raise InterruptionError

    assert threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(InterruptionError):
            lw.plan(robot, **SIDES, obstacles=BARRIER, limits=LEVEL, max_iterations=2**31 - 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_paths_are_free_by_pinocchio_and_coal(robot):
    ends = np.array([UP, THROUGH])
    assert not collides_by_coal(robot, WINDOW, ends)
    straight = between(UP[None], THROUGH[None], 50).reshape(-1, 4)
    assert collides_by_coal(robot, WINDOW, straight)
    margin = 0.5 * RESOLUTION * LEVER  # how far a point moves between two tested configurations
    for seed in range(5):
        settings = {"resolution": RESOLUTION, "margin": margin, "seed": seed}
        path = lw.plan(robot, UP, THROUGH, WINDOW, **settings).path
        q = between(path[:-1], path[1:], 100).reshape(-1, 4)
        assert not collides_by_coal(robot, WINDOW, q)
