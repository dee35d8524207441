"""Libraries for reinforcement learning train on environments of linkwork."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from rsl_rl.runners import OnPolicyRunner
from stable_baselines3 import PPO

import linkwork as lw
import linkwork.envs.rsl_rl
import linkwork.envs.stable_baselines3
from linkwork.envs.cartpole import cartpole_balance

pytestmark = pytest.mark.usefixtures("one_thread")
ADAPTERS = (linkwork.envs.stable_baselines3.VecEnv, linkwork.envs.rsl_rl.VecEnv)


def test_stable_baselines3_sees_the_same_steps():
    adapter = linkwork.envs.stable_baselines3.VecEnv(cartpole_balance(6, max_steps=7))
    env = cartpole_balance(6, max_steps=7)
    adapter.seed(3)
    np.testing.assert_array_equal(adapter.reset(), env.reset(seed=3)[0])
    rng = np.random.default_rng(0)
    for k in range(15):
        action = rng.uniform(-1, 1, (6, 1)).astype(np.float32)
        observations, rewards, done, infos = adapter.step(action)
        expected, expected_rewards, terminated, truncated, info = env.step(action)
        np.testing.assert_array_equal(observations, expected)
        np.testing.assert_array_equal(rewards, expected_rewards)
        assert (done == (terminated | truncated)).all()
        for row in np.flatnonzero(done):
            final = infos[row]["terminal_observation"]
            np.testing.assert_array_equal(final, info["final_obs"][row])
            assert infos[row]["TimeLimit.truncated"] == truncated[row]
            assert infos[row]["episode"]["l"] == info["final_info"]["steps"][row]
        assert done.any() == (k % 7 == 6)
    assert adapter.get_attr("dt", [0, 2]) == [0.02, 0.02]
    assert adapter.env_is_wrapped(object) == [False] * 6


def test_stable_baselines3_trains():
    adapter = linkwork.envs.stable_baselines3.VecEnv(cartpole_balance(64))
    model = PPO("MlpPolicy", adapter, n_steps=16, batch_size=256, n_epochs=2, seed=0, device="cpu")
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(3 * 16 * 64)
    assert model.num_timesteps == 3 * 16 * 64
    after = list(model.policy.parameters())
    assert any((a != b).any() for a, b in zip(after, before, strict=True))
    assert all(torch.isfinite(p).all() for p in after)


def test_rsl_rl_sees_the_same_steps():
    adapter = linkwork.envs.rsl_rl.VecEnv(cartpole_balance(6, max_steps=7), seed=3)
    env = cartpole_balance(6, max_steps=7)
    first, _ = env.reset(seed=3)
    np.testing.assert_array_equal(adapter.get_observations()["policy"], first)
    for _ in range(15):
        action = torch.full((6, 1), 0.7)
        observations, rewards, done, extras = adapter.step(action)
        expected, expected_rewards, terminated, truncated, info = env.step(action.numpy())
        np.testing.assert_array_equal(observations["policy"], expected)
        np.testing.assert_array_equal(rewards, expected_rewards)
        assert (done.numpy() == (terminated | truncated)).all()
        assert (extras["time_outs"].numpy() == truncated).all()
        assert ("log" in extras) == ("final_info" in info)
    adapter.episode_length_buf = torch.full((6,), 6)
    assert adapter.step(torch.zeros(6, 1))[3]["time_outs"].all()


def test_rsl_rl_trains(capsys):
    layers = {"class_name": "MLPModel", "hidden_dims": [32, 32], "activation": "elu"}
    config = {
        "num_steps_per_env": 16,
        "save_interval": 100,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "algorithm": {"class_name": "PPO"},
        "actor": {**layers, "distribution_cfg": {"class_name": "GaussianDistribution"}},
        "critic": dict(layers),
    }
    runner = OnPolicyRunner(linkwork.envs.rsl_rl.VecEnv(cartpole_balance(64)), config)
    before = [p.detach().clone() for p in runner.alg.actor.parameters()]
    runner.learn(3, init_at_random_ep_len=True)
    capsys.readouterr()
    after = list(runner.alg.actor.parameters())
    assert any((a != b).any() for a, b in zip(after, before, strict=True))
    assert all(torch.isfinite(p).all() for p in after)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_other_autoresets_are_errors(adapter):
    with pytest.raises(lw.ArgumentError, match="SameStep"):
        adapter(cartpole_balance(2, autoreset_mode="NextStep"))
