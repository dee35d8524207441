"""Distances inside compiled functions and rollouts, with gradients."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw


def planar(shape):
    b = lw.ModelBuilder("planar")
    b.add_link("ground", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    for k in range(3):
        before, x = (f"link{k - 1}", 0.5) if k else ("ground", 0.0)
        placed = lw.Shape(shape, lw.Pose((0.25, 0.0, 0.0), (0.0, np.pi / 2, 0.0)))
        b.add_link(f"link{k}", inertia=lw.solid_box(1.0, (0.5, 0.1, 0.1)), collisions=[placed])
        mount = lw.Pose((x, 0.0, 0.0))
        b.add_joint(f"joint{k}", "revolute", before, f"link{k}", first_H_joint=mount)
    return lw.KinDyn(b.build(), floating=False)


@pytest.fixture(scope="module")
def robot():
    return lw.CollisionModel(planar(lw.Capsule(0.04, 0.4)))


WORLD = lw.Obstacles(
    spheres=[[0.7, 0.3, 0.0, 0.1], [0.2, 0.9, 0.1, 0.1], [1.0, 0.1, 0.0, 0.05]],
    points=np.random.default_rng(0).uniform(-1.0, 1.0, (3, 3)),
    half_spaces=[[0.0, 1.0, 0.0, -1.0]],
)


def test_distances_to_obstacles_can_be_compiled(robot):
    @lw.compile(q=3)
    def both(q):
        return robot.distances_to(q, WORLD), robot.distances_to_jacobian(q, WORLD)

    q = robot.kindyn.random(5, seed=0)
    d, J = both(q)
    np.testing.assert_allclose(d, robot.distances_to(q, WORLD), atol=1e-14)
    np.testing.assert_allclose(J, robot.distances_to_jacobian(q, WORLD), atol=1e-14)

    with pytest.raises(lw.ShapeError, match="batch axes"):
        lw.compile(q=3)(lambda q: robot.distances_to(q, lw.Obstacles(np.ones((2, 1, 4)))))


def test_gradients_through_rollouts(robot):
    @lw.compile(q=3, cost=(), u=3)
    def step(q, cost, u):
        q = q + u
        near = np.maximum(0.3 - robot.distances_to(q, WORLD), 0.0)
        terms = robot.minimum_distance(q) + robot.smooth_minimum_distance(q, 0.02)
        return q, cost + (near * near).sum() + terms + robot.distances(q).sum()

    sim = lw.Rollout(step)
    rng = np.random.default_rng(1)
    x0, u = (np.array([0.3, 0.9, 0.8]), 0.0), rng.uniform(-0.2, 0.2, (6, 3))
    states = sim(x0, u)
    q = states[0][1:]
    expected = (np.maximum(0.3 - robot.distances_to(q, WORLD), 0.0) ** 2).sum(axis=(-1, -2))
    expected += robot.minimum_distance(q) + robot.smooth_minimum_distance(q, 0.02)
    expected += robot.distances(q).sum(axis=-1)
    np.testing.assert_allclose(states[1][1:], np.cumsum(expected), rtol=1e-12)
    gradient = sim.vjp(x0, u, final=(np.zeros(3), 1.0), states=states).controls
    h = 1e-6
    for index in np.ndindex(u.shape):
        ahead, behind = u.copy(), u.copy()
        ahead[index] += h
        behind[index] -= h
        slope = (sim(x0, ahead)[1][-1] - sim(x0, behind)[1][-1]) / (2 * h)
        assert gradient[index] == pytest.approx(slope, abs=1e-6)


@pytest.mark.peers  # coal
def test_distances_without_a_closed_form_cannot_be_compiled():
    boxes = lw.CollisionModel(planar(lw.Box((0.05, 0.05, 0.4))))
    for function in (boxes.distances, boxes.minimum_distance):
        with pytest.raises(lw.ArgumentError, match=r"'link0' and 'link2'.*shapes="):
            lw.compile(q=3)(lambda q, function=function: function(q))
    drums = lw.CollisionModel(planar(lw.Cylinder(0.05, 0.4)))
    rod = lw.Obstacles(capsules=[[0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.1]])
    with pytest.raises(lw.ArgumentError, match=r"capsules.*shapes="):
        lw.compile(q=3)(lambda q: drums.distances_to(q, rod))
