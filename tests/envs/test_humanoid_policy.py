"""The stored policy of the humanoid walks and mostly stands when pushed, in two simulators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from linkwork.envs import humanoid

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
STARTS, PUSH = 20, 0.2  # PUSH: the largest change of vx and of vy [m/s]


@pytest.fixture(scope="module")
def agent(example):
    return example["Agent"].load(EXAMPLES / "humanoid_policy.npz")


@pytest.mark.parametrize("simulator", ["walk_in_linkwork", "walk_in_mujoco"])
@pytest.mark.parametrize("speed", [0.5, 1.0])
def test_it_walks_at_the_commanded_speed(example, agent, simulator, speed):
    falls, velocity, worst = example[simulator]("humanoid", agent, np.array([speed, 0, 0]), STARTS)
    assert falls == 0
    assert abs(velocity[0] - speed) < worst < 0.2 * speed
    assert np.abs(velocity[1:]).max() < 0.1


def test_nearly_all_stand_in_linkwork_while_they_are_pushed(agent):
    env = humanoid.humanoid_stand(200, autoreset_mode="Disabled", memory=None)
    observations, _ = env.reset(seed=2)
    rng, has_fallen = np.random.default_rng(0), np.zeros(200, bool)
    for k in range(humanoid.STEPS):
        if k % 150 == 100:
            env.x.nu[:, :2] += rng.uniform(-PUSH, PUSH, (200, 2))
        observations, _, terminated, *_ = env.step(agent.act(observations))
        has_fallen |= terminated
    assert has_fallen.mean() < 0.1
    distances = np.linalg.norm(env.x.q[~has_fallen, :2], axis=1)
    assert np.median(distances) < 0.5


def test_nearly_all_stand_in_mujoco_while_they_are_pushed(example, agent):
    env = humanoid.humanoid_stand(STARTS)
    env.reset(seed=3)
    mj_model = mujoco.MjModel.from_xml_string(env.sim.to_mjcf())
    rng = np.random.default_rng(0)
    falls = 0
    for start in example["as_rows"](env):
        row, mj_data = start, mujoco.MjData(mj_model)
        mj_data.qpos[:], mj_data.qvel[:] = env.sim.qpos(row.x), env.sim.qvel(row.x)
        for k in range(humanoid.STEPS):
            action = agent.act(humanoid.observe(row)).astype(float).clip(-5.0, 5.0)
            row = replace(row, action=action, steps=k)
            if k % 150 == 100:
                mj_data.qvel[:2] += rng.uniform(-PUSH, PUSH, 2)
            for _ in range(env.substeps):
                mj_data.ctrl[:] = humanoid.control(row)
                mujoco.mj_step(mj_model, mj_data)
                row = replace(row, x=env.sim.state(qpos=mj_data.qpos, qvel=mj_data.qvel))
            row = replace(row, steps=k + 1)
            if humanoid.fallen(row):
                falls += 1
                break
    assert falls <= 0.1 * STARTS
