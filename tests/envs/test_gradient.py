"""`VectorEnv(gradient=True)`: steps of PyTorch's tensors, with gradients through time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.envs.test_vector_env import flattened, make, random_actions

import linkwork as lw

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def sim():
    return lw.Simulation(lw.load("cartpole"), floating=False, dt=0.005)


def as_arrays(results):
    """Tensors as arrays, in what a step returns."""
    if isinstance(results, dict):
        return {name: as_arrays(part) for name, part in results.items()}
    if isinstance(results, (list, tuple)):
        return [as_arrays(part) for part in results]
    assert isinstance(results, torch.Tensor)
    return results.detach().numpy()


@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_steps_are_those_without_gradients(sim, mode):
    ours, plain = make(sim, gradient=True, autoreset_mode=mode), make(sim, autoreset_mode=mode)
    first, expected = ours.reset(seed=3)[0], plain.reset(seed=3)[0]
    np.testing.assert_array_equal(as_arrays(first)["policy"], expected["policy"])
    ends = 0
    for action in random_actions(plain, 45):
        results, expected = ours.step(torch.from_numpy(action)), plain.step(action)
        assert results[1].dtype == torch.float32
        assert results[0]["policy"].requires_grad
        ends += "final_info" in results[4]
        for a, b in zip(flattened(as_arrays(results)), flattened(expected), strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    assert ends > 1


def test_gradients_through_time_are_those_of_differences(sim):
    """The return of twenty steps of a feedback, with respect to its gains."""

    def total(gains, env):
        observations, _ = env.reset(seed=5)
        result = 0.0
        for _ in range(20):
            observations, rewards, *_ = env.step(observations["policy"].double() @ gains)
            result = result + rewards.double().sum()
        return result

    small = {"max_steps": None, "terminate": None, "num_envs": 6, "observe": policy_only}
    env = make(sim, gradient=True, **small)
    gains = torch.tensor([[0.2], [-0.3], [0.1], [0.4]], dtype=torch.float64, requires_grad=True)
    total(gains, env).backward()
    for k in range(4):
        h = torch.zeros(4, 1).double()
        h[k] = 3e-4  # observations and rewards are float32
        with torch.no_grad():
            ahead, behind = total(gains + h, env), total(gains - h, env)
        np.testing.assert_allclose(gains.grad[k], (ahead - behind) / 6e-4, rtol=1e-3, atol=2e-3)


def policy_only(row):
    return {"policy": np.concatenate([row.q, row.nu])}


def test_no_gradient_passes_the_start_of_an_episode(sim):
    env = make(sim, gradient=True, max_steps=3, terminate=None, num_envs=4)
    env.reset(seed=1)
    actions = [torch.full((4, 1), 0.3, requires_grad=True) for _ in range(4)]
    rewards = [env.step(action)[1] for action in actions]
    rewards[3].sum().backward()
    assert [float(a.grad.abs().max()) > 0.0 for a in actions] == [False] * 3 + [True]


def test_detach_ends_the_graph(sim):
    env = make(sim, gradient=True, terminate=None, max_steps=None, num_envs=4)
    env.reset(seed=1)
    first, second = (torch.full((4, 1), 0.3, requires_grad=True) for _ in range(2))
    before, *_ = env.step(first)
    after = env.detach()
    assert not after["policy"].requires_grad
    np.testing.assert_array_equal(as_arrays(after)["policy"], as_arrays(before)["policy"])
    _, reward, *_ = env.step(second)
    reward.sum().backward()
    assert first.grad is None
    assert (second.grad != 0.0).all()

    env.detach()
    saved = env.save()
    kept = env.step(second)[1]
    restored = env.restore(saved)
    assert (env.step(second)[1] == kept).all()
    assert not restored["policy"].requires_grad
    kept.sum().backward()  # its graph still has the states of before


def test_a_row_that_diverges_has_no_gradient(sim):
    def reward(row):
        return np.log(row.goal[0]) * row.action[0] * row.q[0]

    env = make(sim, gradient=True, reward=reward, num_envs=50)
    env.reset(seed=7)
    wrong = env.memory["goal"][:, 0] < 0.0
    action = torch.full((50, 1), 0.2, requires_grad=True)
    _, rewards, _, _, info = env.step(action)
    assert (info["diverged"].numpy() == wrong).all()
    rewards.sum().backward()
    assert torch.isfinite(action.grad).all()
    assert (action.grad[:, 0].numpy() != 0.0).tolist() == (~wrong).tolist()


def test_clipped_actions_have_no_gradient(sim):
    env = make(sim, gradient=True, num_envs=2)
    env.reset(seed=1)
    action = torch.tensor([[0.5], [1.5]], requires_grad=True)
    env.step(action)[1].sum().backward()
    assert (action.grad[:, 0] != 0.0).tolist() == [True, False]


def test_wrong_input_is_an_error(sim):
    env = make(sim, gradient=True)
    env.reset(seed=0)
    with pytest.raises(lw.ArgumentError, match="tensor"):
        env.step(np.zeros((50, 1)))
    with pytest.raises(lw.ShapeError, match=r"\(50, 1\)"):
        env.step(torch.zeros(49, 1))
    with pytest.raises(lw.ArgumentError, match="gradient=True"):
        make(sim).detach()
