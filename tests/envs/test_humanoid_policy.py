"""The stored policy of the humanoid walks, and stands while it is pushed, in two simulators."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

from linkwork.envs import humanoid

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
STARTS = 20


@pytest.fixture(scope="module")
def example():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield runpy.run_path(str(EXAMPLES / "24_train_quadruped.py"))
    torch.set_num_threads(threads)


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


def test_it_stands_in_linkwork_while_it_is_pushed(agent):
    env = humanoid.humanoid_stand(STARTS, autoreset_mode="Disabled")
    observations, _ = env.reset(seed=2)
    fastest = 0.0
    for _ in range(humanoid.STEPS):
        observations, _, terminated, *_ = env.step(agent.act(observations))
        assert not terminated.any()
        fastest = max(fastest, np.abs(env.x.nu[:, :2]).max())
    assert fastest > 0.3  # it was pushed
    assert np.linalg.norm(env.x.q[:, :2], axis=1).max() < 1.5


def test_it_stands_in_mujoco_while_it_is_pushed(example, agent):
    env = humanoid.humanoid_stand(STARTS)
    env.reset(seed=3)
    mj_model = mujoco.MjModel.from_xml_string(env.sim.to_mjcf())
    rng = np.random.default_rng(0)
    for start in example["as_rows"](env):
        row, mj_data = start, mujoco.MjData(mj_model)
        mj_data.qpos[:], mj_data.qvel[:] = env.sim.qpos(row.x), env.sim.qvel(row.x)
        for k in range(humanoid.STEPS):
            action = agent.act(humanoid.observe(row)).astype(float).clip(-5.0, 5.0)
            row = replace(row, action=action, steps=k + 1)
            if k % humanoid.PUSH_STEPS == 100:
                mj_data.qvel[:2] += rng.uniform(-humanoid.PUSH, humanoid.PUSH, 2)
            for _ in range(env.substeps):
                mj_data.ctrl[:] = humanoid.control(row)
                mujoco.mj_step(mj_model, mj_data)
                row = replace(row, x=env.sim.state(qpos=mj_data.qpos, qvel=mj_data.qvel))
            assert not humanoid.fallen(row)
        assert np.linalg.norm(row.q[:2]) < 1.5
