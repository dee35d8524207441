"""Observation noise, pushes and delays, written with `row.random`; wrappers of gymnasium."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium.wrappers import vector as wrappers
from tests.envs.test_vector_env import FORCE, make, random_actions, reset

import linkwork as lw

N = 2000


@pytest.fixture(scope="module")
def sim():
    return lw.Simulation(lw.load("cartpole"), floating=False, dt=0.005)


def test_noise_is_in_one_group_of_observations(sim):
    def observe(row):
        clean = np.concatenate([row.q, row.nu])
        noise = row.random.normal([0.0, 0.0, 0.5, 0.0], [0.01, 0.02, 0.1, 0.0])
        return {"policy": clean + noise, "critic": clean}

    env = make(sim, observe=observe, terminate=None, num_envs=N)
    env.reset(seed=0)
    noise = []
    for action in random_actions(env, 3):
        observation, *_ = env.step(action)
        noise.append(observation["policy"] - observation["critic"])
        state = np.concatenate([env.x.q, env.x.nu], axis=1)
        np.testing.assert_allclose(observation["critic"], state, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(np.mean(noise, axis=(0, 1)), [0.0, 0.0, 0.5, 0.0], atol=0.01)
    np.testing.assert_allclose(np.std(noise, axis=(0, 1)), [0.01, 0.02, 0.1, 0.0], rtol=0.05)
    first, second = noise[0][:, 0], noise[1][:, 0]
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1
    assert len(np.unique(first)) > 0.9 * N


def test_pushes_come_by_chance_with_their_size(sim):
    def push(row):
        size = row.random.uniform(np.array([0.0, 1.0]), np.array([0.0, 2.0]))
        return {"nu": row.nu + np.where(row.random.chance(0.1), size, 0.0)}

    pushed, free = (make(sim, memory=m, terminate=None, num_envs=N) for m in (push, None))
    for env in (pushed, free):
        env.reset(seed=1)
        env.step(np.zeros((N, 1)))
    change = pushed.x.nu - free.x.nu
    was_pushed = change[:, 1] != 0.0
    assert 0.07 < was_pushed.mean() < 0.13
    assert (change[:, 0] == 0.0).all()
    sizes = change[was_pushed, 1]
    assert ((sizes > 1.0) & (sizes < 2.0)).all()
    assert np.ptp(sizes) > 0.9


def test_some_robots_act_late(sim):
    """A delay of one step, for the rows in which the reset has drawn it."""

    def start(row):
        return {**reset(row), "is_late": np.where(row.random.chance(0.5), 1.0, 0.0)}

    def control(row):
        action = np.where(row.is_late > 0.5, row.last_action, row.action)
        return np.concatenate([FORCE * action, np.zeros(1)])

    env = make(sim, reset=start, control=control, terminate=None, num_envs=60)
    env.reset(seed=2)
    is_late = env.memory["is_late"] > 0.5
    assert 15 < is_late.sum() < 45
    x = lw.SimulationState(*(part.copy() for part in env.x))
    before = np.zeros((60, 1))
    for given in random_actions(env, 4):
        env.step(given)
        action = np.clip(given, -1.0, 1.0)
        applied = np.where(is_late[:, None], before, action)
        for _ in range(env.substeps):
            x = sim.step(*x, np.concatenate([FORCE * applied, np.zeros((60, 1))], axis=1))
        np.testing.assert_allclose(env.x.nu, x.nu, rtol=1e-6, atol=1e-7)
        before = action


def test_tensors_share_memory_with_the_results(sim):
    env = make(sim, copy=False)
    observations, _ = env.reset(seed=1)
    tensor = torch.from_numpy(observations["policy"])
    before = tensor.clone()
    _, rewards, *_ = env.step(torch.ones(50, 1).numpy())
    assert (tensor != before).any()
    assert (tensor.numpy() == env.step(np.ones((50, 1)))[0]["policy"]).all()
    assert torch.from_numpy(rewards).data_ptr() == rewards.ctypes.data


def one_group(row):
    return np.concatenate([row.q, row.nu])


@pytest.mark.parametrize(
    ("wrap", "mode"),
    [
        (wrappers.NormalizeReward, "SameStep"),
        (wrappers.DictInfoToList, "SameStep"),
        (wrappers.ClipAction, "SameStep"),
        (wrappers.NumpyToTorch, "SameStep"),
        (wrappers.NormalizeObservation, "NextStep"),
        (wrappers.FlattenObservation, "NextStep"),
        (wrappers.DictInfoToList, "NextStep"),
        (lambda env: wrappers.DtypeObservation(env, np.float64), "Disabled"),
        (lambda env: wrappers.RescaleAction(env, np.float32(-2), np.float32(2)), "NextStep"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*precision lowered")
def test_wrappers_of_gymnasium_accept_them(sim, wrap, mode):
    env = wrap(make(sim, observe=one_group, autoreset_mode=mode))
    observation, _ = env.reset(seed=0)
    assert len(observation) == 50
    env.action_space.seed(0)
    ends = 0
    for _ in range(25):
        actions = env.action_space.sample()
        if wrap is wrappers.NumpyToTorch:
            actions = torch.from_numpy(actions)
        observation, rewards, terminated, truncated, _ = env.step(actions)
        assert np.isfinite(np.asarray(observation)).all()
        assert len(rewards) == 50
        ends += int((terminated | truncated).sum())
    assert ends > 20
    env.close()
