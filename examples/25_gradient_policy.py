"""A policy learns to hold a pole while its cart moves: from analytic gradients, and with PPO.

python examples/25_gradient_policy.py [--seeds N]

With `gradient=True`, the return of an episode is differentiable with respect to the weights of the
policy: through all steps of the simulation, the rewards and the policy itself. PPO, that of
`24_train_quadruped.py`, estimates this gradient from random actions. Both learn until 95 of 100
poles stand after three seconds, and count the steps of all environments.
"""

from __future__ import annotations

import argparse
import runpy
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import linkwork as lw
from linkwork.envs import Row, VectorEnv

HORIZON = 50  # steps of an episode of 1 s, from which both learn
TEST = 150  # steps of a test
FORCE = 30.0  # [N]
ENOUGH = 0.95  # part of the poles that must stand
MOST = 200_000  # steps after which learning is given up
ENVS = {"gradients": 8, "PPO": 16}  # of 4 to 256, those with which each needs the fewest steps
sim = lw.Simulation(lw.load("cartpole"), floating=False, dt=0.005)


def control(row: Row) -> Any:
    return np.concatenate([FORCE * row.action, np.zeros(1)])


def observe(row: Row) -> Any:
    return np.concatenate([row.q, 0.3 * row.nu, row.target])


def reward(row: Row) -> dict[str, Any]:
    distance = row.q[0] - row.target[0]
    return {"pole": 0.1 * (np.cos(row.q[1]) - 1.0), "target": -0.1 * np.sqrt(distance**2 + 0.01)}


def reset(row: Row) -> dict[str, Any]:
    q = row.random.uniform(np.array([-0.5, -0.4]), np.array([0.5, 0.4]))
    return {"q": q, "target": row.random.uniform(-0.5, 0.5, 1)}


def make(num_envs: int, steps: int = HORIZON, **options: Any) -> VectorEnv:
    """Return environments in which a cart moves to a target, with a pole that must not fall."""
    functions = {"observe": observe, "reward": reward, "reset": reset, "control": control}
    span = [-1.0], [1.0]
    return VectorEnv(
        sim, **functions, action_range=span, max_steps=steps, num_envs=num_envs, **options
    )


@torch.no_grad()
def standing(policy: nn.Module, test: VectorEnv) -> float:
    """Return the part of the poles that stand at the end of a test."""
    observations, _ = test.reset(seed=99)
    for _ in range(TEST):
        actions = policy(torch.from_numpy(observations)).numpy()
        observations, *_, info = test.step(actions)
    return float((abs(info["final_obs"][:, 1]) < 0.2).mean())


def with_gradients(seed: int, test: VectorEnv) -> int:
    """Return how many steps a policy needs that follows the gradient of its return."""
    torch.manual_seed(seed)
    env = make(ENVS["gradients"], gradient=True)
    policy = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.03)
    observations, _ = env.reset(seed=seed)
    steps = 0
    while steps < MOST and standing(policy, test) < ENOUGH:
        total = torch.zeros(())
        for _ in range(HORIZON):
            observations, rewards, *_ = env.step(policy(observations))
            total = total + rewards.mean()
        optimizer.zero_grad()
        (-total).backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        observations = env.detach()
        steps += HORIZON * env.num_envs
    return steps


class Enough(Exception):  # noqa: N818 - it is no error
    """PPO has learned enough."""


def with_ppo(seed: int, test: VectorEnv) -> int:
    """Return how many steps PPO needs."""
    ppo = runpy.run_path(str(Path(__file__).with_name("24_train_quadruped.py")))
    steps = 0

    def report(status: Any) -> None:
        nonlocal steps
        steps = status.steps
        if standing(status.agent.policy, test) >= ENOUGH:
            raise Enough

    with suppress(Enough):
        ppo["train"](make(ENVS["PPO"]), MOST, seed=seed, report=report)
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description="hold a pole, with gradients and with PPO")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)  # faster for small networks
    test = make(200, TEST)
    needed = np.array(
        [[learn(seed, test) for learn in (with_gradients, with_ppo)] for seed in range(args.seeds)]
    )
    for seed, (ours, ppo) in enumerate(needed):
        print(f"seed {seed}: {ours:6} steps with gradients, {ppo:6} with PPO")
    few, many = np.median(needed, axis=0)
    print(f"with gradients, {many / few:.1f} times fewer steps (medians)")


if __name__ == "__main__":
    main()
