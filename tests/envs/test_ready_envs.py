"""The ready environments: registered with gymnasium, with tasks that can be solved."""

from __future__ import annotations

import json

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from tests.support.commands import run_here

from linkwork.envs import READY, VectorEnv


@pytest.mark.parametrize("name", READY)
def test_gymnasium_makes_them(name):
    env = gymnasium.make_vec(name, num_envs=8)
    assert isinstance(env, VectorEnv)
    assert env.spec.id == name
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    for _ in range(3):
        observation, rewards, terminated, *_ = env.step(np.zeros(env.action_space.shape))
    assert observation in env.observation_space
    assert np.isfinite(rewards).all()
    assert not terminated.any()
    assert len(np.unique(observation, axis=0)) == 8


@pytest.mark.filterwarnings("ignore:.*Box observation space m.*infinity")
def test_one_of_them_is_an_environment_of_its_own():
    env = gymnasium.make("linkwork/CartpoleBalance-v0")
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=0)
    assert env.step(env.action_space.sample())[0] in env.observation_space


def test_a_cartpole_is_balanced_by_feedback():
    """The gains are of a linear regulator, computed by hand: no learning."""
    env = gymnasium.make_vec("linkwork/CartpoleBalance-v0", num_envs=64, max_steps=None)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    env.unwrapped.x.q[:] = rng.uniform(-0.15, 0.15, (64, 2))
    gains = np.array([-0.6, -4.0, -0.7, -0.8])
    for _ in range(400):
        x = env.unwrapped.x
        action = -np.concatenate([x.q, x.nu], axis=1) @ gains[:, None]
        _, rewards, terminated, *_ = env.step(action)
        assert not terminated.any()
    assert (rewards > 0.099).all()


@pytest.mark.parametrize("robot", ["Quadruped", "Go2"])
def test_a_quadruped_stands_at_its_targets(robot):
    env = gymnasium.make_vec(f"linkwork/{robot}Velocity-v0", num_envs=16)
    env.reset(seed=0)
    for _ in range(100):
        _, _, terminated, truncated, _ = env.step(np.zeros((16, 12)))
        assert not (terminated | truncated).any()
    up = env.unwrapped.x.q[:, 2]
    assert ((up > 0.22) & (up < 0.33)).all()


def test_a_command_lists_them():
    output = run_here("envs").stdout
    assert all(name in output for name in READY)
    assert [entry["name"] for entry in json.loads(run_here("envs", "--json").stdout)] == [*READY]
