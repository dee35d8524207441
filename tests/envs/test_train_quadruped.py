"""Policies learn: examples/24_train_quadruped.py, whose stored weights walk in two simulators.

And examples/25_gradient_policy.py, with analytic gradients.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from linkwork.envs.cartpole import cartpole_balance

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("simulator", ["walk_in_linkwork", "walk_in_mujoco"])
@pytest.mark.parametrize("speed", [0.5, 1.0])
@pytest.mark.parametrize("robot", ["quadruped", "go2"])
def test_the_stored_policy_walks_at_the_commanded_speed(example, robot, simulator, speed):
    agent = example["Agent"].load(EXAMPLES / f"{robot}_policy.npz")
    falls, velocity, worst = example[simulator](robot, agent, np.array([speed, 0.0, 0.0]), 20)
    assert falls == 0
    assert abs(velocity[0] - speed) < worst < 0.2 * speed
    assert np.abs(velocity[1:]).max() < 0.1


def test_a_cartpole_learns(example, tmp_path):
    env = cartpole_balance(128, max_steps=100)

    def episodes(agent):
        """The mean return of the first episodes."""
        observations, _ = env.reset(seed=9)
        for _ in range(100):
            observations, *_, info = env.step(agent.act(observations))
        return info["final_info"]["return"].mean()

    reports = []
    first = example["train"](env, 1)
    agent = example["train"](env, 250_000, report=reports.append)
    assert episodes(agent) > episodes(first) + 2.0

    assert [status.steps for status in reports] == list(range(3072, 250_000 + 3072, 3072))
    assert reports[-1].reward > reports[0].reward
    assert "M steps" in str(reports[-1])
    assert "without learning" in str(reports[-1])

    agent.save(tmp_path / "weights.npz")
    stored = example["Agent"].load(tmp_path / "weights.npz")
    observations = env.reset(seed=0)[0]
    np.testing.assert_allclose(stored.act(observations), agent.act(observations), atol=1e-2)


def test_a_policy_learns_from_gradients(example):
    gradients = runpy.run_path(str(EXAMPLES / "25_gradient_policy.py"))
    test = gradients["make"](100, gradients["TEST"])
    steps = gradients["with_gradients"](0, test)
    assert 2_000 < steps < 40_000
